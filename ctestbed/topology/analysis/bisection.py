"""The bisection of any network, between two bounds.

What is asked: over all ways of putting the leaves, each with all of its endpoints, on two sides
that differ by no more than the largest leaf has, the least that the endpoints of one side can send
to the other at once. Finding it is NP-hard, so it is bracketed.

`at most`: a halving that was found, and the minimum cut between its sides by max-flow, endpoint
cables counted. Halves are found in the order of the leaves, by the Fiedler vector of the network,
and by swapping leaves while that lowers the cut (after Kernighan and Lin, 1970).

`at least` is the largest of three bounds, all of which hold for every halving:

- climbing: all leaves send what they can up to the switches farthest above them. Each of those
  passes on to one side what it gets from the other, at least what the half of the leaves that
  sends it least does send. Exact on Clos networks.
- spreading: where all endpoints can send each other d at once, halves exchange d for every pair
  across (Leighton 1992, 1.9). The d used is that of spreading evenly over all shortest paths.
- spectral: a cut between w and W - w endpoints takes at least mu w (W - w) / W, where mu is the
  second eigenvalue of the network seen from its leaves (Fiedler 1973).

The last two look at cables between switches alone; a cut may also take endpoint cables instead,
and since their bounds are concave in w it is cheapest with all of one kind. Networks of few leaves
are searched whole.
"""

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Final

import numpy as np

from ctestbed.topology.analysis.flow import FlowNetwork
from ctestbed.topology.analysis.multigraph import Ints, Multigraph
from ctestbed.topology.analysis.search import count_shortest

DENSE: Final = 800
"""Switches up to which eigenvalues are computed and halves are improved."""
FLOW_PAIRS: Final = 20_000
"""Pairs of switches up to which minimum cuts are computed; above, the halves' own cables count."""
SPREAD_WORK: Final = 20_000_000
"""Leaves times pairs up to which traffic is spread over shortest paths."""
CLIMB_CELLS: Final = 12_000_000
"""Leaves times switches up to which traffic climbs."""
EXHAUSTIVE: Final = 300
"""Ways of halving up to which all are tried."""
EXHAUSTIVE_PAIRS: Final = 1_000
"""Pairs of switches up to which all ways are tried, for each takes a maximum flow."""
_SWAPS: Final = 400
_SLACK: Final = 1e-9
_ALIKE: Final = 1e-8


@dataclass(frozen=True, slots=True)
class Bisection:
    """Bounds in the graph's unit (bit/s, or cables where a rate is unknown) and how they came."""

    at_least: int
    at_most: int
    method: str
    sides: tuple[int, int]
    """Endpoint ports on either side of the halves that gave `at_most`."""

    @property
    def exact(self) -> bool:
        """Whether the bounds meet."""
        return self.at_least == self.at_most


