"""Envelopes made readable: views turn data into blocks, renderers turn blocks into text or pages."""
