"""Other ways to see a cabling before it is written: the network alone, or adapters as ports."""

from dataclasses import replace

import numpy as np

from ctestbed.topology.cabling import SCALE_UP, Cables, Cabling, Column, Device, DeviceKind
from ctestbed.topology.writers.common import Notes, many


def network(cabling: Cabling, notes: Notes) -> Cabling:
    """Return the cabling without the insides of supernodes, and say what was left out.

    Scale-up switches go with their cables, and then the accelerators and processors that no cable
    reaches any more.

    Raises:
        InputError: nothing is left, for all cables are inside supernodes.
    """
    inside = np.array([device.role == SCALE_UP for device in cabling.devices], bool)
    if not inside.any():
        return cabling
    cables = cabling.cables
    kept = np.flatnonzero(~(inside[cables.a] | inside[cables.b]))
    if not len(kept):
        raise notes.refusal(
            "CTB-T303",
            "all its cables are inside supernodes, which this format leaves out",
            "export to simai, graphml, node-link or csv",
        )
    cabled = np.zeros(len(inside), bool)
    cabled[cables.a[kept]] = cabled[cables.b[kept]] = True
    outside = np.isin(cabling.kinds, [DeviceKind.SWITCH, DeviceKind.NIC, DeviceKind.HOST])
    stays = ~inside & (outside | cabled)
    notes.add(
        "CTB-T314",
        f"{many(int(inside.sum()), 'scale-up switch').replace('switchs', 'switches')} and "
        f"{many(len(cables) - len(kept), 'cable')} inside supernodes are left out",
        "export to simai, graphml, node-link or csv to keep them",
    )
    return select(cabling, np.flatnonzero(stays), kept)


def select(cabling: Cabling, devices: Column, rows: Column) -> Cabling:
    """Return the cabling of some devices and of cables between them."""
    position = np.full(len(cabling.devices), -1, np.int32)
    position[devices] = np.arange(len(devices), dtype=np.int32)
    cables = _rows(cabling.cables, rows)
    cables = replace(cables, a=position[cables.a], b=position[cables.b])
    kept = tuple(cabling.devices[device] for device in devices.tolist())
    return replace(cabling, devices=kept, cables=cables)


def _rows(cables: Cables, rows: Column) -> Cables:
    extra = {key: [values[row] for row in rows.tolist()] for key, values in cables.extra.items()}
    columns = ("a", "b", "a_port", "b_port", "rate", "delay", "length", "line", "b_line")
    return Cables(**{name: getattr(cables, name)[rows] for name in columns}, extra=extra)


def folded(cabling: Cabling) -> Cabling:
    """Return the cabling with adapters and accelerators as ports of the hosts they sit in.

    A port is called by the adapter, `nic-4`; by its own port too where it has several, `nic-4p2`.
    """
    member = np.array(
        [
            device.host is not None and device.kind in {DeviceKind.NIC, DeviceKind.ACCELERATOR}
            for device in cabling.devices
        ],
        bool,
    )
    if not member.any():
        return cabling
    position = np.empty(len(member), np.int32)
    devices: list[Device] = []
    hosts: dict[str, int] = {}
    for number, device in enumerate(cabling.devices):
        if member[number]:
            name = device.host or device.name
            if name not in hosts:
                hosts[name] = len(devices)
                devices.append(Device(name, DeviceKind.HOST, site=device.site, tier=0))
            position[number] = hosts[name]
        else:
            position[number] = len(devices)
            devices.append(device)
    ports = _FoldedPorts(cabling, member)
    cables = replace(
        cabling.cables,
        a=position[cabling.cables.a],
        b=position[cabling.cables.b],
        a_port=ports.column("a"),
        b_port=ports.column("b"),
    )
    return replace(cabling, devices=tuple(devices), cables=cables, port_names=tuple(ports.names))


class _FoldedPorts:
    """The names of ports once adapters are ports themselves."""

    def __init__(self, cabling: Cabling, member: Column) -> None:
        self.names: dict[str, int] = dict.fromkeys(cabling.port_names, 0)
        for number, name in enumerate(self.names):
            self.names[name] = number
        self._cabling, self._member = cabling, member
        ends = np.concatenate([cabling.cables.a, cabling.cables.b])
        self._degree = np.bincount(ends, minlength=len(member))

    def column(self, end: str) -> Column:
        """Return the port column of end `a` or `b`."""
        cables = self._cabling.cables
        column: Column = getattr(cables, f"{end}_port").copy()
        devices = getattr(cables, end)
        for row in np.flatnonzero(self._member[devices]).tolist():
            device = int(devices[row])
            text = self._own(device)
            if self._degree[device] > 1:
                text += f"p{self._cabling.port(int(column[row])) or ''}"
            column[row] = self.names.setdefault(text, len(self.names))
        return column

    def _own(self, device: int) -> str:
        record = self._cabling.devices[device]
        return record.name.removeprefix(f"{record.host}/")
