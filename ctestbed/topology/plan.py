"""From a testbed file to exact counts: what the builder will lay out, or why it cannot.

All of it is arithmetic on a handful of integers, so a testbed of any size is planned at once and
one too large for memory is refused before anything is allocated.
"""

from dataclasses import replace
from typing import Final

from ctestbed.core.names import did_you_mean
from ctestbed.core.result import Finding
from ctestbed.core.spec import SpecError
from ctestbed.core.units import format_size
from ctestbed.core.yamlfile import YAMLPath
from ctestbed.topology.fabrics import (
    AnyFabric,
    Dragonfly,
    FatTree,
    FullMesh,
    RailOnly,
    RailOptimised,
    ScaleUpOnly,
    SlimFly,
    Torus,
)
from ctestbed.topology.kinds.clos import plan_fat_tree, plan_rail_only, plan_rail_optimised
from ctestbed.topology.kinds.context import Context, FabricPlan, Report
from ctestbed.topology.kinds.dragonfly import plan_dragonfly
from ctestbed.topology.kinds.lattice import plan_full_mesh, plan_torus
from ctestbed.topology.kinds.scale_up import plan_scale_up_only, plan_supernode
from ctestbed.topology.kinds.slim_fly import plan_slim_fly
from ctestbed.topology.kinds.trunk import plan_trunks
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.part_use import check_part_names, tier_models
from ctestbed.topology.shapes import Plan, SitePlan, SupernodePlan, trunk_cables
from ctestbed.topology.testbed import Site, Supernode

NODE_BYTES: Final = 32
LINK_BYTES: Final = 43
WORK_FACTOR: Final = 3
"""Building and validating hold up to this many times the columns themselves."""
MEMORY_LIMIT: Final = 8 * 2**30
ANONYMOUS_SITE: Final = "site"


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

    check_part_names(loaded.testbed, report)
    sites = _plan_sites(loaded, report)
    trunks = plan_trunks(loaded.testbed, sites, report)
    whole = tuple(site for site in sites if site is not None)
    plan = None
    if not findings:
        _check_planes(whole, report)
        plan = Plan(
            name=loaded.testbed.name,
            sites=whole,
            trunks=tuple(trunks),
            planes=len(whole[0].planes),
            split=whole[0].split,
            anonymous=loaded.testbed.sites is None,
        )
        _check_memory(plan, report)
        _check_radix(plan, report)
    return (None if findings else plan), findings


def _plan_sites(loaded: LoadedTestbed, report: Report) -> list[SitePlan | None]:
    testbed = loaded.testbed
    sites = testbed.sites or [Site(name=ANONYMOUS_SITE)]
    names = [site.name for site in sites]
    plans: list[SitePlan | None] = []
    said: list[tuple[str, str, YAMLPath, str]] = []

    def report_once(code: str, message: str, path: YAMLPath, hint: str) -> None:
        if (code, message, path, hint) not in said:
            said.append((code, message, path, hint))
            report(code, message, path, hint)

    for position, site in enumerate(sites):
        if site.name in names[:position]:
            message = f"two sites are called {site.name!r}"
            report("CTB-T006", message, ("sites", position, "name"), "rename one of them")
        found = _fabric_of(loaded, site, position, report)
        plans.append(
            None if found is None else _plan_site(loaded, position, site, *found, report_once)
        )
    return plans


