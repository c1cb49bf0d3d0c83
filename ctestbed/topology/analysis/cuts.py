"""Single switches and cables whose loss takes a network apart (lowlink, iterative).

Hopcroft and Tarjan, 1973. Endpoints forward nothing, so they are not in the graph; what counts is
which of them are cut from which.
"""

from dataclasses import dataclass, field

import numpy as np

from ctestbed.topology.analysis.multigraph import Ints, Multigraph


@dataclass
class Cuts:
    """What a depth-first search saw. `order` numbers nodes as found, `end` is after the last below.

    `articulations` are (node, child): losing the node parts the child's subtree from the rest.
    `bridges` are (parent, child, row): losing all cables of the pair parts the child's subtree; of
    parallel ones any may be lost. `root` holds, for each node, the root of its tree.
    """

    order: list[int]
    low: list[int]
    end: list[int]
    root: list[int]
    articulations: list[tuple[int, int]] = field(default_factory=list)
    bridges: list[tuple[int, int, int]] = field(default_factory=list)
    clock: int = 0

    def enter(self, node: int, root: int) -> None:
        """Number a node as the next one found."""
        self.order[node] = self.low[node] = self.clock
        self.root[node] = root
        self.clock += 1

    def leave(self, node: int, above: int, row: int) -> None:
        """Close a node's subtree below its parent, and note what losing either would part."""
        self.low[above] = min(self.low[above], self.low[node])
        if self.low[node] > self.order[above]:
            self.bridges.append((above, node, row))
        if self.low[node] >= self.order[above] and above != self.root[above]:
            self.articulations.append((above, node))


def find_cuts(graph: Multigraph) -> Cuts:
    """Search the whole graph, component by component. O(nodes + pairs)."""
    csr = [column.tolist() for column in graph.csr]
    count = graph.nodes
    cuts = Cuts([-1] * count, [0] * count, [0] * count, [-1] * count)
    for start in range(count):
        if cuts.order[start] < 0:
            children = _search(cuts, start, *csr)
            if len(children) > 1:
                cuts.articulations += [(start, child) for child in children]
    return cuts


def _search(
    cuts: Cuts, start: int, offsets: list[int], neighbours: list[int], rows: list[int]
) -> list[int]:
    """Search one component; return the children of its root."""
    cuts.enter(start, start)
    stack = [[start, offsets[start], -1]]
    children = []
    while stack:
        node, at, came_by = stack[-1]
        if at < offsets[node + 1]:
            stack[-1][1] = at + 1
            far = neighbours[at]
            if cuts.order[far] < 0:
                cuts.enter(far, start)
                stack.append([far, offsets[far], rows[at]])
            elif rows[at] != came_by:
                cuts.low[node] = min(cuts.low[node], cuts.order[far])
            continue
        stack.pop()
        cuts.end[node] = cuts.clock
        if stack:
            cuts.leave(node, stack[-1][0], came_by)
            if stack[-1][0] == start:
                children.append(node)
    return children


@dataclass(frozen=True)
class Parting:
    """One switch, or one cable (`far` is its other end), and how many owners its loss cuts off.

    Those are the owners wholly in parts other than the largest; one that hangs on several parts
    is in none.
    """

    node: int
    far: int | None
    cut_off: int


def find_partings(graph: Multigraph, owner: Ints, node: Ints) -> list[Parting]:
    """Return what parts endpoints from endpoints: switches, then lone cables, in order of node.

    `owner` and `node` have a row per attachment: a host, and the switch that it hangs on.
    """
    if not len(owner):
        return []
    cuts = find_cuts(graph)
    if not cuts.articulations and not cuts.bridges:
        return []
    hosts = _Attached.of(np.array(cuts.order)[node], np.array(cuts.root)[node], owner)
    children: dict[int, list[int]] = {}
    for at, child in cuts.articulations:
        children.setdefault(at, []).append(child)
    found = [
        Parting(at, None, cut_off)
        for at in sorted(children)
        if (cut_off := _cut_off(cuts, hosts, at, children[at])) > 0
    ]
    for at, child, row in cuts.bridges:
        below, above = hosts.sides([(cuts.order[child], cuts.end[child])], cuts.root[child])
        if graph.cables[row] == 1 and below and above:
            found.append(Parting(min(at, child), max(at, child), min(below, above)))
    return sorted(found, key=lambda each: (each.far is not None, each.node, each.far or 0))


def _cut_off(cuts: Cuts, hosts: "_Attached", at: int, children: list[int]) -> int:
    """Return how many owners the loss of a switch leaves outside of the largest part."""
    root = cuts.root[at]
    parts = [(cuts.order[child], cuts.end[child]) for child in children]
    itself = (cuts.order[at], cuts.order[at] + 1)
    within, beside = hosts.sides([*parts, itself], root)
    whole = [beside, *(hosts.sides([part], root)[0] for part in parts)]
    cut_off = sum(whole) - max(whole)
    if (
        not cut_off
    ):  # owners in several of the parts at once, against those in none, or one, of them
        astride = within - sum(whole[1:]) - hosts.only_on(cuts.order[at])
        for part, inside in zip(parts, whole[1:], strict=True):
            outside = hosts.sides([part], root)[1] - hosts.only_on(cuts.order[at])
            cut_off = max(cut_off, min(inside, outside))
        cut_off = max(cut_off, min(beside, astride))
    return cut_off


@dataclass(frozen=True)
class _Attached:
    """Owners by where they hang: those in one place sorted, those in several one after another."""

    lone: Ints
    spread: Ints
    starts: Ints
    sizes: Ints
    total: dict[int, int]

    @classmethod
    def of(cls, order: Ints, root: Ints, owner: Ints) -> "_Attached":
        """Sort attachments by owner and component; an owner counts once in each."""
        key = np.unique(np.stack([owner, root, order]), axis=1)
        fresh = np.ones(key.shape[1], bool)
        fresh[1:] = (key[:2, 1:] != key[:2, :-1]).any(axis=0)
        starts = np.flatnonzero(fresh)
        sizes = np.diff(np.append(starts, key.shape[1]))
        one = np.repeat(sizes == 1, sizes)
        names, counts = np.unique(key[1, starts], return_counts=True)
        many = sizes[sizes > 1]
        return cls(
            lone=np.sort(key[2, one]),
            spread=key[2, ~one],
            starts=np.cumsum(many) - many,
            sizes=many,
            total=dict(zip(names.tolist(), counts.tolist(), strict=True)),
        )

    def sides(self, parts: list[tuple[int, int]], root: int) -> tuple[int, int]:
        """Return how many owners of a component hang only inside of intervals, and only outside."""
        below = touched = 0
        for start, end in parts:
            low, high = np.searchsorted(self.lone, [start, end])
            below, touched = below + int(high - low), touched + int(high - low)
        if len(self.starts):
            within = np.zeros(len(self.spread), np.int64)
            for start, end in parts:
                within += (self.spread >= start) & (self.spread < end)
            inside = np.add.reduceat(within, self.starts)
            below += int((inside == self.sizes).sum())
            touched += int((inside > 0).sum())
        return below, self.total.get(root, 0) - touched

    def only_on(self, order: int) -> int:
        """Return how many owners hang on one node alone."""
        low, high = np.searchsorted(self.lone, [order, order + 1])
        return int(high - low)
