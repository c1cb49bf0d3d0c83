"""LLDP neighbours as `lldpctl -f json` (or json0) prints them: of one host, or of many in one file.

Or as a table of all hosts: a list, by itself or as `lldp`, of `{"hostname", "ifname",
"peerHostname", "peerIfname"}`.

One host's report names its neighbours, not itself: the host is called by `local-chassis` where
that stands beside, and else as the file is. Many are `{"HOST": {"lldp": ...}, ...}` or a list of
`{"hostname": ..., "lldp": ...}`. A cable between two hosts that both report must be said by both;
of a neighbour that does not report, one end's word is taken.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, Final

from ctestbed.topology.cabling import Cabling, Device, DeviceKind
from ctestbed.topology.formats.collect import Collector
from ctestbed.topology.formats.document import Cursor, JSONDocument
from ctestbed.topology.formats.source import Source

FORMAT: Final = "lldp"

_HOST_KEYS: Final = ("hostname", "host", "name", "node")
_PORT_KEYS: Final = ("ifname",)
_PEER_KEYS: Final = ("peerHostname", "peer_hostname")
_FAR_KEYS: Final = ("peerIfname", "peer_ifname")
_NOBODY: Final = {"", "-", "N/A"}
_SWITCHING: Final = {"bridge", "router"}
_STATION: Final = "station"
_MEDIA: Final = re.compile(r"([0-9]{1,4})(g|gig)?base", re.IGNORECASE)


def read(source: Source, document: JSONDocument) -> Cabling:
    """Read LLDP neighbours.

    Raises:
        InputError: not of this format; with its place.
    """
    collector = Collector(source, FORMAT, crowded=True)
    table = _table(Cursor(document, document.value))
    if table is not None:
        _read_table(collector, table, document.item_lines(table.path))
        return collector.finish(source.name)
    reports = list(_reports(source, Cursor(document, document.value)))
    for name, report in reports:
        line = report.line
        collector.add(Device(name, line=line, pointer=report.pointer or None))
    reporting = set(collector.index)
    kinds: dict[str, DeviceKind] = {}
    for name, report in reports:
        for port, entry in _interfaces(report.need("lldp")):
            _read_neighbour(collector, (name, port), entry, reporting, kinds)
    collector.devices = [_with_kind(device, kinds.get(device.name)) for device in collector.devices]
    return collector.finish(source.name)


def is_row(value: object) -> bool:
    """Tell whether a value is a row of a table of neighbours."""
    return isinstance(value, dict) and all(
        any(word in value for word in words) for words in (_PEER_KEYS, _PORT_KEYS)
    )


def _table(root: Cursor) -> Cursor | None:
    """Return the table of neighbours of all hosts, where the file is one."""
    listed = root
    if isinstance(root.value, dict):
        if not isinstance(root.value.get("lldp"), list):
            return None
        listed = root.at("lldp")
    rows = listed.value
    return listed if isinstance(rows, list) and rows and is_row(rows[0]) else None


def _read_table(collector: Collector, table: Cursor, lines: list[int]) -> None:
    rows = list(table.list())
    for row, line in zip(rows, lines, strict=True):
        collector.known(row.need("hostname").text(), line)
    reporting = set(collector.index)
    for row, line in zip(rows, lines, strict=True):
        names = [next((k for k in keys if row.get(k)), keys[0]) for keys in (_PEER_KEYS, _FAR_KEYS)]
        peer, far_port = (row.get(name) for name in names)
        if peer is None or peer.value in _NOBODY:
            collector.note("CTB-T126", "note", "a row without a peer; it was left out", line)
            continue
        near = collector.known(row.need("hostname").text(), line)
        far = collector.known(peer.text(), line)
        join = collector.state if peer.text() in reporting else collector.cable
        said = None if far_port is None or far_port.value in _NOBODY else far_port.text()
        join(near, far, row.need(_PORT_KEYS[0]).text(), said, line=line, pointer=row.pointer)


def _with_kind(device: Device, kind: DeviceKind | None) -> Device:
    if kind is None:
        return device
    return Device(
        device.name,
        kind,
        line=device.line,
        pointer=device.pointer,
        description=device.description,
        attributes=device.attributes,
    )


def _reports(source: Source, root: Cursor) -> Iterator[tuple[str, Cursor]]:
    """Yield (host, report) of every host in the file."""
    if isinstance(root.value, list):
        for item in root.list():
            given = next((item.get(key) for key in _HOST_KEYS if item.get(key) is not None), None)
            if given is None:
                raise item.refuse("a report without its host", 'add `"hostname": "..."`')
            yield given.text(), item
        return
    if root.get("lldp") is not None:
        chassis = root.get("local-chassis")
        name = None
        if chassis is not None:
            name = _chassis(chassis.get("chassis") or chassis)[0]
        stem = PurePath(source.name).name.partition(".")[0].strip("-")
        yield name or stem or "local", root
        return
    for name, report in root.items():
        yield name, report


def _interfaces(lldp: Cursor) -> Iterator[tuple[str, Cursor]]:
    """Yield (local port, neighbour); of json, json0, one interface or several."""
    if isinstance(lldp.value, list):
        for part in lldp.list():
            yield from _interfaces(part)
        return
    if lldp.value == {}:
        return
    interfaces = lldp.get("interface")
    if interfaces is None:
        if "interface" in lldp.mapping():
            return
        raise lldp.refuse("`interface` is missing", "print it by `lldpctl -f json`")
    groups = interfaces.list() if isinstance(interfaces.value, list) else iter([interfaces])
    for group in groups:
        if isinstance(group.value, dict) and isinstance(group.value.get("name"), str):
            yield group.at("name").text(), group
            continue
        for port, entry in group.items():
            entries = entry.list() if isinstance(entry.value, list) else iter([entry])
            for neighbour in entries:
                yield port, neighbour


def _read_neighbour(
    collector: Collector,
    local: tuple[str, str],
    entry: Cursor,
    reporting: set[str],
    kinds: dict[str, DeviceKind],
) -> None:
    chassis, port = entry.get("chassis"), entry.get("port")
    if chassis is None or port is None:
        raise entry.refuse("a neighbour without its chassis or port", "print details, as lldpctl")
    remote, identity, kind = _chassis(_first(chassis))
    name = remote or identity
    if name is None:
        raise chassis.refuse("a chassis with neither name nor id", "print details, as lldpctl")
    far_port, media = _port(_first(port))
    frame = _first(port).get("mfs")
    line = entry.line
    near, far = collector.index[local[0]], collector.known(name, line)
    if kind is not None:
        kinds[name] = kind
    extra: dict[str, str | None] = {"media": media} if media else {}
    if frame is not None:
        extra["b_mtu"] = _value(frame)
    rate = _media_rate(media)
    if rate is not None:
        extra["b_rate"] = str(rate)
    if name in reporting:
        collector.state(near, far, local[1], far_port, rate=rate, line=line, extra=extra)
    else:
        collector.cable(near, far, local[1], far_port, rate=rate, line=line, extra=extra)


def _media_rate(media: str | None) -> int | None:
    """Return bit/s of an operational MAU type such as `100GbaseCR4` or `1000BaseTFD`."""
    match = None if media is None else _MEDIA.match(media)
    if match is None:
        return None
    return int(match[1]) * (10**9 if match[2] else 10**6)


def _first(cursor: Cursor) -> Cursor:
    """Return the value, or the first item of a list of one (json0)."""
    if isinstance(cursor.value, list) and cursor.value:
        return cursor.at(0)
    return cursor


def _chassis(chassis: Cursor) -> tuple[str | None, str | None, DeviceKind | None]:
    """Return name, id and kind of a chassis: `{NAME: {...}}`, or json0's list of fields."""
    chassis = _first(chassis)
    values = chassis.mapping()
    name = None
    inner = chassis
    if len(values) == 1 and "id" not in values and "name" not in values:
        (name,) = values
        inner = _first(chassis.at(name))
    elif values.get("name") is not None:
        name = _value(chassis.at("name"))
    identity = inner.get("id")
    return name, None if identity is None else _value(identity), _kind_of(inner)


