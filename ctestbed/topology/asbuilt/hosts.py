"""Hosts in place of their adapters, where one record counts in hosts and the other in adapters."""

from dataclasses import replace

import numpy as np

from ctestbed.topology.cabling import Cables, Cabling, Column, Device, DeviceKind


def by_host(cabling: Cabling, hosts: frozenset[str]) -> Cabling:
    """Join the adapters of each of these hosts into one device, whose ports they are.

    Port 1 of adapter `h0/nic-3` of host `h0` becomes port `nic-3` where an adapter has one cable,
    and `nic-3/1` where it has several.
    """
    number = np.zeros(len(cabling.devices), np.int32)
    devices: list[Device] = []
    at: dict[str, int] = {}
    suffix: list[str | None] = []
    for position, device in enumerate(cabling.devices):
        host = device.host if device.host in hosts else None
        suffix.append(None if host is None else _within(device.name, host))
        if host is None:
            number[position] = len(devices)
            devices.append(device)
        elif host in at:
            number[position] = at[host]
        else:
            at[host] = number[position] = len(devices)
            devices.append(
                Device(host, DeviceKind.HOST, site=device.site, line=device.line, tier=0)
            )
    cables, one_sided, ports = _moved(cabling, number, suffix)
    return replace(
        cabling,
        devices=tuple(devices),
        port_names=ports,
        cables=cables,
        one_sided=one_sided,
    )


def _moved(
    cabling: Cabling, number: Column, suffix: list[str | None]
) -> tuple[Cables, Cables, tuple[str, ...]]:
    """Return the cables with their ends at the joined devices, and the names of all ports."""
    names = dict.fromkeys(cabling.port_names)
    ports = {name: row for row, name in enumerate(names)}
    ends = np.concatenate([cabling.cables.a, cabling.cables.b])
    several = np.bincount(ends, minlength=len(number)) > 1
    tables = []
    for table in (cabling.cables, cabling.one_sided):
        columns: dict[str, Column] = {}
        for end in ("a", "b"):
            old, port = getattr(table, end), getattr(table, f"{end}_port").copy()
            for row in np.flatnonzero([suffix[d] is not None for d in old.tolist()]).tolist():
                name = suffix[int(old[row])] or ""
                if several[old[row]] and port[row] >= 0:
                    name += f"/{cabling.port_names[int(port[row])]}"
                port[row] = ports.setdefault(name, len(ports))
            columns[end], columns[f"{end}_port"] = number[old], port
        tables.append(
            replace(
                table,
                a=columns["a"],
                b=columns["b"],
                a_port=columns["a_port"],
                b_port=columns["b_port"],
            )
        )
    return tables[0], tables[1], tuple(ports)


def _within(name: str, host: str) -> str:
    rest = name.removeprefix(host).lstrip("/ ")
    return rest or name


def hosts_of(cabling: Cabling) -> frozenset[str]:
    """Return the hosts whose adapters are devices of their own."""
    return frozenset(device.host for device in cabling.devices if device.host is not None)


def level(design: Cabling, built: Cabling) -> tuple[Cabling, Cabling]:
    """Return both with hosts as devices where one of them has hosts and the other adapters."""
    ours = hosts_of(design) & {d.name for d in built.devices if d.name not in design.index}
    theirs = hosts_of(built) & {d.name for d in design.devices if d.name not in built.index}
    return (
        by_host(design, ours) if ours else design,
        by_host(built, theirs) if theirs else built,
    )
