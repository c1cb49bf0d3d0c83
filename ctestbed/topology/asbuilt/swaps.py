"""Exchanged and misplaced cables, told from what is missing and extra between devices."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

MAX_STEPS: Final = 2_000_000
"""Bound on the search for exchanges; only a record of quite another network comes near it."""


@dataclass
class Residue:
    """What is left of both sides, by pair of devices: rows of designed and of built cables."""

    missing: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    extra: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    steps: int = 0

    @staticmethod
    def pair(a: int, b: int) -> tuple[int, int]:
        """Return a pair of devices as a key."""
        return (a, b) if a <= b else (b, a)


def _neighbours(pairs: dict[tuple[int, int], list[int]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for a, b in pairs:
        found[a].append(b)
        if a != b:
            found[b].append(a)
    return found


def take_swaps(
    residue: Residue, order: list[int]
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield (built rows, designed rows) of each two cables that exchanged ends; take them out.

    `order` ranks devices, so that the same exchange is found whatever the order of the input.
    """
    missing_at = _neighbours(residue.missing)
    for around in missing_at.values():
        around.sort(key=order.__getitem__)
    ranked = sorted(residue.extra, key=lambda pair: sorted((order[pair[0]], order[pair[1]])))
    for pair in ranked:
        while residue.extra.get(pair):
            found = _find_swap(residue, missing_at, *pair)
            if found is None:
                break
            other, first, second = found
            built = (_take(residue.extra, pair), _take(residue.extra, other))
            designed = (_take(residue.missing, first), _take(residue.missing, second))
            yield built, designed


def _take(pairs: dict[tuple[int, int], list[int]], pair: tuple[int, int]) -> int:
    rows = pairs[pair]
    row = rows.pop(0)
    if not rows:
        del pairs[pair]
    return row


def _find_swap(
    residue: Residue, missing_at: dict[int, list[int]], u: int, v: int
) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]] | None:
    """Return the other extra pair and the two missing ones that make u-v half of an exchange."""
    extra, missing, pair = residue.extra, residue.missing, residue.pair
    for x in missing_at.get(u, ()):
        first = pair(u, x)
        if first not in missing:
            continue
        for y in missing_at.get(v, ()):
            residue.steps += 1
            if residue.steps > MAX_STEPS:
                return None
            second, other = pair(v, y), pair(x, y)
            if second not in missing or other not in extra:
                continue
            twice_missing = first == second and len(missing[first]) < 2  # noqa: PLR2004
            twice_extra = other == pair(u, v) and len(extra[other]) < 2  # noqa: PLR2004
            if not twice_missing and not twice_extra:
                return other, first, second
    return None
