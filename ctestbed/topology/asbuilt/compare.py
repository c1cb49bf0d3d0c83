"""The deviations of built cabling from a design, once each device knows what it stands for."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from ctestbed.core.errors import Where
from ctestbed.core.result import Finding
from ctestbed.core.units import format_rate
from ctestbed.topology.asbuilt.deviations import Deviation, in_order, many, note, some
from ctestbed.topology.asbuilt.ends import Ends, Ground
from ctestbed.topology.asbuilt.pairing import Pairing, pair_cables
from ctestbed.topology.asbuilt.positions import Positions
from ctestbed.topology.asbuilt.swaps import MAX_STEPS, Residue, take_swaps
from ctestbed.topology.cabling import DeviceKind

LISTS_ONLY_CABLES: Final = frozenset({"csv", "batfish", "netq", "lldp"})
"""Formats that cannot say that a device is there without a cable."""


@dataclass(frozen=True)
class Comparison:
    """What a comparison found, and on what it rests."""

    deviations: tuple[Deviation, ...]
    notes: tuple[Finding, ...]
    by_ports: bool
    matched_cables: int
    faster: int
    """Matched cables that run above their speed of the design."""


def compare(ground: Ground, label: Callable[[int], str] = lambda _: "") -> Comparison:
    """Compare on common ground. `label` adds to a message what a device is alike to."""
    work = _Work(ground, label)
    work.run()
    return Comparison(
        in_order(work.deviations),
        tuple(work.notes),
        work.pairing.by_ports,
        len(work.pairing.design),
        work.faster,
    )


class _Work:
    """The steps of one comparison, each of which takes from what the ones before left."""

    def __init__(self, ground: Ground, label: Callable[[int], str]) -> None:
        self.ground = ground
        self.label = label
        self.design: Ends = ground.design_ends
        self.built: Ends = ground.built_ends
        self.pairing: Pairing = pair_cables(ground)
        self.positions = Positions(ground)
        self.deviations: list[Deviation] = []
        self.notes: list[Finding] = []
        self.residue = Residue()
        self.faster = 0

    def run(self) -> None:
        """Find everything, most telling explanation first."""
        self._gather()
        self._cycles()
        self._matched()
        self._swaps()
        self._wrong_rails()
        absent = self._absent_nodes()
        self._missing(absent)
        self._extra(self._unexpected_nodes())
        if self.pairing.moved:
            count = many(self.pairing.moved, "cable")
            message = (
                f"{count} between the right devices on other ports than in {self.ground.called}"
            )
            self.notes.append(note("CTB-T210", message, "harmless, unless labels rely on it"))
        if self.residue.steps > MAX_STEPS:
            message = "so much differs that not every exchange of cables was looked for"
            self.notes.append(note("CTB-T211", message, "is this a record of this network?"))

    def _gather(self) -> None:
        pair = Residue.pair
        for rows, ends, pairs in (
            (self.pairing.design_left, self.design, self.residue.missing),
            (self.pairing.built_left, self.built, self.residue.extra),
        ):
            a, b = ends.a[rows].tolist(), ends.b[rows].tolist()
            for row, one, two in zip(rows.tolist(), a, b, strict=True):
                if ends is self.built and ends.one_sided[row]:
                    self._one_sided(row, None)
                else:
                    pairs.setdefault(pair(one, two), []).append(row)

    def name(self, device: int) -> str:
        """Return a device's name, with what it is alike to where names do not match."""
        return self.ground.name(device)

    def cable(self, ends: Ends, row: int) -> str:
        """Return a cable's name by both its ends, the lesser name first."""
        return " - ".join(
            sorted(
                self.ground.end(int(device[row]), int(port[row]))
                for device, port in ((ends.a, ends.a_port), (ends.b, ends.b_port))
            )
        )

    def ordered(self, ends: Ends, row: int) -> tuple[int, int]:
        """Return a cable's devices, lower tier first, then by name."""
        return self.positions.ordered(int(ends.a[row]), int(ends.b[row]))

    def _add_swap(self, built: Iterable[int], designed: Iterable[int]) -> None:
        rows = sorted(built, key=lambda row: self.cable(self.built, row))
        names = [self.cable(self.built, row) for row in rows]
        meant = sorted(self.cable(self.design, row) for row in designed)
        ports_only = self._same_devices(rows, designed)
        what = "have exchanged ends" if len(rows) == 2 else "have gone round"  # noqa: PLR2004
        text = f"cables {' and '.join(names[:2])} {what}"
        if len(rows) > 2:  # noqa: PLR2004
            text = f"{len(rows)} cables {what}: {some(names)}"
        text += f"; meant: {some(meant, limit=2)}" + (
            " (the same devices, other ports)" if ports_only else ""
        )
        where = self.ground.where(int(self.built.row[rows[0]]))
        self.deviations.append(
            Deviation("swapped", names[0], names[1], "; ".join(meant), text, len(rows), where)
        )

    def _same_devices(self, built: Iterable[int], designed: Iterable[int]) -> bool:
        def pairs(ends: Ends, rows: Iterable[int]) -> list[tuple[int, int]]:
            return sorted(Residue.pair(int(ends.a[row]), int(ends.b[row])) for row in rows)

        return pairs(self.built, built) == pairs(self.design, designed)

    def _cycles(self) -> None:
        for built, designed in self.pairing.cycles:
            self._add_swap(built, designed)

    def _swaps(self) -> None:
        if not self.residue.extra or not self.residue.missing:
            return
        for built, designed in take_swaps(self.residue, self.positions.order):
            self._add_swap(built, designed)

    def _matched(self) -> None:
        """Report matched cables that run slowly, or that only one end states."""
        design, built = self.pairing.design, self.pairing.built
        meant, runs = self.design.rate[design], self.built.rate[built]
        self.faster = int(((meant >= 0) & (runs > meant)).sum())
        slow: dict[tuple[int, int, int, int], list[int]] = defaultdict(list)
        for at in np.flatnonzero((meant >= 0) & (runs >= 0) & (runs < meant)).tolist():
            ends = self.ordered(self.built, int(built[at]))
            slow[(*ends, int(runs[at]), int(meant[at]))].append(int(built[at]))
        for (a, b, rate, should), rows in slow.items():
            first = min(rows, key=lambda row: self.cable(self.built, row))
            which = self.cable(self.built, first)
            if len(rows) > 1:
                which = f"{len(rows)} cables {self.name(a)} - {self.name(b)}"
            run = "runs" if len(rows) == 1 else "run"
            text = f"{which} {run} at {format_rate(rate)} instead of {format_rate(should)}"
            names = [self.name(a), self.name(b)]
            if len(rows) == 1:
                names = which.split(" - ") if which.count(" - ") == 1 else names
            where = self.ground.where(int(self.built.row[first]))
            self.deviations.append(
                Deviation("slow", names[0], names[1], format_rate(should), text, len(rows), where)
            )
        lonely = self.built.one_sided[built] & ~self.design.one_sided[design]
        for at in np.flatnonzero(lonely).tolist():
            self._one_sided(int(built[at]), int(design[at]))

    def _one_sided(self, row: int, designed: int | None) -> None:
        a, b = int(self.built.a[row]), int(self.built.b[row])
        near = self.ground.end(a, int(self.built.a_port[row]))
        far = self.ground.end(b, int(self.built.b_port[row]))
        text = f"{near} says it is cabled to {far}, which does not say so"
        expected = None if designed is None else self.cable(self.design, designed)
        text += "" if designed is not None else f"; {self.ground.called} has no such cable"
        where = self.ground.where(int(self.built.row[row]), one_sided=True)
        self.deviations.append(Deviation("one-sided", near, far, expected, text, 1, where))

    def _wrong_rails(self) -> None:
        """Report a NIC cabled to a leaf of another rail or plane than it was meant for."""
        by_lower: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for pair in self.residue.missing:
            lower, upper = self.positions.ordered(*pair)
            by_lower[lower].append((lower, upper))
        for pair in sorted(self.residue.extra, key=self.positions.rank):
            lower, upper = self.positions.ordered(*pair)
            options = sorted(by_lower.get(lower, ()), key=self.positions.rank)
            for _, meant in options:
                differs = self.positions.other_rail(lower, upper, meant)
                key = Residue.pair(lower, meant)
                if differs is None or key not in self.residue.missing:
                    continue
                row = self.residue.extra[pair].pop(0)
                self.residue.missing[key].pop(0)
                for pairs, at in ((self.residue.extra, pair), (self.residue.missing, key)):
                    if not pairs[at]:
                        del pairs[at]
                self._wrong_rail(row, lower, upper, meant, differs)
                if pair not in self.residue.extra:
                    break

    def _wrong_rail(self, row: int, lower: int, upper: int, meant: int, differs: str) -> None:
        a, b, expected = self.name(lower), self.name(upper), self.name(meant)
        text = f"{a} is cabled to {b} instead of {expected}: {differs}"
        where = self.ground.where(int(self.built.row[row]))
        self.deviations.append(Deviation("wrong-rail", a, b, expected, text, 1, where))

    def _absent_nodes(self) -> set[int]:
        """Report devices that are not there; return those whose cables that explains."""
        ground = self.ground
        cables: dict[int, int] = defaultdict(int)
        for pair, rows in self.residue.missing.items():
            for device in set(pair):
                cables[device] += len(rows)
        absent = set(np.flatnonzero(ground.built_of[: len(ground.design.devices)] < 0).tolist())
        explained: set[int] = set()
        by_host: dict[str, list[int]] = defaultdict(list)
        for device in absent:
            host = ground.design.devices[device].host
            if host is not None:
                by_host[host].append(device)
        told = ground.built.format not in LISTS_ONLY_CABLES
        for host, devices in sorted(by_host.items()):
            count = sum(cables[device] for device in devices)
            if len(devices) == self.positions.in_host(host) and (count > 1 or told):
                explained.update(devices)
                self._absent(host, "host", count)
        for device in sorted(absent - explained):
            kind = ground.design.devices[device].kind
            if cables[device] > 1 or (told and kind != DeviceKind.NIC) or not cables[device]:
                explained.add(device)
                self._absent(self.name(device), self.positions.word(device), cables[device])
        return explained

    def _absent(self, name: str, word: str, cables: int) -> None:
        lacks = f", so that {many(cables, 'cable')} to it {'is' if cables == 1 else 'are'} missing"
        text = f"{word} {name} of {self.ground.called} is not there{lacks if cables else ''}"
        file = self.ground.built.file
        place = None if file is None else Where(file)
        self.deviations.append(
            Deviation("absent-node", name, None, f"{word} {name}", text, cables, place)
        )

    def _missing(self, explained: set[int]) -> None:
        present: dict[tuple[int, int], int] = defaultdict(int)
        wanted = set(self.residue.missing)
        ends = self.built
        if wanted:
            lower, upper = np.minimum(ends.a, ends.b), np.maximum(ends.a, ends.b)
            keys = np.array([a * self.ground.size + b for a, b in wanted], np.int64)
            there = lower * self.ground.size + upper
            for row in np.flatnonzero(np.isin(there, keys)).tolist():
                present[(int(lower[row]), int(upper[row]))] += 1
        for pair, rows in self.residue.missing.items():
            if explained & set(pair):
                continue
            a, b = self.positions.ordered(*pair)
            found, count = present[pair], len(rows)
            names = (self.name(a) + self.label(a), self.name(b) + self.label(b))
            text = f"{names[0]} has {found} of {found + count} cables to {names[1]}"
            expected = many(found + count, "cable")
            if found + count == 1:
                text = f"the cable {self.cable(self.design, rows[0])} is missing"
                expected = self.cable(self.design, rows[0])
            elif self.pairing.by_ports:
                expected = "; ".join(sorted(self.cable(self.design, row) for row in rows))
            gone = [self.name(d) for d in (a, b) if int(self.ground.built_of[d]) < 0]
            text += f" ({gone[0]} is not in the record at all)" if gone else ""
            where = self.ground.where_device(a) if not gone else self.ground.where_device(b)
            self.deviations.append(
                Deviation("missing", self.name(a), self.name(b), expected, text, count, where)
            )

    def _unexpected_nodes(self) -> set[int]:
        """Report devices that the design lacks and that have several cables or none."""
        ground = self.ground
        first = len(ground.design.devices)
        unexpected = np.flatnonzero(ground.mapping < 0)
        if not len(unexpected):
            return set()
        ends = np.concatenate([self.built.a, self.built.b])
        cables = np.bincount(ends, minlength=ground.size)
        explained = set()
        for position in unexpected.tolist():
            device, count = first + position, int(cables[first + position])
            if count == 1:
                continue
            explained.add(device)
            text = f"{self.positions.word(device)} {self.name(device)} is not in {ground.called}"
            text += f"; it has {many(count, 'cable')}"
            where = self.ground.where_device(device)
            self.deviations.append(
                Deviation("extra", self.name(device), None, None, text, count, where)
            )
        return explained

    def _extra(self, explained: set[int]) -> None:
        for pair, rows in self.residue.extra.items():
            if explained & set(pair):
                continue
            a, b = self.positions.ordered(*pair)
            row = min(rows, key=lambda row: self.cable(self.built, row))
            where = self.ground.where(int(self.built.row[row]))
            names = [self.name(a), self.name(b)]
            text = f"cable {self.cable(self.built, row)} is not in {self.ground.called}"
            if len(rows) > 1:
                text = f"{len(rows)} cables {names[0]} - {names[1]} are not in {self.ground.called}"
            unknown = [self.name(d) for d in (a, b) if not self.ground.is_designed(d)]
            text += f" ({unknown[0]} is not in it at all)" if unknown else ""
            if a == b:
                text = f"{many(len(rows), 'cable')} of {names[0]} to itself: "
                text += some(sorted(self.cable(self.built, row) for row in rows))
            self.deviations.append(
                Deviation(
                    "self-loop" if a == b else "extra",
                    names[0],
                    names[1],
                    None,
                    text,
                    len(rows),
                    where,
                )
            )
