"""Failures in mid-run, as `--fail` writes them: what fails, from when until when.

    down:LINK[@FROM[..UNTIL]]                   a cable carries nothing
    flap:LINK[@FROM[..UNTIL]],down=T,up=T       it is dead for T, then alive for T, and so on
    storm:ENDPOINT[@FROM[..UNTIL]][,class=N]    a NIC pauses its leaf without end, all or one class
    slow:ENDPOINT[@FROM[..UNTIL]],rate=R        a receiver takes no more than R
    loss:LINK[@FROM[..UNTIL]],share=P[,way=up|down]   each frame is lost with chance P

Times are such as `10us`; FROM is 0 if left out, and without UNTIL it lasts. LINK is a cable's
number, one of its ports (`leaf-02:17`), or the two nodes it joins (`leaf-02~spine-1`), with
`#2` behind them for the second of several. `way=up` is from the lower end to the upper.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, NoReturn, TypeAlias, cast

import numpy as np

from ctestbed.core.errors import CtestbedError, InputError, Where
from ctestbed.core.names import did_you_mean
from ctestbed.core.units import parse_rate, parse_time
from ctestbed.topology.graph import Topology
from ctestbed.topology.names import find_endpoint, find_node, node_name
from ctestbed.workload.files.record import FlowFile
from ctestbed.workload.flows import CLASSES, Column

FailureKind: TypeAlias = Literal["down", "flap", "storm", "slow", "loss"]

FORMS: Final[Mapping[FailureKind, str]] = {
    "down": "down:LINK[@FROM[..UNTIL]]",
    "flap": "flap:LINK[@FROM[..UNTIL]],down=TIME,up=TIME",
    "storm": "storm:ENDPOINT[@FROM[..UNTIL]][,class=N]",
    "slow": "slow:ENDPOINT[@FROM[..UNTIL]],rate=RATE",
    "loss": "loss:LINK[@FROM[..UNTIL]],share=P[,way=up|down]",
}
_NEEDS: Final[Mapping[FailureKind, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "down": ((), ()),
    "flap": (("down", "up"), ()),
    "storm": ((), ("class",)),
    "slow": (("rate",), ()),
    "loss": (("share",), ("way",)),
}
"""The settings that a kind must have, and those that it may have."""

_PORT: Final = re.compile(r"(.+):([0-9]{1,9})")
_BETWEEN: Final = re.compile(r"([^~#]+)~([^~#]+)(?:#([1-9][0-9]{0,8}))?")
_CABLE: Final = re.compile(r"[0-9]{1,9}")
_SHARE: Final = re.compile(r"([0-9]{0,3}\.?[0-9]{1,20}(?:e-?[0-9]{1,2})?)(%?)")
_MAX_TEXT: Final = 400


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure: directed links (of a cable: both; of a NIC: from it to its leaf), times in ps.

    `until` None: it lasts. `down` and `up` are of a flap; `rate` bit/s of a slow receiver; `share`
    the chance of loss; `traffic_class` the one that a storm pauses, None for all. `endpoint` is
    the NIC of a storm or slow receiver, -1 otherwise.
    """

    kind: FailureKind
    text: str
    links: tuple[int, ...]
    start: int = 0
    until: int | None = None
    endpoint: int = -1
    down: int = 0
    up: int = 0
    rate: int = 0
    share: Fraction = Fraction(0)
    traffic_class: int | None = None


def parse_failures(
    texts: Iterable[str], topology: Topology, where: Where | None = None
) -> tuple[Failure, ...]:
    """Read every `--fail`.

    Raises:
        InputError: the first that cannot be read, or names nothing of the testbed.
    """
    return tuple(parse_failure(text, topology, where or Where(pointer="--fail")) for text in texts)


def parse_failure(text: str, topology: Topology, where: Where | None = None) -> Failure:
    """Read one failure.

    Raises:
        InputError: it is not written as its kind is, or names nothing of the testbed.
    """
    reader = _Reader(text, topology, where)
    return reader.read()


