"""netlab's topology file: nodes, links in any of their short forms, and the fabric plugin.

The plugin makes leaves L1... and spines S1..., each leaf joined to each spine once. Names are
made from templates with `{count}`; other formulas are refused where a name depends on them.
Interfaces are numbered later by netlab, so cables have no ports here unless a link says `ifname`.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from ctestbed.core.yamlfile import load_yaml
from ctestbed.topology.cabling import Cabling, Device, DeviceKind
from ctestbed.topology.formats.collect import Collector
from ctestbed.topology.formats.document import Cursor
from ctestbed.topology.formats.source import Source, shorten

FORMAT: Final = "netlab"

_HOST_DEVICES: Final = {"linux", "none"}
_HOST_ROLES: Final = {"host"}
_TEMPLATE: Final = re.compile(r"\{\s*count\s*(?::0?([0-9]{1,2})d?)?\s*\}")
_LINK_KEYS: Final = {
    "bandwidth", "bridge", "bgp", "dhcp", "disable", "eigrp", "gateway", "group", "interfaces",
    "isis", "lag", "linkindex", "mpls", "mtu", "name", "ospf", "pool", "prefix", "ra", "ripv2",
    "role", "stp", "type", "unnumbered", "vlan", "vlan_name", "vrf", "vxlan", "members",
}  # fmt: skip


def read(source: Source) -> Cabling:
    """Read a topology of netlab.

    Raises:
        InputError: not of this format, or a link to a node that is not there; with its line.
    """
    document = load_yaml(source.text.encode(), source.name)
    root = Cursor(document, document.value)
    collector = Collector(source, FORMAT)
    default = _default_device(root)
    nodes = root.get("nodes")
    described = {} if nodes is None else _nodes(nodes)
    fabric = root.get("fabric")
    if fabric is not None:
        _fabric(collector, fabric, default, described)
    for name, node in described.items():
        if name not in collector.index:
            collector.add(_device(name, node, default))
    links = root.get("links")
    if links is not None:
        for link in links.list():
            _read_link(collector, link)
    if not collector.devices:
        raise root.refuse("the file names no node", "give `nodes`, or `fabric` with counts")
    title = root.get("name")
    attributes = {} if default is None else {"device": default}
    return collector.finish(source.name if title is None else title.text(), attributes)


def _default_device(root: Cursor) -> str | None:
    """Return the device that nodes are unless they say otherwise; keys may be dotted."""
    dotted = root.get("defaults.device")
    if dotted is not None:
        return dotted.text()
    defaults = root.get("defaults")
    device = defaults.get("device") if defaults is not None and defaults.value else None
    return None if device is None else device.text()


def _nodes(nodes: Cursor) -> dict[str, Cursor]:
    """Return nodes by name, from a mapping or from a list of names or mappings."""
    if isinstance(nodes.value, dict):
        return dict(nodes.items())
    found: dict[str, Cursor] = {}
    for item in nodes.list():
        name = item.need("name").text() if isinstance(item.value, dict) else item.text()
        if name in found:
            raise item.refuse(f"node {shorten(name)!r} stands twice", "keep one", "CTB-T104")
        found[name] = item
    return found


def _device(name: str, node: Cursor, default: str | None, role: str | None = None) -> Device:
    values: Mapping[str, Any] = node.value if isinstance(node.value, dict) else {}
    device = default if values.get("device") is None else node.at("device").text()
    given = role if values.get("role") is None else node.at("role").text()
    kind = DeviceKind.UNKNOWN if device is None and given is None else DeviceKind.SWITCH
    if given in _HOST_ROLES or (role is None and device in _HOST_DEVICES):
        kind = DeviceKind.HOST
    attributes = {} if device is None else {"device": device}
    line, pointer = node.line, node.pointer or None
    return Device(
        name, kind, model=device, role=given, line=line, pointer=pointer, attributes=attributes
    )


def _fabric(
    collector: Collector, fabric: Cursor, default: str | None, described: dict[str, Cursor]
) -> None:
    """Add what the fabric plugin makes: every leaf joined to every spine."""
    counts = {}
    for role in ("leaf", "spine"):
        given = fabric.get(f"{role}s")
        counts[role] = 1 if given is None else given.integer(0, 2**20)
    cables = counts["leaf"] * counts["spine"]
    collector.refuse_size(sum(counts.values()), cables, fabric.line)
    members: dict[str, list[int]] = {}
    for role, letter in (("leaf", "L"), ("spine", "S")):
        template, place = _template(fabric, role, f"{letter}{{count}}")
        members[role] = []
        for count in range(1, counts[role] + 1):
            name = _TEMPLATE.sub(lambda match, n=count: f"{n:0{int(match[1] or 1)}d}", template)  # type: ignore[misc]
            if "{" in name or "}" in name:
                raise place.refuse(
                    f"the template {shorten(template)!r} computes a name",
                    "use `{count}` alone, as in `leaf-{count}`",
                    "CTB-T114",
                )
            node = described.get(name, place)
            members[role].append(collector.add(_device(name, node, default, role)))
    for leaf in members["leaf"]:
        for spine in members["spine"]:
            collector.cable(leaf, spine, line=fabric.line, pointer=fabric.pointer)


def _template(fabric: Cursor, role: str, default: str) -> tuple[str, Cursor]:
    dotted = fabric.get(f"{role}.name")
    if dotted is not None:
        return dotted.text(), dotted
    nested = fabric.get(role)
    name = nested.get("name") if nested is not None else None
    return (default, fabric) if name is None else (name.text(), name)


def _read_link(collector: Collector, link: Cursor) -> None:
    if isinstance(link.value, dict) and link.value.get("group") is not None:
        members = link.get("members")
        if members is not None:
            for member in members.list():
                _read_link(collector, member)
            return
    ends = _ends(link)
    if len(ends) != 2:  # noqa: PLR2004 - a cable has two ends
        what = "one end" if len(ends) == 1 else f"{len(ends)} ends"
        message = f"a link of {what} is no cable between two nodes; it was left out"
        for name, _ in ends:
            collector.find(name, link.line, link.pointer)
        collector.note("CTB-T126", "note", message, link.line)
        return
    first, second = (collector.find(name, link.line, link.pointer) for name, _ in ends)
    extra: dict[str, str | None] = {}
    if isinstance(link.value, dict):
        kept = ("bandwidth", "mtu", "type", "name", "vlan")
        extra = {key: str(link.value[key]) for key in kept if link.value.get(key) is not None}
    rate = None
    if extra.get("bandwidth", "x").isdigit():  # type: ignore[union-attr]
        rate = link.at("bandwidth").integer(1, 2**40) * 1000  # netlab gives kb/s
    collector.cable(
        first,
        second,
        ends[0][1],
        ends[1][1],
        rate=rate,
        line=link.line,
        extra=extra,
        pointer=link.pointer,
    )


def _ends(link: Cursor) -> list[tuple[str, str | None]]:
    """Return the (node, interface) pairs of a link in any form: text, list, mapping."""
    if isinstance(link.value, str):
        parts = [part.strip() for part in link.value.split("-")]
        if not all(parts):
            raise link.refuse(f"{shorten(link.value)!r} is no link", "write `node-node`")
        return [(part, None) for part in parts]
    if isinstance(link.value, list):
        return [(item.text(), None) for item in link.list()]
    interfaces = link.get("interfaces")
    if interfaces is not None:
        return [
            (item.need("node").text(), _interface(item))
            if isinstance(item.value, dict)
            else (item.text(), None)
            for item in interfaces.list()
        ]
    found: list[tuple[str, str | None]] = []
    for key, item in link.items():
        if key not in _LINK_KEYS and key.split(".")[0] not in _LINK_KEYS:
            found.append((key, _interface(item) if isinstance(item.value, dict) else None))
    return found


def _interface(item: Cursor) -> str | None:
    name = item.get("ifname")
    return None if name is None else name.text()
