"""Switches and the cables between them, parallel cables counted, with endpoints attached.

One form for what was designed and what was recorded: nodes are numbered from 0, a joined pair of
nodes is one row however many cables join it, and both directions of it are in a CSR. What carries
no traffic onwards (hosts, adapters) is no node but a weight on the switch that it hangs on.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctestbed.topology.graph import UNKNOWN_VALUE, LinkClass, PlaneBlock, Topology

Ints: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Multigraph:
    """Joined pairs `low < high` with their cables and rate, and what hangs on each node.

    `rate` is bit/s one way over all cables of the pair, and 1 for each cable where `rated` is
    false (some rate is unknown). `ports` counts the endpoint ports below a node, `port_rate` sums
    their rates in the same unit. `original` is what a node was before: a node id, or a device.
    """

    nodes: int
    low: Ints
    high: Ints
    cables: Ints
    rate: Ints
    ports: Ints
    port_rate: Ints
    rated: bool
    original: Ints

    @cached_property
    def leaves(self) -> Ints:
        """Return the nodes with an endpoint below."""
        return np.flatnonzero(self.ports)

    @cached_property
    def csr(self) -> tuple[Ints, Ints, Ints]:
        """Return (offsets, neighbours, rows): both directions of every pair, neighbours rising."""
        near = np.concatenate([self.low, self.high])
        far = np.concatenate([self.high, self.low])
        row = np.tile(np.arange(len(self.low)), 2)
        order = np.lexsort((far, near))
        offsets = np.zeros(self.nodes + 1, np.int64)
        np.cumsum(np.bincount(near, minlength=self.nodes), out=offsets[1:])
        return offsets, far[order], row[order]

    @cached_property
    def degree(self) -> Ints:
        """Return the cables to other nodes at each node, parallel ones counted."""
        total = np.zeros(self.nodes, np.int64)
        np.add.at(total, self.low, self.cables)
        np.add.at(total, self.high, self.cables)
        return total

    @cached_property
    def components(self) -> Ints:
        """Return, for each node, the lowest node that it reaches."""
        return component_labels(self.nodes, self.low, self.high)

    def induced(self, chosen: Ints) -> "Multigraph":
        """Return the part on a mask of nodes, renumbered in order."""
        position = np.cumsum(chosen) - 1
        kept = chosen[self.low] & chosen[self.high]
        return Multigraph(
            nodes=int(chosen.sum()),
            low=position[self.low[kept]],
            high=position[self.high[kept]],
            cables=self.cables[kept],
            rate=self.rate[kept],
            ports=self.ports[chosen],
            port_rate=self.port_rate[chosen],
            rated=self.rated,
            original=self.original[chosen],
        )


def component_labels(nodes: int, low: Ints, high: Ints) -> Ints:
    """Label each node with the lowest one it reaches; rounds grow with the log of the diameter."""
    labels = np.arange(nodes)
    while True:
        lower = np.minimum(labels[low], labels[high])
        spread = labels.copy()
        np.minimum.at(spread, low, lower)
        np.minimum.at(spread, high, lower)
        for column, other in ((low, high), (high, low)):
            np.minimum.at(spread, labels[column], labels[other])
        spread = spread[spread]
        if np.array_equal(spread, labels):
            return labels
        labels = spread


def make_multigraph(
    nodes: int,
    ends: tuple[Ints, Ints],
    rate: Ints,
    ports: tuple[Ints, Ints],
    original: Ints,
) -> Multigraph:
    """Merge parallel cables into pairs, and endpoint ports into weights; drop self-loops.

    `ends` and `rate` have a row per cable between nodes; `ports` are (node, rate) of a port each.
    """
    port_node, port_rate = ports
    apart = ends[0] != ends[1]
    a, b, rate = ends[0][apart].astype(np.int64), ends[1][apart].astype(np.int64), rate[apart]
    rated = bool((rate > 0).all() and (port_rate > 0).all())
    if not rated:
        rate, port_rate = np.ones_like(rate), np.ones_like(port_rate)
    low, high = np.minimum(a, b), np.maximum(a, b)
    keys, inverse, cables = np.unique(
        low * max(nodes, 1) + high, return_inverse=True, return_counts=True
    )
    total = np.zeros(len(keys), np.int64)
    np.add.at(total, inverse.reshape(-1), rate)
    below = np.zeros(nodes, np.int64)
    np.add.at(below, port_node, port_rate)
    return Multigraph(
        nodes=nodes,
        low=keys // max(nodes, 1),
        high=keys % max(nodes, 1),
        cables=cables,
        rate=total,
        ports=np.bincount(port_node, minlength=nodes).astype(np.int64),
        port_rate=below,
        rated=rated,
        original=original,
    )


def plane_graph(topology: Topology, block: PlaneBlock) -> Multigraph:
    """Return one plane of one site: its switches, or accelerators that are their own routers."""
    nodes, links = topology.nodes, topology.links
    site = topology.sites[block.site]
    mine = (links.plane == block.plane) & (nodes.site[links.a] == block.site)
    if block.leaves:
        first, count = block.first_leaf, block.leaves + block.spines + block.cores
    else:
        first, count = site.first_accelerator, site.accelerators
    inner = np.flatnonzero(mine & (links.klass == LinkClass.FABRIC))
    hung = np.flatnonzero(mine & (links.klass == LinkClass.HOST))
    if block.leaves:
        ports = (links.b[hung] - first, links.rate[hung])
    else:  # an accelerator is its own router, and sends what its cables take
        rate = np.zeros(count, np.int64)
        for column in (links.a, links.b):
            np.add.at(rate, column[inner] - first, links.rate[inner])
        unknown = bool((links.rate[inner] == UNKNOWN_VALUE).any())
        ports = (np.arange(count), np.full(count, -1) if unknown else np.maximum(rate, 1))
    ends = (links.a[inner] - first, links.b[inner] - first)
    return make_multigraph(count, ends, links.rate[inner], ports, first + np.arange(count))
