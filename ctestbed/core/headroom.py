"""Headroom of a lossless port: the closed form, and vendors' ways to size it beside it.

All of them are exact rationals, rounded up to whole bytes at the very end. Sources are named in
words that a report can print.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final

from ctestbed.core.units import PS_PER_SECOND

PAUSE_QUANTUM_BITS: Final = 512
"""Bit times per quantum of an IEEE 802.3x/Qbb pause frame."""

DEFAULT_MTU: Final = 9100
"""Bytes. The default port MTU of the SONiC design."""

SONIC_RESPONSE_QUANTA: Final = {
    10: 67,
    25: 80,
    40: 118,
    50: 147,
    100: 394,
    200: 453,
    400: 905,
}
"""Pause response allowance by port rate in Gb/s, in quanta; none is published above 400G."""

_SONIC_CABLE_SPEED: Final = 198_000_000
"""Metres per second in the SONiC buffer formula."""

_GBPS: Final = 10**9
_MM_PER_M: Final = 1000


@dataclass(frozen=True, slots=True)
class LongHaulLink:
    """A link as headroom sees it: bit/s, one-way ps, mm, largest frame in bytes.

    Length and frame size are -1 where unknown: then only what rests on the delay alone is known.
    """

    rate: int
    delay: int
    length: int
    mtu: int = DEFAULT_MTU


@dataclass(frozen=True, slots=True)
class HeadroomVariant:
    """One way to size headroom per port and lossless class; None where it cannot be known."""

    name: str
    size: int | None
    source: str


def bandwidth_delay_product(rate: int, delay: int) -> int:
    """Return 2 * delay * rate in bytes, rounded up; `delay` is one way, in ps."""
    return -(-2 * delay * rate // (8 * PS_PER_SECOND))


def pfc_buffer(rate: int, delay: int) -> int:
    """Return the bytes with which plain PFC (XON = XOFF) neither loses nor starves: 2 BDP.

    XOFF to overflow costs one round trip of data, and XON to refill costs another.
    """
    return -(-4 * delay * rate // (8 * PS_PER_SECOND))


def paced_pause_buffer(rate: int, delay: int, period: int) -> int:
    """Return the bytes that computed pauses every `period` ps need: BDP + 2 * rate * period."""
    return -(-2 * (delay + period) * rate // (8 * PS_PER_SECOND))


def distance_carried(headroom: int, rate: int) -> int:
    """Return the longest one-way delay, in ps, whose closed form fits in `headroom` bytes."""
    return headroom * 8 * PS_PER_SECOND // (2 * rate)


def mlx5e_xoff(link: LongHaulLink) -> int:
    """Return the headroom of the Linux mlx5e formula: (301 + 2.16 * m) * Gb/s + 2.72 * MTU."""
    per_gbps = 301 + Fraction(216, 100) * Fraction(link.length, _MM_PER_M)
    return ceil(per_gbps * Fraction(link.rate, _GBPS) + Fraction(272, 100) * link.mtu)


def operator_rule(link: LongHaulLink) -> int:
    """Return an operator's rule of thumb: 130 B per 100 m and Gb/s, two MTUs and 3,840 B."""
    fibre = Fraction(130 * link.length * link.rate, 100 * _MM_PER_M * _GBPS)
    return ceil(fibre + 2 * link.mtu + 3840)


def sonic_occupancy(cell: int, small_share: Fraction) -> Fraction:
    """Return how much more buffer packets take than their bytes, for cells of `cell` bytes.

    `small_share` of the packets are 64 B long, the rest fill their cells.
    """
    factor = Fraction(cell, 64) if cell > 128 else Fraction(2 * cell, 1 + cell)  # noqa: PLR2004
    return 1 - small_share + small_share * factor


def sonic_xoff(
    link: LongHaulLink,
    *,
    cell: int | None = None,
    small_share: Fraction = Fraction(1),
    device_bytes: int = 0,
) -> int | None:
    """Return the XOFF headroom of the SONiC formula, or None above the rates it has a table for.

    `cell` None counts bytes as they are; `device_bytes` is 2 * gearbox + MAC/PHY latency.
    """
    quanta = SONIC_RESPONSE_QUANTA.get(link.rate // _GBPS) if link.rate % _GBPS == 0 else None
    if quanta is None:
        return None
    cable = Fraction(2 * link.length * link.rate, 8 * _MM_PER_M * _SONIC_CABLE_SPEED)
    response = quanta * PAUSE_QUANTUM_BITS // 8
    occupancy = Fraction(1) if cell is None else sonic_occupancy(cell, small_share)
    return ceil(link.mtu + (link.mtu + cable + device_bytes + response) * occupancy)


def headroom_variants(link: LongHaulLink) -> list[HeadroomVariant]:
    """Return every way to size headroom, the convention (BDP) first."""
    whole = link.length >= 0 and link.mtu >= 0
    return [
        HeadroomVariant(
            "BDP (the convention)",
            bandwidth_delay_product(link.rate, link.delay),
            "2 * delay * rate: what is still in flight when a pause is sent",
        ),
        HeadroomVariant(
            "2 BDP (plain PFC)",
            pfc_buffer(link.rate, link.delay),
            "Bifrost, ICNP 2023: XON = XOFF neither loses nor starves with 4 * delay * rate",
        ),
        HeadroomVariant(
            "BDP + 2RT (paced pause)",
            paced_pause_buffer(link.rate, link.delay, 10_000_000),
            "Bifrost, ICNP 2023: a computed pause every T = 10 us",
        ),
        HeadroomVariant(
            "SONiC",
            sonic_xoff(link) if whole else None,
            "SONiC buffer formula, bytes as they are; gearbox, MAC/PHY and pipeline left out",
        ),
        HeadroomVariant(
            "SONiC, 144 B cells",
            sonic_xoff(link, cell=144) if whole else None,
            "SONiC buffer formula, every packet 64 B in cells of 144 B",
        ),
        HeadroomVariant(
            "mlx5e",
            mlx5e_xoff(link) if whole else None,
            "Linux mlx5e driver: (301 + 2.16 * metres) * Gb/s + 2.72 * MTU",
        ),
        HeadroomVariant(
            "operator's rule",
            operator_rule(link) if whole else None,
            "operator note: 130 B per 100 m and Gb/s, two MTUs, 3,840 B",
        ),
    ]
