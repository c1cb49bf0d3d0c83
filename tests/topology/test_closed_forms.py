"""Arrays of every kind counted anew, against closed forms written down here from the literature."""

from math import prod
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.topology.build import build_topology
from ctestbed.topology.graph import LinkClass, NodeKind, Topology
from tests.topology.strategies import document, load_document

small = st.integers(1, 4)


def built(drawn: dict[str, Any]) -> Topology:
    return build_topology(load_document(drawn))


def counts(topology: Topology) -> dict[str, int]:
    """NICs, switches, NIC cables and cables between equals or tiers, counted in the arrays."""
    kind, klass = topology.nodes.kind, topology.links.klass
    return {
        "nics": int((kind == NodeKind.NIC).sum()),
        "switches": int((kind == NodeKind.SWITCH).sum()),
        "host": int((klass == LinkClass.HOST).sum()),
        "fabric": int((klass == LinkClass.FABRIC).sum()),
    }


@settings(deadline=None, max_examples=30)
@given(small, small, small, small, small, small, st.sampled_from([1, 2, 3]))
def test_three_tier_fat_trees(
    pods: int, leaves: int, hosts: int, spines: int, uplinks: int, parallel: int, planes: int
) -> None:
    numbers = {"tiers": 3, "pods": pods, "leaves": leaves, "spines": spines, "parallel": parallel}
    drawn = document("fat-tree", **numbers, cores=spines * uplinks, hosts_per_leaf=hosts)
    drawn |= {"planes": {"count": planes}, "host": {"nics": planes}}
    switches = pods * (leaves + spines) + spines * uplinks
    cables = pods * leaves * spines * parallel + pods * spines * uplinks
    nics = pods * leaves * hosts * planes
    assert counts(built(drawn)) == {
        "nics": nics,
        "switches": planes * switches,
        "host": nics,
        "fabric": planes * cables,
    }


@settings(deadline=None, max_examples=30)
@given(small, small, small, small, small, small)
def test_rail_optimised(
    rails: int, tors: int, segments: int, hosts: int, spines: int, parallel: int
) -> None:
    numbers = {"rails": rails, "tors_per_rail": tors, "segments": segments, "spines": spines}
    drawn = document("rail-optimised", **numbers, hosts_per_segment=hosts, parallel=parallel)
    nics, leaves = rails * segments * hosts, rails * segments * tors
    assert counts(built(drawn | {"host": {"nics": rails}})) == {
        "nics": nics,
        "switches": leaves + tors * spines,
        "host": nics * tors,
        "fabric": leaves * spines * parallel,
    }


@settings(deadline=None, max_examples=30)
@given(small, small, small, small, small)
def test_rail_only(nics: int, hosts: int, leaves: int, per_leaf: int, spines: int) -> None:
    rails = nics * hosts
    numbers = {"rails": rails, "domains": leaves * per_leaf, "leaves": leaves, "spines": spines}
    ports = rails * leaves * per_leaf
    assert counts(built(document("rail-only", **numbers) | {"host": {"nics": nics}})) == {
        "nics": ports,
        "switches": rails * (leaves + spines),
        "host": ports,
        "fabric": rails * leaves * spines,
    }


@settings(deadline=None, max_examples=15)
@given(st.sampled_from([3, 4, 5, 7, 8, 9]), small)
def test_slim_fly(q: int, p: int) -> None:
    delta = {0: 0, 1: 1, 3: -1}[q % 4]
    routers = 2 * q**2
    assert counts(built(document("slim-fly", q=q, p=p))) == {
        "nics": routers * p,
        "switches": routers,
        "host": routers * p,
        "fabric": routers * (3 * q - delta) // 4,
    }


@settings(deadline=None, max_examples=30)
@given(small, small, small, st.integers(2, 12))
def test_dragonfly(p: int, half: int, h: int, g: int) -> None:
    a = 2 * half  # so that global ports pair up whatever the number of groups
    g = min(g, a * h + 1)
    assert counts(built(document("dragonfly", p=p, a=a, h=h, g=g))) == {
        "nics": p * a * g,
        "switches": a * g,
        "host": p * a * g,
        "fabric": g * a * (a - 1) // 2 + g * a * h // 2,
    }


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4).filter(lambda d: prod(d) > 1))
def test_grids(dims: list[int]) -> None:
    size = prod(dims)
    rings = sum(size if side > 2 else size // 2 for side in dims if side > 1)
    lines = sum(size // side * (side - 1) for side in dims)
    mesh = size * sum(side - 1 for side in dims) // 2
    for drawn, cables in (
        (document("torus", dims=dims), rings),
        (document("torus", dims=dims, wrap=False), lines),
        (document("full-mesh", dims=dims), mesh),
    ):
        topology = built(drawn)
        assert topology.endpoints == size
        assert counts(topology)["fabric"] == cables


@settings(deadline=None, max_examples=30)
@given(small, small, small, small, st.integers(0, 3), st.integers(0, 2))
def test_scale_up(
    domains: int, hosts: int, per_host: int, switches: int, uppers: int, cpus: int
) -> None:
    scale_up: dict[str, Any] = {"rate": "1200Gbps", "delay": "1us", "switches": switches}
    if uppers:
        scale_up["upper"] = {"switches": uppers, "rate": "1200Gbps"}
    domain: dict[str, Any] = {"accelerators": hosts * per_host, "scale_up": scale_up}
    if cpus:
        domain["cpus"] = {"per_host": cpus, "rate": "1200Gbps"}
    fabric = {"kind": "scale-up", "supernodes": domains}
    drawn = {"ctestbed": 1, "name": "x", "host": {"accelerators": per_host}, "fabric": fabric}
    topology = built(drawn | {"supernode": domain})
    lowers = switches * (hosts if uppers else 1)
    members = hosts * (per_host + cpus)
    kinds = topology.nodes.kind
    assert int((kinds == NodeKind.SCALE_UP_SWITCH).sum()) == domains * (lowers + switches * uppers)
    assert int((kinds == NodeKind.CPU).sum()) == domains * hosts * cpus
    assert topology.link_count == domains * (members * switches + lowers * uppers)


@settings(deadline=None, max_examples=20)
@given(st.integers(2, 3), small, small, small, small)
def test_trunks_join_like_switches_of_all_planes(
    sites: int, leaves: int, spines: int, planes: int, links: int
) -> None:
    names = [f"site-{number}" for number in range(sites)]
    pairs = [(one, two) for at, one in enumerate(names) for two in names[at + 1 :]]
    drawn = document("fat-tree", tiers=2, leaves=leaves, spines=spines, hosts_per_leaf=planes)
    drawn |= {"planes": {"count": planes}, "sites": [{"name": name} for name in names]}
    drawn["trunks"] = [
        {"between": list(pair), "length": "80km", "rate": "100Gbps", "links": links}
        for pair in pairs
    ]
    topology = built(drawn)
    trunks = int((topology.links.klass == LinkClass.TRUNK).sum())
    assert trunks == len(pairs) * planes * spines * links
    assert counts(topology)["fabric"] == sites * planes * leaves * spines
