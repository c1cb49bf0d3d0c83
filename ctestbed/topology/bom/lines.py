"""The lines of a bill of materials: every part of a planned network, counted without arrays."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from ctestbed.core.spec import Unknown
from ctestbed.core.units import format_length
from ctestbed.topology.bom.runs import (
    End,
    Run,
    breakout_of,
    lanes_of,
    medium_of,
    nic_medium_of,
    site_runs,
    trunk_runs,
    whole_ports,
)
from ctestbed.topology.fields import Route
from ctestbed.topology.kinds.trunk import route_figures
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.parts import Medium
from ctestbed.topology.shapes import UNKNOWN_FIGURE, Plan, SitePlan, trunk_cables
from ctestbed.topology.testbed import Host, Supernode

Group: TypeAlias = Literal["network", "scale-up", "hosts"]
PartKind: TypeAlias = Literal[
    "switch",
    "cable",
    "breakout cable",
    "transceiver",
    "amplifier place",
    "standby route",
    "scale-up switch",
    "bundle",
    "NIC",
    "host",
]

NO_POWER: Final = None
"""Of parts that draw none of their own: a fibre, whose transceivers stand on lines of theirs."""

LENGTH_CLASSES: Final = tuple(
    metres * 1000 for metres in (3, 100, 500, 2_000, 10_000, 40_000, 80_000)
)
"""Longest cable of each class, mm: copper, then the reaches that IEEE 802.3 calls SR, DR, FR, LR,
ER and ZR."""


@dataclass(frozen=True, slots=True)
class Line:
    """So many of one part at one place.

    `power` is of one (of an active cable: of all its ends), in mW: None if it draws none, -1 if
    unknown. `serves` has the models of the switches that it is an end or a cable of: a price of
    theirs may include it. Trunks are apart from that.
    """

    group: Group
    part: PartKind
    site: str
    place: str
    model: str | None
    count: int
    power: int | None
    planes: tuple[int, ...] | None = None
    kind: str | None = None
    links: int | None = None
    rate: int = UNKNOWN_FIGURE
    length: int = UNKNOWN_FIGURE
    radix: int | None = None
    ports_used: int | None = None
    serves: tuple[str | None, ...] = ()
    source: str | None = None


def length_class(length: int) -> str:
    """Return the class of a cable's length (mm), such as `up to 100 m`; UNKNOWN of -1."""
    if length == UNKNOWN_FIGURE:
        return "UNKNOWN"
    position = bisect_left(LENGTH_CLASSES, length)
    if position == len(LENGTH_CLASSES):
        return f"over {format_length(LENGTH_CLASSES[-1])}"
    return f"up to {format_length(LENGTH_CLASSES[position])}"


def bom_lines(loaded: LoadedTestbed, plan: Plan) -> list[Line]:
    """Return all lines: by site its switches, cables and ends, supernodes, hosts; then trunks."""
    lines: list[Line] = []
    for position, site in enumerate(plan.sites):
        lines += _switches(loaded, plan, position)
        runs = list(site_runs(site))
        for run in runs:
            lines += _cables(loaded, run)
        lines += _transceivers(loaded, runs)
        lines += _supernodes(loaded, site, position)
        lines += _hosts(loaded, site, position)
    for position, run in enumerate(trunk_runs(plan)):
        lines += _cables(loaded, run)
        lines += _transceivers(loaded, [run])
        lines += _amplifiers(loaded, plan, run.site, position)
    return lines


def host_of(loaded: LoadedTestbed, position: int) -> Host:
    """Return what the hosts of a site hold."""
    sites = loaded.testbed.sites
    own = sites[position].host if sites else None
    return own or loaded.testbed.host


def _supernode_of(loaded: LoadedTestbed, position: int) -> Supernode | None:
    sites = loaded.testbed.sites
    own = sites[position].supernode if sites else None
    return own or loaded.testbed.supernode


def known(value: int | Unknown | None) -> int:
    """Return a figure, or -1."""
    return value if isinstance(value, int) else UNKNOWN_FIGURE


