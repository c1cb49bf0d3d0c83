"""What each layer of cables can carry one way, and where it narrows."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from ctestbed.topology.shapes import UNKNOWN_FIGURE, Figures, Plan

Capacity: TypeAlias = int | None
"""bit/s one way over all planes; None where a rate is unknown."""


@dataclass(frozen=True, slots=True)
class Layer:
    """All cables of one layer of a site, over all planes.

    `narrowing` is what enters the layer's lower switches from below over what leaves them
    upwards: 1 is non-blocking, more is oversubscribed; None where a rate is unknown.
    """

    name: str
    cables: int
    figures: Figures
    capacity: Capacity
    narrowing: Fraction | None


def site_layers(plan: Plan, position: int) -> list[Layer]:
    """Return a site's layers from the NICs up, its trunks apart."""
    site = plan.sites[position]
    shape = site.shape
    runs = [
        ("NIC - leaf", shape.ports, site.host_cable),
        ("leaf - spine", shape.uplinks, site.spine_cable),
    ]
    if shape.cores:
        runs.append(("spine - core", shape.core_links, site.core_cable))
    layers: list[Layer] = []
    for name, per_plane, figures in runs:
        cables = per_plane * plan.planes
        capacity = _capacity(cables, figures)
        below = layers[-1].capacity if layers else capacity
        layers.append(Layer(name, cables, figures, capacity, _ratio(below, capacity)))
    return layers


def trunk_narrowing(plan: Plan, position: int) -> Fraction | None:
    """Return what a site's NICs can send over what its trunks can carry; None if unknown.

    None too where the site has no trunk.
    """
    site = plan.sites[position]
    entering = _capacity(site.shape.ports * plan.planes, site.host_cable)
    leaving: Capacity = 0
    for trunk in plan.trunks:
        if position in (trunk.site_a, trunk.site_b):
            part = _capacity(trunk.tops * trunk.links * plan.planes, trunk.figures)
            leaving = None if leaving is None or part is None else leaving + part
    return _ratio(entering, leaving)


def bisection(plan: Plan, position: int) -> Capacity:
    """Return what one half of a site's NICs can send to the other: half the narrowest layer."""
    capacities = [layer.capacity for layer in site_layers(plan, position)]
    known = [capacity for capacity in capacities if capacity is not None]
    return min(known) // 2 if len(known) == len(capacities) else None


def format_ratio(ratio: Fraction | None) -> str:
    """Write a narrowing as people do: `32:1`, `1:1`, `15:8`."""
    return "UNKNOWN" if ratio is None else f"{ratio.numerator}:{ratio.denominator}"


def _capacity(cables: int, figures: Figures) -> Capacity:
    return None if figures.rate == UNKNOWN_FIGURE else cables * figures.rate


def _ratio(below: Capacity, above: Capacity) -> Fraction | None:
    return None if below is None or not above else Fraction(below, above)
