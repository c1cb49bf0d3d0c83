"""What a file of flows holds, whatever its format; and the refusals that all readers share."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from ctestbed.core.errors import InputError, Where
from ctestbed.core.result import Finding
from ctestbed.core.units import MAX_QUANTITY
from ctestbed.topology.formats.source import Source, shorten
from ctestbed.workload.flows import CLASSES, MAX_FLOWS, Column, Flows, circle_of, never_started

FlowFormat: TypeAlias = Literal["htsim-cm", "hpcc-flow", "csv"]

SwitchTier: TypeAlias = Literal["TOR", "AGG", "CORE"]

MAX_ENDPOINTS: Final = 10**9
"""Endpoint numbers are below this in any file."""

_SHOWN_CIRCLE: Final = 6


@dataclass(frozen=True, slots=True)
class SwitchCut:
    """A cable that a connection matrix leaves out: the `link`-th uplink of a numbered switch."""

    tier: SwitchTier
    switch: int
    link: int
    line: int = 0


@dataclass(frozen=True, slots=True)
class Labels:
    """What a format keeps about each flow that no engine reads. -1 (ids: 0) where it says nothing.

    `ports` are destination ports, `priorities` pull priorities, `messages` numbers inside a
    connection of one id.
    """

    ids: Column
    messages: Column
    priorities: Column
    ports: Column

    @classmethod
    def none(cls, count: int) -> "Labels":
        """Return labels that say nothing."""
        absent = np.full(count, -1, np.int64)
        return cls(np.zeros(count, np.int64), absent, absent.copy(), absent.copy())


@dataclass(frozen=True, slots=True)
class FlowFile:
    """A file's flows, the line of each, its labels, and what it says of the fabric.

    `nodes` is the number of hosts the file is written for, where it says so.
    """

    format: FlowFormat
    source: Source
    flows: Flows
    lines: Column
    labels: Labels
    nodes: int | None = None
    cuts: tuple[SwitchCut, ...] = ()
    notes: tuple[Finding, ...] = ()

    def where(self, flow: int, field: str | None = None) -> Where:
        """Return the place of a flow in its file."""
        return self.source.where(int(self.lines[flow]), field)

    def named(self, flow: int) -> str:
        """Return what messages call a flow: its id, or else its line."""
        number = int(self.labels.ids[flow])
        return f"flow {number}" if number else f"the flow of line {int(self.lines[flow])}"


def bad_field(source: Source, line: int, field: str, text: str, wants: str) -> InputError:
    """Return the refusal of one field of a line."""
    return source.refuse(
        "CTB-S035",
        f"{field} {shorten(text)!r} is not {wants}",
        line,
        "see `docs/how-to/drive-traffic.md` for the formats",
        pointer=field,
    )


def bad_line(source: Source, line: int, wants: str, hint: str) -> InputError:
    """Return the refusal of a line that does not fit the format."""
    shown = shorten(source.lines[line - 1])
    return source.refuse("CTB-S035", f"{shown!r} is not {wants}", line, hint)


def read_whole(source: Source, line: int, field: str, text: str, limit: int = MAX_QUANTITY) -> int:
    """Read a whole number of decimal digits, at most `limit`.

    Raises:
        InputError: anything else, a sign included.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(limit))):
        raise bad_field(source, line, field, text, f"a whole number up to {limit}")
    value = int(text)
    if value > limit:
        raise bad_field(source, line, field, text, f"a whole number up to {limit}")
    return value


def read_count(source: Source, line: int, field: str, text: str) -> int:
    """Read how many flows a file says it holds.

    Raises:
        InputError: no number, or more than are run at once.
    """
    count = read_whole(source, line, field, text)
    if count > MAX_FLOWS:
        raise source.refuse(
            "CTB-S012",
            f"{source.name!r} announces {count:,} flows, and {MAX_FLOWS:,} is the most that is "
            "run at once",
            line,
            "run a part of it",
            pointer=field,
        )
    return count


def wrong_count(source: Source, what: str, said: int, found: int, line: int) -> InputError:
    """Return the refusal of a file whose header and body disagree: it is cut short, or joined."""
    return source.refuse(
        "CTB-S036",
        f"{source.name!r} announces {said:,} {what} and holds {found:,}",
        line,
        "check that the file is whole, and mend the number if it is",
        pointer=what,
    )


def check_file(file: FlowFile) -> FlowFile:
    """Refuse flows that make no sense on any fabric, and waits that never end.

    Raises:
        InputError: a flow to itself or without bytes, a class out of range, an id that comes
            twice, flows that wait for each other.
    """
    flows = file.flows
    if not len(flows):
        raise file.source.refuse(
            "CTB-S036", f"{file.source.name!r} holds no flow", None, "check how it was made"
        )
    checks = (
        (flows.source == flows.destination, "CTB-S038", "sends to itself", "destination"),
        (flows.sizes <= 0, "CTB-S013", "has no bytes", "size"),
        (
            (flows.classes < 0) | (flows.classes >= CLASSES),
            "CTB-S035",
            "has no such class",
            "class",
        ),
    )
    for bad, code, what, field in checks:
        if bool(bad.any()):
            flow = int(bad.argmax())
            raise InputError(
                code,
                f"{file.named(flow)} {what}",
                where=file.where(flow, field),
                hint="drop the line, or mend it",
            )
    _check_ids(file)
    _check_waits(file)
    return file


def _check_ids(file: FlowFile) -> None:
    ids, messages = file.labels.ids, file.labels.messages
    given = np.flatnonzero(ids > 0)
    if not len(given):
        return
    order = given[np.lexsort((given, messages[given], ids[given]))]
    same = (ids[order][1:] == ids[order][:-1]) & (messages[order][1:] == messages[order][:-1])
    same &= messages[order][1:] != 0  # messages without a number are numbered as they come
    if not bool(same.any()):
        return
    second = order[1:][same]
    flow = int(second.min())
    first = int(order[:-1][same][second.argmin()])
    raise InputError(
        "CTB-S040",
        f"id {int(ids[flow])} is taken: line {int(file.lines[first])} has it too",
        where=file.where(flow, "id"),
        hint="number flows apart; messages of one connection differ in `msg`",
    )


def _check_waits(file: FlowFile) -> None:
    stuck = never_started(file.flows)
    if not stuck:
        return
    circle = circle_of(file.flows, stuck)
    shown = [file.named(flow) for flow in circle[:_SHOWN_CIRCLE]]
    shown += ["..."] * (len(circle) > _SHOWN_CIRCLE)
    raise InputError(
        "CTB-S042",
        f"{len(stuck):,} of {len(file.flows):,} flows can never start: "
        + " waits for ".join([*shown, shown[0]]),
        where=file.where(min(circle)),
        hint="let one of them start at a time instead of by a trigger",
    )


def check_endpoints(file: FlowFile, endpoints: int, name: str) -> None:
    """Refuse flows of hosts that a testbed does not have.

    Raises:
        InputError: with the first such line.
    """
    for field, column in (("source", file.flows.source), ("destination", file.flows.destination)):
        beyond = column >= endpoints
        if bool(beyond.any()):
            flow = int(beyond.argmax())
            raise InputError(
                "CTB-S037",
                f"{field} {int(column[flow])} of {file.named(flow)} is no endpoint of {name}, "
                f"which has {endpoints:,}",
                where=file.where(flow, field),
                hint=f"endpoints count from 0 to {endpoints - 1}; or name a larger testbed",
            )
