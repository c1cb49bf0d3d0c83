"""Every path is a real, shortest, valley-free walk; candidates are all of them."""

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.core.errors import InputError
from ctestbed.routing.clos import route_flows
from ctestbed.routing.spread import Spread
from ctestbed.topology.build import build_topology, load_topology
from tests.routing.walks import check_walk, shortest, two_sites
from tests.topology.strategies import fat_tree, load_document, testbeds

SPREADS: tuple[Spread, ...] = get_args(Spread)
THREE_TIERS: dict[str, Any] = {
    "tiers": 3,
    "pods": 2,
    "leaves": 2,
    "spines": 2,
    "cores": 4,
    "hosts_per_leaf": 2,
    "parallel": 2,
}
SHAPES: dict[str, dict[str, Any]] = {
    "two tiers": {"tiers": 2, "leaves": 3, "spines": 2, "hosts_per_leaf": 2},
    "two tiers, parallel": {
        "tiers": 2,
        "leaves": 3,
        "spines": 2,
        "hosts_per_leaf": 2,
        "parallel": 3,
    },
    "three tiers": THREE_TIERS,
}


@settings(max_examples=30)
@given(testbeds(), st.data())
def test_paths_of_any_testbed_are_shortest_walks(document: dict[str, Any], data: Any) -> None:
    topology = build_topology(load_document(document))
    ends = st.integers(0, topology.endpoints - 1)
    source, destination = data.draw(ends), data.draw(ends)
    if source == destination:
        return
    spread = data.draw(st.sampled_from(SPREADS))
    arrays = np.array([source]), np.array([destination])
    apart = topology.plane_of(arrays[0])[0] != topology.plane_of(arrays[1])[0]
    if apart and not topology.split:
        with pytest.raises(InputError, match="planes share no switch") as caught:
            route_flows(topology, *arrays, spread=spread, seed=1)
        assert caught.value.code == "CTB-R001"
        return
    paths = route_flows(topology, *arrays, spread=spread, seed=data.draw(st.integers(0, 9)))
    path = paths.path(0).tolist()
    check_walk(topology, path, source, destination)
    assert topology.links.plane[path[0] // 2] == paths.plane[0]
    assert (len(path), int(paths.candidates[0])) == shortest(topology, source, destination)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("spread", SPREADS)
def test_all_pairs_of_two_sites(shape: str, spread: Spread) -> None:
    topology = build_topology(two_sites(2, **SHAPES[shape]))
    pairs = [(a, b) for a in range(topology.endpoints) for b in range(topology.endpoints) if a != b]
    source, destination = np.array(pairs).T
    paths = route_flows(topology, source, destination, spread=spread, seed=3)
    for flow, (a, b) in enumerate(pairs):
        check_walk(topology, paths.path(flow).tolist(), a, b)
    crossing = topology.site_of(source) != topology.site_of(destination)
    tiers = SHAPES[shape]["tiers"]
    assert set(np.diff(paths.offsets)[crossing].tolist()) == {2 * tiers + 1}
    for flow in range(0, len(pairs), 7):
        expected = shortest(topology, *pairs[flow])
        assert (len(paths.path(flow)), int(paths.candidates[flow])) == expected


def test_sites_of_different_shapes_meet_at_their_tops() -> None:
    """Four spines at one site, four cores (two spines of two) at the other."""
    document = fat_tree(tiers=2, leaves=2, spines=4, hosts_per_leaf=2)
    flat = document.pop("fabric")
    tall = fat_tree(**THREE_TIERS)["fabric"]
    trunk = {"between": ["a", "b"], "length": "80km", "rate": "400Gbps"}
    document |= {
        "fabrics": {"flat": flat, "tall": tall},
        "sites": [{"name": "a", "fabric": "flat"}, {"name": "b", "fabric": "tall"}],
        "trunks": [trunk],
    }
    topology = build_topology(load_document(document))
    both = [(a, b) for a in range(4) for b in range(4, topology.endpoints)]
    pairs = both + [(b, a) for a, b in both]
    for spread in SPREADS:
        paths = route_flows(topology, *np.array(pairs).T, spread=spread, seed=5)
        for flow, (a, b) in enumerate(pairs):
            check_walk(topology, paths.path(flow).tolist(), a, b)
            assert len(paths.path(flow)) == 6
        assert (len(paths.path(0)), int(paths.candidates[0])) == shortest(topology, *pairs[0])


@pytest.mark.parametrize(
    ("second", "taken"),
    [
        ({"length": "300km", "links": 3}, (150_000_000, 2)),
        ({"length": "80km", "rate": "100Gbps"}, (80_000_000, 2)),
        ({"links": 3}, (150_000_000, 6)),
        ({"length": "unknown", "links": 3}, (150_000_000, 2)),
    ],
)
def test_of_several_trunks_the_nearest_then_the_widest_is_taken(
    second: dict[str, Any], taken: tuple[int, int]
) -> None:
    loaded = two_sites(1, tiers=2, leaves=2, spines=2, hosts_per_leaf=2)
    document = fat_tree(tiers=2, leaves=2, spines=2, hosts_per_leaf=2)
    first = {"between": ["east", "west"], "length": "150km", "rate": "400Gbps"}
    other = {**first, "between": ["west", "east"], **second}
    document |= {"sites": [{"name": "east"}, {"name": "west"}], "trunks": [first, other]}
    topology = build_topology(load_document(document))
    for source, destination in ((0, 4), (4, 0)):
        pair = np.array([source]), np.array([destination])
        paths = route_flows(topology, *pair, spread="ecmp", seed=1)
        path = paths.path(0).tolist()
        check_walk(topology, path, source, destination)
        length = int(topology.links.length[path[2] // 2])
        assert (length, int(paths.candidates[0])) == taken
    assert build_topology(loaded).trunks[0].count == 2


def test_sites_without_a_trunk_between_them_are_refused_by_name() -> None:
    """Nothing passes through a third site: traffic between sites takes their own trunk."""
    document = fat_tree(tiers=2, leaves=1, spines=1, hosts_per_leaf=1)
    document["sites"] = [{"name": name} for name in ("north", "middle", "south")]
    link = {"length": "150km", "rate": "400Gbps"}
    document["trunks"] = [
        {"between": ["north", "middle"], **link},
        {"between": ["middle", "south"], **link},
    ]
    topology = build_topology(load_document(document))
    with pytest.raises(InputError) as caught:
        route_flows(topology, np.array([0]), np.array([2]), spread="balanced", seed=1)
    assert caught.value.code == "CTB-R002"
    assert caught.value.message == (
        "no path from north/h0 to south/h0: no trunk joins north and south"
    )
    assert caught.value.hint == "give the testbed a trunk with `between: [north, south]`"


def test_planes_keep_apart_unless_nics_are_split() -> None:
    _, topology = load_topology("two-campus-150km")
    with pytest.raises(InputError) as caught:
        route_flows(topology, np.array([0, 0]), np.array([1, 1025]), spread="balanced", seed=1)
    assert caught.value.code == "CTB-R001"
    assert caught.value.message == (
        "no path from east/h000/nic-0 (plane 0) to east/h000/nic-1 (plane 1): "
        "planes share no switch (2 of 2 flows)"
    )


def test_no_flows_make_no_paths() -> None:
    _, topology = load_topology("lab-128")
    nothing = np.zeros(0, np.int64)
    paths = route_flows(topology, nothing, nothing, spread="ecmp", seed=1)
    assert paths.offsets.tolist() == [0]
    assert len(paths.links) == 0