def _kind_of(chassis: Cursor) -> DeviceKind | None:
    """Return the kind that the enabled capabilities tell: bridges and routers switch."""
    given = chassis.get("capability")
    if given is None:
        return None
    items = given.list() if isinstance(given.value, list) else iter([given])
    enabled = {
        str(item.value.get("type", "")).lower()
        for item in items
        if isinstance(item.value, dict) and item.value.get("enabled") in {True, "on", "true"}
    }
    if enabled & _SWITCHING:
        return DeviceKind.SWITCH
    return DeviceKind.HOST if _STATION in enabled else None


def _port(port: Cursor) -> tuple[str, str | None]:
    """Return a port's name and its medium: its id, or for a MAC address the description."""
    identity = port.need("id")
    kind = _first(identity).value
    word = kind.get("type") if isinstance(kind, dict) else None
    described = port.get("descr")
    name = _value(identity)
    if word == "mac" and described is not None:
        name = _value(described) or name
    if name is None:
        raise port.refuse("a port without an id", "print details, as lldpctl")
    negotiated = port.get("auto-negotiation")
    media: Any = None
    if negotiated is not None and isinstance(_first(negotiated).value, dict):
        media = _first(negotiated).value.get("current")
    return name, media if isinstance(media, str) else None


def _value(cursor: Cursor) -> str | None:
    """Return text given as itself, as `{"value": ...}`, or as a list of one such."""
    cursor = _first(cursor)
    if isinstance(cursor.value, dict):
        inner = cursor.get("value")
        return None if inner is None else inner.text()
    return cursor.text()
