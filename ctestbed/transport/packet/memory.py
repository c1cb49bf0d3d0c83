"""How much memory a packet run takes, before it takes it."""

from pathlib import Path
from typing import Final

import numpy as np

from ctestbed.core.errors import EnvironmentLacksError
from ctestbed.core.units import format_size
from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.problem import PacketFlows, PacketNetwork, PacketSettings
from ctestbed.transport.packet.sight import plan_looks

_WORD: Final = 8
_CHUNK: Final = 8
_CELL: Final = 4
_BIT_PS: Final = 8e12
_MEMINFO: Final = Path("/proc/meminfo")
_LIMITS: Final = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def estimate(network: PacketNetwork, flows: PacketFlows, settings: PacketSettings) -> int:
    """Return about how many bytes the compiled engine's tables take.

    Rows of ports, classes and flows, what looks at ports saw, a byte for each packet under
    selective repeat, the paths twice, a chunk of frames for each wire, and what can be in flight at
    once: on each used link a round trip, and no more than its flows have.
    """
    used = np.unique(network.links)
    links = len(np.union1d(used, used ^ 1))
    rows = at.PORT + at.DOOR + (at.QUEUE + at.HOLD) * settings.classes
    looks = links * plan_looks(network, flows, settings)[1] * _CELL
    tables = looks + links * rows * _WORD + len(flows.sizes) * (at.FLOW + at.CONTROL) * _WORD
    packets = int((-(-flows.sizes // settings.payload)).sum())
    if settings.reliability == "sr":
        tables += packets
    tables += 2 * 4 * (len(network.links) + len(network.offsets))
    frame = settings.payload + settings.header
    trip = network.rate[used] / _BIT_PS * 2 * network.delay[used] / frame
    flight = min(float(trip.sum()), float(packets))
    return tables + int((links * _CHUNK + 2 * flight) * at.FRAME * _WORD)


_sharing = [1]
"""Processes that run packets at once, this one among them."""


def share_with(processes: int) -> None:
    """Count on so many processes of this kind in all, each with as much need as this one."""
    _sharing[0] = processes


def available() -> int | None:
    """Return the bytes that this process may still take, None where nothing says so."""
    bounds = []
    try:
        lines = _MEMINFO.read_text().splitlines()
        free = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
        bounds += [int(kilobytes) * 1024 for kilobytes in free]
    except (OSError, ValueError, IndexError):
        pass
    for limit, usage in _LIMITS:
        try:
            bounds.append(int(limit.read_text()) - int(usage.read_text()))
        except (OSError, ValueError):  # no such group, or no limit ("max")
            continue
    return min(bounds) if bounds else None


def _in_processes() -> str:
    return f" in {_sharing[0]} processes" if _sharing[0] > 1 else ""


def require(network: PacketNetwork, flows: PacketFlows, settings: PacketSettings) -> None:
    """Refuse a run whose tables do not fit.

    Raises:
        EnvironmentLacksError: they need more memory than there is.
    """
    needed, there = estimate(network, flows, settings), available()
    together = needed * _sharing[0]
    if there is not None and together > there:
        raise EnvironmentLacksError(
            "CTB-S131",
            f"packets of {len(flows.sizes):,} flows would take about {format_size(together)} of "
            f"memory{_in_processes()}, and {format_size(max(0, there))} are free",
            hint="drive fewer or smaller flows, larger packets (--payload), or `--engine flow`",
        )
