"""GraphML: keys that declare properties, nodes, and edges that may name ports.

A node is called by its `name`, else its `label`, where all nodes have one of their own, and else
by its id. Hyperedges and graphs inside nodes are refused: no cable looks like that.
"""

from typing import Final

from ctestbed.topology.cabling import Cabling, Device
from ctestbed.topology.formats.collect import Collector
from ctestbed.topology.formats.graph import Edge, add_edges
from ctestbed.topology.formats.properties import cable_fields, device_fields
from ctestbed.topology.formats.source import Source, shorten
from ctestbed.topology.formats.xmltext import Element

FORMAT: Final = "graphml"

_IGNORED: Final = {"desc", "locator"}


def read(source: Source, root: Element) -> Cabling:
    """Read the one graph of a GraphML file.

    Raises:
        InputError: not of this format, or an edge to a node that is not there; with its line.
    """
    graphs = root.named("graph")
    if len(graphs) != 1:
        raise source.refuse(
            "CTB-T114", f"the file holds {len(graphs)} graphs", root.line, "keep the one to import"
        )
    graph = graphs[0]
    keys = _keys(source, root)
    collector = Collector(source, FORMAT)
    _refuse_others(source, graph)
    nodes = [(node, _properties(source, node, keys, "node")) for node in graph.named("node")]
    named = _naming(nodes)
    ids: dict[str, int] = {}
    for node, values in nodes:
        identity = _attribute(source, node, "id")
        if identity in ids:
            message = f"node {shorten(identity)!r} stands twice"
            raise source.refuse("CTB-T104", message, node.line, "keep one")
        name = identity if named is None else values.pop(named)
        fields = device_fields(values, source.where(node.line))
        if named is not None:
            fields["attributes"] = {"id": identity, **fields["attributes"]}
        ids[identity] = collector.add(Device(name, line=node.line, **fields))
    directed = graph.attributes.get("edgedefault") == "directed"
    edges = [_edge(source, edge, keys, ids) for edge in graph.named("edge")]
    add_edges(collector, edges, directed=directed)
    attributes = _properties(source, graph, keys, "graph")
    name = attributes.get("name") or graph.attributes.get("id") or source.name
    return collector.finish(name, attributes)


def _keys(source: Source, root: Element) -> dict[str, tuple[str, str, str | None]]:
    """Return each key's name, what it is of, and its default, by its id."""
    keys: dict[str, tuple[str, str, str | None]] = {}
    for key in root.named("key"):
        identity = _attribute(source, key, "id")
        if identity in keys:
            message = f"key {shorten(identity)!r} stands twice"
            raise source.refuse("CTB-T104", message, key.line, "keep one")
        name = key.attributes.get("attr.name", identity)
        default = key.named("default")
        text = default[0].text.strip() if default else None
        keys[identity] = (name, key.attributes.get("for", "all"), text)
    return keys


def _properties(
    source: Source, element: Element, keys: dict[str, tuple[str, str, str | None]], what: str
) -> dict[str, str]:
    """Return the properties of an element, declared defaults included."""
    values = {
        name: default
        for name, of, default in keys.values()
        if of in {what, "all"} and default is not None
    }
    for data in element.named("data"):
        key = _attribute(source, data, "key")
        if key not in keys:
            message = f"data of the undeclared key {shorten(key)!r}"
            raise source.refuse("CTB-T105", message, data.line, "declare it by a <key>")
        text = data.text.strip()
        if text:
            values[keys[key][0]] = text
    return values


def _naming(nodes: list[tuple[Element, dict[str, str]]]) -> str | None:
    """Return the property that every node has and no two share."""
    for candidate in ("name", "label"):
        names = {values.get(candidate) for _, values in nodes}
        if nodes and None not in names and len(names) == len(nodes):
            return candidate
    return None


def _edge(
    source: Source,
    edge: Element,
    keys: dict[str, tuple[str, str, str | None]],
    ids: dict[str, int],
) -> Edge:
    ends = []
    for end in ("source", "target"):
        identity = _attribute(source, edge, end)
        if identity not in ids:
            raise source.refuse(
                "CTB-T105",
                f"{shorten(identity)!r} is joined to something, and is no node of the file",
                edge.line,
                "check that the file is whole",
            )
        ends.append(ids[identity])
    values = _properties(source, edge, keys, "edge")
    for end, name in (("sourceport", "source_port"), ("targetport", "target_port")):
        if end in edge.attributes:
            values[name] = edge.attributes[end]
    fields = cable_fields(values, source.where(edge.line))
    return Edge(ends[0], ends[1], fields, edge.line)


def _attribute(source: Source, element: Element, name: str) -> str:
    value = element.attributes.get(name, "").strip()
    if not value:
        message = f"<{element.tag}> has no `{name}`"
        raise source.refuse("CTB-T113", message, element.line, f'write `{name}="..."`')
    return value


def _refuse_others(source: Source, graph: Element) -> None:
    known = {"node", "edge", "data", *_IGNORED}
    for child in graph.children:
        if child.tag not in known:
            message = f"<{child.tag}> is no node and no edge between two"
            raise source.refuse("CTB-T114", message, child.line, "a cable has two ends")
        nested = child.named("graph")
        if nested:
            message = "a graph inside a node"
            raise source.refuse("CTB-T114", message, nested[0].line, "flatten it first")
