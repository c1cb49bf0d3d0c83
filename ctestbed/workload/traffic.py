"""From a pattern's text, or a file, to the flows that run over a testbed.

Besides the patterns of `patterns`:

    all-reduce:G              a hierarchical all-reduce among groups of G endpoints (`collectives`)
    poisson:SIZES:LOAD:FLOWS  flows of published sizes (`sizes.toml`) at random times: LOAD is the
                              share of every port's rate, FLOWS a number, or a time such as `10ms`
    on-off:BURSTS:PAUSE       bursts to one partner each, with pauses of PAUSE on average
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np

from ctestbed.core.data import data_directory
from ctestbed.core.errors import CtestbedError, InputError, Where
from ctestbed.core.files import is_file
from ctestbed.core.names import did_you_mean
from ctestbed.core.result import Finding
from ctestbed.core.units import parse_size, parse_time
from ctestbed.topology.graph import LinkClass, Topology
from ctestbed.topology.names import find_endpoint
from ctestbed.workload.arrivals import Load, Senders, burst_flows, poisson_flows
from ctestbed.workload.collectives import all_reduce_flows
from ctestbed.workload.files.record import FlowFile, check_endpoints
from ctestbed.workload.files.registry import load_flows
from ctestbed.workload.flows import Column, Flows
from ctestbed.workload.patterns import PATTERNS, build_pattern
from ctestbed.workload.sizes import size_distributions

_LOAD: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)(%?)")
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_PERCENT: Final = 100


@dataclass(frozen=True, slots=True)
class Traffic:
    """What is driven: its flows, the file they come from, if it is one, and notes on them."""

    flows: Flows
    file: FlowFile | None = None
    notes: tuple[Finding, ...] = ()


def read_traffic(
    text: str, size: str | None, topology: Topology, seed: int, where: Where | None = None
) -> Traffic:
    """Return the flows of a pattern, or of the file that `text` names; `size` is of each flow.

    Raises:
        InputError: neither; or the flows do not fit the testbed; or a size is missing.
    """
    whole = None if size is None else parse_size(size, Where(pointer="--size"))
    if _is_file(text):
        file = load_flows(_shipped(text), lambda name: find_endpoint(topology, name))
        check_endpoints(file, topology.endpoints, topology.name)
        return Traffic(file.flows, file, (*_unused(size, text), *_notes(file, topology)))
    place = Where(pointer="--size") if whole == 0 and where is None else where
    flows = build_traffic(text, whole, topology, seed, place or Where(pointer="--pattern"))
    return Traffic(flows, notes=_unused(size, text) if text.startswith("poisson:") else ())


def _unused(size: str | None, text: str) -> tuple[Finding, ...]:
    if size is None:
        return ()
    message = f"--size {size} is not used: {text!r} brings the sizes of its flows"
    return (Finding("CTB-S048", "note", message, Where(pointer="--size"), "leave --size out"),)


def _notes(file: FlowFile, topology: Topology) -> tuple[Finding, ...]:
    """Note what the file says of itself, and that it is written for fewer hosts."""
    if file.nodes is None or file.nodes == topology.endpoints:
        return file.notes
    note = Finding(
        "CTB-S050",
        "note",
        f"{file.source.name!r} is written for {file.nodes:,} hosts, and {topology.name} has "
        f"{topology.endpoints:,}",
        file.source.where(1),
        "is this the testbed you meant?",
    )
    return (*file.notes, note)


def _shipped(text: str) -> str:
    """Return the path of a file that comes with the testbeds, where there is none of its name."""
    if "/" in text or is_file(Path(text)):
        return text
    path = data_directory("topologies") / "traffic" / text
    return str(path) if text != "-" and is_file(path) else text


def _is_file(text: str) -> bool:
    """Tell a file's name from a pattern's: it exists, or could not be a pattern."""
    if text.partition(":")[0] in PATTERNS:
        return False
    return text == "-" or "/" in text or "." in text or is_file(Path(text))


def build_traffic(
    text: str, size: int | None, topology: Topology, seed: int, where: Where | None = None
) -> Flows:
    """Return the flows of a pattern; `size` in bytes, of each flow unless it draws its own.

    Raises:
        InputError: no such pattern, or it does not fit the endpoints or the size.
    """
    name, _, rest = text.strip().partition(":")
    if name == "poisson":
        return _poisson(rest, topology, seed, where)
    if size is None:
        if name not in PATTERNS:
            build_pattern(text, [np.arange(2)], seed, where)
        raise InputError(
            "CTB-S048",
            f"{text[:80]!r} says who sends, and not how much",
            where=Where(pointer="--size"),
            hint="give --size, such as `--size 2MB`",
        )
    if size == 0:
        raise InputError(
            "CTB-S013", "a flow of 0 bytes moves nothing", where=where, hint="give a size"
        )
    if name == "all-reduce":
        members = _whole(rest, text, where)
        return all_reduce_flows(reachable_groups(topology), members, size, where)
    if name == "on-off":
        return _on_off(rest, size, topology, seed, where)
    source, destination = build_pattern(text, reachable_groups(topology), seed, where)
    if not len(source):
        raise InputError(
            "CTB-S011",
            f"{text!r} has nobody to send to: no two endpoints reach each other",
            where=where,
            hint="use a testbed with more hosts",
        )
    return Flows.together(source, destination, size)


def _badly_written(text: str, where: Where | None, why: str = "") -> InputError:
    form = PATTERNS[text.partition(":")[0]]
    return InputError(
        "CTB-S010",
        f"{text[:80]!r} is not written as `{form}`",
        where=where,
        hint=why or f"write `{form}`",
    )


def _whole(digits: str, text: str, where: Where | None) -> int:
    if not _NUMBER.fullmatch(digits) or not int(digits):
        raise _badly_written(text, where, "the number counts from 1")
    return int(digits)


def _poisson(rest: str, topology: Topology, seed: int, where: Where | None) -> Flows:
    text = f"poisson:{rest}"
    parts = rest.split(":")
    if len(parts) != 3:  # noqa: PLR2004 - sizes, load, flows
        raise _badly_written(text, where, "such as `poisson:websearch:50%:10000`")
    known = size_distributions()
    if parts[0] not in known:
        raise InputError(
            "CTB-S049",
            f"no distribution of flow sizes is called {parts[0][:80]!r}",
            where=where,
            hint=did_you_mean(parts[0], known),
        )
    match = _LOAD.fullmatch(parts[1])
    share = Fraction(match[1]) / (_PERCENT if match[2] else 1) if match else Fraction(0)
    if not 0 < share <= 1:
        raise _badly_written(text, where, "LOAD is a share of the port's rate: `50%` or `0.5`")
    senders = Senders(reachable_groups(topology), port_rates(topology))
    return poisson_flows(senders, known[parts[0]], _load(share, parts[2], text, where), seed, where)


def _load(share: Fraction, limit: str, text: str, where: Where | None) -> Load:
    if _NUMBER.fullmatch(limit):
        return Load(share, flows=_whole(limit, text, where))
    return Load(share, time=_time(limit, text, where, "FLOWS is a number, or a time: `10ms`"))


def _time(words: str, text: str, where: Where | None, hint: str) -> int:
    try:
        return parse_time(words)
    except CtestbedError:
        raise _badly_written(text, where, hint) from None


def _on_off(rest: str, size: int, topology: Topology, seed: int, where: Where | None) -> Flows:
    text = f"on-off:{rest}"
    bursts, _, pause = rest.partition(":")
    count = _whole(bursts, text, where)
    off = _time(pause, text, where, "such as `on-off:10:100us`")
    senders = Senders(reachable_groups(topology), port_rates(topology))
    return burst_flows(senders, count, off, size, seed, where)


def reachable_groups(topology: Topology) -> list[Column]:
    """Return the endpoints of each plane, or all together where planes are no boundary."""
    endpoints = np.arange(topology.endpoints)
    if topology.split or topology.planes == 1:
        return [endpoints]
    plane = topology.plane_of(endpoints)
    return [endpoints[plane == each] for each in range(topology.planes)]


def port_rates(topology: Topology) -> Column:
    """Return the bit/s of every endpoint's cables together; 0 where one of them is unknown."""
    links, first = topology.links, topology.first_endpoint
    total = np.zeros(topology.endpoints, np.int64)
    known = np.ones(topology.endpoints, bool)
    own = links.klass == LinkClass.HOST if topology.nics else links.klass >= LinkClass.HOST
    for ends in (links.a, links.b):
        at = ends - first
        mine = own & (at >= 0) & (at < topology.endpoints)
        np.add.at(total, at[mine], np.maximum(links.rate[mine], 0))
        known[at[mine & (links.rate < 0)]] = False
    return np.where(known, total, 0)
