"""Laying a plan out as arrays, vectorised: no loop over nodes or links, only over planes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ctestbed.topology.graph import (
    Column,
    LinkClass,
    Links,
    NodeKind,
    Nodes,
    PlaneBlock,
    SiteBlock,
    Tier,
    Topology,
    TrunkBlock,
)
from ctestbed.topology.load import LoadedTestbed, load_testbed
from ctestbed.topology.plan import require_plan
from ctestbed.topology.shapes import Figures, Plan, SitePlan

_NODE_TYPES: dict[str, Any] = {
    "kind": np.int8,
    "site": np.int16,
    "plane": np.int16,
    "tier": np.int8,
    "pod": np.int32,
    "rail": np.int16,
    "index": np.int32,
    "parent": np.int32,
    "supernode": np.int32,
}
_LINK_TYPES: dict[str, Any] = {
    "a": np.int32,
    "b": np.int32,
    "a_port": np.int32,
    "b_port": np.int32,
    "rate": np.int64,
    "delay": np.int64,
    "length": np.int64,
    "klass": np.int8,
    "plane": np.int16,
}


def load_topology(name: str) -> tuple[LoadedTestbed, Topology]:
    """Load the testbed that `name` stands for and build its topology.

    Raises:
        InputError: it cannot be read, or (as SpecError, with all findings) not be built.
    """
    loaded = load_testbed(name)
    return loaded, build_topology(loaded)


def build_topology(loaded: LoadedTestbed) -> Topology:
    """Build the topology of a testbed file.

    Raises:
        SpecError: the file describes no network that could be built.
    """
    return lay_out(require_plan(loaded))


def lay_out(plan: Plan) -> Topology:
    """Build the arrays of a plan. O(nodes + links)."""
    sites = _site_blocks(plan)
    blocks = _plane_blocks(plan, sites)
    trunks = _trunk_blocks(plan)
    nodes, links = _empty(Nodes, _NODE_TYPES, plan.nodes), _empty(Links, _LINK_TYPES, plan.links)
    _fill_hosts(plan, sites, nodes)
    for block in blocks:
        site = plan.sites[block.site]
        _fill_switches(block, nodes)
        _fill_host_links(plan, sites[block.site], block, site, links)
        _fill_uplinks(block, site, links)
        _fill_core_links(block, site, links)
    next_port = _first_trunk_ports(plan)
    for trunk, planned in zip(trunks, plan.trunks, strict=True):
        ends = [
            blocks[site * plan.planes : (site + 1) * plan.planes]
            for site in (trunk.site_a, trunk.site_b)
        ]
        _fill_trunk(trunk, planned.figures, ends, next_port, links)
    return Topology(
        name=plan.name,
        nodes=nodes,
        links=links,
        sites=sites,
        blocks=blocks,
        trunks=trunks,
        planes=plan.planes,
        split=plan.split,
        accelerators_per_host=plan.accelerators_per_host,
        nics_per_host=plan.nics_per_host,
        anonymous=plan.anonymous,
    )


def _empty(table: Any, types: dict[str, Any], rows: int) -> Any:
    return table(**{name: np.full(rows, -1, dtype) for name, dtype in types.items()})


def _site_blocks(plan: Plan) -> tuple[SiteBlock, ...]:
    blocks = []
    accelerators = hosts = nics = 0
    first_host = plan.hosts * plan.accelerators_per_host
    for site in plan.sites:
        block = SiteBlock(
            name=site.name,
            first_accelerator=accelerators,
            accelerators=site.hosts * plan.accelerators_per_host,
            first_host=first_host + hosts,
            hosts=site.hosts,
            first_nic=nics,
            nics=site.hosts * plan.nics_per_host,
        )
        accelerators += block.accelerators
        hosts += block.hosts
        nics += block.nics
        blocks.append(block)
    return tuple(blocks)


def _plane_blocks(plan: Plan, sites: Sequence[SiteBlock]) -> tuple[PlaneBlock, ...]:
    blocks = []
    switch = plan.nodes - plan.switches
    ports_per_nic = plan.planes if plan.split else 1
    link = plan.hosts * plan.nics_per_host * ports_per_nic
    for position, site in enumerate(plan.sites):
        shape = site.shape
        for plane in range(plan.planes):
            blocks.append(
                PlaneBlock(
                    site=position,
                    plane=plane,
                    tiers=shape.tiers,
                    pods=shape.pods,
                    leaves_per_pod=shape.leaves_per_pod,
                    spines_per_pod=shape.spines_per_pod,
                    ports_per_leaf=shape.ports_per_leaf,
                    parallel=shape.parallel,
                    cores_per_spine=shape.cores_per_spine,
                    first_leaf=switch,
                    first_spine=switch + shape.leaves,
                    first_core=switch + shape.leaves + shape.spines,
                    first_host_link=sites[position].first_nic * ports_per_nic + plane,
                    host_link_stride=plan.planes,
                    first_uplink=link,
                    first_core_link=link + shape.uplinks,
                )
            )
            switch += shape.switches
            link += shape.uplinks + shape.core_links
    return tuple(blocks)


def _trunk_blocks(plan: Plan) -> tuple[TrunkBlock, ...]:
    blocks: list[TrunkBlock] = []
    link = plan.links - plan.trunk_links
    for trunk in plan.trunks:
        block = TrunkBlock(trunk.site_a, trunk.site_b, plan.planes, trunk.tops, trunk.links, link)
        link += block.count
        blocks.append(block)
    return tuple(blocks)


def _fill_hosts(plan: Plan, sites: Sequence[SiteBlock], nodes: Nodes) -> None:
    """Fill accelerators, hosts and NICs of all sites."""
    first_nic = plan.hosts * (1 + plan.accelerators_per_host)
    first_host = plan.hosts * plan.accelerators_per_host
    hosts = np.arange(plan.hosts)
    host_site = np.repeat(np.arange(len(sites)), [site.hosts for site in sites])
    for kind, first, count in (
        (NodeKind.ACCELERATOR, 0, plan.accelerators_per_host),
        (NodeKind.NIC, first_nic, plan.nics_per_host),
    ):
        rows = slice(first, first + plan.hosts * count)
        inside = np.tile(np.arange(count), plan.hosts)
        nodes.kind[rows] = kind
        nodes.site[rows] = np.repeat(host_site, count)
        nodes.rail[rows] = nodes.index[rows] = inside
        nodes.parent[rows] = first_host + np.repeat(hosts, count)
    rows = slice(first_host, first_nic)
    nodes.kind[rows] = NodeKind.HOST
    nodes.site[rows] = host_site
    nodes.index[rows] = hosts - np.array([s.first_host - first_host for s in sites])[host_site]
    nics = slice(first_nic, first_nic + plan.hosts * plan.nics_per_host)
    nodes.tier[nics] = Tier.NIC
    if not plan.split:
        starts = np.array([site.first_nic for site in sites])
        numbers = np.arange(plan.hosts * plan.nics_per_host)
        nodes.plane[nics] = (numbers - starts[nodes.site[nics]]) % plan.planes
    if plan.supernode is not None:
        per_supernode = plan.supernode // plan.accelerators_per_host
        nodes.supernode[rows] = hosts // per_supernode
        members = nodes.supernode[rows]
        nodes.supernode[:first_host] = np.repeat(members, plan.accelerators_per_host)
        nodes.supernode[nics] = np.repeat(members, plan.nics_per_host)


def _fill_switches(block: PlaneBlock, nodes: Nodes) -> None:
    for tier, first, pods, per_pod in (
        (Tier.LEAF, block.first_leaf, block.pods, block.leaves_per_pod),
        (Tier.SPINE, block.first_spine, block.pods, block.spines_per_pod),
        (Tier.CORE, block.first_core, 1, block.cores),
    ):
        rows = slice(first, first + pods * per_pod)
        nodes.kind[rows] = NodeKind.SWITCH
        nodes.site[rows] = block.site
        nodes.plane[rows] = block.plane
        nodes.tier[rows] = tier
        nodes.index[rows] = np.tile(np.arange(per_pod), pods)
        if block.tiers == Tier.CORE and tier != Tier.CORE:
            nodes.pod[rows] = np.repeat(np.arange(pods), per_pod)


def _fill_rows(
    links: Links, rows: Any, ends: Sequence[Any], figures: Figures, klass: LinkClass, plane: Any
) -> None:
    """Set one run of cables: `ends` are a, b, a_port, b_port."""
    links.a[rows], links.b[rows], links.a_port[rows], links.b_port[rows] = ends
    links.rate[rows] = figures.rate
    links.delay[rows] = figures.delay
    links.length[rows] = figures.length
    links.klass[rows] = klass
    links.plane[rows] = plane


def _fill_host_links(
    plan: Plan, site: SiteBlock, block: PlaneBlock, planned: SitePlan, links: Links
) -> None:
    ports = np.arange(block.ports)
    first_nic = plan.hosts * (1 + plan.accelerators_per_host) + site.first_nic
    nic = first_nic + (ports if plan.split else ports * plan.planes + block.plane)
    rows = slice(
        block.first_host_link,
        block.first_host_link + block.ports * block.host_link_stride,
        block.host_link_stride,
    )
    ends = (
        nic,
        block.first_leaf + block.leaf_of(ports),
        block.plane + 1 if plan.split else 1,
        1 + ports % block.ports_per_leaf,
    )
    _fill_rows(links, rows, ends, planned.host_cable, LinkClass.HOST, block.plane)


def _fill_uplinks(block: PlaneBlock, planned: SitePlan, links: Links) -> None:
    leaf, up = _pairs(block.leaves, block.spines_per_pod * block.parallel)
    spine, cable = up // block.parallel, up % block.parallel
    rows = slice(block.first_uplink, block.first_uplink + len(leaf))
    ends = (
        block.first_leaf + leaf,
        block.first_spine + block.pod_of_leaf(leaf) * block.spines_per_pod + spine,
        1 + block.ports_per_leaf + up,
        1 + leaf % block.leaves_per_pod * block.parallel + cable,
    )
    _fill_rows(links, rows, ends, planned.spine_cable, LinkClass.FABRIC, block.plane)


def _fill_core_links(block: PlaneBlock, planned: SitePlan, links: Links) -> None:
    spine, up = _pairs(block.spines, block.cores_per_spine)
    rows = slice(block.first_core_link, block.first_core_link + len(spine))
    ends = (
        block.first_spine + spine,
        block.first_core + spine % block.spines_per_pod * block.cores_per_spine + up,
        1 + block.leaves_per_pod * block.parallel + up,
        1 + spine // block.spines_per_pod,
    )
    _fill_rows(links, rows, ends, planned.core_cable, LinkClass.FABRIC, block.plane)


def _first_trunk_ports(plan: Plan) -> list[int]:
    """Return each site's first free port of its top switches."""
    return [
        1
        + (site.shape.pods if site.shape.cores else site.shape.leaves_per_pod * site.shape.parallel)
        for site in plan.sites
    ]


def _fill_trunk(
    trunk: TrunkBlock,
    figures: Figures,
    ends: Sequence[Sequence[PlaneBlock]],
    next_port: list[int],
    links: Links,
) -> None:
    top, cable = _pairs(trunk.tops, trunk.links)
    sites = (trunk.site_a, trunk.site_b)
    for block_a, block_b in zip(*ends, strict=True):
        first = trunk.link(block_a.plane, 0)
        rows = slice(first, first + len(top))
        both = (block_a.first_top + top, block_b.first_top + top)
        ports = tuple(next_port[site] + cable for site in sites)
        _fill_rows(links, rows, (*both, *ports), figures, LinkClass.TRUNK, block_a.plane)
    for site in sites:
        next_port[site] += trunk.links


def _pairs(outer: int, inner: int) -> tuple[Column, Column]:
    """Return all (outer, inner) positions, outer-major."""
    both = np.arange(outer * inner)
    return (both // inner, both % inner) if inner else (both, both)
