"""One long cable whose receiver is blocked and then opens: what is lost, and what stands idle.

A flow at line rate crosses the cable into a switch whose way out is blocked for four round trips
and a few frames, and then open. Four round trips more are to be sent. A scheme holds if nothing is
lost and the way out is never idle once it is open. Computed pauses need a long cable; a shorter one
is paused as by PFC.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from ctestbed.core.headroom import bandwidth_delay_product
from ctestbed.core.units import FIBRE_PS_PER_KM, PS_PER_SECOND
from ctestbed.transport.packet.computed import LONG
from ctestbed.transport.packet.kernels_layout import NEVER
from ctestbed.transport.packet.problem import (
    LinkClassLimits,
    PacketFlows,
    PacketNetwork,
    PacketSettings,
)

Simulated: TypeAlias = Literal["pfc", "cbfc", "bifrost", "gbn", "sr"]

LOSSLESS: Final = ("pfc", "cbfc", "bifrost")

HEADER: Final = 64
CONTROL: Final = 64
TRIPS: Final = 4
"""Round trips for which the receiver is blocked, and for which data are sent afterwards: ours.

A pause is heeded within two round trips of the first byte, so that four show its whole course.
"""
FRAMES: Final = 256
"""Frames besides, so that short cables have something to carry: ours."""
_NEAR: Final = 1_000_000
"""ps of the short cables before and behind the long one."""
_LONG_CABLE: Final = 2
_WAY_OUT: Final = 4
_PATIENCE: Final = 64
"""Round trips after which a run that still repeats is given up: ours."""
_MM_PER_KM: Final = 10**6


@dataclass(frozen=True, slots=True)
class Point:
    """A scheme on a cable of bit/s and mm; bytes of buffer per port and class, and of a frame."""

    scheme: Simulated
    rate: int
    length: int
    buffer: int
    mtu: int


@dataclass(frozen=True, slots=True)
class Seen:
    """Frames lost, ps that the open way out was idle, its share of line rate, bytes at the peak.

    `share` is -1 where the flow was not done in time.
    """

    lost: int
    idle: int
    share: float
    peak: int


def delay_of(length: int) -> int:
    """Return the one-way delay in ps of a fibre of `length` mm, rounded up."""
    return -(-length * FIBRE_PS_PER_KM // _MM_PER_KM)


def frames_of(rate: int, length: int, mtu: int) -> int:
    """Return the frames that a run sends at least."""
    trip = bandwidth_delay_product(rate, delay_of(length))
    return 2 * TRIPS * trip // mtu + 2 * FRAMES


def lossless_need(rate: int, length: int, mtu: int) -> int:
    """Return what may still arrive after a pause is due: a round trip, three frames, the pause."""
    return bandwidth_delay_product(rate, delay_of(length)) + 3 * mtu + CONTROL


def simulate_point(point: Point) -> Seen:
    """Run one point."""
    from ctestbed.transport.packet.engine import simulate

    delay, rate, mtu = delay_of(point.length), point.rate, point.mtu
    frames = frames_of(rate, point.length, mtu)
    frame_time = -(-mtu * 8 * PS_PER_SECOND // rate)
    opens = TRIPS * 2 * delay + FRAMES * frame_time
    settings = PacketSettings(
        payload=mtu - HEADER,
        header=HEADER,
        control=CONTROL,
        lossless=int(point.scheme in LOSSLESS),
        flow_control="cbfc" if point.scheme == "cbfc" else _pauses(point),
        retry=NEVER if point.scheme in LOSSLESS else _retry(delay, opens),
        reliability="sr" if point.scheme == "sr" else "gbn",
    )
    ends = opens + (frames + 2) * frame_time + _NEAR
    horizon = ends + _PATIENCE * (2 * delay + FRAMES * frame_time)
    zero = _column(0)
    flow = PacketFlows(_column(frames * settings.payload), zero, zero, zero, _column(1))
    outcome = simulate(_network(rate, delay), flow, _limits(point, opens), settings, horizon)
    rows = outcome.ports.links.tolist()
    entered = int(outcome.ports.entered_max[rows.index(_LONG_CABLE), 0])
    waiting = int(outcome.ports.waiting_max[rows.index(_WAY_OUT), 0])
    delivered = int(outcome.delivered[0])
    # Sent back to back from the moment it opens, the last frame is there after so long.
    sent = frames * frame_time
    idle = max(0, delivered - opens - _NEAR - sent) if delivered >= 0 else -1
    return Seen(
        outcome.lost,
        0 if 0 <= idle <= 2 * frame_time else idle,
        -1.0 if idle < 0 else min(1.0, sent / (sent + idle)) if idle > 2 * frame_time else 1.0,
        entered if point.scheme in LOSSLESS else waiting,
    )


def _pauses(point: Point) -> Literal["pfc", "bifrost"]:
    """Return which pauses the cable has: computed ones only if it is long enough."""
    long = delay_of(point.length) >= LONG * PacketSettings().pause_period
    return "bifrost" if point.scheme == "bifrost" and long else "pfc"


def _retry(delay: int, opens: int) -> int:
    """Return a timer that outlasts the blocked receiver: what is held up there is not lost."""
    from ctestbed.workload.packets import LOSSY_RETRY

    return LOSSY_RETRY + opens + 6 * (delay + 2 * _NEAR)


def _network(rate: int, delay: int) -> PacketNetwork:
    return PacketNetwork(
        _column(0, 1, 1, 2, 2, 3),
        _column(1, 0, 2, 1, 3, 2),
        np.full(6, rate, np.int64),
        _column(_NEAR, _NEAR, delay, delay, _NEAR, _NEAR),
        _column(0, 3),
        _column(0, 2, 4),
    )


def _limits(point: Point, opens: int) -> LinkClassLimits:
    """Return the limits: PFC gives headroom what it needs, and the rest stands below XOFF.

    Credits and computed pauses have no threshold: all of the buffer is theirs.
    """
    free = np.full(6, NEVER, np.int64)
    xoff, room, queue = free.copy(), free.copy(), free.copy()
    if point.scheme == "cbfc" or _pauses(point) == "bifrost":
        room[_LONG_CABLE], xoff[_LONG_CABLE] = 0, point.buffer
    elif point.scheme in LOSSLESS:
        need = min(point.buffer, lossless_need(point.rate, point.length, point.mtu))
        room[_LONG_CABLE], xoff[_LONG_CABLE] = need, point.buffer - need
    else:
        queue[_WAY_OUT] = point.buffer
    shut = np.zeros(6, np.int64)
    shut[_WAY_OUT] = opens
    # `queue` bounds what waits to leave by the link; every other port has room without end.
    return LinkClassLimits(xoff, xoff, room, queue, shut)


def _column(*values: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.array(values, np.int64)
