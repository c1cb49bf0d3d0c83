"""The report of `ibnetdiscover`: a record per node, a line per connected port, from both ends.

A record is some `key=0x...` lines, a line of kind, port count and quoted id, and a line per port:
`[port](guid) "id"[port](guid) # ... lid 12 4xNDR`. Blank lines between records may be missing.
Every node that a port names has a record of its own, so one that lacks it means a cut file.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from ctestbed.topology.cabling import Cabling, Device, DeviceKind
from ctestbed.topology.formats.collect import Collector
from ctestbed.topology.formats.infiniband import (
    kind_of,
    link_rate,
    name_adapters,
    name_switch,
    unique_names,
)
from ctestbed.topology.formats.source import Source, shorten

FORMAT: Final = "ibnetdiscover"

_KEY: Final = re.compile(r"([a-z]+)=(\S+?)(?:\(([^)\s]*)\))?(?:\s+#.*|\s*)")
_KEYS: Final = ("vendid", "devid", "sysimgguid", "switchguid", "caguid", "rtguid")
_NODE: Final = re.compile(r'(\S+)\s+([0-9]{1,4})\s+"([^"]*)"\s*(?:#\s*(.*))?')
_NODE_NOTE: Final = re.compile(r'"(.*)"\s*(.*)')
_PORT: Final = re.compile(
    r"\[([0-9]{1,4})\](?:\[ext ([0-9]+)\])?(?:\(([^)\s]*)\))?\s+"
    r'"([^"]*)"\[([0-9]{1,4})\](?:\[ext [0-9]+\])?\s*(?:\(([^)\s]*)\))?\s*(?:#\s*(.*))?'
)
_NEAR_LID: Final = re.compile(r'lid ([0-9]+) lmc ([0-9]+) "')
_FAR_LID: Final = re.compile(r"lid ([0-9]+)\s+(\S+)(?:\s.*)?")
_OTHER: Final = re.compile(r"(Chassis\s+[0-9]+.*|Non-Chassis Nodes\s*|Hostname:.*)")
_ID: Final = re.compile(r"[SHR]-[0-9a-f]{16}")
_GUID: Final = re.compile(r"(?:0x)?[0-9a-f]{1,16}")
_WARNING: Final = re.compile(r"(ibwarn|ibpanic|iberror): \[|src/[\w.]+:[0-9]+;")
"""What its library writes to the terminal, for instance of nodes that did not answer."""
_UNKNOWN_SPEED: Final = "??"


@dataclass(slots=True)
class _Port:
    line: int
    port: int
    far_id: str
    far_port: int
    speed: str | None
    extra: dict[str, str | None]


@dataclass(slots=True)
class _Node:
    id: str
    device: Device
    ports: list[_Port] = field(default_factory=list)


@dataclass
class _Reader:
    source: Source
    nodes: list[_Node] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    ids_line: int = 0
    current: _Node | None = None
    attributes: dict[str, str] = field(default_factory=dict)
    warnings: list[int] = field(default_factory=list)

    def read(self) -> None:
        for number, line in enumerate(self.source.lines, 1):
            text = line.strip()  # a record quoted in a page is indented
            if not text:
                continue
            if _WARNING.match(text):
                self.warnings.append(number)
                continue
            if text[0] == "[":
                self.port(text, number)
            elif text[0] == "#":
                self.comment(text)
            elif _OTHER.fullmatch(text):
                self.refuse_dangling(number)
                self.current = None
            elif "=" in text.split('"', 1)[0]:
                self.key(text, number)
            else:
                self.node(text, number)
        self.refuse_dangling(self.ids_line)

    def comment(self, text: str) -> None:
        for start, name in (
            ("# Topology file: generated on ", "generated"),
            ("# Initiated from node ", "initiated_from"),
        ):
            if text.startswith(start):
                self.attributes[name] = text.removeprefix(start).strip()

    def key(self, text: str, number: int) -> None:
        match = _KEY.fullmatch(text)
        if match is None or match[1] not in _KEYS:
            raise self.source.bad_line(number, "a line of a node's record", "see `vendid=0x2c9`")
        for digits in (match[2], match[3]):
            if digits is not None:
                self.hexadecimal(digits, number)
        if match[1] in self.ids:
            self.refuse_dangling(number)
        if not self.ids:
            self.ids_line = number
        self.ids[match[1]] = match[2]
        if match[3] is not None:
            self.ids["portguid"] = match[3]
        self.current = None

    def node(self, text: str, number: int) -> None:
        match = _NODE.fullmatch(text)
        if match is None:
            raise self.source.bad_line(
                number, "the start of a record", 'a record starts like `Switch 65 "S-..."`'
            )
        kind = kind_of(match[1])
        if kind is None:
            raise self.source.refuse(
                "CTB-T106",
                f"{shorten(match[1])!r} is no kind of node",
                number,
                "known: Switch, Ca, Rt",
            )
        self.identity(match[3], number)
        note = _NODE_NOTE.fullmatch(match[4] or "")
        attributes = {"id": match[3], **{k: v for k, v in self.ids.items() if k != "portguid"}}
        if "portguid" in self.ids:
            attributes["portguid"] = self.ids["portguid"]
        if note is not None and note[2].strip():
            attributes["port0"] = note[2].strip()
        if match[1].lower() in {"rt", "router"}:
            attributes["router"] = "true"
        description = note[1].strip() if note is not None else ""
        device = Device(
            name=description or match[3],
            kind=kind,
            ports=int(match[2]),
            guid=match[3][2:],
            description=description or None,
            line=number,
            attributes=attributes,
        )
        self.current = _Node(match[3], device)
        self.nodes.append(self.current)
        self.ids = {}

    def identity(self, node_id: str, number: int) -> None:
        """Refuse an id that is not hexadecimal, or not the one that the record's lines give."""
        if _ID.fullmatch(node_id) is None:
            raise self.source.refuse(
                "CTB-T107",
                f"the id {shorten(node_id)!r} is not S-, H- or R- and 16 hexadecimal digits",
                number,
                "where ids are free text, read it `--from ibsim`",
            )
        for key in ("switchguid", "caguid", "rtguid"):
            given = self.ids.get(key, node_id[2:])
            if given.removeprefix("0x").lstrip("0") != node_id[2:].lstrip("0"):
                raise self.source.refuse(
                    "CTB-T107",
                    f"the id {node_id!r} differs from {key}={self.ids[key]} above it",
                    number,
                    "lines may be lost between the two",
                )

    def hexadecimal(self, digits: str, number: int) -> None:
        if _GUID.fullmatch(digits) is None:
            raise self.source.refuse(
                "CTB-T107",
                f"{shorten(digits)!r} is not hexadecimal",
                number,
                "ids are up to 16 digits 0-9 and a-f",
            )

    def port(self, text: str, number: int) -> None:
        match = _PORT.fullmatch(text)
        if match is None or self.current is None:
            what = "the line of a port" if match is None else "inside a record"
            raise self.source.bad_line(number, what, "check that the file is whole")
        if _ID.fullmatch(match[4]) is None:
            self.identity(match[4], number)
        extra: dict[str, str | None] = {}
        for end, digits in (("a_guid", match[3]), ("b_guid", match[6])):
            if digits is not None:
                self.hexadecimal(digits, number)
                extra[end] = digits
        note = match[7] or ""
        near = _NEAR_LID.match(note)
        if near is not None:
            extra |= {"a_lid": near[1], "a_lmc": near[2]}
        far = _FAR_LID.fullmatch(note.rpartition('"')[2].strip())
        if far is not None:
            extra |= {"b_lid": far[1], "speed": far[2]}
        speed = None if far is None else far[2]
        port = _Port(number, int(match[1]), match[4], int(match[5]), speed, extra)
        self.current.ports.append(port)

    def refuse_dangling(self, number: int) -> None:
        if self.ids:
            raise self.source.refuse(
                "CTB-T101",
                f"the record that starts in line {self.ids_line} names no node",
                number,
                "check that the file is whole",
            )


