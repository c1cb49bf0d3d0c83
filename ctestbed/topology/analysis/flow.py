"""Maximum flow between two sets of nodes (Dinic), in whole numbers, for graphs of a few thousand.

Every pair of nodes carries its capacity both ways. Dinic, 1970: levels by breadth-first search,
then a blocking flow along them, until the far side is out of reach; what is still reached then is
one side of a minimum cut.
"""

from collections.abc import Iterable, Sequence

from ctestbed.topology.analysis.multigraph import Ints, Multigraph


class FlowNetwork:
    """Nodes joined both ways; capacities are restored before every flow."""

    def __init__(self, nodes: int) -> None:
        self._heads: list[list[int]] = [[] for _ in range(nodes)]
        self._to: list[int] = []
        self._given: list[int] = []
        self._left: list[int] = []

    @classmethod
    def of(cls, graph: Multigraph, capacity: Ints, extra: int = 0) -> "FlowNetwork":
        """Return the graph's pairs with a capacity each, and `extra` nodes after its own."""
        network = cls(graph.nodes + extra)
        rows = zip(graph.low.tolist(), graph.high.tolist(), capacity.tolist(), strict=True)
        for low, high, each in rows:
            network.join(low, high, each)
        return network

    def join(self, a: int, b: int, capacity: int, back: int | None = None) -> None:
        """Add a capacity from a to b, and as much (or `back`) from b to a."""
        for start, end, most in ((a, b, capacity), (b, a, capacity if back is None else back)):
            self._heads[start].append(len(self._to))
            self._to.append(end)
            self._given.append(most)

    def max_flow(self, source: int, target: int, enough: int | None = None) -> int:
        """Return the largest flow; no more than `enough` is looked for."""
        self._left = self._given.copy()
        total = 0
        while enough is None or total < enough:
            levels = self._levels(source)
            if levels[target] < 0:
                break
            total += self._block(source, target, levels)
        return total if enough is None else min(total, enough)

    def source_side(self, source: int) -> list[bool]:
        """Return which nodes the last flow left on the source's side of a minimum cut."""
        return [level >= 0 for level in self._levels(source)]

    def _levels(self, source: int) -> list[int]:
        levels = [-1] * len(self._heads)
        levels[source] = 0
        queue = [source]
        for node in queue:
            for arc in self._heads[node]:
                far = self._to[arc]
                if self._left[arc] and levels[far] < 0:
                    levels[far] = levels[node] + 1
                    queue.append(far)
        return levels

    def _block(self, source: int, target: int, levels: Sequence[int]) -> int:
        """Push a blocking flow along the levels, path by path."""
        waiting = [iter(arcs) for arcs in self._heads]
        path: list[int] = []
        node, total = source, 0
        while True:
            if node == target:
                pushed = min(self._left[arc] for arc in path)
                total += pushed
                first = len(path)
                for place, arc in enumerate(path):
                    self._left[arc] -= pushed
                    self._left[arc ^ 1] += pushed
                    if not self._left[arc]:
                        first = min(first, place)
                node = self._to[path[first] ^ 1]
                del path[first:]
                # The arc at hand was used up; those before it in this node's turn are spent too.
                continue
            onwards = self._next(waiting[node], levels, node)
            if onwards is not None:
                path.append(onwards)
                node = self._to[onwards]
            elif path:
                node = self._to[path.pop() ^ 1]
            else:
                return total

    def _next(self, arcs: Iterable[int], levels: Sequence[int], node: int) -> int | None:
        for arc in arcs:
            if self._left[arc] and levels[self._to[arc]] == levels[node] + 1:
                return arc
        return None
