"""What is, or was, cabled: devices and the cables between their ports, whatever file said so.

The format-neutral record that import, export, as-built and diff share. Nothing in it is judged:
parallel cables are many, a cable may join a device to itself, and a port that names a neighbour
which does not name it back is kept apart in `one_sided`. Cables are columns, so that a million of
them are comfortable; devices are records, for they differ. -1 stands for "not said" in columns.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctestbed.core.errors import Where
from ctestbed.core.result import Finding, InputFile
from ctestbed.topology.graph import UNKNOWN_VALUE, NodeKind, Topology
from ctestbed.topology.names import node_name

Column: TypeAlias = NDArray[Any]

AGGREGATION: Final = "aggregation"
"""`Device.role` of an adapter that sits inside a switch and computes there: no host has it."""
SCALE_UP: Final = "scale-up"
"""`Device.role` of a switch inside a supernode or server, such as an NVSwitch: of no tier."""


class DeviceKind(IntEnum):
    """What a device is, as far as its file says."""

    UNKNOWN = 0
    SWITCH = 1
    HOST = 2
    NIC = 3
    ACCELERATOR = 4

    @property
    def word(self) -> str:
        """The kind's name in reports and files."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Device:
    """A thing with ports. What the file does not say is None.

    `ports` is the declared number of ports; `host` the host that an adapter or accelerator sits
    in; `tier` counts as `Tier` does (0 adapter or host, 1 leaf, ...); `role` is free text such as
    `aggregation`, `leaf` or `super-spine`; `line` is where the file describes it, from 1.
    """

    name: str
    kind: DeviceKind = DeviceKind.UNKNOWN
    ports: int | None = None
    host: str | None = None
    guid: str | None = None
    model: str | None = None
    description: str | None = None
    role: str | None = None
    site: str | None = None
    plane: int | None = None
    pod: int | None = None
    tier: int | None = None
    rail: int | None = None
    line: int | None = None
    pointer: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cables:
    """One row per cable, in the order of the file. All columns have the same length.

    `a`, `b` index devices; `a_port`, `b_port` index `Cabling.port_names`, -1 where not said;
    `rate` (bit/s), `delay` (ps), `length` (mm) are -1 where not said. `line` is where end a is
    stated and `b_line` where end b is: the same line when one statement names both ends.
    `extra` holds what else the file says of cables, a value (or None) per row.
    """

    a: Column
    b: Column
    a_port: Column
    b_port: Column
    rate: Column
    delay: Column
    length: Column
    line: Column
    b_line: Column
    extra: Mapping[str, Sequence[str | None]] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of cables."""
        return len(self.a)


def empty_cables() -> Cables:
    """Return a table without rows."""
    return make_cables([], [])


def make_cables(
    a: Sequence[int],
    b: Sequence[int],
    *,
    extra: Mapping[str, Sequence[str | None]] | None = None,
    **columns: Sequence[int] | Column,
) -> Cables:
    """Build a table; a column that is not given is -1 throughout.

    Raises:
        ValueError: columns of different lengths.
    """
    rows = len(a)
    wide = {"rate", "delay", "length"}
    table: dict[str, Column] = {"a": np.asarray(a, np.int32), "b": np.asarray(b, np.int32)}
    for name in ("a_port", "b_port", "rate", "delay", "length", "line", "b_line"):
        dtype = np.int64 if name in wide else np.int32
        given = columns.pop(name, None)
        table[name] = np.full(rows, -1, dtype) if given is None else np.asarray(given, dtype)
    if columns or any(len(column) != rows for column in [*table.values(), *(extra or {}).values()]):
        raise ValueError("columns of a cable table differ in length, or are unknown")
    return Cables(**table, extra=dict(extra or {}))


@dataclass(frozen=True)
class Cabling:
    """Devices and cables of one file, or of one of our own fabrics. Never changed once made.

    `format` names the form it was read from; `file` is what findings call it. `one_sided` rows
    are statements of end a alone. `findings` are the reader's remarks; `attributes` what the file
    says of the whole (a title, a GPU type, who scanned it).
    """

    name: str
    format: str
    devices: tuple[Device, ...]
    port_names: tuple[str, ...]
    cables: Cables
    one_sided: Cables = field(default_factory=empty_cables)
    file: str | None = None
    source: InputFile | None = None
    findings: tuple[Finding, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Return the position of each device by name."""
        return {device.name: position for position, device in enumerate(self.devices)}

    @cached_property
    def kinds(self) -> Column:
        """Return the devices' kinds as a column of `DeviceKind`."""
        return np.array([device.kind for device in self.devices], np.int8)

    def port(self, number: int) -> str | None:
        """Return the text of a port column's value; None where no port is said."""
        return None if number < 0 else self.port_names[number]

    def end_name(self, cables: Cables, row: int, end: str) -> str:
        """Return `DEVICE:PORT` of end `a` or `b` of a row; the device alone without a port."""
        device = self.devices[int(getattr(cables, end)[row])].name
        port = self.port(int(getattr(cables, f"{end}_port")[row]))
        return device if port is None else f"{device}:{port}"

    def cable_name(self, row: int, cables: Cables | None = None) -> str:
        """Return `A:PORT - B:PORT` of a row of `cables` (or of another of its tables)."""
        table = self.cables if cables is None else cables
        return f"{self.end_name(table, row, 'a')} - {self.end_name(table, row, 'b')}"

    def where(self, row: int, cables: Cables | None = None) -> Where:
        """Return the place where a row is stated."""
        line = int((self.cables if cables is None else cables).line[row])
        return Where(self.file, None, line if line > 0 else None)

    def where_device(self, device: int) -> Where:
        """Return the place where a device is described."""
        return Where(self.file, self.devices[device].pointer, self.devices[device].line)


