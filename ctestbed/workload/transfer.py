"""`sim transfer`: traffic driven over a testbed, and who finishes when, over what."""

from dataclasses import dataclass
from typing import Any, Final, Literal, NotRequired, TypeAlias

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict

from ctestbed.core.errors import ExitCode, InputError, Where
from ctestbed.core.result import UNKNOWN, Finding, Metric, Result
from ctestbed.core.units import PS_PER_SECOND
from ctestbed.routing.spread import Spread
from ctestbed.topology.build import load_topology
from ctestbed.topology.graph import Topology
from ctestbed.topology.names import endpoint_name, node_name
from ctestbed.transport.flow import FlowEngine
from ctestbed.workload.drive import Transfer, drive_flows
from ctestbed.workload.files.record import FlowFile
from ctestbed.workload.sights import PauseTreesData, SeriesData
from ctestbed.workload.traffic import read_traffic

Column: TypeAlias = NDArray[Any]
Quantity: TypeAlias = int | str
"""A whole number in base units, or UNKNOWN."""

SHOWN_FLOWS: Final = 20_000
"""Up to this many flows are listed in full; of more, the slowest."""

SOURCE: Final = "flow engine: max-min fair fluid, exact to the picosecond"
_NO_QUEUES: Final = "the fluid model has no queues, so nothing in it can be lost"


@dataclass(frozen=True, slots=True)
class TransferRequest:
    """What to drive over which testbed: a pattern with a size, or a file of flows.

    `flows` lists every flow, or the slowest of many.
    """

    testbed: str
    pattern: str
    size: str | None = None
    spread: Spread = "balanced"
    engine: FlowEngine = "auto"
    seed: int | None = None
    flows: Literal["auto", "all"] = "auto"


class FlowData(TypedDict):
    """One flow: endpoints, bytes, its directed links (`links` describes them), and times in ps.

    `start` counts from 0; it is UNKNOWN where the flow waited for one that never ends. `fct` counts
    from `start`.
    """

    src: int
    dst: int
    source: str
    destination: str
    size: int
    start: Quantity
    fct: Quantity
    path: list[int]


class LinkData(TypedDict):
    """A directed link that carries flows: bit/s, ps, how many flows and bytes cross it."""

    id: int
    source: str
    target: str
    rate: Quantity
    delay: Quantity
    flows: int
    bytes: int


class PortData(TypedDict):
    """What the two ends of a directed link saw, in bytes and ps, over all classes.

    The sender's queue and marks, and how long it was paused or stood still for want of credit; the
    receiver's frames that had come in and not left, those of them beyond `xoff`, the pauses it told
    and the frames it lost.
    `watchdog_drops` are frames for the link that the sender's watchdog dropped.
    """

    link: int
    sender: str
    receiver: str
    queue_peak: int
    ingress_peak: int
    xoff: int
    headroom: int
    headroom_peak: int
    pauses: int
    paused: int
    stalled: int
    drops: int
    watchdog_drops: int
    marks: int


class PacketData(TypedDict):
    """The protocols and settings of a run of the packet engine, and the busiest of its ports.

    `payload` and `header` in bytes; `retry` in ps, what a sender waits for an acknowledgement;
    `ended` the time of the last event. `series` is left out of runs too short to look at, and
    `pause_tree` where nobody paused anybody.
    """

    flow_control: str
    congestion_control: str
    reliability: str
    trim: bool
    payload: int
    header: int
    retry: int
    resent: int
    ended: int
    ports: list[PortData]
    series: NotRequired[SeriesData]
    pause_tree: NotRequired[PauseTreesData]


class TransferData(TypedDict):
    """Data of `sim transfer`. `flows` holds `flow_count` entries unless only the slowest fit.

    `size` is the bytes of each flow, null where they differ; `bytes` those of all. `waiting` flows
    start after others. `makespan` is when the last flow completes, in ps from 0.
    """

    testbed: str
    pattern: str
    size: int | None
    bytes: int
    waiting: int
    spread: str
    engine: str
    endpoints: int
    flow_count: int
    unfinished: int
    exact: bool
    makespan: Quantity
    flows: list[FlowData]
    links: list[LinkData]
    note: NotRequired[str]
    packet: NotRequired[PacketData]


