"""Chores of the repository: run as `python -m tools.NAME` through the Makefile."""
