"""What a packet run is measured by besides times: slowdown, fairness, planes, pauses, headroom."""

from typing import Any

import numpy as np

from ctestbed.topology.graph import Topology
from ctestbed.transport.laws.packet import Framing, lone_completion
from ctestbed.transport.packet.kernels_layout import NEVER
from ctestbed.workload.packets import PacketTransfer

Column = Any


def idle_times(topology: Topology, run: PacketTransfer) -> Column:
    """Return how long each flow would take alone over its first path, in ps: the closed form."""
    settings, flows, links = run.settings, run.flows, topology.links
    framing = Framing(settings.payload, settings.header, settings.control)
    starts, ends = run.paths.offsets[run.first], run.paths.offsets[run.first + 1]
    known: dict[tuple[int, bytes], int] = {}
    times = np.empty(len(flows), np.int64)
    for flow, (size, start, end) in enumerate(
        zip(flows.sizes.tolist(), starts.tolist(), ends.tolist(), strict=True)
    ):
        cables = run.paths.links[start:end] // 2
        shape = np.stack([links.rate[cables], links.delay[cables]], axis=1)
        key = size, shape.tobytes()
        if key not in known:
            way = [(int(rate), int(delay)) for rate, delay in shape.tolist()]
            known[key] = int(lone_completion(size, way, framing))
        times[flow] = known[key]
    return times


def slowdowns(topology: Topology, run: PacketTransfer) -> Column:
    """Return, sorted, how many times as long as alone each finished flow took."""
    done = run.fct >= 0
    whole = run.fct[done].astype(np.float64) / idle_times(topology, run)[done]
    return np.sort(whole)


def jain(values: Column) -> float:
    """Return Jain's index of fairness: 1 if all values are equal, 1/n if one has all."""
    square = float(np.square(values).sum())
    return float(values.sum()) ** 2 / (len(values) * square) if square else 1.0


def fairness(run: PacketTransfer) -> float | None:
    """Return Jain's index of the goodputs of finished flows, None if none finished."""
    done = run.fct > 0
    if not done.any():
        return None
    return jain(run.flows.sizes[done].astype(np.float64) / run.fct[done])


def plane_shares(topology: Topology, run: PacketTransfer) -> Column | None:
    """Return the share of all bytes that each plane was given, None if there is one plane."""
    if topology.planes < 2:  # noqa: PLR2004 - one is no choice
        return None
    plane = run.paths.plane[run.first]
    given = np.bincount(plane, weights=run.flows.sizes, minlength=topology.planes)
    return given / given.sum()


def headroom_share(run: PacketTransfer) -> float | None:
    """Return the fullest headroom of all, of what was configured; None if none is bounded."""
    ports = run.outcome.ports
    room = run.limits.headroom[ports.links]
    bounded = (room > 0) & (room < NEVER)
    if not run.settings.lossless or not bounded.any():
        return None
    return float((ports.headroom_max.max(axis=1)[bounded] / room[bounded]).max())


def pause_share(run: PacketTransfer) -> float:
    """Return the share of the run for which the port that was paused longest was paused."""
    return float(run.outcome.ports.paused.max(initial=0)) / max(1, run.outcome.now)
