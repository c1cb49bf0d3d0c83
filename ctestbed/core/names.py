"""Suggest the known name nearest to a misspelt one."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to `name`, or None if none is close."""
    matches = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint: the nearest name, or else the list of all."""
    choices = sorted(known)
    close = nearest(name, choices)
    return f"did you mean `{close}`?" if close else f"known: {', '.join(choices)}"
