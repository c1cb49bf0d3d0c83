"""Node-link JSON, which networkx reads as a multigraph: nodes with ids, edges with keys."""

import json
from collections.abc import Iterator

from ctestbed.topology.cabling import Cabling
from ctestbed.topology.writers.common import (
    Fabric,
    Notes,
    batched,
    cable_rows,
    device_properties,
)


def write(fabric: Fabric, notes: Notes) -> Iterator[str]:
    """Write a graph. Rates are in bit/s, delays in ps, lengths in mm; what is unknown is absent."""
    del notes  # it holds everything
    cabling = fabric.cabling
    yield '{"directed": false, "multigraph": true, "graph": {"name": '
    yield f'{json.dumps(cabling.name)}}},\n"nodes": [\n'
    yield from batched(_nodes(cabling))
    yield '],\n"edges": [\n'
    yield from batched(_edges(cabling))
    yield "]}\n"


def _nodes(cabling: Cabling) -> Iterator[str]:
    last = len(cabling.devices) - 1
    for position, device in enumerate(cabling.devices):
        properties = {**device_properties(cabling, position), "id": device.name}
        text = json.dumps({"id": device.name} | properties)
        yield f"{text}{',' if position < last else ''}\n"


def _edges(cabling: Cabling) -> Iterator[str]:
    names = [json.dumps(device.name) for device in cabling.devices]
    ports = [json.dumps(name) for name in cabling.port_names]
    extra = [
        (json.dumps(key), values)
        for key, values in sorted(cabling.cables.extra.items())
        if key not in {"source", "target", "key", "a_port", "b_port", "rate", "delay", "length"}
    ]
    last = len(cabling.cables) - 1
    for row, (a, b, a_port, b_port, rate, delay, length) in enumerate(cable_rows(cabling.cables)):
        text = f'{{"source": {names[a]}, "target": {names[b]}, "key": {row}'
        if a_port >= 0:
            text += f', "a_port": {ports[a_port]}'
        if b_port >= 0:
            text += f', "b_port": {ports[b_port]}'
        if rate >= 0:
            text += f', "rate": {rate}'
        if delay >= 0:
            text += f', "delay": {delay}'
        if length >= 0:
            text += f', "length": {length}'
        for key, values in extra:
            value = values[row]
            if value is not None:
                text += f", {key}: {json.dumps(value)}"
        yield f"{text}}}{',' if row < last else ''}\n"
