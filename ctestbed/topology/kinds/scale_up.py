"""Supernodes: the network inside a scale-up domain, of one tier or two, and who is on it."""

from ctestbed.core.spec import Unknown
from ctestbed.core.units import format_rate
from ctestbed.core.yamlfile import YAMLPath
from ctestbed.topology.fabrics import ScaleUpOnly
from ctestbed.topology.kinds.context import Context, FabricPlan, Report, no_planes
from ctestbed.topology.shapes import (
    UNKNOWN_FIGURE,
    Figures,
    PlanePlan,
    Shape,
    SupernodePlan,
)
from ctestbed.topology.testbed import Supernode

_NO_CABLE = Figures(UNKNOWN_FIGURE, UNKNOWN_FIGURE, UNKNOWN_FIGURE)


def plan_scale_up_only(
    fabric: ScaleUpOnly, supernode: Supernode | None, context: Context
) -> FabricPlan | None:
    """Plan supernodes without a network between them; None after a finding."""
    if no_planes(context, fabric.kind, "it has no network between supernodes"):
        return None
    if "nics" in context.host.model_fields_set:
        message = "hosts have no NICs where nothing is cabled between supernodes"
        context.report("CTB-T052", message, ("host", "nics"), "leave `host.nics` out")
        return None
    if supernode is None or supernode.scale_up.switches is None:
        message = "a fabric of kind scale-up is the network of its supernodes, and none is given"
        hint = "give `supernode`, with `scale_up.switches`"
        context.refuse("CTB-T017", message, None, hint)
        return None
    shape = Shape(0, 1, 0, 0, 0, 1, 0)
    plane = PlanePlan(shape, None, _NO_CABLE, _NO_CABLE, _NO_CABLE)
    endpoints = fabric.supernodes * supernode.accelerators
    return FabricPlan((plane,), split=False, endpoints=endpoints, direct=True)


def plan_supernode(
    supernode: Supernode, hosts: int, accelerators: int, path: YAMLPath, place: str, report: Report
) -> SupernodePlan | None:
    """Plan the domains of a site of so many hosts, so many accelerators each; None if refused."""
    size, total = supernode.accelerators, hosts * accelerators
    at = (*path, "accelerators")
    if size % accelerators:
        message = (
            f"a supernode of {size} accelerators does not consist of whole hosts of {accelerators}"
        )
        report("CTB-T015", message, at, f"use a multiple of {accelerators}")
        return None
    if total % size:
        message = f"{total} accelerators{place} do not fill supernodes of {size}"
        report("CTB-T015", message, at, f"use a divisor of {total}")
        return None
    scale_up, cpus = supernode.scale_up, supernode.cpus
    switches, upper = scale_up.switches or 0, scale_up.upper
    at = (*path, "scale_up")
    cable = _bundle(scale_up.rate, switches, scale_up.delay, at, report)
    cpu_cable = upper_cable = _NO_CABLE
    if cpus is not None and cpus.rate is not None:
        found = _bundle(cpus.rate, switches, scale_up.delay, (*path, "cpus"), report)
        cpu_cable = found or cpu_cable
    if upper is not None:
        delay = scale_up.delay if upper.delay is None else upper.delay
        found = _bundle(upper.rate, upper.switches, delay, (*at, "upper"), report)
        upper_cable = found or upper_cable
    if cable is None:
        return None
    return SupernodePlan(
        accelerators=size,
        hosts=size // accelerators,
        count=total // size,
        switches=switches,
        uppers=0 if upper is None else upper.switches,
        cpus=0 if cpus is None else cpus.per_host,
        cpu_cabled=cpus is not None and cpus.rate is not None and switches > 0,
        cable=cable,
        upper_cable=upper_cable,
        cpu_cable=cpu_cable,
        memory=_known(supernode.memory),
        cpu_memory=UNKNOWN_FIGURE if cpus is None else _known(cpus.memory),
    )


def _bundle(
    rate: int | Unknown, parts: int, delay: int | Unknown, path: YAMLPath, report: Report
) -> Figures | None:
    """Return the figures of one of `parts` equal bundles; None after a finding."""
    if isinstance(rate, int) and parts and (rate % parts or rate == 0):
        message = f"{format_rate(rate)} do not spread over {parts} switches in whole equal rates"
        report("CTB-T011", message, (*path, "rate"), "change the rate or the number of switches")
        return None
    share = UNKNOWN_FIGURE
    if isinstance(rate, int):
        share = rate // parts if parts else rate
    return Figures(share, _known(delay), UNKNOWN_FIGURE)


def _known(value: int | Unknown | None) -> int:
    return value if isinstance(value, int) else UNKNOWN_FIGURE
