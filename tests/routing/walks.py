"""What a path must be, told from the link table and networkx alone."""

import itertools
from collections import Counter
from math import prod
from typing import Any

import networkx as nx
import numpy as np

from ctestbed.routing.clos import Paths
from ctestbed.topology.graph import LinkClass, NodeKind, Topology
from ctestbed.topology.load import LoadedTestbed
from tests.topology.strategies import fat_tree, load_document


def two_sites(trunk_links: int = 1, **counts: Any) -> LoadedTestbed:
    document = fat_tree(**counts)
    document["sites"] = [{"name": "east"}, {"name": "west"}]
    trunk = {"between": ["east", "west"], "length": "150km", "rate": "400Gbps"}
    document["trunks"] = [{**trunk, "links": trunk_links}]
    return load_document(document)


def nodes_of(topology: Topology, path: list[int]) -> list[int]:
    """Return the nodes of a walk, failing where one link does not begin at the last one's end."""
    links = topology.links
    visited: list[int] = []
    for directed in path:
        ends = [int(links.a[directed // 2]), int(links.b[directed // 2])]
        start, end = ends if directed % 2 == 0 else ends[::-1]
        assert not visited or visited[-1] == start, f"{path} is broken before link {directed}"
        visited = [*visited, end] if visited else [start, end]
    return visited


def check_walk(topology: Topology, path: list[int], source: int, destination: int) -> None:
    """Hold a path to: source NIC to destination NIC, no node twice, up, then over, then down."""
    first_nic = topology.first[NodeKind.NIC]
    visited = nodes_of(topology, path)
    assert (visited[0], visited[-1]) == (first_nic + source, first_nic + destination)
    assert len(set(visited)) == len(visited)
    tiers = topology.nodes.tier[visited]
    steps = np.sign(np.diff(tiers)).tolist()
    assert steps == sorted(steps, reverse=True), f"a valley in {tiers}"
    changes = np.count_nonzero(np.diff(topology.nodes.site[visited]))
    trunks = topology.links.klass[np.array(path) // 2] == LinkClass.TRUNK
    assert changes == np.count_nonzero(trunks) == (visited_sites(topology, visited) - 1)
    kinds = set(topology.nodes.kind[visited[1:-1]].tolist())
    assert kinds == {NodeKind.SWITCH}
    assert len(set(topology.links.plane[np.array(path) // 2].tolist())) == 1


def visited_sites(topology: Topology, visited: list[int]) -> int:
    return len(set(topology.nodes.site[visited].tolist()))


def shortest(topology: Topology, source: int, destination: int) -> tuple[int, int]:
    """Return the length and number of shortest paths; parallel cables count as many."""
    first_nic = topology.first[NodeKind.NIC]
    ends = first_nic + source, first_nic + destination
    whole = topology.to_networkx()
    switches = [node for node, data in whole.nodes(data=True) if data["kind"] == "switch"]
    view = whole.subgraph([*switches, *ends])
    cables = Counter((min(a, b), max(a, b)) for a, b, _ in view.edges(keys=True))
    graph: Any = nx.Graph(list(cables))
    found = list(nx.all_shortest_paths(graph, *ends))
    count = sum(
        prod(cables[min(a, b), max(a, b)] for a, b in itertools.pairwise(path)) for path in found
    )
    return len(found[0]) - 1, count


def loads(topology: Topology, paths: Paths) -> np.ndarray[Any, np.dtype[Any]]:
    """Return how many paths cross each directed link."""
    return np.bincount(paths.links, minlength=2 * topology.link_count)
