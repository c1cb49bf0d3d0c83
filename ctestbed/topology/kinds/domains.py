"""Laying out the scale-up networks of a site: their switches, and a bundle for every cable run."""

import numpy as np

from ctestbed.topology.graph import (
    Column,
    LinkClass,
    Links,
    NodeKind,
    Nodes,
    SiteBlock,
    SupernodeBlock,
    Tier,
)
from ctestbed.topology.shapes import Figures, SitePlan


def lay_out_supernodes(
    site: SiteBlock, domains: SupernodeBlock, planned: SitePlan, nodes: Nodes, links: Links
) -> None:
    """Fill the switches and the bundles of a site's scale-up domains; none where none are given."""
    supernode = planned.supernode
    if supernode is None or not domains.switches:
        return
    _fill_switches(site, domains, nodes)
    member, lower, port, lower_port, is_cpu = _member_bundles(site, domains)
    domain = np.arange(domains.count)
    start = domains.first_link + domain[:, None] * domains.links_each
    rows = (start + np.arange(member.shape[1])).reshape(-1)
    for kind, figures in ((False, supernode.cable), (True, supernode.cpu_cable)):
        chosen = is_cpu.reshape(-1) == kind
        _set_figures(links, rows[chosen], figures)
    links.a[rows], links.b[rows] = member.reshape(-1), lower.reshape(-1)
    links.a_port[rows], links.b_port[rows] = port.reshape(-1), lower_port.reshape(-1)
    links.plane[rows] = port.reshape(-1) - 1
    if domains.uppers:
        _fill_uppers(domains, supernode.upper_cable, member.shape[1], links)


def _fill_switches(site: SiteBlock, domains: SupernodeBlock, nodes: Nodes) -> None:
    """Set the switches of all domains, first tier before second."""
    total = domains.count * domains.switches_each
    rows = slice(domains.first_switch, domains.first_switch + total)
    inside = np.tile(np.arange(domains.switches_each), domains.count)
    number = np.repeat(np.arange(domains.count), domains.switches_each)
    nodes.kind[rows] = NodeKind.SCALE_UP_SWITCH
    nodes.site[rows] = nodes.site[site.first_host]
    nodes.supernode[rows] = domains.number + number
    is_upper = inside >= domains.lowers
    nodes.tier[rows] = np.where(is_upper, Tier.SPINE, Tier.LEAF)
    above = inside - domains.lowers
    uppers = max(domains.uppers, 1)
    nodes.plane[rows] = np.where(is_upper, above // uppers, inside % domains.switches)
    if domains.uppers:
        host = site.first_host + number * domains.hosts + inside // domains.switches
        nodes.parent[rows] = np.where(is_upper, -1, host)
    own = inside % domains.switches
    nodes.index[rows] = np.where(is_upper, above % uppers, own)


def _member_bundles(
    site: SiteBlock, domains: SupernodeBlock
) -> tuple[Column, Column, Column, Column, Column]:
    """Return member, switch, both ports and whether it is a processor, a row for each domain."""
    accelerators, cpus = domains.accelerators, domains.hosts * domains.cpus
    domain = np.arange(domains.count)[:, None]
    one = np.arange(accelerators)
    two = np.arange(cpus)
    member = np.concatenate(
        [
            site.first_accelerator + domain * accelerators + one,
            site.first_cpu + domain * cpus + two,
        ],
        axis=1,
    )
    per_host = site.accelerators_per_host
    in_host = one % per_host, per_host + two % max(domains.cpus, 1)
    host = np.concatenate([one // per_host, two // max(domains.cpus, 1)])
    place = np.concatenate(in_host) if domains.uppers else np.arange(accelerators + cpus)
    switch = np.arange(domains.switches)
    base = host * domains.switches if domains.uppers else np.zeros_like(host)
    lower = (base[:, None] + switch).reshape(1, -1) + domains.first_switch
    lower = lower + domain * domains.switches_each
    rows = (domains.count, len(place) * domains.switches)
    port = np.broadcast_to(np.tile(1 + switch, len(place)), rows)
    lower_port = np.broadcast_to(np.repeat(1 + place, domains.switches), rows)
    is_cpu = np.broadcast_to(
        np.repeat(np.arange(len(place)) >= accelerators, domains.switches), rows
    )
    return np.repeat(member, domains.switches, axis=1), lower, port, lower_port, is_cpu


def _fill_uppers(domains: SupernodeBlock, figures: Figures, below: int, links: Links) -> None:
    """Join first-tier switch i of every host to all upper switches of sub-plane i."""
    domain = np.arange(domains.count)[:, None]
    lower = np.repeat(np.arange(domains.lowers), domains.uppers)
    upper = np.tile(np.arange(domains.uppers), domains.lowers)
    plane = lower % domains.switches
    first = domains.first_switch + domain * domains.switches_each
    rows = (
        domains.first_link + domain * domains.links_each + below + np.arange(len(lower))
    ).reshape(-1)
    members = below // domains.lowers  # of one host, each with one bundle to each of its switches
    links.a[rows] = (first + lower).reshape(-1)
    links.b[rows] = (first + domains.lowers + plane * domains.uppers + upper).reshape(-1)
    links.a_port[rows] = np.tile(1 + members + upper, domains.count)
    links.b_port[rows] = np.tile(1 + lower // domains.switches, domains.count)
    links.plane[rows] = np.tile(plane, domains.count)
    _set_figures(links, rows, figures)


def _set_figures(links: Links, rows: Column, figures: Figures) -> None:
    links.rate[rows] = figures.rate
    links.delay[rows] = figures.delay
    links.length[rows] = figures.length
    links.klass[rows] = LinkClass.SCALE_UP
