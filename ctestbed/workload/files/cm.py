"""htsim's connection matrices (`.cm`): counts, flows with times or triggers, triggers, failures.

    Nodes N / Connections N / Triggers N / Failures N
    SRC->DST id I start PS size BYTES [prio P] [msg [M]]
    SRC->DST id I trigger T size BYTES [send_done_trigger T] [recv_done_trigger T]
    trigger id T oneshot|multishot|barrier [count N]
    failure switch_type TOR|AGG|CORE switch_id S link_id L

Times are picoseconds. Blank lines and lines from `#` on are skipped. A flow may also fire triggers
and start at a time; it has either a time or a trigger to start by.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, cast

import numpy as np

from ctestbed.core.errors import InputError
from ctestbed.core.names import did_you_mean
from ctestbed.core.units import MAX_QUANTITY
from ctestbed.topology.formats.source import Source
from ctestbed.workload.files.record import (
    MAX_ENDPOINTS,
    FlowFile,
    Labels,
    SwitchCut,
    SwitchTier,
    bad_field,
    bad_line,
    check_file,
    read_count,
    read_whole,
    wrong_count,
)
from ctestbed.workload.files.triggers import KINDS, Trigger, triggers_of, waits_of
from ctestbed.workload.flows import Flows

_HEADERS: Final = ("Nodes", "Connections", "Triggers", "Failures")
_ENDS: Final = re.compile(r"([0-9]{1,9})->([0-9]{1,9})")
_NUMBERS: Final = (
    "start", "size", "id", "prio", "trigger", "send_done_trigger", "recv_done_trigger", "msg",
)  # fmt: skip
_WHOLE_DECIMAL: Final = re.compile(r"([0-9]{1,19})\.0*")
_TIERS: Final = ("TOR", "AGG", "CORE")
_MAX_ID: Final = 2**32 - 1


class _Reader:
    """The columns of a connection matrix while it is read, line by line."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.counts: dict[str, int] = {}
        self.rows: list[tuple[int, int, int, int, int, int, int, int]] = []
        self.triggers: dict[int, Trigger] = {}
        self.defined = 0
        self.cuts: list[SwitchCut] = []
        self.last = 1

    def read(self) -> None:
        in_header = True
        for line, tokens in self._lines():
            self.last = line
            word = tokens[0]
            if in_header and word in _HEADERS:
                self._header(line, tokens)
                continue
            if in_header and "Connections" not in self.counts:
                hint = "a connection matrix starts with `Nodes N` and `Connections N`"
                raise bad_line(self.source, line, "a count", hint)
            in_header = False
            if "->" in word:
                self._connection(line, tokens)
            elif word == "trigger":
                self._trigger(line, tokens[1:])
            elif word == "failure":
                self._failure(line, tokens[1:])
            else:
                hint = "lines are `SRC->DST ...`, `trigger ...` or `failure ...`"
                raise bad_line(self.source, line, "a flow, a trigger or a failure", hint)
        self._compare_counts()

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        for line, text in enumerate(self.source.lines, 1):
            tokens = text.split()
            if tokens and not tokens[0].startswith("#"):
                yield line, tokens

    def _header(self, line: int, tokens: list[str]) -> None:
        word = tokens[0]
        if len(tokens) != 2 or word in self.counts:  # noqa: PLR2004 - a word and its number
            raise bad_line(self.source, line, f"the only `{word} N`", "give each count once")
        read = read_whole if word == "Nodes" else read_count
        self.counts[word] = read(self.source, line, word, tokens[1])

    def _compare_counts(self) -> None:
        found = {
            "Connections": len(self.rows),
            "Triggers": self.defined,
            "Failures": len(self.cuts),
        }
        for word, count in found.items():
            said = self.counts.get(word, 0)
            if said != count:
                raise wrong_count(self.source, word.lower(), said, count, self.last)

    def _pairs(self, line: int, tokens: list[str], known: tuple[str, ...]) -> dict[str, str]:
        """Return the words of a line with what follows each; `msg` may stand alone."""
        pairs: dict[str, str] = {}
        at = 0
        while at < len(tokens):
            word = tokens[at]
            if word not in known:
                hint = did_you_mean(word, known)
                raise bad_line(self.source, line, f"made of known words: {word[:40]!r}", hint)
            if word in pairs:
                raise bad_line(self.source, line, f"clear: `{word}` comes twice", "give it once")
            value = tokens[at + 1] if at + 1 < len(tokens) else ""
            alone = word == "msg" and not value.isdigit()
            if not alone and (not value or value in known):
                raise bad_field(self.source, line, word, value, "a value")
            pairs[word] = "" if alone else value
            at += 1 if alone else 2
        return pairs

    def _number(self, line: int, pairs: dict[str, str], word: str, limit: int) -> int:
        return read_whole(self.source, line, word, pairs[word], limit) if word in pairs else -1

    def _named(self, line: int, pairs: dict[str, str], word: str) -> int:
        """Return an id, which is never 0; 0 where there is none."""
        if word not in pairs:
            return 0
        number = read_whole(self.source, line, word, pairs[word], _MAX_ID)
        if not number:
            raise bad_field(self.source, line, word, "0", "an id: ids count from 1")
        return number

    def _connection(self, line: int, tokens: list[str]) -> None:
        ends = _ENDS.fullmatch(tokens[0])
        if ends is None:
            raise bad_field(self.source, line, "SRC->DST", tokens[0], "two host numbers")
        pairs = self._pairs(line, tokens[1:], _NUMBERS)
        if ("start" in pairs) == ("trigger" in pairs):
            hint = "give the flow either `start PS` or `trigger T`"
            raise bad_line(self.source, line, "a flow with one way to start", hint)
        if "size" not in pairs:
            raise bad_line(self.source, line, "a flow with a size", "add `size BYTES`")
        source, destination = int(ends[1]), int(ends[2])
        nodes = self.counts.get("Nodes", MAX_ENDPOINTS)
        for field, host in (("source", source), ("destination", destination)):
            if host >= nodes:
                raise self.source.refuse(
                    "CTB-S037",
                    f"{field} {host} is no host: the file has {nodes:,}",
                    line,
                    f"hosts count from 0 to {nodes - 1}; or mend `Nodes`",
                    pointer=field,
                )
        message = -1
        if "msg" in pairs:
            message = self._named(line, pairs, "msg") if pairs["msg"] else 0
        flow = len(self.rows)
        self.rows.append(
            (
                line,
                source,
                destination,
                self._number(line, pairs, "size", MAX_QUANTITY),
                self._start(line, pairs.get("start", "0")),
                self._named(line, pairs, "id"),
                self._number(line, pairs, "prio", MAX_QUANTITY),
                message,
            )
        )
        self._joins(line, pairs, flow)

    def _start(self, line: int, text: str) -> int:
        decimal = _WHOLE_DECIMAL.fullmatch(text)
        return read_whole(self.source, line, "start", decimal[1] if decimal else text)

    def _joins(self, line: int, pairs: dict[str, str], flow: int) -> None:
        for word in ("trigger", "send_done_trigger", "recv_done_trigger"):
            number = self._named(line, pairs, word)
            if not number:
                continue
            trigger = self.triggers.setdefault(number, Trigger(number))
            trigger.used = trigger.used or line
            if word == "trigger":
                trigger.targets.append(flow)
            else:
                trigger.firers.append((flow, word == "recv_done_trigger"))

    def _trigger(self, line: int, tokens: list[str]) -> None:
        kinds = [token for token in tokens if token in KINDS]
        rest = [token for token in tokens if token not in KINDS]
        pairs = self._pairs(line, rest, ("id", "count"))
        number = self._named(line, pairs, "id")
        if not number or len(kinds) != 1:
            hint = "write `trigger id T oneshot`, `multishot`, or `barrier count N`"
            raise bad_line(self.source, line, "a trigger with one id and one kind", hint)
        trigger = self.triggers.setdefault(number, Trigger(number))
        if trigger.line:
            raise self.source.refuse(
                "CTB-S040",
                f"trigger {number} is defined already, on line {trigger.line}",
                line,
                "number triggers apart",
                pointer="id",
            )
        trigger.line, trigger.kind = line, kinds[0]
        trigger.count = max(0, self._number(line, pairs, "count", _MAX_ID))
        self.defined += 1

    def _failure(self, line: int, tokens: list[str]) -> None:
        words = ("switch_type", "switch_id", "link_id")
        pairs = self._pairs(line, tokens, words)
        if len(pairs) != len(words):
            hint = "write `failure switch_type AGG switch_id S link_id L`"
            raise bad_line(self.source, line, "a whole failure", hint)
        tier = pairs["switch_type"]
        if tier not in _TIERS:
            raise bad_field(self.source, line, "switch_type", tier, "TOR, AGG or CORE")
        switch, link = (self._number(line, pairs, word, MAX_ENDPOINTS) for word in words[1:])
        self.cuts.append(SwitchCut(cast("SwitchTier", tier), switch, link, line))


