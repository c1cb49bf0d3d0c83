"""Readers of the files that say what is cabled: one module per format, all strict."""
