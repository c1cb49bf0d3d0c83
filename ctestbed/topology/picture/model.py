"""Scenes: blocks that stand for one or many things, and bundles that stand for all their cables.

Every cable of what a scene shows is in exactly one bundle, so the bundles' cables add up to the
plan's. How it looks is the business of whoever draws it; nothing here has a size or a place.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from ctestbed.core.result import UNKNOWN
from ctestbed.topology.shapes import UNKNOWN_FIGURE, Figures

Quantity: TypeAlias = int | Literal["UNKNOWN"]

View: TypeAlias = Literal["sites", "tiers", "links", "ring", "grid", "matrix"]
"""How a scene is built: places and trunks; columns of tiers below a common one; rows of blocks and
single lines; equals in a ring; a grid whose lines are dimensions; a square for every pair."""

Level: TypeAlias = Literal["sites", "plane", "pod", "leaf", "supernode", "cabling"]
"""How close a scene looks."""


class BlockData(TypedDict):
    """A block: `count` things of a kind, called `name` (none if empty), or `name` to `last`.

    `row` counts tiers from 0, the lowest; `inside` names the block that it is a part of. Ports
    are of one switch.
    """

    id: str
    kind: str
    name: str
    last: str | None
    count: int
    row: int
    inside: str | None
    ports_used: int | None
    radix: int | None


class ProtectedData(TypedDict):
    """What only a trunk has: its route, and the one that stands by."""

    length: Quantity
    delay: Quantity
    amplifiers: int
    standby_length: Quantity | None
    standby_delay: Quantity | None


class BundleData(TypedDict):
    """All cables between two blocks, or inside one (a = b). Capacity is one way, of all of them.

    `narrowing` is that of their layer. `each` is how many join one pair of devices, None where
    that differs.
    """

    a: str
    b: str
    layer: str
    cables: int
    rate: Quantity
    capacity: Quantity
    narrowing: str | None
    each: int | None
    trunk: NotRequired[ProtectedData]


class CableData(TypedDict):
    """One cable, by the names of its two ports."""

    a: str
    b: str
    rate: Quantity


class SceneData(TypedDict):
    """One drawing.

    `sites` and `planes` look like this (none where there are no names, or one plane), and so do
    `alike` things of its level.
    """

    id: str
    level: Level
    view: View
    title: str
    sites: list[str]
    planes: list[int] | None
    alike: int
    blocks: list[BlockData]
    bundles: list[BundleData]
    dims: NotRequired[list[int]]
    wrap: NotRequired[bool]
    cables: NotRequired[list[CableData]]
    note: str


class FocusData(TypedDict):
    """What the picture was asked to be of; None where that was left open."""

    site: str | None
    plane: int | None
    pod: int | None
    leaf: int | None


class PictureData(TypedDict):
    """Scenes from far to near, and what they were asked to be of."""

    focus: FocusData
    scenes: list[SceneData]


def block(
    identifier: str,
    kind: str,
    name: str,
    count: int,
    row: int,
    *,
    last: str | None = None,
    inside: str | None = None,
    ports_used: int | None = None,
    radix: int | None = None,
) -> BlockData:
    """Return a block."""
    return {
        "id": identifier,
        "kind": kind,
        "name": name,
        "last": last,
        "count": count,
        "row": row,
        "inside": inside,
        "ports_used": ports_used,
        "radix": radix,
    }


def bundle(
    ends: tuple[str, str],
    layer: str,
    cables: int,
    figures: Figures,
    *,
    narrowing: str | None = None,
    each: int | None = None,
) -> BundleData:
    """Return a bundle of cables of one rate."""
    rate = figures.rate
    return {
        "a": ends[0],
        "b": ends[1],
        "layer": layer,
        "cables": cables,
        "rate": quantity(rate),
        "capacity": UNKNOWN if rate == UNKNOWN_FIGURE else cables * rate,
        "narrowing": narrowing,
        "each": each,
    }


def quantity(value: int) -> Quantity:
    """Return a figure, or UNKNOWN."""
    return UNKNOWN if value == UNKNOWN_FIGURE else value


def runs(count: int, limit: int, chosen: int | None = None) -> list[range]:
    """Cut `count` things into at most `limit` runs: the first ones singly, the last, the chosen.

    What lies between is one run, or two around a chosen one.
    """
    if count <= limit:
        return [range(n, n + 1) for n in range(count)]
    if chosen is not None and limit - 1 <= chosen < count - 1:
        first = max(limit - 4, 0)
        alone = [*range(first), chosen, count - 1]
    else:
        alone = [*range(limit - 2), count - 1]
    return list(_fill(alone, count))


def _fill(alone: Iterable[int], count: int) -> Iterable[range]:
    reached = 0
    for number in alone:
        if number > reached:
            yield range(reached, number)
        yield range(number, number + 1)
        reached = number + 1
    if reached < count:
        yield range(reached, count)


def even_runs(count: int, limit: int) -> list[range]:
    """Cut `count` things into at most `limit` runs of as equal length as can be."""
    parts = min(count, limit)
    bounds = [index * count // parts for index in range(parts + 1)] if parts else [0]
    return [range(low, high) for low, high in pairwise(bounds)]


def padded(number: int, count: int) -> str:
    """Return a number as names hold it: as wide as the largest."""
    return f"{number:0{len(str(count - 1))}d}"


def named(word: str, run: range, count: int) -> tuple[str, str | None]:
    """Return the first and, of a longer run, the last name of a run of `count` things."""
    first = f"{word}{padded(run.start, count)}"
    return first, None if len(run) == 1 else f"{word}{padded(run.stop - 1, count)}"
