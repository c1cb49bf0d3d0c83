"""GraphML: an undirected multigraph, with the properties of devices and cables as typed data."""

from collections.abc import Iterator
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from ctestbed.topology.cabling import Cabling
from ctestbed.topology.writers.common import (
    Fabric,
    Notes,
    batched,
    cable_rows,
    device_properties,
)
from ctestbed.topology.writers.text import refuse_control_characters

_NUMBERS: Final = frozenset({"ports", "plane", "pod", "tier", "rail"})
_CABLE_KEYS: Final = (
    ("a_port", "string"), ("b_port", "string"), ("rate", "long"), ("delay", "long"),
    ("length", "long"),
)  # fmt: skip


def write(fabric: Fabric, notes: Notes) -> Iterator[str]:
    """Write a graph. Rates are in bit/s, delays in ps, lengths in mm; what is unknown is absent.

    Raises:
        InputError: a name that XML cannot hold.
    """
    cabling = fabric.cabling
    refuse_control_characters(cabling, notes)
    node_keys = _node_keys(cabling)
    extra = sorted(set(cabling.cables.extra) - {key for key, _ in _CABLE_KEYS})
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    yield '  <key id="g0" for="graph" attr.name="name" attr.type="string"/>\n'
    for number, name in enumerate(node_keys):
        kind = "int" if name in _NUMBERS else "string"
        yield _key(f"n{number}", "node", name, kind)
    for number, (name, kind) in enumerate([*_CABLE_KEYS, *((key, "string") for key in extra)]):
        yield _key(f"e{number}", "edge", name, kind)
    yield '  <graph id="fabric" edgedefault="undirected">\n'
    yield f'    <data key="g0">{escape(cabling.name)}</data>\n'
    yield from batched(_nodes(cabling, node_keys))
    yield from batched(_edges(cabling, extra))
    yield "  </graph>\n</graphml>\n"


def _key(identity: str, of: str, name: str, kind: str) -> str:
    return f'  <key id="{identity}" for="{of}" attr.name={quoteattr(name)} attr.type="{kind}"/>\n'


def _node_keys(cabling: Cabling) -> dict[str, str]:
    """Return the key of every property some device has, the name first."""
    names = {"name": None}
    for position in range(len(cabling.devices)):
        names.update(dict.fromkeys(device_properties(cabling, position)))
    return {name: f"n{number}" for number, name in enumerate(names)}


def _nodes(cabling: Cabling, keys: dict[str, str]) -> Iterator[str]:
    for position, device in enumerate(cabling.devices):
        values = {"name": device.name, **device_properties(cabling, position)}
        data = "".join(
            f'<data key="{keys[name]}">{escape(str(value))}</data>'
            for name, value in values.items()
        )
        yield f'    <node id="d{position}">{data}</node>\n'


def _edges(cabling: Cabling, extra: list[str]) -> Iterator[str]:
    ports = [escape(name) for name in cabling.port_names]
    columns = [
        (f"e{len(_CABLE_KEYS) + n}", cabling.cables.extra[key]) for n, key in enumerate(extra)
    ]
    for row, (a, b, a_port, b_port, rate, delay, length) in enumerate(cable_rows(cabling.cables)):
        data = f'<data key="e0">{ports[a_port]}</data>' if a_port >= 0 else ""
        if b_port >= 0:
            data += f'<data key="e1">{ports[b_port]}</data>'
        if rate >= 0:
            data += f'<data key="e2">{rate}</data>'
        if delay >= 0:
            data += f'<data key="e3">{delay}</data>'
        if length >= 0:
            data += f'<data key="e4">{length}</data>'
        for key, values in columns:
            value = values[row]
            if value is not None:
                data += f'<data key="{key}">{escape(value)}</data>'
        yield f'    <edge id="c{row}" source="d{a}" target="d{b}">{data}</edge>\n'
