"""Names in sentences: the known one nearest to a misspelt one, and runs of numbered things."""

from collections.abc import Iterable, Sequence
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


def number_runs(numbers: Sequence[int]) -> str:
    """Write ascending numbers with their runs drawn together: `0-2, 5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def numbered(noun: str, numbers: Sequence[int]) -> str:
    """Write `plane 3` or `planes 0-2, 5`."""
    return f"{noun}{'s' if len(numbers) > 1 else ''} {number_runs(numbers)}"
