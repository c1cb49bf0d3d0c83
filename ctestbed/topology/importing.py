"""`topology import FILE`: what a file says is cabled, whatever its format, and what is odd in it.

`load_cabling` is the one way in for everything that reads such files.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np
from typing_extensions import TypedDict

from ctestbed.core.files import read_input
from ctestbed.core.result import Finding, Result, Severity, checks_exit_code
from ctestbed.topology.cabling import (
    AGGREGATION,
    Cabling,
    DeviceKind,
    Roles,
    degree,
    infer_roles,
    pair_counts,
    self_loops,
    shared_ports,
)
from ctestbed.topology.formats.registry import Recognised, read_as
from ctestbed.topology.formats.source import read_source, shorten
from ctestbed.topology.load import STDIN, builtin_testbeds, testbed_path

DeviationKind: TypeAlias = Literal[
    "missing",
    "extra",
    "swapped",
    "wrong-rail",
    "wrong-plane",
    "one-sided",
    "slow",
    "self-loop",
    "absent-node",
    "unexpected-node",
]

MAX_FINDINGS: Final = 20
"""Findings of one code that are written out; the data holds all."""

TIER_NAMES: Final = ("endpoint", "leaf", "spine", "core")


class Deviation(TypedDict):
    """One thing that is not as it should be: the ports (or node) and what was expected there."""

    kind: DeviationKind
    a: str
    b: str | None
    expected: str | None


class ImportCounts(TypedDict):
    """How many of each kind; `link` counts cables, `aggregation` those NICs inside switches."""

    accelerator: int
    host: int
    nic: int
    switch: int
    unknown: int
    link: int
    aggregation: int
    named_hosts: int
    one_sided: int
    self_loop: int
    shared_port: int
    isolated: int


class TierData(TypedDict):
    """One inferred tier: 0 the endpoints, 1 the leaves, ...; -1 what stands apart."""

    tier: int
    name: str
    devices: int
    cables_up: int
    cables_down: int


class JoinData(TypedDict):
    """The cables between two tiers, and how many join one pair of devices."""

    between: list[int]
    cables: int
    pairs: int
    fewest: int
    most: int


class RateData(TypedDict):
    """Cables of one rate in bit/s; null where the file says none."""

    rate: int | None
    cables: int


class ImportData(TypedDict):
    """Data of `topology import`."""

    file: str
    format: str
    title: str
    because: str
    name: str
    counts: ImportCounts
    tiers: list[TierData]
    guessed: bool
    joins: list[JoinData]
    rates: list[RateData]
    deviations: list[Deviation]
    isolated: list[str]
    attributes: dict[str, str]


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """Which file (or `-`, or a built-in testbed), and its format where the user names it."""

    file: str
    from_format: str | None = None


def load_cabling(name: str, from_format: str | None = None) -> Cabling:
    """Read what is cabled from a file of any format, standard input, or a built-in testbed.

    Raises:
        InputError: no such file, no known format, or a file that its reader refuses.
    """
    return _load(name, from_format)[0]


def parse_cabling(
    content: bytes, name: str, from_format: str | None = None
) -> tuple[Cabling, Recognised]:
    """Read what is cabled from bytes; `name` is what findings call the file.

    Raises:
        InputError: no known format, or a file that its reader refuses.
    """
    return read_as(read_source(content, name), from_format)


def _load(name: str, from_format: str | None) -> tuple[Cabling, Recognised]:
    builtin = builtin_testbeds().get(name)
    if builtin is not None:
        return parse_cabling(
            read_input(str(builtin), what="testbed file"), f"topologies/{name}.yaml", from_format
        )
    if name != "-" and not Path(name).suffix and "/" not in name:
        testbed_path(name)  # a bare word is refused with the nearest testbed
    content = read_input(name, what="cabling file")
    return parse_cabling(content, STDIN if name == "-" else name, from_format)


def run_import(request: ImportRequest) -> Result:
    """Read a file of what is cabled, and report what it holds.

    Raises:
        InputError: no such file, no known format, or a file that its reader refuses.
    """
    cabling, recognised = _load(request.file, request.from_format)
    roles = infer_roles(cabling)
    oddities = examine(cabling, roles)
    data: ImportData = {
        "file": cabling.file or request.file,
        "format": recognised.format.name,
        "title": recognised.format.title,
        "because": recognised.because,
        "name": cabling.name,
        "counts": _counts(cabling, oddities),
        "tiers": _tiers(cabling, roles),
        "guessed": roles.guessed,
        "joins": _joins(cabling, roles),
        "rates": _rates(cabling),
        "deviations": oddities.deviations,
        "isolated": oddities.isolated,
        "attributes": dict(cabling.attributes),
    }
    findings = (*cabling.findings, *oddities.findings)
    return Result(
        "ctestbed.topology.import/1",
        data,
        findings=findings,
        inputs=() if cabling.source is None else (cabling.source,),
        exit_code=checks_exit_code(findings),
    )


@dataclass(frozen=True, slots=True)
class Oddities:
    """What a file's cabling shows by itself, with no design beside it."""

    deviations: list[Deviation]
    isolated: list[str]
    shared: int
    findings: list[Finding]


