"""What must hold of every laid-out fabric, checked on the arrays and not on how they were made.

Each check returns sentences about what is wrong: none means that it holds, and None that nothing is
there to be asked about.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ctestbed.topology.closed_forms import plane_counts, supernode_counts
from ctestbed.topology.graph import Column, LinkClass, NodeKind, Tier, Topology
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.names import link_name, node_name
from ctestbed.topology.shapes import Plan

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
        fabric = loaded.testbed.fabric_at(block.site)
        expected = plane_counts(fabric, site.nics_per_host, loaded.testbed.planes, block.plane)
        place = f"plane {block.plane}"
        place += "" if plan.anonymous else f" of site {site.name!r}"
        wrong += _compare(place, COUNTED, [found[row] for found in counted], expected)
    return wrong + _check_supernode_counts(topology, plan, loaded)


def _compare(
    place: str, what: Sequence[str], found: Sequence[int], expected: Sequence[int]
) -> list[str]:
    return [
        f"{place} has {counted} {noun}; its closed form says {formula}"
        for noun, counted, formula in zip(what, found, expected, strict=True)
        if counted != formula
    ]


def _check_supernode_counts(topology: Topology, plan: Plan, loaded: LoadedTestbed) -> list[str]:
    """Recount the scale-up switches and bundles of each site."""
    nodes, links = topology.nodes, topology.links
    scale_up = links.klass == LinkClass.SCALE_UP
    found = [
        np.bincount(rows, minlength=len(plan.sites)).tolist()
        for rows in (
            nodes.site[nodes.kind == NodeKind.SCALE_UP_SWITCH],
            nodes.site[links.a[scale_up]],
        )
    ]
    wrong = []
    for position, site in enumerate(plan.sites):
        supernode = loaded.testbed.supernode_at(position)
        expected = (0, 0)
        if supernode is not None:
            expected = supernode_counts(supernode, site.hosts, site.accelerators_per_host)
        place = "the supernodes" + ("" if plan.anonymous else f" of site {site.name!r}")
        both = (found[0][position], found[1][position])
        wrong += _compare(place, ("switches", "bundles"), both, expected)
    return wrong


def check_ports(topology: Topology, plan: Plan) -> list[str] | None:
    """Every port holds one cable, and no switch uses a port above its radix."""
    links = topology.links
    if not len(links.a):
        return None
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
    most = np.iinfo(np.int32).max
    radix = np.array([[plane.radix or most for plane in site.planes] for site in plan.sites])
    nodes = topology.nodes
    is_switch = nodes.kind[node] == NodeKind.SWITCH
    over = is_switch & (port > radix[nodes.site[node], np.where(is_switch, nodes.plane[node], 0)])
    return wrong + [
        f"port {int(port[row])} of {node_name(topology, int(node[row]))} is above its radix"
        for row in np.flatnonzero(over)[:MAX_SHOWN]
    ]


def check_tiers(topology: Topology) -> list[str] | None:
    """A cable joins neighbouring tiers of one site, or a trunk the top tiers of two."""
    nodes, links = topology.nodes, topology.links
    if not len(links.a):
        return None
    tier_a, tier_b = nodes.tier[links.a], nodes.tier[links.b]
    same_site = nodes.site[links.a] == nodes.site[links.b]
    trunk = links.klass == LinkClass.TRUNK
    host = links.klass == LinkClass.HOST
    blocks = [topology.block(site, 0) for site in range(len(topology.sites))]
    tops = np.array([block.tiers for block in blocks])
    equals = np.array([block.direct for block in blocks])[nodes.site[links.a]] & ~host
    top_ends = (tier_a == tops[nodes.site[links.a]]) & (tier_b == tops[nodes.site[links.b]])
    climbs = (tier_b == tier_a + 1) & (host == (nodes.kind[links.a] == NodeKind.NIC))
    good = np.where(
        trunk, ~same_site & top_ends, same_site & np.where(equals, tier_a == tier_b, climbs)
    )
    scale_up = links.klass == LinkClass.SCALE_UP
    together = nodes.supernode[links.a] == nodes.supernode[links.b]
    member = np.isin(nodes.kind[links.a], (NodeKind.ACCELERATOR, NodeKind.CPU))
    rises = tier_b == np.where(member, Tier.LEAF, Tier.SPINE)
    good = np.where(scale_up, together & rises & (member | (tier_a == Tier.LEAF)), good)
    return _name_links(topology, ~good, "joins ends of the wrong tiers, sites or supernodes")


def check_planes(topology: Topology) -> list[str] | None:
    """Planes share no switch and no cable; a split NIC has one cable in each."""
    nodes, links = topology.nodes, topology.links
    network = links.klass != LinkClass.SCALE_UP
    if not network.any():
        return None
    plane_a, plane_b = nodes.plane[links.a], nodes.plane[links.b]
    split_end = (nodes.kind[links.a] == NodeKind.NIC) & (plane_a < 0)
    crosses = network & ((plane_b != links.plane) | ((plane_a != links.plane) & ~split_end))
    wrong = _name_links(topology, crosses, "crosses from one plane to another")
    host = links.klass == LinkClass.HOST
    nic = links.a[host].astype(np.int64) - topology.first[NodeKind.NIC]
    nics = topology.nics
    seen = np.bincount(nic * topology.planes + links.plane[host], minlength=nics * topology.planes)
    per_plane = seen.reshape(nics, topology.planes)
    short = (per_plane.sum(axis=1) != topology.ports_per_nic) | (per_plane > 1).any(axis=1)
    wrong += [
        f"{node_name(topology, topology.first[NodeKind.NIC] + nic)} has "
        f"{int(per_plane[nic].sum())} cables where {topology.ports_per_nic} belong, one a plane"
        for nic in np.flatnonzero(short)[:MAX_SHOWN].tolist()
    ]
    return wrong


def check_rails(topology: Topology, plan: Plan) -> list[str] | None:
    """NIC i of every host (or scale-up domain) meets the ToRs of rail i, all of one segment.

    None where no fabric has rails.
    """
    rails = [site.kind in {"rail-optimised", "rail-only"} for site in plan.sites]
    if not any(rails):
        return None
    nodes, links = topology.nodes, topology.links
    host = np.flatnonzero(links.klass == LinkClass.HOST)
    site = nodes.site[links.a[host]]
    host, site = host[np.array(rails)[site]], site[np.array(rails)[site]]
    nic, leaf = links.a[host].astype(np.int64), links.b[host]
    first = np.array([topology.first[NodeKind.NIC] + each.first_nic for each in topology.sites])
    blocks = [topology.block(number, 0) for number in range(len(plan.sites))]
    inside = np.array([block.rails for block in blocks])[site]
    apart = np.array([each.kind == "rail-only" for each in plan.sites])[site]
    meant = np.where(apart, (nic - first[site]) % topology.planes, nodes.rail[nic])
    found = np.where(apart, nodes.plane[leaf], np.where(inside > 1, nodes.rail[leaf], 0))
    wrong = [
        f"cable {link_name(topology, int(host[row]))} joins a NIC of rail {int(meant[row])} to a "
        f"ToR of rail {int(found[row])}"
        for row in np.flatnonzero(meant != found)[:MAX_SHOWN]
    ]
    segment = np.where(apart, 0, nodes.index[leaf] // inside + (nodes.pod[leaf] + 1) * 2**24)
    parent = nodes.parent[nic] - nodes.parent[nic].min(initial=0)
    lowest = np.full(int(parent.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(lowest, parent, segment)
    return wrong + [
        f"cable {link_name(topology, int(host[row]))} leaves the segment of its host's other NICs"
        for row in np.flatnonzero(segment != lowest[parent])[:MAX_SHOWN]
    ]


def check_connected(topology: Topology) -> list[str] | None:
    """In each plane, every NIC port reaches every other."""
    if not len(topology.links.a):
        return None
    labels = component_labels(topology)
    nodes = topology.nodes
    ends = np.flatnonzero(nodes.tier == Tier.LEAF)
    ends = ends[nodes.kind[ends] == NodeKind.SWITCH]
    routers = np.flatnonzero((nodes.kind == NodeKind.ACCELERATOR) & (nodes.plane >= 0))
    ends = np.concatenate([ends, routers])
    wrong = []
    for plane in range(topology.planes):
        mine = ends[nodes.plane[ends] == plane]
        parts, starts = np.unique(labels[mine], return_index=True)
        if len(parts) > 1:
            samples = [node_name(topology, int(mine[row])) for row in starts[:MAX_SHOWN]]
            wrong.append(
                f"plane {plane} falls into {len(parts)} parts that cannot reach each other, "
                f"such as those of {' and '.join(samples)}"
            )
    return wrong + _check_supernodes_connected(topology)


def _check_supernodes_connected(topology: Topology) -> list[str]:
    """In each laid-out supernode, all members with bundles reach each other."""
    scale_up = topology.links.klass == LinkClass.SCALE_UP
    if not scale_up.any():
        return []
    labels = _spread_labels(topology, scale_up)
    on_it = np.unique(topology.links.a[scale_up])
    pairs = np.unique(np.stack([topology.nodes.supernode[on_it], labels[on_it]]), axis=1)
    domains, parts = np.unique(pairs[0], return_counts=True)
    return [
        f"supernode {domain} falls into {count} parts that cannot reach each other"
        for domain, count in zip(domains.tolist(), parts.tolist(), strict=True)
        if count > 1
    ][:MAX_SHOWN]


def component_labels(topology: Topology) -> Column:
    """Label each node with the lowest one it reaches over cables between switches, or equals."""
    klass = topology.links.klass
    return _spread_labels(topology, (klass == LinkClass.FABRIC) | (klass == LinkClass.TRUNK))


def _spread_labels(topology: Topology, chosen: Column) -> Column:
    """Label each node with the lowest one it reaches over the chosen links.

    Minimum labels spread along cables and halve their chains, so the rounds needed are of the
    order of the log of the diameter.
    """
    a, b = topology.links.a[chosen], topology.links.b[chosen]
    labels = np.arange(topology.node_count)
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
    check: Callable[[Topology, Plan, LoadedTestbed], list[str] | None]
    """None where there is nothing to ask."""


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
        "NICs meet the ToRs of their rail",
        "CTB-T064",
        _RECORD,
        lambda topology, plan, _: check_rails(topology, plan),
    ),
    Invariant(
        "all endpoints of a plane reach each other",
        "CTB-T034",
        "join the parts: sites by `trunks`",
        lambda topology, *_: check_connected(topology),
    ),
)