def read(source: Source) -> Cabling:
    """Read what `ibnetdiscover` printed.

    Raises:
        InputError: cut, damaged, or not of this format; with its line.
    """
    reader = _Reader(source)
    reader.read()
    if not reader.nodes:
        raise source.refuse("CTB-T101", f"{source.name!r} names no node", None, "is it whole?")
    collector = Collector(source, FORMAT)
    for number in reader.warnings:
        text = (
            f"a warning of ibnetdiscover stands in the record: {shorten(source.lines[number - 1])}"
        )
        collector.note("CTB-T124", "note", text, number)
    devices = [
        name_switch(node.device) if node.device.kind == DeviceKind.SWITCH else node.device
        for node in reader.nodes
    ]
    devices = unique_names(devices, [node.id for node in reader.nodes])
    adapters = iter(name_adapters(d for d in devices if d.kind == DeviceKind.NIC))
    positions: dict[str, int] = {}
    for node, device in zip(reader.nodes, devices, strict=True):
        if node.id in positions:
            twin = collector.devices[positions[node.id]]
            raise source.refuse(
                "CTB-T104",
                f"node {node.id!r} has a second record; the first is in line {twin.line}",
                node.device.line,
                "keep one of the two",
            )
        known = next(adapters) if device.kind == DeviceKind.NIC else device
        positions[node.id] = collector.add(known)
    rated = any(port.speed is not None for node in reader.nodes for port in node.ports)
    for node in reader.nodes:
        for port in node.ports:
            _state(collector, node, port, positions, rated=rated)
    return collector.finish(source.name, reader.attributes)


def _state(
    collector: Collector, node: _Node, port: _Port, positions: dict[str, int], *, rated: bool
) -> None:
    source = collector.source
    far = positions.get(port.far_id)
    if far is None:
        raise source.refuse(
            "CTB-T105",
            f"port {port.port} leads to {port.far_id!r}, which has no record",
            port.line,
            "ibnetdiscover gives every node a record: is the file cut?",
        )
    near = positions[node.id]
    for device, number in ((near, port.port), (far, port.far_port)):
        ports = collector.devices[device].ports or 0
        if not 1 <= number <= ports:
            raise source.refuse(
                "CTB-T115",
                f"port {number} of {collector.devices[device].name!r}, which has {ports}",
                port.line,
                "ports count from 1",
            )
    rate = None
    if port.speed is None:
        if rated:
            raise source.bad_line(port.line, "whole: width and speed are missing", "is it cut?")
    elif not port.speed.startswith(_UNKNOWN_SPEED) and not port.speed.endswith("???"):
        rate = link_rate(port.speed)
        if rate is None:
            raise source.refuse(
                "CTB-T113",
                f"{shorten(port.speed)!r} is no width and speed of a link",
                port.line,
                "known: 1x, 2x, 4x, 8x or 12x of SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR",
            )
    collector.state(
        near, far, str(port.port), str(port.far_port), rate=rate, line=port.line, extra=port.extra
    )
