"""Solve classes of flows by the compiled kernels: trim links, group flows, and run the clock.

A link is dropped if another, no wider one carries all its flows: it can never bind first. Flows of
one class of priority that then cross the same links are one group, whatever their sizes, starts
and weights, and so are all flows of an incast. What is left is kept up to date event by event
(`kernels_fair`), in 106-bit arithmetic.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ctestbed.core.errors import InvariantError
from ctestbed.core.mix import mix64
from ctestbed.core.units import MAX_QUANTITY
from ctestbed.transport.problem import UNFINISHED, Column, FlowOutcome, too_long
from ctestbed.transport.symmetry import Quotient
from ctestbed.transport.waits import Chain

_PER_CHANGE: Final = 2.0**-102
"""A few roundings of 106 bits: what one change of rate may add to the relative error of a time."""

_PER_LEVEL: Final = 2.0**-94
"""And what levels that pass as one may add to it, once."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a solution took: events, links set, groups whose rate changed; and groups, links."""

    events: int
    links_set: int
    groups_moved: int
    groups: int
    slots: int


@dataclass(frozen=True, slots=True)
class _Network:
    """Groups over slots (links of one class), and which group each flow is in."""

    capacity: Column
    below: Column
    class_of: Column
    classes: int
    offsets: Column
    slot_of: Column
    counts: Column
    group_of: Column


def solve_compiled(merged: Quotient) -> FlowOutcome:
    """Solve classes of flows by the compiled kernels.

    Raises:
        InputError: a flow ends after the clock does.
        InvariantError: the rates would not settle.
    """
    return solve_counted(merged)[0]


def solve_counted(merged: Quotient, *, anew: bool = False) -> tuple[FlowOutcome, Work]:
    """Solve, and tell how much work it took; `anew` solves all of it at every event."""
    outcome, work, _ = _solve(merged, None, anew=anew)
    return outcome, work


def solve_waiting(merged: Quotient, chain: Chain) -> tuple[FlowOutcome, Column]:
    """Solve flows that wait for others, none of them merged; return their starts too.

    Raises:
        InputError: a flow ends after the clock does.
        InvariantError: the rates would not settle.
    """
    outcome, _, starts = _solve(merged, chain, anew=False)
    return outcome, starts


def _solve(
    merged: Quotient, chain: Chain | None, *, anew: bool
) -> tuple[FlowOutcome, Work, Column]:
    from ctestbed.transport.kernels_flow import solve

    network = _network(*_trimmed(merged), merged.priority)
    flows, tell = _flow_columns(merged, network, chain)
    waits = _waits(merged.flows, chain)
    slots, groups = len(network.capacity), len(network.offsets) - 1
    order = np.argsort(network.slot_of, kind="stable")
    bounds = np.searchsorted(network.slot_of[order], np.arange(slots + 1)).astype(np.int64)
    crossings = len(network.slot_of)
    solve(
        (
            network.capacity,
            network.below,
            network.class_of,
            network.offsets,
            network.slot_of,
            network.counts,
            bounds,
        ),
        flows,
        _rates(network, crossings),
        (
            *_heap(groups),
            np.zeros(merged.flows + groups, np.int64),
            np.full(merged.flows, -1),
            np.zeros((merged.flows, 2)),
            np.zeros(groups, np.int64),
        ),
        (
            *_heap(slots),
            np.zeros(slots + 1, np.int64),
            np.zeros(slots, np.int64),
            np.zeros(groups + 1, np.int64),
            np.zeros(groups, np.bool_),
            np.zeros(slots + 1, np.int64),
            np.zeros(slots, np.bool_),
        ),
        waits,
        network.classes,
        anew,
    )
    doubt, events, links_set, groups_moved, changes = tell.tolist()
    if events < 0:
        raise InvariantError("CTB-S060", "the fair rates of the flow engine would not settle")
    outcome = _outcome(flows[-2], changes, doubt=bool(doubt))
    work = Work(events, links_set, groups_moved, groups, slots)
    starts = flows[4].astype(np.int64).sum(axis=1)
    return outcome, work, starts if chain is None else np.where(waits[7] > 0, UNFINISHED, starts)


