"""Single switches and pairs of switches whose loss takes a network apart (lowlink, iterative).

Hopcroft and Tarjan, 1973. A pair of switches is a bridge only where one cable joins it: of
parallel cables any one may be lost. Endpoints forward nothing, so they are not in the graph; what
counts is which of them are cut from which.
"""

from dataclasses import dataclass

import numpy as np

from ctestbed.topology.analysis.multigraph import Ints, Multigraph


@dataclass(frozen=True)
class Cuts:
    """What a depth-first search saw. `order` numbers nodes as found, `end` is after the last below.

    `articulations` are (node, child): losing the node parts the child's subtree from the rest.
    `bridges` are (parent, child, row): losing the pair's cables parts the child's subtree.
    `roots` holds, for each node, the root of its tree.
    """

    order: Ints
    end: Ints
    root: Ints
    articulations: list[tuple[int, int]]
    bridges: list[tuple[int, int, int]]


def find_cuts(graph: Multigraph) -> Cuts:
    """Search the whole graph, component by component. O(nodes + pairs)."""
    offsets, neighbours, rows = (column.tolist() for column in graph.csr)
    count = graph.nodes
    order, low, end, root = [-1] * count, [0] * count, [0] * count, [-1] * count
    parent_row = [-1] * count
    articulations: list[tuple[int, int]] = []
    bridges: list[tuple[int, int, int]] = []
    clock = 0
    for start in range(count):
        if order[start] >= 0:
            continue
        stack = [(start, offsets[start])]
        order[start] = low[start] = clock
        root[start] = start
        clock += 1
        children: list[int] = []
        while stack:
            node, at = stack[-1]
            if at < offsets[node + 1]:
                stack[-1] = (node, at + 1)
                far = neighbours[at]
                if order[far] < 0:
                    order[far] = low[far] = clock
                    root[far], parent_row[far] = start, rows[at]
                    clock += 1
                    stack.append((far, offsets[far]))
                elif rows[at] != parent_row[node]:
                    low[node] = min(low[node], order[far])
                continue
            stack.pop()
            end[node] = clock
            if not stack:
                continue
            above = stack[-1][0]
            low[above] = min(low[above], low[node])
            if low[node] > order[above]:
                bridges.append((above, node, parent_row[node]))
            if above == start:
                children.append(node)
            elif low[node] >= order[above]:
                articulations.append((above, node))
        if len(children) > 1:
            articulations += [(start, child) for child in children]
    return Cuts(np.array(order), np.array(end), np.array(root), articulations, bridges)