def examine(cabling: Cabling, roles: Roles | None = None) -> Oddities:
    """Look for one-sided cables, self-loops, crowded ports and devices without a cable."""
    findings: list[Finding] = []
    one_sided, loops = cabling.one_sided, self_loops(cabling)
    deviations: list[Deviation] = []
    sided: list[Finding] = []
    for row in range(len(one_sided)):
        near, far = cabling.end_name(one_sided, row, "a"), cabling.end_name(one_sided, row, "b")
        deviations.append({"kind": "one-sided", "a": near, "b": far, "expected": None})
        message = f"{shorten(near)} names {shorten(far)} at its other end, which does not name it"
        hint = "look at both ends; the file may be older than a change"
        sided.append(Finding("CTB-T120", "warning", message, cabling.where(row, one_sided), hint))
    looped: list[Finding] = []
    for row in loops.tolist():
        near, far = (cabling.end_name(cabling.cables, row, end) for end in ("a", "b"))
        deviations.append({"kind": "self-loop", "a": near, "b": far, "expected": None})
        message = f"a cable joins {shorten(near)} to the same device ({shorten(far)})"
        hint = "a loopback plug, or a cable in the wrong port?"
        looped.append(Finding("CTB-T121", "warning", message, cabling.where(row), hint))
    crowded = list(_crowded(cabling))
    apart = _isolated(cabling)
    lonely = [
        Finding(
            "CTB-T122",
            "warning",
            f"{shorten(cabling.devices[device].name)} has no cable",
            cabling.where_device(device),
            "is it cabled, and was it up when the file was made?",
        )
        for device in apart.tolist()
    ]
    for group, where in ((sided, "deviations"), (looped, "deviations"), (crowded, "counts")):
        findings += _cut(group, where)
    if not len(cabling.cables):
        findings.append(_no_cable(cabling))
    else:
        findings += _cut(lonely, "isolated")
    findings += _notes(cabling, infer_roles(cabling) if roles is None else roles)
    isolated = [cabling.devices[device].name for device in apart.tolist()]
    return Oddities(deviations, isolated, len(crowded), findings)


def _crowded(cabling: Cabling) -> Iterator[Finding]:
    for device, port, rows in shared_ports(cabling):
        name = f"{cabling.devices[device].name}:{cabling.port_names[port]}"
        message = f"{shorten(name)} has {len(rows)} neighbours"
        hint = "a hub between them, or a stale entry?"
        yield Finding("CTB-T128", "warning", message, cabling.where(rows[-1]), hint)


def _isolated(cabling: Cabling) -> np.ndarray:
    ends = degree(cabling)
    said = np.concatenate([cabling.one_sided.a, cabling.one_sided.b])
    ends = ends + np.bincount(said, minlength=len(cabling.devices))
    return np.flatnonzero(ends == 0)


