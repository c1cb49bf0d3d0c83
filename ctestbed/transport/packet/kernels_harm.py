"""Wires that lose frames: cables that are cut for a time, and cables that lose by chance."""

import numpy as np

from ctestbed.core.jit import indexed_from_zero, inner
from ctestbed.transport.packet import kernels_layout as at

PS_PER_SECOND = 10**12


@indexed_from_zero
@inner
def perishes(ports, doors, harms, run, settings, port, now, place, stamp):
    """Tell whether the frame that would come to `port` now is lost on its wire, and count it.

    It is if the wire was dead at any time from its first bit sent to its last bit received.
    """
    size = stamp & 0xFFFF
    if place >> 5 & 7 == at.PAUSE:
        size = settings[at.C_CONTROL]
    sender = ports[port, at.P_PEER]
    lasts = -(-size * 8 * PS_PER_SECOND // ports[sender, at.P_RATE])
    begun = now - ports[sender, at.P_DELAY] - lasts
    doors[port, at.W_CAME] += 1
    row, end = doors[port, at.W_HARMS], doors[port, at.W_HARMS_END]
    while row < end and harms[row, at.H_UNTIL] <= begun:
        row += 1
    doors[port, at.W_HARMS] = row
    while row < end and harms[row, at.H_FROM] <= now:
        if harms[row, at.H_UNTIL] > begun:
            if harms[row, at.H_SHARE] == at.CUT:
                run[at.X_PERISHED] += 1
                return True
            if (
                drawn(settings, ports[sender, at.P_LINK], doors[port, at.W_CAME])
                < (harms[row, at.H_SHARE])
            ):
                run[at.X_ERRED] += 1
                return True
        row += 1
    return False


@indexed_from_zero
@inner
def drawn(settings, link, count):
    """Draw a number below 2**32 that depends on seed, link and count alone."""
    z = np.uint64(settings[at.C_SEED]) + np.uint64(link) * np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64(count) * np.uint64(0xD1B54A32D192ED03)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64(z >> np.uint64(32))


def warm() -> None:
    """Compiled with the kernels that call them."""
