"""The structure of one plane of a design: by closed form where one exists, by search elsewhere."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ctestbed.topology.analysis.bisection import Bisection, bracket_bisection
from ctestbed.topology.analysis.closed import (
    ClosedForm,
    closed_form,
    dragonfly_bound,
    mean_of,
    slim_fly_bisection,
)
from ctestbed.topology.analysis.data import BisectionData, PlaneStructure, Spread, same_for_all
from ctestbed.topology.analysis.diversity import measure_diversity
from ctestbed.topology.analysis.multigraph import Ints, Multigraph, plane_graph
from ctestbed.topology.analysis.search import Distances, measure_distances
from ctestbed.topology.capacity import plane_bisection
from ctestbed.topology.graph import PlaneBlock, Topology
from ctestbed.topology.kinds.dragonfly import DragonflyWiring
from ctestbed.topology.names import node_name
from ctestbed.topology.shapes import UNKNOWN_FIGURE, Figures, PlanePlan, SitePlan

CLOSED = "closed form"
SAMPLED = 64
"""Routers from which the shortest paths of a Slim Fly are counted."""


@dataclass(frozen=True)
class DesignPlane:
    """One plane of a testbed, with its graph made on first use only."""

    topology: Topology
    block: PlaneBlock
    planned: PlanePlan

    @cached_property
    def graph(self) -> Multigraph:
        """Return the plane's switches, or accelerators that are their own routers."""
        return plane_graph(self.topology, self.block)

    @cached_property
    def closed(self) -> ClosedForm | None:
        """Return what follows from the plane's counts."""
        return closed_form(self.planned)

    @property
    def sources(self) -> Ints | None:
        """Return leaves that stand for all by symmetry; None where each may differ.

        Turning a Dragonfly by a group maps it onto itself, so one group stands for all.
        """
        wiring = self.planned.shape.wiring
        return np.arange(wiring.a) if isinstance(wiring, DragonflyWiring) else None


def describe_plane(plane: DesignPlane, site: str | None, planes: list[int]) -> PlaneStructure:
    """Return the structure of a plane, which stands for `planes` that are like it."""
    shape = plane.planned.shape
    leaves = shape.leaves or (0 if shape.wiring is None else shape.wiring.routers)
    hops, unreachable, searched, how = _hops(plane)
    structure: PlaneStructure = {
        "site": site,
        "planes": planes,
        "leaves": leaves,
        "switches": shape.switches or leaves,
        "diameter": max(hops, default=0),
        "mean_hops": mean_of(hops),
        "hops": {str(distance): pairs for distance, pairs in sorted(hops.items())},
        "searched": searched,
        "unreachable": unreachable,
        "fan_out": None,
        "shortest_paths": None,
        "disjoint_paths": None,
        "weakest": [],
        "bisection": _bisection(plane),
        "methods": {"hops": how, "shortest_paths": None, "disjoint_paths": None},
    }
    if leaves > 1:
        _add_diversity(plane, structure)
    return structure


def _hops(plane: DesignPlane) -> tuple[dict[int, int], int, int, str]:
    """Return pairs of leaves by hops, those without a way, leaves searched from, and how."""
    closed = plane.closed
    if closed is not None and closed.hops is not None:
        shape = plane.planned.shape
        leaves = shape.leaves or (0 if shape.wiring is None else shape.wiring.routers)
        return closed.hops, 0, leaves, CLOSED
    sources = plane.sources
    found = measure_distances(plane.graph, sources)
    hops = hops_of(found)
    if sources is None:
        return hops, found.unreachable, found.sources, searched_from(found.sources, found.leaves)
    times = found.leaves // len(sources)
    return (
        {distance: pairs * times for distance, pairs in hops.items()},
        found.unreachable * times,
        found.leaves,
        "searched from one group, which stands for all",
    )


def searched_from(sources: int, leaves: int) -> str:
    """Say from how many leaves a search went."""
    return "searched from every leaf" if sources == leaves else f"searched from {sources} leaves"


def hops_of(found: Distances) -> dict[int, int]:
    """Return ordered pairs by hops, without the distances that no pair has."""
    return {distance: pairs for distance, pairs in enumerate(found.counts) if pairs}


