"""How a count is spread over pairs of leaves: the fewest, the typical (median) and the most."""

from collections.abc import Mapping

from typing_extensions import TypedDict


class Spread(TypedDict):
    """Of all pairs looked at; `typical` is the lower median, null where only bounds are known."""

    fewest: int
    typical: int | None
    most: int | None


def spread_of(pairs: Mapping[int, int]) -> Spread | None:
    """Return the spread of `value -> number of pairs`; None without a pair."""
    total = sum(pairs.values())
    if not total:
        return None
    seen = 0
    typical = None
    for value in sorted(pairs):
        seen += pairs[value]
        if typical is None and 2 * seen >= total:
            typical = value
    return {"fewest": min(pairs), "typical": typical, "most": max(pairs)}


def same_for_all(value: int) -> Spread:
    """Return the spread of one value that holds for every pair."""
    return {"fewest": value, "typical": value, "most": value}
