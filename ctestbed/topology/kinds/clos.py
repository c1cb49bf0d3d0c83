"""Clos families: fat-trees of any counts, rail-optimised segments, and rails that stand alone."""

from dataclasses import replace

from ctestbed.core.yamlfile import YAMLPath
from ctestbed.topology.fabrics import FatTree, RailOnly, RailOptimised
from ctestbed.topology.fields import Cable
from ctestbed.topology.kinds.context import Context, FabricPlan, figures_of, no_planes
from ctestbed.topology.shapes import Figures, PlanePlan, Shape
from ctestbed.topology.testbed import PlaneOverride
from ctestbed.topology.tiers import Tier


def plan_fat_tree(fabric: FatTree, context: Context) -> FabricPlan | None:
    """Plan the planes of a fat-tree, those that differ included; None after a finding."""
    lanes, count = context.lanes, context.planes.count
    shape = _tree_shape(fabric, context)
    host = figures_of(context, fabric, fabric.host_links, "host_links", lanes)
    spine = figures_of(context, fabric, fabric.spine_links, "spine_links", lanes)
    core = spine
    if fabric.has_cores:
        core = figures_of(context, fabric, fabric.core_links, "core_links", lanes)
    if shape is None or host is None or spine is None or core is None:
        return None
    radix = fabric.radix or fabric.k
    alike = PlanePlan(shape, None if radix is None else radix * lanes, host, spine, core)
    planes: list[PlanePlan | None] = [alike] * count
    for position, override in enumerate(context.planes.overrides):
        path: YAMLPath = ("planes", "overrides", position)
        seen = {other.plane for other in context.planes.overrides[:position]}
        if override.plane >= count or override.plane in seen:
            many = "overridden twice" if override.plane in seen else f"not one of {count}"
            message = f"plane {override.plane} is {many}"
            context.report("CTB-T019", message, (*path, "plane"), "planes count from 0")
            planes.append(None)
        else:
            planes[override.plane] = _overridden(fabric, override, alike, context, path)
    whole = tuple(plane for plane in planes if plane is not None)
    if len(whole) < len(planes):
        return None
    return FabricPlan(whole, lanes > 1, shape.ports * count // lanes)


def _tree_shape(fabric: FatTree, context: Context) -> Shape | None:
    """Return the shape; NICs are dealt over the planes, or ports cut into lanes."""
    if fabric.k is not None:
        return _regular_shape(fabric, fabric.k, context)
    dealt = context.planes.count // context.lanes
    nics = context.host.nics
    hosts, spines, cores = fabric.hosts_per_leaf or 0, fabric.spines or 1, fabric.cores or 0
    if hosts * nics % dealt:
        message = (
            f"{hosts} hosts of {nics} NICs below a leaf do not deal evenly over {dealt} planes"
        )
        hint = "change the count of one of them"
        context.refuse("CTB-T008", message, "hosts_per_leaf", hint)
        return None
    if cores % spines:
        message = f"{cores} cores do not divide over the {spines} spines of a pod"
        context.refuse("CTB-T009", message, "cores", f"use a multiple of {spines}")
        return None
    return Shape(
        tiers=fabric.tiers,
        pods=fabric.pods or 1,
        leaves_per_pod=fabric.leaves or 0,
        spines_per_pod=spines,
        ports_per_leaf=hosts * nics // dealt,
        parallel=fabric.parallel or 1,
        cores_per_spine=cores // spines,
    )


def _regular_shape(fabric: FatTree, k: int, context: Context) -> Shape | None:
    """Return the non-blocking fat-tree of switches with k ports, each cut into lanes."""
    order, half = k * context.lanes, k * context.lanes // 2
    if order % 2:
        message = f"a fat-tree of odd order {k} has no equal halves to send down and up"
        context.refuse("CTB-T009", message, "k", f"use {k - 1 or 2} or {k + 1}")
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


def _overridden(
    fabric: FatTree, override: PlaneOverride, base: PlanePlan, context: Context, path: YAMLPath
) -> PlanePlan | None:
    """Return one plane that differs from the others; its NIC ports stay as many."""
    changed = _own_shape(fabric, override, base.shape, context, path)
    host, spine, core = (
        _own_figures(fabric, override, section, usual, context, path)
        for section, usual in (
            ("host_links", base.host_cable),
            ("spine_links", base.spine_cable),
            ("core_links", base.core_cable),
        )
    )
    if changed is None or host is None or spine is None or core is None:
        return None
    radix = base.radix if override.radix is None else override.radix * context.lanes
    return PlanePlan(changed, radix, host, spine, core)


def _own_shape(
    fabric: FatTree, override: PlaneOverride, shape: Shape, context: Context, path: YAMLPath
) -> Shape | None:
    """Return the shape of one plane: what its override leaves out is as elsewhere."""
    upper = {key: getattr(override, key) for key in ("cores", "core_links", "core_switch")}
    stray = next((key for key, value in upper.items() if value is not None), None)
    if stray and not fabric.has_cores:
        message = f"`{stray}` has no place in a fat-tree of two tiers"
        context.report("CTB-T019", message, (*path, stray), "leave it out")
        return None
    leaves = override.leaves or shape.leaves_per_pod
    spines = override.spines or shape.spines_per_pod
    cores = override.cores or shape.cores
    below = shape.leaves_per_pod * shape.ports_per_leaf
    if below % leaves:
        message = f"{below} NIC ports of a pod do not spread evenly below {leaves} leaves"
        context.report("CTB-T019", message, (*path, "leaves"), f"use a divisor of {below}")
        return None
    if cores % spines:
        message = f"{cores} cores do not divide over the {spines} spines of a pod"
        context.report("CTB-T019", message, (*path, "spines"), "change `spines` or `cores`")
        return None
    return replace(
        shape,
        leaves_per_pod=leaves,
        ports_per_leaf=below // leaves,
        spines_per_pod=spines,
        parallel=override.parallel or shape.parallel,
        cores_per_spine=cores // spines,
    )


def _own_figures(
    fabric: FatTree,
    override: PlaneOverride,
    section: str,
    usual: Figures,
    context: Context,
    path: YAMLPath,
) -> Figures | None:
    """Return the figures of one plane's cables: what its override leaves out is as elsewhere."""
    own: Cable | None = getattr(override, section)
    if own is None:
        return usual
    elsewhere: Cable = getattr(fabric, section) or Cable()
    timed = fabric if elsewhere.delay is None and elsewhere.length is None else elsewhere
    merged = Cable.model_construct(  # of values that are already read
        rate=fabric.rate if elsewhere.rate is None else elsewhere.rate,
        delay=timed.delay,
        length=timed.length,
        refractive_index=timed.refractive_index,
        medium=elsewhere.medium or fabric.medium,
    )
    return figures_of(context, merged, own, section, context.lanes, (*path, section))


def plan_rail_optimised(fabric: RailOptimised, context: Context) -> FabricPlan | None:
    """Plan segments of rails, each rail with a ToR in every plane; None after a finding."""
    if no_planes(context, fabric.kind, "`tors_per_rail` decides them"):
        return None
    if context.host.nics != fabric.rails:
        message = f"hosts of {context.host.nics} NICs do not fit {fabric.rails} rails, one NIC each"
        context.refuse("CTB-T008", message, "rails", f"set `host.nics: {fabric.rails}`")
        return None
    cores = fabric.cores or 0
    if cores % fabric.spines:
        message = f"{cores} cores do not divide over the {fabric.spines} spines of a pod"
        context.refuse("CTB-T009", message, "cores", f"use a multiple of {fabric.spines}")
        return None
    host = figures_of(context, fabric, fabric.host_links, "host_links")
    spine = figures_of(context, fabric, fabric.spine_links, "spine_links")
    core = figures_of(context, fabric, fabric.core_links, "core_links") if cores else spine
    if host is None or spine is None or core is None:
        return None
    shape = Shape(
        tiers=Tier.CORE if cores else Tier.SPINE,
        pods=fabric.pods or 1,
        leaves_per_pod=fabric.segments * fabric.rails,
        spines_per_pod=fabric.spines,
        ports_per_leaf=fabric.hosts_per_segment,
        parallel=fabric.parallel or 1,
        cores_per_spine=cores // fabric.spines,
        rails=fabric.rails,
    )
    plane = PlanePlan(shape, fabric.radix, host, spine, core)
    return FabricPlan((plane,) * fabric.tors_per_rail, fabric.tors_per_rail > 1, shape.ports)


def plan_rail_only(fabric: RailOnly, context: Context) -> FabricPlan | None:
    """Plan rails that nothing joins, each a plane of its own; None after a finding."""
    if no_planes(context, fabric.kind, "every rail is one"):
        return None
    if fabric.rails % context.host.nics:
        message = (
            f"a domain of {fabric.rails} NICs does not consist of whole hosts of "
            f"{context.host.nics}"
        )
        context.refuse("CTB-T008", message, "rails", "change `rails` or `host.nics`")
        return None
    if fabric.domains % fabric.leaves:
        message = f"{fabric.domains} domains do not spread evenly over {fabric.leaves} leaves"
        context.refuse("CTB-T009", message, "leaves", f"use a divisor of {fabric.domains}")
        return None
    host = figures_of(context, fabric, fabric.host_links, "host_links")
    spine = host
    if fabric.spines is not None:
        spine = figures_of(context, fabric, fabric.spine_links, "spine_links")
    if host is None or spine is None:
        return None
    shape = Shape(
        tiers=Tier.LEAF if fabric.spines is None else Tier.SPINE,
        pods=1,
        leaves_per_pod=fabric.leaves,
        spines_per_pod=fabric.spines or 0,
        ports_per_leaf=fabric.domains // fabric.leaves,
        parallel=fabric.parallel or 1,
        cores_per_spine=0,
    )
    plane = PlanePlan(shape, fabric.radix, host, spine, spine)
    return FabricPlan((plane,) * fabric.rails, split=False, endpoints=shape.ports * fabric.rails)
