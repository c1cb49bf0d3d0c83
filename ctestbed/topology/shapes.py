"""Records of a planned network: counts and figures, all exact integers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from ctestbed.core.yamlfile import YAMLPath
from ctestbed.topology.tiers import Tier

UNKNOWN_FIGURE: Final = -1

Cables: TypeAlias = tuple[Any, Any, Any, Any, Any]
"""Columns a, b, a_port, b_port and layer of peer cables; ports count from 1 above the NICs'."""


@dataclass(frozen=True, slots=True)
class Figures:
    """A cable's rate (bit/s), one-way delay (ps) and length (mm), -1 where unknown; its medium."""

    rate: int
    delay: int
    length: int
    medium: str | None = None


class PeerLayer(NamedTuple):
    """One class of cables between equals: what it is called, and how many there are."""

    name: str
    cables: int


class Wiring(Protocol):
    """How routers (or accelerators) without tiers are joined: counts first, arrays on demand."""

    @property
    def routers(self) -> int:
        """How many there are to join."""

    @property
    def degree(self) -> int:
        """Peer cables at the router that has most."""

    @property
    def layers(self) -> Sequence[PeerLayer]:
        """The classes of cables; their sum is what `cables` returns."""

    def cables(self) -> Cables:
        """Lay the cables out, in numpy."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The counts of one plane of one site.

    Tiers: 3 with cores, 2 with spines, 1 where leaves (or routers, joined by `wiring`) stand
    alone, 0 where accelerators are the routers. Without cores there is one pod, unless routers
    form groups. `rails` NICs of each host, one after another, are below different leaves.
    """

    tiers: int
    pods: int
    leaves_per_pod: int
    spines_per_pod: int
    ports_per_leaf: int
    parallel: int
    cores_per_spine: int
    rails: int = 1
    wiring: Wiring | None = None

    @property
    def leaves(self) -> int:
        """Leaves of the plane; routers of a direct network."""
        return self.pods * self.leaves_per_pod

    @property
    def spines(self) -> int:
        """Spines of the plane."""
        return self.pods * self.spines_per_pod

    @property
    def cores(self) -> int:
        """Cores of the plane."""
        return self.spines_per_pod * self.cores_per_spine

    @property
    def tops(self) -> int:
        """Switches of the highest tier."""
        return self.cores or self.spines or self.leaves

    @property
    def switches(self) -> int:
        """Switches of the plane."""
        return self.leaves + self.spines + self.cores

    @property
    def ports(self) -> int:
        """NIC ports of the plane, one cable each."""
        return self.leaves * self.ports_per_leaf

    @property
    def uplinks(self) -> int:
        """Cables between leaves and spines."""
        return self.leaves * self.spines_per_pod * self.parallel

    @property
    def core_links(self) -> int:
        """Cables between spines and cores."""
        return self.spines * self.cores_per_spine

    @property
    def peer_links(self) -> int:
        """Cables between routers, or accelerators, that are each other's equals."""
        return 0 if self.wiring is None else sum(layer.cables for layer in self.wiring.layers)

    @property
    def links(self) -> int:
        """All cables of the plane."""
        return self.ports + self.uplinks + self.core_links + self.peer_links

    @property
    def top_tier(self) -> str:
        """What its highest switches are called."""
        return "router" if self.wiring is not None else Tier(self.tiers).name.lower()


@dataclass(frozen=True, slots=True)
class TierModels:
    """The models of a plane's switches, by tier, where the file names them."""

    leaf: str | None = None
    spine: str | None = None
    core: str | None = None
    router: str | None = None