class _Reader:
    def __init__(self, text: str, topology: Topology, where: Where | None) -> None:
        self.text, self.topology, self.where = text.strip(), topology, where
        self.kind: FailureKind = "down"

    def refuse(self, why: str) -> NoReturn:
        raise InputError(
            "CTB-S045",
            f"failure {self.text[:80]!r}: {why}",
            where=self.where,
            hint=f"write `{FORMS[self.kind]}`",
        )

    def read(self) -> Failure:
        kind, colon, rest = self.text.partition(":")
        if kind not in FORMS or not colon or len(self.text) > _MAX_TEXT:
            raise InputError(
                "CTB-S045",
                f"{self.text[:80]!r} is not a failure",
                where=self.where,
                hint=did_you_mean(kind, FORMS)
                if kind not in FORMS
                else f"write `{FORMS[cast('FailureKind', kind)]}`",
            )
        self.kind = cast("FailureKind", kind)
        what, *settings = rest.split(",")
        target, at, window = what.partition("@")
        start, until = self._window(window) if at else (0, None)
        given = self._settings(settings)
        if self.kind in ("storm", "slow"):
            return self._of_endpoint(target, start, until, given)
        links: tuple[int, ...] = self._cable(target)
        if given.get("way") is not None:
            if given["way"] not in ("up", "down"):
                self.refuse(f"way {given['way'][:40]!r} is neither up nor down")
            links = links[:1] if given["way"] == "up" else links[1:]
        return Failure(
            self.kind,
            self.text,
            links,
            start,
            until,
            down=self._time("down", given["down"]) if self.kind == "flap" else 0,
            up=self._time("up", given["up"]) if self.kind == "flap" else 0,
            share=self._share(given["share"]) if self.kind == "loss" else Fraction(0),
        )

    def _window(self, text: str) -> tuple[int, int | None]:
        first, dots, second = text.partition("..")
        start = self._time("FROM", first, zero=True)
        if not dots:
            return start, None
        until = self._time("UNTIL", second)
        if until <= start:
            self.refuse(f"it would end at {second} before it begins at {first}")
        return start, until

    def _time(self, name: str, text: str, *, zero: bool = False) -> int:
        try:
            time = parse_time(text)
        except CtestbedError as error:
            self.refuse(f"{name}: {error.message}")
        if not time and not zero:
            self.refuse(f"{name} of 0 is no time")
        return time

    def _settings(self, texts: list[str]) -> dict[str, str]:
        must, may = _NEEDS[self.kind]
        given: dict[str, str] = {}
        for text in texts:
            name, equals, value = text.strip().partition("=")
            if not equals or name not in (*must, *may):
                known = ", ".join((*must, *may)) or "nothing"
                self.refuse(f"{text[:40]!r} sets nothing that it knows ({known})")
            if name in given:
                self.refuse(f"{name} comes twice")
            given[name] = value.strip()
        missing = [name for name in must if name not in given]
        if missing:
            self.refuse(f"it lacks {' and '.join(missing)}")
        return given

    def _share(self, text: str) -> Fraction:
        match = _SHARE.fullmatch(text)
        exact = Fraction(match[1]) / (100 if match[2] else 1) if match else Fraction(0)
        if not 0 < exact <= 1:
            self.refuse(f"share {text[:40]!r} is not above 0 and at most 1, such as 1e-5 or 0.1%")
        return exact

    def _of_endpoint(
        self, target: str, start: int, until: int | None, given: dict[str, str]
    ) -> Failure:
        try:
            endpoint = find_endpoint(self.topology, target.strip())
        except CtestbedError as error:
            raise self._unknown(error.message, error.hint) from None
        node = self.topology.first_endpoint + endpoint
        links = self.topology.links
        up = np.flatnonzero(links.a == node) * 2
        down = np.flatnonzero(links.b == node) * 2 + 1
        directed = tuple(np.sort(np.concatenate([up, down])).tolist())
        klass: int | None = None
        if "class" in given:
            if given["class"] not in map(str, range(CLASSES)):
                self.refuse(f"class {given['class'][:40]!r} is not 0 to {CLASSES - 1}")
            klass = int(given["class"])
        rate = 0
        if self.kind == "slow":
            try:
                rate = parse_rate(given["rate"])
            except CtestbedError as error:
                self.refuse(f"rate: {error.message}")
            if not rate:
                self.refuse("a receiver of rate 0 is paused forever: write `storm`")
        return Failure(
            self.kind,
            self.text,
            directed,
            start,
            until,
            endpoint=endpoint,
            rate=rate,
            traffic_class=klass,
        )

    def _unknown(self, message: str, hint: str | None) -> InputError:
        return InputError(
            "CTB-S046",
            f"failure {self.text[:80]!r}: {message}",
            where=self.where,
            hint=hint or "see `ctestbed topology show`",
        )

    def _cable(self, text: str) -> tuple[int, int]:
        """Return both directions of the cable that `text` names, the one that climbs first."""
        link = self._link(text.strip())
        return 2 * link, 2 * link + 1

    def _link(self, text: str) -> int:
        links = self.topology.links
        if _CABLE.fullmatch(text):
            if int(text) < self.topology.link_count:
                return int(text)
            count = self.topology.link_count
            message = f"{self.topology.name} has no cable {int(text)}"
            raise self._unknown(message, f"cables count from 0 to {count - 1}")
        between, port = _BETWEEN.fullmatch(text), _PORT.fullmatch(text)
        if between is not None:
            return self._between(between[1], between[2], int(between[3] or 0))
        if port is None:
            self.refuse(f"{text[:40]!r} is no cable: give its number, a port of it, or its ends")
        node, number = self._node(port[1]), int(port[2])
        found = np.flatnonzero(
            ((links.a == node) & (links.a_port == number))
            | ((links.b == node) & (links.b_port == number))
        )
        if not len(found):
            message = f"no cable is in port {number} of {node_name(self.topology, node)}"
            raise self._unknown(message, "ports count from 1")
        return int(found[0])

    def _node(self, text: str) -> int:
        try:
            return find_node(self.topology, text)
        except CtestbedError as error:
            raise self._unknown(error.message, error.hint) from None

    def _between(self, one: str, other: str, which: int) -> int:
        ends = [self._end(name) for name in (one, other)]
        links = self.topology.links
        a, b = links.a, links.b
        found = np.flatnonzero(
            ((a == ends[0]) & (b == ends[1])) | ((a == ends[1]) & (b == ends[0]))
        )
        if which > len(found) or not len(found):
            message = f"{len(found) or 'no'} cables join {one} and {other}"
            raise self._unknown(message, "name two nodes that a cable joins")
        if not which and len(found) > 1:
            message = f"{len(found)} cables join {one} and {other}"
            raise self._unknown(message, f"say which: `{one}~{other}#1` to `#{len(found)}`")
        return int(found[max(which, 1) - 1])

    def _end(self, name: str) -> int:
        """Return a node; a host with one NIC stands for that."""
        node = self._node(name.strip())
        if (self.topology.links.a == node).any() or (self.topology.links.b == node).any():
            return node
        try:
            return self.topology.first_endpoint + find_endpoint(self.topology, name.strip())
        except CtestbedError:
            return node


