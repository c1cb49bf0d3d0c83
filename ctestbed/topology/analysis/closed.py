"""Distances, paths and bisection of regular planes in closed form; no arrays, so any size is cheap.

Hops are between switches (or accelerators that are their own routers), paths count cables. Fewest
edge-disjoint paths: a connected vertex-transitive graph is as edge-connected as its degree (Mader
1971), and so is every graph of diameter two (Plesnik 1975); open grids after Xu and Yang 2006.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import factorial, prod
from typing import Final

from ctestbed.topology.analysis.data import Spread, same_for_all, spread_of
from ctestbed.topology.kinds.dragonfly import DragonflyWiring
from ctestbed.topology.kinds.lattice import FullMeshWiring, TorusWiring
from ctestbed.topology.kinds.slim_fly import MMSWiring
from ctestbed.topology.shapes import UNKNOWN_FIGURE, PlanePlan, Shape

_OFFSETS: Final = 200_000
"""Offsets of a grid up to which the paths to each are counted."""


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """What follows from a plane's counts; None where no closed form gives it.

    `hops[h]` ordered pairs of leaves are h hops apart.
    """

    hops: dict[int, int] | None
    diameter: int
    shortest: Spread | None
    disjoint: Spread | None
    fan_out: int | None

    @property
    def mean(self) -> float | None:
        """Mean hops between two leaves."""
        return None if self.hops is None else mean_of(self.hops)


def mean_of(hops: dict[int, int]) -> float | None:
    """Return the mean over `hops -> pairs`, to six decimals; None without a pair."""
    pairs = sum(hops.values())
    return round(sum(h * n for h, n in hops.items()) / pairs, 6) if pairs else None


def closed_form(plane: PlanePlan) -> ClosedForm | None:
    """Return what follows from the counts of a plane; None where leaves are not connected."""
    wiring = plane.shape.wiring
    if isinstance(wiring, TorusWiring):
        return _torus(wiring)
    if isinstance(wiring, FullMeshWiring):
        return _full_mesh(wiring)
    if isinstance(wiring, MMSWiring):
        return _slim_fly(wiring)
    if isinstance(wiring, DragonflyWiring):
        return _dragonfly(wiring)
    return _clos(plane.shape) if wiring is None and plane.shape.leaves else None


def _clos(shape: Shape) -> ClosedForm | None:
    """Every leaf to every spine of its pod, every spine of one number to the same cores."""
    leaves, spines, parallel = shape.leaves, shape.spines_per_pod, shape.parallel
    if leaves == 1:
        return ClosedForm({}, 0, None, None, None)
    near = shape.pods * shape.leaves_per_pod * (shape.leaves_per_pod - 1)
    far = leaves * (leaves - 1) - near
    if not spines or (far and not shape.cores_per_spine):
        return None
    up, above = spines * parallel, shape.cores_per_spine
    hops, paths, disjoint = Counter({2: near}), Counter({up * parallel: near}), Counter({up: near})
    hops[4] += far
    paths[up * above * parallel] += far
    disjoint[spines * min(parallel, above)] += far
    kept = {value: pairs for value, pairs in hops.items() if pairs}
    return ClosedForm(
        hops=kept,
        diameter=max(kept),
        shortest=spread_of({value: pairs for value, pairs in paths.items() if pairs}),
        disjoint=spread_of({value: pairs for value, pairs in disjoint.items() if pairs}),
        fan_out=up,
    )


def _side_distances(side: int, *, ring: bool) -> list[tuple[int, int, int]]:
    """Return (distance, ordered pairs at it, shortest ways) along one side."""
    if not ring:
        return [(d, side if d == 0 else 2 * (side - d), 1) for d in range(side)]
    found = []
    for distance in range(side // 2 + 1):
        opposite = 2 * distance == side and side > 2  # noqa: PLR2004 - no ring of two
        once = distance == 0 or 2 * distance == side
        found.append((distance, side * (1 if once else 2), 2 if opposite else 1))
    return found


def _torus(wiring: TorusWiring) -> ClosedForm:
    sides = [side for side in wiring.dims if side > 1]
    axes = [_side_distances(side, ring=wiring.wrap) for side in sides]
    hops = _sum_of(axes)
    shortest = None
    if prod(len(axis) for axis in axes) <= _OFFSETS:
        shortest = spread_of(Counter(dict(_path_counts(axes))) if axes else {})
    if wiring.wrap:
        disjoint = same_for_all(wiring.degree)
        fan_out = sum(2 if side % 2 == 0 and side > 2 else 1 for side in sides)  # noqa: PLR2004
    else:
        disjoint = Spread(fewest=len(sides), typical=None, most=None)
        fan_out = len(sides)
    single = wiring.routers == 1
    return ClosedForm(
        hops, max(hops, default=0), shortest, None if single else disjoint, fan_out or None
    )


def _sum_of(axes: list[list[tuple[int, int, int]]]) -> dict[int, int]:
    """Return ordered pairs by hops: distances along sides add up."""
    hops = {0: 1}
    for axis in axes:
        further: Counter[int] = Counter()
        for so_far, pairs in hops.items():
            for distance, here, _ in axis:
                further[so_far + distance] += pairs * here
        hops = further
    return {distance: pairs for distance, pairs in hops.items() if distance}


def _path_counts(axes: list[list[tuple[int, int, int]]]) -> Iterator[tuple[int, int]]:
    """Yield (shortest paths, ordered pairs that have so many), each number once."""
    counts: Counter[int] = Counter()
    for offset in product(*axes):
        steps = [distance for distance, _, _ in offset]
        if any(steps):
            orders = factorial(sum(steps)) // prod(map(factorial, steps))
            ways = orders * prod(way for _, _, way in offset)
            counts[ways] += prod(pairs for _, pairs, _ in offset)
    yield from counts.items()


def _full_mesh(wiring: FullMeshWiring) -> ClosedForm:
    axes = [[(0, side, 1), (1, side * (side - 1), 1)] for side in wiring.dims if side > 1]
    hops = _sum_of(axes)
    paths = {factorial(distance): pairs for distance, pairs in hops.items()}
    disjoint = same_for_all(wiring.degree) if hops else None
    return ClosedForm(hops, len(axes), spread_of(paths), disjoint, len(axes) or None)


def _slim_fly(wiring: MMSWiring) -> ClosedForm:
    """Diameter two: a router's own neighbours at one hop, all others at two."""
    routers, degree = wiring.routers, wiring.degree
    hops = {1: routers * degree, 2: routers * (routers - 1 - degree)}
    return ClosedForm(hops, 2, None, same_for_all(degree), None)