def _switches(loaded: LoadedTestbed, plan: Plan, position: int) -> Iterator[Line]:
    site, parts = plan.sites[position], loaded.testbed.parts
    lanes, whole_used = lanes_of(loaded), whole_ports(loaded, plan)
    for plane, numbers in site.planes_alike():
        shape, used = plane.shape, plane.ports_used(trunk_cables(plan, position))
        lowest = "leaf" if shape.wiring is None else "router"
        counts = {lowest: shape.leaves, "spine": shape.spines, "core": shape.cores}
        for tier, count in counts.items():
            name = getattr(plane.models, tier)
            model = None if name is None else parts.switches[name]
            if count:
                named = None if site.alike else tuple(numbers)
                ports = whole_used.get((position, named, tier))
                if model is not None and ports is not None and ports.broken_out:
                    used[tier] = ports.used * lanes
                whole = UNKNOWN_FIGURE if model is None else known(model.port_rate)
                yield Line(
                    "network",
                    "switch",
                    site.name,
                    tier,
                    name,
                    count * len(numbers),
                    UNKNOWN_FIGURE if model is None else known(model.power),
                    planes=named,
                    rate=whole if whole == UNKNOWN_FIGURE else whole // lanes,
                    radix=plane.radix if model is None else model.radix * lanes,
                    ports_used=used[tier],
                    source=None if model is None else model.source,
                )


def _cables(loaded: LoadedTestbed, run: Run) -> Iterator[Line]:
    """Yield the line of a run's cables; assemblies are as many as whole ports at their top."""
    medium = medium_of(loaded, run)
    breakout = breakout_of(medium, run, lanes_of(loaded))
    line = Line(
        "network",
        "cable",
        run.site,
        run.layer,
        run.figures.medium,
        run.links,
        UNKNOWN_FIGURE,
        planes=run.planes,
        links=run.links,
        rate=run.figures.rate,
        length=run.figures.length,
        serves=() if run.is_trunk else tuple(end.model for end in run.ends if end.is_switch),
    )
    if medium is None:
        yield line
        return
    line = replace(line, kind=medium.kind, source=medium.source)
    if medium.kind == "transceiver":
        yield replace(line, power=NO_POWER)
        return
    per_end = known(medium.power_per_end)
    if breakout == 1:
        power = UNKNOWN_FIGURE if per_end == UNKNOWN_FIGURE else 2 * per_end
        yield replace(line, power=power)
        return
    assemblies = run.modules(run.ends[-1], breakout)
    # A breakout assembly has one end in the upper switch, and one for each cable below.
    below = 1 if run.lower.tier == "NIC" and (run.lower.ports or 1) > 1 else breakout
    power = UNKNOWN_FIGURE if per_end == UNKNOWN_FIGURE else (1 + below) * per_end
    yield replace(line, part="breakout cable", count=assemblies, power=power)


def _transceivers(loaded: LoadedTestbed, runs: list[Run]) -> Iterator[Line]:
    """Yield the transceivers at each end of each run, those in NICs first."""
    lanes = lanes_of(loaded)
    in_nics: dict[str, list[tuple[Run, Medium]]] = {}
    elsewhere: list[Line] = []
    for run in runs:
        medium = medium_of(loaded, run)
        if medium is None or medium.kind != "transceiver":
            continue
        for end in run.ends:
            if end.tier == "NIC":
                name, in_nic = nic_medium_of(loaded, run)
                in_nics.setdefault(str(name), []).append((run, in_nic or medium))
            else:
                count = run.modules(end, breakout_of(medium, run, lanes))
                name = run.figures.medium
                elsewhere.append(_transceiver(run, end, name, medium, count, run.planes))
    for name, group in in_nics.items():
        run, medium = group[0]
        planes = tuple(sorted(n for each, _ in group for n in each.planes or ())) or None
        count = _nic_modules([each for each, _ in group], breakout_of(medium, run, lanes), lanes)
        yield _transceiver(run, run.lower, name, medium, count, planes)
    yield from elsewhere


