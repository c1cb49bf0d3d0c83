"""Records of a planned network: counts and figures, all exact integers."""

from dataclasses import dataclass
from typing import Final

from ctestbed.core.yamlfile import YAMLPath

UNKNOWN_FIGURE: Final = -1


@dataclass(frozen=True, slots=True)
class Figures:
    """A cable's rate (bit/s), one-way delay (ps) and length (mm); -1 where unknown."""

    rate: int
    delay: int
    length: int


@dataclass(frozen=True, slots=True)
class Shape:
    """The counts of one plane of one site. With two tiers there is one pod and no core."""

    tiers: int
    pods: int
    leaves_per_pod: int
    spines_per_pod: int
    ports_per_leaf: int
    parallel: int
    cores_per_spine: int

    @property
    def leaves(self) -> int:
        """Leaves of the plane."""
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
        return self.cores or self.spines

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
    def links(self) -> int:
        """All cables of the plane."""
        return self.ports + self.uplinks + self.core_links


@dataclass(frozen=True, slots=True)
class SitePlan:
    """A site's shape, its hosts, its cables' figures, and where the file gives its fabric."""

    name: str
    path: YAMLPath
    shape: Shape
    hosts: int
    radix: int | None
    host_cable: Figures
    spine_cable: Figures
    core_cable: Figures


@dataclass(frozen=True, slots=True)
class TrunkPlan:
    """A trunk between two sites (by position): `links` cables per plane and pair of tops."""

    site_a: int
    site_b: int
    tops: int
    links: int
    figures: Figures


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything the builder lays out."""

    name: str
    sites: tuple[SitePlan, ...]
    trunks: tuple[TrunkPlan, ...]
    planes: int
    split: bool
    accelerators_per_host: int
    nics_per_host: int
    supernode: int | None
    anonymous: bool

    @property
    def hosts(self) -> int:
        """Hosts of all sites."""
        return sum(site.hosts for site in self.sites)

    @property
    def switches(self) -> int:
        """Switches of all sites and planes."""
        return self.planes * sum(site.shape.switches for site in self.sites)

    @property
    def trunk_links(self) -> int:
        """Cables of all trunks."""
        return self.planes * sum(trunk.tops * trunk.links for trunk in self.trunks)

    @property
    def links(self) -> int:
        """All cables."""
        return self.planes * sum(site.shape.links for site in self.sites) + self.trunk_links

    @property
    def nodes(self) -> int:
        """All nodes: accelerators, hosts, NICs, switches."""
        per_host = 1 + self.accelerators_per_host + self.nics_per_host
        return self.hosts * per_host + self.switches


def ports_used(plan: Plan, position: int) -> dict[str, int]:
    """Return how many ports a switch of each tier of a site uses, its trunks included."""
    shape = plan.sites[position].shape
    trunks = sum(trunk.links for trunk in plan.trunks if position in (trunk.site_a, trunk.site_b))
    used = {
        "leaf": shape.ports_per_leaf + shape.spines_per_pod * shape.parallel,
        "spine": shape.leaves_per_pod * shape.parallel + shape.cores_per_spine,
    }
    if shape.cores:
        used["core"] = shape.pods
    used["core" if shape.cores else "spine"] += trunks
    return used
