"""The net file of ibsim: a record per node, a line per joined port, both ends stated.

Widths and speeds are the codes of InfiniBand's PortInfo: 4 lanes are 2; SDR, DDR and QDR are 1, 2
and 4; what is faster has an extended code. ibsim 0.10 takes no code above HDR's (it exits), so
400 Gb/s is written as 8 lanes of HDR, and as nothing where no width makes the rate.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from ctestbed.topology.cabling import Cabling
from ctestbed.topology.writers.common import Fabric, Memo, Notes, many, switch_mask
from ctestbed.topology.writers.ports import ordinal_ports
from ctestbed.topology.writers.views import network

MAX_PORTS: Final = 254
"""Port numbers are one byte, and 255 is the wildcard (InfiniBand specification, 14.2.5.6)."""
MAX_NODES: Final = 49_151
"""Unicast LIDs of a subnet (InfiniBand specification, 4.1.3): 0x0001 to 0xBFFF."""
MAX_NAME: Final = 63
_LANE_CODES: Final = {
    2_500_000_000: "s=1",
    5_000_000_000: "s=2",
    10_000_000_000: "s=4",
    14_000_000_000: "e=1",
    25_000_000_000: "e=2",
    50_000_000_000: "e=4",
}
_WIDTH_CODES: Final = {4: "w=2", 1: "w=1", 12: "w=8", 8: "w=4"}


def rate_option(rate: int) -> str:
    """Return width and speed codes of a rate, preceded by a space; empty where it is none."""
    for lanes, width in _WIDTH_CODES.items():
        if rate > 0 and rate % lanes == 0 and rate // lanes in _LANE_CODES:
            return f" {width} {_LANE_CODES[rate // lanes]}"
    return ""


def write(fabric: Fabric, notes: Notes) -> Iterator[str]:
    """Write a net file.

    Raises:
        InputError: a device of more ports than InfiniBand can number, or a name that cannot stand.
    """
    cabling = network(fabric.cabling, notes)
    _check_names(cabling, notes)
    _say_what_is_lost(cabling, notes)
    cables = cabling.cables
    a_port, b_port = ordinal_ports(cabling, notes)
    device = np.concatenate([cables.a, cables.b])
    port = np.concatenate([a_port, b_port])
    highest = np.zeros(len(cabling.devices), np.int64)
    np.maximum.at(highest, device, port)
    ports = [max(d.ports or 1, int(h)) for d, h in zip(cabling.devices, highest, strict=True)]
    if max(ports, default=0) > MAX_PORTS:
        wide = ports.index(max(ports))
        raise notes.refusal(
            "CTB-T304",
            f"{cabling.devices[wide].name} has {ports[wide]} ports, and InfiniBand numbers "
            f"{MAX_PORTS}",
            "export to graphml, node-link or csv",
        )
    order = np.lexsort((port, device))
    bounds = np.zeros(len(ports) + 1, np.int64)
    np.cumsum(np.bincount(device, minlength=len(ports)), out=bounds[1:])
    far = np.concatenate([cables.b, cables.a])[order]
    far_port = np.concatenate([b_port, a_port])[order]
    rate = np.concatenate([cables.rate, cables.rate])[order]
    yield from _records(cabling, ports, bounds, (port[order], far, far_port, rate))


def _records(
    cabling: Cabling, ports: list[int], bounds: np.ndarray, columns: tuple[np.ndarray, ...]
) -> Iterator[str]:
    names = [device.name for device in cabling.devices]
    switch = switch_mask(cabling).tolist()
    option = Memo(rate_option)
    joint = ""
    for number, name in enumerate(names):
        kind = "Switch" if switch[number] else "Hca"
        lines = [f'{joint}{kind}\t{ports[number]}\t"{name}"\n']
        here = slice(int(bounds[number]), int(bounds[number + 1]))
        rows = zip(*(column[here].tolist() for column in columns), strict=True)
        lines += [
            f'[{near}]\t"{names[peer]}"[{far}]{option[rate]}\n' for near, peer, far, rate in rows
        ]
        joint = "\n"
        yield "".join(lines)


def _check_names(cabling: Cabling, notes: Notes) -> None:
    for device in cabling.devices:
        name = device.name
        if not 1 <= len(name) <= MAX_NAME or '"' in name or "#" in name or not name.isprintable():
            raise notes.refusal(
                "CTB-T305",
                f"{name[:80]!r} cannot stand between quotes as 1 to {MAX_NAME} characters",
                "rename it",
            )


def _say_what_is_lost(cabling: Cabling, notes: Notes) -> None:
    cables = cabling.cables
    odd = [rate for rate in np.unique(cables.rate).tolist() if rate > 0 and not rate_option(rate)]
    lost = "delays and lengths are not held"
    if odd:
        lost += f", nor the rate of {many(int(np.isin(cables.rate, odd).sum()), 'cable')} "
        lost += f"({', '.join(map(str, odd[:3]))} bit/s), which InfiniBand has no code for"
    notes.add("CTB-T312", lost, "keep the testbed file beside it")
    if len(cabling.devices) > MAX_NODES:
        notes.add(
            "CTB-T317",
            f"{many(len(cabling.devices), 'node')} are more than the {MAX_NODES:,} addresses of "
            "a subnet, so a subnet manager cannot number all",
            "export one plane or pod at a time",
        )
    planes = {device.plane for device in cabling.devices} - {None}
    if len(planes) > 1:
        notes.add(
            "CTB-T317",
            f"the {len(planes)} planes are subnets of their own in one file; a subnet manager "
            "sees the one it is attached to",
            "run one subnet manager per plane, with SIM_HOST set to a node of it",
        )
