"""Flows as CSV: a header, and one row per flow.

    source, destination   endpoint numbers, or names of the testbed
    size | bytes          with a unit (`2MB`), or a bare number of bytes
    start | start_ps      with a unit (`10us`), or a bare number of picoseconds; 0 if left out
    class                 0 to 7; 0 if left out
    id                    a number from 1, by which other rows name the flow
    after                 ids that must be done sending first, parted by spaces
    after_receipt         ids that must be received first
    needs                 how many of them suffice; all if left out

Columns may stand in any order, parted by commas, semicolons or tabs.
"""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from ctestbed.core.errors import CtestbedError, InputError
from ctestbed.core.names import did_you_mean
from ctestbed.core.units import MAX_QUANTITY, parse_size, parse_time
from ctestbed.topology.formats.source import Source, shorten
from ctestbed.workload.files.record import (
    MAX_ENDPOINTS,
    FlowFile,
    Labels,
    bad_field,
    bad_line,
    check_file,
    read_whole,
)
from ctestbed.workload.flows import CLASSES, MAX_FLOWS, Column, Flows, Waits

Resolve = Callable[[str], int]
"""Gives the endpoint of a name, or raises."""

_COLUMNS: Final = (
    "source", "destination", "size", "bytes", "start", "start_ps", "class", "id", "after",
    "after_receipt", "needs",
)  # fmt: skip
_ALIASES: Final = {"src": "source", "dst": "destination"}
_DELIMITERS: Final = (",", ";", "\t")
_MAX_ID: Final = 2**32 - 1


def columns_of(header: str) -> tuple[str, list[str]] | None:
    """Return the delimiter and the columns of a header; None where it is of no flow table."""
    for delimiter in _DELIMITERS:
        words = [word.strip().lower() for word in header.split(delimiter)]
        names = [_ALIASES.get(word, word) for word in words]
        if {"source", "destination"} <= set(names) and {"size", "bytes"} & set(names):
            return delimiter, names
    return None


@dataclass(slots=True)
class _Row:
    line: int
    source: int
    destination: int
    size: int
    start: int
    klass: int
    number: int
    ahead: list[tuple[int, bool]]
    needs: int


def read_table(source: Source, resolve: Resolve | None = None) -> FlowFile:
    """Read a table of flows; `resolve` gives the endpoints of names.

    Raises:
        InputError: an unknown column, or a field that cannot be read, with its line.
    """
    found = columns_of(source.lines[0])
    if found is None:
        raise bad_line(
            source, 1, "a header of flows", "it names `source`, `destination` and `size` at least"
        )
    delimiter, names = found
    _check_header(source, names)
    rows: list[_Row] = []
    for line, fields in _records(source, delimiter):
        if len(rows) == MAX_FLOWS:
            message = f"{source.name!r} holds more than {MAX_FLOWS:,} flows"
            raise source.refuse("CTB-S012", message, line, "run a part of it")
        if len(fields) != len(names):
            shape = f"a row of {len(names)} fields: it has {len(fields)}"
            raise bad_line(source, line, shape, "quote a field that holds the delimiter")
        given = {name: text.strip() for name, text in zip(names, fields, strict=True)}
        rows.append(_read_row(source, line, given, resolve))
    return check_file(_build(source, rows))


def _check_header(source: Source, names: list[str]) -> None:
    for name in names:
        if name not in _COLUMNS:
            message = f"column {shorten(name)!r} means nothing in a table of flows"
            raise source.refuse("CTB-S035", message, 1, did_you_mean(name, _COLUMNS))
    for pair in (("size", "bytes"), ("start", "start_ps")):
        if len(names) != len(set(names)) or set(pair) <= set(names):
            raise bad_line(source, 1, "a header that says each thing once", "drop one column")


