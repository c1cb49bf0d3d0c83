"""Closed forms of every kind, against searches of the arrays that are laid out."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from ctestbed.topology.analysis.closed import closed_form
from ctestbed.topology.analysis.cuts import find_partings
from ctestbed.topology.analysis.design import _parted_by_nothing, analyse_design
from ctestbed.topology.analysis.diversity import measure_diversity
from ctestbed.topology.analysis.multigraph import Multigraph, plane_graph
from ctestbed.topology.analysis.planes import DesignPlane, describe_plane, same_for_all_dragonfly
from ctestbed.topology.analysis.search import measure_distances
from ctestbed.topology.build import lay_out
from ctestbed.topology.kinds.lattice import FullMeshWiring, TorusWiring
from ctestbed.topology.plan import require_plan
from tests.topology.strategies import any_fabrics, document, load_document, testbeds


def check_plane(graph: Multigraph, plane: DesignPlane) -> None:
    found, diversity = measure_distances(graph), measure_diversity(graph)
    hops = {h: n for h, n in enumerate(found.counts) if n}
    told = describe_plane(plane, None, [0])
    assert {int(h): n for h, n in told["hops"].items()} == hops
    assert told["diameter"] == found.diameter
    assert told["unreachable"] == found.unreachable == 0
    assert told["shortest_paths"] == diversity.shortest
    assert told["fan_out"] == diversity.fan_out
    if diversity.disjoint is not None:
        disjoint = told["disjoint_paths"]
        assert disjoint is not None
        assert disjoint["fewest"] == diversity.disjoint["fewest"]
        if disjoint["most"] is not None:
            assert disjoint == diversity.disjoint
    if _parted_by_nothing(plane.planned):
        every = np.arange(graph.ports.sum())  # each port a host of its own
        assert find_partings(graph, every, np.repeat(np.arange(graph.nodes), graph.ports)) == []


def check_testbed(drawn: dict[str, Any]) -> None:
    loaded = load_document(drawn)
    plan = require_plan(loaded)
    if plan.counts_only is not None:
        return
    topology = lay_out(plan)
    for block in topology.blocks:
        planned = plan.sites[block.site].planes[block.plane]
        if plan.sites[block.site].kind == "scale-up":
            continue
        graph = plane_graph(topology, block)
        if graph.nodes <= 40:
            check_plane(graph, DesignPlane(topology, block, planned))
            break
    structure = analyse_design(topology, plan, loaded)
    assert {finding.severity for finding in structure.findings} <= {"note"}
    for plane in structure.data["planes"]:
        bounds = plane["bisection"]
        assert bounds is None or 0 <= bounds["at_least"] <= bounds["at_most"]
        assert plane["unreachable"] == 0


@given(testbeds())
@settings(max_examples=40, deadline=None)
def test_trees(drawn: dict[str, Any]) -> None:
    check_testbed(drawn)


@given(any_fabrics())
@settings(max_examples=60, deadline=None)
def test_all_kinds(drawn: dict[str, Any]) -> None:
    check_testbed(drawn)


@pytest.mark.parametrize("wrap", [True, False])
@pytest.mark.parametrize("dims", [[1], [2], [5], [2, 2], [3, 4], [4, 4], [2, 3, 4], [6, 1, 2]])
def test_grids(dims: list[int], wrap: bool) -> None:
    check_testbed(document("torus", dims=dims, wrap=wrap))


@pytest.mark.parametrize("dims", [[1], [3], [2, 2], [4, 3], [3, 2, 3]])
def test_full_meshes(dims: list[int]) -> None:
    check_testbed(document("full-mesh", dims=dims))


@pytest.mark.parametrize(
    "counts",
    [
        {"p": 1, "a": 4, "h": 2},
        {"p": 2, "a": 4, "h": 3, "g": 6},
        {"p": 1, "a": 3, "h": 2, "g": 4},
        {"p": 1, "a": 5, "h": 4, "g": 3},
        {"p": 1, "a": 6, "h": 5, "g": 3},
        {"p": 1, "a": 6, "h": 2, "g": 1},
        {"p": 1, "a": 4, "h": 1, "g": 5},
    ],
)
def test_dragonflies(counts: dict[str, int]) -> None:
    check_testbed(document("dragonfly", **counts))


def test_a_dragonfly_of_few_local_cables_has_no_closed_form_of_disjoint_paths() -> None:
    plan = require_plan(load_document(document("dragonfly", p=1, a=2, h=4)))
    assert same_for_all_dragonfly(plan.sites[0].planes[0]) is None


@pytest.mark.parametrize("q", [3, 4, 5])
def test_slim_flies_have_diameter_two(q: int) -> None:
    loaded = load_document(document("slim-fly", q=q, p=1))
    plan = require_plan(loaded)
    topology = lay_out(plan)
    plane = DesignPlane(topology, topology.blocks[0], plan.sites[0].planes[0])
    check_plane(plane.graph, plane)
    told = describe_plane(plane, None, [0])
    assert told["diameter"] == 2
    assert told["methods"]["hops"] == "closed form"


def test_large_grids_count_without_arrays() -> None:
    plan = require_plan(load_document(document("torus", dims=[16, 16, 16])))
    closed = closed_form(plan.sites[0].planes[0])
    assert closed is not None
    assert closed.diameter == 24
    assert closed.disjoint == {"fewest": 6, "typical": 6, "most": 6}
    assert isinstance(plan.sites[0].shape.wiring, TorusWiring)
    mesh = require_plan(load_document(document("full-mesh", dims=[8, 8, 4, 4])))
    found = closed_form(mesh.sites[0].planes[0])
    assert isinstance(mesh.sites[0].shape.wiring, FullMeshWiring)
    assert found is not None
    assert (found.diameter, found.shortest) == (4, {"fewest": 1, "typical": 6, "most": 24})
    assert found.disjoint == {"fewest": 20, "typical": 20, "most": 20}  # row T29's neighbours
