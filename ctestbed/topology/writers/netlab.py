"""netlab's topology file: nodes with roles, links with interfaces and bandwidth (kb/s)."""

import re
from collections.abc import Iterator
from typing import Final

from ctestbed.topology.cabling import Cabling
from ctestbed.topology.writers.common import (
    Fabric,
    Notes,
    batched,
    cable_rows,
    many,
    refuse_self_loops,
    yaml_text,
)
from ctestbed.topology.writers.containerlab import group_names
from ctestbed.topology.writers.ports import interface_texts
from ctestbed.topology.writers.views import folded, network

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,15}")
"""netlab's identifiers: names of nodes have 16 characters at most."""
_TAKEN: Final = {
    "bandwidth", "bridge", "bgp", "dhcp", "disable", "gateway", "group", "interfaces", "isis",
    "lag", "linkindex", "mpls", "mtu", "name", "ospf", "pool", "prefix", "ra", "role", "stp",
    "type", "unnumbered", "vlan", "vlan_name", "vrf", "vxlan", "members",
}  # fmt: skip
_BITS_PER_KB: Final = 1000


def write(fabric: Fabric, notes: Notes) -> Iterator[str]:
    """Write a topology; adapters are interfaces of their host.

    Raises:
        InputError: a device cabled to itself.
    """
    cabling = folded(network(fabric.cabling, notes))
    refuse_self_loops(notes, cabling)
    groups = group_names(cabling)
    names = _names(cabling, groups, notes)
    odd = sum(rate > 0 and rate % _BITS_PER_KB != 0 for rate in cabling.cables.rate.tolist())
    lost = "delays, lengths, sites, planes, pods and rails are not held"
    notes.add(
        "CTB-T312",
        lost + (f", nor {many(odd, 'rate')} of no whole kb/s" if odd else ""),
        "keep the testbed file beside it",
    )
    notes.add(
        "CTB-T318",
        "netlab must be told what the switches are: `frr` stands in `defaults.device`",
        "set it, `provider`, and the modules of the lab",
    )
    yield "defaults.device: frr\nnodes:\n"
    yield from batched(_nodes(cabling, groups, names))
    yield "links:\n" if len(cabling.cables) else "links: []\n"
    yield from batched(_links(cabling, names, notes))


def _nodes(cabling: Cabling, groups: list[str], names: list[str]) -> Iterator[str]:
    for name, group, device in zip(names, groups, cabling.devices, strict=True):
        known = "device: linux, role: host" if group == "host" else ""
        remark = "" if name == device.name else f"  # {device.name}"
        yield f"  {yaml_text(name)}: {{{known}}}{remark}\n"


def _links(cabling: Cabling, names: list[str], notes: Notes) -> Iterator[str]:
    a_text, b_text = interface_texts(cabling, notes, "A-Za-z0-9_.-", 15)
    quoted = [yaml_text(name) for name in names]
    for row, (a, b, a_port, b_port, rate, _, _) in enumerate(cable_rows(cabling.cables)):
        whole = rate > 0 and rate % _BITS_PER_KB == 0
        bandwidth = f", bandwidth: {rate // _BITS_PER_KB}" if whole else ""
        near = f"{quoted[a]}: {{ifname: {yaml_text(a_text(row, a_port))}}}"
        far = f"{quoted[b]}: {{ifname: {yaml_text(b_text(row, b_port))}}}"
        yield f"- {{{near}, {far}{bandwidth}}}\n"


def _names(cabling: Cabling, groups: list[str], notes: Notes) -> list[str]:
    """Return the devices' names, or roles and numbers where some name is none that netlab takes."""
    names = [device.name.replace("/", "-") for device in cabling.devices]
    bad = [name for name in names if not _NAME.fullmatch(name) or name in _TAKEN]
    changed = [device.name for device in cabling.devices if "/" in device.name]
    if bad or len(set(names)) != len(names):
        counts = dict.fromkeys(groups, 0)
        numbered = []
        for group in groups:
            counts[group] += 1
            numbered.append(f"{group}-{counts[group]}")
        notes.add(
            "CTB-T315",
            f"{(bad or names)[0]!r} is no name that netlab takes (16 letters, digits, - and _), so "
            "all are called by role and number",
            "the file names each in a remark",
        )
        return numbered
    if changed:
        notes.add(
            "CTB-T315",
            f"names hold no slash here: {changed[0]} is called {changed[0].replace('/', '-')}",
            "the file names each in a remark",
        )
    return names
