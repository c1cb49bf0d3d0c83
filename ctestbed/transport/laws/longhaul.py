"""What distance asks of a link that loses nothing: pauses, buffers and credits.

Exact rationals, rounded up to whole bytes or frames at the very end. A delay is one way, in ps; a
rate is bit/s.
"""

from fractions import Fraction
from math import ceil
from typing import Final

from ctestbed.core.headroom import PAUSE_QUANTUM_BITS, bandwidth_delay_product
from ctestbed.core.units import FIBRE_PS_PER_KM, PS_PER_SECOND

PAUSE_MAX_QUANTA: Final = 65535
"""The largest value of the 16-bit pause timer."""

PAUSE_FRAME: Final = 64
"""Bytes of a pause frame: the smallest Ethernet frame."""

IB_CREDIT_BITS: Final = 12
"""Width of the flow control counters of InfiniBand, which count blocks."""

IB_CREDIT_BLOCK: Final = 64
"""Bytes of one such block."""

_MM_PER_KM: Final = 10**6


def pfc_buffer_unlike(arrival: int, drain: int, delay: int) -> int:
    """Return the bytes of plain PFC where data arrive at one rate and leave at another.

    XOFF to overflow costs one round trip of arrivals, XON to refill one of departures (Bifrost,
    ICNP 2023); alike rates make it 2 BDP.
    """
    return -(-2 * delay * (arrival + drain) // (8 * PS_PER_SECOND))


def periodic_pause_buffer(rate: int, delay: int, period: int, periods: int = 2) -> int:
    """Return the bytes that computed pauses need: BDP + `periods` * rate * period.

    A pause is computed every `period` ps; two periods suffice (Bifrost, ICNP 2023).
    """
    return -(-(2 * delay + periods * period) * rate // (8 * PS_PER_SECOND))


def computed_pause(
    rate: int, period: int, buffer: Fraction, queue: Fraction, in_flight: Fraction
) -> tuple[Fraction, Fraction]:
    """Return the bytes granted for the next period, and the pause in ps that grants no more.

    Bifrost (ICNP 2023): c = min(R*T, H - L - F) with buffer H, queue L and F bytes that may still
    arrive; the pause is T - c/R. A buffer that is overdrawn grants nothing.
    """
    full = Fraction(rate * period, 8 * PS_PER_SECOND)
    grant = max(Fraction(0), min(full, buffer - queue - in_flight))
    return grant, period - grant * 8 * PS_PER_SECOND / rate


def lossless_headroom(rate: int, delay: int, mtu: int, response_quanta: int = 0) -> int:
    """Return the bytes that arrive after the threshold is crossed, at the worst moment.

    The round trip of the cable; the frame that the port is sending when the pause is due, which
    the pause waits for; the pause itself; the peer's response; and the frame that the peer has
    just begun, which it finishes (IEEE 802.1Qbb, annex O).
    """
    response = response_quanta * PAUSE_QUANTUM_BITS // 8
    return bandwidth_delay_product(rate, delay) + 2 * mtu + PAUSE_FRAME + response


def pause_time(rate: int) -> Fraction:
    """Return the picoseconds that one pause frame can hold a sender of `rate` bit/s."""
    return Fraction(PAUSE_MAX_QUANTA * PAUSE_QUANTUM_BITS * PS_PER_SECOND, rate)


def pause_refreshes(rate: int, delay: int) -> int:
    """Return how many pause frames it takes to hold a sender for one round trip."""
    return ceil(2 * delay / pause_time(rate))


def pause_overhead(rate: int, period: int, frame: int = PAUSE_FRAME) -> Fraction:
    """Return the share of a link that one pause frame every `period` ps takes."""
    return Fraction(frame * 8 * PS_PER_SECOND, rate * period)


def credits_needed(rate: int, delay: int, block: int = IB_CREDIT_BLOCK) -> int:
    """Return the blocks of credit that keep a link of credits full: those of one BDP."""
    return -(-bandwidth_delay_product(rate, delay) // block)


def credit_limit(bits: int = IB_CREDIT_BITS, block: int = IB_CREDIT_BLOCK) -> int:
    """Return the bytes that a wrapping credit counter can have outstanding: half its window."""
    return (1 << (bits - 1)) * block


def reach(rate: int, buffer: int, ps_per_km: int = FIBRE_PS_PER_KM) -> Fraction:
    """Return the length in mm whose BDP is `buffer` bytes; the reach of credits or of a chip."""
    round_trip = Fraction(buffer * 8 * PS_PER_SECOND, rate)
    return round_trip / (2 * ps_per_km) * _MM_PER_KM
