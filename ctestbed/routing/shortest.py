"""Shortest paths over fabrics that are no trees: dragonflies, Slim Flies, tori, meshes, supernodes.

Distances are counted in cables from each destination's side by breadth; a path takes at each node
one of the cables that come nearer, drawn as `spread` says, so that each step is one of the choices
of a flow. NICs are ends and never on the way; cables inside supernodes count only where endpoints
have no others. Unlike up/down paths these may close a cycle of waiting buffers.
"""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctestbed.core.errors import InputError
from ctestbed.routing.spread import STEP, Spread, flow_keys, hashed_choice
from ctestbed.topology.graph import LinkClass, NodeKind, Topology
from ctestbed.topology.names import endpoint_name

Column: TypeAlias = NDArray[Any]

_FAR: Final = 2**30
_MOST_PATHS: Final = 2**62


@dataclass(frozen=True, slots=True)
class Walks:
    """Directed links of walks as CSR, and from how many equally short ones each was chosen."""

    offsets: Column
    links: Column
    candidates: Column


@dataclass(frozen=True, slots=True)
class _Graph:
    """Nodes' cables as CSR; `passes` tells which nodes may lie on the way."""

    offsets: Column
    neighbour: Column
    link: Column
    passes: Column

    def cables_of(self, nodes: Column) -> tuple[Column, Column]:
        """Return the rows of all cables of `nodes`, and how many each has."""
        counts = self.offsets[nodes + 1] - self.offsets[nodes]
        first = np.repeat(self.offsets[nodes] - (np.cumsum(counts) - counts), counts)
        return first + np.arange(len(first)), counts


def shortest_walks(
    topology: Topology,
    source: Column,
    destination: Column,
    *,
    spread: Spread,
    seed: int,
    label: Column,
) -> Walks:
    """Route each flow over a shortest path.

    Raises:
        InputError: two endpoints with no path between them, named.
    """
    graph = _graph(topology)
    hashed = np.zeros_like(label) if spread == "sweep" else label
    keys = flow_keys(source, destination, hashed, seed)
    digits = label.astype(np.int64) if spread == "sweep" else topology.port_of(destination)
    ends = topology.first_endpoint + destination
    grid = np.full((len(source), 1), -1, np.int64)
    candidates = np.ones(len(source), np.int64)
    for end in np.unique(ends).tolist():
        rows = np.flatnonzero(ends == end)
        distance, ways = _distances(graph, end)
        at = topology.first_endpoint + source[rows]
        if bool((distance[at] >= _FAR).any()):
            lost = int(rows[int((distance[at] >= _FAR).argmax())])
            names = [endpoint_name(topology, int(each[lost])) for each in (source, destination)]
            raise InputError(
                "CTB-R001",
                f"no path from {names[0]} to {names[1]}: no cables lead from one to the other",
                hint="keep to endpoints of one plane or site",
            )
        candidates[rows] = ways[at]
        longest = int(distance[at].max(initial=0))
        if longest > grid.shape[1]:
            more = np.full((len(source), longest - grid.shape[1]), -1, np.int64)
            grid = np.concatenate([grid, more], axis=1)
        _walk(graph, distance, grid, rows, at, keys[rows], digits[rows], spread)
    used = grid >= 0
    offsets = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64)
    return Walks(offsets, grid[used], candidates)


def _graph(topology: Topology) -> _Graph:
    adjacency, kind = topology.adjacency, topology.nodes.kind
    node = np.repeat(np.arange(topology.node_count), np.diff(adjacency.offsets))
    keep = np.ones(len(node), bool)
    if topology.nics:
        keep = topology.links.klass[adjacency.link // 2] != LinkClass.SCALE_UP
    offsets = np.zeros(topology.node_count + 1, np.int64)
    np.cumsum(np.bincount(node[keep], minlength=topology.node_count), out=offsets[1:])
    return _Graph(
        offsets,
        adjacency.neighbour[keep].astype(np.int64),
        adjacency.link[keep].astype(np.int64),
        kind != NodeKind.NIC,
    )


def _distances(graph: _Graph, end: int) -> tuple[Column, Column]:
    """Return every node's distance to `end` in cables, and by how many ways it is as short."""
    distance = np.full(len(graph.passes), _FAR, np.int64)
    ways = np.zeros(len(graph.passes), np.int64)
    distance[end], ways[end] = 0, 1
    edge, hops = np.array([end]), 0
    while len(edge):
        hops += 1
        rows, counts = graph.cables_of(edge)
        near, far = np.repeat(edge, counts), graph.neighbour[rows]
        new = distance[far] == _FAR
        distance[far[new]] = hops
        level = distance[far] == hops
        np.add.at(ways, far[level], ways[near[level]])
        ways = np.minimum(ways, _MOST_PATHS // (len(graph.link) + 1))
        edge = np.unique(far[new])
        edge = edge[graph.passes[edge]]
    return distance, ways


def _walk(
    graph: _Graph,
    distance: Column,
    grid: Column,
    rows: Column,
    at: Column,
    keys: Column,
    digits: Column,
    spread: Spread,
) -> None:
    """Fill the walks of flows to one destination, step by step; `at` is where each begins."""
    step = 0
    while len(rows):
        cables, counts = graph.cables_of(at)
        nearer = distance[graph.neighbour[cables]] == np.repeat(distance[at], counts) - 1
        nearer &= graph.passes[graph.neighbour[cables]] | (distance[graph.neighbour[cables]] == 0)
        flow = np.repeat(np.arange(len(at)), counts)[nearer]
        cables = cables[nearer]
        number = np.bincount(flow, minlength=len(at))
        pick = digits % number
        if spread != "balanced":
            drawn = hashed_choice(keys, STEP + step, number)
            pick = drawn if spread == "ecmp" else (drawn + digits) % number
        digits = digits // number
        chosen = cables[np.cumsum(number) - number + pick]
        grid[rows, step] = graph.link[chosen]
        at = graph.neighbour[chosen]
        on = distance[at] > 0
        rows, at, keys, digits = rows[on], at[on], keys[on], digits[on]
        step += 1
