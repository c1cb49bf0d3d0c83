"""What hosts of a design hang on, its sites, published figures, and how they are told."""

from itertools import combinations, pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.topology.analysis.data import StructureData
from ctestbed.topology.analysis.design import FINDINGS, Structure, analyse_design
from ctestbed.topology.analysis.sites import TrunkRoute, analyse_sites
from ctestbed.topology.build import lay_out
from ctestbed.topology.commands import TestbedRequest, run_validate
from ctestbed.topology.graph import LinkClass, NodeKind, Topology
from ctestbed.topology.plan import require_plan
from tests.topology.strategies import document, fat_tree, load_document, testbeds


def structure_of(drawn: dict[str, Any]) -> tuple[Structure, Topology]:
    loaded = load_document(drawn)
    plan = require_plan(loaded)
    topology = lay_out(plan)
    return analyse_design(topology, plan, loaded), topology


def points(data: StructureData) -> dict[tuple[str, str], tuple[int, int, int]]:
    return {
        (point["cuts"], point["element"]): (point["hosts"], point["elements"], point["most"])
        for point in data["single_points"]
    }


def test_single_homed_hosts() -> None:
    found, _ = structure_of(fat_tree(tiers=2, leaves=4, spines=2, hosts_per_leaf=8))
    assert points(found.data) == {
        ("network", "adapter"): (32, 32, 1),
        ("network", "cable"): (32, 32, 1),
        ("network", "leaf"): (32, 4, 8),
    }
    assert [finding.code for finding in found.findings] == ["CTB-T131"]


def test_many_nics_below_one_leaf_still_hang_on_it() -> None:
    drawn = fat_tree(tiers=2, leaves=4, spines=2, hosts_per_leaf=4)
    drawn["host"] = {"accelerators": 8, "nics": 4}
    found, _ = structure_of(drawn)
    assert points(found.data) == {("network", "leaf"): (16, 4, 4)}


def test_rails_without_a_second_tor() -> None:
    drawn = document("rail-optimised", rails=4, segments=2, hosts_per_segment=8, spines=2)
    drawn["host"] = {"accelerators": 4, "nics": 4}
    found, _ = structure_of(drawn)
    assert points(found.data) == {
        ("rail", "adapter"): (16, 64, 1),
        ("rail", "cable"): (16, 64, 1),
        ("rail", "leaf"): (16, 8, 8),
    }
    assert [finding.code for finding in found.findings] == ["CTB-T132"]


def test_dual_tors_leave_no_host_to_one_loss() -> None:
    drawn = document(
        "rail-optimised", rails=4, tors_per_rail=2, segments=2, hosts_per_segment=8, spines=2
    )
    drawn["host"] = {"accelerators": 4, "nics": 4}
    found, _ = structure_of(drawn)
    assert points(found.data) == {}
    assert found.findings == ()
    assert [m.value for m in found.metrics if m.name == "structure.hosts_lost_by_one"] == [0]


def test_planes_of_split_nics() -> None:
    drawn = fat_tree(tiers=2, leaves=4, spines=2, hosts_per_leaf=8)
    drawn["planes"] = {"count": 4, "form": "nic-split"}
    found, _ = structure_of(drawn)
    assert points(found.data)["network", "adapter"] == (32, 32, 1)
    assert points(found.data)["plane", "leaf"] == (32, 16, 8)
    assert ("network", "leaf") not in points(found.data)


def test_one_spine_parts_a_plane() -> None:
    found, _ = structure_of(fat_tree(tiers=2, leaves=4, spines=1, hosts_per_leaf=3, parallel=2))
    assert points(found.data)["part", "spine"] == (9, 1, 9)  # all but those of one leaf
    assert ("part", "cable") not in points(found.data)
    assert [finding.code for finding in found.findings] == ["CTB-T131", "CTB-T133"]
    thin, _ = structure_of(fat_tree(tiers=2, leaves=4, spines=1, hosts_per_leaf=3))
    assert points(thin.data)["part", "cable"] == (3, 4, 3)
    assert [finding.code for finding in thin.findings] == ["CTB-T131", "CTB-T133", "CTB-T134"]


def test_an_open_line_of_accelerators() -> None:
    found, _ = structure_of(document("torus", dims=[5], wrap=False))
    told = points(found.data)
    assert told["network", "cable"] == (2, 2, 1)
    assert told["part", "router"][1:] == (3, 2)
    assert told["part", "cable"][1:] == (4, 2)
    whole, _ = structure_of(document("torus", dims=[5]))
    assert points(whole.data) == {}


@given(testbeds())
@settings(max_examples=40, deadline=None)
def test_what_hosts_lose_is_what_networkx_says(drawn: dict[str, Any]) -> None:
    found, topology = structure_of(drawn)
    told = points(found.data)
    graph = topology.to_networkx()
    nodes, links = topology.nodes, topology.links
    hosts: dict[int, set[int]] = {}
    for nic in range(topology.first[NodeKind.NIC], topology.first[NodeKind.SWITCH]):
        hosts.setdefault(int(nodes.parent[nic]), set()).add(nic)
    leaves = {
        host: {int(leaf) for nic in nics for leaf in graph[nic]} for host, nics in hosts.items()
    }
    cables = {host: sum(graph.degree[nic] for nic in nics) for host, nics in hosts.items()}
    on_one_leaf = sum(len(each) == 1 for each in leaves.values())
    per_site = len(topology.sites)
    if on_one_leaf:
        exposed = told["network", "leaf"][0]
        assert exposed * per_site == on_one_leaf
    else:
        assert ("network", "leaf") not in told
    on_one_cable = sum(count == 1 for count in cables.values())
    assert told.get(("network", "cable"), (0,))[0] * per_site == on_one_cable
    assert int((links.klass == LinkClass.HOST).sum()) == sum(cables.values())


