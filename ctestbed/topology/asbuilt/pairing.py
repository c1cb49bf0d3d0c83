"""Which built cable is which designed one: first by ports, then by the devices at both ends."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from ctestbed.topology.asbuilt.ends import NONE, Ends, Ground
from ctestbed.topology.cabling import Column

PORTS_AGREE: Final = 0.5
"""Ports decide only where so large a share of what devices allow agrees in ports too."""


@dataclass(frozen=True)
class Pairing:
    """Matched rows of both sides, and what is left of each.

    `cycles` are closed exchanges found by ports: (built rows, design rows), two cables exchanged
    or more gone round. `moved` counts cables between the right devices on other ports.
    """

    design: Column
    built: Column
    design_left: Column
    built_left: Column
    cycles: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    by_ports: bool
    moved: int


def pair_cables(ground: Ground) -> Pairing:
    """Pair up cables. O(n log n) in columns; only what differs is walked one by one."""
    design, built = ground.design_ends, ground.built_ends
    exact = _by_ports(ground, design, built)
    if len(exact[0]) == len(design) == len(built):
        nothing = np.zeros(0, np.int64)
        return Pairing(*exact, nothing, nothing, (), by_ports=True, moved=0)
    by_device = _by_devices(ground, np.arange(len(design)), np.arange(len(built)), design, built)
    by_ports = len(exact[0]) >= PORTS_AGREE * max(len(by_device[0]), 1) and len(exact[0]) > 0
    if not by_ports:
        left = (_rest(len(design), by_device[0]), _rest(len(built), by_device[1]))
        return Pairing(*by_device, *left, (), by_ports=False, moved=0)
    left_d, left_b = _rest(len(design), exact[0]), _rest(len(built), exact[1])
    cycles = _cycles(ground, design, built, left_d, left_b)
    if cycles:
        used_b = np.array([row for rows, _ in cycles for row in rows])
        used_d = np.array([row for _, rows in cycles for row in rows])
        left_d, left_b = np.setdiff1d(left_d, used_d), np.setdiff1d(left_b, used_b)
    moved = _by_devices(ground, left_d, left_b, design, built)
    return Pairing(
        design=np.concatenate([exact[0], moved[0]]),
        built=np.concatenate([exact[1], moved[1]]),
        design_left=np.setdiff1d(left_d, moved[0]),
        built_left=np.setdiff1d(left_b, moved[1]),
        cycles=cycles,
        by_ports=True,
        moved=_moved(ground, design, built, moved),
    )


def _moved(ground: Ground, design: Ends, built: Ends, rows: tuple[Column, Column]) -> int:
    """Return how many matched cables are on other ports, where both sides say which."""
    meant = np.sort(np.stack([key[rows[0]] for key in _keys(ground, design)]), axis=0)
    found = np.sort(np.stack([key[rows[1]] for key in _keys(ground, built)]), axis=0)
    said = (meant >= 0).all(axis=0) & (found >= 0).all(axis=0)
    return int((said & (meant != found).any(axis=0)).sum())


def _rest(count: int, used: Column) -> Column:
    free = np.ones(count, bool)
    free[used] = False
    return np.flatnonzero(free)


def _keys(ground: Ground, ends: Ends) -> tuple[Column, Column]:
    """Return a number for the port at each end, -1 where it is not said."""
    size = ground.ports + 1
    return (
        np.where(ends.a_port >= 0, ends.a * size + ends.a_port, NONE),
        np.where(ends.b_port >= 0, ends.b * size + ends.b_port, NONE),
    )


def _by_ports(ground: Ground, design: Ends, built: Ends) -> tuple[Column, Column]:
    """Match cables whose ports agree at both ends."""
    first, second = _keys(ground, design)
    count = len(first)
    keys, others = np.concatenate([first, second]), np.concatenate([second, first])
    order = np.argsort(keys, kind="stable")
    near, far = _keys(ground, built)
    if not count or not len(near):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    at = np.minimum(np.searchsorted(keys[order], near), 2 * count - 1)
    end = order[at]
    good = (near >= 0) & (far >= 0) & (keys[end] == near) & (others[end] == far)
    rows = np.flatnonzero(good)
    _, once = np.unique(end[rows] % count, return_index=True)
    rows = rows[np.sort(once)]
    return end[rows] % count, rows


def _by_devices(
    ground: Ground, design_rows: Column, built_rows: Column, design: Ends, built: Ends
) -> tuple[Column, Column]:
    """Match cables between the same devices: as many as both have, the fast with the fast."""
    codes: list[Column] = []
    ranks: list[Column] = []
    for rows, ends in ((design_rows, design), (built_rows, built)):
        lower = np.minimum(ends.a[rows], ends.b[rows])
        codes.append(lower * ground.size + np.maximum(ends.a[rows], ends.b[rows]))
    _, numbers = np.unique(np.concatenate(codes), return_inverse=True)
    for part, rows, ends in (
        (numbers[: len(design_rows)], design_rows, design),
        (numbers[len(design_rows) :], built_rows, built),
    ):
        order = np.lexsort((-ends.rate[rows], ends.one_sided[rows], part))
        sorted_part = part[order]
        starts = np.flatnonzero(np.diff(sorted_part, prepend=-1))
        rank = np.empty(len(part), np.int64)
        lengths = np.diff(np.append(starts, len(part)))
        rank[order] = np.arange(len(part)) - np.repeat(starts, lengths)
        ranks.append(part * (len(design_rows) + len(built_rows) + 1) + rank)
    _, at_design, at_built = np.intersect1d(
        ranks[0], ranks[1], assume_unique=True, return_indices=True
    )
    return design_rows[at_design], built_rows[at_built]


def _cycles(
    ground: Ground, design: Ends, built: Ends, design_rows: Column, built_rows: Column
) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    """Find exchanges: built cables that join exactly the ports of as many designed ones."""
    meant, found = _joins(ground, design, design_rows), _joins(ground, built, built_rows)
    done: set[int] = set()
    cycles = []
    for start in sorted(found):
        rows_b: list[int] = []
        rows_d: list[int] = []
        end = start
        while end in found and found[end][1] not in done:
            end, row = found[end]
            done.add(row)
            rows_b.append(row)
            if end not in meant:
                break
            end, row = meant[end]
            rows_d.append(row)
            if end == start:
                if len(rows_b) > 1:
                    cycles.append((tuple(rows_b), tuple(rows_d)))
                break
    return tuple(cycles)


def _joins(ground: Ground, ends: Ends, rows: Column) -> dict[int, tuple[int, int]]:
    """Return for each port with one cable the port at its other end, and the cable's row."""
    near, far = _keys(ground, ends)
    other: dict[int, tuple[int, int]] = {}
    crowded: set[int] = set()
    for row in rows.tolist():
        one, two = int(near[row]), int(far[row])
        if one < 0 or two < 0 or one == two or ends.one_sided[row]:
            continue
        crowded.update({one, two} & other.keys())
        other[one], other[two] = (two, row), (one, row)
    return {end: to for end, to in other.items() if end not in crowded}
