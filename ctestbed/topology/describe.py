"""A testbed's network in plain data: what `topology show` tells and draws."""

from typing import Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from ctestbed.core.result import UNKNOWN
from ctestbed.core.spec import Unknown
from ctestbed.topology.analysis.closed import closed_form
from ctestbed.topology.analysis.data import Spread
from ctestbed.topology.capacity import (
    Capacity,
    bisection,
    format_narrowing,
    format_ratio,
    site_layers,
    trunk_narrowing,
)
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.picture.model import PictureData
from ctestbed.topology.shapes import UNKNOWN_FIGURE, Plan, SitePlan, trunk_cables

Quantity: TypeAlias = int | Literal["UNKNOWN"]
"""Exact, in base units (bit/s, ps, mm, bytes), or UNKNOWN."""


TierName: TypeAlias = Literal["leaf", "spine", "core", "router"]


class Counts(TypedDict):
    """How many there are of each, over the whole testbed; links are network cables.

    What sits inside supernodes is counted apart: their switches, bundles and host processors.
    """

    site: int
    accelerator: int
    host: int
    nic: int
    switch: int
    link: int
    scale_up_switch: int
    scale_up_link: int
    cpu: int


class HostData(TypedDict):
    """What each host holds."""

    accelerators: int
    nics: int


class PlanesData(TypedDict):
    """How many planes, and how hosts reach them."""

    count: int
    form: Literal["nic-per-plane", "nic-split"]


class SupernodeData(TypedDict):
    """Scale-up domains: accelerators in each, how many, and each accelerator's rate and hop.

    `switches` and `upper_switches` are of one domain, 0 where its network is not laid out.
    `pooled_memory` is what all members of one domain hold, in bytes.
    """

    site: str
    accelerators: int
    count: int
    scale_up_rate: Quantity
    scale_up_delay: Quantity
    switches: int
    upper_switches: int
    cpus: int
    memory: Quantity
    cpu_memory: Quantity
    pooled_memory: Quantity


class TierData(TypedDict):
    """The switches of one tier of a plane, and the ports each of them uses, of how many.

    `planes` names those it stands for, where planes of the site differ.
    """

    tier: TierName
    switches: int
    ports_used: int
    radix: int | None
    planes: list[int] | None


class LayerData(TypedDict):
    """One layer of cables of a site, over all planes, or over those named; capacity is one way."""

    layer: str
    planes: list[int] | None
    cables: int
    rate: Quantity
    delay: Quantity
    capacity: Quantity
    narrowing: str


class PathsData(TypedDict):
    """Between leaves of one plane, by closed form; null where only `validate` tells, by search.

    `planes` names those it is of, where planes of the site differ.
    """

    planes: list[int] | None
    diameter: int
    mean_hops: float | None
    fan_out: int | None
    shortest_paths: Spread | None
    disjoint_paths: Spread | None


class SiteData(TypedDict):
    """A site: its hosts, one of its planes, and its cables."""

    name: str
    kind: str
    vendor: str | None
    accelerators: int
    hosts: int
    nics: int
    host: HostData
    planes_differ: bool
    pods: int
    ports_per_leaf: int
    parallel: int
    tiers: list[TierData]
    layers: list[LayerData]
    paths: list[PathsData]
    bisection: Quantity
    trunk_narrowing: str | None


class LosslessData(TypedDict):
    """Lossless classes of a trunk's ports, and the buffer kept for each."""

    classes: int
    headroom: Quantity


class ProtectionData(TypedDict):
    """The standby route of a trunk: one-way delay and length."""

    delay: Quantity
    length: Quantity


class TrunkData(TypedDict):
    """A trunk: the cables between two sites, over all planes."""

    between: list[str]
    cables: int
    cables_per_switch: int
    rate: Quantity
    delay: Quantity
    length: Quantity
    capacity: Quantity
    amplifiers: int
    protection: ProtectionData | None
    lossless: LosslessData | None


class ShowData(TypedDict):
    """Data of `topology show`."""

    testbed: str
    title: str
    counts: Counts
    host: HostData
    planes: PlanesData
    supernodes: list[SupernodeData]
    counts_only: str | None
    sites: list[SiteData]
    trunks: list[TrunkData]
    sources: list[str]
    assumptions: list[str]
    picture: NotRequired[PictureData]


def describe(loaded: LoadedTestbed, plan: Plan) -> ShowData:
    """Return the description of a planned testbed."""
    testbed = loaded.testbed
    return {
        "testbed": testbed.name,
        "title": testbed.title or "",
        "counts": counts_of(plan),
        "host": _host(plan.sites[0]),
        "planes": {"count": plan.planes, "form": "nic-split" if plan.split else "nic-per-plane"},
        "supernodes": _supernodes(loaded, plan),
        "counts_only": plan.counts_only,
        "sites": [_site(loaded, plan, position) for position in range(len(plan.sites))],
        "trunks": [_trunk(loaded, plan, position) for position in range(len(plan.trunks))],
        "sources": list(testbed.sources),
        "assumptions": list(testbed.assumptions),
    }