def read_cm(source: Source) -> FlowFile:
    """Read a connection matrix.

    Raises:
        InputError: anything that the format does not allow or htsim would stop at, with its line.
    """
    reader = _Reader(source)
    reader.read()
    table = np.array(reader.rows, np.int64).reshape(-1, 8)
    lines, origin, destination, sizes, starts, ids, priorities, messages = table.T
    after, notes = waits_of(reader.triggers, len(table), source)
    flows = Flows(origin, destination, sizes, starts, np.zeros(len(table), np.int8), after)
    labels = Labels(ids, messages, priorities, np.full(len(table), -1, np.int64))
    nodes = reader.counts.get("Nodes")
    return check_file(
        FlowFile("htsim-cm", source, flows, lines, labels, nodes, tuple(reader.cuts), notes)
    )


def dump_cm(
    flows: Flows, nodes: int, labels: Labels | None = None, cuts: tuple[SwitchCut, ...] = ()
) -> str:
    """Write a connection matrix; flows without an id are numbered on from the largest.

    Raises:
        InputError: a class, or a delay after a wait, or two triggers at one end of a flow: none of
            which the format can say.
    """
    labels = labels or Labels.none(len(flows))
    triggers = triggers_of(flows)
    waiting = flows.after is not None and bool(((flows.after.needs > 0) & (flows.starts > 0)).any())
    if waiting or bool((flows.classes != 0).any()):
        what = "a delay after a trigger" if waiting else "a traffic class"
        raise InputError(
            "CTB-S044", f"a connection matrix cannot say {what}", hint="write CSV, which can"
        )
    starts_by, fires = _uses(triggers)
    ids = labels.ids.copy()
    missing = ids == 0
    ids[missing] = int(ids.max(initial=0)) + 1 + np.arange(int(missing.sum()))
    counts = {"Triggers": len(triggers), "Failures": len(cuts)}
    head = [f"Nodes {nodes}", f"Connections {len(flows)}"]
    head += [f"{word} {count}" for word, count in counts.items() if count]
    body = [
        _flow_line(flows, labels, flow, int(ids[flow]), starts_by.get(flow), fires.get(flow, {}))
        for flow in range(len(flows))
    ]
    for trigger in triggers:
        count = f" count {trigger.count}" if trigger.kind == "barrier" else ""
        body.append(f"trigger id {trigger.number} {trigger.kind}{count}")
    body += [
        f"failure switch_type {cut.tier} switch_id {cut.switch} link_id {cut.link}" for cut in cuts
    ]
    return "\n".join([*head, *body]) + "\n"


