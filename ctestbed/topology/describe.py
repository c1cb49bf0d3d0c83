"""A testbed's network in plain data: what `topology show` tells and draws."""

from typing import Literal, TypeAlias

from typing_extensions import TypedDict

from ctestbed.core.result import UNKNOWN
from ctestbed.core.spec import Unknown
from ctestbed.topology.capacity import (
    Capacity,
    bisection,
    format_ratio,
    site_layers,
    trunk_narrowing,
)
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.shapes import UNKNOWN_FIGURE, Figures, Plan, ports_used

Quantity: TypeAlias = int | Literal["UNKNOWN"]
"""Exact, in base units (bit/s, ps, mm, bytes), or UNKNOWN."""


TierName: TypeAlias = Literal["leaf", "spine", "core"]


class Counts(TypedDict):
    """How many there are of each, over the whole testbed; links are network cables."""

    site: int
    accelerator: int
    host: int
    nic: int
    switch: int
    link: int


class HostData(TypedDict):
    """What each host holds."""

    accelerators: int
    nics: int


class PlanesData(TypedDict):
    """How many planes, and how hosts reach them."""

    count: int
    form: Literal["nic-per-plane", "nic-split"]


class SupernodeData(TypedDict):
    """Scale-up domains: accelerators in each, how many, and each accelerator's rate and hop."""

    accelerators: int
    count: int
    scale_up_rate: Quantity
    scale_up_delay: Quantity


class TierData(TypedDict):
    """The switches of one tier of a plane, and the ports each of them uses, of how many."""

    tier: TierName
    switches: int
    ports_used: int
    radix: int | None


class LayerData(TypedDict):
    """One layer of cables of a site, over all planes; capacity is one way."""

    layer: str
    cables: int
    rate: Quantity
    delay: Quantity
    capacity: Quantity
    narrowing: str


class SiteData(TypedDict):
    """A site: its hosts, one of its planes, and its cables."""

    name: str
    accelerators: int
    hosts: int
    nics: int
    pods: int
    ports_per_leaf: int
    parallel: int
    tiers: list[TierData]
    layers: list[LayerData]
    bisection: Quantity
    trunk_narrowing: str | None


class LosslessData(TypedDict):
    """Lossless classes of a trunk's ports, and the buffer kept for each."""

    classes: int
    headroom: Quantity


class TrunkData(TypedDict):
    """A trunk: the cables between two sites, over all planes."""

    between: list[str]
    cables: int
    cables_per_switch: int
    rate: Quantity
    delay: Quantity
    length: Quantity
    capacity: Quantity
    lossless: LosslessData | None


class ShowData(TypedDict):
    """Data of `topology show`."""

    testbed: str
    title: str
    counts: Counts
    host: HostData
    planes: PlanesData
    supernode: SupernodeData | None
    sites: list[SiteData]
    trunks: list[TrunkData]
    sources: list[str]
    assumptions: list[str]


def describe(loaded: LoadedTestbed, plan: Plan) -> ShowData:
    """Return the description of a planned testbed."""
    testbed = loaded.testbed
    return {
        "testbed": testbed.name,
        "title": testbed.title or "",
        "counts": counts_of(plan),
        "host": {"accelerators": plan.accelerators_per_host, "nics": plan.nics_per_host},
        "planes": {"count": plan.planes, "form": testbed.planes.form},
        "supernode": _supernode(loaded, plan),
        "sites": [_site(plan, position) for position in range(len(plan.sites))],
        "trunks": [_trunk(loaded, plan, position) for position in range(len(plan.trunks))],
        "sources": list(testbed.sources),
        "assumptions": list(testbed.assumptions),
    }


def counts_of(plan: Plan) -> Counts:
    """Return how many there are of each kind."""
    return {
        "site": len(plan.sites),
        "accelerator": plan.hosts * plan.accelerators_per_host,
        "host": plan.hosts,
        "nic": plan.hosts * plan.nics_per_host,
        "switch": plan.switches,
        "link": plan.links,
    }


def _supernode(loaded: LoadedTestbed, plan: Plan) -> SupernodeData | None:
    supernode = loaded.testbed.supernode
    if supernode is None:
        return None
    return {
        "accelerators": supernode.accelerators,
        "count": plan.hosts * plan.accelerators_per_host // supernode.accelerators,
        "scale_up_rate": _stated(supernode.scale_up.rate),
        "scale_up_delay": _stated(supernode.scale_up.delay),
    }


def _site(plan: Plan, position: int) -> SiteData:
    site = plan.sites[position]
    shape, used = site.shape, ports_used(plan, position)
    has_trunk = any(position in (trunk.site_a, trunk.site_b) for trunk in plan.trunks)
    switches: dict[TierName, int] = {"leaf": shape.leaves, "spine": shape.spines}
    if shape.cores:
        switches["core"] = shape.cores
    return {
        "name": site.name,
        "accelerators": site.hosts * plan.accelerators_per_host,
        "hosts": site.hosts,
        "nics": site.hosts * plan.nics_per_host,
        "pods": shape.pods,
        "ports_per_leaf": shape.ports_per_leaf,
        "parallel": shape.parallel,
        "tiers": [
            {"tier": tier, "switches": count, "ports_used": used[tier], "radix": site.radix}
            for tier, count in switches.items()
        ],
        "layers": [
            {
                "layer": layer.name,
                "cables": layer.cables,
                "rate": _figure(layer.figures.rate),
                "delay": _figure(layer.figures.delay),
                "capacity": _capacity(layer.capacity),
                "narrowing": format_ratio(layer.narrowing),
            }
            for layer in site_layers(plan, position)
        ],
        "bisection": _capacity(bisection(plan, position)),
        "trunk_narrowing": format_ratio(trunk_narrowing(plan, position)) if has_trunk else None,
    }


def _trunk(loaded: LoadedTestbed, plan: Plan, position: int) -> TrunkData:
    planned, spec = plan.trunks[position], loaded.testbed.trunks[position]
    figures: Figures = planned.figures
    cables = planned.tops * planned.links * plan.planes
    lossless: LosslessData | None = None
    if spec.lossless is not None:
        lossless = {
            "classes": spec.lossless.classes,
            "headroom": _stated(spec.lossless.headroom),
        }
    return {
        "between": list(spec.between),
        "cables": cables,
        "cables_per_switch": planned.links,
        "rate": _figure(figures.rate),
        "delay": _figure(figures.delay),
        "length": _figure(figures.length),
        "capacity": _capacity(None if figures.rate < 0 else cables * figures.rate),
        "lossless": lossless,
    }


def _stated(value: int | Unknown) -> Quantity:
    return UNKNOWN if isinstance(value, Unknown) else value


def _figure(value: int) -> Quantity:
    return UNKNOWN if value == UNKNOWN_FIGURE else value


def _capacity(value: Capacity) -> Quantity:
    return UNKNOWN if value is None else value