def run_transfer(request: TransferRequest) -> Result:
    """Drive one pattern.

    Raises:
        InputError: the testbed, the pattern or the size cannot be had, or no path exists.
        InvariantError: the engine broke a law of its own.
    """
    loaded, topology = load_topology(request.testbed)
    seed = loaded.testbed.seed if request.seed is None else request.seed
    traffic = read_traffic(request.pattern, request.size, topology, seed)
    if traffic.file is not None:
        refuse_cuts(traffic.file)
    transfer = drive_flows(
        topology,
        traffic.flows,
        request.spread,
        seed=seed,
        engine=request.engine,
        where=Where(pointer="--pattern"),
    )
    data = transfer_data(topology, transfer, request)
    inputs = (loaded.source, *(() if traffic.file is None else (traffic.file.source.digest,)))
    return Result(
        "ctestbed.sim.transfer/1",
        data,
        findings=(*transfer_findings(transfer), *traffic.notes),
        metrics=tuple(transfer_metrics(topology, transfer)),
        inputs=inputs,
        exit_code=ExitCode.INVARIANT_BROKEN if data["unfinished"] else ExitCode.OK,
    )


def refuse_cuts(file: FlowFile, engine: str = "flow") -> None:
    """Refuse a file that cuts cables.

    Raises:
        InputError: it does.
    """
    if file.cuts:
        raise InputError(
            "CTB-S047",
            f"{file.source.name!r} cuts {len(file.cuts)} cables, and the {engine} engine drives a "
            "fabric that is whole",
            where=file.source.where(file.cuts[0].line),
            hint="`--engine packet` drives it; or leave the `failure` lines out",
        )


def transfer_findings(transfer: Transfer, where: Where | None = None) -> list[Finding]:
    """Report flows that never end, figures that cannot be known, and doubtful arithmetic."""
    if transfer.outcome is None or (not transfer.known and not transfer.unfinished):
        what = "rate" if transfer.unrated else "delay"
        return [
            Finding(
                "CTB-S014",
                "note",
                f"the {what} of a cable on the way is unknown, and so is when flows complete",
                where,
                f"what is it? give the testbed a {what} once one is published or measured",
            )
        ]
    found = []
    if transfer.unfinished:
        message = f"{transfer.unfinished:,} of {len(transfer.fct):,} flows never finish"
        hint = "a link on their way has no capacity"
        found.append(Finding("CTB-S015", "error", message, where, hint))
    if not transfer.outcome.exact:
        message = "two events lay closer together than the fast engine can tell apart"
        hint = "use --engine reference for exact times"
        found.append(Finding("CTB-S016", "warning", message, where, hint))
    return found


def transfer_metrics(topology: Topology, transfer: Transfer, prefix: str = "") -> list[Metric]:
    """Return completion times, goodput, the busiest link, and losses."""

    def metric(name: str, value: float | str, unit: str, better: Any = "lower") -> Metric:
        return Metric(prefix + name, value, unit, "simulated", better, source=SOURCE)

    fct = np.sort(transfer.fct)
    rank = {"min": 0.0, "p50": 0.5, "p99": 0.99, "max": 1.0}
    known = transfer.known
    metrics = [
        metric(f"fct.{name}", int(fct[_nearest_rank(len(fct), share)]) if known else UNKNOWN, "ps")
        for name, share in rank.items()
    ]
    total = transfer.flows.total
    goodput = total * 8 * PS_PER_SECOND // transfer.makespan if known else UNKNOWN
    metrics.append(metric("goodput.total", goodput, "bit/s", "higher"))
    metrics.append(metric("link.utilisation.max", _busiest(topology, transfer), "ratio", "none"))
    unfinished = transfer.unfinished if transfer.outcome is not None else UNKNOWN
    metrics.append(metric("flows.unfinished", unfinished, "flows"))
    metrics.append(
        Metric(f"{prefix}drops.lossless", 0, "packets", "modelled", "lower", source=_NO_QUEUES)
    )
    return metrics


