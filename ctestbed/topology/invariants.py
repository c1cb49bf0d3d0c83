"""What must hold of every laid-out fabric, checked on the arrays and not on how they were made.

Each check returns sentences about what is wrong; none means that it holds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from ctestbed.topology.graph import Column, LinkClass, NodeKind, Tier, Topology
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.names import link_name, node_name
from ctestbed.topology.shapes import Plan
from ctestbed.topology.testbed import Fabric

MAX_SHOWN: Final = 3
COUNTED: Final = ("NIC ports", "switches", "inter-switch cables")


def check_counts(topology: Topology, plan: Plan, loaded: LoadedTestbed) -> list[str]:
    """Recount NIC ports, switches and inter-switch cables; compare with the closed forms."""
    nodes, links = topology.nodes, topology.links
    switch = nodes.kind == NodeKind.SWITCH
    block_of_link = nodes.site[links.a].astype(np.int64) * topology.planes + links.plane
    block_of_switch = nodes.site[switch].astype(np.int64) * topology.planes + nodes.plane[switch]
    counted = [
        np.bincount(rows, minlength=len(topology.blocks)).tolist()
        for rows in (
            block_of_link[links.klass == LinkClass.HOST],
            block_of_switch,
            block_of_link[links.klass == LinkClass.FABRIC],
        )
    ]
    wrong = []
    for row, block in enumerate(topology.blocks):
        site = plan.sites[block.site]
        fabric = _fabric_at(loaded, site.path)
        expected = closed_form(fabric, plan.nics_per_host, plan.planes, split=plan.split)
        for what, found, formula in zip(COUNTED, counted, expected, strict=True):
            if found[row] != formula:
                place = f"plane {block.plane}"
                place += "" if plan.anonymous else f" of site {site.name!r}"
                wrong.append(f"{place} has {found[row]} {what}; its closed form says {formula}")
    return wrong


def closed_form(fabric: Fabric, nics: int, planes: int, *, split: bool) -> tuple[int, int, int]:
    """Return one plane's NIC ports, switches and inter-switch cables, from the file's numbers.

    Two tiers of order k: k^2/2, 3k/2, k^2/2; three: k^3/4, 5k^2/4, k^3/2; a split port makes
    order k * planes. By counts: a leaf has hosts * NICs (/ planes, when dealt out) below it.
    """
    if fabric.k is not None:
        k = fabric.k * planes if split else fabric.k
        return (
            (k**3 // 4, 5 * k**2 // 4, k**3 // 2)
            if fabric.has_cores
            else (k**2 // 2, 3 * k // 2, k**2 // 2)
        )
    pods, cores = fabric.pods or 1, fabric.cores or 0
    leaves, spines = fabric.leaves or 0, fabric.spines or 0
    below = (fabric.hosts_per_leaf or 0) * nics // (1 if split else planes)
    cables = pods * leaves * spines * (fabric.parallel or 1) + pods * cores
    return pods * leaves * below, pods * (leaves + spines) + cores, cables


def _fabric_at(loaded: LoadedTestbed, path: tuple[str | int, ...]) -> Fabric:
    testbed = loaded.testbed
    fabric = testbed.fabric if len(path) == 1 else (testbed.fabrics or {})[str(path[1])]
    assert fabric is not None  # noqa: S101 - the plan came from this very file
    return fabric


def check_ports(topology: Topology, plan: Plan) -> list[str]:
    """Every port holds one cable, and no switch uses a port above its radix."""
    links = topology.links
    node = np.concatenate([links.a, links.b]).astype(np.int64)
    port = np.concatenate([links.a_port, links.b_port]).astype(np.int64)
    wrong = [
        f"{node_name(topology, int(node[row]))} has a cable in port {int(port[row])}, below 1"
        for row in np.flatnonzero(port < 1)[:MAX_SHOWN]
    ]
    key = np.sort(node * (int(port.max(initial=0)) + 1) + port)
    twice = key[1:][key[1:] == key[:-1]][:MAX_SHOWN]
    width = int(port.max(initial=0)) + 1
    wrong += [
        f"port {k % width} of {node_name(topology, k // width)} holds two cables"
        for k in twice.tolist()
    ]
    radix = np.array([site.radix or np.iinfo(np.int32).max for site in plan.sites])
    is_switch = topology.nodes.kind[node] == NodeKind.SWITCH
    over = is_switch & (port > radix[topology.nodes.site[node]])
    return wrong + [
        f"port {int(port[row])} of {node_name(topology, int(node[row]))} is above its radix"
        for row in np.flatnonzero(over)[:MAX_SHOWN]
    ]


def check_tiers(topology: Topology) -> list[str]:
    """A cable joins neighbouring tiers of one site, or a trunk the top tiers of two."""
    nodes, links = topology.nodes, topology.links
    tier_a, tier_b = nodes.tier[links.a], nodes.tier[links.b]
    same_site = nodes.site[links.a] == nodes.site[links.b]
    trunk = links.klass == LinkClass.TRUNK
    host = links.klass == LinkClass.HOST
    tops = np.array([topology.block(site, 0).tiers for site in range(len(topology.sites))])
    top_ends = (tier_a == tops[nodes.site[links.a]]) & (tier_b == tops[nodes.site[links.b]])
    good = np.where(
        trunk, ~same_site & top_ends, same_site & (tier_b == tier_a + 1) & (host == (tier_a == 0))
    )
    return _name_links(topology, ~good, "joins ends of the wrong tiers or sites")


def check_planes(topology: Topology) -> list[str]:
    """Planes share no switch and no cable; a split NIC has one cable in each."""
    nodes, links = topology.nodes, topology.links
    plane_a, plane_b = nodes.plane[links.a], nodes.plane[links.b]
    split_end = (nodes.kind[links.a] == NodeKind.NIC) & (plane_a < 0)
    crosses = (plane_b != links.plane) | ((plane_a != links.plane) & ~split_end)
    wrong = _name_links(topology, crosses, "crosses from one plane to another")
    host = links.klass == LinkClass.HOST
    nic = links.a[host].astype(np.int64) - topology.first[NodeKind.NIC]
    seen = np.bincount(nic * topology.planes + links.plane[host])
    seen = np.pad(seen, (0, topology.endpoints * topology.planes - len(seen)))
    per_plane = seen.reshape(topology.endpoints, topology.planes)
    short = (per_plane.sum(axis=1) != topology.ports_per_nic) | (per_plane > 1).any(axis=1)
    wrong += [
        f"{node_name(topology, topology.first[NodeKind.NIC] + nic)} has "
        f"{int(per_plane[nic].sum())} cables where {topology.ports_per_nic} belong, one a plane"
        for nic in np.flatnonzero(short)[:MAX_SHOWN].tolist()
    ]
    return wrong


def check_connected(topology: Topology) -> list[str]:
    """In each plane, every NIC port reaches every other."""
    labels = component_labels(topology)
    first = topology.first[NodeKind.SWITCH]
    nodes = topology.nodes
    leaf = np.flatnonzero(nodes.tier == Tier.LEAF)
    wrong = []
    for plane in range(topology.planes):
        leaves = leaf[nodes.plane[leaf] == plane]
        parts, starts = np.unique(labels[leaves - first], return_index=True)
        if len(parts) > 1:
            samples = [node_name(topology, int(leaves[row])) for row in starts[:MAX_SHOWN]]
            wrong.append(
                f"plane {plane} falls into {len(parts)} parts that cannot reach each other, "
                f"such as those of {' and '.join(samples)}"
            )
    return wrong


def component_labels(topology: Topology) -> Column:
    """Label each switch with the lowest switch it reaches over switches alone.

    Minimum labels spread along cables and halve their chains, so the rounds needed are of the
    order of the log of the diameter.
    """
    first = topology.first[NodeKind.SWITCH]
    between = topology.links.klass != LinkClass.HOST
    a, b = topology.links.a[between] - first, topology.links.b[between] - first
    labels = np.arange(topology.node_count - first)
    while True:
        lower = np.minimum(labels[a], labels[b])
        spread = labels.copy()
        np.minimum.at(spread, a, lower)
        np.minimum.at(spread, b, lower)
        spread = spread[spread]
        if np.array_equal(spread, labels):
            return labels
        labels = spread


def _name_links(topology: Topology, bad: Column, problem: str) -> list[str]:
    rows = np.flatnonzero(bad)
    wrong = [f"cable {link_name(topology, int(row))} {problem}" for row in rows[:MAX_SHOWN]]
    return wrong + ([f"{len(rows) - MAX_SHOWN} more alike"] if len(rows) > MAX_SHOWN else [])


@dataclass(frozen=True, slots=True)
class Invariant:
    """A named check, the code of what it finds, and what to do then."""

    name: str
    code: str
    hint: str
    check: Callable[[Topology, Plan, LoadedTestbed], list[str]]


_RECORD: Final = "compare with the records of what was cabled"

INVARIANTS: Final = (
    Invariant("counts equal the closed forms", "CTB-T030", _RECORD, check_counts),
    Invariant(
        "every port holds one cable, within the radix",
        "CTB-T031",
        _RECORD,
        lambda topology, plan, _: check_ports(topology, plan),
    ),
    Invariant(
        "cables join neighbouring tiers",
        "CTB-T032",
        _RECORD,
        lambda topology, *_: check_tiers(topology),
    ),
    Invariant(
        "planes share nothing", "CTB-T033", _RECORD, lambda topology, *_: check_planes(topology)
    ),
    Invariant(
        "all endpoints of a plane reach each other",
        "CTB-T034",
        "join the parts: sites by `trunks`",
        lambda topology, *_: check_connected(topology),
    ),
)