def counts_of(plan: Plan) -> Counts:
    """Return how many there are of each kind."""
    return {
        "site": len(plan.sites),
        "accelerator": plan.accelerators,
        "host": plan.hosts,
        "nic": plan.nics,
        "switch": plan.switches,
        "link": plan.network_links,
        "scale_up_switch": plan.scale_up_switches,
        "scale_up_link": plan.scale_up_links,
        "cpu": plan.cpus,
    }


def _host(site: SitePlan) -> HostData:
    return {"accelerators": site.accelerators_per_host, "nics": site.nics_per_host}


def _supernodes(loaded: LoadedTestbed, plan: Plan) -> list[SupernodeData]:
    """Describe the scale-up domains of each site that has them; alike sites say it once."""
    described: list[SupernodeData] = []
    for position, site in enumerate(plan.sites):
        spec, domain = loaded.testbed.supernode_at(position), site.supernode
        if spec is None or domain is None:
            continue
        pooled: int | None = domain.accelerators * domain.memory if domain.memory >= 0 else None
        if domain.cpus and pooled is not None:
            processors = domain.hosts * domain.cpus * domain.cpu_memory
            pooled = pooled + processors if domain.cpu_memory >= 0 else None
        described.append(
            {
                "site": site.name,
                "accelerators": domain.accelerators,
                "count": domain.count,
                "scale_up_rate": _stated(spec.scale_up.rate),
                "scale_up_delay": _stated(spec.scale_up.delay),
                "switches": domain.lowers,
                "upper_switches": domain.switches * domain.uppers,
                "cpus": domain.hosts * domain.cpus,
                "memory": _figure(domain.memory),
                "cpu_memory": _figure(domain.cpu_memory),
                "pooled_memory": _capacity(pooled),
            }
        )
    return described


def _site(loaded: LoadedTestbed, plan: Plan, position: int) -> SiteData:
    site = plan.sites[position]
    shape = site.shape
    has_trunk = any(position in (trunk.site_a, trunk.site_b) for trunk in plan.trunks)
    return {
        "name": site.name,
        "kind": site.kind,
        "vendor": _vendor(loaded, position),
        "accelerators": site.accelerators,
        "hosts": site.hosts,
        "nics": site.nics,
        "host": _host(site),
        "planes_differ": not site.alike,
        "pods": shape.pods,
        "ports_per_leaf": shape.ports_per_leaf,
        "parallel": shape.parallel,
        "tiers": _tiers(plan, position),
        "layers": [
            {
                "layer": layer.name,
                "planes": None if layer.planes is None else list(layer.planes),
                "cables": layer.cables,
                "rate": _figure(layer.figures.rate),
                "delay": _figure(layer.figures.delay),
                "capacity": _capacity(layer.capacity),
                "narrowing": format_narrowing(layer),
            }
            for layer in site_layers(plan, position)
        ],
        "paths": _paths(site),
        "bisection": _capacity(bisection(plan, position)),
        "trunk_narrowing": format_ratio(trunk_narrowing(plan, position)) if has_trunk else None,
    }


def _paths(site: SitePlan) -> list[PathsData]:
    paths: list[PathsData] = []
    for plane, numbers in site.planes_alike():
        closed = closed_form(plane)
        if closed is not None:
            paths.append(
                {
                    "planes": None if site.alike else numbers,
                    "diameter": closed.diameter,
                    "mean_hops": closed.mean,
                    "fan_out": closed.fan_out,
                    "shortest_paths": closed.shortest,
                    "disjoint_paths": closed.disjoint,
                }
            )
    return paths


def _vendor(loaded: LoadedTestbed, position: int) -> str | None:
    testbed = loaded.testbed
    own = testbed.sites[position].vendor if testbed.sites else None
    return own or testbed.fabric_at(position).vendor


def _tiers(plan: Plan, position: int) -> list[TierData]:
    site, trunks = plan.sites[position], trunk_cables(plan, position)
    tiers: list[TierData] = []
    for plane, numbers in site.planes_alike():
        shape, used = plane.shape, plane.ports_used(trunks)
        lowest: TierName = "leaf" if shape.wiring is None else "router"
        switches: dict[TierName, int] = {
            lowest: shape.leaves,
            "spine": shape.spines,
            "core": shape.cores,
        }
        tiers += [
            {
                "tier": tier,
                "switches": count,
                "ports_used": used[tier],
                "radix": plane.radix,
                "planes": None if site.alike else numbers,
            }
            for tier, count in switches.items()
            if count
        ]
    return tiers


def _trunk(loaded: LoadedTestbed, plan: Plan, position: int) -> TrunkData:
    planned, spec = plan.trunks[position], loaded.testbed.trunks[position]
    figures, standby = planned.figures, planned.protection
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
        "amplifiers": planned.amplifiers,
        "protection": None
        if standby is None
        else {"delay": _figure(standby.delay), "length": _figure(standby.length)},
        "lossless": lossless,
    }


def _stated(value: int | Unknown) -> Quantity:
    return UNKNOWN if isinstance(value, Unknown) else value


def _figure(value: int) -> Quantity:
    return UNKNOWN if value == UNKNOWN_FIGURE else value


def _capacity(value: Capacity) -> Quantity:
    return UNKNOWN if value is None else value
