"""Long-haul trunks between sites: which switches they join, and what their routes take."""

from ctestbed.core.names import did_you_mean
from ctestbed.core.units import MAX_QUANTITY, format_rate
from ctestbed.core.yamlfile import YAMLPath
from ctestbed.topology.fields import Route
from ctestbed.topology.kinds.context import Report, cable_figures
from ctestbed.topology.shapes import UNKNOWN_FIGURE, Figures, SitePlan, TrunkPlan
from ctestbed.topology.testbed import Testbed, Trunk


def plan_trunks(testbed: Testbed, sites: list[SitePlan | None], report: Report) -> list[TrunkPlan]:
    """Plan every trunk whose two sites could be planned; the others have findings."""
    plans = []
    for position, trunk in enumerate(testbed.trunks):
        ends = _ends(testbed, trunk, ("trunks", position), report)
        if ends is None:
            continue
        first, second = sites[ends[0]], sites[ends[1]]
        if first is None or second is None:
            continue
        planned = _plan_trunk(trunk, ends, (first, second), ("trunks", position), report)
        if planned is not None:
            plans.append(planned)
    return plans


def route_figures(route: Route, rate: int) -> tuple[Figures, int]:
    """Return a route's figures, its amplifiers' delays included, and how many amplifiers it has."""
    own = cable_figures(route)
    amplifiers = route.amplifiers
    if amplifiers is None or own.length == UNKNOWN_FIGURE:
        return Figures(rate, own.delay, own.length, own.medium), 0
    count = max(-(-own.length // amplifiers.spacing) - 1, 0)
    delay = UNKNOWN_FIGURE if count else own.delay
    if isinstance(amplifiers.delay, int):
        delay = own.delay + count * amplifiers.delay
    return Figures(rate, delay, own.length, own.medium), count


def _ends(testbed: Testbed, trunk: Trunk, path: YAMLPath, report: Report) -> tuple[int, int] | None:
    names = [site.name for site in testbed.sites or []]
    ends = []
    for side, name in enumerate(trunk.between):
        if name in names:
            ends.append(names.index(name))
        else:
            message = f"a trunk ends at {name!r}, and no site is called that"
            hint = did_you_mean(name, names) if names else "name the testbed's `sites`"
            report("CTB-T012", message, (*path, "between", side), hint)
    if trunk.rate == 0:
        report("CTB-T011", "a trunk of rate 0 carries nothing", (*path, "rate"), "`400Gbps`")
    if len(ends) < len(trunk.between):
        return None
    if ends[0] == ends[1]:
        message = f"a trunk joins site {trunk.between[0]!r} to itself"
        report("CTB-T012", message, (*path, "between"), "name two sites")
        return None
    return ends[0], ends[1]


def _plan_trunk(
    trunk: Trunk,
    ends: tuple[int, int],
    sites: tuple[SitePlan, SitePlan],
    path: YAMLPath,
    report: Report,
) -> TrunkPlan | None:
    tops = _tops(trunk, sites, path, report)
    if tops is None:
        return None
    rate = trunk.rate if isinstance(trunk.rate, int) else UNKNOWN_FIGURE
    figures, amplifiers = route_figures(trunk, rate)
    standby = None if trunk.protection is None else route_figures(trunk.protection, rate)[0]
    for route, at in ((figures, path), (standby, (*path, "protection"))):
        if route is not None and route.delay > MAX_QUANTITY:
            message = f"the amplifiers of this route add up to more than {MAX_QUANTITY} ps"
            place = (*at, "amplifiers", "delay")
            report("CTB-C005", message, place, "check the unit prefixes of spacing and delay")
            return None
    cables = tops * trunk.links * len(sites[0].planes)
    capacity = trunk.capacity if isinstance(trunk.capacity, int) else None
    if capacity is not None and rate * cables > capacity:
        message = (
            f"{cables} cables of {format_rate(rate)} are more than the {format_rate(capacity)} "
            "that the trunk carries"
        )
        hint = "use fewer `links` or `switches`, or give the capacity there is"
        report("CTB-T054", message, (*path, "capacity"), hint)
        return None
    return TrunkPlan(*ends, tops, trunk.links, figures, standby, amplifiers, capacity)


def _tops(
    trunk: Trunk, sites: tuple[SitePlan, SitePlan], path: YAMLPath, report: Report
) -> int | None:
    """Return how many top switches of each site the trunk joins, one to one."""
    first, second = sites
    counts = [sorted({plane.shape.tops for plane in site.planes}) for site in sites]
    for site, tops in zip(sites, counts, strict=True):
        if tops[0] == 0:
            message = f"site {site.name!r} has no switch that a trunk could start from"
            hint = "join sites whose fabrics have switches"
            report("CTB-T013", message, path, hint)
            return None
    if trunk.switches is not None:
        least = min(tops[0] for tops in counts)
        if trunk.switches <= least:
            return trunk.switches
        message = f"{trunk.switches} switches are asked for, and a plane has {least} at its top"
        report("CTB-T013", message, (*path, "switches"), f"use at most {least}")
        return None
    if counts[0] != counts[1]:
        message = (
            f"the {counts[0][-1]} top switches of {first.name!r} have no peers among the "
            f"{counts[1][-1]} of {second.name!r}"
        )
        hint = "give both sites as many switches in their top tier, or join some: `switches: 4`"
        report("CTB-T013", message, path, hint)
        return None
    if len(counts[0]) > 1:
        message = f"planes of {first.name!r} differ in the number of their top switches"
        report("CTB-T013", message, path, f"join some of each: `switches: {counts[0][0]}`")
        return None
    return counts[0][0]
