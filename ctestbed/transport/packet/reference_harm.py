"""Storms, and wires that lose frames, in plain Python."""

from typing import Final, Literal

from ctestbed.transport.packet.kernels_layout import CUT, NEVER
from ctestbed.transport.packet.problem import Harm
from ctestbed.transport.packet.reference_state import Port, mix

PS_PER_SECOND: Final = 10**12


def do_harm(ports: dict[int, Port], harm: Harm) -> None:
    """Set what storms pause and when wires lose, of the links that have ports."""
    for link, klass, begin, until in harm.storms.tolist():
        for queue in ports[link].queues if link in ports else []:
            if klass in {-1, queue.klass}:
                queue.paused_from, queue.paused_until = begin, until
    for link, begin, until, share in sorted(harm.losses.tolist(), key=lambda row: row[1]):
        if link in ports:
            ports[link ^ 1].losses.append((begin, until, share))
    for link, when, rate in sorted(harm.slows.tolist(), key=lambda row: row[1]):
        if link in ports:
            ports[link].changes.append((when, rate))


def change_rate(port: Port, now: int) -> int:
    """Have a port send at the rate that is taken now; return when it changes again."""
    while port.changes and port.changes[0][0] <= now:
        port.pace = port.changes.popleft()[1]
    return port.changes[0][0] if port.changes else NEVER


def fate_of(
    port: Port, sender: Port, size: int, now: int, seed: int
) -> Literal["comes", "perished", "erred"]:
    """Tell whether the frame that would come to `port` now does, or what became of it."""
    if not port.losses or now < port.losses[0][0]:
        return "comes"
    lasts = -(-size * 8 * PS_PER_SECOND // sender.rate)
    begun = now - sender.delay - lasts
    port.came += 1
    for begin, until, share in port.losses:
        if begin <= now and until > begun:
            if share == CUT:
                return "perished"
            if mix(seed, sender.link, port.came) < share:
                return "erred"
    return "comes"