@dataclass(frozen=True, slots=True)
class CableAdjacency:
    """CSR of both directions: rows `offsets[d]:offsets[d+1]` are the cables at device d.

    `neighbour` is the device at the other end, `cable` the row of `Cabling.cables`, `near_port`
    and `far_port` index `Cabling.port_names`. Parallel cables are many rows; a self-loop is two.
    """

    offsets: Column
    neighbour: Column
    cable: Column
    near_port: Column
    far_port: Column

    def at(self, device: int) -> Column:
        """Return the neighbours of a device, one per cable."""
        return self.neighbour[self.offsets[device] : self.offsets[device + 1]]


def adjacency(cabling: Cabling) -> CableAdjacency:
    """Return the cables at each device, parallel ones counted as many. O(c log c)."""
    cables = cabling.cables
    near = np.concatenate([cables.a, cables.b])
    rows = np.arange(len(cables), dtype=np.int32)
    order = np.argsort(near, kind="stable")
    offsets = np.zeros(len(cabling.devices) + 1, np.int64)
    np.cumsum(np.bincount(near, minlength=len(cabling.devices)), out=offsets[1:])
    return CableAdjacency(
        offsets=offsets,
        neighbour=np.concatenate([cables.b, cables.a])[order],
        cable=np.concatenate([rows, rows])[order],
        near_port=np.concatenate([cables.a_port, cables.b_port])[order],
        far_port=np.concatenate([cables.b_port, cables.a_port])[order],
    )


def degree(cabling: Cabling) -> Column:
    """Return the number of cable ends at each device; a self-loop has two."""
    ends = np.concatenate([cabling.cables.a, cabling.cables.b])
    return np.bincount(ends, minlength=len(cabling.devices))


def pair_counts(cabling: Cabling) -> tuple[Column, Column, Column]:
    """Return each joined pair of devices (lower, higher index) and how many cables join it."""
    lower = np.minimum(cabling.cables.a, cabling.cables.b).astype(np.int64)
    higher = np.maximum(cabling.cables.a, cabling.cables.b)
    keys, counts = np.unique(lower * max(len(cabling.devices), 1) + higher, return_counts=True)
    size = max(len(cabling.devices), 1)
    return keys // size, keys % size, counts


def self_loops(cabling: Cabling) -> Column:
    """Return the rows of the cables that join a device to itself."""
    return np.flatnonzero(cabling.cables.a == cabling.cables.b)


def shared_ports(cabling: Cabling) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return (device, port, rows) of every port that more than one cable claims.

    A cable from a port to that same port (a loopback plug) claims it once.
    """
    cables = cabling.cables
    device = np.concatenate([cables.a, cables.b]).astype(np.int64)
    port = np.concatenate([cables.a_port, cables.b_port])
    rows = np.tile(np.arange(len(cables)), 2)
    said = port >= 0
    keys = device[said] * max(len(cabling.port_names), 1) + port[said]
    rows = rows[said]
    order = np.argsort(keys, kind="stable")
    keys, rows = keys[order], rows[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    crowded = np.flatnonzero(np.diff(starts, append=len(keys)) > 1)
    found = []
    for run in crowded.tolist():
        end = starts[run + 1] if run + 1 < len(starts) else len(keys)
        claims = tuple(dict.fromkeys(rows[starts[run] : end].tolist()))
        if len(claims) > 1:
            key = int(keys[starts[run]])
            size = len(cabling.port_names)
            found.append((key // size, key % size, claims))
    return found


_KINDS: Final = {
    NodeKind.ACCELERATOR: DeviceKind.ACCELERATOR,
    NodeKind.NIC: DeviceKind.NIC,
    NodeKind.SWITCH: DeviceKind.SWITCH,
    NodeKind.SCALE_UP_SWITCH: DeviceKind.SWITCH,
    NodeKind.CPU: DeviceKind.HOST,
}
"""A host processor on a scale-up network is an endpoint that is its host's own."""


