"""Every run of cables of a planned network, with the devices and ports at both of its ends."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from ctestbed.core.yamlfile import YAMLPath
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.parts import Medium
from ctestbed.topology.shapes import Figures, Plan, PlanePlan, SitePlan
from ctestbed.topology.tiers import LEAF_SPINE, NIC_LEAF, NIC_ROUTER, SPINE_CORE

TRUNK: Final = "trunk"


@dataclass(frozen=True, slots=True)
class End:
    """One end of a run: what kind of device, how many of them, and the run's ports on each.

    `model` is that of the switches, where they are any and are named; `site` is given of trunks.
    With `ports` None not all devices have as many.
    """

    tier: str
    devices: int
    ports: int | None
    model: str | None = None
    site: str | None = None

    @property
    def is_switch(self) -> bool:
        """Whether switches stand at this end."""
        return self.tier in {"leaf", "spine", "core", "router"}


@dataclass(frozen=True, slots=True)
class Run:
    """All cables of one layer of a site (over planes that are alike), or of one trunk.

    Between equals, `lower` stands for both ends of all cables. `path` is where the file gives
    their figures, or would.
    """

    site: str
    planes: tuple[int, ...] | None
    layer: str
    path: YAMLPath
    links: int
    figures: Figures
    lower: End
    upper: End | None

    @property
    def is_trunk(self) -> bool:
        """Whether it leaves its site."""
        return self.layer == TRUNK

    @property
    def ends(self) -> tuple[End, ...]:
        """Both ends, the lower first; one, between equals."""
        return (self.lower,) if self.upper is None else (self.lower, self.upper)

    def modules(self, end: End, breakout: int) -> int:
        """Return the whole ports that the run takes at one end, `breakout` cables in each."""
        if end.ports is None:
            return -(-2 * self.links // breakout)
        return end.devices * -(-end.ports // breakout)


def lanes_of(loaded: LoadedTestbed) -> int:
    """Return into how many a whole port is cut by planes of split NICs."""
    planes = loaded.testbed.planes
    return planes.count if planes.form == "nic-split" else 1


def breakout_of(medium: Medium | None, run: Run, lanes: int) -> int:
    """Return how many of a run's cables one whole port carries."""
    if medium is not None and medium.breakout is not None:
        return medium.breakout
    return 1 if run.is_trunk else lanes


def medium_of(loaded: LoadedTestbed, run: Run) -> Medium | None:
    """Return what a run's cables are made of, where that is said."""
    name = run.figures.medium
    return None if name is None else loaded.testbed.parts.media[name]


def nic_medium_of(loaded: LoadedTestbed, run: Run) -> tuple[str | None, Medium | None]:
    """Return what stands in NICs at the lower end of a run, by name, where that is said."""
    medium = medium_of(loaded, run)
    if medium is None or medium.in_nics is None:
        return run.figures.medium, medium
    return medium.in_nics, loaded.testbed.parts.media[medium.in_nics]


def all_runs(plan: Plan) -> Iterator[Run]:
    """Yield the runs of every site from the NICs up, then the trunks."""
    for site in plan.sites:
        yield from site_runs(site)
    yield from trunk_runs(plan)


def site_runs(site: SitePlan) -> Iterator[Run]:
    """Yield the runs of a site, trunks apart."""
    for plane, numbers in site.planes_alike():
        named = None if site.alike else tuple(numbers)
        yield from _plane_runs(site, plane, len(numbers), named)


