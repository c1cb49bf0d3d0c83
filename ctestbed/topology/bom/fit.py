"""Whether the parts fit where they are used: reach of media, rates, ports, and power limits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from ctestbed.core.names import numbered
from ctestbed.core.units import format_length, format_power, format_rate
from ctestbed.core.yamlfile import YAMLPath, format_pointer
from ctestbed.topology.bom.lines import Line, bom_lines, host_of, known
from ctestbed.topology.bom.runs import (
    PortUse,
    Run,
    breakout_of,
    lanes_of,
    medium_of,
    nic_medium_of,
    site_runs,
    trunk_runs,
    whole_ports,
)
from ctestbed.topology.bom.totals import sum_power
from ctestbed.topology.ends import Answers, Asked
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.part_use import part_uses
from ctestbed.topology.parts import Medium
from ctestbed.topology.shapes import UNKNOWN_FIGURE, Plan

_NO_LENGTH: Final = "CTB-T152"
_UNDECIDED: Final = "CTB-T158"


@dataclass(frozen=True, slots=True)
class _Used:
    """A run of cables with what it is made of, and the site it is of (None: a trunk)."""

    run: Run
    name: str | None
    medium: Medium | None
    breakout: int
    site: int | None

    @property
    def needed(self) -> int:
        """The rate that a whole port must have for its cables; -1 if unknown."""
        rate = self.run.figures.rate
        return rate if rate == UNKNOWN_FIGURE else rate * self.breakout

    @property
    def what(self) -> str:
        """Name the cables."""
        run = self.run
        if run.is_trunk:
            return f"the cables of trunk {run.site}"
        planes = "" if run.planes is None else f" of {numbered('plane', run.planes)}"
        return f"{run.layer} cables{planes}"


def _used(loaded: LoadedTestbed, plan: Plan) -> Iterator[_Used]:
    lanes = lanes_of(loaded)
    runs = [(run, i) for i, site in enumerate(plan.sites) for run in site_runs(site)]
    for run, site in [*runs, *((run, None) for run in trunk_runs(plan))]:
        medium = medium_of(loaded, run)
        yield _Used(run, run.figures.medium, medium, breakout_of(medium, run, lanes), site)


def _used_in_nics(loaded: LoadedTestbed, plan: Plan) -> Iterator[_Used]:
    """Yield the runs whose ends in NICs are made of something else."""
    for used in _used(loaded, plan):
        name, medium = nic_medium_of(loaded, used.run)
        if used.run.lower.tier == "NIC" and name != used.name:
            breakout = breakout_of(medium, used.run, lanes_of(loaded))
            yield replace(used, name=name, medium=medium, breakout=breakout)


def check_parts(loaded: LoadedTestbed, plan: Plan) -> Asked:
    """Every medium reaches as far, and media and switches are as fast and as large, as used."""
    answers, unsure = Answers(loaded, plan), False
    for used in _used(loaded, plan):
        if used.medium is not None:
            answers.asked = True
            unsure |= known(used.medium.reach) == UNKNOWN_FIGURE
            _check_reach(answers, used, used.medium)
            _check_rate(answers, used, used.medium)
        _check_port_rates(answers, used)
    for used in _used_in_nics(loaded, plan):
        if used.medium is not None:
            unsure |= known(used.medium.reach) == UNKNOWN_FIGURE
            _check_reach(answers, used, used.medium)
            _check_rate(answers, used, used.medium)
    for (site, _, tier), use in whole_ports(loaded, plan).items():
        _check_radix(answers, use, site, tier)
    named = {(part.shelf, part.name) for part in part_uses(loaded.testbed)}
    for shelf in type(loaded.testbed.parts).model_fields:
        for name in getattr(loaded.testbed.parts, shelf):
            if (shelf, name) not in named:
                text = f"nothing is made of `parts.{shelf}.{name}`"
                path: YAMLPath = ("parts", shelf, name)
                answers.add("CTB-T159", text, path, "name it where it is used", severity="note")
    outcome = answers.outcome(unknown=frozenset({_NO_LENGTH}))
    return Asked(outcome.findings, None) if unsure and outcome.passed else outcome


def _place(answers: Answers, run: Run, key: str) -> YAMLPath:
    """Return where the file gives a figure of a run: in its own section, or for all cables."""
    lines = answers.loaded.document.lines
    nearer = (*run.path, key)
    shared = (*run.path[: 1 if run.path[0] == "fabric" else 2], key)
    return shared if nearer not in lines and shared in lines else nearer


def _check_reach(answers: Answers, used: _Used, medium: Medium) -> None:
    run, name = used.run, used.name
    routes = [(used.what, run.figures.length, _place(answers, run, "length"), False)]
    if run.is_trunk:
        position = int(run.path[1])
        spec, planned = answers.loaded.testbed.trunks[position], answers.plan.trunks[position]
        routes[0] = (*routes[0][:3], spec.amplifiers is not None)
        if spec.protection is not None and planned.protection is not None:
            path = (*run.path, "protection", "length")
            what = f"the standby route of trunk {run.site}"
            amplified = spec.protection.amplifiers is not None
            routes.append((what, planned.protection.length, path, amplified))
    for what, length, path, amplified in routes:
        reach = known(medium.amplified_reach if amplified else medium.reach)
        kind = "amplified reach" if amplified else "reach"
        if reach == UNKNOWN_FIGURE and not (amplified and medium.amplified_reach is None):
            continue  # the file calls it unknown, and a note says so
        if UNKNOWN_FIGURE in {reach, length}:
            missing = f"an {kind} of {name!r}" if reach == UNKNOWN_FIGURE else "a length"
            text = f"{what} are not held against the reach of {name!r}, for want of {missing}"
            hint = f"give `{'amplified_reach' if reach == UNKNOWN_FIGURE else 'length'}`"
            answers.add(_NO_LENGTH, text, path, hint, severity="note", site=used.site)
        elif length > reach:
            text = (
                f"{what} are {format_length(length)} long, and {name!r} has "
                f"{_article(kind)} of {format_length(reach)}"
            )
            hint = "use a medium of longer reach, or place the two ends nearer to each other"
            answers.add("CTB-T151", text, path, hint, site=used.site)


def _article(kind: str) -> str:
    return f"an {kind}" if kind.startswith("a") else f"a {kind}"


def _check_rate(answers: Answers, used: _Used, medium: Medium) -> None:
    rate, name = known(medium.rate), used.name
    if UNKNOWN_FIGURE in {rate, used.needed} or rate == used.needed:
        return
    carried = format_rate(used.run.figures.rate)
    carried = carried if used.breakout == 1 else f"{used.breakout} x {carried}"
    text = f"{used.what} carry {carried} in a port, and {name!r} is made for {format_rate(rate)}"
    path = _place(answers, used.run, "medium")
    if used.needed > rate:
        hint = "use a faster medium, or slower cables"
        answers.add("CTB-T153", text, path, hint, site=used.site)
    else:
        hint = "is that intended? then it is paid for and not used"
        answers.add("CTB-T154", text, path, hint, severity="warning", site=used.site)


def _check_port_rates(answers: Answers, used: _Used) -> None:
    switches = answers.loaded.testbed.parts.switches
    for end in used.run.ends:
        model = None if end.model is None else switches[end.model]
        rate = UNKNOWN_FIGURE if model is None else known(model.port_rate)
        if UNKNOWN_FIGURE in {rate, used.needed}:
            continue
        answers.asked = True
        if used.needed > rate:
            text = (
                f"{used.what} need ports of {format_rate(used.needed)}, and the {end.tier} "
                f"{end.model!r} has ports of {format_rate(rate)}"
            )
            hint = "use switches with faster ports, or slower cables"
            path = _place(answers, used.run, "rate")
            answers.add("CTB-T153", text, path, hint, site=used.site)


def _check_radix(answers: Answers, use: PortUse, site: int, tier: str) -> None:
    if use.model is None:
        return
    answers.asked = True
    radix = answers.loaded.testbed.parts.switches[use.model].radix
    place = answers.plan.sites[site].path
    fabric = _fabric_radix(answers, place)
    if use.used > radix:
        text = f"a {tier} uses {use.used} whole ports, and {use.model!r} has {radix}"
        hint = "use a larger model, fewer ports on this tier, or a medium of larger `breakout`"
        answers.add("CTB-T155", text, ("parts", "switches", use.model), hint, site=site)
    if fabric is not None and fabric != radix:
        text = f"the fabric gives switches {fabric} ports, and {use.model!r} has {radix}"
        hint = "leave `radix` out of the fabric: its models tell"
        path = (*place, "radix")
        answers.add("CTB-T156", text, path, hint, severity="warning", site=site)


def _fabric_radix(answers: Answers, path: YAMLPath) -> int | None:
    testbed = answers.loaded.testbed
    fabric = testbed.fabric or (testbed.fabrics or {})[str(path[-1])]
    return fabric.radix if hasattr(fabric, "radix") else None


def check_power(loaded: LoadedTestbed, plan: Plan) -> Asked:
    """Hosts and sites draw no more than they may, as far as the power of their parts is known."""
    answers = Answers(loaded, plan)
    lines = bom_lines(loaded, plan)
    for position, site in enumerate(plan.sites):
        host = host_of(loaded, position)
        here = [line for line in lines if line.site == site.name]
        own = loaded.testbed.sites[position] if loaded.testbed.sites else None
        in_hosts = _host_lines(loaded, plan, position, here)
        root: YAMLPath = ("host",)
        if own is not None and own.host is not None:
            root = ("sites", position, "host")
        if host.power_limit is not None:
            path = (*root, "power_limit")
            _hold(answers, "a host", in_hosts, site.hosts, host.power_limit, path, position)
        if own is not None and own.power_limit is not None:
            without = [line for line in here if line.part != "host"]
            whole = [*without, _hosts_line(loaded, plan, position)]
            whole += _trunk_lines(loaded, plan, position)
            path = ("sites", position, "power_limit")
            what = f"site {site.name!r}"
            _hold(answers, what, whole, 1, own.power_limit, path, None)
    return answers.outcome(unknown=frozenset({_UNDECIDED}))


def _hosts_line(loaded: LoadedTestbed, plan: Plan, position: int) -> Line:
    site, host = plan.sites[position], host_of(loaded, position)
    return Line("hosts", "host", site.name, "host", None, site.hosts, known(host.power))


def _host_lines(loaded: LoadedTestbed, plan: Plan, position: int, lines: list[Line]) -> list[Line]:
    """Return what the hosts of a site draw: themselves, their NICs, and cable ends in these."""
    found = [line for line in lines if line.part == "NIC"]
    found += [line for line in lines if line.part == "transceiver" and line.place.endswith("NIC")]
    found.append(_hosts_line(loaded, plan, position))
    for run in site_runs(plan.sites[position]):
        medium = medium_of(loaded, run)
        if run.lower.tier == "NIC" and (medium is None or medium.kind != "transceiver"):
            power = UNKNOWN_FIGURE if medium is None else known(medium.power_per_end)
            name = run.figures.medium
            found.append(Line("hosts", "cable", run.site, run.layer, name, run.links, power))
    return found


def _trunk_lines(loaded: LoadedTestbed, plan: Plan, position: int) -> Iterator[Line]:
    """Yield the cable ends of trunks that stand at a site."""
    for trunk, run in zip(plan.trunks, trunk_runs(plan), strict=True):
        for end, site in zip(run.ends, (trunk.site_a, trunk.site_b), strict=True):
            if site == position:
                medium = medium_of(loaded, run)
                count = run.modules(end, breakout_of(medium, run, 1))
                power = UNKNOWN_FIGURE if medium is None else known(medium.power_per_end)
                name = run.figures.medium
                yield Line("network", "cable", run.site, run.layer, name, count, power)


def _hold(
    answers: Answers,
    what: str,
    lines: list[Line],
    shares: int,
    limit: int,
    path: YAMLPath,
    site: int | None,
) -> None:
    """Hold a sum against a limit; what is known of it may be too much already."""
    answers.asked = True
    total = sum_power(lines)
    each = -(-total["at_least"] // shares)
    least = "at least " if total["unknown"] else ""
    if each > limit:
        text = f"{what} draws {least}{format_power(each)}, and may draw {format_power(limit)}"
        hint = "use fewer or thriftier parts, or raise the limit"
        answers.add("CTB-T157", text, path, hint, site=site)
    elif total["unknown"]:
        text = (
            f"whether {what} stays below {format_power(limit)} is not known: it draws "
            f"{format_power(each)} without the {' and the '.join(total['unknown'])}"
        )
        hint = f"give `{format_pointer(('parts',))}` their power, and hosts theirs"
        answers.add(_UNDECIDED, text, path, hint, severity="note", site=site)


CHECKS: Final[tuple[tuple[str, Callable[[LoadedTestbed, Plan], Asked]], ...]] = (
    ("media reach as far, and parts are as fast and large, as they are used", check_parts),
    ("hosts and sites draw no more power than they may", check_power),
)