def _waits(flows: int, chain: Chain | None) -> tuple[Column, ...]:
    """Return who waits for whom as the kernel has it: by the flow that is waited for."""
    edges = 0 if chain is None else len(chain.flows)
    nobody = np.zeros(0, np.int64)
    by_flow, bounds = nobody, np.zeros(flows + 1, np.int64)
    waiter, missing, lag = nobody, nobody, nobody
    if chain is not None:
        by_flow = np.argsort(chain.flows, kind="stable")
        bounds = np.searchsorted(chain.flows[by_flow], np.arange(flows + 1)).astype(np.int64)
        waiter = np.repeat(np.arange(flows), np.diff(chain.offsets))
        missing, lag = chain.needs.astype(np.int64), chain.lag
    done_ids, done_places, done = _heap(edges)
    after_ids, after_places, _ = _heap(len(missing))
    return (
        bounds,
        by_flow,
        _pairs(lag),
        done,
        done_ids,
        done_places,
        waiter,
        missing,
        after_ids,
        after_places,
    )


def _trimmed(merged: Quotient) -> tuple[Column, Column, Column, Column]:
    """Return (capacity, offsets, links, counts) without the links that never bind first."""
    from ctestbed.transport.kernels_trim import trim

    capacity = merged.capacity.astype(np.float64)
    flow = np.repeat(np.arange(merged.flows), np.diff(merged.offsets))
    order = np.argsort(merged.links, kind="stable")
    begins = np.searchsorted(merged.links[order], np.arange(len(capacity) + 1))
    offsets, links = merged.offsets.astype(np.int64), merged.links.astype(np.int64)
    counts = merged.counts.astype(np.int64)
    needless = np.zeros(len(capacity), np.bool_)
    trim(capacity, offsets, links, counts, begins.astype(np.int64), flow[order], needless)
    kept = ~needless[links]
    trimmed = np.zeros(merged.flows + 1, np.int64)
    np.cumsum(np.bincount(flow[kept], minlength=merged.flows), out=trimmed[1:])
    return capacity, trimmed, links[kept], counts[kept]


def _network(
    capacity: Column, offsets: Column, links: Column, counts: Column, priority: Column
) -> _Network:
    """Group flows of one class and one path, and split links by class."""
    rank = np.unique(priority, return_inverse=True)[1].reshape(-1)
    classes = int(rank.max()) + 1
    group_of, example = _group(offsets, links, counts, rank)
    hops = np.diff(offsets)[example]
    group_offsets = np.zeros(len(example) + 1, np.int64)
    np.cumsum(hops, out=group_offsets[1:])
    crossing = _rows(offsets[example], group_offsets)
    key = links[crossing] * classes + np.repeat(rank[example], hops)
    keys, slot_of = np.unique(key, return_inverse=True)
    link = keys // classes
    below = np.full(len(keys), -1)
    below[:-1][link[:-1] == link[1:]] = np.flatnonzero(link[:-1] == link[1:]) + 1
    return _Network(
        capacity=capacity[link],
        below=below,
        class_of=keys % classes,
        classes=classes,
        offsets=group_offsets,
        slot_of=slot_of.reshape(-1),
        counts=counts[crossing].astype(np.float64),
        group_of=group_of,
    )


def _rows(begins: Column, offsets: Column) -> Column:
    """Return the places `begins[i], begins[i] + 1, ...` of each row i, one row after another."""
    rows: Column = np.repeat(begins - offsets[:-1], np.diff(offsets)) + np.arange(offsets[-1])
    return rows


