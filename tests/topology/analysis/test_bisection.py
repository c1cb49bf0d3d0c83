"""Bounds of the bisection, against trying every way of halving, and against closed forms."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from ctestbed.topology.analysis.bisection import (
    bracket_bisection,
    climbing_bound,
    imbalance,
    spectrum,
    spreading_bound,
    try_every_half,
)
from ctestbed.topology.analysis.closed import dragonfly_bound, slim_fly_bisection
from ctestbed.topology.analysis.design import analyse_design
from ctestbed.topology.analysis.multigraph import Multigraph, plane_graph
from ctestbed.topology.build import lay_out
from ctestbed.topology.capacity import plane_bisection
from ctestbed.topology.kinds.primes import prime_power
from ctestbed.topology.kinds.slim_fly import MMSWiring
from ctestbed.topology.plan import require_plan
from ctestbed.topology.shapes import PlanePlan
from tests.topology.analysis.graphs import graph_of, multigraphs
from tests.topology.strategies import document, fat_tree, load_document

EVERY_WAY = 10**9


@given(multigraphs(max_nodes=8))
@settings(max_examples=80)
def test_the_bisection_lies_between_its_bounds(graph: Multigraph) -> None:
    bounds = bracket_bisection(graph, exhaustive=0)
    if graph.ports.sum() < 2 or len(np.unique(graph.components[graph.leaves])) > 1:
        assert bounds is None
        return
    assert bounds is not None
    assert sum(bounds.sides) == graph.ports.sum()
    if len(graph.leaves) == 1:
        assert bounds.exact
        return
    exact = try_every_half(graph)
    assert exact.exact
    assert bounds.at_least <= exact.at_least <= bounds.at_most
    assert abs(bounds.sides[0] - bounds.sides[1]) <= imbalance(graph)
    searched = bracket_bisection(graph, exhaustive=EVERY_WAY)
    assert searched is not None
    assert searched.at_least == searched.at_most == exact.at_least


def plane(drawn: dict[str, Any]) -> tuple[PlanePlan, Multigraph]:
    planned = require_plan(load_document(drawn))
    topology = lay_out(planned)
    return planned.sites[0].planes[0], plane_graph(topology, topology.blocks[0])


TREES = [
    fat_tree(tiers=2, leaves=6, spines=3, hosts_per_leaf=4, parallel=2),
    fat_tree(tiers=2, leaves=8, spines=2, hosts_per_leaf=6),
    fat_tree(tiers=3, pods=4, leaves=4, spines=2, cores=4, hosts_per_leaf=2),
    fat_tree(tiers=3, pods=6, leaves=2, spines=4, cores=4, hosts_per_leaf=3, parallel=2),
    fat_tree(k=6, tiers=3),
]
GRIDS = [
    document("torus", dims=[4, 4, 4]),
    document("torus", dims=[8, 4, 2]),
    document("full-mesh", dims=[4, 4]),
    document("full-mesh", dims=[6, 2, 4]),
]


@pytest.mark.parametrize("drawn", TREES + GRIDS)
def test_bounds_meet_at_the_closed_form(drawn: dict[str, Any]) -> None:
    planned, graph = plane(drawn)
    found = bracket_bisection(graph, exhaustive=0)
    assert found is not None
    assert found.at_least == found.at_most == plane_bisection(planned)


@pytest.mark.parametrize("q", [3, 4, 5, 7, 8, 9, 11])
def test_the_second_eigenvalue_of_a_slim_fly_is_q(q: int) -> None:
    _, graph = plane(document("slim-fly", q=q, p=1))
    joined = np.zeros((graph.nodes, graph.nodes))
    joined[graph.low, graph.high] = joined[graph.high, graph.low] = 1
    mu, _ = spectrum(np.diag(joined.sum(axis=1)) - joined, np.ones(graph.nodes, np.int64))
    assert mu == pytest.approx(q)
    assert (joined.sum(axis=1) == MMSWiring(q, 1).degree).all()


@pytest.mark.parametrize("q", [19, 27, 31, 32, 49, 64, 81, 103, 127, 128])
def test_no_eigenvalue_of_a_slim_fly_lies_between_0_and_q(q: int) -> None:
    """By characters of the field: each pairs one eigenvalue of either set of routers.

    Blocks are [[s, H], [H*, t]] with H / sqrt(q) unitary, s and t the sums over X and X'.
    """
    found = prime_power(q)
    assert found is not None
    prime, power = found
    wiring, sums = MMSWiring(q, 1), []
    for generators in wiring.generators():
        chosen = np.zeros(q)
        chosen[generators] = 1
        sums.append(np.fft.fftn(chosen.reshape((prime,) * power)).ravel().real[1:])
    s, t = sums
    largest = (s + t + np.sqrt((s - t) ** 2 + 4 * q)) / 2
    assert wiring.degree - largest.max() >= q - 1e-9


@pytest.mark.parametrize("q", [3, 4, 5, 7, 8, 9])
@pytest.mark.parametrize("p", [1, 40])
def test_bounds_of_a_slim_fly(q: int, p: int) -> None:
    planned, graph = plane(document("slim-fly", q=q, p=p))
    closed, found = slim_fly_bisection(planned), bracket_bisection(graph, exhaustive=0)
    assert closed is not None
    assert found is not None
    assert closed[0] <= found.at_most
    assert found.at_least <= closed[1]
    if q % 2 == 0 or p == 1:
        assert closed[0] == closed[1] == plane_bisection(planned)
    if p == 40 and q % 2 == 0:
        assert closed[0] == q**3 // 2 * 400 * 10**9


@pytest.mark.parametrize(
    "counts",
    [
        {"p": 2, "a": 4, "h": 2},
        {"p": 1, "a": 4, "h": 2, "g": 5},
        {"p": 3, "a": 6, "h": 3, "g": 7},
        {"p": 2, "a": 2, "h": 2, "g": 4},
    ],
)
def test_bounds_of_a_dragonfly(counts: dict[str, int]) -> None:
    planned, graph = plane(document("dragonfly", **counts))
    closed, found = dragonfly_bound(planned), bracket_bisection(graph, exhaustive=0)
    assert found is not None
    assert 0 < closed <= found.at_most
    assert found.at_least >= closed * 0.5
    known = bracket_bisection(graph, known=closed, exhaustive=0)
    assert known is not None
    assert known.at_least >= closed


@pytest.mark.parametrize("counts", [{"leaves": 5}, {"leaves": 2, "pods": 3, "cores": 2}])
def test_trees_that_do_not_halve_evenly_are_searched(counts: dict[str, int]) -> None:
    tiers = 3 if "cores" in counts else 2
    loaded = load_document(fat_tree(tiers=tiers, spines=2, hosts_per_leaf=2, **counts))
    planned = require_plan(loaded)
    structure = analyse_design(lay_out(planned), planned, loaded)
    (told,) = structure.data["planes"]
    bounds = told["bisection"]
    assert bounds is not None
    assert bounds["exact"]
    assert bounds["sides"] is not None


def test_a_ring_and_a_path() -> None:
    ring = graph_of(16, [(n, (n + 1) % 16, 1) for n in range(16)], [1] * 16, 700)
    found = bracket_bisection(ring, exhaustive=0)
    assert found is not None
    assert (found.at_least, found.at_most) == (200, 200)
    path = graph_of(16, [(n, n + 1, 1) for n in range(15)], [1] * 16, 700)
    assert try_every_half(graph_of(6, [(n, n + 1, 1) for n in range(5)], [1] * 6)).at_most == 100
    bounds = bracket_bisection(path, exhaustive=0)
    assert bounds is not None
    assert bounds.at_least <= 100 == bounds.at_most


def test_endpoints_bound_halves_too() -> None:
    star = graph_of(5, [(leaf, 4, 4) for leaf in range(4)], [2, 2, 2, 2, 0], 100)
    found = bracket_bisection(star)
    assert found is not None
    assert (found.at_least, found.at_most) == (400, 400)


def test_what_has_no_halves_or_no_way_between_them() -> None:
    assert bracket_bisection(graph_of(2, [], [1, 1])) is None
    one = bracket_bisection(graph_of(1, [], [3]))
    assert one is not None
    assert one.at_least == one.at_most == 150
    assert bracket_bisection(graph_of(1, [], [1])) is None
    assert bracket_bisection(graph_of(1, [(0, 0, 1)], [0])) is None


def test_few_leaves_are_searched_whole() -> None:
    path = graph_of(6, [(n, n + 1, n + 1) for n in range(5)], [1] * 6, 700)
    found = bracket_bisection(path)
    assert found is not None
    assert found.exact
    assert found.at_most == try_every_half(path).at_most


def test_lower_bounds_alone() -> None:
    _, graph = plane(fat_tree(tiers=2, leaves=4, spines=2, hosts_per_leaf=2))
    assert climbing_bound(graph, 0) == pytest.approx(4 * 400e9)
    assert spreading_bound(graph, 0) < climbing_bound(graph, 0)
    _, torus = plane(document("torus", dims=[4, 4]))
    assert climbing_bound(torus, 0) == 0
    assert spreading_bound(torus, 0) == pytest.approx(8 * 400e9)
