"""What a testbed file says of the two ends of its cables, class by class.

A class is what a plane has of one kind, NIC to leaf, leaf to spine and so on; what is said of it
holds of each of its cables. The nearest word counts: of a plane before that of a tier, of a tier
before that of all switches, of one side of a switch before that of all its ports.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from ctestbed.core.names import numbered
from ctestbed.core.spec import Unknown
from ctestbed.core.yamlfile import YAMLPath
from ctestbed.topology.fabrics import AnyFabric, Dragonfly, FullMesh, ScaleUpOnly, SlimFly, Torus
from ctestbed.topology.fields import Cable, Lossless, Port, Switch
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.shapes import UNKNOWN_FIGURE, Figures, Plan, PlanePlan
from ctestbed.topology.testbed import PlaneOverride
from ctestbed.topology.tiers import LEAF_SPINE, NIC_LEAF, NIC_ROUTER, SPINE_CORE, Tier

Value: TypeAlias = int | Unknown | None
"""A figure, what nobody has published, or what the file does not say."""

_TIER_KEYS: Final = {
    Tier.LEAF: "leaf_switch",
    Tier.SPINE: "spine_switch",
    Tier.CORE: "core_switch",
}


@dataclass(frozen=True, slots=True)
class Said:
    """What the file says of something, and the key that says so (or would)."""

    value: Value
    path: YAMLPath


@dataclass(frozen=True, slots=True)
class End:
    """The ports at one end of a class of cables."""

    what: str
    rate: Said
    mtu: Said


@dataclass(frozen=True, slots=True)
class Joint:
    """A class of cables: its figures, the ports at its ends (lower first), its lossless classes.

    `planes` names those planes of a site that have it so, None for all. `standby` holds the
    figures of a trunk's protection route; `path` is where lossless classes are (or would be) given.
    """

    name: str
    figures: Figures
    lower: End
    upper: End
    lossless: Lossless | None
    path: YAMLPath
    standby: Figures | None = None
    planes: tuple[int, ...] | None = None

    @property
    def rate(self) -> Value:
        """The cables' own rate in bit/s, or unknown."""
        return Unknown.UNKNOWN if self.figures.rate == UNKNOWN_FIGURE else self.figures.rate

    def called(self, what: str) -> str:
        """Return what findings call its cables or ports, with the planes where these differ."""
        planes = "" if self.planes is None else f" of {numbered('plane', self.planes)}"
        return f"{self.name} {what}{planes}"