def bracket_bisection(
    graph: Multigraph, *, known: int = 0, exhaustive: int = EXHAUSTIVE
) -> Bisection | None:
    """Return the bounds; None with fewer than two endpoints, or leaves without a way between.

    Below one leaf, any half of the endpoints meets the other half in the switch itself. `known`
    is a lower bound that the caller has from a closed form.
    """
    leaves = graph.leaves
    if int(graph.ports.sum()) < 2:  # noqa: PLR2004 - halves need two
        return None
    if len(leaves) == 1:
        half = int(graph.port_rate[leaves[0]]) // 2
        return Bisection(half, half, "half of the endpoints of one switch", _even(graph))
    if len(np.unique(graph.components[leaves])) > 1:
        return None
    slack = imbalance(graph)
    bounds = {"closed form": float(known), "climbing": climbing_bound(graph, slack)}
    candidates = [_in_order(graph, leaves)]
    found = "halves in order"
    if _round_up(graph, max(bounds.values())) < _settled_cut(graph, candidates[0]):
        bounds["spreading"] = spreading_bound(graph, slack)
        if graph.nodes <= DENSE:
            seen = _from_leaves(graph)
            mu, fiedler = spectrum(seen, graph.ports[leaves])
            bounds["spectral"] = _with_endpoints(graph, slack, mu / int(graph.ports.sum()))
            candidates.append(_in_order(graph, leaves[np.argsort(fiedler, kind="stable")]))
            candidates += [_improve(graph, seen, side, slack) for side in candidates]
            found += " and by the Fiedler vector, improved by swaps"
    best = min(candidates, key=lambda side: _settled_cut(graph, side))
    at_most = _settled_cut(graph, best)
    strongest = max(bounds, key=bounds.__getitem__)
    at_least = _round_up(graph, bounds[strongest])
    few = len(graph.low) <= EXHAUSTIVE_PAIRS
    if at_least < at_most and few and comb(len(leaves), len(leaves) // 2) <= exhaustive:
        return try_every_half(graph)
    if at_least < at_most and _fits(graph):
        at_most = _flow_between(graph, *_sides(graph, best))
        found += ", minimum cut by max-flow"
    if at_least:
        found += f"; at least by {strongest}"
    weight = int(graph.ports[best].sum())
    sides = (weight, int(graph.ports.sum()) - weight)
    return Bisection(min(at_least, at_most), at_most, found, sides)


def imbalance(graph: Multigraph) -> int:
    """Return how far the two sides may differ: by a leaf, or not at all where all are even."""
    ports = graph.ports[graph.leaves]
    if (ports == ports[0]).all():
        return int(ports[0]) * (len(ports) % 2)
    return int(ports.max())


def _even(graph: Multigraph) -> tuple[int, int]:
    total = int(graph.ports.sum())
    return total // 2, total - total // 2


def _round_up(graph: Multigraph, value: float) -> int:
    """Return the least cut that may be: a multiple of what divides all rates.

    There is room for what doubles round away.
    """
    unit = int(np.gcd.reduce(np.concatenate([graph.rate, graph.port_rate[graph.leaves]])))
    return max(int(np.ceil(value / unit * (1 - _SLACK) - _SLACK)), 0) * unit


def _with_endpoints(graph: Multigraph, slack: int, each: float) -> float:
    """Return the bound of halves of which every pair of endpoints across takes `each`."""
    leaves, total = graph.leaves, int(graph.ports.sum())
    thinnest = float((graph.port_rate[leaves] / graph.ports[leaves]).min())
    return min(each * (total**2 - slack**2) / 4, thinnest * (total - slack) / 2)


def spreading_bound(graph: Multigraph, slack: int) -> float:
    """Return the bound of all endpoints sending to all; 0 where that takes too long to tell."""
    if len(graph.leaves) * max(len(graph.low), 1) > SPREAD_WORK:
        return 0.0
    load = count_shortest(graph, spread=True).load
    assert load is not None  # noqa: S101 - asked for
    rate = np.concatenate([graph.rate, graph.rate]).astype(np.float64)
    used = load > 0
    return _with_endpoints(graph, slack, float((rate[used] / load[used]).min(initial=np.inf)))


def climbing_bound(graph: Multigraph, slack: int) -> float:
    """Return the bound of all leaves sending up as much as they can; 0 where there is no up."""
    leaves = graph.leaves
    height = heights(graph)
    top = int(height.max(initial=0))
    if not top or len(leaves) * graph.nodes > CLIMB_CELLS:
        return 0.0
    held = np.zeros((len(leaves), graph.nodes))
    held[np.arange(len(leaves)), leaves] = graph.port_rate[leaves]
    for level in range(top):
        climbs = np.abs(height[graph.low] - height[graph.high]) == 1
        lower = np.minimum(height[graph.low], height[graph.high]) == level
        rows = np.flatnonzero(climbs & lower)
        up = height[graph.low[rows]] < height[graph.high[rows]]
        near = np.where(up, graph.low[rows], graph.high[rows])
        far = np.where(up, graph.high[rows], graph.low[rows])
        out = np.bincount(near, graph.rate[rows], graph.nodes)
        into = held.sum(axis=0)
        passed = np.where(into > out, out / np.where(into > 0, into, 1), 1.0)
        share = graph.rate[rows] / out[near] * passed[near]
        lowers, from_row = np.unique(near, return_inverse=True)
        uppers, to_row = np.unique(far, return_inverse=True)
        shares = np.zeros((len(lowers), len(uppers)))
        shares[from_row, to_row] = share
        raised = held[:, lowers] @ shares
        held[:, lowers] = 0  # what has no way up stays where it is
        held[:, uppers] += raised
    return _least_half(held, graph.ports[leaves].astype(np.float64), slack)


def heights(graph: Multigraph) -> Ints:
    """Return hops from the nearest leaf; 0 where there is no way to one."""
    height = np.full(graph.nodes, -1)
    height[graph.leaves] = 0
    near = np.concatenate([graph.low, graph.high])
    far = np.concatenate([graph.high, graph.low])
    hops = 0
    while True:
        fresh = far[(height[near] == hops) & (height[far] < 0)]
        if not len(fresh):
            above: Ints = np.maximum(height, 0)
            return above
        hops += 1
        height[fresh] = hops


def _least_half(held: Ints, ports: Ints, slack: int) -> float:
    """Sum, over switches, the least that leaves with half of the ports send to each of them."""
    need = (ports.sum() - slack) / 2
    total = 0.0
    for column in held[:, held.any(axis=0)].T:
        order = np.argsort(column / ports, kind="stable")
        before = np.cumsum(ports[order]) - ports[order]
        taken = np.clip(need - before, 0, ports[order])
        total += float((column[order] * taken / ports[order]).sum())
    return total


def _from_leaves(graph: Multigraph) -> Ints:
    """Return the Laplacian seen from the leaves: the Schur complement on them."""
    leaves = graph.leaves
    joined = np.zeros((graph.nodes, graph.nodes))
    joined[graph.low, graph.high] = joined[graph.high, graph.low] = graph.rate
    laplacian = np.diag(joined.sum(axis=1)) - joined
    inner = graph.components == graph.components[leaves[0]]
    inner[leaves] = False
    seen: Ints = laplacian[np.ix_(leaves, leaves)]
    if not inner.any():
        return seen
    between = laplacian[np.ix_(leaves, inner)]
    return np.asarray(seen - between @ np.linalg.solve(laplacian[np.ix_(inner, inner)], between.T))


def spectrum(seen: Ints, ports: Ints) -> tuple[float, Ints]:
    """Return the second smallest eigenvalue of `seen` weighted by ports, and its vector."""
    scale = 1 / np.sqrt(ports.astype(np.float64))
    values, vectors = np.linalg.eigh(seen * scale[:, None] * scale[None, :])
    # Of several vectors of one eigenvalue any mix may come back, and last digits vary by machine:
    # the part of a fixed line that lies among them, rounded, is the same everywhere.
    alike = np.abs(values - values[1]) <= _ALIKE * max(float(values[-1]), 1.0)
    alike[0] = False
    basis = vectors[:, alike]
    line = np.arange(len(ports)) - (len(ports) - 1) / 2
    vector = basis @ (basis.T @ line) * scale
    most = float(np.abs(vector).max())
    return max(float(values[1]), 0.0), np.round(vector / (most or 1.0), 6)


def _in_order(graph: Multigraph, leaves: Ints) -> Ints:
    """Return a mask of nodes: leaves from the first on until half of the endpoints are in."""
    ports = graph.ports[leaves]
    filled = np.cumsum(ports)
    half = int(ports.sum()) / 2
    count = int(np.argmin(np.abs(filled[:-1] - half))) + 1
    side = np.zeros(graph.nodes, bool)
    side[leaves[:count]] = True
    return side


def _improve(graph: Multigraph, seen: Ints, side: Ints, slack: int) -> Ints:
    """Swap leaves of equal weight (or towards balance) while the network seen from leaves gains."""
    leaves, ports = graph.leaves, graph.ports[graph.leaves]
    sign = np.where(side[leaves], 1.0, -1.0)
    lean = int((ports * sign).sum())
    scale = np.abs(np.diag(seen)).max(initial=1.0)
    for _ in range(_SWAPS):
        pull = seen @ sign  # gain of flipping i is -4 x_i pull_i + 4 L_ii, halved twice
        flip = sign * pull - np.diag(seen)
        ours, theirs = np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)
        gain = flip[ours][:, None] + flip[theirs][None, :] + 2 * seen[np.ix_(ours, theirs)]
        gain = np.round(gain / scale, 9)
        after = np.abs(lean - 2 * ports[ours][:, None] + 2 * ports[theirs][None, :])
        gain[after > max(slack, abs(lean))] = -np.inf
        best = np.unravel_index(int(np.argmax(gain)), gain.shape)
        closer = after[best] < abs(lean)
        if gain[best] <= 0 and not (closer and gain[best] == 0):
            break
        one, other = ours[best[0]], theirs[best[1]]
        sign[one], sign[other] = -1.0, 1.0
        lean += 2 * int(ports[other] - ports[one])
    improved = np.zeros(graph.nodes, bool)
    improved[leaves[sign > 0]] = True
    return improved


