"""Ports, headroom and buffers in plain data: what `topology validate` tells of them."""

from typing import Literal, TypeAlias

from typing_extensions import TypedDict

from ctestbed.core.headroom import (
    LongHaulLink,
    distance_carried,
    headroom_variants,
)
from ctestbed.core.result import UNKNOWN
from ctestbed.core.spec import Unknown
from ctestbed.topology.buffers import Need, Outcome, needs, switch_loads
from ctestbed.topology.describe import Quantity
from ctestbed.topology.ends import everywhere
from ctestbed.topology.joints import Joint, Value
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.shapes import UNKNOWN_FIGURE, Plan

Stated: TypeAlias = int | Literal["UNKNOWN"] | None
"""Exact, in base units, or UNKNOWN; null where the file does not say."""


class EndData(TypedDict):
    """The ports at one end of a class of cables: rate in bit/s, largest frame in bytes."""

    what: str
    rate: Stated
    mtu: Stated


class EndsData(TypedDict):
    """A class of cables and its two ends; `site` is null for the only site, and for trunks."""

    site: str | None
    cables: str
    planes: list[int] | None
    rate: Quantity
    ends: list[EndData]


class SizingData(TypedDict):
    """One way to size headroom, in bytes per port and class; its source."""

    name: str
    size: Quantity
    source: str


class HeadroomNeedData(TypedDict):
    """What lossless ports of a class of cables keep and need per class, in bytes.

    `carries` is the one-way delay in ps that what they keep is enough for. `needed_standby` is of
    the protection route, null without one. The variants are of the longer route, with frames of
    `frame` bytes: SONiC's default of 9,100 where the file gives no `mtu`.
    """

    site: str | None
    cables: str
    planes: list[int] | None
    rate: Quantity
    delay: Quantity
    length: Quantity
    classes: int
    headroom: Quantity
    needed: Quantity
    needed_standby: Stated
    carries: Quantity
    outcome: Outcome
    frame: Quantity
    variants: list[SizingData]


class BufferData(TypedDict):
    """Switches with lossless ports: what these keep together, against the packet buffer.

    `assumed` says that the closed form stands in for a headroom that is unknown.
    """

    site: str | None
    switch: str
    planes: list[int] | None
    lossless_ports: int
    headroom: Quantity
    assumed: bool
    buffer: Stated


class PortsData(TypedDict):
    """What a testbed says of its ports, and what follows from it."""

    ends: list[EndsData]
    headroom: list[HeadroomNeedData]
    buffers: list[BufferData]


def ports_data(loaded: LoadedTestbed, plan: Plan | None) -> PortsData:
    """Return what a testbed says of its ports; nothing where it says none."""
    if plan is None:
        return {"ends": [], "headroom": [], "buffers": []}
    names = [None if plan.anonymous else site.name for site in plan.sites]
    return {
        "ends": [
            {
                "site": None if site is None else names[site],
                "cables": joint.name,
                "planes": _listed(joint.planes),
                "rate": _quantity(joint.rate),
                "ends": [
                    {
                        "what": end.what,
                        "rate": _stated(end.rate.value),
                        "mtu": _stated(end.mtu.value),
                    }
                    for end in (joint.lower, joint.upper)
                ],
            }
            for site, joints in everywhere(loaded, plan)
            for joint in joints
            if _says(joint)
        ],
        "headroom": [
            _need(None if site is None else names[site], need) for site, need in needs(loaded, plan)
        ],
        "buffers": [
            {
                "site": names[site],
                "switch": load.what,
                "planes": _listed(load.planes),
                "lossless_ports": load.ports,
                "headroom": _quantity(load.reserved),
                "assumed": load.assumed,
                "buffer": _stated(load.buffer.value),
            }
            for site, load in switch_loads(loaded, plan)
        ],
    }


def _says(joint: Joint) -> bool:
    ends = (joint.lower, joint.upper)
    return any(said.value is not None for end in ends for said in (end.rate, end.mtu))


def _need(site: str | None, need: Need) -> HeadroomNeedData:
    figures, standby = need.joint.figures, need.joint.standby
    known = figures.rate != UNKNOWN_FIGURE and figures.rate > 0
    kept = need.headroom
    variants = []
    if need.longest is not None:
        route, mtu = need.route, need.mtu if isinstance(need.mtu, int) else UNKNOWN_FIGURE
        link = LongHaulLink(route.rate, route.delay, route.length, mtu)
        variants = headroom_variants(link)
    return {
        "site": site,
        "cables": need.joint.name,
        "planes": _listed(need.joint.planes),
        "rate": _figure(figures.rate),
        "delay": _figure(figures.delay),
        "length": _figure(figures.length),
        "classes": need.lossless.classes,
        "headroom": _quantity(kept),
        "needed": _quantity(need.working),
        "needed_standby": None if standby is None else _quantity(need.standby),
        "carries": distance_carried(kept, figures.rate) if known and kept is not None else UNKNOWN,
        "outcome": need.outcome,
        "frame": _quantity(need.mtu),
        "variants": [
            {"name": each.name, "size": _quantity(each.size), "source": each.source}
            for each in variants
        ],
    }


def _listed(planes: tuple[int, ...] | None) -> list[int] | None:
    return None if planes is None else list(planes)


def _stated(value: Value) -> Stated:
    return UNKNOWN if isinstance(value, Unknown) else value


def _quantity(value: Value) -> Quantity:
    return value if isinstance(value, int) else UNKNOWN


def _figure(value: int) -> Quantity:
    return UNKNOWN if value == UNKNOWN_FIGURE else value
