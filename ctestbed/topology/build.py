"""Laying a plan out as arrays, vectorised: no loop over nodes or links, only over planes."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ctestbed.core.errors import InputError
from ctestbed.topology.graph import (
    Column,
    LinkClass,
    Links,
    NodeKind,
    Nodes,
    PlaneBlock,
    SiteBlock,
    SupernodeBlock,
    Tier,
    Topology,
    TrunkBlock,
)
from ctestbed.topology.kinds.domains import lay_out_supernodes
from ctestbed.topology.load import LoadedTestbed, load_testbed
from ctestbed.topology.plan import require_plan
from ctestbed.topology.shapes import Figures, Plan, PlanePlan, SupernodePlan

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
    """Build the arrays of a plan. O(nodes + links).

    Raises:
        InputError: the plan is of counts only, for no such graph exists or none was asked for.
    """
    if plan.counts_only is not None:
        raise InputError(
            "CTB-T055",
            f"{plan.name} can be counted and not built: {plan.counts_only}",
            hint="`ctestbed topology show` tells the counts",
        )
    sites = _site_blocks(plan)
    blocks = _plane_blocks(plan, sites)
    trunks = _trunk_blocks(plan)
    nodes, links = _empty(Nodes, _NODE_TYPES, plan.nodes), _empty(Links, _LINK_TYPES, plan.links)
    first = _first_nodes(plan)
    _fill_hosts(plan, sites, first, nodes)
    for block in blocks:
        planned = plan.sites[block.site].planes[block.plane]
        _fill_switches(block, nodes)
        _fill_host_links(plan, sites[block.site], block, planned, links)
        _fill_uplinks(block, planned, links)
        _fill_core_links(block, planned, links)
        _fill_peers(sites[block.site], block, planned, links)
    next_port = _first_trunk_ports(plan)
    for trunk, planned_trunk in zip(trunks, plan.trunks, strict=True):
        ends = [
            blocks[site * plan.planes : (site + 1) * plan.planes]
            for site in (trunk.site_a, trunk.site_b)
        ]
        _fill_trunk(trunk, planned_trunk.figures, ends, next_port, links)
    for site, planned_site in zip(sites, plan.sites, strict=True):
        for domains in site.supernodes:
            lay_out_supernodes(site, domains, planned_site, nodes, links)
    return Topology(
        name=plan.name,
        nodes=nodes,
        links=links,
        sites=sites,
        blocks=blocks,
        trunks=trunks,
        first=first,
        planes=plan.planes,
        split=plan.split,
        anonymous=plan.anonymous,
    )


def _empty(table: Any, types: dict[str, Any], rows: int) -> Any:
    return table(**{name: np.full(rows, -1, dtype) for name, dtype in types.items()})


def _first_nodes(plan: Plan) -> tuple[int, int, int, int, int, int]:
    """Return the first node id of each kind."""
    counts = (plan.accelerators, plan.hosts, plan.nics, plan.switches, plan.scale_up_switches)
    host, nic, switch, scale_up, cpu = accumulate(counts)
    return 0, host, nic, switch, scale_up, cpu


def _site_blocks(plan: Plan) -> tuple[SiteBlock, ...]:
    blocks = []
    first = _first_nodes(plan)
    accelerators = nics = domains = 0
    host, cpu = first[NodeKind.HOST], first[NodeKind.CPU]
    switch, link = first[NodeKind.SCALE_UP_SWITCH], plan.network_links
    for site in plan.sites:
        supernode = site.supernode
        laid_out = () if supernode is None else (_domains(supernode, domains, switch, link),)
        blocks.append(
            SiteBlock(
                name=site.name,
                first_accelerator=accelerators,
                accelerators=site.accelerators,
                first_host=host,
                hosts=site.hosts,
                first_nic=nics,
                nics=site.nics,
                accelerators_per_host=site.accelerators_per_host,
                nics_per_host=site.nics_per_host,
                kind=site.kind,
                supernodes=laid_out,
                first_cpu=cpu,
                cpus_per_host=0 if supernode is None else supernode.cpus,
                memory=-1 if supernode is None else supernode.memory,
                cpu_memory=-1 if supernode is None else supernode.cpu_memory,
            )
        )
        accelerators += site.accelerators
        host += site.hosts
        nics += site.nics
        cpu += site.cpus
        switch += site.scale_up_switches
        link += site.scale_up_links
        domains += 0 if supernode is None else supernode.count
    return tuple(blocks)


def _domains(supernode: SupernodePlan, number: int, switch: int, link: int) -> SupernodeBlock:
    return SupernodeBlock(
        number=number,
        count=supernode.count,
        accelerators=supernode.accelerators,
        hosts=supernode.hosts,
        switches=supernode.switches,
        uppers=supernode.uppers,
        cpus=supernode.cpus if supernode.cpu_cabled else 0,
        first_switch=switch,
        switches_each=supernode.domain_switches,
        first_link=link,
        links_each=supernode.domain_links,
    )


def _plane_blocks(plan: Plan, sites: Sequence[SiteBlock]) -> tuple[PlaneBlock, ...]:
    blocks = []
    switch = _first_nodes(plan)[NodeKind.SWITCH]
    ports_per_nic = plan.planes if plan.split else 1
    link = plan.nics * ports_per_nic
    for position, site in enumerate(plan.sites):
        for plane, planned in enumerate(site.planes):
            shape = planned.shape
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
                    rails=shape.rails,
                    peers=shape.peer_links,
                    direct=shape.wiring is not None or not shape.leaves,
                )
            )
            switch += shape.switches
            link += shape.uplinks + shape.core_links + shape.peer_links
    return tuple(blocks)


def _trunk_blocks(plan: Plan) -> tuple[TrunkBlock, ...]:
    blocks: list[TrunkBlock] = []
    link = plan.network_links - plan.trunk_links
    for trunk in plan.trunks:
        block = TrunkBlock(trunk.site_a, trunk.site_b, plan.planes, trunk.tops, trunk.links, link)
        link += block.count
        blocks.append(block)
    return tuple(blocks)


def _fill_hosts(plan: Plan, sites: Sequence[SiteBlock], first: Sequence[int], nodes: Nodes) -> None:
    """Fill accelerators, hosts, NICs and processors of all sites."""
    for number, (site, planned) in enumerate(zip(sites, plan.sites, strict=True)):
        hosts = np.arange(site.hosts)
        host_rows = slice(site.first_host, site.first_host + site.hosts)
        nodes.kind[host_rows] = NodeKind.HOST
        nodes.site[host_rows] = number
        nodes.index[host_rows] = hosts
        domain = None
        if planned.supernode is not None:
            domain = site.supernodes[0].number + hosts // planned.supernode.hosts
            nodes.supernode[host_rows] = domain
        for kind, start, count in (
            (NodeKind.ACCELERATOR, site.first_accelerator, site.accelerators_per_host),
            (NodeKind.NIC, first[NodeKind.NIC] + site.first_nic, site.nics_per_host),
            (NodeKind.CPU, site.first_cpu, site.cpus_per_host),
        ):
            rows = slice(start, start + site.hosts * count)
            nodes.kind[rows] = kind
            nodes.site[rows] = number
            nodes.rail[rows] = nodes.index[rows] = np.tile(np.arange(count), site.hosts)
            nodes.parent[rows] = site.first_host + np.repeat(hosts, count)
            if domain is not None:
                nodes.supernode[rows] = np.repeat(domain, count)
        start = first[NodeKind.NIC] + site.first_nic
        nics = slice(start, start + site.nics)
        nodes.tier[nics] = Tier.NIC
        if not plan.split:
            nodes.plane[nics] = np.arange(site.nics) % plan.planes
        if planned.shape.wiring is not None and not planned.shape.leaves:
            routers = slice(site.first_accelerator, site.first_accelerator + site.accelerators)
            nodes.plane[routers] = nodes.tier[routers] = 0


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
        if (block.tiers == Tier.CORE and tier != Tier.CORE) or block.direct:
            nodes.pod[rows] = np.repeat(np.arange(pods), per_pod)
        if block.rails > 1 and tier == Tier.LEAF:
            nodes.rail[rows] = np.arange(pods * per_pod) % block.rails


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
    plan: Plan, site: SiteBlock, block: PlaneBlock, planned: PlanePlan, links: Links
) -> None:
    if not block.ports:
        return
    ports = np.arange(block.ports)
    first_nic = plan.accelerators + plan.hosts + site.first_nic
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
        1 + ports // block.rails % block.ports_per_leaf,
    )
    _fill_rows(links, rows, ends, planned.host_cable, LinkClass.HOST, block.plane)


def _fill_uplinks(block: PlaneBlock, planned: PlanePlan, links: Links) -> None:
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


def _fill_core_links(block: PlaneBlock, planned: PlanePlan, links: Links) -> None:
    spine, up = _pairs(block.spines, block.cores_per_spine)
    rows = slice(block.first_core_link, block.first_core_link + len(spine))
    ends = (
        block.first_spine + spine,
        block.first_core + spine % block.spines_per_pod * block.cores_per_spine + up,
        1 + block.leaves_per_pod * block.parallel + up,
        1 + spine // block.spines_per_pod,
    )
    _fill_rows(links, rows, ends, planned.core_cable, LinkClass.FABRIC, block.plane)


def _fill_peers(site: SiteBlock, block: PlaneBlock, planned: PlanePlan, links: Links) -> None:
    """Lay out the cables between routers, or accelerators, that are each other's equals."""
    wiring = planned.shape.wiring
    if wiring is None:
        return
    a, b, a_port, b_port, layer = wiring.cables()
    first = block.first_leaf if block.leaves else site.first_accelerator
    rows = slice(block.first_uplink, block.first_uplink + block.peers)
    links.a[rows], links.b[rows] = first + a, first + b
    links.a_port[rows], links.b_port[rows] = a_port, b_port
    for column in ("rate", "delay", "length"):
        figures = np.array([getattr(each, column) for each in planned.peer_cables], np.int64)
        getattr(links, column)[rows] = figures[layer]
    links.klass[rows] = LinkClass.FABRIC
    links.plane[rows] = block.plane