def cabling_of(topology: Topology) -> Cabling:
    """Return our own fabric as a cabling: all that cables join, in order of node id."""
    nodes, links = topology.nodes, topology.links
    cabled = topology.cabled
    columns = [nodes.kind, nodes.site, nodes.plane, nodes.pod, nodes.tier, nodes.rail, nodes.parent]
    rows = zip(cabled.tolist(), *(column[cabled].tolist() for column in columns), strict=True)
    devices = []
    hosts: dict[int, str] = {}
    for node, kind, site, plane, pod, tier, rail, parent in rows:
        if parent >= 0 and parent not in hosts:
            hosts[parent] = node_name(topology, parent)
        devices.append(
            Device(
                name=node_name(topology, node),
                kind=_KINDS[NodeKind(kind)],
                host=hosts.get(parent),
                site=None if topology.anonymous else topology.sites[site].name,
                plane=_said(plane),
                pod=_said(pod),
                tier=None if kind == NodeKind.SCALE_UP_SWITCH else _said(tier),
                rail=_said(rail),
                role=SCALE_UP if kind == NodeKind.SCALE_UP_SWITCH else None,
            )
        )
    position = np.full(topology.node_count, -1, np.int32)
    position[cabled] = np.arange(len(cabled), dtype=np.int32)
    highest = int(max(links.a_port.max(initial=0), links.b_port.max(initial=0)))
    cables = make_cables(
        position[links.a],  # type: ignore[arg-type]
        position[links.b],  # type: ignore[arg-type]
        a_port=links.a_port,
        b_port=links.b_port,
        rate=links.rate,
        delay=links.delay,
        length=links.length,
    )
    ports = tuple(str(number) for number in range(highest + 1))
    return Cabling(topology.name, "testbed", tuple(devices), ports, cables)


def _said(value: int) -> int | None:
    return None if value == UNKNOWN_VALUE else value


@dataclass(frozen=True, slots=True)
class Roles:
    """Who carries traffic in and out, and how far above them each switch stands.

    `tier` per device: 0 an endpoint (host, adapter, accelerator), 1 a leaf, 2 a spine, ...; -1
    where no cable leads to an endpoint, for adapters inside switches and for scale-up switches.
    `endpoint` and `switch` are masks over devices. `guessed` says that the file gave no kinds, so
    names or degrees did.
    """

    tier: Column
    endpoint: Column
    switch: Column
    guessed: bool

    def of_tier(self, tier: int) -> Column:
        """Return the devices of a tier, in order."""
        return np.flatnonzero(self.tier == tier)

    @property
    def tiers(self) -> int:
        """The highest switch tier; 0 without any."""
        return int(self.tier.max(initial=0))


_SWITCH_NAME: Final = re.compile(
    r"(^|[^a-z])(s?sw(itch)?|leaf|spine|core|tor|agg(r|regation)?|border|router|rtr|fabric)"
    r"([^a-z]|$)|(leaf|spine|switch)",
    re.IGNORECASE,
)
_LEAF: Final = re.compile(r"leaf|(^|[^a-z])tor([^a-z]|$)", re.IGNORECASE)
_ENDPOINT_NAME: Final = re.compile(
    r"(^|[^a-z])(h|host|srv|server|node|gpu|dgx|hgx|client|compute|nic|hca|npu|vm)([^a-z]|$)",
    re.IGNORECASE,
)


def infer_roles(cabling: Cabling) -> Roles:
    """Tell endpoints from switches, and give each switch its distance from the endpoints.

    Kinds that the file gives decide. Of devices without a kind, a telling name decides, and else
    whether all cables lead to one neighbour (an endpoint) or to several (a switch).
    """
    count = len(cabling.devices)
    kinds = cabling.kinds
    inside = np.array([device.role in {AGGREGATION, SCALE_UP} for device in cabling.devices], bool)
    switch = kinds == DeviceKind.SWITCH
    unknown = np.flatnonzero(kinds == DeviceKind.UNKNOWN)
    if len(unknown):
        lower, higher, _ = pair_counts(cabling)
        apart = lower != higher
        ends = np.concatenate([lower[apart], higher[apart]])
        neighbours = np.bincount(ends, minlength=count)
        for device in unknown.tolist():
            name = cabling.devices[device].name
            if _SWITCH_NAME.search(name):
                switch[device] = True
            elif not _ENDPOINT_NAME.search(name):
                switch[device] = neighbours[device] > 1
    endpoint = ~switch & ~inside
    through = switch & ~inside
    if endpoint.any():
        tier = _distances(cabling, np.flatnonzero(endpoint), through)
    else:
        # Switches alone: those called leaves are as far up as leaves are.
        leaves = [bool(_LEAF.search(d.role or d.name)) for d in cabling.devices]
        tier = _distances(cabling, np.flatnonzero(leaves), through)
        tier[tier >= 0] += 1
    return Roles(tier, endpoint, switch, guessed=bool(len(unknown)))


def _distances(cabling: Cabling, sources: Column, through: Column) -> Column:
    """Return hops from the nearest source over `through` devices; -1 where there is no way."""
    distance = np.full(len(cabling.devices), -1, np.int64)
    distance[sources] = 0
    lower, higher, _ = pair_counts(cabling)
    near, far = np.concatenate([lower, higher]), np.concatenate([higher, lower])
    hops = 0
    while True:
        reached = far[(distance[near] == hops) & (distance[far] < 0) & through[far]]
        if not len(reached):
            return distance
        hops += 1
        distance[reached] = hops
