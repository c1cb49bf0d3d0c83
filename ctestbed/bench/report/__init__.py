"""Envelopes made readable: views turn data into blocks, renderers blocks into text or pages."""