def _first_trunk_ports(plan: Plan) -> list[list[int]]:
    """Return the first free port of the top switches of each site, in each plane."""
    return [
        [1 + plane.ports_used().get(plane.shape.top_tier, 0) for plane in site.planes]
        for site in plan.sites
    ]


def _fill_trunk(
    trunk: TrunkBlock,
    figures: Figures,
    ends: Sequence[Sequence[PlaneBlock]],
    next_port: list[list[int]],
    links: Links,
) -> None:
    top, cable = _pairs(trunk.tops, trunk.links)
    sites = (trunk.site_a, trunk.site_b)
    for block_a, block_b in zip(*ends, strict=True):
        first = trunk.link(block_a.plane, 0)
        rows = slice(first, first + len(top))
        both = (block_a.first_top + top, block_b.first_top + top)
        ports = tuple(next_port[site][block_a.plane] + cable for site in sites)
        _fill_rows(links, rows, (*both, *ports), figures, LinkClass.TRUNK, block_a.plane)
    for site in sites:
        next_port[site] = [port + trunk.links for port in next_port[site]]


def _pairs(outer: int, inner: int) -> tuple[Column, Column]:
    """Return all (outer, inner) positions, outer-major."""
    both = np.arange(outer * inner)
    return (both // inner, both % inner) if inner else (both, both)
