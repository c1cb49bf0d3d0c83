"""The arrays against closed forms, networkx, index arithmetic and two real fabrics."""

import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.core.units import Millimetres, fibre_delay
from ctestbed.topology.build import build_topology, load_topology
from ctestbed.topology.graph import (
    UNKNOWN_VALUE,
    LinkClass,
    NodeKind,
    PlaneBlock,
    Tier,
    Topology,
    TrunkBlock,
)
from ctestbed.topology.plan import require_plan
from tests.shared import shared_data
from tests.topology.strategies import fat_tree, load_document, testbeds


def build(document: dict[str, Any]) -> Topology:
    return build_topology(load_document(document))


def recount(topology: Topology) -> tuple[int, int, int]:
    """Endpoints, switches, inter-switch cables."""
    return (
        topology.endpoints,
        int(np.count_nonzero(topology.nodes.kind == NodeKind.SWITCH)),
        int(np.count_nonzero(topology.links.klass == LinkClass.FABRIC)),
    )


@given(st.integers(1, 12).map(lambda half: 2 * half))
def test_two_tiers_of_order_k(k: int) -> None:
    assert recount(build(fat_tree(tiers=2, k=k))) == (k**2 // 2, 3 * k // 2, k**2 // 2)


@given(st.integers(1, 6).map(lambda half: 2 * half))
def test_three_tiers_of_order_k(k: int) -> None:
    assert recount(build(fat_tree(tiers=3, k=k))) == (k**3 // 4, 5 * k**2 // 4, k**3 // 2)


@given(st.integers(1, 5).map(lambda half: 2 * half), st.integers(1, 5))
def test_one_nic_per_plane_multiplies_everything(k: int, planes: int) -> None:
    document = fat_tree(tiers=2, k=k) | {"planes": {"count": planes}}
    expected = tuple(planes * n for n in (k**2 // 2, 3 * k // 2, k**2 // 2))
    assert recount(build(document)) == expected


@given(st.integers(1, 5).map(lambda half: 2 * half), st.sampled_from([1, 2, 4, 5]))
def test_a_split_nic_multiplies_the_order(k: int, planes: int) -> None:
    document = fat_tree(tiers=2, k=k) | {"planes": {"count": planes, "form": "nic-split"}}
    order = k * planes
    topology = build(document)
    expected = (order**2 // 2, planes * 3 * order // 2, planes * order**2 // 2)
    assert recount(topology) == expected
    assert set(topology.links.rate.tolist()) == {400 * 10**9 // planes}


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9), st.integers(1, 3))
def test_two_tiers_by_counts(leaves: int, hosts: int, spines: int, parallel: int) -> None:
    document = fat_tree(
        tiers=2, leaves=leaves, hosts_per_leaf=hosts, spines=spines, parallel=parallel
    )
    expected = (leaves * hosts, leaves + spines, leaves * spines * parallel)
    assert recount(build(document)) == expected


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        # DeepSeek-V3 at ISCA 2025, table 3, 64-port switches: FT2, and endpoints of MPFT and FT3.
        (fat_tree(tiers=2, k=64), (2048, 96, 2048)),
        (fat_tree(tiers=2, k=64) | {"planes": {"count": 8}}, (16384, None, 16384)),
        (fat_tree(tiers=3, k=64), (65536, 5120, None)),
        # MRC, 2026: 131,072 NICs of 800G in two tiers of 512 ports of 100G.
        (
            fat_tree(tiers=2, k=64) | {"planes": {"count": 8, "form": "nic-split"}},
            (131072, None, None),
        ),
    ],
)
def test_published_totals(document: dict[str, Any], expected: tuple[int | None, ...]) -> None:
    for found, published in zip(recount(build(document)), expected, strict=True):
        assert published in {None, found}


@settings(deadline=None)
@given(testbeds())
def test_plan_counts_equal_the_arrays(document: dict[str, Any]) -> None:
    loaded = load_document(document)
    plan, topology = require_plan(loaded), build_topology(loaded)
    kinds = np.bincount(topology.nodes.kind, minlength=6).tolist()
    assert kinds == [plan.accelerators, plan.hosts, plan.nics, plan.switches, 0, 0]
    assert topology.link_count == plan.links
    assert topology.endpoints == plan.nics
    for column in (topology.links.a, topology.links.b, topology.links.a_port, topology.links.klass):
        assert (column >= 0).all()


@settings(deadline=None)
@given(testbeds())
def test_networkx_finds_planes_connected_and_apart(document: dict[str, Any]) -> None:
    topology = build(document)
    whole = topology.to_networkx()
    switches = [n for n, data in whole.nodes(data=True) if data["kind"] == "switch"]
    parts = list(nx.connected_components(whole.subgraph(switches)))
    by_plane = Counter(int(topology.nodes.plane[min(part)]) for part in parts)
    assert set(by_plane) == set(range(topology.planes))
    for part in parts:
        assert len({int(topology.nodes.plane[node]) for node in part}) == 1
    for plane in range(topology.planes):
        rows = np.flatnonzero(topology.links.plane == plane)
        cables = zip(topology.links.a[rows].tolist(), topology.links.b[rows].tolist(), strict=True)
        assert nx.is_connected(nx.Graph(list(cables)))


@settings(deadline=None)
@given(testbeds())
def test_index_arithmetic_names_the_right_links(document: dict[str, Any]) -> None:
    topology = build(document)
    ids: list[int] = []
    for block in topology.blocks:
        ids += [*host_links(topology, block), *uplinks(topology, block)]
        ids += core_links(topology, block)
    for trunk in topology.trunks:
        ids += trunk_links(topology, trunk)
    assert sorted(ids) == list(range(topology.link_count))


def ends(topology: Topology, link: int) -> tuple[int, int]:
    return int(topology.links.a[link]), int(topology.links.b[link])


def host_links(topology: Topology, block: PlaneBlock) -> Iterator[int]:
    first = topology.sites[block.site].first_nic
    lane = block.plane if topology.split else 0
    for port in range(block.ports):
        endpoint = first + (port if topology.split else port * topology.planes + block.plane)
        nic = topology.first[NodeKind.NIC] + endpoint
        link = block.host_link(port)
        assert topology.port_of(np.array([endpoint]))[0] == topology.port_of(endpoint) == port
        assert ends(topology, link) == (nic, block.first_leaf + block.leaf_of(port))
        assert link == endpoint * topology.ports_per_nic + lane
        yield link


def uplinks(topology: Topology, block: PlaneBlock) -> Iterator[int]:
    counts = (range(block.leaves), range(block.spines_per_pod), range(block.parallel))
    for leaf, spine, cable in product(*counts):
        link = block.uplink(leaf, spine, cable)
        top = block.first_spine + block.pod_of_leaf(leaf) * block.spines_per_pod + spine
        assert ends(topology, link) == (block.first_leaf + leaf, top)
        yield link


def core_links(topology: Topology, block: PlaneBlock) -> Iterator[int]:
    for spine, up in product(range(block.spines), range(block.cores_per_spine)):
        link = block.core_link(spine, up)
        core = spine % block.spines_per_pod * block.cores_per_spine + up
        assert ends(topology, link) == (block.first_spine + spine, block.first_core + core)
        yield link


def trunk_links(topology: Topology, trunk: TrunkBlock) -> Iterator[int]:
    for plane, top, cable in product(*map(range, (topology.planes, trunk.tops, trunk.links))):
        link = trunk.link(plane, top, cable)
        a, b = (topology.block(site, plane).first_top for site in (trunk.site_a, trunk.site_b))
        assert ends(topology, link) == (a + top, b + top)
        assert topology.links.delay[link] == 750_000_000
        yield link


@settings(deadline=None)
@given(testbeds())
def test_adjacency_holds_each_cable_twice(document: dict[str, Any]) -> None:
    topology = build(document)
    adjacency, links = topology.adjacency, topology.links
    assert adjacency.offsets[-1] == 2 * topology.link_count
    assert sorted(adjacency.link.tolist()) == list(range(2 * topology.link_count))
    for node in range(topology.node_count):
        rows = slice(adjacency.offsets[node], adjacency.offsets[node + 1])
        for neighbour, directed in zip(
            adjacency.neighbour[rows].tolist(), adjacency.link[rows].tolist(), strict=True
        ):
            ends = (int(links.a[directed // 2]), int(links.b[directed // 2]))
            assert (node, neighbour) == (ends if directed % 2 == 0 else ends[::-1])


@settings(deadline=None)
@given(testbeds())
def test_hosts_are_dealt_over_planes_in_order(document: dict[str, Any]) -> None:
    topology = build(document)
    nodes = topology.nodes
    for site in topology.sites:
        for nic in range(site.nics):
            node = topology.first[NodeKind.NIC] + site.first_nic + nic
            assert nodes.parent[node] == site.first_host + nic // topology.nics_per_host
            expected = -1 if topology.split else nic % topology.planes
            assert nodes.plane[node] == expected
            assert int(topology.plane_of(site.first_nic + nic)) == expected


def test_two_campuses() -> None:
    _, topology = load_topology("two-campus-150km")
    nodes, links = topology.nodes, topology.links
    trunk = links.klass == LinkClass.TRUNK
    assert np.count_nonzero(trunk) == 32
    assert set(links.delay[trunk].tolist()) == {750 * 10**6}
    assert set(links.length[trunk].tolist()) == {150 * 10**6}
    assert (nodes.site[links.a[trunk]] == 0).all()
    assert (nodes.site[links.b[trunk]] == 1).all()
    assert (nodes.tier[links.a[trunk]] == Tier.SPINE).all()
    # Accelerator, NIC and plane: index mod 8; 64 accelerators a supernode.
    nics = topology.first[NodeKind.NIC] + np.arange(topology.endpoints)
    assert (nodes.plane[nics] == np.arange(2048) % 8).all()
    members = nodes.supernode[: topology.first[NodeKind.HOST]]
    assert (members == np.arange(2048) // 64).all()
    assert (np.bincount(members) == 64).all()


def test_unknown_figures_stay_unknown() -> None:
    _, topology = load_topology("kunlun-32k")
    assert (topology.links.delay == UNKNOWN_VALUE).all()
    assert (topology.links.length == UNKNOWN_VALUE).all()
    assert (topology.links.rate == 400 * 10**9).all()


def test_cables_take_their_own_figures_first() -> None:
    document = fat_tree(tiers=3, k=4)
    document["fabric"] |= {
        "host_links": {"length": "3m", "refractive_index": 1.468, "rate": "200Gbps"},
        "core_links": {"length": "2km"},
    }
    topology = build(document)
    tier = topology.nodes.tier[topology.links.a]
    figures = {
        int(t): {
            (int(r), int(d), int(n))
            for r, d, n in zip(
                topology.links.rate[tier == t],
                topology.links.delay[tier == t],
                topology.links.length[tier == t],
                strict=True,
            )
        }
        for t in range(3)
    }
    # 3 m of glass of index 1.468: 14,690.17 ps, rounded up.
    assert figures == {
        0: {(200 * 10**9, 14_691, 3000)},
        1: {(400 * 10**9, 10**6, -1)},
        2: {(400 * 10**9, fibre_delay(Millimetres(2 * 10**6)), 2 * 10**6)},
    }


def read_net(path: Path) -> dict[str, dict[int, tuple[str, int]]]:
    """Read an ibsim net file: node -> port -> (peer, peer port)."""
    nodes: dict[str, dict[int, tuple[str, int]]] = {}
    current = ""
    for line in path.read_text().splitlines():
        if head := re.match(r'(?:Hca|Switch)\s+\d+\s+"(\w+)"', line):
            current = head[1]
            nodes[current] = {}
        elif cable := re.match(r'\[(\d+)\]\s+"(\w+)"\[(\d+)\]', line):
            nodes[current][int(cable[1])] = (cable[2], int(cable[3]))
    return nodes


def as_net(topology: Topology, names: list[str]) -> dict[str, dict[int, tuple[str, int]]]:
    """Write NICs and switches in the same form, under the names given in node order."""
    first = topology.first[NodeKind.NIC]
    nodes: dict[str, dict[int, tuple[str, int]]] = {name: {} for name in names}
    links = topology.links
    columns = (links.a, links.a_port, links.b, links.b_port)
    for a, a_port, b, b_port in zip(*(column.tolist() for column in columns), strict=True):
        nodes[names[a - first]][a_port] = (names[b - first], b_port)
        nodes[names[b - first]][b_port] = (names[a - first], a_port)
    return nodes


def test_lab_128_wide_is_the_real_leaf_spine_port_by_port() -> None:
    real = read_net(shared_data("fabric/measured/ls128.net"))
    _, topology = load_topology("lab-128-wide")
    names = [f"H{i}" for i in range(128)] + [f"L{i}" for i in range(8)]
    assert as_net(topology, names + [f"S{i}" for i in range(16)]) == real


def test_fat_tree_1024_is_the_real_fat_tree_port_by_port() -> None:
    real = read_net(shared_data("fabric/measured/ft1024.net"))
    _, topology = load_topology("fat-tree-1024")
    names = [f"H{i}" for i in range(1024)]
    for letter in "EA":
        names += [f"{letter}{pod}_{i}" for pod in range(16) for i in range(8)]
    names += [f"C{spine}_{i}" for spine in range(8) for i in range(8)]
    assert as_net(topology, names) == real


def test_the_largest_target_builds(capsys: pytest.CaptureFixture[str]) -> None:
    document = fat_tree(tiers=2, k=64)
    document["fabric"]["rate"] = "800Gbps"
    document["planes"] = {"count": 8, "form": "nic-split"}
    loaded = load_document(document)
    started = time.process_time()
    topology = build_topology(loaded)
    elapsed = time.process_time() - started
    assert topology.endpoints == 131_072
    assert topology.link_count == 2**21
    assert topology.nbytes < 2 * 10**9
    with capsys.disabled():
        size = topology.nbytes / 1e6
        sys.stdout.write(f"\n131,072 x 8 planes: {elapsed:.2f} CPU s, {size:.0f} MB\n")
