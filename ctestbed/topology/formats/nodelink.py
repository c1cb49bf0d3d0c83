"""Node-link JSON, as networkx writes it: nodes with ids, links (or edges) of source and target.

In a directed graph, two links there and back with the same ports are one cable.
"""

from typing import Any, Final

from ctestbed.topology.cabling import Cabling, Device
from ctestbed.topology.formats.collect import Collector
from ctestbed.topology.formats.document import Cursor, JSONDocument
from ctestbed.topology.formats.graph import Edge, add_edges
from ctestbed.topology.formats.properties import as_text, cable_fields, device_fields
from ctestbed.topology.formats.source import Source

FORMAT: Final = "node-link"

_ENDS: Final = {"source", "target", "key"}


def read(source: Source, document: JSONDocument) -> Cabling:
    """Read a node-link graph.

    Raises:
        InputError: not of this format, or a link to a node that is not there; with its place.
    """
    root = Cursor(document, document.value)
    collector = Collector(source, FORMAT)
    nodes = root.need("nodes")
    ids: dict[Any, int] = {}
    lines = document.item_lines(nodes.path) if isinstance(nodes.value, list) else []
    for node, line in zip(nodes.list(), lines, strict=False):
        identity = _identity(node.need("id"))
        values = {key: value for key, value in node.mapping().items() if key != "id"}
        where = source.where(line, node.pointer)
        fields = device_fields(values, where)
        device = Device(_name(identity), line=line, pointer=node.pointer, **fields)
        ids[identity] = collector.add(device)
    key = "links" if root.get("links") is not None else "edges"
    links = root.need(key)
    lines = document.item_lines(links.path) if isinstance(links.value, list) else []
    edges = []
    for link, line in zip(links.list(), lines, strict=False):
        ends = []
        for end in ("source", "target"):
            identity = _identity(link.need(end))
            if identity not in ids:
                raise link.at(end).refuse(
                    f"{_name(identity)[:60]!r} is joined to something, and is no node of the file",
                    "check that the file is whole",
                    "CTB-T105",
                )
            ends.append(ids[identity])
        values = {key: value for key, value in link.mapping().items() if key not in _ENDS}
        fields_of_cable = cable_fields(values, source.where(line, link.pointer))
        edges.append(Edge(ends[0], ends[1], fields_of_cable, line, link.pointer))
    add_edges(collector, edges, directed=bool(root.mapping().get("directed")))
    graph = root.get("graph")
    attributes = {}
    if graph is not None and isinstance(graph.value, dict):
        attributes = {key: as_text(value) for key, value in graph.value.items()}
    return collector.finish(attributes.get("name") or source.name, attributes)


def _identity(cursor: Cursor) -> Any:
    """Return a node's id: text, a number, or a list of them (a tuple in Python)."""
    if isinstance(cursor.value, list):
        return tuple(item.text() for item in cursor.list())
    cursor.text()
    return cursor.value


def _name(identity: Any) -> str:
    return "/".join(identity) if isinstance(identity, tuple) else str(identity)
