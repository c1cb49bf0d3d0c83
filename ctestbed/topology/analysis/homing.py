"""What hangs on one thing alone: hosts, or their planes and rails, that one loss cuts off.

Works on attachments, a row per endpoint port: its owner (a host, or a host in one plane, or one
adapter), its adapter, and the leaf that it is cabled to.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ctestbed.topology.analysis.multigraph import Ints


@dataclass(frozen=True)
class Homing:
    """Per owner, in the order of `owners`: how many leaves, cables and adapters it has."""

    owners: Ints
    leaves: Ints
    cables: Ints
    adapters: Ints
    sole: Ints
    """The leaf of an owner that has one only; -1 elsewhere."""

    def on_one_leaf(self) -> tuple[Ints, Ints]:
        """Return the leaves that are the only one of some owner, and how many owners each has."""
        alone = self.sole[self.sole >= 0]
        if not len(alone):
            return alone, alone
        counts = np.bincount(alone - alone.min())
        leaves = np.flatnonzero(counts)
        return leaves + alone.min(), counts[leaves]


def attach(owner: Ints, adapter: Ints, leaf: Ints) -> Homing:
    """Count what every owner hangs on. O(rows) where rows come in order of owner."""
    if not len(owner):
        none = np.zeros(0, np.int64)
        return Homing(none, none, none, none, none)
    base = int(owner.min())
    place = owner.astype(np.int64) - base
    cables = np.bincount(place)
    present = np.flatnonzero(cables)
    leaves, some = _distinct(place, leaf, len(cables))
    adapters, _ = _distinct(place, adapter, len(cables))
    sole = np.where(leaves == 1, some, -1)
    owners = present + base
    return Homing(owners, *(column[present] for column in (leaves, cables, adapters, sole)))


def _distinct(place: Ints, what: Ints, count: int) -> tuple[Ints, Ints]:
    """Return, for each place, how many different values it has, and its highest."""
    lowest = int(what.min())
    width = int(what.max()) - lowest + 1
    keys = place * width + (what - lowest)
    if (keys[1:] < keys[:-1]).any():
        keys = np.sort(keys)
    fresh = np.ones(len(keys), bool)
    fresh[1:] = keys[1:] != keys[:-1]
    keys = keys[fresh]
    where, value = np.divmod(keys, width)
    last = np.zeros(count, np.int64)
    last[where] = value + lowest  # rising, so the highest stays
    return np.bincount(where, minlength=count), last


@dataclass(frozen=True, slots=True)
class Exposure:
    """One kind of element, whom it can cut off, and the worst elements (leaves) as nodes."""

    element: Literal["adapter", "cable", "leaf"]
    exposed: Ints
    """Owners that one such element cuts off."""
    elements: int
    most: int
    worst: tuple[int, ...]


def exposures(homing: Homing) -> list[Exposure]:
    """Return the kinds of element of which one loss cuts an owner off, smallest first."""
    found = []
    for element, counts in (("adapter", homing.adapters), ("cable", homing.cables)):
        alone = homing.owners[counts == 1]
        if len(alone):
            kind: Literal["adapter", "cable"] = "adapter" if element == "adapter" else "cable"
            found.append(Exposure(kind, alone, len(alone), 1, ()))
    leaves, counts = homing.on_one_leaf()
    if len(leaves):
        worst = leaves[np.lexsort((leaves, -counts))][:3]
        found.append(
            Exposure(
                "leaf",
                homing.owners[homing.leaves == 1],
                len(leaves),
                int(counts.max()),
                tuple(worst.tolist()),
            )
        )
    return found
