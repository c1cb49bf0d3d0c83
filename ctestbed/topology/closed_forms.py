"""How many NIC ports, switches and cables there must be: formulas of a file's own numbers.

Kept apart from planning and laying out, so that each is checked against the other. All counts are
of one plane of one site; cables are those between switches, or between equals.
"""

from math import prod
from typing import NamedTuple

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
from ctestbed.topology.testbed import PlaneOverride, Planes, Supernode

_RESIDUE_OF_MINUS_ONE = 3


class PlaneCounts(NamedTuple):
    """NIC ports, switches and inter-switch cables of one plane."""

    ports: int
    switches: int
    cables: int


def plane_counts(  # noqa: PLR0911 - one formula for each kind
    fabric: AnyFabric, nics: int, planes: Planes, plane: int
) -> PlaneCounts:
    """Return the counts of one plane of a site whose hosts have so many NICs."""
    match fabric:
        case FatTree():
            return _fat_tree(fabric, nics, planes, plane)
        case RailOptimised():
            pods, cores = fabric.pods or 1, fabric.cores or 0
            tors = pods * fabric.segments * fabric.rails
            spines = fabric.spines
            return PlaneCounts(
                tors * fabric.hosts_per_segment,
                tors + pods * spines + cores,
                tors * spines * (fabric.parallel or 1) + pods * cores,
            )
        case RailOnly():
            spines = fabric.spines or 0
            cables = fabric.leaves * spines * (fabric.parallel or 1)
            return PlaneCounts(fabric.domains, fabric.leaves + spines, cables)
        case SlimFly():
            q = fabric.q
            delta = -1 if q % 4 == _RESIDUE_OF_MINUS_ONE else q % 4
            return PlaneCounts(2 * q**2 * fabric.p, 2 * q**2, q**2 * (3 * q - delta) // 2)
        case Dragonfly():
            a, h = fabric.a, fabric.h
            g = a * h + 1 if fabric.g is None else fabric.g
            cables = g * a * (a - 1) // 2 + (g * a * h // 2 if g > 1 else 0)
            return PlaneCounts(fabric.p * a * g, a * g, cables)
        case Torus():
            total = prod(fabric.dims)
            lines = [total // side for side in fabric.dims]
            rings = [side if fabric.wrap and side > 2 else side - 1 for side in fabric.dims]  # noqa: PLR2004 - no ring of two
            return PlaneCounts(0, 0, sum(n * m for n, m in zip(lines, rings, strict=True)))
        case FullMesh():
            total = prod(fabric.dims)
            return PlaneCounts(0, 0, total * sum(side - 1 for side in fabric.dims) // 2)
        case ScaleUpOnly():
            return PlaneCounts(0, 0, 0)


def _fat_tree(fabric: FatTree, nics: int, planes: Planes, plane: int) -> PlaneCounts:
    """Return the counts of a plane of a fat-tree.

    Two tiers of order k: k^2/2, 3k/2, k^2/2; three: k^3/4, 5k^2/4, k^3/2; a split port makes
    order k * planes. By counts: a leaf has hosts * NICs (/ planes, when dealt out) below it.
    """
    split = planes.form == "nic-split"
    own = next((each for each in planes.overrides if each.plane == plane), PlaneOverride(plane=0))
    if fabric.k is not None:
        k = fabric.k * planes.count if split else fabric.k
        if own == PlaneOverride(plane=own.plane):
            if fabric.has_cores:
                return PlaneCounts(k**3 // 4, 5 * k**2 // 4, k**3 // 2)
            return PlaneCounts(k**2 // 2, 3 * k // 2, k**2 // 2)
        three = fabric.has_cores
        pods, leaves, below = k if three else 1, k // 2 if three else k, k // 2
        spines, cores, parallel = k // 2, k**2 // 4 if three else 0, 1
    else:
        pods, cores = fabric.pods or 1, fabric.cores or 0
        leaves, spines = fabric.leaves or 0, fabric.spines or 0
        below = (fabric.hosts_per_leaf or 0) * nics // (1 if split else planes.count)
        parallel = fabric.parallel or 1
    ports = pods * leaves * below
    leaves, spines = own.leaves or leaves, own.spines or spines
    cores, parallel = own.cores or cores, own.parallel or parallel
    cables = pods * leaves * spines * parallel + pods * cores
    return PlaneCounts(ports, pods * (leaves + spines) + cores, cables)


def supernode_counts(supernode: Supernode, hosts: int, accelerators: int) -> tuple[int, int]:
    """Return a site's scale-up switches and bundles, of so many hosts and accelerators in each.

    One tier: (accelerators + cabled processors) * switches bundles. Two: each host's switches
    again have one bundle to every upper switch of their sub-plane.
    """
    scale_up, cpus = supernode.scale_up, supernode.cpus
    switches = scale_up.switches or 0
    domains = hosts * accelerators // supernode.accelerators
    cabled = cpus.per_host if cpus is not None and cpus.rate is not None else 0
    members = hosts * (accelerators + cabled) * switches
    if scale_up.upper is None:
        return domains * switches, members
    uppers = scale_up.upper.switches
    return switches * (hosts + domains * uppers), members + hosts * switches * uppers
