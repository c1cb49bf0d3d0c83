"""Ways from leaf to leaf: shortest paths, next hops, and paths that share no cable."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from ctestbed.topology.analysis.data import Spread, spread_of
from ctestbed.topology.analysis.flow import FlowNetwork
from ctestbed.topology.analysis.multigraph import Ints, Multigraph
from ctestbed.topology.analysis.search import Shortest, count_shortest, spaced

PATH_WORK: Final = 20_000_000
"""Leaves times pairs times hops up to which shortest paths are counted from every leaf."""
FLOW_WORK: Final = 40_000
"""Leaves times pairs up to which every two leaves' disjoint paths are found."""
SAMPLE: Final = 16


@dataclass(frozen=True)
class Diversity:
    """Spreads over pairs of leaves; `sources` were searched from, `flows` is how disjoint went."""

    shortest: Spread | None
    fan_out: int | None
    sources: int
    disjoint: Spread | None
    weakest: tuple[int, int] | None
    """The two nodes that fewest disjoint paths join."""
    every_pair: bool
    """Whether `disjoint` is of all pairs, not of a sample."""

    @property
    def flow_method(self) -> str:
        """Say how disjoint paths were found."""
        return "max-flow" if self.every_pair else "max-flow between some leaves"


def measure_diversity(
    graph: Multigraph, sources: Ints | None = None, *, hops: int = 2, flows: bool = True
) -> Diversity:
    """Count shortest paths, and with `flows` disjoint ones, between leaves of one component.

    `hops` is the diameter: a search looks at every pair of switches once for each.
    """
    leaves = graph.leaves
    size = max(len(graph.low), 1)
    most = max(SAMPLE, PATH_WORK // (size * max(hops, 1)))
    chosen = spaced(leaves, most) if sources is None else sources
    shortest, fan_out = spread_shortest(graph, count_shortest(graph, chosen))
    few = spaced(leaves, max(2, FLOW_WORK // size))
    counts, weakest = disjoint_between(graph, few) if flows else ({}, None)
    every = len(few) == len(leaves)
    return Diversity(shortest, fan_out, len(chosen), spread_of(counts), weakest, every)


def spread_shortest(graph: Multigraph, found: Shortest) -> tuple[Spread | None, int | None]:
    """Return the spread of shortest paths, and the most next hops of a leaf towards another."""
    leaves = graph.leaves
    paths = found.paths[:, leaves]
    other = (leaves[None, :] != found.sources[:, None]) & (paths > 0)
    values, counts = np.unique(paths[other], return_counts=True)
    spread = spread_of(
        {int(value): count for value, count in zip(values.tolist(), counts.tolist(), strict=True)}
    )
    if spread is None:
        return None, None
    offsets, neighbour, row = graph.csr
    near = np.repeat(np.arange(graph.nodes), np.diff(offsets))
    cables = graph.cables[row]
    fan_out = 0
    for hops in found.hops:  # of one target: a neighbour nearer to it is a next hop
        nearer = (hops[neighbour] == hops[near] - 1) & (hops[near] > 0)
        ways = np.bincount(near[nearer], cables[nearer], graph.nodes)
        fan_out = max(fan_out, int(ways[leaves].max(initial=0)))
    return spread, fan_out


def disjoint_between(
    graph: Multigraph, terminals: Ints
) -> tuple[dict[int, int], tuple[int, int] | None]:
    """Return, by edge-disjoint paths, how many pairs of terminals have so many, and the weakest.

    Pairs that do not reach each other are left out. One flow per terminal, after Gusfield 1990.
    """
    network = FlowNetwork.of(graph, graph.cables)
    labels = graph.components
    counts: Counter[int] = Counter()
    weakest: tuple[int, tuple[int, int]] | None = None
    for component in np.unique(labels[terminals]):
        part = terminals[labels[terminals] == component].tolist()
        between = _equivalent_flows(network, part)
        for i in range(len(part)):
            for j in range(i):
                flow = int(between[i, j])
                counts[flow] += 1
                if weakest is None or flow < weakest[0]:
                    weakest = flow, (part[j], part[i])
    return dict(counts), None if weakest is None else weakest[1]


def _equivalent_flows(network: FlowNetwork, terminals: list[int]) -> Ints:
    """Return the maximum flow between every two terminals, from one flow for each."""
    count = len(terminals)
    parent = [0] * count
    between = np.zeros((count, count), np.int64)
    for i in range(1, count):
        above = parent[i]
        flow = network.max_flow(terminals[i], terminals[above])
        side = network.source_side(terminals[i])
        for j in range(i + 1, count):
            if parent[j] == above and side[terminals[j]]:
                parent[j] = i
        # What joins i to an earlier terminal is no wider than on its way through its parent.
        between[i, :i] = between[:i, i] = np.minimum(between[above, :i], flow)
        between[i, above] = between[above, i] = flow
    return between