def _add_diversity(plane: DesignPlane, structure: PlaneStructure) -> None:
    """Fill what is known of paths: by closed form first, the rest by search."""
    closed = plane.closed
    shortest = disjoint = None
    fan_out = None
    if closed is not None:
        shortest, disjoint, fan_out = closed.shortest, closed.disjoint, closed.fan_out
    known = same_for_all_dragonfly(plane.planned)
    disjoint = disjoint or known
    methods = structure["methods"]
    methods["shortest_paths"] = CLOSED if shortest is not None else None
    methods["disjoint_paths"] = CLOSED if disjoint is not None else None
    if shortest is None or disjoint is None:
        sources = plane.sources
        if sources is None and closed is not None:
            every = plane.graph.leaves
            sources = every[np.arange(min(SAMPLED, len(every))) * len(every) // SAMPLED]
            sources = np.unique(sources)
        found = measure_diversity(
            plane.graph, sources, hops=structure["diameter"] or 1, flows=disjoint is None
        )
        if shortest is None:
            shortest, fan_out = found.shortest, found.fan_out
            methods["shortest_paths"] = (
                searched_from(found.sources, structure["leaves"])
                if plane.sources is None
                else methods["hops"]
            )
        if disjoint is None:
            disjoint = found.disjoint
            methods["disjoint_paths"] = found.flow_method
            first = plane.graph.original
            structure["weakest"] = [
                node_name(plane.topology, int(first[node])) for node in found.weakest or ()
            ]
    structure["shortest_paths"], structure["disjoint_paths"] = shortest, disjoint
    structure["fan_out"] = fan_out


def same_for_all_dragonfly(planned: PlanePlan) -> Spread | None:
    """Return a Dragonfly's disjoint paths: its routers' degree, where groups are dense enough.

    Cutting a group in two takes a-1 cables or more, and cutting off routers of one group their
    global cables too; cutting between groups takes more where a > h and there are groups enough.
    """
    wiring = planned.shape.wiring
    if not isinstance(wiring, DragonflyWiring) or wiring.g < 3 or wiring.a <= wiring.h:  # noqa: PLR2004
        return None
    return same_for_all(wiring.degree)


def _bisection(plane: DesignPlane) -> BisectionData | None:
    if plane.planned.shape.ports == 1:
        return None
    for planned, unit in ((plane.planned, "bit/s"), (_counted(plane.planned), "cables")):
        exact = plane_bisection(planned) if _halves_evenly(planned) else None
        bounds = slim_fly_bisection(planned) if exact is None else (exact, exact)
        if bounds is not None:
            return closed_bisection(*bounds, unit="bit/s" if unit == "bit/s" else "cables")
        if planned is plane.planned and _rated(planned):
            break  # no closed form there is, whatever is counted
    known = dragonfly_bound(plane.planned)
    return bisection_data(bracket_bisection(plane.graph, known=known), plane.graph)


def _halves_evenly(planned: PlanePlan) -> bool:
    """Whether half of the leaves are half of every layer: a tree with an odd count is searched."""
    shape = planned.shape
    if shape.wiring is not None:
        return True
    return shape.leaves % 2 == 0 and (shape.pods % 2 == 0 or not shape.cores)


def _rated(planned: PlanePlan) -> bool:
    """Whether the rate of every cable that the plane has is known."""
    return all(figures.rate != UNKNOWN_FIGURE for figures in _used(planned))


def _used(planned: PlanePlan) -> list[Figures]:
    shape = planned.shape
    figures = list(planned.peer_cables)
    figures += [planned.host_cable] if shape.ports else []
    figures += [planned.spine_cable] if shape.uplinks else []
    return figures + ([planned.core_cable] if shape.core_links else [])


def _counted(planned: PlanePlan) -> PlanePlan:
    """Return the plane with a rate of 1 for every cable, so that rates count cables."""
    one = Figures(1, UNKNOWN_FIGURE, UNKNOWN_FIGURE)
    peers = (one,) * len(planned.peer_cables)
    return replace(planned, host_cable=one, spine_cable=one, core_cable=one, peer_cables=peers)


def closed_bisection(
    at_least: int, at_most: int, unit: Literal["bit/s", "cables"] = "bit/s"
) -> BisectionData:
    """Return bounds that a closed form gives."""
    return {
        "at_least": at_least,
        "at_most": at_most,
        "unit": unit,
        "exact": at_least == at_most,
        "method": CLOSED,
        "sides": None,
    }


def bisection_data(found: Bisection | None, graph: Multigraph) -> BisectionData | None:
    """Return the bounds of a graph as data."""
    if found is None:
        return None
    return {
        "at_least": found.at_least,
        "at_most": found.at_most,
        "unit": "bit/s" if graph.rated else "cables",
        "exact": found.exact,
        "method": found.method,
        "sides": list(found.sides),
    }


def scale_up_structure(site: SitePlan, name: str | None, bisection: int | None) -> PlaneStructure:
    """Return the structure of one supernode, whose members hang on all switches of their tier."""
    domain = site.supernode
    assert domain is not None  # noqa: S101 - a fabric of kind scale-up has one
    far = domain.uppers > 0 and domain.hosts > 1
    paths = domain.switches * (domain.uppers if far else 1)
    return {
        "site": name,
        "planes": [0],
        "leaves": domain.lowers,
        "switches": domain.domain_switches,
        "diameter": 2 if far else 0,
        "mean_hops": None,
        "hops": {},
        "searched": domain.lowers,
        "unreachable": 0,
        "fan_out": domain.switches,
        "shortest_paths": same_for_all(paths),
        "disjoint_paths": same_for_all(domain.switches),
        "weakest": [],
        "bisection": None if bisection is None else closed_bisection(bisection, bisection),
        "methods": {"hops": CLOSED, "shortest_paths": CLOSED, "disjoint_paths": CLOSED},
    }
