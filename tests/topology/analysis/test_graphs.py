"""Searches, flows and cuts on random multigraphs, against networkx."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, pairwise
from math import prod
from typing import cast

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.topology.analysis.cuts import find_cuts, find_partings
from ctestbed.topology.analysis.diversity import (
    disjoint_between,
    measure_diversity,
    spread_shortest,
)
from ctestbed.topology.analysis.flow import FlowNetwork
from ctestbed.topology.analysis.multigraph import Ints, Multigraph
from ctestbed.topology.analysis.search import count_shortest, measure_distances
from tests.topology.analysis.graphs import graph_of, multigraphs, oracle


@given(multigraphs())
def test_distances_are_those_of_breadth_first_search(graph: Multigraph) -> None:
    lengths = dict(nx.all_pairs_shortest_path_length(oracle(graph)))
    leaves = graph.leaves.tolist()
    pairs = [(a, b) for a in leaves for b in leaves if a != b]
    hops = Counter(lengths[a][b] for a, b in pairs if b in lengths[a])
    found = measure_distances(graph)
    assert Counter({h: n for h, n in enumerate(found.counts) if n}) == hops
    assert found.unreachable == len(pairs) - hops.total()
    assert (found.sources, found.leaves) == (len(leaves), len(leaves))


def test_a_search_with_little_work_allowed_says_so() -> None:
    ring = [(n, (n + 1) % 300, 1) for n in range(300)]
    graph = graph_of(300, ring, [1] * 300)
    found = measure_distances(graph, work=1)
    assert (found.sources, found.leaves, found.diameter) == (64, 300, 150)
    assert measure_distances(graph).diameter == 150


@given(multigraphs(max_nodes=7, max_cables=14))
def test_shortest_paths_count_cables(graph: Multigraph) -> None:
    drawn = oracle(graph)
    found = count_shortest(graph)
    fan_out = 0
    for row, source in enumerate(found.sources.tolist()):
        for target in range(graph.nodes):
            ways = 0
            if target == source:
                ways = 1
            elif nx.has_path(drawn, source, target):
                paths = list(nx.all_shortest_paths(drawn, source, target))
                ways = sum(prod(drawn[a][b]["cables"] for a, b in pairwise(path)) for path in paths)
                if graph.ports[target]:
                    firsts = {path[1] for path in paths}
                    fan_out = max(fan_out, sum(drawn[source][n]["cables"] for n in firsts))
            assert found.paths[row, target] == ways
    assert (spread_shortest(graph, found)[1] or 0) == fan_out


@given(multigraphs())
def test_even_spreading_loses_and_makes_nothing(graph: Multigraph) -> None:
    load = count_shortest(graph, spread=True).load
    assert load is not None
    into, out = np.zeros(graph.nodes), np.zeros(graph.nodes)
    pairs = len(graph.low)
    for start, end, part in (
        (graph.low, graph.high, load[:pairs]),
        (graph.high, graph.low, load[pairs:]),
    ):
        np.add.at(out, start, part)
        np.add.at(into, end, part)
    assert np.allclose(into, out)  # all send to all: what ends at a node equals what starts
    reach = np.array([graph.ports[graph.components == c].sum() for c in graph.components])
    total = (graph.ports * (reach - graph.ports)).sum()
    hops = dict(nx.all_pairs_shortest_path_length(oracle(graph)))
    expected = sum(
        int(graph.ports[a] * graph.ports[b]) * length
        for a, row in hops.items()
        for b, length in row.items()
    )
    assert np.isclose(load.sum(), expected)
    assert (load >= 0).all()
    assert total >= 0


@given(multigraphs(max_nodes=7))
def test_maximum_flow_and_its_cut(graph: Multigraph) -> None:
    drawn = oracle(graph)
    network = FlowNetwork.of(graph, graph.rate)
    for a, b in combinations(range(graph.nodes), 2):
        flow = nx.maximum_flow_value(drawn, a, b, capacity="rate") if drawn.size() else 0
        assert network.max_flow(a, b) == flow
        side = np.array(network.source_side(a))
        assert side[a]
        assert not side[b]
        assert graph.rate[side[graph.low] != side[graph.high]].sum() == flow


@given(multigraphs())
def test_disjoint_paths_of_every_pair(graph: Multigraph) -> None:
    drawn = oracle(graph)
    expected = Counter(
        nx.maximum_flow_value(drawn, a, b, capacity="cables")
        for a, b in combinations(graph.leaves.tolist(), 2)
        if nx.has_path(drawn, a, b)
    )
    counts, weakest = disjoint_between(graph, graph.leaves)
    assert Counter(counts) == expected
    if weakest is not None:
        least = nx.maximum_flow_value(drawn, *weakest, capacity="cables")
        assert least == min(expected)
    found = measure_diversity(graph)
    assert found.every_pair
    assert (found.disjoint is None) == (not expected)


@given(multigraphs(max_nodes=12))
def test_articulations_and_bridges(graph: Multigraph) -> None:
    cuts, drawn = find_cuts(graph), oracle(graph)
    assert {node for node, _ in cuts.articulations} == set(nx.articulation_points(drawn))
    assert {frozenset((a, b)) for a, b, _ in cuts.bridges} == {
        frozenset(edge) for edge in cast("Iterator[tuple[int, int]]", nx.bridges(drawn))
    }


@given(multigraphs(max_nodes=10), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_what_parts_hosts_from_hosts(graph: Multigraph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    owner = rng.integers(0, 8, rng.integers(0, 14))
    node = rng.integers(0, graph.nodes, len(owner))
    found = find_partings(graph, owner, node)
    drawn = oracle(graph)
    switches = {at for at in range(graph.nodes) if _parts(drawn, owner, node, without=at)}
    assert {parting.node for parting in found if parting.far is None} == switches
    lone = [(a, b) for a, b in drawn.edges if drawn[a][b]["cables"] == 1]
    cables = {frozenset(pair) for pair in lone if _parts(drawn, owner, node, cable=pair)}
    assert {frozenset((p.node, p.far)) for p in found if p.far is not None} == cables
    assert all(parting.cut_off > 0 for parting in found)


def _parts(
    drawn: "nx.Graph[int]",
    owner: Ints,
    node: Ints,
    without: int | None = None,
    cable: tuple[int, int] | None = None,
) -> bool:
    """Whether two owners in one component are each wholly in another part once this is lost."""
    label = {
        at: number for number, part in enumerate(nx.connected_components(drawn)) for at in part
    }
    left = drawn.copy()
    if without is not None:
        left.remove_node(without)
    if cable is not None:
        left.remove_edge(*cable)
    pieces = {at: n for n, part in enumerate(nx.connected_components(left)) for at in part}
    homes: dict[tuple[int, int], set[int]] = {}
    for who, at in zip(owner.tolist(), node.tolist(), strict=True):
        homes.setdefault((label[at], who), set()).add(pieces.get(at, -1))
    return any(
        mine[0] == theirs[0]
        and len(homes[mine]) == 1  # wholly in one part, the other nowhere in it
        and homes[mine] != {-1} != homes[theirs]
        and not homes[mine] & homes[theirs]
        for mine in homes
        for theirs in homes
    )
