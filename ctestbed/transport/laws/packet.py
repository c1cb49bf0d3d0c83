"""How long packets take over idle links: what no packet engine may beat, and a lone flow meets.

Store-and-forward: a packet is sent on once its last bit is there. Links are (bit/s, one-way ps).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from ctestbed.core.units import PS_PER_SECOND

Link: TypeAlias = tuple[int, int]
"""Rate in bit/s and one-way delay in ps."""

PAYLOAD: Final = 4000
HEADER: Final = 64
ACKNOWLEDGEMENT: Final = 64
"""Bytes of htsim's RoCE packets: payload, header, and the acknowledgement of each."""


@dataclass(frozen=True, slots=True)
class Framing:
    """Bytes of payload and header in a full packet, and of an acknowledgement."""

    payload: int = PAYLOAD
    header: int = HEADER
    acknowledgement: int = ACKNOWLEDGEMENT

    def packets(self, size: int) -> int:
        """Return the number of packets of a flow."""
        return -(-size // self.payload)

    def last(self, size: int) -> int:
        """Return the bytes on the wire of a flow's last packet."""
        return size - (self.packets(size) - 1) * self.payload + self.header

    def wire_bytes(self, size: int) -> int:
        """Return all bytes of a flow on the wire."""
        return size + self.packets(size) * self.header

    @property
    def full(self) -> int:
        """Bytes on the wire of a full packet."""
        return self.payload + self.header


ROCE: Final = Framing()
"""The framing of the published scenarios."""


def sending_time(size: int, rate: int) -> Fraction:
    """Return the picoseconds that `size` bytes occupy a link."""
    return Fraction(8 * size * PS_PER_SECOND, rate)


def delivery_time(size: int, links: Sequence[Link], framing: Framing = ROCE) -> Fraction:
    """Return when the last byte of a lone flow reaches the receiver, sent at line rate from 0.

    All packets but the last are alike: the next-to-last leaves link l when the first would have,
    plus the slowest link's sending time for each one between. The last, which may be shorter,
    follows as soon as it is there and the one before it is gone.
    """
    return _arrivals(size, links, framing)[1]


def lone_completion(size: int, links: Sequence[Link], framing: Framing = ROCE) -> Fraction:
    """Return when the sender of a lone flow has the last acknowledgement: the packet FCT floor.

    Every packet is acknowledged at once over the same cables, which carry nothing else.
    """
    before, last = _arrivals(size, links, framing)
    for rate, delay in reversed(links):
        takes = sending_time(framing.acknowledgement, rate)
        if before is not None:
            before += takes
            last = max(last, before)
            before += delay
        last += takes + delay
    return last


def _arrivals(
    size: int, links: Sequence[Link], framing: Framing
) -> tuple[Fraction | None, Fraction]:
    """Return when the next-to-last packet arrives (None where there is one only) and the last."""
    between = framing.packets(size) - 2
    first, widest, previous, last = Fraction(0), Fraction(0), Fraction(0), Fraction(0)
    for rate, delay in links:
        full = sending_time(framing.full, rate)
        widest = max(widest, full)
        gone = first + full + between * widest if between >= 0 else Fraction(0)
        last = max(last, gone) + sending_time(framing.last(size), rate) + delay
        first += full + delay
        previous = gone + delay
    return (previous if between >= 0 else None), last


def receiver_floor(sizes: Sequence[int], rate: int, framing: Framing = ROCE) -> Fraction:
    """Return the picoseconds that an incast's bytes keep the receiver's link busy."""
    return sending_time(sum(framing.wire_bytes(size) for size in sizes), rate)


def goodput(rate: int, payload: int, overhead: int) -> Fraction:
    """Return the payload in bit/s of a full link with `overhead` bytes around each payload."""
    return Fraction(rate * payload, payload + overhead)
