"""Headroom of long-haul lossless ports: what is configured against what the distance takes."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from ctestbed.core.errors import InputError, Where
from ctestbed.core.headroom import (
    DEFAULT_MTU,
    LongHaulLink,
    bandwidth_delay_product,
    headroom_variants,
)
from ctestbed.core.result import (
    UNKNOWN,
    Finding,
    InputFile,
    Metric,
    Result,
    checks_exit_code,
)
from ctestbed.core.spec import Unknown
from ctestbed.core.units import (
    fibre_delay,
    format_rate,
    format_size,
    format_time,
    parse_length,
    parse_rate,
    parse_size,
    parse_time,
)
from ctestbed.topology.build import load_topology
from ctestbed.topology.graph import Topology
from ctestbed.topology.joints import trunk_joints, without_ends
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.names import node_name
from ctestbed.topology.plan import require_plan
from ctestbed.topology.shapes import Plan
from ctestbed.transport.laws.longhaul import pause_refreshes, pause_time

Quantity: TypeAlias = int | str
Outcome: TypeAlias = Literal["enough", "too small", "unknown", "not checked"]

MODEL: Final = "closed form: 2 x one-way delay x rate (the bandwidth-delay product)"
_CONFIGURED: Final = "what the testbed file says is configured"
_MM_PER_M: Final = 1000


@dataclass(frozen=True, slots=True)
class HeadroomRequest:
    """A testbed, whose trunks are checked; or one link by rate and length or delay."""

    testbed: str | None = None
    rate: str | None = None
    length: str | None = None
    delay: str | None = None
    refractive_index: float | None = None
    mtu: str | None = None
    classes: int = 1
    configured: str | None = None
    solve: bool = False


class SolvedData(TypedDict):
    """What simulation found, in bytes per port and class, over `runs` runs.

    `lossless` is the least headroom that loses nothing; `no_starvation` the least buffer, `xoff`
    and that headroom, with which the link never falls idle after a pause.
    """

    lossless: int
    no_starvation: int
    xoff: int
    runs: int


class VariantData(TypedDict):
    """One way to size headroom, in bytes per port and class; its source."""

    name: str
    size: Quantity
    source: str


class PortsData(TypedDict):
    """Alike long-haul ports: rate bit/s, delay ps, length mm, sizes in bytes per class."""

    name: str
    rate: Quantity
    delay: Quantity
    length: Quantity
    classes: int
    configured: Quantity
    closed_form: Quantity
    per_port: Quantity
    outcome: Outcome
    ports: list[str]
    pause_refreshes: Quantity
    pause_frame_time: Quantity
    variants: list[VariantData]
    solved: NotRequired[SolvedData]


class HeadroomData(TypedDict):
    """Data of `sim headroom`."""

    testbed: str | None
    links: list[PortsData]


@dataclass(frozen=True, slots=True)
class _Ports:
    name: str
    rate: int
    delay: int
    length: int
    mtu: int
    classes: int
    configured: int | None
    ports: tuple[str, ...]
    where: Where | None


_ABSENT: Final = -1


def run_headroom(request: HeadroomRequest) -> Result:
    """Check a testbed's trunks, or size one link.

    Raises:
        InputError: neither or both are given, or a quantity cannot be read.
    """
    if request.testbed is None:
        link = _one_link(request)
        data, findings, metrics = _judge(None, [link])
        if request.solve:
            metrics += _solve(link, data["links"][0])
        return _result(data, findings, metrics, ())
    given = [
        *(request.rate, request.length, request.delay, request.configured),
        *(request.refractive_index, request.mtu),
    ]
    given_any = request.classes != 1 or any(value is not None for value in given)
    if request.solve or given_any:
        raise InputError(
            "CTB-S030",
            "a testbed and figures of one link are given, and either answers alone",
            hint="name the testbed, or give --rate and --length without it",
        )
    loaded, topology = load_topology(request.testbed)
    data, findings, metrics = check_headroom(loaded, topology)
    return _result(data, findings, metrics, (loaded.source,))


def _solve(link: _Ports, data: PortsData) -> list[Metric]:
    """Find the two sizes by simulation, and set them beside the closed form."""
    from ctestbed.workload.headroom_solve import solve_headroom

    found = solve_headroom(link.rate, link.delay, link.mtu)
    data["solved"] = {
        "lossless": found.lossless,
        "no_starvation": found.no_starvation,
        "xoff": found.xoff,
        "runs": found.runs,
    }
    source = "packet engine: one cable into a switch whose way out is blocked, then opens"
    return [
        Metric(f"headroom.{name}", value, "bytes", "simulated", "lower", source=source)
        for name, value in (
            ("lossless", found.lossless),
            ("no_starvation", found.no_starvation),
        )
    ]


def check_headroom(
    loaded: LoadedTestbed, topology: Topology
) -> tuple[HeadroomData, list[Finding], list[Metric]]:
    """Hold every long-haul port's configured headroom against the closed form."""
    plan = require_plan(loaded)
    groups = [
        _ports_of(loaded, plan, topology, position)
        for position in range(len(loaded.testbed.trunks))
    ]
    if not groups:
        raise InputError(
            "CTB-S031",
            f"testbed {loaded.testbed.name!r} has no long-haul trunks",
            where=loaded.document.where(()),
            hint="add `trunks:`, or give --rate and --length for one link",
        )
    return _judge(loaded.testbed.name, groups)


