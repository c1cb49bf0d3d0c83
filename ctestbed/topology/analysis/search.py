"""Shortest ways between leaves: how long, and how many, level by level from all leaves at once.

Distances by bits: 64 sources to a machine word, one OR over the neighbours in each level. Numbers
of shortest paths, and the load that even spreading over all of them makes, by one row per source.
Paths count cables: of two parallel ones each is a path of its own.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from ctestbed.topology.analysis.multigraph import Ints, Multigraph

WORD: Final = 64
WORK: Final = 60_000_000
"""Pair visits that one search may take; above, it starts from evenly spaced leaves only."""
_ONES: Final = np.array([byte.bit_count() for byte in range(256)], np.int64)


@dataclass(frozen=True, slots=True)
class Distances:
    """Hops between leaves over all ordered pairs of a source and another leaf.

    `counts[h]` pairs are h hops apart; `unreachable` have no way. `sources` of `leaves` were
    searched from.
    """

    counts: tuple[int, ...]
    unreachable: int
    sources: int
    leaves: int

    @property
    def diameter(self) -> int:
        """Most hops between two leaves that reach each other."""
        return len(self.counts) - 1

    @property
    def total(self) -> int:
        """Hops summed over all reachable pairs."""
        return sum(hops * pairs for hops, pairs in enumerate(self.counts))

    @property
    def pairs(self) -> int:
        """Reachable ordered pairs."""
        return sum(self.counts)


def spaced(leaves: Ints, most: int) -> Ints:
    """Return at most so many of the leaves, evenly spaced."""
    if len(leaves) <= most:
        return leaves
    return leaves[np.arange(most) * len(leaves) // most]


def measure_distances(
    graph: Multigraph, sources: Ints | None = None, work: int = WORK
) -> Distances:
    """Search from all leaves, or from `sources`; from a sample where that would take too long."""
    leaves = graph.leaves
    chosen = leaves if sources is None else sources
    per_word = 8 * max(len(graph.low), graph.nodes, 1)  # levels are few: eight are allowed for
    chosen = spaced(chosen, max(WORD, work // per_word * WORD))
    counts: list[int] = []
    reached = 0
    is_leaf = np.zeros(graph.nodes, bool)
    is_leaf[leaves] = True
    for start in range(0, len(chosen), 4 * WORD):
        batch = chosen[start : start + 4 * WORD]
        for hops, fresh in enumerate(_levels(graph, batch)):
            found = int(_ONES[fresh[is_leaf].view(np.uint8)].sum())
            if hops == 0:
                found -= len(batch)  # a leaf is no pair with itself
            while len(counts) <= hops:
                counts.append(0)
            counts[hops] += found
            reached += found
    while counts and counts[-1] == 0:
        counts.pop()
    missing = len(chosen) * max(len(leaves) - 1, 0) - reached
    return Distances(tuple(counts or [0]), missing, len(chosen), len(leaves))


def _levels(graph: Multigraph, sources: Ints) -> "list[Ints]":
    """Return, for each number of hops, bit s of every node that source s first reaches there."""
    words = -(-len(sources) // WORD)
    seen = np.zeros((graph.nodes, words), np.uint64)
    place = np.arange(len(sources))
    bit = np.uint64(1) << (place % WORD).astype(np.uint64)
    np.bitwise_or.at(seen, (sources, place // WORD), bit)
    offsets, neighbour, _ = graph.csr
    joined = np.flatnonzero(np.diff(offsets))
    fresh, levels = seen.copy(), []
    while fresh.any():
        levels.append(fresh)
        gathered = np.zeros_like(seen)
        if len(joined):
            gathered[joined] = np.bitwise_or.reduceat(fresh[neighbour], offsets[joined], axis=0)
        fresh = gathered & ~seen
        seen |= fresh
    return levels


@dataclass(frozen=True)
class Shortest:
    """Shortest paths from each source (rows) to each node (columns); 0 where there is no way.

    `load` is what each directed pair carries (rows of the graph towards `high`, then towards
    `low`) when every source sends 1 to each other endpoint port and 1 from each of its own, over
    all of its shortest paths alike; None where not asked for.
    """

    sources: Ints
    paths: Ints
    hops: Ints
    load: Ints | None


def count_shortest(
    graph: Multigraph, sources: Ints | None = None, *, spread: bool = False
) -> Shortest:
    """Count the shortest paths from `sources` (all leaves if left out) to every node.

    O(sources x pairs). Counts are exact up to 2^52.
    """
    chosen = graph.leaves if sources is None else sources
    offsets, neighbour, row = graph.csr
    near = np.repeat(np.arange(graph.nodes), np.diff(offsets))
    cables = graph.cables[row].astype(np.float64)
    paths = np.zeros((len(chosen), graph.nodes))
    hops = np.full((len(chosen), graph.nodes), -1, np.int32)
    load = np.zeros(2 * len(graph.low)) if spread else None
    towards = np.where(near < neighbour, 0, len(graph.low)) + row
    for number, source in enumerate(chosen.tolist()):
        found, levels = _walk(graph.nodes, near, neighbour, cables, source, hops[number])
        paths[number] = found
        if load is not None:
            sent = _accumulate(graph, source, found, levels, near, neighbour, cables)
            np.add.at(load, towards[sent[0]], sent[1])
    return Shortest(chosen, paths, hops, load)


def _walk(
    nodes: int, near: Ints, far: Ints, cables: Ints, source: int, hops: Ints
) -> tuple[Ints, list[Ints]]:
    """Return the number of shortest paths to each node, and the rows that each level uses."""
    paths = np.zeros(nodes)
    paths[source], hops[source] = 1, 0
    levels: list[Ints] = []
    step = 0
    while True:
        rows = np.flatnonzero((hops[near] == step) & (hops[far] < 0))
        if not len(rows):
            return paths, levels
        paths += np.bincount(far[rows], paths[near[rows]] * cables[rows], nodes)
        step += 1
        hops[far[rows]] = step
        levels.append(rows)


def _accumulate(
    graph: Multigraph,
    source: int,
    paths: Ints,
    levels: list[Ints],
    near: Ints,
    far: Ints,
    cables: Ints,
) -> tuple[Ints, Ints]:
    """Return rows and what each carries of the source's traffic to all ports but its own."""
    due = graph.ports.astype(np.float64) * graph.ports[source]
    due[source] = 0
    rows_used, sent = [], []
    for rows in reversed(levels):
        share = due[far[rows]] * paths[near[rows]] * cables[rows] / paths[far[rows]]
        due += np.bincount(near[rows], share, graph.nodes)
        rows_used.append(rows)
        sent.append(share)
    if not rows_used:
        return np.zeros(0, np.int64), np.zeros(0)
    return np.concatenate(rows_used), np.concatenate(sent)