@dataclass(frozen=True, slots=True)
class PlanePlan:
    """One plane of a site: its shape, its switches' ports, its cables' figures."""

    shape: Shape
    radix: int | None
    host_cable: Figures
    spine_cable: Figures
    core_cable: Figures
    peer_cables: tuple[Figures, ...] = ()
    models: TierModels = TierModels()

    @property
    def names_models(self) -> bool:
        """Whether a model is named for the switches of every tier that it has."""
        return all(getattr(self.models, tier) is not None for tier in self.ports_used())

    def ports_used(self, trunks: int = 0) -> dict[str, int]:
        """Return how many ports a switch of each tier uses, with so many trunk cables on top."""
        shape = self.shape
        used: dict[str, int] = {}
        if shape.wiring is not None:
            used["router"] = shape.ports_per_leaf + shape.wiring.degree
        elif shape.leaves:
            used["leaf"] = shape.ports_per_leaf + shape.spines_per_pod * shape.parallel
        if shape.spines:
            used["spine"] = shape.leaves_per_pod * shape.parallel + shape.cores_per_spine
        if shape.cores:
            used["core"] = shape.pods
        if used:
            used[shape.top_tier] += trunks
        return used


@dataclass(frozen=True, slots=True)
class SupernodePlan:
    """The scale-up domains of a site: their size and, where it is laid out, their network.

    With `uppers` (per sub-plane) every host has `switches` of its own, one in each sub-plane.
    `cpus` are per host; `cpu_cabled` ones have cables to the switches. Figures are of one bundle.
    Memory is in bytes of one accelerator and one processor, -1 where unknown.
    """

    accelerators: int
    hosts: int
    count: int
    switches: int
    uppers: int
    cpus: int
    cpu_cabled: bool
    cable: Figures
    upper_cable: Figures
    cpu_cable: Figures
    memory: int
    cpu_memory: int

    @property
    def lowers(self) -> int:
        """First-tier switches of one domain."""
        return self.switches * (self.hosts if self.uppers else 1)

    @property
    def domain_switches(self) -> int:
        """All switches of one domain."""
        return self.lowers + self.switches * self.uppers

    @property
    def members(self) -> int:
        """Accelerators and cabled processors of one domain."""
        return self.accelerators + (self.hosts * self.cpus if self.cpu_cabled else 0)

    @property
    def domain_links(self) -> int:
        """All bundles of one domain."""
        return self.members * self.switches + self.lowers * self.uppers


@dataclass(frozen=True)
class SitePlan:
    """A site's planes, its hosts and domains, and where the file gives its fabric."""

    name: str
    path: YAMLPath
    kind: str
    planes: tuple[PlanePlan, ...]
    split: bool
    hosts: int
    accelerators_per_host: int
    nics_per_host: int
    supernode: SupernodePlan | None = None
    counts_only: str | None = None
    """Why there are counts and no graph, where that is so."""

    @property
    def shape(self) -> Shape:
        """The shape of the first plane, and of all where planes are alike."""
        return self.planes[0].shape

    @property
    def radix(self) -> int | None:
        """Ports of a switch in the first plane; None if not given."""
        return self.planes[0].radix

    @property
    def host_cable(self) -> Figures:
        """Figures of a NIC's cable in the first plane."""
        return self.planes[0].host_cable

    @property
    def spine_cable(self) -> Figures:
        """Figures of a leaf-spine cable in the first plane."""
        return self.planes[0].spine_cable

    @property
    def core_cable(self) -> Figures:
        """Figures of a spine-core cable in the first plane."""
        return self.planes[0].core_cable

    @property
    def alike(self) -> bool:
        """Whether all planes are the same."""
        return all(plane == self.planes[0] for plane in self.planes)

    @property
    def accelerators(self) -> int:
        """Accelerators of the site."""
        return self.hosts * self.accelerators_per_host

    @property
    def nics(self) -> int:
        """NICs of the site."""
        return self.hosts * self.nics_per_host

    @property
    def cpus(self) -> int:
        """Host processors that are members of a scale-up domain."""
        return 0 if self.supernode is None else self.hosts * self.supernode.cpus

    @cached_property
    def switches(self) -> int:
        """Network switches of all planes."""
        return sum(plane.shape.switches for plane in self.planes)

    @cached_property
    def links(self) -> int:
        """Network cables of all planes."""
        return sum(plane.shape.links for plane in self.planes)

    @property
    def scale_up_switches(self) -> int:
        """Scale-up switches of all domains."""
        domain = self.supernode
        return 0 if domain is None else domain.count * domain.domain_switches

    @property
    def scale_up_links(self) -> int:
        """Scale-up bundles of all domains."""
        return 0 if self.supernode is None else self.supernode.count * self.supernode.domain_links

    def planes_alike(self) -> list[tuple[PlanePlan, list[int]]]:
        """Return the different plans of planes and, for each, the planes that follow it."""
        groups: list[tuple[PlanePlan, list[int]]] = []
        for number, plane in enumerate(self.planes):
            for known, numbers in groups:
                if known == plane:
                    numbers.append(number)
                    break
            else:
                groups.append((plane, [number]))
        return groups