def _plane_runs(
    site: SitePlan, plane: PlanePlan, count: int, named: tuple[int, ...] | None
) -> Iterator[Run]:
    shape, models = plane.shape, plane.models
    leaves, spines, cores = shape.leaves * count, shape.spines * count, shape.cores * count

    def run(layer: str, section: str, links: int, figures: Figures, lower: End, upper: End) -> Run:
        path = (*site.path, section)
        return Run(site.name, named, layer, path, links * count, figures, lower, upper)

    if shape.ports:
        tier = "leaf" if shape.wiring is None else "router"
        per_nic = shape.ports * count // site.nics if site.split else 1
        nics = End("NIC", shape.ports * count // per_nic, per_nic)
        upper = End(tier, leaves, shape.ports_per_leaf, getattr(models, tier))
        layer = NIC_LEAF if shape.wiring is None else NIC_ROUTER
        yield run(layer, "host_links", shape.ports, plane.host_cable, nics, upper)
    if shape.uplinks:
        up, down = shape.spines_per_pod * shape.parallel, shape.leaves_per_pod * shape.parallel
        lower = End("leaf", leaves, up, models.leaf)
        upper = End("spine", spines, down, models.spine)
        yield run(LEAF_SPINE, "spine_links", shape.uplinks, plane.spine_cable, lower, upper)
    if shape.core_links:
        lower = End("spine", spines, shape.cores_per_spine, models.spine)
        upper = End("core", cores, shape.pods, models.core)
        yield run(SPINE_CORE, "core_links", shape.core_links, plane.core_cable, lower, upper)
    yield from _peer_runs(site, plane, count, named)


def _peer_runs(
    site: SitePlan, plane: PlanePlan, count: int, named: tuple[int, ...] | None
) -> Iterator[Run]:
    wiring = plane.shape.wiring
    if wiring is None:
        return
    tier, routers = ("router" if plane.shape.switches else "accelerator"), wiring.routers * count
    for position, layer in enumerate(wiring.layers):
        links, figures = layer.cables * count, plane.peer_cables[position]
        ports = 2 * links // routers if 2 * links % routers == 0 else None
        end = End(tier, routers, ports, plane.models.router)
        section: YAMLPath = ("dim_links", position)
        if site.kind in _PEER_SECTIONS:
            section = (_PEER_SECTIONS[site.kind][position],)
        if links:
            path = (*site.path, *section)
            yield Run(site.name, named, layer.name, path, links, figures, end, None)


_PEER_SECTIONS: Final = {
    "slim-fly": ("router_links", "router_links"),
    "dragonfly": ("local_links", "global_links"),
}


def trunk_runs(plan: Plan) -> Iterator[Run]:
    """Yield a run for each trunk; its lower end is at the site named first."""
    for position, trunk in enumerate(plan.trunks):
        sites = [plan.sites[site] for site in (trunk.site_a, trunk.site_b)]
        lower, upper = (_trunk_end(site, trunk.tops * plan.planes, trunk.links) for site in sites)
        names = " - ".join(site.name for site in sites)
        links = trunk.tops * trunk.links * plan.planes
        path: YAMLPath = ("trunks", position)
        yield Run(names, None, TRUNK, path, links, trunk.figures, lower, upper)


def _trunk_end(site: SitePlan, switches: int, links: int) -> End:
    plane = site.planes[0]
    tier = plane.shape.top_tier
    return End(tier, switches, links, getattr(plane.models, tier), site.name)


@dataclass(slots=True)
class PortUse:
    """Whole ports that a switch of one tier uses, its model, whether a medium breaks any up."""

    model: str | None
    used: int = 0
    broken_out: bool = False

    def take(self, run: Run, end: End, medium: Medium | None, lanes: int) -> None:
        """Add what a run takes at one end."""
        each = end.ports if end.ports is not None else -(-2 * run.links // end.devices)
        self.used += -(-each // breakout_of(medium, run, lanes))
        self.broken_out |= medium is not None and medium.breakout is not None


PortKey: TypeAlias = tuple[int, tuple[int, ...] | None, str]
"""A site, its planes where they differ, and a tier of switches."""


def whole_ports(loaded: LoadedTestbed, plan: Plan) -> dict[PortKey, PortUse]:
    """Return the whole ports that each kind of switch uses; a trunk's stand on the top tiers."""
    lanes, found = lanes_of(loaded), dict[PortKey, PortUse]()
    for position, site in enumerate(plan.sites):
        for run in site_runs(site):
            for end in run.ends:
                if end.is_switch:
                    use = found.setdefault((position, run.planes, end.tier), PortUse(end.model))
                    use.take(run, end, medium_of(loaded, run), lanes)
    for run in trunk_runs(plan):
        trunk = plan.trunks[int(run.path[1])]
        for end, at in zip(run.ends, (trunk.site_a, trunk.site_b), strict=True):
            for (position, _, tier), use in found.items():
                if (position, tier) == (at, end.tier):
                    use.take(run, end, medium_of(loaded, run), lanes)
    return found