def _one_link(request: HeadroomRequest) -> _Ports:
    if request.rate is None or (request.length is None) == (request.delay is None):
        raise InputError(
            "CTB-S030",
            "a link needs a rate and either a length or a delay",
            hint="for example: --rate 400Gbps --length 150km",
        )
    if request.refractive_index is not None and (
        request.length is None or not 1 <= request.refractive_index <= 4  # noqa: PLR2004
    ):
        raise InputError(
            "CTB-S030",
            "a refractive index is a number from 1 to 4 that acts on a length",
            hint="glass fibre: 1.468",
        )
    if request.length is not None:
        length = parse_length(request.length, Where(pointer="--length"))
        index = request.refractive_index
        delay = fibre_delay(length, None if index is None else Decimal(str(index)))
    else:
        delay = parse_time(str(request.delay), Where(pointer="--delay"))
        length = _ABSENT  # type: ignore[assignment]
    rate = parse_rate(request.rate, Where(pointer="--rate"))
    if rate == 0:
        raise InputError(
            "CTB-S030", "a link of rate 0 carries nothing", hint="for example: --rate 400Gbps"
        )
    return _Ports(
        "the link",
        rate,
        delay,
        length,
        DEFAULT_MTU if request.mtu is None else parse_size(request.mtu, Where(pointer="--mtu")),
        request.classes,
        _ABSENT
        if request.configured is None
        else parse_size(request.configured, Where(pointer="--configured")),
        (),
        None,
    )


def _ports_of(loaded: LoadedTestbed, plan: Plan, topology: Topology, position: int) -> _Ports:
    trunk, spec = topology.trunks[position], loaded.testbed.trunks[position]
    links = topology.links
    rows = range(trunk.first_link, trunk.first_link + trunk.count)
    names = [
        f"{node_name(topology, int(end[row]))}:{int(port[row])}"
        for row in rows
        for end, port in ((links.a, links.a_port), (links.b, links.b_port))
    ]
    first = trunk.first_link
    path = ("trunks", position, "lossless", "headroom") if spec.lossless else ("trunks", position)
    configured: int | None = _ABSENT
    if spec.lossless is not None:
        headroom = spec.lossless.headroom
        configured = None if headroom is Unknown.UNKNOWN else headroom
    return _Ports(
        " - ".join(spec.between),
        int(links.rate[first]),
        int(links.delay[first]),
        int(links.length[first]),
        _mtu_of(loaded, plan, position),
        spec.lossless.classes if spec.lossless else 1,
        configured,
        tuple(names),
        loaded.document.where(path),
    )


def _mtu_of(loaded: LoadedTestbed, plan: Plan, position: int) -> int:
    """Return the largest frame of a trunk's ports; -1 if that of one end is unknown."""
    size = without_ends(trunk_joints(loaded, plan, position)[0]).lower.mtu.value
    if size is None:
        return DEFAULT_MTU
    return _ABSENT if isinstance(size, Unknown) else size


def _judge(
    testbed: str | None, groups: list[_Ports]
) -> tuple[HeadroomData, list[Finding], list[Metric]]:
    described = [_describe(group) for group in groups]
    findings = [
        finding
        for group, data in zip(groups, described, strict=True)
        for finding in _findings(group, data)
    ]
    return {"testbed": testbed, "links": described}, findings, _metrics(described)


