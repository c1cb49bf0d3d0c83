"""Gathering devices and cables while a file is read: checked as they come, columns at the end."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from ctestbed.core.names import did_you_mean
from ctestbed.core.result import Finding, Severity
from ctestbed.topology.cabling import Cables, Cabling, Device, make_cables
from ctestbed.topology.formats.source import Source, shorten

MAX_DEVICES: Final = 2**20
MAX_CABLES: Final = 2**22
_NAMES_COMPARED: Final = 2000
_OTHER_END: Final = {"a_": "b_", "b_": "a_"}


@dataclass(slots=True)
class _Row:
    """One cable, or one port's statement of a cable: the end that says so is `a`."""

    a: int
    b: int
    a_port: str | None
    b_port: str | None
    rate: int
    delay: int
    length: int
    line: int
    b_line: int
    extra: Mapping[str, str | None]


@dataclass
class Collector:
    """What has been read so far of one file.

    `cable` takes both ends at once; `state` takes what one port says of its neighbour, to be
    paired with what the neighbour says. A device or a port named twice is refused, unless
    `crowded`: then two neighbours at one port are kept, and left to the checks.
    """

    source: Source
    format: str
    crowded: bool = False
    devices: list[Device] = field(default_factory=list)
    index: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    _rows: list[_Row] = field(default_factory=list)
    _stated: list[_Row] = field(default_factory=list)
    _ports: dict[tuple[int, str], int] = field(default_factory=dict)
    _claimed: int = 0

    def add(self, device: Device) -> int:
        """Add a device that the file describes, and return its position.

        Raises:
            InputError: its name is taken, or there are too many.
        """
        if device.name in self.index:
            first = self.devices[self.index[device.name]].line
            raise self.source.refuse(
                "CTB-T104",
                f"{shorten(device.name)!r} is described a second time"
                + (f"; the first time is line {first}" if first else ""),
                device.line,
                "keep one of the two descriptions",
                pointer=device.pointer,
            )
        self.refuse_size(len(self.devices) + 1, 0, device.line)
        self.index[device.name] = len(self.devices)
        self.devices.append(device)
        return len(self.devices) - 1

    def known(self, name: str, line: int | None, **fields: Any) -> int:
        """Return the position of a device, adding it where the file only ever names it."""
        position = self.index.get(name)
        return self.add(Device(name, line=line, **fields)) if position is None else position

    def find(self, name: str, line: int | None, pointer: str | None = None) -> int:
        """Return the position of a device that must have been described.

        Raises:
            InputError: no such device.
        """
        position = self.index.get(name)
        if position is None:
            raise self.source.refuse(
                "CTB-T105",
                f"{shorten(name)!r} is joined to something, and the file describes no such device",
                line,
                self.nearest(name),
                pointer=pointer,
            )
        return position

    def nearest(self, name: str) -> str:
        """Return a hint: the described name nearest to a wrong one."""
        hint = did_you_mean(shorten(name), islice(self.index, _NAMES_COMPARED))
        return hint if hint.startswith("did") else "describe it, or check that the file is whole"

    def cable(
        self,
        a: int,
        b: int,
        a_port: str | None = None,
        b_port: str | None = None,
        *,
        rate: int | None = None,
        delay: int | None = None,
        length: int | None = None,
        line: int | None = None,
        b_line: int | None = None,
        extra: Mapping[str, str | None] | None = None,
        pointer: str | None = None,
    ) -> None:
        """Add a cable that one statement gives with both ends.

        Raises:
            InputError: a port that has a cable already, or too many cables.
        """
        self._claim(a, a_port, line, pointer)
        if (a, a_port) != (b, b_port):
            self._claim(b, b_port, line, pointer)
        self.refuse_size(0, len(self._rows) + 1, line)
        first, second = _or_unsaid(line), _or_unsaid(line if b_line is None else b_line)
        figures = (_or_unsaid(rate), _or_unsaid(delay), _or_unsaid(length))
        self._rows.append(_Row(a, b, a_port, b_port, *figures, first, second, extra or {}))

    def state(
        self,
        a: int,
        b: int,
        a_port: str | None,
        b_port: str | None,
        *,
        rate: int | None = None,
        line: int | None = None,
        extra: Mapping[str, str | None] | None = None,
        pointer: str | None = None,
    ) -> None:
        """Add what port `a_port` of `a` says; `a_` and `b_` keys of `extra` are of its ends.

        Raises:
            InputError: a port that has spoken already, or too many cables.
        """
        self._claim(a, a_port, line, pointer)
        self.refuse_size(0, len(self._stated) // 2, line)
        row = _Row(
            a, b, a_port, b_port, _or_unsaid(rate), -1, -1, _or_unsaid(line), -1, extra or {}
        )
        self._stated.append(row)

    def note(
        self,
        code: str,
        severity: Severity,
        message: str,
        line: int | None = None,
        hint: str | None = None,
    ) -> None:
        """Add a remark on the file."""
        self.findings.append(Finding(code, severity, message, self.source.where(line), hint))

    def refuse_size(self, devices: int, cables: int, line: int | None) -> None:
        """Refuse a file whose network is larger than ctestbed will hold.

        Raises:
            InputError: too many devices or cables.
        """
        if devices > MAX_DEVICES or cables > MAX_CABLES:
            count, what, limit = (
                (devices, "devices", MAX_DEVICES)
                if devices > MAX_DEVICES
                else (cables, "cables", MAX_CABLES)
            )
            raise self.source.refuse(
                "CTB-T108",
                f"{self.source.name!r} holds {count:,} {what} or more; the limit is {limit:,}",
                line,
                "check the counts, or import it in parts",
            )

    def finish(self, name: str, attributes: Mapping[str, str] | None = None) -> Cabling:
        """Pair up what was stated, and return everything as columns."""
        ports: dict[str, int] = {}
        one_sided = self._pair()
        return Cabling(
            name=name,
            format=self.format,
            devices=tuple(self.devices),
            cables=_columns(self._rows, ports),
            one_sided=_columns(one_sided, ports),
            port_names=tuple(ports),
            file=self.source.name,
            source=self.source.digest,
            findings=tuple(self.findings),
            attributes=dict(attributes or {}),
        )

    def _claim(self, device: int, port: str | None, line: int | None, pointer: str | None) -> None:
        if port is None or self.crowded:
            return
        first = self._ports.setdefault((device, port), _or_unsaid(line))
        if len(self._ports) == self._claimed:
            raise self.source.refuse(
                "CTB-T103",
                f"port {shorten(port)!r} of {shorten(self.devices[device].name)!r} "
                "is named a second time"
                + (f"; the first time is line {first}" if first > 0 else ""),
                line,
                "a port takes one cable: which of the two is right?",
                pointer=pointer,
            )
        self._claimed = len(self._ports)

    def _pair(self) -> list[_Row]:
        """Turn pairs of statements into cables; return the statements that nothing answers."""
        waiting: dict[tuple[int, str | None, int, str | None], list[_Row]] = {}
        for row in self._stated:
            if (row.a, row.a_port) == (row.b, row.b_port):
                row.b_line = row.line
                self._rows.append(row)
                continue
            answers = waiting.get((row.b, row.b_port, row.a, row.a_port))
            if answers:
                self._join(answers.pop(0), row)
            else:
                key = (row.a, row.a_port, row.b, row.b_port)
                waiting.setdefault(key, []).append(row)
        left = [row for rows in waiting.values() for row in rows]
        return sorted(left, key=lambda row: row.line)

    def _join(self, first: _Row, second: _Row) -> None:
        first.b_line = second.line
        turned = {_OTHER_END.get(key[:2], key[:2]) + key[2:]: v for key, v in second.extra.items()}
        first.extra = {**turned, **first.extra}
        if second.rate >= 0 and first.rate != second.rate:
            if first.rate >= 0:
                name = f"{self.devices[first.a].name}:{first.a_port}"
                message = f"the two ends of the cable at {name} disagree about its rate"
                self.note("CTB-T125", "warning", message, second.line, "the lower one is taken")
                rates = {"a_rate": str(first.rate), "b_rate": str(second.rate)}
                first.extra = {**rates, **first.extra}
                first.rate = min(first.rate, second.rate)
            else:
                first.rate = second.rate
        self._rows.append(first)


def _or_unsaid(value: int | None) -> int:
    return -1 if value is None else value


def _columns(rows: list[_Row], ports: dict[str, int]) -> Cables:
    names = {key: None for row in rows for key in row.extra}
    extra = {name: tuple(row.extra.get(name) for row in rows) for name in names}

    def port(texts: Iterable[str | None]) -> list[int]:
        return [-1 if text is None else ports.setdefault(text, len(ports)) for text in texts]

    return make_cables(
        [row.a for row in rows],
        [row.b for row in rows],
        a_port=port(row.a_port for row in rows),
        b_port=port(row.b_port for row in rows),
        rate=[row.rate for row in rows],
        delay=[row.delay for row in rows],
        length=[row.length for row in rows],
        line=[row.line for row in rows],
        b_line=[row.b_line for row in rows],
        extra=extra,
    )
