"""Which built device stands for which designed one: by name, by host and rail, by neighbours."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ctestbed.topology.cabling import (
    AGGREGATION,
    Cables,
    Cabling,
    Column,
    Device,
    DeviceKind,
    pair_counts,
)

ENOUGH: Final = 0.5
"""Names decide where this share of the switches, or of all devices, is found by name."""
ROUNDS: Final = 8
OVERLAP: Final = 0.5
"""A device stands for one it shares this share of its known neighbours with."""


@dataclass(frozen=True)
class Match:
    """`mapping`: built position -> design position, -1 for none.

    `by_name` counts devices found by name, `by_structure` those found by their neighbours alone,
    of which `alike` could as well have been exchanged among themselves.
    """

    mapping: Column
    by_name: int
    by_structure: int
    alike: int

    @property
    def total(self) -> int:
        """Return how many built devices stand for a designed one."""
        return self.by_name + self.by_structure


def match_names(design: Cabling, built: Cabling) -> Match:
    """Match by equal names, by names but for case and domain, by host and rail."""
    mapping = np.full(len(built.devices), -1, np.int64)
    free = dict(design.index)
    for position, device in enumerate(built.devices):
        found = free.pop(device.name, None)
        if found is not None:
            mapping[position] = found
    for key in (_plain, _short, _place):
        _match_unique(design, built, mapping, free, key)
    return Match(mapping, int((mapping >= 0).sum()), 0, 0)


def _plain(device: Device) -> Hashable:
    return device.name.casefold()


def _short(device: Device) -> Hashable:
    return device.name.partition(".")[0].casefold() or None


def _place(device: Device) -> Hashable:
    if device.host is None or device.rail is None:
        return None
    return device.host.partition(".")[0].casefold(), device.rail


def _match_unique(
    design: Cabling,
    built: Cabling,
    mapping: Column,
    free: dict[str, int],
    key: Callable[[Device], Hashable],
) -> None:
    """Match what a key names uniquely on both sides among what is still unmatched."""
    unmatched = np.flatnonzero(mapping < 0).tolist()
    if not unmatched or not free:
        return
    sides: list[dict[Hashable, list[int]]] = [defaultdict(list), defaultdict(list)]
    for position in free.values():
        sides[0][key(design.devices[position])].append(position)
    for position in unmatched:
        sides[1][key(built.devices[position])].append(position)
    for value, positions in sides[1].items():
        others = sides[0].get(value, [])
        if value is not None and len(positions) == len(others) == 1:
            mapping[positions[0]] = others[0]
            del free[design.devices[others[0]].name]


def names_decide(design: Cabling, built: Cabling, match: Match) -> bool:
    """Return whether enough names match for the comparison to rest on them."""
    shares = []
    for kind in (DeviceKind.SWITCH, None):
        known = [
            bool(found >= 0)
            for device, found in zip(built.devices, match.mapping, strict=True)
            if kind is None or device.kind == kind
        ]
        meant = sum(1 for device in design.devices if kind is None or device.kind == kind)
        fewer = min(len(known), meant)
        shares.append(sum(known) / fewer if fewer else 0.0)
    return max(shares) >= ENOUGH


def extend_by_neighbours(design: Cabling, built: Cabling, match: Match) -> Match:
    """Match what no name tells by what it is cabled to, from known neighbours outwards.

    First devices with the same known neighbours and kind, as many as both sides have (alike ones
    in order of name); then single devices that share most of them, such as a renamed switch.
    """
    mapping = match.mapping.copy()
    sides = (_neighbourhoods(design), _neighbourhoods(built))
    found = alike = 0
    for _ in range(ROUNDS):
        signatures = _signatures(sides, mapping, len(design.devices))
        pairs, same = _equal_signatures(design, built, signatures)
        if not pairs:
            pairs = _overlapping(design, built, signatures)
            same = 0
        if not pairs:
            break
        for ours, theirs in pairs:
            mapping[theirs] = ours
        found += len(pairs)
        alike += same
    return Match(mapping, match.by_name, match.by_structure + found, alike)


def _neighbourhoods(cabling: Cabling) -> dict[int, list[tuple[int, int]]]:
    lower, higher, counts = (column.tolist() for column in pair_counts(cabling))
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for a, b, count in zip(lower, higher, counts, strict=True):
        if a != b:
            found[a].append((b, count))
            found[b].append((a, count))
    return found


_Signatures = tuple[dict[int, Counter[int]], dict[int, Counter[int]]]


def _signatures(
    sides: tuple[dict[int, list[tuple[int, int]]], dict[int, list[tuple[int, int]]]],
    mapping: Column,
    designed: int,
) -> _Signatures:
    """Return the known neighbours (by design position) of each unmatched device of both sides."""
    taken = np.zeros(designed, bool)
    taken[mapping[mapping >= 0]] = True
    ours = {
        device: Counter({other: count for other, count in near if taken[other]})
        for device, near in sides[0].items()
        if not taken[device]
    }
    theirs = {
        device: Counter({int(mapping[o]): count for o, count in near if mapping[o] >= 0})
        for device, near in sides[1].items()
        if mapping[device] < 0
    }
    return ours, theirs


def _is_switch(cabling: Cabling, device: int) -> bool:
    return cabling.devices[device].kind == DeviceKind.SWITCH


def _equal_signatures(
    design: Cabling, built: Cabling, signatures: _Signatures
) -> tuple[list[tuple[int, int]], int]:
    groups: list[dict[Hashable, list[int]]] = [defaultdict(list), defaultdict(list)]
    for cabling, side, group in zip((design, built), signatures, groups, strict=True):
        for device, near in side.items():
            if near:
                group[_is_switch(cabling, device), frozenset(near.items())].append(device)
    pairs: list[tuple[int, int]] = []
    alike = 0
    for key, theirs in groups[1].items():
        ours = groups[0].get(key, [])
        both = list(zip(_by_name(design, ours), _by_name(built, theirs), strict=False))
        pairs += both
        alike += len(both) if len(both) > 1 else 0
    return pairs, alike


def _by_name(cabling: Cabling, devices: Iterable[int]) -> list[int]:
    """Return devices host by host, so that those of one host stay together."""
    return sorted(
        devices,
        key=lambda at: (
            cabling.devices[at].host or "",
            cabling.devices[at].rail or 0,
            cabling.devices[at].name,
        ),
    )


def _overlapping(design: Cabling, built: Cabling, signatures: _Signatures) -> list[tuple[int, int]]:
    """Return the pairs that are each other's best, with enough neighbours in common."""
    at: dict[int, list[int]] = defaultdict(list)
    for device, near in signatures[0].items():
        for other in near:
            at[other].append(device)
    best: dict[int, tuple[float, int]] = {}
    for device in _by_name(built, signatures[1]):
        score, candidate = _best_overlap(design, built, signatures, at, device)
        if score > best.get(candidate, (0.0, -1))[0]:
            best[candidate] = (score, device)
    return [(candidate, device) for candidate, (_, device) in best.items()]


