"""Two cablings on common ground: the same numbers for the same devices and ports, as columns."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from ctestbed.core.errors import Where
from ctestbed.topology.cabling import Cables, Cabling, Column

NONE: Final = -1
_NUMBERED: Final = re.compile(r"[A-Za-z]*([0-9]{1,9})")


@dataclass(frozen=True)
class Ends:
    """Cables of one side as columns. `one_sided` marks statements that nothing answers.

    `a`, `b` are common device numbers, `a_port`, `b_port` common port numbers; `row` is the row in
    the cabling's `cables`, or in `one_sided` where marked. Rates are bit/s, -1 where not said.
    """

    a: Column
    b: Column
    a_port: Column
    b_port: Column
    rate: Column
    row: Column
    one_sided: Column

    def __len__(self) -> int:
        """Return the number of cables."""
        return len(self.a)


@dataclass(frozen=True)
class Ground:
    """Design and built cabling with common numbers for devices and ports.

    Devices of the design keep their numbers; built ones that stand for none of them follow.
    `built_of` gives the built position of each common device, -1 where there is none.
    """

    design: Cabling
    built: Cabling
    mapping: Column
    """Built position -> design position, -1 for none."""
    called: str = "the design"
    """What messages call the design."""

    @cached_property
    def size(self) -> int:
        """Return how many common device numbers there are."""
        return len(self.design.devices) + len(self.built.devices)

    @cached_property
    def built_of(self) -> Column:
        """Return the built position of every common device, -1 where there is none."""
        found = np.full(self.size, NONE, np.int64)
        positions = np.arange(len(self.built.devices))
        known = self.mapping >= 0
        found[self.mapping[known]] = positions[known]
        found[len(self.design.devices) + positions[~known]] = positions[~known]
        return found

    @cached_property
    def common_of_built(self) -> Column:
        """Return the common number of every built device."""
        positions = np.arange(len(self.built.devices)) + len(self.design.devices)
        return np.where(self.mapping >= 0, self.mapping, positions)

    @cached_property
    def built_ports(self) -> tuple[int, ...]:
        """Return the common number of each built port name.

        Where no design name is equal, `eth9` and `swp9` stand for its port `9`, if that is the
        only one they can mean.
        """
        numbers = {name: number for number, name in enumerate(self.design.port_names)}
        ours, theirs = _plain_numbers(self.design.port_names), _plain_numbers(self.built.port_names)
        taken = {numbers[name] for name in self.built.port_names if name in numbers}
        found = []
        for position, name in enumerate(self.built.port_names):
            plain = _plain_number(name)
            meant = ours.get(plain or "")
            if name in numbers:
                found.append(numbers[name])
            elif meant is not None and meant not in taken and theirs.get(plain or "") is not None:
                found.append(meant)
            else:
                found.append(len(numbers) + position)
        return tuple(found)

    @cached_property
    def ports(self) -> int:
        """Return how many common port numbers there are."""
        return len(self.design.port_names) + len(self.built.port_names)

    @cached_property
    def _port_texts(self) -> dict[int, str]:
        """Return the built names of common port numbers."""
        return dict(zip(self.built_ports, self.built.port_names, strict=True))

    @cached_property
    def design_ends(self) -> Ends:
        """Return the design's cables, those that only one end states last."""
        tables = [(self.design.cables, False), (self.design.one_sided, True)]
        return _ends(tables, None, None)

    @cached_property
    def built_ends(self) -> Ends:
        """Return the built cables, those that only one end states last."""
        ports = np.array(self.built_ports or [0], np.int64)
        tables = [(self.built.cables, False), (self.built.one_sided, True)]
        return _ends(tables, self.common_of_built, ports)

    def is_designed(self, device: int) -> bool:
        """Return whether the design has this device."""
        return device < len(self.design.devices)

    def name(self, device: int) -> str:
        """Return a device's name as built; the design's where it is not there."""
        position = int(self.built_of[device])
        if position >= 0:
            return self.built.devices[position].name
        return self.design.devices[device].name

    def end(self, device: int, port: int) -> str:
        """Return `DEVICE:PORT`, as built where it is; the device alone without a port."""
        if port < 0:
            return self.name(device)
        text = self._port_texts.get(port)
        return f"{self.name(device)}:{text or self.design.port_names[port]}"

    def where(self, row: int, *, one_sided: bool = False) -> Where | None:
        """Return where a built cable is stated; None where no file says it."""
        if self.built.file is None:
            return None
        return self.built.where(row, self.built.one_sided if one_sided else None)

    def where_device(self, device: int) -> Where | None:
        """Return where a device is described: in the built file, or else that file as a whole."""
        if self.built.file is None:
            return None
        position = int(self.built_of[device])
        return Where(self.built.file) if position < 0 else self.built.where_device(position)


def _plain_number(name: str) -> str | None:
    match = _NUMBERED.fullmatch(name)
    return None if match is None else match[1].lstrip("0") or "0"


def _plain_numbers(names: tuple[str, ...]) -> dict[str, int | None]:
    """Return the position of the one name that has this number; None where several have."""
    found: dict[str, int | None] = {}
    for position, name in enumerate(names):
        number = _plain_number(name)
        if number is not None:
            found[number] = None if number in found else position
    return found


def _ends(tables: list[tuple[Cables, bool]], devices: Column | None, ports: Column | None) -> Ends:
    columns: dict[str, list[Column]] = {name: [] for name in Ends.__dataclass_fields__}
    for table, one_sided in tables:
        for name in ("a", "b"):
            numbers = getattr(table, name).astype(np.int64)
            columns[name].append(numbers if devices is None else devices[numbers])
            port = getattr(table, f"{name}_port").astype(np.int64)
            if ports is not None:
                port = np.where(port >= 0, ports[port], NONE)
            columns[f"{name}_port"].append(port)
        columns["rate"].append(table.rate)
        columns["row"].append(np.arange(len(table)))
        columns["one_sided"].append(np.full(len(table), one_sided))
    return Ends(**{name: np.concatenate(parts) for name, parts in columns.items()})
