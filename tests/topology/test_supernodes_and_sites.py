"""Scale-up networks against networkx and published figures; differing planes; trunks; vendors."""

from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import InputError
from ctestbed.topology.build import build_topology, load_topology
from ctestbed.topology.capacity import site_layers
from ctestbed.topology.graph import NodeKind, Tier, Topology
from ctestbed.topology.load import load_testbed
from ctestbed.topology.names import find_node
from ctestbed.topology.plan import require_plan
from tests.topology.strategies import document, load_document


def scale_up_graph(name: str) -> tuple[Topology, "nx.Graph[int]"]:
    _, topology = load_topology(name)
    return topology, nx.Graph(topology.to_networkx())


@pytest.mark.parametrize(
    ("name", "members", "switches"), [("nvl72", 72, 9), ("p800-32", 32, 4), ("p800-64", 64, 8)]
)
def test_one_tier_supernodes_are_one_hop(name: str, members: int, switches: int) -> None:
    topology, graph = scale_up_graph(name)
    assert (topology.nodes.kind == NodeKind.ACCELERATOR).sum() == members
    assert nx.is_isomorphic(graph, nx.complete_bipartite_graph(members, switches))


def test_cloudmatrix_has_seven_sub_planes_that_share_only_members() -> None:
    topology, graph = scale_up_graph("cloudmatrix-384")
    nodes = topology.nodes
    lower = (nodes.kind == NodeKind.SCALE_UP_SWITCH) & (nodes.tier == Tier.LEAF)
    upper = (nodes.kind == NodeKind.SCALE_UP_SWITCH) & (nodes.tier == Tier.SPINE)
    assert (lower.sum(), upper.sum()) == (336, 112)
    assert (nodes.kind == NodeKind.CPU).sum() == 192
    between = graph.subgraph(np.flatnonzero(lower | upper).tolist())
    parts = list(nx.connected_components(between))
    assert sorted(map(len, parts)) == [48 + 16] * 7
    member = int(np.flatnonzero(nodes.kind == NodeKind.CPU)[0])
    assert graph.degree(member) == 7
    assert {len({int(nodes.plane[node]) for node in part}) for part in parts} == {1}


def test_t30_cloudmatrix_uplinks_match_what_its_npus_send() -> None:
    # T30: Zuo et al., CloudMatrix384 (arXiv 2506.12708): 8 x 392 GB/s = 7 x 448 GB/s.
    _, topology = load_topology("cloudmatrix-384")
    links, nodes = topology.links, topology.nodes
    kind = nodes.kind[links.a]
    up = int(links.rate[kind == NodeKind.SCALE_UP_SWITCH].sum())
    sent = int(links.rate[kind == NodeKind.ACCELERATOR].sum())
    assert up == sent == 384 * 392 * 8 * 10**9
    assert Fraction(up, sent) == 1


def test_pooled_memory_has_a_place() -> None:
    _, topology = load_topology("cloudmatrix-384")
    site = topology.sites[0]
    assert site.memory * site.accelerators == 49_152 * 10**9
    assert site.cpu_memory == -1


def test_planes_that_differ() -> None:
    loaded, topology = load_topology("uneven-planes-1024")
    shapes = [(block.leaves, block.spines, block.parallel) for block in topology.blocks]
    assert shapes == [(16, 8, 2), (16, 8, 2), (16, 4, 2), (8, 8, 4)]
    assert {block.ports for block in topology.blocks} == {256}
    narrow = [layer.narrowing for layer in site_layers(require_plan(loaded), 0)]
    assert narrow == [1, 1, 1, 2, 1, 1]


def test_a_plane_may_run_at_its_own_rate() -> None:
    drawn = document("fat-tree", tiers=2, k=4, host_links={"length": "3m"})
    own = {"plane": 1, "host_links": {"rate": "100Gbps"}, "spine_links": {"delay": "2us"}}
    drawn["planes"] = {"count": 2, "form": "nic-split", "overrides": [own]}
    links = build_topology(load_document(drawn)).links
    figures = {
        (int(plane), int(klass)): (int(rate), int(delay), int(length))
        for plane, klass, rate, delay, length in zip(
            *(links.plane, links.klass, links.rate, links.delay, links.length), strict=True
        )
    }
    half = 200 * 10**9
    assert figures == {
        (0, 0): (half, 15_000, 3000),
        (0, 1): (half, 10**6, -1),
        (1, 0): (50 * 10**9, 15_000, 3000),
        (1, 1): (half, 2 * 10**6, -1),
    }


