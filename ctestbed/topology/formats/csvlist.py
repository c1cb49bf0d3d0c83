"""A cable list as CSV: a header, and one row per cable.

Our columns: `a`, `a_port`, `b`, `b_port`, `rate`, `delay`, `length`; of the devices at the ends
`a_kind`, `b_kind` and the other fields of a device behind `a_` and `b_`; anything else is kept
with the cable. Other lists' names for these are known (`source`, `Side A Device`, `z_port`, ...),
parted by commas, semicolons or tabs.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ctestbed.topology.cabling import Cabling, DeviceKind
from ctestbed.topology.formats.collect import Collector
from ctestbed.topology.formats.properties import (
    NUMBER_FIELDS,
    TEXT_FIELDS,
    device_fields,
    lower_rate,
    quantity,
)
from ctestbed.topology.formats.source import Source, shorten

FORMAT: Final = "csv"

_SIDES: Final = {
    "a": ("a", "source", "src", "from", "local", "near", "side_a", "a_end", "node1", "left"),
    "b": ("b", "z", "target", "dst", "dest", "destination", "to", "remote", "far", "side_b",
          "b_end", "z_end", "node2", "right"),
}  # fmt: skip
_DEVICE_WORDS: Final = ("", "device", "node", "host", "hostname", "switch", "system", "name")
_PORT_WORDS: Final = ("port", "interface", "if", "intf", "ifname", "interface_name", "port_name")
_END_WORDS: Final = {"mtu": "_mtu", "mfs": "_mtu", "rate": "_rate", "speed": "_rate"}
"""What is set at one end of a cable."""
_PLAIN: Final = {
    "rate": ("rate", "speed", "bandwidth"),
    "delay": ("delay", "latency"),
    "length": ("length", "cable_length"),
}
_DELIMITERS: Final = (",", ";", "\t")
_LONGEST_FIELD: Final = 4096


def columns_of(header: str) -> tuple[str, list[str]] | None:
    """Return the delimiter and our names of the columns; None where it is no cable list."""
    for delimiter in _DELIMITERS:
        try:
            names = next(csv.reader([header], delimiter=delimiter, strict=True), [])
        except csv.Error:
            continue
        known = [_meaning(name) for name in names]
        # NetBox gives the device as `..._device` and the port as `..._name`.
        if {"a", "b", "a_name", "b_name"} <= set(known):
            known = [{"a_name": "a_port", "b_name": "b_port"}.get(name, name) for name in known]
        for stand_in in ("name", "host"):
            if not {"a", "b"} & set(known):
                ours = {f"{side}_{stand_in}": side for side in _SIDES}
                known = [ours.get(name, name) for name in known]
        if {"a", "b"} <= set(known):
            return delimiter, known
    return None


def is_cable_list(header: str) -> bool:
    """Tell whether a header names ports or figures of cables, not just two ends of something."""
    layout = columns_of(header)
    if layout is None:
        return False
    names = {name.strip().strip('"') for name in header.split(layout[0])}
    told = {"a_port", "b_port", *_PLAIN} & set(layout[1])
    return bool(told) or {"a", "b"} <= names


def _meaning(name: str) -> str:
    """Return our name of a column, or its own in small letters."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_")
    return _COLUMNS.get(plain, plain)


def _columns() -> dict[str, str]:
    """Return our name of every column name that is known, first meaning first."""
    words = {word: "" for word in _DEVICE_WORDS if word != "name"}
    words |= {"name": "_name"} | dict.fromkeys(_PORT_WORDS, "_port") | _END_WORDS
    found = {name: ours for ours, names in _PLAIN.items() for name in names}
    for side in _SIDES:
        fields = ("kind", *TEXT_FIELDS, *NUMBER_FIELDS)
        found |= {f"{side}_{name}": f"{side}_{name}" for name in fields}
    for side, prefixes in _SIDES.items():
        for prefix in prefixes:
            for word, ours in words.items():
                for joint in ("_", "") if word else ("",):
                    found.setdefault(f"{prefix}{joint}{word}", f"{side}{ours}")
    return found