def _no_cable(cabling: Cabling) -> Finding:
    names = ", ".join(shorten(device.name) for device in cabling.devices[:3])
    count = len(cabling.devices)
    device = f"{count} device{'s' if count > 1 else ''} ({names}{', ...' if count > 3 else ''})"  # noqa: PLR2004 - three names shown
    return Finding(
        "CTB-T123",
        "error",
        f"the file names {device} and no cable, so there is no fabric to see",
        cabling.where_device(0) if count else None,
        "were the ports up, and the subnet manager running, when the file was made?",
    )


def _cut(findings: list[Finding], where: str) -> list[Finding]:
    if len(findings) <= MAX_FINDINGS:
        return findings
    code, severity = findings[0].code, findings[0].severity
    more = f"{len(findings) - MAX_FINDINGS} more of this kind; `data.{where}` tells of all"
    return [*findings[:MAX_FINDINGS], Finding(code, severity, more)]


def _notes(cabling: Cabling, roles: Roles) -> Iterator[Finding]:
    def note(code: str, message: str, hint: str) -> Finding:
        severity: Severity = "note"
        return Finding(code, severity, message, None, hint)

    adapters = [d for d in cabling.devices if d.kind == DeviceKind.NIC and d.role != AGGREGATION]
    nameless = sum(device.host is None for device in adapters)
    if nameless and len(cabling.cables):
        yield note(
            "CTB-T129",
            f"{nameless} of {len(adapters)} adapters do not say which host they are in",
            "they still carry their factory name; set one by which a host can be told",
        )
    if roles.guessed and len(cabling.cables):
        yield note(
            "CTB-T130",
            "the file does not say which devices are switches; their names and cables decide",
            "check the tiers below",
        )


def _counts(cabling: Cabling, oddities: Oddities) -> ImportCounts:
    kinds = Counter(device.kind for device in cabling.devices)
    return {
        "accelerator": kinds[DeviceKind.ACCELERATOR],
        "host": kinds[DeviceKind.HOST],
        "nic": kinds[DeviceKind.NIC],
        "switch": kinds[DeviceKind.SWITCH],
        "unknown": kinds[DeviceKind.UNKNOWN],
        "link": len(cabling.cables),
        "aggregation": sum(device.role == AGGREGATION for device in cabling.devices),
        "named_hosts": len({device.host for device in cabling.devices if device.host is not None}),
        "one_sided": len(cabling.one_sided),
        "self_loop": len(self_loops(cabling)),
        "shared_port": oddities.shared,
        "isolated": len(oddities.isolated),
    }


def tier_name(tier: int) -> str:
    """Return the word for an inferred tier."""
    if tier < 0:
        return "apart"
    return TIER_NAMES[tier] if tier < len(TIER_NAMES) else f"tier {tier}"


def _tiers(cabling: Cabling, roles: Roles) -> list[TierData]:
    if not len(cabling.cables):
        return []
    near, far = roles.tier[cabling.cables.a], roles.tier[cabling.cables.b]
    ends, others = np.concatenate([near, far]), np.concatenate([far, near])
    return [
        {
            "tier": tier,
            "name": tier_name(tier),
            "devices": len(roles.of_tier(tier)),
            "cables_up": int(((ends == tier) & (others > tier)).sum()),
            "cables_down": int(((ends == tier) & (others < tier)).sum()),
        }
        for tier in sorted(set(roles.tier.tolist()))
    ]


def _joins(cabling: Cabling, roles: Roles) -> list[JoinData]:
    lower, higher, counts = pair_counts(cabling)
    tiers = np.sort(np.stack([roles.tier[lower], roles.tier[higher]], axis=1), axis=1)
    joins: list[JoinData] = []
    for pair in sorted(set(map(tuple, tiers.tolist()))):
        some = counts[(tiers == pair).all(axis=1)]
        joins.append(
            {
                "between": list(pair),
                "cables": int(some.sum()),
                "pairs": len(some),
                "fewest": int(some.min()),
                "most": int(some.max()),
            }
        )
    return joins


def _rates(cabling: Cabling) -> list[RateData]:
    rates, counts = np.unique(cabling.cables.rate, return_counts=True)
    rows = zip(rates.tolist(), counts.tolist(), strict=True)
    return [{"rate": None if rate < 0 else rate, "cables": count} for rate, count in rows]