def _fits(graph: Multigraph) -> bool:
    return len(graph.low) <= FLOW_PAIRS


def _sides(graph: Multigraph, side: Ints) -> tuple[Ints, Ints]:
    leaves = graph.leaves
    return leaves[side[leaves]], leaves[~side[leaves]]


def _settled_cut(graph: Multigraph, side: Ints) -> int:
    """Return a cut between two sides: other switches stand where most of their rate goes."""
    placed = _settle(graph, side)
    across = int(graph.rate[placed[graph.low] != placed[graph.high]].sum())
    return min(across, *(int(graph.port_rate[part].sum()) for part in _sides(graph, side)))


def _settle(graph: Multigraph, side: Ints) -> Ints:
    """Put every other switch where most of its rate goes, a few rounds over."""
    lean = np.zeros(graph.nodes)
    leaves = graph.leaves
    lean[leaves] = np.where(side[leaves], 1.0, -1.0)
    for _ in range(8):
        pull = np.bincount(graph.low, graph.rate * lean[graph.high], graph.nodes)
        pull += np.bincount(graph.high, graph.rate * lean[graph.low], graph.nodes)
        pull[leaves] = lean[leaves]
        lean = np.sign(pull)
    return lean > 0


def _flow_between(graph: Multigraph, ours: Ints, theirs: Ints) -> int:
    network = FlowNetwork.of(graph, graph.rate, extra=2)
    source, target = graph.nodes, graph.nodes + 1
    for leaf in ours.tolist():
        network.join(source, leaf, int(graph.port_rate[leaf]), 0)
    for leaf in theirs.tolist():
        network.join(leaf, target, int(graph.port_rate[leaf]), 0)
    return network.max_flow(source, target)


def try_every_half(graph: Multigraph) -> Bisection:
    """Try every way of halving two leaves or more; for as few as allow it."""
    leaves, ports, slack = graph.leaves, graph.ports[graph.leaves], imbalance(graph)
    total = int(ports.sum())
    best: tuple[int, int] | None = None
    for size in range(1, len(leaves) // 2 + 1):
        for chosen in combinations(range(len(leaves)), size):
            weight = int(ports[list(chosen)].sum())
            if abs(total - 2 * weight) > slack:
                continue
            rest = np.setdiff1d(np.arange(len(leaves)), chosen)
            if len(rest) == size and chosen[0] != 0:
                continue  # its complement was tried
            cut = _flow_between(graph, leaves[list(chosen)], leaves[rest])
            best = min(best, (cut, weight)) if best else (cut, weight)
    assert best is not None  # noqa: S101 - filling sides greedily meets the slack
    sides = (best[1], total - best[1])
    return Bisection(best[0], best[0], "every way of halving tried", sides)
