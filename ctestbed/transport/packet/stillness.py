"""When a run stands still although its senders go on to try: a deadlock, for one.

Where senders repeat what is not acknowledged in time, some event is always to come. But nothing
will ever move again if nothing has for longer than each sender takes to try once more, nothing is
on a wire or waits for a time, and all flows have begun that do so at a known time.
"""

from typing import Final

from ctestbed.transport.packet.kernels_layout import NEVER
from ctestbed.transport.packet.problem import Column, LinkClassLimits, PacketSettings

_TRIES: Final = 3


def patience_of(settings: PacketSettings, limits: LinkClassLimits) -> int:
    """Return the ps after which to look whether a run stands still; NEVER where it may not.

    What comes from outside, storms and watchdogs for instance, moves things again.
    """
    outside = settings.harm is not None or settings.watchdog is not None
    if outside or limits.blocked is not None or settings.retry >= NEVER // _TRIES:
        return NEVER
    return _TRIES * settings.retry


def stands_still(starts: Column, now: int, last: int, patience: int) -> bool:
    """Tell whether nothing came anywhere in the last `patience` ps up to `now`, and no flow will.

    `last` is when the last frame came; `starts` are of flows, NEVER for those that wait for others.
    """
    coming = (starts > now) & (starts < NEVER)
    return last + patience <= now and not bool(coming.any())


def next_look(starts: Column, now: int, last: int, patience: int) -> int:
    """Return until when to run on before looking again."""
    coming = starts[(starts > now) & (starts < NEVER)]
    if last + patience > now or not len(coming):
        return max(now, last) + patience
    return int(coming.min()) + patience