SUPERPOD = {"pods": 64, "leaves": 8, "hosts_per_leaf": 32, "spines": 8, "parallel": 4, "cores": 256}


def test_rows_t26_and_t28() -> None:
    loaded = load_document(fat_tree(tiers=3, radix=64, **SUPERPOD))
    plan = require_plan(loaded)
    found = analyse_design(lay_out(plan), plan, loaded)
    values = {metric.name: metric.value for metric in found.metrics}
    assert plan.nics == 16384
    assert values["structure.shortest_paths"] == 32 * 32 * 4
    clos = require_plan(load_document(fat_tree(k=64, tiers=2)))
    closed = analyse_design(lay_out(clos), clos, load_document(fat_tree(k=64, tiers=2)))
    assert {m.name: m.value for m in closed.metrics}["structure.fan_out"] == 32


def test_validate_tells_the_structure() -> None:
    result = run_validate(TestbedRequest("lab-128"))
    structure = result.data["structure"]
    (plane,) = structure["planes"]
    assert (plane["diameter"], plane["shortest_paths"]["most"]) == (2, 8)
    assert plane["bisection"]["exact"]
    assert {metric.provenance for metric in result.metrics} == {"modelled"}
    assert all(metric.source for metric in result.metrics)
    counted = run_validate(TestbedRequest("deepseek-slim-fly-32928"))
    assert counted.data["structure"] is None


def test_findings_stay_few_where_sites_are_many() -> None:
    names = [f"s{number}" for number in range(20)]
    drawn = fat_tree(tiers=2, leaves=2, spines=2, hosts_per_leaf=2)
    drawn["sites"] = [{"name": name} for name in names]
    trunk = {"length": "10km", "rate": "400Gbps"}
    drawn["trunks"] = [{"between": [a, b], **trunk} for a, b in pairwise(names)]
    found, _ = structure_of(drawn)
    assert len([f for f in found.findings if f.code == "CTB-T131"]) == FINDINGS + 1
    sites = found.data["sites"]
    assert sites is not None
    assert (sites["direct"], len(sites["indirect"]), sites["most_hops"]) == (19, 171, 19)
    assert len(sites["lone_trunks"]) == 19
    assert sites["via"] == names[1:-1]
    assert len([f for f in found.findings if f.code == "CTB-T138"]) == 3


def test_a_site_between_two_others() -> None:
    sites = analyse_sites("abc", [TrunkRoute(0, 1, True), TrunkRoute(1, 2, False)])
    assert sites["indirect"] == [["a", "c"]]
    assert sites["via"] == ["b"]
    assert sites["routes_fewest"] == 1
    assert sites["lone_trunks"] == [
        {"between": ["a", "b"], "cut_off": ["a"], "protected": True},
        {"between": ["b", "c"], "cut_off": ["c"], "protected": False},
    ]


@given(st.integers(1, 7), st.data())
def test_sites_are_joined_as_networkx_says(count: int, data: st.DataObject) -> None:
    site = st.integers(0, count - 1)
    drawn = data.draw(st.lists(st.tuples(site, site, st.booleans()), max_size=12))
    trunks = [TrunkRoute(a, b, protected) for a, b, protected in drawn if a != b]
    names = [f"site-{number}" for number in range(count)]
    sites = analyse_sites(names, trunks)
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(count))
    for trunk in trunks:
        routes = graph.get_edge_data(trunk.a, trunk.b, {"routes": 0})["routes"]
        graph.add_edge(trunk.a, trunk.b, routes=routes + 1 + trunk.protected)
    pairs = list(combinations(range(count), 2))
    assert sites["direct"] == graph.number_of_edges()
    apart = [[names[a], names[b]] for a, b in pairs if not nx.has_path(graph, a, b)]
    assert sites["apart"] == apart
    assert sites["direct"] + len(sites["indirect"]) + len(apart) == sites["pairs"] == len(pairs)
    assert sites["via"] == [names[at] for at in sorted(nx.articulation_points(graph))]
    if count > 1 and not apart:
        least = min(nx.maximum_flow_value(graph, a, b, capacity="routes") for a, b in pairs)
        assert sites["routes_fewest"] == least
    alone = {frozenset(loss["between"]) for loss in sites["lone_trunks"] if not loss["protected"]}
    for a, b, routes in graph.edges(data="routes"):
        bridge = graph.copy()
        bridge.remove_edge(a, b)
        cut = routes == 1 and not nx.has_path(bridge, a, b)
        assert (frozenset((names[a], names[b])) in alone) == cut


def test_arrays_are_not_touched() -> None:
    drawn = fat_tree(tiers=2, leaves=4, spines=2, hosts_per_leaf=2)
    loaded = load_document(drawn)
    plan = require_plan(loaded)
    topology = lay_out(plan)
    before = [column.copy() for column in (topology.links.a, topology.nodes.plane)]
    first = analyse_design(topology, plan, loaded)
    assert first == analyse_design(topology, plan, loaded)
    after = (topology.links.a, topology.nodes.plane)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("name", ["nvl72", "cloudmatrix-384", "two-campus-150km", "dragonfly-1056"])
def test_built_in_testbeds(name: str) -> None:
    result = run_validate(TestbedRequest(name))
    assert result.exit_code == 0
    assert result.data["structure"]["planes"]
