"""Oversubscription, tier by tier: what comes from below over what can go on."""

from collections.abc import Iterator

from typing_extensions import TypedDict

from ctestbed.core.result import UNKNOWN
from ctestbed.topology.capacity import (
    Capacity,
    format_narrowing,
    format_ratio,
    site_layers,
    trunk_narrowing,
)
from ctestbed.topology.describe import Quantity
from ctestbed.topology.shapes import UNKNOWN_FIGURE, Plan


class NarrowingData(TypedDict):
    """A layer of cables of a site, over all planes or those named, or all of its trunks.

    `capacity` is one way, in bit/s. `narrowing` is such as `32:1`, UNKNOWN where a rate is, and a
    dash where the layer joins equals. `site` is null for the only site without a name.
    """

    site: str | None
    layer: str
    planes: list[int] | None
    cables: int
    capacity: Quantity
    narrowing: str


def narrowings(plan: Plan) -> Iterator[NarrowingData]:
    """Yield every site's layers from the NICs up, then its trunks."""
    for position, site in enumerate(plan.sites):
        name = None if plan.anonymous else site.name
        for layer in site_layers(plan, position):
            yield {
                "site": name,
                "layer": layer.name,
                "planes": None if layer.planes is None else list(layer.planes),
                "cables": layer.cables,
                "capacity": _quantity(layer.capacity),
                "narrowing": format_narrowing(layer),
            }
        trunks = [trunk for trunk in plan.trunks if position in (trunk.site_a, trunk.site_b)]
        if trunks:
            cables = [trunk.tops * trunk.links * plan.planes for trunk in trunks]
            rates = [trunk.figures.rate for trunk in trunks]
            known = UNKNOWN_FIGURE not in rates
            total = sum(count * rate for count, rate in zip(cables, rates, strict=True))
            yield {
                "site": name,
                "layer": "trunk",
                "planes": None,
                "cables": sum(cables),
                "capacity": total if known else UNKNOWN,
                "narrowing": format_ratio(trunk_narrowing(plan, position)),
            }


def _quantity(capacity: Capacity) -> Quantity:
    return UNKNOWN if capacity is None else capacity