@dataclass(frozen=True, slots=True)
class TrunkPlan:
    """A trunk between two sites (by position): `links` cables per plane and pair of tops.

    `protection` holds the standby route's figures; `amplifiers` count those on the first route.
    """

    site_a: int
    site_b: int
    tops: int
    links: int
    figures: Figures
    protection: Figures | None = None
    amplifiers: int = 0
    capacity: int | None = None


@dataclass(frozen=True)
class Plan:
    """Everything the builder lays out."""

    name: str
    sites: tuple[SitePlan, ...]
    trunks: tuple[TrunkPlan, ...]
    planes: int
    split: bool
    anonymous: bool

    @property
    def hosts(self) -> int:
        """Hosts of all sites."""
        return sum(site.hosts for site in self.sites)

    @property
    def accelerators(self) -> int:
        """Accelerators of all sites."""
        return sum(site.accelerators for site in self.sites)

    @property
    def nics(self) -> int:
        """NICs of all sites."""
        return sum(site.nics for site in self.sites)

    @property
    def cpus(self) -> int:
        """Host processors in scale-up domains of all sites."""
        return sum(site.cpus for site in self.sites)

    @property
    def switches(self) -> int:
        """Network switches of all sites and planes."""
        return sum(site.switches for site in self.sites)

    @property
    def scale_up_switches(self) -> int:
        """Scale-up switches of all sites."""
        return sum(site.scale_up_switches for site in self.sites)

    @property
    def trunk_links(self) -> int:
        """Cables of all trunks."""
        return self.planes * sum(trunk.tops * trunk.links for trunk in self.trunks)

    @property
    def scale_up_links(self) -> int:
        """Scale-up bundles of all sites."""
        return sum(site.scale_up_links for site in self.sites)

    @property
    def network_links(self) -> int:
        """Network cables, trunks included, scale-up bundles not."""
        return sum(site.links for site in self.sites) + self.trunk_links

    @property
    def links(self) -> int:
        """All links of the arrays."""
        return self.network_links + self.scale_up_links

    @property
    def nodes(self) -> int:
        """All nodes: accelerators, hosts, NICs, switches, scale-up switches, processors."""
        members = self.accelerators + self.hosts + self.nics + self.cpus
        return members + self.switches + self.scale_up_switches

    @property
    def counts_only(self) -> str | None:
        """Why no arrays can be laid out, where that is so."""
        return next((site.counts_only for site in self.sites if site.counts_only), None)


def trunk_cables(plan: Plan, position: int) -> int:
    """Return how many trunk cables a top switch of a site has in each plane, at most."""
    return sum(trunk.links for trunk in plan.trunks if position in (trunk.site_a, trunk.site_b))


def ports_used(plan: Plan, position: int) -> dict[str, int]:
    """Return how many ports a switch of each tier of a site uses, its trunks included."""
    return plan.sites[position].planes[0].ports_used(trunk_cables(plan, position))
