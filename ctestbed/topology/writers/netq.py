"""NetQ's topology graph: nodes in tiers, links that bundle the cables of two nodes."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ctestbed.topology.cabling import Cabling, DeviceKind, infer_roles
from ctestbed.topology.writers.batfish import LONGEST
from ctestbed.topology.writers.common import Fabric, Notes, batched
from ctestbed.topology.writers.ports import interface_texts
from ctestbed.topology.writers.views import folded, network

UNQUOTED: Final = r"!#-\[\]-~"
"""Visible ASCII less the quote and the backslash: stands in JSON as it is."""


def write(fabric: Fabric, notes: Notes) -> Iterator[str]:
    """Write a topology graph; adapters are interfaces of their host."""
    cabling = folded(network(fabric.cabling, notes))
    notes.add(
        "CTB-T312",
        "rates, delays and lengths are not held, nor planes, pods, sites and rails",
        "keep the testbed file beside it",
    )
    yield '[{"links": [\n'
    yield from batched(_links(cabling, notes))
    yield '], "nodes": [\n'
    yield from _tiers(cabling)
    yield "]}]\n"


def _links(cabling: Cabling, notes: Notes) -> Iterator[str]:
    a_text, b_text = interface_texts(cabling, notes, UNQUOTED, LONGEST)
    cables = cabling.cables
    low = np.minimum(cables.a, cables.b).astype(np.int64)
    keys = low * max(len(cabling.devices), 1) + np.maximum(cables.a, cables.b)
    order = np.argsort(keys, kind="stable")
    bundles = np.split(order, np.flatnonzero(np.diff(keys[order])) + 1) if len(order) else []
    a_ends, b_ends = cables.a.tolist(), cables.b.tolist()
    a_ports, b_ports = cables.a_port.tolist(), cables.b_port.tolist()
    names = [_bare(device.name) for device in cabling.devices]
    last = len(bundles) - 1
    for number, bundle in enumerate(bundles):
        members = []
        for row in bundle.tolist():
            a, b = names[a_ends[row]], names[b_ends[row]]
            a_port, b_port = a_text(row, a_ports[row]), b_text(row, b_ports[row])
            members.append(
                f'{{"id": "{a}:{a_port}-*-{b}:{b_port}", "interfaces": '
                f'[{{"interface": "{a_port}", "node": "{a}"}}, '
                f'{{"interface": "{b_port}", "node": "{b}"}}]}}'
            )
        a, b = names[a_ends[int(bundle[0])]], names[b_ends[int(bundle[0])]]
        yield (
            f'{{"compounded_links": [{", ".join(members)}], "id": "{a}-*-{b}", "interfaces": '
            f'[{{"node": "{a}"}}, {{"node": "{b}"}}], "size": {len(members)}, '
            f'"src": "{a}", "target": "{b}"}}{"," if number < last else ""}\n'
        )


def _bare(text: str) -> str:
    """Return text as it stands between the quotes of a JSON string."""
    return json.dumps(text)[1:-1]


def _tiers(cabling: Cabling) -> Iterator[str]:
    """Yield one group of nodes per tier; hosts are tier -1, as those without an agent are."""
    roles = infer_roles(cabling)
    groups: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for device, tier in zip(cabling.devices, roles.tier.tolist(), strict=True):
        level = tier if tier > 0 else -1
        switch = device.kind == DeviceKind.SWITCH
        groups[level].append(
            {
                "default_tier": level,
                "device_type": "switch" if switch else "host",
                "id": device.name,
                "name": device.name,
                "node_type": "device",
                "parent": str(level),
                "size": 1,
                "tier": level,
            }
        )
    for number, level in enumerate(sorted(groups)):
        title = f"tier-{level}" if level > 0 else "tier-unclassified"
        members = groups[level]
        head = json.dumps({"default_tier": level, "id": title, "name": title, "node_type": "tier",
                           "size": len(members), "tier": level})  # fmt: skip
        yield head[:-1] + ', "compounded_nodes": [\n'
        yield ",\n".join(json.dumps(member) for member in members)
        yield "]}" + (",\n" if number < len(groups) - 1 else "\n")