def _fabric_of(
    loaded: LoadedTestbed, site: Site, position: int, report: Report
) -> tuple[AnyFabric, YAMLPath] | None:
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
    loaded: LoadedTestbed,
    position: int,
    site: Site,
    fabric: AnyFabric,
    path: YAMLPath,
    report: Report,
) -> SitePlan | None:
    testbed = loaded.testbed
    host = testbed.host if site.host is None else site.host
    own = site.supernode is not None
    supernode = site.supernode if own else testbed.supernode
    context = Context(host, testbed.planes, path, report)
    planned = _plan_fabric(fabric, supernode, context)
    if planned is None:
        return None
    per_host, what = (host.accelerators, "accelerators") if planned.direct else (host.nics, "NICs")
    if planned.endpoints % per_host:
        message = f"{planned.endpoints} {what} do not make whole hosts of {per_host}"
        key = "host.accelerators" if planned.direct else "host.nics"
        report("CTB-T008", message, path, f"change `{key}` or the fabric's counts")
        return None
    hosts = planned.endpoints // per_host
    place = "" if testbed.sites is None else f" of site {site.name!r}"
    domain: SupernodePlan | None = None
    if supernode is not None:
        at: YAMLPath = ("sites", position, "supernode") if own else ("supernode",)
        domain = plan_supernode(supernode, hosts, host.accelerators, at, place, report)
        if planned.direct and domain is not None and fabric.kind != "scale-up" and domain.switches:
            message = f"accelerators of a {fabric.kind} have no ports left for scale-up switches"
            report("CTB-T017", message, (*at, "scale_up", "switches"), "leave `switches` out")
            return None
        if domain is None:
            return None
    return SitePlan(
        name=site.name,
        path=path,
        kind=fabric.kind,
        planes=tuple(
            replace(plane, models=tier_models(fabric, testbed.planes, number))
            for number, plane in enumerate(planned.planes)
        ),
        split=planned.split,
        hosts=hosts,
        accelerators_per_host=host.accelerators,
        nics_per_host=0 if planned.direct else host.nics,
        supernode=domain,
        counts_only=planned.counts_only,
    )


def _plan_fabric(  # noqa: PLR0911 - one line for each kind
    fabric: AnyFabric, supernode: Supernode | None, context: Context
) -> FabricPlan | None:
    match fabric:
        case FatTree():
            return plan_fat_tree(fabric, context)
        case RailOptimised():
            return plan_rail_optimised(fabric, context)
        case RailOnly():
            return plan_rail_only(fabric, context)
        case SlimFly():
            return plan_slim_fly(fabric, context)
        case Dragonfly():
            return plan_dragonfly(fabric, context)
        case Torus():
            return plan_torus(fabric, context)
        case FullMesh():
            return plan_full_mesh(fabric, context)
        case ScaleUpOnly():
            return plan_scale_up_only(fabric, supernode, context)


def _check_planes(sites: tuple[SitePlan, ...], report: Report) -> None:
    """All sites have as many planes, and NICs that reach them alike."""
    first = sites[0]
    for site in sites[1:]:
        if (len(site.planes), site.split) != (len(first.planes), first.split):
            message = (
                f"site {site.name!r} has {_planes_of(site)}, and {first.name!r} {_planes_of(first)}"
            )
            hint = "give both the same; a site's own supernodes and rates may still differ"
            report("CTB-T018", message, site.path, hint)


def _planes_of(site: SitePlan) -> str:
    form = "split NICs" if site.split else "whole NICs"
    return f"{len(site.planes)} plane{'s' if len(site.planes) > 1 else ''} of {form}"


def _check_radix(plan: Plan, report: Report) -> None:
    checked = set()
    for position, site in enumerate(plan.sites):
        for plane, numbers in site.planes_alike():
            if plane.radix is None:
                continue
            for tier, used in plane.ports_used(trunk_cables(plan, position)).items():
                if used > plane.radix and (site.path, tier, used) not in checked:
                    checked.add((site.path, tier, used))
                    place = "" if plan.anonymous else f" of site {site.name!r}"
                    place += "" if site.alike else f" in plane {numbers[0]}"
                    message = f"a {tier}{place} uses {used} ports, and a switch has {plane.radix}"
                    hint = "use fewer ports on this tier, or switches of a larger `radix`"
                    report("CTB-T014", message, (*site.path, "radix"), hint)


def _check_memory(plan: Plan, report: Report) -> None:
    estimate = WORK_FACTOR * (plan.nodes * NODE_BYTES + plan.links * LINK_BYTES)
    if estimate > MEMORY_LIMIT:
        message = (
            f"{plan.nodes:,} nodes and {plan.links:,} links would take about "
            f"{format_size(-(-estimate // 2**30) * 2**30)} of memory; the limit is "
            f"{format_size(MEMORY_LIMIT)}"
        )
        report("CTB-T016", message, (), "use smaller counts")
