"""containerlab's topology file: nodes by name, links as pairs of `node:interface`.

Links of other types than a cable between two nodes (to the host, a management network) are left
out and said so. Anchors and merge keys, which YAML allows here, are refused by our YAML reader.
"""

from typing import Any, Final

from ctestbed.core.yamlfile import load_yaml
from ctestbed.topology.cabling import Cabling, Device, DeviceKind
from ctestbed.topology.formats.collect import Collector
from ctestbed.topology.formats.document import Cursor
from ctestbed.topology.formats.properties import NUMBER_FIELDS, TEXT_FIELDS, device_fields
from ctestbed.topology.formats.source import Source, shorten

FORMAT: Final = "containerlab"

_HOST_KINDS: Final = {"linux", "k8s-kind", "generic_vm"}
_UNKNOWN_KINDS: Final = {"ext-container", ""}
_OUTSIDE: Final = {"host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy"}
_LABELS: Final = {"kind", *TEXT_FIELDS, *NUMBER_FIELDS}
_KEPT: Final = ("type", "group", "image", "kind")


def read(source: Source) -> Cabling:
    """Read a topology of containerlab.

    Raises:
        InputError: not of this format, or a link to a node that is not there; with its line.
    """
    document = load_yaml(source.text.encode(), source.name)
    root = Cursor(document, document.value)
    topology = root.need("topology")
    collector = Collector(source, FORMAT)
    default = topology.get("defaults")
    default_kind = default.get("kind") if default is not None else None
    nodes = topology.get("nodes")
    for name, node in nodes.items() if nodes is not None else ():
        fallback = "" if default_kind is None else default_kind.text()
        collector.add(_device(name, node, fallback))
    links = topology.get("links")
    for link in links.list() if links is not None else ():
        _read_link(collector, link)
    title = root.get("name")
    return collector.finish(source.name if title is None else title.text())


def _device(name: str, node: Cursor, kind: str) -> Device:
    values: dict[str, Any] = {} if node.value is None else dict(node.mapping())
    given = values.get("kind")
    kind = kind if given is None else node.at("kind").text()
    labels: dict[str, Any] = {}
    if values.get("labels") is not None:
        labels = {key: item.value for key, item in node.at("labels").items()}
    attributes = {key: str(values[key]) for key in _KEPT if values.get(key) is not None}
    fields = device_fields(
        {key: value for key, value in labels.items() if key in _LABELS},
        node.document.where(node.path),
    )
    attributes |= {f"label.{k}": str(v) for k, v in labels.items() if k not in _LABELS}
    fields.setdefault("kind", _kind(kind))
    if "type" in attributes:
        fields.setdefault("model", attributes["type"])
    if "group" in attributes:
        fields.setdefault("role", attributes["group"])
    fields["attributes"] = attributes
    return Device(name, line=node.line, pointer=node.pointer, **fields)


def _kind(word: str) -> DeviceKind:
    if word in _UNKNOWN_KINDS:
        return DeviceKind.UNKNOWN
    return DeviceKind.HOST if word in _HOST_KINDS else DeviceKind.SWITCH


def _read_link(collector: Collector, link: Cursor) -> None:
    line = link.line
    endpoints = link.get("endpoints")
    if endpoints is None:
        kind = link.need("type").text()
        link.need("endpoint")
        _leave_out(collector, f"a link of type {shorten(kind)!r} has one end here", line)
        return
    ends = [_end(item) for item in endpoints.list()]
    if len(ends) != 2:  # noqa: PLR2004 - a cable has two ends
        raise endpoints.refuse(f"a link has {len(ends)} endpoints", "a cable has two ends")
    outside = [name for name, _ in ends if name in _OUTSIDE and name not in collector.index]
    if outside:
        _leave_out(collector, f"a link leads out of the lab, to `{outside[0]}`", line)
        return
    devices = [
        collector.find(name, line, f"{endpoints.pointer}[{side}]")
        for side, (name, _) in enumerate(ends)
    ]
    extra = {"mtu": str(link.value["mtu"])} if link.value.get("mtu") is not None else None
    collector.cable(
        devices[0],
        devices[1],
        ends[0][1],
        ends[1][1],
        line=line,
        extra=extra,
        pointer=link.pointer,
    )


def _end(item: Cursor) -> tuple[str, str]:
    if isinstance(item.value, dict):
        return item.need("node").text(), item.need("interface").text()
    text = item.text()
    node, colon, interface = text.partition(":")
    if not (node and colon and interface):
        raise item.refuse(f"{shorten(text)!r} is no end of a link", "write `node:interface`")
    return node, interface


def _leave_out(collector: Collector, message: str, line: int | None) -> None:
    collector.note("CTB-T126", "note", f"{message}; it was left out", line)
