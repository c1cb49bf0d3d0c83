"""Random multigraphs of switches, and the same for networkx."""

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from ctestbed.topology.analysis.multigraph import Multigraph, make_multigraph

RATE = 100


@st.composite
def multigraphs(draw: st.DrawFn, max_nodes: int = 9, max_cables: int = 24) -> Multigraph:
    """Draw switches, cables between any two (or the same), and endpoint ports of one rate."""
    count = draw(st.integers(1, max_nodes))
    node = st.integers(0, count - 1)
    cables = draw(st.lists(st.tuples(node, node, st.integers(1, 4)), max_size=max_cables))
    ports = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    port_rate = draw(st.sampled_from([RATE, 2 * RATE, 7 * RATE]))
    return graph_of(count, cables, ports, port_rate)


def graph_of(
    count: int, cables: list[tuple[int, int, int]], ports: list[int], port_rate: int = RATE
) -> Multigraph:
    """Build a multigraph from rows of (a, b, hundreds of bit/s)."""
    columns = np.array(cables, np.int64).reshape(-1, 3).T
    below = np.repeat(np.arange(count), ports)
    return make_multigraph(
        count,
        (columns[0], columns[1]),
        columns[2] * RATE,
        (below, np.full(len(below), port_rate)),
        np.arange(count),
    )


def oracle(graph: Multigraph) -> "nx.Graph[int]":
    """Return the same for networkx: one edge a pair, with its cables and rate."""
    found: nx.Graph[int] = nx.Graph()
    found.add_nodes_from(range(graph.nodes))
    columns = (graph.low, graph.high, graph.cables, graph.rate)
    for a, b, cables, rate in zip(*(column.tolist() for column in columns), strict=True):
        found.add_edge(a, b, cables=cables, rate=rate)
    return found
