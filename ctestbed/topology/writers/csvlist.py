"""A cable list as CSV: `a`, `a_port`, `b`, `b_port`, figures, then what is known of both ends."""

import csv
import io
from collections.abc import Iterator

import numpy as np

from ctestbed.core.units import format_length, format_rate, format_time
from ctestbed.topology.cabling import Cabling
from ctestbed.topology.writers.common import (
    BATCH,
    PROPERTIES,
    Fabric,
    Memo,
    Notes,
    cable_rows,
    device_properties,
    many,
)
from ctestbed.topology.writers.text import refuse_control_characters


def write(fabric: Fabric, notes: Notes) -> Iterator[str]:
    """Write a cable list; what is unknown is an empty field.

    Raises:
        InputError: a name with a line end in it.
    """
    cabling = fabric.cabling
    refuse_control_characters(cabling, notes)
    _note_devices(cabling, notes)
    known = [device_properties(cabling, position) for position in range(len(cabling.devices))]
    names = [name for name in ("kind", *PROPERTIES) if any(name in values for values in known)]
    own = [[str(values.get(name, "")) for name in names] for values in known]
    extra = sorted(cabling.cables.extra)
    header = ["a", "a_port", "b", "b_port", "rate", "delay", "length"]
    header += [f"{end}_{name}" for end in ("a", "b") for name in names] + extra
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    rate_text, delay_text, length_text = Memo(_rate), Memo(_time), Memo(_length)
    devices = [device.name for device in cabling.devices]
    ports = [*cabling.port_names, ""]  # -1 finds the empty one
    columns = [cabling.cables.extra[key] for key in extra]
    for row, (a, b, a_port, b_port, rate, delay, length) in enumerate(cable_rows(cabling.cables)):
        writer.writerow(
            [
                devices[a], ports[a_port], devices[b], ports[b_port],
                rate_text[rate], delay_text[delay], length_text[length],
                *own[a], *own[b], *(values[row] for values in columns),
            ]
        )  # fmt: skip
        if row % BATCH == BATCH - 1:
            yield _drain(buffer)
    yield _drain(buffer)


def _drain(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text


def _rate(value: int) -> str:
    return format_rate(value) if value >= 0 else ""


def _time(value: int) -> str:
    return format_time(value) if value >= 0 else ""


def _length(value: int) -> str:
    return format_length(value) if value >= 0 else ""


def _note_devices(cabling: Cabling, notes: Notes) -> None:
    cabled = np.zeros(len(cabling.devices), bool)
    cabled[cabling.cables.a] = cabled[cabling.cables.b] = True
    bare = len(cabled) - int(cabled.sum())
    if bare:
        notes.add(
            "CTB-T314",
            f"{many(bare, 'device')} without a cable are not in the list",
            "export to graphml or node-link to keep them",
        )
    if any(device.attributes for device in cabling.devices):
        notes.add(
            "CTB-T314",
            "attributes of devices beside kind, host, site, plane, pod, tier and rail are left out",
            "export to graphml or node-link to keep them",
        )
