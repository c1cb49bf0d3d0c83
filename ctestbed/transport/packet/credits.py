"""Credits: the buffer that the receiver of each link vouches for, and when it says what is free."""

import numpy as np

from ctestbed.transport.packet.kernels_layout import NEVER
from ctestbed.transport.packet.problem import Column, LinkClassLimits, PacketNetwork


def buffers(network: PacketNetwork, limits: LinkClassLimits) -> Column:
    """Return the bytes that a class may fill at the far end of each directed link.

    NEVER where a path ends: hosts take everything at once.
    """
    half = NEVER // 2
    rooms = np.minimum(limits.xoff, half) + np.minimum(limits.headroom, half)
    rooms = np.where(rooms >= half, NEVER, rooms)
    rooms[network.links[network.offsets[1:] - 1]] = NEVER
    return rooms.astype(np.int64)


def worth_saying(room: int, frame: int) -> int:
    """Return how many freed bytes a receiver speaks of: a quarter of the buffer or two frames.

    Sooner where what is left unsaid would leave no room for a frame: then all would stand still.
    The standards leave the rhythm open; the rule is ours.
    """
    return max(1, min(2 * frame, -(-room // 4), room - frame + 1))
