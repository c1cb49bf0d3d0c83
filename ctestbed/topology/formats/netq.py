"""NetQ's topology graph: JSON nodes in tiers, and links that bundle the cables of two nodes."""

from typing import Final

from ctestbed.topology.cabling import Cabling, Device, DeviceKind
from ctestbed.topology.formats.collect import Collector
from ctestbed.topology.formats.document import Cursor, JSONDocument
from ctestbed.topology.formats.properties import lower_rate
from ctestbed.topology.formats.source import Source

FORMAT: Final = "netq"

_KINDS: Final = {
    "switch": DeviceKind.SWITCH,
    "router": DeviceKind.SWITCH,
    "host": DeviceKind.HOST,
    "server": DeviceKind.HOST,
}


def read(source: Source, document: JSONDocument) -> Cabling:
    """Read a topology graph of NetQ; it may list several graphs.

    Raises:
        InputError: not of this format, or sizes that differ from what is listed; with its place.
    """
    root = Cursor(document, document.value)
    collector = Collector(source, FORMAT)
    ids: dict[str, int] = {}
    graphs = list(root.list()) if isinstance(root.value, list) else [root]
    for graph in graphs:
        nodes = graph.get("nodes")
        for group in nodes.list() if nodes is not None else ():
            _read_nodes(collector, group, ids)
    for graph in graphs:
        links = graph.get("links")
        if links is None:
            continue
        lines = document.item_lines(links.path) if isinstance(links.value, list) else []
        for link, line in zip(links.list(), lines, strict=False):
            _read_link(collector, link, ids, line)
    return collector.finish(source.name)


def _read_nodes(collector: Collector, group: Cursor, ids: dict[str, int]) -> None:
    members = group.get("compounded_nodes")
    for node in members.list() if members is not None else [group]:
        node_id = node.need("id").text()
        if node_id in ids:
            raise node.refuse(f"node {node_id[:60]!r} stands twice", "keep one", "CTB-T104")
        given = node.get("name")
        name = node_id if given is None else given.text()
        tier = node.get("tier")
        level = None if tier is None else max(tier.integer(-1, 1000), 0)
        word = node.get("device_type")
        role = None if word is None else word.text()
        kind = _KINDS.get(role or "", DeviceKind.HOST if level == 0 else DeviceKind.UNKNOWN)
        ids[node_id] = collector.add(
            Device(
                node_id if name in collector.index else name,
                kind,
                tier=level,
                pointer=node.pointer,
                attributes={"id": node_id} | ({} if role is None else {"device_type": role}),
            )
        )
    if members is not None:
        _check_size(group, members)


def _check_size(owner: Cursor, members: Cursor) -> None:
    size = owner.get("size")
    if size is not None and size.integer() != len(members.value):
        raise size.refuse(
            f"`{size.pointer}` says {size.value}, and {len(members.value)} are listed",
            "check that the file is whole",
            "CTB-T102",
        )


def _read_link(collector: Collector, link: Cursor, ids: dict[str, int], line: int) -> None:
    cables = link.need("compounded_links")
    _check_size(link, cables)
    for cable in cables.list():
        ends = list(cable.need("interfaces").list())
        if len(ends) != 2:  # noqa: PLR2004 - a cable has two ends
            raise cable.refuse(f"a link has {len(ends)} interfaces", "a cable has two ends")
        devices = []
        for end in ends:
            node = end.need("node").text()
            if node not in ids:
                raise end.refuse(
                    f"{node[:60]!r} is joined to something, and is no node of the file",
                    "check that the file is whole",
                    "CTB-T105",
                )
            devices.append(ids[node])
        ports = [None if (port := end.get("interface")) is None else port.text() for end in ends]
        extra = _set_at_ends(ends)
        collector.cable(
            devices[0],
            devices[1],
            ports[0],
            ports[1],
            rate=lower_rate(extra),
            line=line,
            extra=extra,
            pointer=cable.pointer,
        )


def _set_at_ends(ends: list[Cursor]) -> dict[str, str | None]:
    """Return the speed and frame size that the interfaces of a cable say, where they do."""
    found: dict[str, str | None] = {}
    for side, end in zip("ab", ends, strict=True):
        for key, ours in (("mtu", "mtu"), ("speed", "rate")):
            given = end.get(key)
            if given is not None:
                found[f"{side}_{ours}"] = given.text()
    return found