def _group(offsets: Column, links: Column, counts: Column, rank: Column) -> tuple[Column, Column]:
    """Return each flow's group and one flow of each group.

    Paths are told apart by hashes, and then compared: a collision costs grouping, never truth.
    """
    mixed = mix64(mix64(links) ^ counts.astype(np.uint64))
    path = np.add.reduceat(mixed, offsets[:-1])
    _, example, group_of = np.unique(
        mix64(mix64(rank) ^ path), return_index=True, return_inverse=True
    )
    group_of = group_of.reshape(-1)
    like = example[group_of]
    alike = np.array_equal(np.diff(offsets), np.diff(offsets)[like])
    if alike:
        crossing = _rows(offsets[like], offsets)
        alike = np.array_equal(links, links[crossing]) and np.array_equal(counts, counts[crossing])
    if alike and np.array_equal(rank, rank[like]):
        return group_of, example
    return np.arange(len(rank)), np.arange(len(rank))


def _flow_columns(
    merged: Quotient, network: _Network, chain: Chain | None
) -> tuple[tuple[Column, ...], Column]:
    sizes = np.bincount(network.group_of, minlength=len(network.offsets) - 1)
    first = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes + 1, out=first[1:])  # one more place, for how many are there
    tell = np.zeros(5, np.int64)
    order = np.argsort(merged.starts, kind="stable")
    if chain is not None:
        order = order[chain.needs[order] <= 0]
    columns = (
        network.group_of,
        first,
        merged.weight.astype(np.float64),
        _work(merged.sizes),
        _pairs(merged.starts),
        order,
        np.full((merged.flows, 2), np.nan),
        tell,
    )
    return columns, tell


def _rates(network: _Network, crossings: int) -> tuple[Column, ...]:
    from ctestbed.transport.kernels_fair import IMPLIED, LEVEL, ROOM

    slots, groups = len(network.capacity), len(network.offsets) - 1
    levels = np.zeros((slots, 8))
    levels[:, [LEVEL, IMPLIED]] = np.inf
    levels[:, ROOM] = network.capacity
    return (
        levels,
        np.zeros((groups, 6)),
        np.zeros((groups, 6)),
        np.zeros(slots, np.int64),
        np.zeros((crossings, 2), np.int64),
        np.zeros(crossings, np.int64),
    )


def _heap(items: int) -> tuple[Column, Column, Column]:
    return np.zeros(items + 1, np.int64), np.full(items, -1), np.zeros((items, 2))


def _pairs(values: Column) -> Column:
    """Return 63-bit integers as unevaluated sums of two doubles."""
    high = values.astype(np.float64)
    low = (values - high.astype(np.int64)).astype(np.float64)
    pairs: np.ndarray[Any, np.dtype[np.float64]] = np.stack([high, low], axis=1)
    return pairs


def _work(sizes: Column) -> Column:
    """Return bytes as work, 8e12 a byte, in pairs: 5^12 in integers, and the twos as exponents."""
    upper, lower = (_pairs(part * 5**12) for part in (sizes >> 31, sizes & (2**31 - 1)))
    upper *= 2.0**31
    high = upper[:, 0] + lower[:, 0]
    back = high - upper[:, 0]
    low = (upper[:, 0] - (high - back)) + (lower[:, 0] - back) + upper[:, 1] + lower[:, 1]
    total = high + low
    pairs: np.ndarray[Any, np.dtype[np.float64]] = np.stack([total, low - (total - high)], axis=1)
    return pairs * 2.0**15


def _outcome(pairs: Column, changes: int, *, doubt: bool) -> FlowOutcome:
    """Round ends up to whole picoseconds, and tell whether all decisions were clear."""
    from ctestbed.transport.kernels import SAME, SURE

    ended = ~np.isnan(pairs[:, 0])
    high, low = np.where(ended[:, None], pairs, 0.0).T
    if bool((high > MAX_QUANTITY).any()):
        raise too_long()
    whole = np.rint(high)
    rest = (high - whole) + low
    carry = np.rint(rest)
    rest -= carry
    finish = whole.astype(np.int64) + carry.astype(np.int64) + (rest > SAME)
    unsure = bool(((np.abs(rest) > SURE) & (np.abs(rest) <= SAME)).any())
    error = float(high.max(initial=0.0)) * ((changes + 4) * _PER_CHANGE + _PER_LEVEL)
    exact = not (doubt or unsure or error > SURE)
    return FlowOutcome(np.where(ended, finish, UNFINISHED), exact)
