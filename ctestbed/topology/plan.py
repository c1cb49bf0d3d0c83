"""From a testbed file to exact counts: what the builder will lay out, or why it cannot.

All of it is arithmetic on a handful of integers, so a testbed of any size is planned at once and
one too large for memory is refused before anything is allocated.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from ctestbed.core.names import did_you_mean
from ctestbed.core.result import Finding
from ctestbed.core.spec import SpecError, Unknown
from ctestbed.core.units import Millimetres, fibre_delay, format_rate, format_size
from ctestbed.core.yamlfile import YAMLPath
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.shapes import (
    UNKNOWN_FIGURE,
    Figures,
    Plan,
    Shape,
    SitePlan,
    TrunkPlan,
    ports_used,
)
from ctestbed.topology.testbed import Cable, Fabric, Site

NODE_BYTES: Final = 24
LINK_BYTES: Final = 43
WORK_FACTOR: Final = 3
"""Building and validating hold up to this many times the columns themselves."""
MEMORY_LIMIT: Final = 8 * 2**30
ANONYMOUS_SITE: Final = "site"

_Report: TypeAlias = Callable[[str, str, YAMLPath, str], None]


def require_plan(loaded: LoadedTestbed) -> Plan:
    """Return the plan of a testbed.

    Raises:
        SpecError: it cannot be built; with every finding.
    """
    plan, findings = plan_testbed(loaded)
    if plan is None:
        raise SpecError(tuple(findings))
    return plan


def plan_testbed(loaded: LoadedTestbed) -> tuple[Plan | None, list[Finding]]:
    """Return the plan, or None with every reason (an error finding each) why there is none."""
    findings: list[Finding] = []

    def report(code: str, message: str, path: YAMLPath, hint: str) -> None:
        findings.append(Finding(code, "error", message, loaded.document.where(path), hint))

    sites = _plan_sites(loaded, report)
    trunks = _plan_trunks(loaded, sites, report)
    testbed = loaded.testbed
    plan = Plan(
        name=testbed.name,
        sites=tuple(site for site in sites if site is not None),
        trunks=tuple(trunks),
        planes=testbed.planes.count,
        split=testbed.planes.form == "nic-split",
        accelerators_per_host=testbed.host.accelerators,
        nics_per_host=testbed.host.nics,
        supernode=None if testbed.supernode is None else testbed.supernode.accelerators,
        anonymous=testbed.sites is None,
    )
    if not findings:
        _check_memory(plan, report)
        _check_radix(plan, report)
        _check_supernodes(plan, report)
    return (None if findings else plan), findings


def _plan_sites(loaded: LoadedTestbed, report: _Report) -> list[SitePlan | None]:
    testbed = loaded.testbed
    sites = testbed.sites or [Site(name=ANONYMOUS_SITE)]
    names = [site.name for site in sites]
    plans: list[SitePlan | None] = []
    for position, site in enumerate(sites):
        if site.name in names[:position]:
            message = f"two sites are called {site.name!r}"
            report("CTB-T006", message, ("sites", position, "name"), "rename one of them")
        found = _fabric_of(loaded, site, position, report)
        plans.append(None if found is None else _plan_site(loaded, site.name, *found, report))
    return plans


def _fabric_of(
    loaded: LoadedTestbed, site: Site, position: int, report: _Report
) -> tuple[Fabric, YAMLPath] | None:
    testbed = loaded.testbed
    path: YAMLPath = ("sites", position, "fabric")
    if testbed.fabric is not None:
        if site.fabric is None:
            return testbed.fabric, ("fabric",)
        message = f"site {site.name!r} names a fabric, and this testbed has one for all sites"
        report("CTB-T007", message, path, "drop the name, or move the fabric under `fabrics`")
        return None
    fabrics = testbed.fabrics or {}
    if site.fabric in fabrics:
        return fabrics[site.fabric], ("fabrics", site.fabric)
    if site.fabric is None:
        hint = f"add `fabric:` to the site; known: {', '.join(sorted(fabrics))}"
        report("CTB-T007", f"site {site.name!r} does not say which fabric it has", path, hint)
    else:
        message = f"site {site.name!r} has fabric {site.fabric!r}, which `fabrics` does not list"
        report("CTB-T007", message, path, did_you_mean(site.fabric, fabrics))
    return None


def _plan_site(
    loaded: LoadedTestbed, name: str, fabric: Fabric, path: YAMLPath, report: _Report
) -> SitePlan | None:
    planes, host = loaded.testbed.planes, loaded.testbed.host
    lanes = planes.count if planes.form == "nic-split" else 1
    shape = _shape_of(fabric, host.nics, planes.count // lanes, lanes, path, report)
    host_cable = _figures(fabric, "host_links", lanes, path, report)
    spine_cable = _figures(fabric, "spine_links", lanes, path, report)
    core_cable = (
        _figures(fabric, "core_links", lanes, path, report) if fabric.has_cores else spine_cable
    )
    if shape is None or host_cable is None or spine_cable is None or core_cable is None:
        return None
    nics = shape.ports * planes.count // lanes
    if nics % host.nics:
        message = f"{nics} NICs do not make whole hosts of {host.nics}"
        report("CTB-T008", message, path, "change `host.nics` or the fabric's counts")
        return None
    radix = None if fabric.radix is None and fabric.k is None else (fabric.radix or fabric.k)
    return SitePlan(
        name,
        path,
        shape,
        nics // host.nics,
        None if radix is None else radix * lanes,
        host_cable,
        spine_cable,
        core_cable,
    )


def _shape_of(
    fabric: Fabric, nics: int, planes: int, lanes: int, path: YAMLPath, report: _Report
) -> Shape | None:
    """Return the shape; `planes` are those a host's NICs are dealt over, `lanes` cuts of a port."""
    if fabric.k is not None:
        return _regular_shape(fabric, fabric.k, lanes, path, report)
    hosts, spines, cores = fabric.hosts_per_leaf or 0, fabric.spines or 1, fabric.cores or 0
    if hosts * nics % planes:
        message = (
            f"{hosts} hosts of {nics} NICs below a leaf do not deal evenly over {planes} planes"
        )
        report("CTB-T008", message, (*path, "hosts_per_leaf"), "change the count of one of them")
        return None
    if cores % spines:
        message = f"{cores} cores do not divide over the {spines} spines of a pod"
        report("CTB-T009", message, (*path, "cores"), f"use a multiple of {spines}")
        return None
    return Shape(
        tiers=fabric.tiers,
        pods=fabric.pods or 1,
        leaves_per_pod=fabric.leaves or 0,
        spines_per_pod=spines,
        ports_per_leaf=hosts * nics // planes,
        parallel=fabric.parallel or 1,
        cores_per_spine=cores // spines,
    )


