"""The structure of a testbed: its planes, what its hosts hang on, and how its sites are joined."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from ctestbed.core.result import Finding, Metric
from ctestbed.topology.analysis.cuts import find_partings
from ctestbed.topology.analysis.data import Element, PlaneStructure, SinglePoint, StructureData
from ctestbed.topology.analysis.exposed import distinct, findings_of_points, hanging_points
from ctestbed.topology.analysis.exposed import parting_points as name_partings
from ctestbed.topology.analysis.homing import attach
from ctestbed.topology.analysis.metrics import structure_metrics
from ctestbed.topology.analysis.planes import DesignPlane, describe_plane, scale_up_structure
from ctestbed.topology.analysis.sites import TrunkRoute, analyse_sites, site_findings
from ctestbed.topology.capacity import bisection
from ctestbed.topology.graph import Column, LinkClass, NodeKind, Tier, Topology
from ctestbed.topology.kinds.dragonfly import DragonflyWiring
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.names import node_name
from ctestbed.topology.shapes import Plan, PlanePlan

FINDINGS: Final = 8
"""Single points of failure that are written out as findings."""
LOWLINK: Final = 60_000
"""Pairs of switches up to which those that part a plane are looked for."""


@dataclass(frozen=True, slots=True)
class Structure:
    """What was found, as data, findings and metrics."""

    data: StructureData
    findings: tuple[Finding, ...]
    metrics: tuple[Metric, ...]


def analyse_design(topology: Topology, plan: Plan, loaded: LoadedTestbed) -> Structure:
    """Return the structure of a laid-out testbed."""
    planes: list[PlaneStructure] = []
    points: list[SinglePoint] = []
    exposed: list[Finding] = []
    for position, site in enumerate(plan.sites):
        name = None if plan.anonymous else site.name
        where = loaded.document.where(site.path)
        own: list[SinglePoint] = []
        if site.kind == "scale-up":
            planes.append(scale_up_structure(site, name, bisection(plan, position)))
        else:
            for planned, numbers in site.planes_alike():
                block = topology.block(position, numbers[0])
                plane = DesignPlane(topology, block, planned)
                planes.append(describe_plane(plane, name, numbers))
                own += _partings(plane, name, numbers)
        own = [*_hanging(topology, position, name), *own]
        points += own
        exposed += findings_of_points(own, _hosts(topology, position), where, "note")
    findings = _cut(list(dict.fromkeys(exposed)))
    sites = None
    if len(plan.sites) > 1:
        routes = [
            TrunkRoute(trunk.site_a, trunk.site_b, trunk.protection is not None)
            for trunk in plan.trunks
        ]
        sites = analyse_sites([site.name for site in plan.sites], routes)
        findings += site_findings(sites, loaded.document.where(("trunks",)))
    data: StructureData = {
        "hosts": sum(_hosts(topology, position) for position in range(len(plan.sites))),
        "unnamed": 0,
        "planes": planes,
        "single_points": points,
        "thin_hosts": [],
        "sites": sites,
    }
    return Structure(data, tuple(findings), tuple(structure_metrics(data)))


def _cut(findings: list[Finding]) -> list[Finding]:
    """Keep a few; the data holds all."""
    if len(findings) <= FINDINGS:
        return findings
    more = f"{len(findings) - FINDINGS} more of other sites; `data.structure.single_points` has all"
    return [*findings[:FINDINGS], Finding(findings[FINDINGS].code, "note", more)]


def _hosts(topology: Topology, position: int) -> int:
    site = topology.sites[position]
    return site.hosts if site.nics else site.accelerators


def _hanging(topology: Topology, position: int, name: str | None) -> list[SinglePoint]:
    """Return what hosts of a site hang on alone: with NICs all of it, without them by member."""
    site, nodes, links = topology.sites[position], topology.nodes, topology.links
    if not site.nics:
        return _members_hanging(topology, position, name)
    rows = np.flatnonzero((links.klass == LinkClass.HOST) & (nodes.site[links.a] == position))
    adapter, leaf = links.a[rows].astype(np.int64), links.b[rows]
    host = nodes.parent[adapter].astype(np.int64)

    def named(node: int) -> str:
        return node_name(topology, node)

    direct = topology.block(position, 0).direct
    word: Element = "router" if direct else "leaf"
    whole = attach(host, adapter, leaf)
    points = hanging_points(whole, "network", name, len, named, word)
    taken = {point["element"] for point in points}
    if topology.planes > 1:
        owner = host * topology.planes + links.plane[rows]
        by_plane = attach(owner, adapter, leaf)
        width = topology.planes
        found = hanging_points(by_plane, "plane", name, lambda o: distinct(o, width), named, word)
        points += [point for point in found if point["element"] not in taken]
    elif site.nics_per_host > 1 and int(whole.leaves.max(initial=0)) > 1:
        by_rail = attach(adapter, adapter, leaf)
        parents = nodes.parent
        found = hanging_points(
            by_rail, "rail", name, lambda o: len(np.unique(parents[o])), named, word
        )
        points += [point for point in found if point["element"] not in taken]
    return points


def _members_hanging(topology: Topology, position: int, name: str | None) -> list[SinglePoint]:
    """Return the accelerators of a site without NICs that hang on one cable, or one switch."""
    site, nodes, links = topology.sites[position], topology.nodes, topology.links
    member = (nodes.kind == NodeKind.ACCELERATOR) & (nodes.site == position)
    kind = LinkClass.SCALE_UP if site.kind == "scale-up" else LinkClass.FABRIC
    rows = np.flatnonzero(links.klass == kind)
    a, b = links.a[rows].astype(np.int64), links.b[rows].astype(np.int64)
    owner, far = np.concatenate([a, b]), np.concatenate([b, a])
    mine = member[owner]
    if not mine.any():
        return []
    word: Element = "scale-up switch" if site.kind == "scale-up" else "router"
    homing = attach(owner[mine], np.tile(np.arange(len(rows)), 2)[mine], far[mine])
    found = hanging_points(
        homing, "network", name, len, lambda node: node_name(topology, node), word
    )
    return [point for point in found if point["element"] != "adapter"]


def _partings(plane: DesignPlane, name: str | None, numbers: list[int]) -> list[SinglePoint]:
    """Return what parts a plane: nothing, where its form says that every two ways are disjoint."""
    if _parted_by_nothing(plane.planned):
        return []
    topology, graph = plane.topology, plane.graph
    if len(graph.low) > LOWLINK:
        return []
    owner, node = _owners(plane)
    partings = find_partings(graph, owner, node)

    def named(at: int) -> str:
        return node_name(topology, int(graph.original[at]))

    def kind(at: int) -> Element:
        if plane.block.direct:
            return "router"
        tiers: dict[int, Element] = {Tier.LEAF: "leaf", Tier.SPINE: "spine", Tier.CORE: "core"}
        return tiers[int(topology.nodes.tier[graph.original[at]])]

    return name_partings(partings, name, numbers, named, kind)


def _parted_by_nothing(planned: PlanePlan) -> bool:
    """Whether no one switch or cable parts a plane: two spines at least, or joined all over."""
    shape = planned.shape
    if shape.wiring is None:
        return shape.leaves == 1 or shape.spines_per_pod > 1
    if isinstance(shape.wiring, DragonflyWiring):
        return shape.wiring.g > 2 and shape.wiring.a > 1  # noqa: PLR2004 - groups that all meet
    return False


def _owners(plane: DesignPlane) -> tuple[Column, Column]:
    """Return a row per endpoint port: its host (or accelerator) and the node it hangs on."""
    topology, block, graph = plane.topology, plane.block, plane.graph
    if not block.leaves:
        every = np.arange(graph.nodes)
        return every, every
    nodes, links = topology.nodes, topology.links
    mine = (links.klass == LinkClass.HOST) & (links.plane == block.plane)
    rows = np.flatnonzero(mine & (nodes.site[links.b] == block.site))
    return nodes.parent[links.a[rows]], links.b[rows] - block.first_leaf