def failures_of(file: FlowFile, topology: Topology) -> tuple[Failure, ...]:
    """Return the cables that a connection matrix leaves out, as failures from the start on.

    htsim knows one kind: the L-th uplink of an aggregation switch, numbered pod by pod; here the
    spines of a three-tier fabric.

    Raises:
        InputError: another kind, or a switch or an uplink that the testbed does not have.
    """
    found = []
    block = topology.blocks[0]
    for cut in file.cuts:
        if cut.tier != "AGG" or not block.cores:
            fault = f"{cut.tier} switches of {topology.name} have no uplinks that a file can cut"
        elif cut.switch >= block.spines:
            fault = f"{topology.name} has {block.spines} spines in its first plane"
        elif cut.link >= block.cores_per_spine:
            fault = f"a spine of {topology.name} has {block.cores_per_spine} uplinks"
        else:
            link = int(block.core_link(cut.switch, cut.link))
            text = f"down:{link}"
            found.append(Failure("down", text, (2 * link, 2 * link + 1)))
            continue
        raise InputError(
            "CTB-S046",
            f"failure of {cut.tier} {cut.switch}, link {cut.link}: {fault}",
            where=file.source.where(cut.line),
            hint="cut `switch_type AGG` below the number of spines",
        )
    return tuple(found)


def link_states(failures: Iterable[Failure], horizon: int) -> tuple[Column, Column, Column]:
    """Return when directed links die and live again up to `horizon` ps, in order of time.

    Returns:
        Times in ps, directed links, and whether each lives from then on. A link that several
        failures hold dead lives again only when the last of them lets go.
    """
    steps: list[tuple[int, int, int]] = []
    for failure in failures:
        for time, lives in _turns(failure, horizon):
            steps += [(time, link, -1 if lives else 1) for link in failure.links]
    held: dict[int, int] = {}
    out: list[tuple[int, int, bool]] = []
    for time, link, change in sorted(steps):
        before = held.get(link, 0)
        held[link] = before + change
        if (before == 0) != (held[link] == 0):
            if out and out[-1][:2] == (time, link):  # let go and taken again at one moment
                out.pop()
                continue
            out.append((time, link, held[link] == 0))
    times, links, lives_again = zip(*out, strict=True) if out else ((), (), ())
    return (
        np.array(times, np.int64),
        np.array(links, np.int64),
        np.array(lives_again, bool),
    )


def _turns(failure: Failure, horizon: int) -> Iterator[tuple[int, bool]]:
    """Yield when a failure's links die (False) and live (True), up to `horizon`."""
    if failure.kind not in ("down", "flap"):
        return
    until = horizon + 1 if failure.until is None else failure.until
    time = failure.start
    while time < until and time <= horizon:
        yield time, False
        back = until if failure.kind == "down" else min(time + failure.down, until)
        if back > horizon:
            return
        yield back, True
        if failure.kind == "down":
            return
        time = back + failure.up
