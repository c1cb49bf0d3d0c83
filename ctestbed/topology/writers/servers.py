"""A fabric as SimAI sees it: GPUs that own their network ports, equally many in every server."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from ctestbed.topology.cabling import Cabling, Column, DeviceKind
from ctestbed.topology.writers.common import Fabric, Notes, many, switch_mask
from ctestbed.topology.writers.views import select


@dataclass(frozen=True, slots=True)
class Servers:
    """The cabling with every NIC merged into its GPU; `gpus` in order of server and position."""

    cabling: Cabling
    gpus: Column
    per_server: int


def merge_servers(fabric: Fabric, notes: Notes) -> Servers:
    """Give each accelerator the cables of the NIC at its place in the host.

    Where only NICs (or only hosts) are cabled, they stand for the GPUs.

    Raises:
        InputError: a host whose accelerators and NICs are not equally many, or servers that differ.
    """
    cabling = _merge(fabric.cabling, notes)
    topology = fabric.topology
    for site in () if topology is None else topology.sites:
        if site.nics and site.accelerators_per_host != site.nics_per_host:
            raise notes.refusal(
                "CTB-T304",
                f"hosts have {many(site.accelerators_per_host, 'accelerator')} and "
                f"{many(site.nics_per_host, 'NIC')}, and a GPU has network ports of its own here",
                "give hosts as many NICs as accelerators",
            )
    endpoints = np.flatnonzero(~switch_mask(cabling)).tolist()
    hosts: dict[str, int] = {}
    keys = []
    for position in endpoints:
        device = cabling.devices[position]
        host = device.host or device.name
        rail = position if device.rail is None else device.rail
        keys.append((hosts.setdefault(host, len(hosts)), rail, position))
    sizes = Counter(Counter(host for host, _, _ in keys).values())
    if len(sizes) != 1:
        raise notes.refusal(
            "CTB-T304",
            f"servers have {' and '.join(map(str, sorted(sizes))) or 'no'} GPUs, and all must "
            "have equally many",
            "export the kinds of server apart",
        )
    gpus = np.array([position for _, _, position in sorted(keys)], np.int64)
    return Servers(cabling, gpus, next(iter(sizes)))


def _merge(cabling: Cabling, notes: Notes) -> Cabling:
    """Move cables of NICs to their accelerators, and drop devices that no cable reaches."""
    kinds = cabling.kinds
    place = {
        (device.host, device.rail): position
        for position, device in enumerate(cabling.devices)
        if device.kind == DeviceKind.ACCELERATOR and device.host is not None
    }
    if not place:
        return cabling
    moved = np.arange(len(kinds), dtype=np.int32)
    for position in np.flatnonzero(kinds == DeviceKind.NIC).tolist():
        device = cabling.devices[position]
        target = None if device.host is None else place.get((device.host, device.rail))
        if target is None:
            raise notes.refusal(
                "CTB-T304",
                f"NIC {device.name} has no accelerator at its place in the host, and a GPU has "
                "network ports of its own here",
                "give hosts as many NICs as accelerators",
            )
        moved[position] = target
    cables = replace(cabling.cables, a=moved[cabling.cables.a], b=moved[cabling.cables.b])
    cabled = np.zeros(len(kinds), bool)
    cabled[cables.a] = cabled[cables.b] = True
    other = np.array(
        [device.kind not in {DeviceKind.SWITCH, DeviceKind.ACCELERATOR, DeviceKind.NIC}
         for device in cabling.devices], bool,
    )  # fmt: skip
    dropped = other & cabled
    if dropped.any():
        rows = np.flatnonzero(~(dropped[cables.a] | dropped[cables.b]))
        notes.add(
            "CTB-T314",
            f"{many(int(dropped.sum()), 'host processor')} and their cables are left out",
            "a node is a GPU or a switch here",
        )
    else:
        rows = np.arange(len(cables))
    stays = cabled & ~other
    return select(replace(cabling, cables=cables), np.flatnonzero(stays), rows)
