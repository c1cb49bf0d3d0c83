"""The testbed file, version 1: one YAML document that describes a cluster and what it must do.

Models only: what a field may hold. Whether the numbers make a buildable network is `plan`'s
question; other layers read their own sections (`confidential`, `memory`, `transfers`, `expect`).
"""

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, model_validator

from ctestbed.core.spec import (
    Power,
    PowerOrUnknown,
    RateOrUnknown,
    Size,
    SizeOrUnknown,
    SpecModel,
    TimeOrUnknown,
)
from ctestbed.topology.fabrics import AnyFabric, Fabric
from ctestbed.topology.fields import (
    Cable,
    Count,
    Name,
    PartName,
    Port,
    Route,
    Switch,
    Text,
    refusal,
)
from ctestbed.topology.parts import Parts

Platform: TypeAlias = Literal[
    "csv", "csv2", "csv3", "sev", "sev-es", "snp", "tdx", "cca", "virtcca", "plain"
]

MAX_PLANES: Final = 1024


class Host(SpecModel):
    """What every host holds; `port` is what each of its NICs is set to, as one whole port.

    `power` is of the host without its NICs; `power_limit` is what it may draw with them and the
    cable ends in them.
    """

    accelerators: Annotated[int, Field(ge=1, le=1024)] = 1
    nics: Annotated[int, Field(ge=1, le=1024)] = 1
    port: Port | None = None
    nic_model: PartName | None = None
    power: PowerOrUnknown | None = None
    power_limit: Power | None = None


class PlaneOverride(SpecModel):
    """What one plane of a fat-tree has otherwise: counts as in `FatTree`, rates of a whole port.

    `leaves` and `spines` are per pod; NIC ports below all leaves stay as many.
    """

    plane: Annotated[int, Field(ge=0, lt=MAX_PLANES)]
    leaves: Count | None = None
    spines: Count | None = None
    cores: Count | None = None
    parallel: Count | None = None
    radix: Count | None = None
    host_links: Cable | None = None
    spine_links: Cable | None = None
    core_links: Cable | None = None
    leaf_switch: Switch | None = None
    spine_switch: Switch | None = None
    core_switch: Switch | None = None


class Planes(SpecModel):
    """Independent copies of the fabric, and how hosts reach them.

    nic-per-plane: NIC i of a site is in plane i mod `count`. nic-split: every NIC has `count`
    ports, one in each plane, each of the whole port's rate divided by `count`. `overrides` says
    where a plane differs from the rest.
    """

    count: Annotated[int, Field(ge=1, le=256)]
    form: Literal["nic-per-plane", "nic-split"] = "nic-per-plane"
    overrides: list[PlaneOverride] = Field(default_factory=list)


class UpperSwitches(SpecModel):
    """The second tier of a scale-up network: in each sub-plane, switches above all hosts' own.

    `rate` is what one first-tier switch sends up, over all its cables; left out, its members'.
    """

    switches: Count
    rate: RateOrUnknown
    delay: TimeOrUnknown | None = None
    switch_model: PartName | None = None


class ScaleUp(SpecModel):
    """The links inside a supernode: each accelerator's rate one way, and the delay of a hop.

    With `switches`, the network is laid out: every member has one bundle of an equal part of its
    rate to each of them. They are the supernode's, or with `upper` each host's own: then switch i
    of every host is in sub-plane i, below that sub-plane's upper switches.
    """

    rate: RateOrUnknown
    delay: TimeOrUnknown
    switches: Annotated[int, Field(ge=1, le=4096)] | None = None
    switch_model: PartName | None = None
    upper: UpperSwitches | None = None

    @model_validator(mode="after")
    def _upper_stands_on_switches(self) -> "ScaleUp":
        if self.upper is not None and self.switches is None:
            raise refusal(
                "CTB-T017",
                "`upper` switches stand above `switches` of every host, and none are given",
                "give `switches`: one of each host in every sub-plane",
            )
        return self


class CPUs(SpecModel):
    """Host processors that are members of a supernode, and the memory behind each.

    With a `rate` a processor has cables of its own to the scale-up switches; left out, it is
    reached through its host's accelerators.
    """

    per_host: Annotated[int, Field(ge=1, le=1024)]
    rate: RateOrUnknown | None = None
    memory: SizeOrUnknown | None = None


class Supernode(SpecModel):
    """A scale-up domain: this many accelerators, of whole hosts that follow one another.

    `memory` is of each accelerator; with that of `cpus` it is what the domain can pool.
    """

    accelerators: Count
    scale_up: ScaleUp
    memory: SizeOrUnknown | None = None
    cpus: CPUs | None = None


