"""The flow lists of HPCC's ns-3: a count, then `SRC DST CLASS PORT BYTES SECONDS` per flow.

Flows stand in the order of their starts, as the simulator takes them. It stops reading at the
count; what follows is prose.
"""

import re
from typing import Final

import numpy as np

from ctestbed.core.errors import InputError
from ctestbed.core.units import MAX_QUANTITY, PS_PER_SECOND
from ctestbed.topology.formats.source import Source
from ctestbed.workload.files.record import (
    MAX_ENDPOINTS,
    FlowFile,
    Labels,
    bad_field,
    bad_line,
    check_file,
    read_count,
    read_whole,
    wrong_count,
)
from ctestbed.workload.flows import CLASSES, Flows

_FIELDS: Final = 6
_SECONDS: Final = re.compile(r"([0-9]{1,7})(?:\.([0-9]{1,30}))?")
_DIGITS_OF_PS: Final = 12
_MAX_PORT: Final = 65_535
_DEFAULT_PORT: Final = 100
_EXAMPLE: Final = "such as `2 1 3 100 200000000 2.000005`"


def read_hpcc(source: Source) -> FlowFile:
    """Read a flow list.

    Raises:
        InputError: the count and the lines disagree, a line is malformed, or starts go back.
    """
    head = source.lines[0].split()
    if len(head) != 1:
        raise bad_line(source, 1, "the number of flows", "the first line is a number alone")
    count = read_count(source, 1, "flows", head[0])
    rows = [(number, source.lines[number - 1].split()) for number in _rows(source, count)]
    table = np.array([_row(source, line, words) for line, words in rows], np.int64).reshape(-1, 7)
    lines, origin, destination, classes, ports, sizes, starts = table.T
    back = np.flatnonzero(np.diff(starts) < 0)
    if len(back):
        raise bad_field(
            source,
            int(lines[back[0] + 1]),
            "start",
            rows[int(back[0]) + 1][1][5],
            "after the flow before it: starts ascend",
        )
    labels = Labels.none(len(table))
    labels.ports[:] = ports
    flows = Flows(origin, destination, sizes, starts, classes.astype(np.int8))
    return check_file(FlowFile("hpcc-flow", source, flows, lines, labels))


def _rows(source: Source, count: int) -> list[int]:
    """Return the lines that hold the flows: the first `count` that are not blank."""
    rows: list[int] = []
    for line in range(2, len(source.lines) + 1):
        if len(rows) == count:
            break
        if source.lines[line - 1].strip():
            rows.append(line)
    if len(rows) < count:
        raise wrong_count(source, "flows", count, len(rows), 1)
    return rows


def _row(source: Source, line: int, words: list[str]) -> tuple[int, ...]:
    if len(words) != _FIELDS:
        raise bad_line(source, line, "a flow of six fields", _EXAMPLE)
    fields = (
        ("source", MAX_ENDPOINTS - 1),
        ("destination", MAX_ENDPOINTS - 1),
        ("class", CLASSES - 1),
        ("port", _MAX_PORT),
        ("size", MAX_QUANTITY),
    )
    whole = [
        read_whole(source, line, name, text, limit)
        for (name, limit), text in zip(fields, words, strict=False)
    ]
    return line, *whole, _start(source, line, words[5])


def _start(source: Source, line: int, text: str) -> int:
    """Read seconds as picoseconds, exactly."""
    match = _SECONDS.fullmatch(text)
    fraction = (match[2] or "") if match else ""
    if match is None or fraction[_DIGITS_OF_PS:].strip("0"):
        raise bad_field(source, line, "start", text, "seconds, to the picosecond at most")
    ps = int(match[1]) * PS_PER_SECOND + int(fraction[:_DIGITS_OF_PS].ljust(_DIGITS_OF_PS, "0"))
    if ps > MAX_QUANTITY:
        raise bad_field(source, line, "start", text, f"at most {MAX_QUANTITY} ps")
    return ps


def dump_hpcc(flows: Flows, labels: Labels | None = None) -> str:
    """Write a flow list, in the order of starts.

    Raises:
        InputError: a flow waits for others, which the format cannot say.
    """
    if flows.after is not None:
        raise InputError(
            "CTB-S044",
            "a flow list of HPCC cannot say that a flow waits for others",
            hint="write a connection matrix or CSV, which can",
        )
    labels = labels or Labels.none(len(flows))
    lines = [str(len(flows))]
    for flow in np.argsort(flows.starts, kind="stable").tolist():
        port = int(labels.ports[flow])
        seconds, ps = divmod(int(flows.starts[flow]), PS_PER_SECOND)
        start = f"{seconds}.{ps:012d}".rstrip("0").rstrip(".")
        lines.append(
            f"{int(flows.source[flow])} {int(flows.destination[flow])} {int(flows.classes[flow])} "
            f"{port if port >= 0 else _DEFAULT_PORT} {int(flows.sizes[flow])} {start}"
        )
    return "\n".join(lines) + "\n"