def _records(source: Source, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    for line, text in enumerate(source.lines[1:], 2):
        if not text.strip():
            continue
        try:
            yield line, next(csv.reader([text], delimiter=delimiter, strict=True))
        except csv.Error:
            raise bad_line(source, line, "a row: its quotes do not close", "mend it") from None


def _read_row(source: Source, line: int, given: dict[str, str], resolve: Resolve | None) -> _Row:
    def whole(name: str, limit: int, default: int) -> int:
        text = given.get(name, "")
        return read_whole(source, line, name, text, limit) if text else default

    number = whole("id", _MAX_ID, 0)
    if given.get("id") and not number:
        raise bad_field(source, line, "id", given["id"], "an id: ids count from 1")
    ahead = [
        (read_whole(source, line, name, word, _MAX_ID), name == "after_receipt")
        for name in ("after", "after_receipt")
        for word in given.get(name, "").split()
    ]
    needs = whole("needs", MAX_FLOWS, len(ahead))
    if not min(1, len(ahead)) <= needs <= len(ahead):
        wants = f"1 to {len(ahead)}" if ahead else "empty, as in any row that waits for nothing"
        raise bad_field(source, line, "needs", str(needs), wants)
    return _Row(
        line,
        _endpoint(source, line, "source", given["source"], resolve),
        _endpoint(source, line, "destination", given["destination"], resolve),
        _size(source, line, given),
        _start(source, line, given),
        whole("class", CLASSES - 1, 0),
        number,
        ahead,
        needs,
    )


def _endpoint(source: Source, line: int, name: str, text: str, resolve: Resolve | None) -> int:
    if text.isascii() and text.isdigit():
        return read_whole(source, line, name, text, MAX_ENDPOINTS - 1)
    if resolve is None:
        raise bad_field(source, line, name, text, "an endpoint's number")
    try:
        return resolve(text)
    except CtestbedError as error:
        raise source.refuse(
            "CTB-S037", f"{name}: {error.message}", line, error.hint or "name one", pointer=name
        ) from None


def _size(source: Source, line: int, given: dict[str, str]) -> int:
    if "bytes" in given:
        return read_whole(source, line, "bytes", given["bytes"])
    return parse_size(given["size"], source.where(line, "size"))


def _start(source: Source, line: int, given: dict[str, str]) -> int:
    if given.get("start_ps"):
        return read_whole(source, line, "start_ps", given["start_ps"], MAX_QUANTITY)
    return parse_time(given["start"], source.where(line, "start")) if given.get("start") else 0


def _build(source: Source, rows: list[_Row]) -> FlowFile:
    def column(values: list[int]) -> Column:
        return np.array(values, np.int64)

    labels = Labels.none(len(rows))
    labels.ids[:] = column([row.number for row in rows])
    flows = Flows(
        column([row.source for row in rows]),
        column([row.destination for row in rows]),
        column([row.size for row in rows]),
        column([row.start for row in rows]),
        column([row.klass for row in rows]).astype(np.int8),
        _waits(source, rows),
    )
    return FlowFile("csv", source, flows, column([row.line for row in rows]), labels)


def _waits(source: Source, rows: list[_Row]) -> Waits | None:
    if not any(row.ahead for row in rows):
        return None
    named = {row.number: at for at, row in enumerate(rows) if row.number}
    edges: list[tuple[int, bool]] = []
    for row in rows:
        for number, receipt in row.ahead:
            if number not in named:
                name = "after_receipt" if receipt else "after"
                raise bad_field(source, row.line, name, str(number), "the id of any row")
            edges.append((named[number], receipt))
    counts = np.array([len(row.ahead) for row in rows], np.int64)
    return Waits(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.array([flow for flow, _ in edges], np.int64),
        np.array([receipt for _, receipt in edges], bool),
        np.array([row.needs for row in rows], np.int64),
    )


def dump_table(flows: Flows, labels: Labels | None = None) -> str:
    """Write a table that reads back as the same flows; unnumbered flows are numbered on.

    Raises:
        InputError: two messages of one id, which a table cannot tell apart.
    """
    labels = labels or Labels.none(len(flows))
    ids = labels.ids.copy()
    missing = ids == 0
    ids[missing] = int(ids.max(initial=0)) + 1 + np.arange(int(missing.sum()))
    if len(np.unique(ids)) != len(ids):
        raise InputError(
            "CTB-S044",
            "a table of flows cannot say that several are messages of one connection",
            hint="write a connection matrix, which can",
        )
    waits = flows.after
    head = ["id", "source", "destination", "bytes", "start_ps", "class"]
    head += ["after", "after_receipt", "needs"] if waits is not None else []
    lines = [",".join(head)]
    columns = (ids, flows.source, flows.destination, flows.sizes, flows.starts, flows.classes)
    for flow, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        fields = [str(value) for value in row]
        if waits is not None:
            span = slice(waits.offsets[flow], waits.offsets[flow + 1])
            ahead, receipt = ids[waits.flows[span]], waits.receipt[span]
            fields += [" ".join(map(str, ahead[~receipt])), " ".join(map(str, ahead[receipt]))]
            fields.append(str(int(waits.needs[flow])) if len(ahead) else "")
        lines.append(",".join(fields))
    return "\n".join(lines) + "\n"