def _dragonfly(wiring: DragonflyWiring) -> ClosedForm | None:
    """Local, global, local: three hops; pairs at one and two depend on how cables are arranged."""
    if wiring.g == 1:
        routers = wiring.a
        if routers == 1:
            return ClosedForm({}, 0, None, None, None)
        every = routers * (routers - 1)
        return ClosedForm({1: every}, 1, same_for_all(1), same_for_all(routers - 1), 1)
    return None


def slim_fly_bisection(plane: PlanePlan) -> tuple[int, int] | None:
    """Return lower and upper bound in bit/s; None where a rate is unknown.

    The Laplacian of an MMS graph has no eigenvalue between 0 and q (by the Fourier blocks over
    the field: in closed form for q = 4w + 1, and computed for all 197 orders up to 1,024, which is
    all that can be built), so 2q^2 routers part at q^3/2 cables at least. Half of the groups of
    either set against the rest takes q^3/2; for odd q, where one set halves up and the other
    down, (q^3 + q)/2. Endpoints bound it too.
    """
    wiring = plane.shape.wiring
    if not isinstance(wiring, MMSWiring) or not plane.peer_cables:
        return None
    rates = {figures.rate for figures in plane.peer_cables}
    if len(rates) > 1 or UNKNOWN_FIGURE in rates or plane.host_cable.rate == UNKNOWN_FIGURE:
        return None
    rate, q = rates.pop(), wiring.q
    ends = plane.shape.ports // 2 * plane.host_cable.rate
    return min(-(-(q**3) // 2) * rate, ends), min((q**3 + q % 2 * q) // 2 * rate, ends)


def dragonfly_bound(plane: PlanePlan) -> int:
    """Return a lower bound of a Dragonfly's bisection in bit/s; 0 where a rate is unknown.

    All endpoints send to all by local, global, local cable, over the w whole rounds of cables that
    join every two groups. A global cable then carries a^2 p^2 / w, a local one at most
    p^2 (1 + 2 a h / w), and halves exchange a pair's share for every pair across.
    """
    wiring = plane.shape.wiring
    if not isinstance(wiring, DragonflyWiring) or wiring.g == 1:
        return 0
    local, far = (figures.rate for figures in plane.peer_cables)
    if UNKNOWN_FIGURE in {local, far, plane.host_cable.rate}:
        return 0
    p, a, h = wiring.ports, wiring.a, wiring.h
    rounds = a * h // (wiring.g - 1)
    ports, slack = plane.shape.ports, p * (wiring.routers % 2)
    across = ports**2 - slack**2
    by_global = far * rounds * across // (4 * a**2 * p**2)
    by_local = local * rounds * across // (4 * p**2 * (rounds + 2 * a * h)) if a > 1 else by_global
    return min(by_global, by_local, (ports - slack) // 2 * plane.host_cable.rate)