@dataclass(frozen=True, slots=True)
class PortsOf:
    """Where one plane of a site says what its ports, switches and cables are set to."""

    fabric: AnyFabric
    fabric_path: YAMLPath
    nic: Port | None
    nic_path: YAMLPath
    override: PlaneOverride | None
    override_path: YAMLPath
    lanes: int
    """Into how many a whole port is cut."""

    def switches(self, tier: Tier) -> Iterator[tuple[Switch, YAMLPath]]:
        """Yield what is said of a tier's switches, nearest word first."""
        for key in (_TIER_KEYS[tier], "switch"):
            for owner, path in (
                (self.override, self.override_path),
                (self.fabric, self.fabric_path),
            ):
                found = getattr(owner, key, None)
                if isinstance(found, Switch):
                    yield found, (*path, key)

    def buffer(self, tier: Tier) -> Said:
        """Return the packet buffer of each of a tier's switches, in bytes."""
        for switch, path in self.switches(tier):
            if switch.buffer is not None:
                return Said(switch.buffer, (*path, "buffer"))
        return Said(None, (*self.fabric_path, self._key(tier), "buffer"))

    def switch_end(self, tier: Tier, side: str | None, what: str) -> End:
        """Return the ports of a tier's switches on one side (`downlinks`, `uplinks`) or at all."""
        said: list[tuple[Port, YAMLPath]] = []
        for switch, path in self.switches(tier):
            own = None if side is None else getattr(switch, side)
            said += [] if own is None else [(own, (*path, side or ""))]
            said.append((switch, path))
        home = (*self.fabric_path, self._key(tier))
        return self._end(what, said, home if side is None else (*home, side))

    def nic_end(self) -> End:
        """Return the ports of NICs."""
        said = [] if self.nic is None else [(self.nic, self.nic_path)]
        return self._end("NIC", said, self.nic_path)

    def lossless(self, section: str, index: int | None = None) -> tuple[Lossless | None, YAMLPath]:
        """Return the lossless classes of one class of cables, and where they are given."""
        own = _section(self.fabric, section, index)
        path: YAMLPath = (*self.fabric_path, section)
        if index is not None:
            path = (*path, index)
        choices: list[tuple[Cable | None, YAMLPath]] = [
            (_section(self.override, section, None), (*self.override_path, section)),
            (own, path),
            (self.fabric if isinstance(self.fabric, Cable) else None, self.fabric_path),
        ]
        for cable, at in choices:
            if cable is not None and cable.lossless is not None:
                return cable.lossless, (*at, "lossless")
        return None, (*path, "lossless")

    def _key(self, tier: Tier) -> str:
        return _TIER_KEYS[tier] if hasattr(self.fabric, _TIER_KEYS[tier]) else "switch"

    def _end(self, what: str, said: list[tuple[Port, YAMLPath]], home: YAMLPath) -> End:
        rate, mtu = first_said(said, "rate", home), first_said(said, "mtu", home)
        if isinstance(rate.value, int) and rate.value % self.lanes == 0:
            rate = Said(rate.value // self.lanes, rate.path)
        if mtu.value is None and self.fabric.mtu is not None:
            mtu = Said(self.fabric.mtu, (*self.fabric_path, "mtu"))
        return End(what, rate, mtu)


def _section(owner: object, section: str, index: int | None) -> Cable | None:
    found = getattr(owner, section, None)
    if isinstance(found, list):
        found = found[index or 0]
    return found if isinstance(found, Cable) else None


def first_said(said: list[tuple[Port, YAMLPath]], key: str, home: YAMLPath) -> Said:
    """Return the first port's word on a key; without any, `home` is where it would be said."""
    for port, path in said:
        value = getattr(port, key)
        if value is not None:
            return Said(value, (*path, key))
    return Said(None, (*home, key))


def ports_of(loaded: LoadedTestbed, plan: Plan, position: int, plane: int) -> PortsOf:
    """Return where a plane of a site says what its ports are set to."""
    testbed = loaded.testbed
    own = testbed.sites[position].host if testbed.sites else None
    override: PlaneOverride | None = None
    override_path: YAMLPath = ()
    for index, candidate in enumerate(testbed.planes.overrides):
        if candidate.plane == plane:
            override, override_path = candidate, ("planes", "overrides", index)
    return PortsOf(
        loaded.testbed.fabric_at(position),
        plan.sites[position].path,
        testbed.host_at(position).port,
        ("host", "port") if own is None else ("sites", position, "host", "port"),
        override,
        override_path,
        testbed.planes.count if testbed.planes.form == "nic-split" else 1,
    )


def plane_joints(ports: PortsOf, plane: PlanePlan) -> list[Joint]:
    """Return the classes of cables of one plane, from the NICs up."""
    shape = plane.shape
    leaf = "router" if shape.wiring is not None else "leaf"
    runs = [
        (
            NIC_LEAF if shape.wiring is None else NIC_ROUTER,
            shape.ports,
            "host_links",
            plane.host_cable,
            ports.nic_end(),
            ports.switch_end(Tier.LEAF, "downlinks", leaf),
        ),
        (
            LEAF_SPINE,
            shape.uplinks,
            "spine_links",
            plane.spine_cable,
            ports.switch_end(Tier.LEAF, "uplinks", "leaf"),
            ports.switch_end(Tier.SPINE, "downlinks", "spine"),
        ),
        (
            SPINE_CORE,
            shape.core_links,
            "core_links",
            plane.core_cable,
            ports.switch_end(Tier.SPINE, "uplinks", "spine"),
            ports.switch_end(Tier.CORE, "downlinks", "core"),
        ),
    ]
    joints = [
        Joint(name, figures, lower, upper, *ports.lossless(section))
        for name, cables, section, figures, lower, upper in runs
        if cables
    ]
    layers = () if shape.wiring is None else shape.wiring.layers
    end = ports.switch_end(Tier.LEAF, None, "router")
    for row, (layer, figures) in enumerate(zip(layers, plane.peer_cables, strict=True)):
        if layer.cables:
            lossless = ports.lossless(*_peer_section(ports.fabric, row))
            joints.append(Joint(layer.name, figures, end, end, *lossless))
    return joints


def _peer_section(fabric: AnyFabric, row: int) -> tuple[str, int | None]:
    """Return the key that describes a class of cables between equals."""
    match fabric:
        case Torus() | FullMesh():
            return "dim_links", row
        case Dragonfly():
            return ("local_links", "global_links")[row], None
        case SlimFly():
            return "router_links", None
        case _:
            raise AssertionError(fabric.kind)  # no other kind joins equals


def top_tier(plane: PlanePlan) -> Tier:
    """Return the tier of the switches that trunks end in."""
    return Tier(max(plane.shape.tiers, Tier.LEAF))


def site_joints(
    loaded: LoadedTestbed, plan: Plan, position: int, *, bare: bool = False
) -> list[Joint]:
    """Return the classes of cables of a site, those alike in several planes once.

    `bare` leaves out what is said of their ends but the largest frame, so that less tells planes
    apart.
    """
    if isinstance(loaded.testbed.fabric_at(position), ScaleUpOnly):
        return []
    planes = [
        plane_joints(ports_of(loaded, plan, position, number), plane)
        for number, plane in enumerate(plan.sites[position].planes)
    ]
    return _merge([list(map(without_ends, joints)) for joints in planes] if bare else planes)


def without_ends(joint: Joint) -> Joint:
    """Return a class of cables of whose ports only the largest frame is said."""
    sizes = [joint.lower.mtu.value, joint.upper.mtu.value]
    known = [size for size in sizes if isinstance(size, int)]
    largest = Unknown.UNKNOWN if Unknown.UNKNOWN in sizes else max(known, default=None)
    end = End("", Said(None, ()), Said(largest, ()))
    return replace(joint, lower=end, upper=end)


def trunk_joints(loaded: LoadedTestbed, plan: Plan, index: int) -> list[Joint]:
    """Return the ends of a trunk, one for each way that planes have them.

    Frame sizes are as of the top switches, unless the trunk says it; rates only what it says.
    """
    spec, trunk = loaded.testbed.trunks[index], plan.trunks[index]
    planes = []
    for plane in range(plan.planes):
        ends = []
        for name, position in zip(spec.between, (trunk.site_a, trunk.site_b), strict=True):
            own, path = (spec.ports or {}).get(name), ("trunks", index, "ports", name)
            said: list[tuple[Port, YAMLPath]] = [] if own is None else [(own, path)]
            tier = top_tier(plan.sites[position].planes[plane])
            top = ports_of(loaded, plan, position, plane).switch_end(tier, "uplinks", name)
            mtu = first_said(said, "mtu", path)
            mtu = top.mtu if mtu.value is None else mtu
            ends.append(End(name, first_said(said, "rate", path), mtu))
        at: YAMLPath = ("trunks", index, "lossless")
        name = f"trunk {' - '.join(spec.between)}"
        standby = trunk.protection
        planes.append([Joint(name, trunk.figures, ends[0], ends[1], spec.lossless, at, standby)])
    return _merge(planes)


def _merge(planes: list[list[Joint]]) -> list[Joint]:
    """Return each class once; it names its planes where not all have it so."""
    found: dict[Joint, list[int]] = {}
    for number, joints in enumerate(planes):
        for joint in joints:
            numbers = found.setdefault(joint, [])
            if number not in numbers[-1:]:
                numbers.append(number)
    return [
        joint if len(numbers) == len(planes) else replace(joint, planes=tuple(numbers))
        for joint, numbers in found.items()
    ]
