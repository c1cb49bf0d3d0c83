"""netlab's topology file: nodes, links in any of their short forms, and the fabric plugin.

Nodes may also come of groups with `_auto_create`, and links stand in a VLAN or VRF, in lists by
name, or as the members of a LAG; components are refused. The plugin makes leaves L1... and spines
S1..., each leaf joined to each spine once. Names are made from templates with `{count}`; other
formulas are refused where a name depends on them.
Interfaces are numbered later by netlab, so cables have no ports here unless a link says `ifname`.
"""

import fnmatch
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
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
    "bandwidth", "bfd", "bgp", "bridge", "clab", "dhcp", "disable", "dns", "eigrp", "evpn",
    "gateway", "graph", "group", "interfaces", "isis", "lag", "libvirt", "linkindex", "mac",
    "members", "mlag", "mpls", "mtu", "name", "netem", "node_count", "ospf", "pim", "pool",
    "prefix", "ra", "ripv2", "role", "routing", "shutdown", "sr", "srv6", "stp", "tc", "type",
    "unnumbered", "vlan", "vlan_name", "vrf", "vxlan",
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
    if root.get("components") is not None:
        hint = "import what `netlab create` makes of it"
        raise root.at("components").refuse("components are not read", hint, "CTB-T114")
    nodes = root.get("nodes")
    described = {} if nodes is None else _nodes(nodes)
    groups = _groups(root, described)
    fabric = root.get("fabric")
    if fabric is not None:
        _fabric(collector, fabric, default, described)
    for name, node in described.items():
        if name not in collector.index:
            collector.add(_device(name, node, default, group=groups.get(name)))
    for name, group in groups.items():
        if group.creates and name not in collector.index:
            collector.add(_device(name, group.place, default, group=group))
    attributes = _link_keys(root)
    for links in _lists_of_links(root):
        for link in links.list():
            _read_link(collector, link, attributes)
    if not collector.devices:
        raise root.refuse("the file names no node", "give `nodes`, or `fabric` with counts")
    title = root.get("name")
    common = {} if default is None else {"device": default}
    return collector.finish(source.name if title is None else title.text(), common)


@dataclass(frozen=True)
class _Group:
    """What a node has of the first group that says so; `creates` where that makes the node."""

    place: Cursor
    device: str | None
    role: str | None
    creates: bool


def _groups(root: Cursor, nodes: Iterable[str]) -> dict[str, _Group]:
    """Return what nodes have of groups: those of the file first, then the default ones."""
    found: dict[str, _Group] = {}
    defaults = root.get("defaults")
    for groups in (
        root.get("groups"),
        root.get("defaults.groups"),
        defaults.get("groups") if defaults is not None and defaults.value else None,
    ):
        if groups is None:
            continue
        creates = groups.mapping().get("_auto_create") is True
        for name, group in groups.items():
            if not name.startswith("_"):
                _read_group(group, found, nodes, creates=creates)
    return found


def _read_group(
    group: Cursor, found: dict[str, _Group], nodes: Iterable[str], *, creates: bool
) -> None:
    values = group.value if isinstance(group.value, dict) else {}
    if values.get("type") in {"vlan", "vrf"}:
        return
    creates = values.get("_auto_create", creates) is True
    members = group if isinstance(group.value, list) else values and group.get("members")
    if not members:
        return
    places: list[tuple[str, Cursor]] = []
    if isinstance(members.value, str):  # a pattern, such as `leaf*`
        places = [(name, members) for name in fnmatch.filter(nodes, members.value)]
    else:
        places = [(member.text(), member) for member in members.list()]
    device, role = (
        group.at(key).text() if values.get(key) is not None else None for key in ("device", "role")
    )
    for name, place in places:
        before = found.get(name, _Group(place, None, None, creates=False))
        found[name] = _Group(
            place, before.device or device, before.role or role, creates=before.creates or creates
        )


def _link_keys(root: Cursor) -> frozenset[str]:
    """Return the keys of a link that name no node: netlab's, its modules', and added ones."""
    keys = set(_LINK_KEYS)
    modules = root.get("module")
    if modules is not None:
        listed = modules.list() if isinstance(modules.value, list) else (modules,)
        keys |= {module.text() for module in listed}
    added: list[Any] = [root.mapping().get("defaults")]
    for step in ("attributes", "link"):
        added = [value.get(step) for value in added if isinstance(value, dict)]
    keys |= {key for value in added if isinstance(value, dict) for key in value}
    for key in ("defaults.attributes.link", "attributes.link"):
        for place in (root.mapping(), root.mapping().get("defaults") or {}):
            if isinstance(place, dict):
                keys |= {name[len(key) + 1 :] for name in place if name.startswith(f"{key}.")}
    return frozenset(keys)


def _lists_of_links(root: Cursor) -> Iterator[Cursor]:
    """Yield every list of links: of the file, in its groups by name, of its VLANs and VRFs."""
    links = root.get("links")
    if links is not None and isinstance(links.value, dict):
        for name in links.mapping():
            yield links.at(name)
    elif links is not None:
        yield links
    for key in ("vlans", "vrfs"):
        section = root.get(key)
        for _, item in section.items() if section is not None else ():
            inner = item.get("links") if isinstance(item.value, dict) else None
            if inner is not None:
                yield inner


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
    found: dict[str, Cursor] = {}
    if isinstance(nodes.value, dict):
        for key, item in nodes.items():  # `r1.bgp.as: 65000` describes r1 too
            name = key.split(".")[0]
            if name == key or name not in found:
                found[name] = item
        return found
    for item in nodes.list():
        name = item.need("name").text() if isinstance(item.value, dict) else item.text()
        if name in found:
            raise item.refuse(f"node {shorten(name)!r} stands twice", "keep one", "CTB-T104")
        found[name] = item
    return found


def _device(
    name: str,
    node: Cursor,
    default: str | None,
    role: str | None = None,
    group: _Group | None = None,
) -> Device:
    values: Mapping[str, Any] = node.value if isinstance(node.value, dict) else {}
    usual = group.device or default if group is not None else default
    device = usual if values.get("device") is None else node.at("device").text()
    shared = group.role or role if group is not None else role
    given = shared if values.get("role") is None else node.at("role").text()
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


def _read_link(collector: Collector, link: Cursor, attributes: frozenset[str]) -> None:
    members = _members(link)
    if members is not None:
        for member in members.list():
            _read_link(collector, member, attributes)
        return
    ends = _ends(link, collector.index, attributes)
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


def _members(link: Cursor) -> Cursor | None:
    """Return the links that a group of them or a LAG stands for; None for a link itself."""
    if not isinstance(link.value, dict):
        return None
    if link.value.get("group") is not None:
        return link.get("members")
    lag = link.value.get("lag")
    if isinstance(lag, dict) and lag.get("members") is not None:
        return link.at("lag").at("members")
    return link.get("lag.members")


def _ends(
    link: Cursor, nodes: Container[str], attributes: frozenset[str]
) -> list[tuple[str, str | None]]:
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
        name = key.split(".")[0]
        if name != key and name in nodes:  # `r1.ipv4: ...` is of the end at r1
            found += [(name, None)] * (name not in link.mapping())
        elif key not in attributes and name not in attributes:
            found.append((key, _interface(item) if isinstance(item.value, dict) else None))
    return found


def _interface(item: Cursor) -> str | None:
    name = item.get("ifname")
    return None if name is None else name.text()
