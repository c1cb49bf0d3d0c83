"""`sim headroom --solve`: the least headroom that loses nothing, and the least that never starves.

One long cable carries a flow at line rate into a switch whose way out is blocked. Headroom: with
room without end, the most that comes in beyond XOFF is exactly what is needed. Starvation: the way
out opens when the pause has been heeded; the switch must have enough to send until what the
resume brings arrives. The least XOFF (= XON) for which the way out is never idle is searched by
bisection, and its buffer is that and the headroom.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from ctestbed.core.errors import InputError, Where
from ctestbed.core.units import PS_PER_SECOND
from ctestbed.transport.packet.kernels_layout import NEVER
from ctestbed.transport.packet.problem import (
    LinkClassLimits,
    PacketFlows,
    PacketNetwork,
    PacketOutcome,
    PacketSettings,
)

HEADER: Final = 64
MAX_FRAMES: Final = 20_000_000
"""Frames on the cable and back: more would take minutes and gigabytes."""
PRECISION: Final = 2_000
"""The search ends at one part in so many of the round trip."""
_NEAR: Final = 1_000_000
"""ps of the short cables before and behind the long one."""
_LONG_CABLE: Final = 2
_WAY_OUT: Final = 4


@dataclass(frozen=True, slots=True)
class SolvedHeadroom:
    """Bytes per port and class: the least lossless headroom; the least buffer without starving."""

    lossless: int
    no_starvation: int
    xoff: int
    runs: int


def solve_headroom(rate: int, delay: int, mtu: int) -> SolvedHeadroom:
    """Find both for a cable of `rate` bit/s and `delay` ps, with frames of `mtu` bytes.

    Raises:
        InputError: the cable holds more frames than can be simulated, or `mtu` no payload.
    """
    if mtu <= HEADER or mtu > 2**16 - 1:
        raise InputError(
            "CTB-S087",
            f"a frame of {mtu} B cannot be simulated",
            where=Where(pointer="--mtu"),
            hint=f"from {HEADER + 1}B to 65535B",
        )
    trip = max(2 * delay * rate // (8 * PS_PER_SECOND), mtu)
    if 6 * trip // mtu > MAX_FRAMES:
        raise InputError(
            "CTB-S087",
            f"a round trip holds {trip // mtu:,} frames of {mtu} B, too many to simulate",
            where=Where(pointer="--solve"),
            hint="the closed form needs no simulation: leave --solve out",
        )
    search = _Search(rate, delay, mtu, trip)
    headroom = search.headroom()
    low, high = 0, 2 * trip + 16 * mtu
    while high - low > max(1, trip // PRECISION):
        middle = (low + high) // 2
        if search.starves(middle):
            low = middle
        else:
            high = middle
    return SolvedHeadroom(headroom, high + headroom, high, search.runs)


class _Search:
    def __init__(self, rate: int, delay: int, mtu: int, trip: int) -> None:
        self.rate, self.delay, self.mtu, self.trip = rate, delay, mtu, trip
        self.runs = 0

    def headroom(self) -> int:
        """Return the most bytes that come in beyond XOFF while the way out stays blocked."""
        size = 2 * self.trip + 64 * self.mtu
        outcome = self._run(size, xoff=8 * self.mtu, blocked=NEVER)
        row = outcome.ports.links.tolist().index(_LONG_CABLE)
        return int(outcome.ports.headroom_max[row, 0])

    def starves(self, xoff: int) -> bool:
        """Tell whether the way out falls idle once it opens, with the pause heeded by then."""
        arriving = (xoff + self.trip + self.trip // 2 + 16 * self.mtu) * 8 * PS_PER_SECOND
        opens = arriving // self.rate + 2 * self.delay + 4 * _NEAR
        size = xoff + 4 * self.trip + 64 * self.mtu
        ends = [
            int(self._run(size, xoff=bound, blocked=opens).delivered[0]) for bound in (xoff, NEVER)
        ]
        return ends[0] < 0 or ends[0] > ends[1]

    def _run(self, size: int, *, xoff: int, blocked: int) -> PacketOutcome:
        from ctestbed.transport.packet.engine import simulate

        self.runs += 1

        def column(*values: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
            return np.array(values, np.int64)

        network = PacketNetwork(
            column(0, 1, 1, 2, 2, 3),
            column(1, 0, 2, 1, 3, 2),
            np.full(6, self.rate, np.int64),
            column(_NEAR, _NEAR, self.delay, self.delay, _NEAR, _NEAR),
            column(0, 3),
            column(0, 2, 4),
        )
        flows = PacketFlows(column(size), column(0), column(0), column(0), column(1))
        free = np.full(6, NEVER, np.int64)
        bound = free.copy()
        bound[_LONG_CABLE] = xoff
        shut = np.zeros(6, np.int64)
        shut[_WAY_OUT] = blocked
        limits = LinkClassLimits(bound, bound, free, free, shut)
        settings = PacketSettings(payload=self.mtu - HEADER, header=HEADER, retry=NEVER)
        return simulate(network, flows, limits, settings)
