"""Two cablings on common ground: the same numbers for the same devices and ports, as columns."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from ctestbed.core.errors import Where
from ctestbed.topology.cabling import Cables, Cabling, Column

NONE: Final = -1


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
    def port_names(self) -> tuple[str, ...]:
        """Return the names of common port numbers: the design's, then those only built."""
        known = set(self.design.port_names)
        return self.design.port_names + tuple(
            name for name in self.built.port_names if name not in known
        )

    @cached_property
    def design_ends(self) -> Ends:
        """Return the design's cables, those that only one end states last."""
        tables = [(self.design.cables, False), (self.design.one_sided, True)]
        return _ends(tables, None, None)

    @cached_property
    def built_ends(self) -> Ends:
        """Return the built cables, those that only one end states last."""
        numbers = {name: number for number, name in enumerate(self.port_names)}
        ports = np.array([numbers[name] for name in self.built.port_names] or [0], np.int64)
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
        """Return `DEVICE:PORT`; the device alone without a port."""
        return self.name(device) if port < 0 else f"{self.name(device)}:{self.port_names[port]}"

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