@pytest.mark.parametrize(
    ("override", "word"),
    [
        ({"plane": 4, "spines": 2}, "not one of 4"),
        ({"plane": 1, "leaves": 3}, "spread evenly"),
        ({"plane": 1, "cores": 2}, "two tiers"),
        ({"plane": 1, "core_links": {"rate": "1Gbps"}}, "two tiers"),
    ],
)
def test_overrides_that_cannot_be(override: dict[str, Any], word: str) -> None:
    drawn = document("fat-tree", tiers=2, leaves=4, hosts_per_leaf=4, spines=4)
    drawn["planes"] = {"count": 4, "overrides": [override]}
    with pytest.raises(InputError, match=word) as caught:
        build_topology(load_document(drawn))
    assert caught.value.code == "CTB-T019"
    assert "planes.overrides[0]" in str(caught.value.where)


def test_sites_of_three_vendors() -> None:
    _, topology = load_topology("three-vendor-sites")
    assert [site.accelerators_per_host for site in topology.sites] == [8, 4, 8]
    assert [len(site.supernodes) for site in topology.sites] == [0, 1, 0]
    whole = nx.Graph(topology.to_networkx())
    north, south = find_node(topology, "north/h000/nic-1"), find_node(topology, "south/h0/nic-1")
    assert nx.has_path(whole, north, south)


def test_amplifiers_add_their_delay_and_protection_stands_by() -> None:
    # 300 km of glass: 300e6 mm * 1.468 / c, rounded up; amplifiers after 80, 160 and 240 km.
    glass = -(-300 * 10**3 * 1468 * 10**9 // 299_792_458)
    _, topology = load_topology("three-vendor-sites")
    plan = require_plan(load_testbed("three-vendor-sites"))
    trunk = plan.trunks[1]
    assert trunk.amplifiers == 3
    assert trunk.figures.delay == glass + 3 * 50_000
    assert topology.links.delay[topology.trunks[1].first_link] == trunk.figures.delay
    assert trunk.protection is not None
    assert trunk.protection.delay == -(-420 * 10**3 * 1468 * 10**9 // 299_792_458) + 5 * 50_000
    assert topology.trunks[1].count == 4 * 8


@given(st.integers(1, 400), st.integers(1, 200))
def test_amplifiers_stand_after_every_full_span(length: int, spacing: int) -> None:
    drawn = document("fat-tree", tiers=2, k=4) | {"sites": [{"name": "a"}, {"name": "b"}]}
    drawn["fabric"]["radix"] = 8
    trunk: dict[str, Any] = {"between": ["a", "b"], "length": f"{length}km", "rate": "400Gbps"}
    trunk |= {"amplifiers": {"spacing": f"{spacing}km", "delay": "50ns"}}
    plan = require_plan(load_document(drawn | {"trunks": [trunk]}))
    inside = range(spacing, length, spacing)
    assert plan.trunks[0].amplifiers == len(inside)
    assert plan.trunks[0].figures.delay == length * 5_000_000 + 50_000 * len(inside)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"capacity": "100Gbps"}, "CTB-T054"),
        ({"switches": 9}, "CTB-T013"),
        ({"amplifiers": {"spacing": 0, "delay": "1ns"}}, "CTB-T001"),
        ({"protection": {}}, "CTB-T003"),
        ({"protection": {"length": "1km", "rate": "1Gbps"}}, "CTB-T001"),
        (
            {"length": None, "delay": "1ms", "amplifiers": {"spacing": "1km", "delay": "1ns"}},
            "CTB-T001",
        ),
    ],
)
def test_trunks_that_cannot_be(change: dict[str, Any], code: str) -> None:
    drawn = document("fat-tree", tiers=2, k=4) | {"sites": [{"name": "a"}, {"name": "b"}]}
    drawn["fabric"]["radix"] = 8
    trunk = {"between": ["a", "b"], "length": "80km", "rate": "400Gbps"} | change
    drawn["trunks"] = [{key: value for key, value in trunk.items() if value is not None}]
    with pytest.raises(InputError) as caught:
        build_topology(load_document(drawn))
    assert caught.value.code == code
    assert "trunks[0]" in str(caught.value.where)
