"""Coalesced acknowledgements in plain Python: when an answer is asked for, and of what it is.

A frame has room for a range of packets, or for any among `SPAN` in a row.
"""

from typing import NamedTuple

from ctestbed.transport.packet.kernels_layout import SPAN
from ctestbed.transport.packet.problem import PacketSettings
from ctestbed.transport.packet.reference_control import RCCLaw
from ctestbed.transport.packet.reference_state import Flow


class Answer(NamedTuple):
    """What a receiver sends back: of packet `number`, and of others."""

    kind: str
    number: int
    others: tuple[int, ...] = ()


def wants_answer(flow: Flow, settings: PacketSettings, now: int) -> bool:
    """Whether a sender asks that the packet it sends now be answered at once.

    It does with the last that its window lets go, which would else wait for more that do not come,
    and when it has heard nothing for half of the time after which it sends all again.
    """
    if settings.ack_every == 1:
        return False
    held = not flow.ready and not isinstance(flow.law, RCCLaw)
    return held or flow.deadline - now <= settings.retry // 2


def stands_alone(flow: Flow, settings: PacketSettings, number: int) -> bool:
    """Whether a packet, before it is taken, is answered at once and by itself.

    So it is if it came before, or comes late where nothing overtakes: it was sent again.
    """
    return number in flow.have or (not settings.overtakes and number < flow.seen)


def keep_back(flow: Flow, settings: PacketSettings, number: int, *, urgent: bool) -> list[Answer]:
    """Keep a packet back until there are enough, or answer for all that were."""
    flow.untold.add(number)
    last = number + 1 == flow.packets or flow.delivered >= 0
    if len(flow.untold) < settings.ack_every and not (urgent or last):
        return []
    untold = sorted(flow.untold)
    flow.untold.clear()
    answers: list[Answer] = []
    while untold:
        first = untold[0]
        run = sum(number == first + index for index, number in enumerate(untold))
        if run > SPAN:
            *others, highest = untold[:run]
            answers.append(Answer("ack", highest, tuple(others)))
            untold = untold[run:]
        else:
            near = [number for number in untold if number < first + SPAN]
            answers.append(Answer("ack", first, tuple(near[1:])))
            untold = untold[len(near) :]
    return answers