def _uses(triggers: list[Trigger]) -> tuple[dict[int, int], dict[int, dict[bool, int]]]:
    starts_by: dict[int, int] = {}
    fires: dict[int, dict[bool, int]] = {}
    for trigger in triggers:
        starts_by |= dict.fromkeys(trigger.targets, trigger.number)
        for flow, receipt in trigger.firers:
            fires.setdefault(flow, {})[receipt] = trigger.number
    return starts_by, fires


def _flow_line(
    flows: Flows, labels: Labels, flow: int, number: int, trigger: int | None, fires: dict[Any, int]
) -> str:
    start = f"start {int(flows.starts[flow])}" if trigger is None else f"trigger {trigger}"
    parts = [
        f"{int(flows.source[flow])}->{int(flows.destination[flow])} id {number} {start}",
        f"size {int(flows.sizes[flow])}",
    ]
    if labels.priorities[flow] >= 0:
        parts.append(f"prio {int(labels.priorities[flow])}")
    if labels.messages[flow] >= 0:
        parts.append(f"msg {int(labels.messages[flow])}" if labels.messages[flow] else "msg")
    parts += [
        f"{'recv' if receipt else 'send'}_done_trigger {fired}"
        for receipt, fired in sorted(fires.items())
    ]
    return " ".join(parts)
