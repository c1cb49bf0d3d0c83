"""Traffic that comes and goes: Poisson arrivals of published sizes, and bursts with pauses.

Both are open: a flow starts when its time has come, whether or not the ones before it are done.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from ctestbed.core.errors import InputError, Where
from ctestbed.core.seeds import spawn_generator
from ctestbed.core.units import MAX_QUANTITY, PS_PER_SECOND
from ctestbed.workload.flows import MAX_FLOWS, Column, Flows
from ctestbed.workload.patterns import build_pattern
from ctestbed.workload.sizes import SizeDistribution

_MARGIN: Final = 6
"""Standard deviations above the mean count within which a Poisson draw is taken to lie."""


@dataclass(frozen=True, slots=True)
class Senders:
    """Endpoints by group (those of a group reach each other), and the bit/s of each one's ports."""

    groups: list[Column]
    rates: Column

    def in_company(self) -> list[Column]:
        """Return the groups in which somebody has somebody to send to."""
        return [group for group in self.groups if len(group) > 1]


@dataclass(frozen=True, slots=True)
class Load:
    """How much to send: the share of every port's rate, and so many flows or picoseconds."""

    share: Fraction
    flows: int | None = None
    time: int | None = None


def poisson_flows(
    senders: Senders, sizes: SizeDistribution, load: Load, seed: int, where: Where | None = None
) -> Flows:
    """Return flows of drawn sizes that arrive at random, between random pairs of a group.

    Every endpoint sends `load.share` of its rate on average: its flows are a Poisson process of
    share * rate / (8 * mean size) per second.

    Raises:
        InputError: nobody to send to, more flows than are run, or times beyond the clock.
    """
    groups = senders.in_company()
    members = np.concatenate([np.zeros(0, np.int64), *groups]).astype(np.int64)
    rates = senders.rates[members].astype(np.float64)
    per_ps = float(load.share / (8 * sizes.mean * PS_PER_SECOND)) * rates.sum()
    if per_ps <= 0:
        raise InputError(
            "CTB-S011",
            "nobody can send: no two endpoints reach each other, or their ports have no rate",
            where=where,
            hint="use a testbed with more hosts",
        )
    generator = spawn_generator(seed, f"poisson/{sizes.name}")
    starts = _arrivals(load, per_ps, generator, where)
    chosen = generator.choice(len(members), len(starts), p=rates / rates.sum())
    source, destination = _pairs(groups, chosen, generator)
    drawn = sizes.draw(len(starts), generator)
    return Flows(source, destination, drawn, starts, np.zeros(len(starts), np.int8))


def _arrivals(
    load: Load, per_ps: float, generator: np.random.Generator, where: Where | None
) -> Column:
    expected = load.time * per_ps if load.time is not None else float(load.flows or 0)
    count = load.flows if load.flows is not None else int(expected + _MARGIN * expected**0.5 + 8)
    if expected > MAX_FLOWS or count > 2 * MAX_FLOWS:
        raise InputError(
            "CTB-S012",
            f"about {expected:,.0f} flows would arrive, and {MAX_FLOWS:,} is the most that is run "
            "at once",
            where=where,
            hint="ask for a shorter time or a smaller load",
        )
    times = np.cumsum(generator.exponential(1 / per_ps, count))
    if load.time is not None:
        times = times[times < load.time]
    if not len(times):
        raise InputError(
            "CTB-S011",
            "no flow arrives in that time",
            where=where,
            hint="ask for a longer time, or for a number of flows",
        )
    if times[-1] > MAX_QUANTITY:
        raise InputError(
            "CTB-S002",
            "the last flow would arrive later than the clock can tell",
            where=where,
            hint="ask for fewer flows or a larger load",
        )
    return times.astype(np.int64)


def _pairs(
    groups: list[Column], chosen: Column, generator: np.random.Generator
) -> tuple[Column, Column]:
    """Return the chosen members, and for each another one of its group, all equally likely."""
    lengths = np.array([len(group) for group in groups], np.int64)
    first = np.concatenate([[0], np.cumsum(lengths)])[:-1]
    members = np.concatenate(groups).astype(np.int64)
    group = np.searchsorted(first, chosen, side="right") - 1
    own = chosen - first[group]
    other = generator.integers(0, lengths[group] - 1)
    other += other >= own
    return members[chosen], members[first[group] + other]


def burst_flows(
    senders: Senders, count: int, pause: int, size: int, seed: int, where: Where | None = None
) -> Flows:
    """Return `count` bursts of `size` bytes from every endpoint to one partner of its group.

    An endpoint is off for a random time, `pause` ps on average, then on for as long as the burst
    takes at its own rate, and so on; partners are a random cycle.

    Raises:
        InputError: more flows than are run, a port without a rate, or times beyond the clock.
    """
    source, destination = build_pattern("permutation", senders.groups, seed, where)
    if len(source) * count > MAX_FLOWS:
        raise InputError(
            "CTB-S012",
            f"{count:,} bursts of {len(source):,} endpoints are more than {MAX_FLOWS:,} flows",
            where=where,
            hint="ask for fewer bursts",
        )
    rates = senders.rates[source]
    if bool((rates <= 0).any()):
        raise InputError(
            "CTB-S011", "a port has no rate to send at", where=where, hint="give every link a rate"
        )
    generator = spawn_generator(seed, "on-off")
    on = np.array([-(-8 * size * PS_PER_SECOND // int(rate)) for rate in rates.tolist()], object)
    off = np.rint(generator.exponential(pause, (len(source), count)))
    latest = off.sum(axis=1) + on.astype(np.float64) * count
    if latest.max(initial=0.0) > MAX_QUANTITY / 2:
        raise InputError(
            "CTB-S002",
            "the last burst would start later than the clock can tell",
            where=where,
            hint="ask for fewer bursts, shorter pauses or smaller sizes",
        )
    starts = np.cumsum(off.astype(np.int64), axis=1)
    starts += on.astype(np.int64)[:, None] * np.arange(count)
    times = starts.reshape(-1)
    order = np.argsort(times, kind="stable")
    rows = np.repeat(np.arange(len(source)), count)[order]
    return Flows(
        source[rows],
        destination[rows],
        np.full(len(rows), size, np.int64),
        times[order],
        np.zeros(len(rows), np.int8),
    )