def _result(
    data: HeadroomData,
    findings: list[Finding],
    metrics: list[Metric],
    inputs: tuple[InputFile, ...],
) -> Result:
    return Result(
        "ctestbed.sim.headroom/1",
        data,
        tuple(findings),
        tuple(metrics),
        inputs,
        checks_exit_code(findings),
    )


def _describe(group: _Ports) -> PortsData:
    known = group.rate > 0 and group.delay >= 0
    needed = bandwidth_delay_product(group.rate, group.delay) if known else None
    configured = group.configured
    outcome: Outcome = "not checked"
    if configured is None or (needed is None and configured != _ABSENT):
        outcome = "unknown"
    elif configured != _ABSENT and needed is not None:
        outcome = "enough" if configured >= needed else "too small"
    return {
        "name": group.name,
        "rate": _shown(group.rate),
        "delay": _shown(group.delay),
        "length": _shown(group.length),
        "classes": group.classes,
        "configured": UNKNOWN if configured is None or configured < 0 else configured,
        "closed_form": UNKNOWN if needed is None else needed,
        "per_port": UNKNOWN if needed is None else needed * group.classes,
        "outcome": outcome,
        "ports": list(group.ports),
        "pause_refreshes": pause_refreshes(group.rate, group.delay) if known else UNKNOWN,
        "pause_frame_time": round(pause_time(group.rate)) if group.rate > 0 else UNKNOWN,
        "variants": _variants(group) if known else [],
    }


def _shown(value: int) -> Quantity:
    return UNKNOWN if value < 0 else value


def _variants(group: _Ports) -> list[VariantData]:
    """Return the variants; some need metres, which a delay does not give, and a frame's size."""
    link = LongHaulLink(group.rate, group.delay, group.length, group.mtu)
    return [
        {
            "name": variant.name,
            "size": UNKNOWN if variant.size is None else variant.size,
            "source": variant.source,
        }
        for variant in headroom_variants(link)
    ]


def _findings(group: _Ports, data: PortsData) -> list[Finding]:
    """Return a finding for each port that is too small, or one note for what is unknown."""
    if data["outcome"] == "unknown":
        message = f"headroom of {group.name} cannot be checked: a quantity it rests on is unknown"
        hint = "what is it? give the testbed the figure once it is published or measured"
        return [Finding("CTB-S033", "note", message, group.where, hint)]
    if data["outcome"] != "too small" or group.configured is None:
        return []
    needed = int(data["closed_form"])
    way = f"{format_rate(group.rate)} over {format_time(group.delay)} one way"
    fact = (
        f"keeps {format_size(group.configured)} of headroom per lossless class, and {way} "
        f"takes {format_size(needed)}"
    )
    hint = f"configure at least {format_size(needed)}, or shorten or slow the link"
    names = [f"port {name}" for name in group.ports] or [group.name]
    return [Finding("CTB-S032", "error", f"{name} {fact}", group.where, hint) for name in names]


def _metrics(described: list[PortsData]) -> list[Metric]:
    """Return need and provision of the port that has the least to spare, so that they compare.

    Without any provision to compare, the need is the largest; what is unknown anywhere is UNKNOWN.
    """
    checked = [data for data in described if data["outcome"] != "not checked"]
    worst = sorted(checked or described, key=_spare)[:1]
    needs = [data["closed_form"] for data in described]
    need = _extreme(needs, max) if UNKNOWN in needs else worst[0]["closed_form"]
    metrics = [Metric("headroom.closed_form", need, "bytes", "modelled", source=MODEL)]
    if checked:
        kept = [data["configured"] for data in checked]
        value = _extreme(kept, min) if UNKNOWN in [*kept, *needs] else worst[0]["configured"]
        metrics.append(
            Metric("headroom.configured", value, "bytes", "claimed", "higher", source=_CONFIGURED)
        )
        short = sum(len(data["ports"]) or 1 for data in described if data["outcome"] == "too small")
        metrics.append(
            Metric("headroom.short_ports", short, "ports", "modelled", "lower", source=MODEL)
        )
    return metrics


def _spare(data: PortsData) -> int:
    """Return what a port keeps above its need, a provision that is not given being nothing."""
    need, kept = data["closed_form"], data["configured"]
    return (kept if isinstance(kept, int) else 0) - (need if isinstance(need, int) else 0)


def _extreme(values: list[Quantity], pick: Callable[[list[int]], int]) -> Quantity:
    known = [value for value in values if isinstance(value, int)]
    if len(known) < len(values) or not known:
        return UNKNOWN
    return pick(known)