class Site(SpecModel):
    """A place with its own fabric; `fabric` names one of `fabrics`.

    `host` and `supernode` stand in for the testbed's, where vendors differ. `power_limit` is what
    the place can feed: its hosts, switches, NICs and transceivers together.
    """

    name: Name
    fabric: Name | None = None
    vendor: Text | None = None
    host: Host | None = None
    supernode: Supernode | None = None
    power_limit: Power | None = None


class Trunk(Route):
    """Long-haul cables between two sites: in each plane, `links` per pair of top switches.

    `switches` takes only so many of each site's top switches, the first ones. `capacity` is what
    the fibre system carries one way, over all cables. `protection` is the route that traffic
    moves to when the first is cut: standby, so it adds no capacity. `ports` says, by site, what
    the ports at that end are set to.
    """

    between: Annotated[list[Name], Field(min_length=2, max_length=2)]
    rate: RateOrUnknown
    links: Count = 1
    switches: Count | None = None
    capacity: RateOrUnknown | None = None
    protection: Route | None = None
    ports: dict[Name, Port] | None = None

    @model_validator(mode="after")
    def _has_delay(self) -> "Trunk":
        if self.delay is None and self.length is None:
            raise refusal("CTB-T003", "a trunk needs a `length` or a `delay`", "`length: 150km`")
        standby = self.protection
        if standby is not None and standby.delay is None and standby.length is None:
            raise refusal(
                "CTB-T003", "the protection route needs a `length` or a `delay`", "`length: 180km`"
            )
        if standby is not None and standby.rate is not None:
            raise refusal(
                "CTB-T001",
                "the protection route carries the trunk's own cables, so it has no `rate`",
                "leave `protection.rate` out",
            )
        if standby is not None and standby.medium is not None:
            raise refusal(
                "CTB-T001",
                "the protection route carries the trunk's own cables, so it has no `medium`",
                "leave `protection.medium` out",
            )
        if standby is not None and standby.lossless is not None:
            raise refusal(
                "CTB-T001",
                "the protection route ends in the trunk's own ports, so it has no `lossless`",
                "give the trunk's `lossless` headroom for the longer of the two routes",
            )
        stray = [name for name in self.ports or {} if name not in self.between]
        if stray:
            raise refusal(
                "CTB-T001",
                f"`ports` names {stray[0]!r}, which is no end of this trunk",
                f"its ends are {' and '.join(self.between)}",
            )
        return self


class Confidential(SpecModel):
    """The confidential VM that is launched and attested on a host of this testbed."""

    platform: Platform
    memory: Size = 2**21
    image_size: Size = 2**18
    policy: Annotated[int, Field(ge=0, le=2**32 - 1)] | None = None


class MemoryBenchmark(SpecModel):
    """A timed encryption of this much memory."""

    cipher: Literal["sm4-xts"] = "sm4-xts"
    size: Size


class Transfer(SpecModel):
    """One traffic pattern over the endpoints, such as `shift:64`; `size` is per flow."""

    name: Name
    pattern: Text
    size: Size
    spread: Literal["balanced", "ecmp"] = "balanced"


class Testbed(SpecModel):
    """A whole testbed file."""

    __test__ = False  # pytest would take the name for a test class

    ctestbed: Literal[1]
    name: Name
    title: Text | None = None
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    sources: list[Text] = Field(default_factory=list)
    assumptions: list[Text] = Field(default_factory=list)
    sites: Annotated[list[Site], Field(min_length=1, max_length=256)] | None = None
    fabric: Fabric | None = None
    fabrics: dict[str, Fabric] | None = None
    host: Host = Host()
    planes: Planes = Planes(count=1)
    supernode: Supernode | None = None
    parts: Parts = Parts()
    trunks: list[Trunk] = Field(default_factory=list)
    confidential: Confidential | None = None
    memory: MemoryBenchmark | None = None
    transfers: list[Transfer] = Field(default_factory=list)
    expect: list[Text] = Field(default_factory=list)

    def fabric_at(self, position: int) -> AnyFabric:
        """Return the fabric of a site of a testbed that could be planned."""
        if self.fabric is not None:
            return self.fabric
        assert self.fabrics is not None and self.sites is not None  # noqa: S101, PT018 - planned
        return self.fabrics[str(self.sites[position].fabric)]

    def host_at(self, position: int) -> Host:
        """Return what each host of a site holds: the site's own word, or the testbed's."""
        own = self.sites[position].host if self.sites else None
        return self.host if own is None else own

    def supernode_at(self, position: int) -> Supernode | None:
        """Return the supernodes of a site: the site's own word, or the testbed's."""
        own = self.sites[position].supernode if self.sites else None
        return self.supernode if own is None else own

    @model_validator(mode="after")
    def _one_source_of_fabrics(self) -> "Testbed":
        if (self.fabric is None) == (self.fabrics is None):
            raise refusal(
                "CTB-T004",
                "a testbed needs `fabric` (one for all sites) or `fabrics` (by name)",
                "give exactly one of the two",
            )
        return self