def _nic_modules(runs: list[Run], breakout: int, lanes: int) -> int:
    """Return the modules in NICs: planes that differ still share those of a split port."""
    if lanes == 1:
        return sum(run.modules(run.lower, breakout) for run in runs)
    return runs[0].lower.devices * -(-sum(run.lower.ports or 0 for run in runs) // breakout)


def _transceiver(
    run: Run,
    end: End,
    name: str | None,
    medium: Medium,
    count: int,
    planes: tuple[int, ...] | None,
) -> Line:
    switches = tuple(each.model for each in run.ends if each.is_switch)
    return Line(
        "network",
        "transceiver",
        run.site,
        f"{run.layer}, in {end.tier}" if end.site is None else f"{run.layer}, at {end.site}",
        name,
        count,
        known(medium.power_per_end),
        planes=planes,
        kind=medium.kind,
        rate=known(medium.rate),
        length=run.figures.length,
        serves=() if run.is_trunk else (end.model,) if end.is_switch else switches,
        source=medium.source,
    )


def _supernodes(loaded: LoadedTestbed, site: SitePlan, position: int) -> Iterator[Line]:
    domain, spec = site.supernode, _supernode_of(loaded, position)
    if domain is None or spec is None or not domain.switches:
        return
    tiers = [("scale-up", domain.lowers, spec.scale_up.switch_model)]
    if domain.uppers and spec.scale_up.upper is not None:
        upper = domain.switches * domain.uppers
        tiers.append(("scale-up, upper", upper, spec.scale_up.upper.switch_model))
    for place, each, name in tiers:
        yield _scale_up_switch(loaded, site.name, place, each * domain.count, name)
    bundles = {
        "accelerator - scale-up": (domain.accelerators * domain.switches, domain.cable),
        "CPU - scale-up": (
            domain.hosts * domain.cpus * domain.switches if domain.cpu_cabled else 0,
            domain.cpu_cable,
        ),
        "scale-up, upper": (domain.lowers * domain.uppers, domain.upper_cable),
    }
    for place, (each, figures) in bundles.items():
        count = each * domain.count
        if count:
            yield Line(
                "scale-up",
                "bundle",
                site.name,
                place,
                None,
                count,
                NO_POWER,
                links=count,
                rate=figures.rate,
            )


def _scale_up_switch(
    loaded: LoadedTestbed, site: str, place: str, count: int, name: str | None
) -> Line:
    model = None if name is None else loaded.testbed.parts.switches[name]
    return Line(
        "scale-up",
        "scale-up switch",
        site,
        place,
        name,
        count,
        UNKNOWN_FIGURE if model is None else known(model.power),
        radix=None if model is None else model.radix,
        source=None if model is None else model.source,
    )


def _hosts(loaded: LoadedTestbed, site: SitePlan, position: int) -> Iterator[Line]:
    host = host_of(loaded, position)
    name = host.nic_model
    model = None if name is None else loaded.testbed.parts.nics[name]
    if site.nics:
        power = UNKNOWN_FIGURE if model is None else known(model.power)
        source = None if model is None else model.source
        yield Line("hosts", "NIC", site.name, "host", name, site.nics, power, source=source)
    if host.power is not None:
        yield Line("hosts", "host", site.name, "host", None, site.hosts, known(host.power))


def _amplifiers(loaded: LoadedTestbed, plan: Plan, site: str, position: int) -> Iterator[Line]:
    """Yield the places of in-line amplifiers along a trunk's route and its standby."""
    spec, planned = loaded.testbed.trunks[position], plan.trunks[position]
    routes: list[tuple[str, Route, int]] = [("route", spec, planned.amplifiers)]
    if spec.protection is not None:
        routes.append(("standby", spec.protection, route_figures(spec.protection, 0)[1]))
        length = known(spec.protection.length)
        yield Line(
            "network", "standby route", site, "trunk, standby", None, 1, NO_POWER, length=length
        )
    for place, route, count in routes:
        if count and route.amplifiers is not None:
            name = route.amplifiers.amplifier_model
            model = None if name is None else loaded.testbed.parts.amplifiers[name]
            yield Line(
                "network",
                "amplifier place",
                site,
                f"trunk, {place}",
                name,
                count,
                UNKNOWN_FIGURE if model is None else known(model.power),
                length=known(route.length),
                source=None if model is None else model.source,
            )