def _regular_shape(
    fabric: Fabric, k: int, lanes: int, path: YAMLPath, report: _Report
) -> Shape | None:
    """Return the non-blocking fat-tree of switches with k ports, each cut into lanes."""
    order, half = k * lanes, k * lanes // 2
    if order % 2:
        message = f"a fat-tree of odd order {k} has no equal halves to send down and up"
        report("CTB-T009", message, (*path, "k"), f"use {k - 1 or 2} or {k + 1}")
        return None
    return Shape(
        tiers=fabric.tiers,
        pods=order if fabric.has_cores else 1,
        leaves_per_pod=half if fabric.has_cores else order,
        spines_per_pod=half,
        ports_per_leaf=half,
        parallel=1,
        cores_per_spine=half if fabric.has_cores else 0,
    )


def _figures(
    fabric: Fabric, section: str, lanes: int, path: YAMLPath, report: _Report
) -> Figures | None:
    """Resolve one class of cables: its own section first, the fabric's figures otherwise."""
    own: Cable = getattr(fabric, section) or Cable()
    rate = fabric.rate if own.rate is None else own.rate
    own_delay = own.delay is not None or own.length is not None
    source = own if own_delay else fabric
    if rate is None:
        message = f"`{section}` have no rate, and the fabric gives none either"
        report("CTB-T010", message, (*path, "rate"), "write `rate: 400Gbps`, or `rate: unknown`")
    if source.delay is None and source.length is None:
        message = f"`{section}` have neither a delay nor a length, and the fabric gives none"
        report("CTB-T010", message, (*path, "delay"), "write `delay: 1us`, or `delay: unknown`")
    if rate is None or (source.delay is None and source.length is None):
        return None
    figures = cable_figures(source)
    if isinstance(rate, Unknown):
        return Figures(UNKNOWN_FIGURE, figures.delay, figures.length)
    if rate % lanes or rate == 0:
        message = f"a port of {format_rate(rate)} does not split into {lanes} whole equal rates"
        report("CTB-T011", message, (*path, "rate"), "change the rate or the plane count")
        return None
    return Figures(rate // lanes, figures.delay, figures.length)


def cable_figures(cable: Cable) -> Figures:
    """Return a cable's own rate, delay (given, or light through its length) and length."""
    rate = cable.rate if isinstance(cable.rate, int) else UNKNOWN_FIGURE
    if isinstance(cable.length, int):
        length = Millimetres(cable.length)
        return Figures(rate, fibre_delay(length, cable.refractive_index), length)
    return Figures(
        rate, cable.delay if isinstance(cable.delay, int) else UNKNOWN_FIGURE, UNKNOWN_FIGURE
    )


def _plan_trunks(
    loaded: LoadedTestbed, sites: list[SitePlan | None], report: _Report
) -> list[TrunkPlan]:
    names = [site.name for site in loaded.testbed.sites or [Site(name=ANONYMOUS_SITE)]]
    plans = []
    for position, trunk in enumerate(loaded.testbed.trunks):
        path: YAMLPath = ("trunks", position)
        ends = []
        for side, name in enumerate(trunk.between):
            if name in names:
                ends.append(names.index(name))
            else:
                message = f"a trunk ends at {name!r}, and no site is called that"
                report("CTB-T012", message, (*path, "between", side), did_you_mean(name, names))
        if trunk.rate == 0:
            report("CTB-T011", "a trunk of rate 0 carries nothing", (*path, "rate"), "`400Gbps`")
        if len(ends) < len(trunk.between):
            continue
        if ends[0] == ends[1]:
            message = f"a trunk joins site {trunk.between[0]!r} to itself"
            report("CTB-T012", message, (*path, "between"), "name two sites")
            continue
        first, second = sites[ends[0]], sites[ends[1]]
        if first is None or second is None:
            continue
        if first.shape.tops != second.shape.tops:
            message = (
                f"the {first.shape.tops} top switches of {first.name!r} have no peers among the "
                f"{second.shape.tops} of {second.name!r}"
            )
            report("CTB-T013", message, path, "give both sites as many switches in their top tier")
            continue
        plans.append(
            TrunkPlan(ends[0], ends[1], first.shape.tops, trunk.links, cable_figures(trunk))
        )
    return plans


def _check_radix(plan: Plan, report: _Report) -> None:
    checked = set()
    for position, site in enumerate(plan.sites):
        if site.radix is None:
            continue
        for tier, used in ports_used(plan, position).items():
            if used > site.radix and (site.path, tier, used) not in checked:
                checked.add((site.path, tier, used))
                place = _of_site(plan, site)
                message = f"a {tier}{place} uses {used} ports, and a switch has {site.radix}"
                hint = "use fewer ports on this tier, or switches of a larger `radix`"
                report("CTB-T014", message, (*site.path, "radix"), hint)


def _of_site(plan: Plan, site: SitePlan) -> str:
    return "" if plan.anonymous else f" of site {site.name!r}"


def _check_supernodes(plan: Plan, report: _Report) -> None:
    size = plan.supernode
    if size is None:
        return
    path: YAMLPath = ("supernode", "accelerators")
    if size % plan.accelerators_per_host:
        message = (
            f"a supernode of {size} accelerators does not consist of whole hosts of "
            f"{plan.accelerators_per_host}"
        )
        hint = f"use a multiple of {plan.accelerators_per_host}"
        report("CTB-T015", message, path, hint)
        return
    for site in plan.sites:
        total = site.hosts * plan.accelerators_per_host
        if total % size:
            place = _of_site(plan, site)
            message = f"{total} accelerators{place} do not fill supernodes of {size}"
            report("CTB-T015", message, path, f"use a divisor of {total}")


def _check_memory(plan: Plan, report: _Report) -> None:
    estimate = WORK_FACTOR * (plan.nodes * NODE_BYTES + plan.links * LINK_BYTES)
    if estimate > MEMORY_LIMIT:
        message = (
            f"{plan.nodes:,} nodes and {plan.links:,} links would take about "
            f"{format_size(-(-estimate // 2**30) * 2**30)} of memory; the limit is "
            f"{format_size(MEMORY_LIMIT)}"
        )
        report("CTB-T016", message, (), "use smaller counts")