def _best_overlap(
    design: Cabling,
    built: Cabling,
    signatures: _Signatures,
    at: dict[int, list[int]],
    device: int,
) -> tuple[float, int]:
    """Return the share of neighbours in common with the best candidate; 0 without any."""
    near = signatures[1][device]
    common: Counter[int] = Counter()
    for other, count in near.items():
        for candidate in at.get(other, ()):
            common[candidate] += min(count, signatures[0][candidate][other])
    switch = _is_switch(built, device)
    best = (0.0, -1)
    for candidate in _by_name(design, common):
        most = max(near.total(), signatures[0][candidate].total())
        score = common[candidate] / most
        if _is_switch(design, candidate) == switch and most > 1 and score >= OVERLAP:
            best = max(best, (score, candidate), key=lambda option: option[0])
    return best


def judged_devices(cabling: Cabling) -> Cabling:
    """Return the cabling without adapters inside switches and their cables: no crew cables them."""
    inside = np.array([device.role == AGGREGATION for device in cabling.devices], bool)
    if not inside.any():
        return cabling
    keep = np.flatnonzero(~inside)
    number = np.full(len(inside), -1, np.int32)
    number[keep] = np.arange(len(keep), dtype=np.int32)
    cables, one_sided = (
        select_cables(table, (number[table.a] >= 0) & (number[table.b] >= 0), number)
        for table in (cabling.cables, cabling.one_sided)
    )
    devices = tuple(cabling.devices[at] for at in keep.tolist())
    return replace(cabling, devices=devices, cables=cables, one_sided=one_sided)


def select_cables(table: Cables, keep: Column, number: Column) -> Cables:
    """Return the rows to keep, with their devices renumbered."""
    rows = np.flatnonzero(keep)
    columns = {
        name: getattr(table, name)[rows]
        for name in ("a_port", "b_port", "rate", "delay", "length", "line", "b_line")
    }
    extra = {name: [values[row] for row in rows.tolist()] for name, values in table.extra.items()}
    return Cables(a=number[table.a[rows]], b=number[table.b[rows]], extra=extra, **columns)