_COLUMNS: Final = _columns()
_DEVICE_COLUMNS: Final = {
    side: {f"{side}_{name}" for name in ("kind", *TEXT_FIELDS, *NUMBER_FIELDS)} for side in _SIDES
}


def read(source: Source) -> Cabling:
    """Read a cable list.

    Raises:
        InputError: no header, ragged rows, a port named twice; with its line.
    """
    first = next(number for number, line in enumerate(source.lines, 1) if line.strip())
    layout = columns_of(source.lines[first - 1])
    if layout is None:
        raise source.bad_line(
            first, "the header of a cable list", "name the columns `a,a_port,b,b_port`"
        )
    delimiter, columns = layout
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        message = f"two columns mean `{twice or 'nothing'}`"
        raise source.refuse("CTB-T104", message, first, "keep one, or rename the other")
    collector = Collector(source, FORMAT)
    devices: dict[str, dict[str, str]] = {}
    lines = (f"{line}\n" for line in source.lines[first:])
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        line = first + reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            message = f"a row is no CSV: {error}"
            raise source.refuse("CTB-T101", message, line, "see the quotes") from None
        if row is None:
            break
        if any(field.strip() for field in row):
            _read_row(collector, columns, row, line, devices)
    for name, properties in devices.items():
        if not properties:
            continue
        position = collector.index[name]
        device = collector.devices[position]
        fields = device_fields(properties, source.where(device.line))
        fields.pop("attributes")
        collector.devices[position] = replace(device, **fields)
    return collector.finish(source.name)


def _read_row(
    collector: Collector,
    columns: list[str],
    row: list[str],
    line: int,
    devices: dict[str, dict[str, str]],
) -> None:
    source = collector.source
    if len(row) != len(columns) or max(map(len, row)) > _LONGEST_FIELD:
        message = f"a row of {len(row)} fields under {len(columns)} columns"
        raise source.refuse("CTB-T101", message, line, "check the delimiters and quotes")
    values = {
        name: field.strip() for name, field in zip(columns, row, strict=True) if field.strip()
    }
    ends = []
    for side in ("a", "b"):
        name = values.pop(side, "")
        if not name:
            message = f"the row names no device at end {side}"
            raise source.refuse("CTB-T113", message, line, "a cable has two ends")
        ends.append(collector.known(name, line, kind=DeviceKind.UNKNOWN))
        _learn(source, devices.setdefault(name, {}), values, side, (name, line))
    unit = values.pop("length_unit", "")
    if "length" in values:
        values["length"] += unit
    figures = {
        name: quantity(name, values.pop(name), source.where(line)) if name in values else None
        for name in _PLAIN
    }
    extra: Mapping[str, str | None] = {
        k: v for k, v in values.items() if k not in {"a_port", "b_port"}
    }
    if figures["rate"] is None:
        figures["rate"] = lower_rate(extra)
    collector.cable(
        ends[0],
        ends[1],
        values.get("a_port"),
        values.get("b_port"),
        rate=figures["rate"],
        delay=figures["delay"],
        length=figures["length"],
        line=line,
        extra=extra,
    )


def _learn(
    source: Source, known: dict[str, str], values: dict[str, str], side: str, place: tuple[str, int]
) -> None:
    """Move a row's properties of one device into what is known of it."""
    for column in [name for name in values if name in _DEVICE_COLUMNS[side]]:
        key, value = column[2:], values.pop(column)
        if known.setdefault(key, value) != value:
            name, line = place
            message = (
                f"`{key}` of {shorten(name)!r} is {shorten(value)!r} here and "
                f"{shorten(known[key])!r} above"
            )
            raise source.refuse("CTB-T104", message, line, "a device has one of it")
