"""How sites reach each other over trunks: directly, through others, and what one trunk's loss cuts.

A trunk is one route however many cables it has, for they share a way; its protection path is a
second one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ctestbed.core.errors import Where
from ctestbed.core.result import Finding
from ctestbed.topology.analysis.cuts import find_cuts
from ctestbed.topology.analysis.data import SitesData, TrunkLoss
from ctestbed.topology.analysis.diversity import disjoint_between
from ctestbed.topology.analysis.multigraph import Multigraph, make_multigraph

_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class TrunkRoute:
    """A trunk between two sites by position, and whether it has a protection path."""

    a: int
    b: int
    protected: bool


def analyse_sites(names: Sequence[str], trunks: Sequence[TrunkRoute]) -> SitesData:
    """Return how sites reach each other, and what hangs on one trunk or one site."""
    count = len(names)
    routes = [trunk for trunk in trunks for _ in range(2 if trunk.protected else 1)]
    graph = _graph(count, routes)
    hops = _hops(count, trunks)
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    cuts = find_cuts(graph)
    lone: list[TrunkLoss] = []
    for at, child, row in cuts.bridges:
        if graph.cables[row] > 1:
            if any({trunk.a, trunk.b} == {at, child} and trunk.protected for trunk in trunks):
                lone.append(_loss(names, cuts.order, (at, child), cuts.end[child], protected=True))
            continue
        lone.append(_loss(names, cuts.order, (at, child), cuts.end[child], protected=False))
    return {
        "pairs": len(pairs),
        "direct": sum(hops[a][b] == 1 for a, b in pairs),
        "indirect": [[names[a], names[b]] for a, b in pairs if hops[a][b] > 1],
        "apart": [[names[a], names[b]] for a, b in pairs if hops[a][b] < 0],
        "via": sorted({names[at] for at, _ in cuts.articulations}, key=list(names).index),
        "most_hops": max((hops[a][b] for a, b in pairs), default=0),
        "routes_fewest": _fewest(graph),
        "lone_trunks": sorted(lone, key=lambda loss: loss["between"]),
    }


def _graph(count: int, routes: Sequence[TrunkRoute]) -> Multigraph:
    a = np.array([route.a for route in routes], np.int64)
    b = np.array([route.b for route in routes], np.int64)
    sites = np.arange(count)
    return make_multigraph(count, (a, b), np.ones_like(a), (sites, np.ones_like(sites)), sites)


def _fewest(graph: Multigraph) -> int:
    if len(np.unique(graph.components)) > 1:
        return 0
    return min(disjoint_between(graph, graph.leaves)[0], default=0)


def _hops(count: int, trunks: Sequence[TrunkRoute]) -> list[list[int]]:
    """Return trunks on the shortest way between any two sites; -1 where there is none."""
    beside: list[set[int]] = [set() for _ in range(count)]
    for trunk in trunks:
        beside[trunk.a].add(trunk.b)
        beside[trunk.b].add(trunk.a)
    table = []
    for start in range(count):
        hops = [-1] * count
        hops[start] = 0
        queue = [start]
        for site in queue:
            for far in sorted(beside[site]):
                if hops[far] < 0:
                    hops[far] = hops[site] + 1
                    queue.append(far)
        table.append(hops)
    return table


def _loss(
    names: Sequence[str], order: list[int], ends: tuple[int, int], end: int, *, protected: bool
) -> TrunkLoss:
    """Return the loss of a trunk, with the fewer of the sites on its two sides."""
    start = order[ends[1]]
    below = [name for name, place in zip(names, order, strict=True) if start <= place < end]
    rest = [name for name in names if name not in below]
    fewer = below if len(below) <= len(rest) else rest
    return {
        "between": [names[site] for site in sorted(ends)],
        "cut_off": fewer,
        "protected": protected,
    }


def site_findings(sites: SitesData, where: Where | None) -> Iterator[Finding]:
    """Yield what a reader should know of how sites are joined; one finding of each kind."""
    if sites["indirect"]:
        pairs = _pairs(sites["indirect"])
        text = f"{pairs} reach each other through a third site only"
        hint = "traffic between them loads the trunks of that site; add a trunk if it is much"
        yield Finding("CTB-T137", "note", text, where, hint)
    if sites["via"]:
        named = ", ".join(sites["via"][:_SHOWN])
        text = f"other sites reach each other over {named} alone"
        hint = "join them by a trunk of their own, or accept that they fall with it"
        yield Finding("CTB-T137", "note", text, where, hint)
    for loss in [loss for loss in sites["lone_trunks"] if not loss["protected"]][:_SHOWN]:
        cut = ", ".join(loss["cut_off"][:_SHOWN])
        cut += " and others" if len(loss["cut_off"]) > _SHOWN else ""
        text = (
            f"the loss of trunk {' - '.join(loss['between'])} cuts {cut} off from the other sites"
        )
        hint = "give the trunk a `protection` route, or join the site by a second trunk"
        yield Finding("CTB-T138", "note", text, where, hint)


def _pairs(pairs: Sequence[Sequence[str]]) -> str:
    if len(pairs) == 1:
        return f"sites {pairs[0][0]} and {pairs[0][1]}"
    shown = ", ".join(f"{a} and {b}" for a, b in pairs[:_SHOWN])
    return f"{len(pairs):,} pairs of sites ({shown}{', ...' if len(pairs) > _SHOWN else ''})"