def _nearest_rank(count: int, share: float) -> int:
    return max(0, -(-int(share * 1000) * count // 1000) - 1)


def _busiest(topology: Topology, transfer: Transfer) -> float | str:
    """Return the largest share of a link's capacity used until the last flow left the sources."""
    if transfer.outcome is None or not transfer.known:
        return UNKNOWN
    used, _, size = _carried(transfer)
    span = int(transfer.outcome.finish.max())
    rate = topology.links.rate[used // 2].tolist()
    busiest: float = max(
        bits / (each * span)
        for bits, each in zip((8 * PS_PER_SECOND * whole for whole in size), rate, strict=True)
    )
    return round(busiest, 6)


def _carried(transfer: Transfer) -> tuple[Column, Column, list[int]]:
    """Return the directed links that carry flows, how many flows, and how many bytes, exactly."""
    used, link, count = np.unique(transfer.paths.links, return_inverse=True, return_counts=True)
    sizes = np.repeat(transfer.flows.sizes, np.diff(transfer.paths.offsets))
    parts = []
    for part in (sizes >> 31, sizes & (2**31 - 1)):
        total = np.zeros(len(used), np.int64)
        np.add.at(total, link.reshape(-1), part)
        parts.append(total.tolist())
    return used, count, [(high << 31) + low for high, low in zip(*parts, strict=True)]


def transfer_data(topology: Topology, transfer: Transfer, request: TransferRequest) -> TransferData:
    """Describe the flows and the links they share, so that anyone can solve it again."""
    count = len(transfer.fct)
    whole = count <= SHOWN_FLOWS or request.flows == "all"
    chosen = np.arange(count)
    if not whole:
        chosen = np.sort(np.argsort(-transfer.fct, kind="stable")[:SHOWN_FLOWS])
    data: TransferData = {
        "testbed": topology.name,
        "pattern": request.pattern,
        "size": transfer.flows.common_size,
        "bytes": transfer.flows.total,
        "waiting": 0
        if transfer.flows.after is None
        else int((transfer.flows.after.needs > 0).sum()),
        "spread": request.spread,
        "engine": request.engine,
        "endpoints": topology.endpoints,
        "flow_count": count,
        "unfinished": transfer.unfinished,
        "exact": transfer.outcome is None or transfer.outcome.exact,
        "makespan": transfer.makespan if transfer.known else UNKNOWN,
        "flows": [_flow_data(topology, transfer, flow) for flow in chosen.tolist()],
        "links": _links_data(topology, transfer),
    }
    if not whole:
        data["note"] = f"the {SHOWN_FLOWS:,} slowest of {count:,} flows; --flows all lists all"
    return data


def _flow_data(topology: Topology, transfer: Transfer, flow: int) -> FlowData:
    ends = int(transfer.source[flow]), int(transfer.destination[flow])
    start, fct = int(transfer.starts[flow]), int(transfer.fct[flow])
    return {
        "src": ends[0],
        "dst": ends[1],
        "source": endpoint_name(topology, ends[0]),
        "destination": endpoint_name(topology, ends[1]),
        "size": int(transfer.flows.sizes[flow]),
        "start": UNKNOWN if start < 0 else start,
        "fct": UNKNOWN if fct < 0 else fct,
        "path": transfer.paths.path(flow).tolist(),
    }


def _links_data(topology: Topology, transfer: Transfer) -> list[LinkData]:
    used, flows, sizes = _carried(transfer)
    links = topology.links
    described: list[LinkData] = []
    for directed, count, size in zip(used.tolist(), flows.tolist(), sizes, strict=True):
        link = directed // 2
        ends = (links.a, links.b) if directed % 2 == 0 else (links.b, links.a)
        rate, delay = int(links.rate[link]), int(links.delay[link])
        described.append(
            {
                "id": directed,
                "source": node_name(topology, int(ends[0][link])),
                "target": node_name(topology, int(ends[1][link])),
                "rate": UNKNOWN if rate < 0 else rate,
                "delay": UNKNOWN if delay < 0 else delay,
                "flows": count,
                "bytes": size,
            }
        )
    return described
