"""Batfish's layer-1 topology: one JSON edge per cable, of host names and interfaces."""

import json
from collections.abc import Iterator
from typing import Final

from ctestbed.topology.writers.common import Fabric, Notes, batched, cable_rows
from ctestbed.topology.writers.ports import interface_texts
from ctestbed.topology.writers.views import folded, network

ALLOWED: Final = r"\x21-\x7e"
LONGEST: Final = 64


def write(fabric: Fabric, notes: Notes) -> Iterator[str]:
    """Write a layer-1 topology; adapters are interfaces of their host."""
    cabling = folded(network(fabric.cabling, notes))
    notes.add(
        "CTB-T312",
        "rates, delays, lengths, kinds and devices without a cable are not held",
        "Batfish takes these from the configurations of the devices",
    )
    a_text, b_text = interface_texts(cabling, notes, ALLOWED, LONGEST)
    names = [json.dumps(device.name) for device in cabling.devices]
    last = len(cabling.cables) - 1
    yield '{\n  "edges": [\n'
    yield from batched(
        '    {"node1": {"hostname": '
        f'{names[a]}, "interfaceName": {json.dumps(a_text(row, a_port))}}}, "node2": '
        f'{{"hostname": {names[b]}, "interfaceName": {json.dumps(b_text(row, b_port))}}}}}'
        f"{',' if row < last else ''}\n"
        for row, (a, b, a_port, b_port, _, _, _) in enumerate(cable_rows(cabling.cables))
    )
    yield "  ]\n}\n"
