"""Fluid DCQCN over any links: rates and queues by the differential equations of its authors.

Use it where dynamics matter and packets do not: convergence, fairness between short and long
round trips, whether a queue has a rest at all. Where it comes to rest must be the fixed point of
`dcqcn_fixed_point`. There is no PFC: a queue is cut off at `limit`, if that is given.

The equations are integrated with a fixed step (Euler), so a run is the same everywhere. `error`
of a result is measured: the largest relative change of a mean when the step is halved.
"""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctestbed.core.errors import InputError
from ctestbed.core.units import PS_PER_SECOND
from ctestbed.transport.dcqcn_fixed_point import DcqcnParameters

Column: TypeAlias = NDArray[Any]

STEP: Final = 1_000_000
"""ps. Timers of 50 us and queues that fill in tens of us need no finer step."""

MAX_WORK: Final = 2 * 10**10
"""Steps times flows above which a run would take tens of minutes."""

_MAX_RING: Final = 1 << 27
"""Past steps times flows that are remembered: 2 GiB."""


@dataclass(frozen=True, slots=True)
class FluidNetwork:
    """Flows over links that mark: bit/s, ps, bytes.

    Flow f crosses `links[offsets[f]:offsets[f + 1]]` and hears of marks `delays[f]` later. Its
    `line` rate is what it starts at (the slowest link's if left out), `starts` when, and `sizes`
    how much it has (no end if left out). `limit` is the most that a queue holds.
    """

    capacity: Column
    offsets: Column
    links: Column
    delays: Column
    line: Column | None = None
    starts: Column | None = None
    sizes: Column | None = None
    limit: int | None = None

    @property
    def flows(self) -> int:
        """Number of flows."""
        return len(self.delays)


@dataclass(frozen=True, slots=True)
class FluidOutcome:
    """What a run gave: bytes, bit/s, ps; samples every `interval` ps, one row each.

    `queue_mean` and `rate_mean` are over the second half of the run. `finish` is -1 for a flow
    that has not ended. `error` is the relative error of the means, found by halving the step.
    """

    interval: int
    queues: Column
    rates: Column
    queue_mean: Column
    rate_mean: Column
    finish: Column
    error: float


def run_fluid(
    network: FluidNetwork,
    parameters: DcqcnParameters | None = None,
    *,
    duration: int,
    step: int = STEP,
    samples: int = 1000,
    queues: Column | None = None,
) -> FluidOutcome:
    """Integrate from 0 to `duration` ps, from empty queues or from `queues` bytes on each link.

    Raises:
        InputError: arrays that do not fit, a run of no length, or more work than is sensible.
    """
    law = parameters or DcqcnParameters()
    _check(network, law, duration, step)
    coarse = _integrate(network, law, duration, step, samples, queues)
    fine = _integrate(network, law, duration, step / 2, samples, queues)
    error = max(
        _apart(coarse.queue_mean, fine.queue_mean, law.packet),
        _apart(coarse.rate_mean, fine.rate_mean, 1.0),
    )
    return FluidOutcome(
        fine.interval,
        fine.queues,
        fine.rates,
        fine.queue_mean,
        fine.rate_mean,
        fine.finish,
        error,
    )


def _apart(one: Column, other: Column, least: float) -> float:
    return float((np.abs(one - other) / np.maximum(np.abs(other), least)).max(initial=0.0))


def _check(network: FluidNetwork, law: DcqcnParameters, duration: int, step: int) -> None:
    """Refuse what cannot be integrated.

    Raises:
        InputError: see `run_fluid`.
    """
    fault = None
    columns = [network.delays, network.line, network.starts, network.sizes]
    if any(column is not None and len(column) != network.flows for column in columns):
        fault = "arrays of different lengths"
    elif len(network.offsets) != network.flows + 1 or not network.flows:
        fault = "no flows, or paths of other flows"
    elif bool((network.capacity <= 0).any()) or bool((network.delays < 0).any()):
        fault = "a link without capacity, or a negative delay"
    elif not 0 < law.k_min < law.k_max or not 0 < law.p_max <= 1:
        fault = "a marking ramp that does not rise"
    elif not 0 < step <= min(duration // 2, law.notify_interval // 10):
        fault = "a step of 0, longer than half the run, or too coarse for the timers"
    elif duration // step * network.flows > MAX_WORK:
        fault = f"more than {MAX_WORK:,} steps times flows"
    elif (int(network.delays.max()) // step + 1) * network.flows > _MAX_RING:
        fault = "longer delays than fit in memory at this step"
    if fault is not None:
        raise InputError("CTB-S061", f"the fluid model was given {fault}")


def _integrate(
    network: FluidNetwork,
    law: DcqcnParameters,
    duration: int,
    step: float,
    samples: int,
    queues: Column | None,
) -> FluidOutcome:
    from ctestbed.transport.kernels_dcqcn import integrate

    bits = 8 * law.packet
    steps = int(duration / step)
    every = max(1, -(-steps // samples))
    links = _link_rows(network, law, queues)
    delays = np.maximum(1, np.rint(network.delays / step)).astype(np.int64)
    shape = -(-steps // every)
    taken = np.zeros((shape, links.shape[1])), np.zeros((shape, network.flows))
    means = np.zeros(links.shape[1]), np.zeros(network.flows)
    finish = np.full(network.flows, np.nan)
    second = step / PS_PER_SECOND
    integrate(
        links,
        _flow_rows(network, law),
        network.offsets.astype(np.int64),
        network.links.astype(np.int64),
        _law(law),
        delays,
        np.zeros((int(delays.max()) + 1, 2, network.flows)),
        second,
        steps,
        every,
        taken,
        finish,
        means,
    )
    half = steps - (steps + 1) // 2
    ended = np.where(np.isnan(finish), -1.0, np.ceil(finish * PS_PER_SECOND))
    return FluidOutcome(
        interval=round(every * step),
        queues=taken[0] * law.packet,
        rates=taken[1] * bits,
        queue_mean=means[0] / half * law.packet,
        rate_mean=means[1] / half * bits,
        finish=ended.astype(np.int64),
        error=0.0,
    )


def _law(law: DcqcnParameters) -> Column:
    times = law.notify_interval, law.alpha_timer, law.rate_timer
    return np.array(
        [
            *(each / PS_PER_SECOND for each in times),
            law.byte_counter / law.packet,
            law.fast_recovery,
            law.additive / (8 * law.packet),
            law.gain,
        ]
    )


def _link_rows(network: FluidNetwork, law: DcqcnParameters, queues: Column | None) -> Column:
    rows = np.zeros((6, len(network.capacity)))
    rows[0] = network.capacity / (8 * law.packet)
    rows[1] = 0 if queues is None else queues / law.packet
    rows[2:5] = np.array([[law.k_min / law.packet], [law.k_max / law.packet], [law.p_max]])
    rows[5] = np.inf if network.limit is None else network.limit / law.packet
    return rows


def _flow_rows(network: FluidNetwork, law: DcqcnParameters) -> Column:
    bits = 8 * law.packet
    slowest = np.minimum.reduceat(network.capacity[network.links], network.offsets[:-1])
    line = (slowest if network.line is None else network.line) / bits
    size = np.inf if network.sizes is None else network.sizes / law.packet
    start = 0 if network.starts is None else network.starts / PS_PER_SECOND
    rows = np.zeros((6, network.flows))
    rows[0] = rows[1] = rows[2] = line
    rows[3] = 1.0
    rows[4] = size
    rows[5] = start
    return rows
