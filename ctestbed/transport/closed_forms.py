"""Closed forms of pause frames: how long one holds a sender, and how often it must be renewed.

Exact rationals, and the oracles of the packet engine. Headroom itself is `core.headroom`'s.
"""

from fractions import Fraction
from math import ceil
from typing import Final

from ctestbed.core.headroom import PAUSE_QUANTUM_BITS
from ctestbed.core.units import PS_PER_SECOND

PAUSE_MAX_QUANTA: Final = 65535
"""The largest value of the 16-bit pause timer."""


def pause_time(rate: int) -> Fraction:
    """Return the picoseconds that one pause frame can hold a sender of `rate` bit/s."""
    return Fraction(PAUSE_MAX_QUANTA * PAUSE_QUANTUM_BITS * PS_PER_SECOND, rate)


def pause_refreshes(rate: int, delay: int) -> int:
    """Return how many pause frames it takes to hold a sender for one round trip."""
    return ceil(2 * delay / pause_time(rate))
