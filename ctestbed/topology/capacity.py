"""What each layer of cables can carry one way, and where it narrows."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TypeAlias

from ctestbed.topology.analysis.closed import slim_fly_bisection
from ctestbed.topology.kinds.lattice import FullMeshWiring, TorusWiring
from ctestbed.topology.shapes import UNKNOWN_FIGURE, Figures, Plan, PlanePlan, SupernodePlan
from ctestbed.topology.tiers import LEAF_SPINE, NIC_LEAF, NIC_ROUTER, SPINE_CORE

Capacity: TypeAlias = int | None
"""bit/s one way over all planes; None where a rate is unknown."""


@dataclass(frozen=True, slots=True)
class Layer:
    """All cables of one layer of a site, over those of its planes that are alike.

    `narrowing` is what enters the layer's lower switches from below over what leaves them
    upwards: 1 is non-blocking, more is oversubscribed; None where a rate is unknown, and where
    nothing is below anything (`tiered` is false). `planes` names those of a site whose planes
    differ.
    """

    name: str
    cables: int
    figures: Figures
    capacity: Capacity
    narrowing: Fraction | None
    tiered: bool = True
    planes: tuple[int, ...] | None = None


def site_layers(plan: Plan, position: int) -> list[Layer]:
    """Return a site's layers from the NICs up, then inside its supernodes; its trunks apart."""
    site = plan.sites[position]
    layers: list[Layer] = []
    for plane, numbers in site.planes_alike():
        named = None if site.alike else tuple(numbers)
        layers += _plane_layers(plane, len(numbers), named)
    if site.supernode is not None:
        layers += _scale_up_layers(site.supernode)
    return layers


def _plane_layers(plane: PlanePlan, count: int, named: tuple[int, ...] | None) -> Iterator[Layer]:
    shape = plane.shape
    runs = [
        (NIC_ROUTER if shape.wiring else NIC_LEAF, shape.ports, plane.host_cable),
        (LEAF_SPINE, shape.uplinks, plane.spine_cable),
        (SPINE_CORE, shape.core_links, plane.core_cable),
    ]
    below: Capacity = None
    for row, (name, per_plane, figures) in enumerate(runs):
        if per_plane:
            capacity = _capacity(per_plane * count, figures)
            narrowing = _ratio(below if row else capacity, capacity)
            yield Layer(name, per_plane * count, figures, capacity, narrowing, planes=named)
            below = capacity
    layers = () if shape.wiring is None else shape.wiring.layers
    for (name, cables), figures in zip(layers, plane.peer_cables, strict=True):
        capacity = _capacity(cables * count, figures)
        yield Layer(name, cables * count, figures, capacity, None, tiered=False, planes=named)


def _scale_up_layers(domain: SupernodePlan) -> Iterator[Layer]:
    """Yield the layers inside all supernodes; uplinks narrow what their accelerators can send."""
    if not domain.switches:
        return
    cables = domain.accelerators * domain.switches * domain.count
    capacity = _capacity(cables, domain.cable)
    yield Layer(
        "accelerator - scale-up", cables, domain.cable, capacity, _ratio(capacity, capacity)
    )
    if domain.cpu_cabled:
        cables = domain.hosts * domain.cpus * domain.switches * domain.count
        own = _capacity(cables, domain.cpu_cable)
        yield Layer("CPU - scale-up", cables, domain.cpu_cable, own, None, tiered=False)
    if domain.uppers:
        cables = domain.lowers * domain.uppers * domain.count
        above = _capacity(cables, domain.upper_cable)
        narrowing = _ratio(capacity, above)
        yield Layer("scale-up, upper", cables, domain.upper_cable, above, narrowing)


def trunk_narrowing(plan: Plan, position: int) -> Fraction | None:
    """Return what a site's NICs can send over what its trunks can carry; None if unknown.

    None too where the site has no trunk.
    """
    entering: Capacity = 0
    for plane in plan.sites[position].planes:
        entering = _sum(entering, _capacity(plane.shape.ports, plane.host_cable))
    leaving: Capacity = 0
    for trunk in plan.trunks:
        if position in (trunk.site_a, trunk.site_b):
            part = _capacity(trunk.tops * trunk.links * plan.planes, trunk.figures)
            leaving = _sum(leaving, part)
    return _ratio(entering, leaving)


def bisection(plan: Plan, position: int) -> Capacity:
    """Return what one half of a site's endpoints can send to the other by its network.

    Clos planes and single supernodes: half their narrowest layer. Torus and full mesh: the
    smallest cut across the middle of a side, all being even. Slim Fly: where its bounds meet.
    None where a rate, or the closed form, is unknown.
    """
    site = plan.sites[position]
    if site.kind == "scale-up" and site.supernode is not None:
        narrow = [layer.capacity for layer in _scale_up_layers(site.supernode) if layer.tiered]
        whole = [capacity for capacity in narrow if capacity is not None]
        one = site.supernode.count == 1
        return (min(whole) // 2 if one else 0) if len(whole) == len(narrow) else None
    total: Capacity = 0
    for plane in site.planes:
        total = _sum(total, plane_bisection(plane))
    return total


def plane_bisection(plane: PlanePlan) -> Capacity:
    """Return the bisection of one plane; None where a rate or the closed form is unknown."""
    wiring = plane.shape.wiring
    if isinstance(wiring, TorusWiring | FullMeshWiring):
        return _lattice_bisection(wiring, plane.peer_cables)
    if wiring is not None:
        bounds = slim_fly_bisection(plane)
        return bounds[0] if bounds is not None and bounds[0] == bounds[1] else None
    layers = list(_plane_layers(plane, 1, None))
    known = [layer.capacity for layer in layers if layer.capacity is not None]
    return min(known) // 2 if known and len(known) == len(layers) else None


def _lattice_bisection(
    wiring: TorusWiring | FullMeshWiring, peers: tuple[Figures, ...]
) -> Capacity:
    """Return the smallest cut that halves one side; with odd sides there is no such form."""
    cuts: list[int] = []
    if any(side > 1 and side % 2 for side in wiring.dims):
        return None
    for side, figures in zip(wiring.dims, peers, strict=True):
        if figures.rate == UNKNOWN_FIGURE:
            return None
        if side % 2 == 0:
            lines = prod(wiring.dims) // side
            across = (side // 2) ** 2
            if isinstance(wiring, TorusWiring):
                across = 2 if wiring.wrap and side > 2 else 1  # noqa: PLR2004 - no ring of two
            cuts.append(lines * across * figures.rate)
    return min(cuts, default=None)


def format_ratio(ratio: Fraction | None) -> str:
    """Write a narrowing as people do: `32:1`, `1:1`, `15:8`."""
    return "UNKNOWN" if ratio is None else f"{ratio.numerator}:{ratio.denominator}"


def format_narrowing(layer: Layer) -> str:
    """Write a layer's narrowing; a dash where nothing is below anything."""
    return format_ratio(layer.narrowing) if layer.tiered else "-"


def _sum(total: Capacity, part: Capacity) -> Capacity:
    return None if total is None or part is None else total + part


def _capacity(cables: int, figures: Figures) -> Capacity:
    return None if figures.rate == UNKNOWN_FIGURE else cables * figures.rate


def _ratio(below: Capacity, above: Capacity) -> Fraction | None:
    return None if below is None or not above else Fraction(below, above)
