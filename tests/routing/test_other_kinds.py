"""Rails and differing planes route as Clos planes do; fabrics without tiers by shortest paths."""

from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.core.errors import InputError
from ctestbed.routing.clos import route_flows
from ctestbed.routing.commands import PathRequest, run_path
from ctestbed.routing.spread import Spread
from ctestbed.topology.build import build_topology, load_topology
from ctestbed.topology.graph import Topology
from tests.routing.walks import check_walk, nodes_of, shortest
from tests.topology.strategies import document, load_document

RAILS = {"rails": 3, "tors_per_rail": 2, "segments": 2, "hosts_per_segment": 2, "spines": 2}


@pytest.mark.parametrize("numbers", [RAILS, RAILS | {"pods": 2, "cores": 4, "parallel": 2}])
def test_all_pairs_over_rails(numbers: dict[str, Any]) -> None:
    topology = build_topology(
        load_document(document("rail-optimised", **numbers) | {"host": {"nics": 3}})
    )
    pairs = [(a, b) for a in range(topology.endpoints) for b in range(topology.endpoints) if a != b]
    source, destination = np.array(pairs).T
    for spread in ("balanced", "ecmp"):
        paths = route_flows(topology, source, destination, spread=spread, seed=2)
        for flow, (a, b) in enumerate(pairs):
            check_walk(topology, paths.path(flow).tolist(), a, b)
        for flow in range(0, len(pairs), 11):
            expected = shortest(topology, *pairs[flow])
            assert (len(paths.path(flow)), int(paths.candidates[flow])) == expected


@settings(deadline=None, max_examples=25)
@given(st.sampled_from(["uneven-planes-1024", "three-vendor-sites"]), st.data())
def test_paths_where_planes_or_vendors_differ(name: str, data: Any) -> None:
    _, topology = load_topology(name)
    ends = st.integers(0, topology.endpoints // 4 - 1)
    plane = data.draw(st.integers(0, 3))
    source, destination = (data.draw(ends) * 4 + plane for _ in range(2))
    if source == destination:
        return
    arrays = np.array([source]), np.array([destination])
    for spread in ("balanced", "ecmp"):
        paths = route_flows(topology, *arrays, spread=spread, seed=data.draw(st.integers(0, 9)))
        check_walk(topology, paths.path(0).tolist(), source, destination)


def test_rails_without_a_spine_stay_apart() -> None:
    _, topology = load_topology("rail-only-1024")
    paths = route_flows(topology, np.array([3]), np.array([1019]), spread="balanced", seed=1)
    assert len(paths.path(0)) == 2
    with pytest.raises(InputError) as caught:
        route_flows(topology, np.array([3]), np.array([4]), spread="balanced", seed=1)
    assert caught.value.code == "CTB-R001"


def test_trunks_between_rails_without_a_spine() -> None:
    drawn = document("rail-only", rails=2, domains=3) | {"host": {"nics": 2}}
    drawn["sites"] = [{"name": "a"}, {"name": "b"}]
    drawn["trunks"] = [{"between": ["a", "b"], "length": "80km", "rate": "400Gbps", "links": 2}]
    topology = build_topology(load_document(drawn))
    paths = route_flows(topology, np.array([1]), np.array([9]), spread="balanced", seed=1)
    check_walk(topology, paths.path(0).tolist(), 1, 9)
    assert (len(paths.path(0)), int(paths.candidates[0])) == shortest(topology, 1, 9) == (3, 2)


@pytest.mark.parametrize(
    "name", ["dragonfly-1056", "slim-fly-6498", "tpu-v4-4096", "ub-mesh-1024", "nvl72", "ring-12"]
)
@pytest.mark.parametrize("spread", ["ecmp", "balanced", "sweep"])
def test_fabrics_without_tiers_are_routed_by_shortest_paths(name: str, spread: Spread) -> None:
    _, topology = load_topology(name)
    random = np.random.default_rng(7)
    pairs = random.integers(0, topology.endpoints, (6, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    source, destination = pairs[:, 0], pairs[:, 1]
    paths = route_flows(topology, source, destination, spread=spread, seed=3)
    for flow, (one, other) in enumerate(pairs.tolist()):
        visited = nodes_of(topology, paths.path(flow).tolist())
        ends = topology.first_endpoint + one, topology.first_endpoint + other
        assert (visited[0], visited[-1]) == ends
        found = len(paths.path(flow)), int(paths.candidates[flow])
        assert found == shortest_without_tiers(topology, *ends)


def shortest_without_tiers(topology: Topology, one: int, other: int) -> tuple[int, int]:
    """Return the length and number of shortest paths on networkx's graph, NICs on the way apart."""
    whole = topology.to_networkx()
    nics = [node for node, data in whole.nodes(data=True) if data["kind"] == "nic"]
    whole.remove_nodes_from(set(nics) - {one, other})
    graph: Any = nx.Graph(whole)
    to_go = nx.single_source_shortest_path_length(graph, other)

    @cache
    def ways(node: int) -> int:
        nearer = [each for each in graph[node] if to_go[each] == to_go[node] - 1]
        cables = [whole.number_of_edges(node, each) for each in nearer]
        return sum(n * ways(each) for n, each in zip(cables, nearer, strict=True)) or 1

    return to_go[one], ways(one)


def test_a_sweep_takes_each_shortest_path_of_a_mesh_in_turn() -> None:
    _, topology = load_topology("ub-mesh-1024")
    ways = int(
        route_flows(topology, np.array([0]), np.array([1023]), spread="ecmp", seed=1).candidates[0]
    )
    assert ways > 1
    ends = np.zeros(ways, np.int64), np.full(ways, 1023)
    paths = route_flows(topology, *ends, spread="sweep", seed=1, label=np.arange(ways))
    assert len({tuple(paths.path(flow).tolist()) for flow in range(ways)}) == ways


def test_planes_that_no_cable_joins_are_refused_by_name() -> None:
    drawn = document("dragonfly", p=1, a=2, h=1, g=3, radix=4)
    drawn["sites"] = [{"name": "a"}, {"name": "b"}]
    topology = build_topology(load_document(drawn))
    with pytest.raises(InputError) as caught:
        route_flows(topology, np.array([0]), np.array([7]), spread="ecmp", seed=1)
    assert caught.value.code == "CTB-R001"
    assert "a/h0" in caught.value.message


def test_counts_alone_have_no_paths() -> None:
    with pytest.raises(InputError) as caught:
        run_path(PathRequest("deepseek-slim-fly-32928", "0", "5"))
    assert caught.value.code == "CTB-T055"
