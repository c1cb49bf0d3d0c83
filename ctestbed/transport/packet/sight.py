"""When the ports of a run are looked at: the same in both packet engines.

The first looks are as far apart as gives half of those that are kept, by how long the busiest of
the first and last cables takes for its bytes. But they are no closer than some windows of the
engine, as each look ends one, and no more than some for each million packets that cross a cable.
"""

from typing import Final

import numpy as np

from ctestbed.transport.packet.kernels_layout import NEVER
from ctestbed.transport.packet.problem import (
    Column,
    PacketFlows,
    PacketNetwork,
    PacketSettings,
)

WINDOWS: Final = 8
"""Windows between looks, at least: so many more of them take no time to speak of."""
HOPS: Final = 1_500
"""Packets times hops for each look, at least: a look takes about 10 us."""
LEAST: Final = 32
CELLS: Final = 2**24
"""Ports times looks that are kept, of 4 bytes each; fewer looks at more ports."""
_BIT_PS: Final = 8e12
_PS_PER_SECOND: Final = 10**12


def plan_looks(
    network: PacketNetwork, flows: PacketFlows, settings: PacketSettings
) -> tuple[int, int]:
    """Return the time of the first look in ps, NEVER if there is none, and how many are kept."""
    if settings.looks == 0:
        return NEVER, 0
    used = np.unique(network.links)
    both = np.union1d(used, used ^ 1)
    rows = max(2, min(settings.looks, CELLS // len(both)) // 2 * 2)
    control = -(-settings.control * 8 * _PS_PER_SECOND // network.rate[both])
    window = int((control + network.delay[both]).min())
    lengths = np.diff(network.offsets)[flows.first_path]
    hops = int((-(-flows.sizes // settings.payload) * lengths).sum())
    expected = min(rows // 2, max(LEAST, hops // HOPS))
    return _round(max(WINDOWS * window, _expected(network, flows, settings) // expected)), rows


def _expected(network: PacketNetwork, flows: PacketFlows, settings: PacketSettings) -> int:
    """Return for how long, at least, somebody sends, in ps."""
    frames = -(-flows.sizes // settings.payload)
    size = flows.sizes + frames * settings.header
    longest = 0.0
    for links in (_links(network, flows, 0), _links(network, flows, -1)):
        load = np.bincount(links, weights=size)
        longest = max(longest, float((load * _BIT_PS / network.rate[: len(load)]).max()))
    starts = flows.starts[flows.starts < NEVER]
    return min(NEVER, int(starts.max(initial=0)) + int(longest))


def _links(network: PacketNetwork, flows: PacketFlows, hop: int) -> Column:
    """Return the first (0) or last (-1) link of each flow's first path."""
    links: Column = network.links[network.offsets[flows.first_path - hop] + hop]
    return links


def _round(time: int) -> int:
    """Return the next 1, 2 or 5 times a power of ten."""
    power = 1
    while power * 10 <= time:
        power *= 10
    return next(power * step for step in (1, 2, 5, 10) if power * step >= time)
