"""Computed pauses for long links: what a receiver must know of each to tell its peer in advance.

Bifrost (Yu et al., ICNP 2023): every T the receiver grants c = min(R * T, H - L - F) bytes, of a
buffer of H in which L wait and F more may be on their way, and has its peer pause for the rest of
T. Frames are whole: the time given is that of whole frames less half of one, so that a pause which
waits a little for its port lets no more of them go, and one frame more is granted than they are.
"""

import numpy as np

from ctestbed.transport.packet.kernels_layout import NEVER
from ctestbed.transport.packet.problem import (
    Column,
    LinkClassLimits,
    PacketNetwork,
    PacketSettings,
)

LONG = 5
"""A link is long whose delay is of so many periods or more; others are paused as usual. Ours."""
MEGA = 10**6


def is_long(network: PacketNetwork, settings: PacketSettings) -> Column:
    """Return for each directed link whether its receiver computes pauses."""
    long: Column = network.delay >= LONG * settings.pause_period
    return long & (settings.flow_control == "bifrost")


def computed_limits(
    network: PacketNetwork, limits: LinkClassLimits, settings: PacketSettings
) -> LinkClassLimits:
    """Return the limits with all of the buffer of a long link's receiver below its threshold."""
    if settings.flow_control != "bifrost":
        return limits
    long, half = is_long(network, settings), NEVER // 2
    whole = np.minimum(limits.xoff, half) + np.minimum(limits.headroom, half)
    return LinkClassLimits(
        np.where(long, whole, limits.xoff), limits.xon, np.where(long, 0, limits.headroom),
        limits.queue, limits.blocked,
    )  # fmt: skip


def known_ahead(network: PacketNetwork, settings: PacketSettings) -> tuple[Column, Column]:
    """Return of each directed link the bytes that one period brings, and those before a first word.

    Both with the frames that may come beside: two of a period, and of a first word the frame that
    crosses, the one that the word waits for, the word, and the frame that the peer has begun.
    """
    frame = settings.payload + settings.header
    megabits = np.maximum(1, network.rate // MEGA)
    period = megabits * settings.pause_period // (8 * MEGA) + 2 * frame
    trip = 2 * network.delay + settings.pause_response
    # In two parts: the product of a rate and of a delay of seconds does not fit.
    high, low = np.divmod(trip, 8 * MEGA)
    first = megabits * high - -(megabits * low) // (8 * MEGA) + 3 * frame + settings.control
    return period, first
