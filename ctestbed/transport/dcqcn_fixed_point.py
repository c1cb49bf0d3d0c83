"""Where DCQCN comes to rest: the exact fixed point of its fluid model, and its cube-root estimate.

The model is that of Zhu et al., Congestion Control for Large-Scale RDMA Deployments (SIGCOMM
2015): marking by RED, one notification per flow and interval, alpha, fast recovery, and additive
increase by a timer and a byte counter; hyper increase is left out, as there. Setting its
derivatives to zero leaves one equation in the marking probability p,

    alpha * a^2 = tau^2 * R_AI * R * (b + d) * (c + e),

whose left side rises with p and whose right side falls, so it has one root.
"""

from dataclasses import dataclass
from math import exp, expm1, log1p
from typing import Final

from ctestbed.core.units import PS_PER_SECOND

_HALVINGS: Final = 200


@dataclass(frozen=True, slots=True)
class DcqcnParameters:
    """The published defaults: bytes, ps, bit/s; `gain` is g, `additive` R_AI."""

    packet: int = 1000
    k_min: int = 5_000
    k_max: int = 200_000
    p_max: float = 0.01
    gain: float = 1 / 256
    notify_interval: int = 50_000_000
    alpha_timer: int = 55_000_000
    rate_timer: int = 55_000_000
    byte_counter: int = 10_000_000
    fast_recovery: int = 5
    additive: int = 40_000_000


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """Marking probability, queue in bytes, alpha, and each flow's target rate in bit/s."""

    probability: float
    queue: float
    alpha: float
    target: float


def fixed_point(parameters: DcqcnParameters, rate: int, flows: int) -> FixedPoint | None:
    """Return where `flows` equal flows over one link of `rate` bit/s come to rest.

    None if that needs more marks than the ramp gives before it jumps to 1 at `k_max`: the queue
    then has no rest below it, and grows until something else (PFC) stops the senders.
    """
    each = rate / flows / (8 * parameters.packet)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _excess(parameters, each, middle) > 0 else (middle, high)
    if high > parameters.p_max:
        return None
    decrease, _, byte_rest, timer_rest = _terms(parameters, each, high)
    second = parameters.notify_interval / PS_PER_SECOND
    additive = parameters.additive / (8 * parameters.packet)
    gap = second * additive * each * (byte_rest + timer_rest) / decrease
    return FixedPoint(
        probability=high,
        queue=ramp_queue(parameters, high),
        alpha=_reached(each * parameters.alpha_timer / PS_PER_SECOND, high),
        target=(each + gap) * 8 * parameters.packet,
    )


def ramp_queue(parameters: DcqcnParameters, probability: float) -> float:
    """Return the queue in bytes at which RED marks with a probability of up to `p_max`."""
    return parameters.k_min + probability / parameters.p_max * (parameters.k_max - parameters.k_min)


def cube_root_estimate(parameters: DcqcnParameters, rate: int, flows: int) -> float:
    """Return the queue in bytes by the formula for small p, which is 14 to 29 % high at 40G."""
    capacity = rate / (8 * parameters.packet)
    additive = parameters.additive / (8 * parameters.packet)
    counter = parameters.byte_counter / parameters.packet
    timer, alpha_timer = (
        each / PS_PER_SECOND for each in (parameters.rate_timer, parameters.alpha_timer)
    )
    events = 1 / counter + flows / (timer * capacity)
    cubed = additive * flows**2 / (alpha_timer * capacity**2) * events**2
    return ramp_queue(parameters, cubed ** (1 / 3))


def _reached(packets: float, probability: float) -> float:
    """Return the chance that one of `packets` is marked: 1 - (1 - p)^packets."""
    if probability >= 1:
        return 1.0
    return -expm1(packets * log1p(-probability))


def _between(packets: float, probability: float) -> float:
    """Return p / ((1 - p)^-packets - 1): events of a counter of `packets` per packet sent."""
    if probability <= 0:
        return 1 / packets
    if probability >= 1:
        return 0.0
    exponent = -packets * log1p(-probability)
    return probability * exp(-exponent) / -expm1(-exponent)


def _terms(
    parameters: DcqcnParameters, each: float, probability: float
) -> tuple[float, float, float, float]:
    """Return (a, b + d, c, e) of the equation, for a flow of `each` packets per second."""
    counter = parameters.byte_counter / parameters.packet
    timed = each * parameters.rate_timer / PS_PER_SECOND
    decrease = _reached(each * parameters.notify_interval / PS_PER_SECOND, probability)
    by_bytes, by_time = _between(counter, probability), _between(timed, probability)
    stages = parameters.fast_recovery
    byte_rest = by_bytes * (1 - _reached(stages * counter, probability))
    timer_rest = by_time * (1 - _reached(stages * timed, probability))
    return decrease, by_bytes + by_time, byte_rest, timer_rest


def _excess(parameters: DcqcnParameters, each: float, probability: float) -> float:
    """Return the equation's left side less its right."""
    decrease, events, byte_rest, timer_rest = _terms(parameters, each, probability)
    alpha = _reached(each * parameters.alpha_timer / PS_PER_SECOND, probability)
    second = parameters.notify_interval / PS_PER_SECOND
    additive = parameters.additive / (8 * parameters.packet)
    return alpha * decrease**2 - second**2 * additive * each * events * (byte_rest + timer_rest)
