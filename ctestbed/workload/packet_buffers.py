"""Bytes that packets find at each port of a run: thresholds, headroom, queues."""

from typing import Final

import numpy as np

from ctestbed.core.errors import InputError, Where
from ctestbed.core.headroom import bandwidth_delay_product
from ctestbed.core.units import format_size
from ctestbed.transport.packet.computed import is_long, known_ahead
from ctestbed.transport.packet.kernels_layout import NEVER
from ctestbed.transport.packet.problem import (
    Column,
    LinkClassLimits,
    PacketNetwork,
    PacketSettings,
)
from ctestbed.workload.packet_options import PacketOptions

XOFF_FRAMES: Final = 100
"""Frames of an ingress above which its peer pauses: the published scenarios' setting (htsim)."""
XON_FRAMES: Final = 89
QUEUE_FRAMES: Final = 100
"""Frames that may wait for a port of a lossy class."""


def limits_of(
    network: PacketNetwork,
    options: PacketOptions,
    settings: PacketSettings,
    configured: Column | None,
) -> LinkClassLimits:
    """Return the bytes of each link's receiver; headroom by default what never overflows."""
    frame = settings.payload + settings.header
    count = len(network.tail)

    def column(value: int) -> Column:
        return np.full(count, value, np.int64)

    xoff = XOFF_FRAMES * frame if options.xoff is None else options.xoff
    xon = xoff * XON_FRAMES // XOFF_FRAMES if options.xon is None else options.xon
    queue = QUEUE_FRAMES * frame if options.queue is None else options.queue
    if options.headroom is not None:
        headroom = column(options.headroom)
    else:
        headroom = closed_form_headroom(network, frame, settings.control)
        if options.flow_control == "bifrost":
            # All of the buffer counts, threshold or not: BDP + 2RT and some frames.
            period, first = known_ahead(network, settings)
            whole = np.maximum(headroom, first + 2 * period - xoff)
            headroom = np.where(is_long(network, settings), whole, headroom)
        if configured is not None:
            said = np.repeat(configured, 2)
            headroom = np.where(said >= 0, said, headroom)
    if queue < frame or xoff < 0:
        raise InputError(
            "CTB-S083",
            f"a queue of {queue} B holds no frame of {frame} B",
            where=Where(pointer="--queue"),
            hint=f"give at least {frame}B",
        )
    if xon > xoff:
        raise InputError(
            "CTB-S104",
            f"XON of {format_size(xon)} lies above XOFF of {format_size(xoff)}: a peer would be "
            "told to send again while it is to pause",
            where=Where(pointer="--xon" if options.xon is not None else "--xoff"),
            hint=f"give an --xon of at most {format_size(xoff)}",
        )
    limits = LinkClassLimits(column(xoff), column(xon), headroom, column(queue))
    if options.flow_control == "cbfc":
        least = int((xoff + headroom[network.links]).min())
        if least < frame:
            raise InputError(
                "CTB-S100",
                f"a buffer of {least} B gives no credit for a frame of {frame} B",
                where=Where(pointer="--headroom"),
                hint=f"give at least {frame}B with --xoff and --headroom together",
            )
    return limits


def closed_form_headroom(network: PacketNetwork, frame: int, control: int) -> Column:
    """Return the bytes that may still arrive on each link after its receiver decides to pause.

    The round trip of the cable; the frame that crosses XOFF, which counts whole; the frame that the
    receiver is sending, which the pause waits for, and the pause; and the frame that the sender has
    begun when the pause comes.
    """
    rates, rate_of = np.unique(network.rate, return_inverse=True)
    delays, delay_of = np.unique(network.delay, return_inverse=True)
    frames = 3 * frame + control
    needed = np.array(
        [
            min(bandwidth_delay_product(rate, delay) + frames, NEVER)
            if rate > 0 and delay >= 0
            else frames
            for rate in rates.tolist()
            for delay in delays.tolist()
        ],
        np.int64,
    )
    which = rate_of.reshape(-1) * len(delays) + delay_of.reshape(-1)
    whole: Column = needed[which]
    return whole
