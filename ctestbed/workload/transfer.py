"""A traffic pattern driven over a testbed by the flow engine: who finishes when, over what.

A flow is fluid from its first byte on: it ends when its last byte has entered the network at
max-min fair rates, plus the delays of its path's cables. There are no packets and no queues.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal, NotRequired, TypeAlias

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict

from ctestbed.core.errors import ExitCode, InputError, Where
from ctestbed.core.result import UNKNOWN, Finding, Metric, Result
from ctestbed.core.units import MAX_QUANTITY, PS_PER_SECOND, parse_size
from ctestbed.routing.clos import Paths, route_flows
from ctestbed.routing.spread import Spread
from ctestbed.topology.build import load_topology
from ctestbed.topology.graph import Topology
from ctestbed.topology.names import endpoint_name, node_name
from ctestbed.transport.flow import FlowEngine, solve_flows
from ctestbed.transport.problem import UNFINISHED, FlowOutcome, FlowProblem, too_long
from ctestbed.workload.patterns import build_pattern

Column: TypeAlias = NDArray[Any]
Quantity: TypeAlias = int | str
"""A whole number in base units, or UNKNOWN."""

SHOWN_FLOWS: Final = 20_000
"""Up to this many flows are listed in full; of more, the slowest."""

SOURCE: Final = "flow engine: max-min fair fluid, exact to the picosecond"
_NO_QUEUES: Final = "the fluid model has no queues, so nothing in it can be lost"


@dataclass(frozen=True, slots=True)
class TransferRequest:
    """What to drive over which testbed. `flows` lists every flow, or the slowest of many."""

    testbed: str
    pattern: str
    size: str
    spread: Spread = "balanced"
    engine: FlowEngine = "auto"
    seed: int | None = None
    flows: Literal["auto", "all"] = "auto"


class FlowData(TypedDict):
    """One flow: endpoints, bytes, times in ps, its directed links (`links` describes them)."""

    src: int
    dst: int
    source: str
    destination: str
    size: int
    start: int
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


class TransferData(TypedDict):
    """Data of `sim transfer`. `flows` holds `flow_count` entries unless only the slowest fit."""

    testbed: str
    pattern: str
    size: int
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


@dataclass(frozen=True, slots=True)
class Transfer:
    """A pattern's flows and what became of them; `fct` is -1 where it cannot be told."""

    source: Column
    destination: Column
    size: int
    paths: Paths
    outcome: FlowOutcome | None
    fct: Column

    @property
    def known(self) -> bool:
        """Whether every flow's completion time is known."""
        return self.outcome is not None and bool((self.fct >= 0).all())

    @property
    def unfinished(self) -> int:
        """Number of flows that never end."""
        if self.outcome is None:
            return 0
        return int((self.outcome.finish == UNFINISHED).sum())

    def curve(self, points: int) -> list[int]:
        """Return `points` + 1 completion times, from the first flow's to the last's."""
        if not self.known:
            return []
        ordered = np.sort(self.fct)
        picks = np.arange(points + 1) * (len(ordered) - 1) // points
        curve: list[int] = ordered[picks].tolist()
        return curve


def run_transfer(request: TransferRequest) -> Result:
    """Drive one pattern.

    Raises:
        InputError: the testbed, the pattern or the size cannot be had, or no path exists.
        InvariantError: the engine broke a law of its own.
    """
    loaded, topology = load_topology(request.testbed)
    seed = loaded.testbed.seed if request.seed is None else request.seed
    size = parse_size(request.size, Where(pointer="--size"))
    transfer = drive(
        topology,
        request.pattern,
        size,
        request.spread,
        seed=seed,
        engine=request.engine,
        where=Where(pointer="--pattern" if size else "--size"),
    )
    data = transfer_data(topology, transfer, request)
    return Result(
        "ctestbed.sim.transfer/1",
        data,
        findings=tuple(transfer_findings(transfer)),
        metrics=tuple(transfer_metrics(topology, transfer)),
        inputs=(loaded.source,),
        exit_code=ExitCode.INVARIANT_BROKEN if data["unfinished"] else ExitCode.OK,
    )


def drive(
    topology: Topology,
    pattern: str,
    size: int,
    spread: Spread,
    *,
    seed: int,
    engine: FlowEngine = "auto",
    where: Where | None = None,
) -> Transfer:
    """Build the pattern, route it, and solve it; every flow starts at 0.

    Raises:
        InputError: the pattern does not fit the endpoints, or no path exists.
    """
    if size == 0:
        raise InputError(
            "CTB-S013", "a flow of 0 bytes moves nothing", where=where, hint="give a size"
        )
    source, destination = build_pattern(pattern, reachable_groups(topology), seed, where)
    if not len(source):
        raise InputError(
            "CTB-S011",
            f"{pattern!r} has nobody to send to: no two endpoints reach each other",
            where=where,
            hint="use a testbed with more hosts",
        )
    paths = route_flows(topology, source, destination, spread=spread, seed=seed)
    used, links = np.unique(paths.links, return_inverse=True)
    rate, delay = topology.links.rate[used // 2], topology.links.delay[used // 2]
    if bool((rate < 0).any()):
        return Transfer(
            source, destination, size, paths, None, np.full(len(source), UNFINISHED, np.int64)
        )
    sizes = np.full(len(source), size, np.int64)
    problem = FlowProblem(
        rate, paths.offsets, links.reshape(-1), sizes, np.zeros(len(source), np.int64)
    )
    outcome = solve_flows(problem, engine)
    crossed = delay[links.reshape(-1)]
    if bool((np.add.reduceat(crossed.astype(np.float64), paths.offsets[:-1]) > MAX_QUANTITY).any()):
        raise too_long()
    delays = np.add.reduceat(crossed, paths.offsets[:-1])
    lost = np.minimum.reduceat(crossed, paths.offsets[:-1]) < 0
    fct = np.where((outcome.finish == UNFINISHED) | lost, UNFINISHED, outcome.finish + delays)
    return Transfer(source, destination, size, paths, outcome, fct)


def reachable_groups(topology: Topology) -> list[Column]:
    """Return the endpoints of each plane, or all together where planes are no boundary."""
    endpoints = np.arange(topology.endpoints)
    if topology.split or topology.planes == 1:
        return [endpoints]
    plane = topology.plane_of(endpoints)
    return [endpoints[plane == each] for each in range(topology.planes)]


def transfer_findings(transfer: Transfer, where: Where | None = None) -> list[Finding]:
    """Report flows that never end, figures that cannot be known, and doubtful arithmetic."""
    if transfer.outcome is None or (not transfer.known and not transfer.unfinished):
        what = "rate" if transfer.outcome is None else "delay"
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
    total = transfer.size * len(fct)
    goodput = total * 8 * PS_PER_SECOND // int(fct[-1]) if known else UNKNOWN
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
    used, flows = np.unique(transfer.paths.links, return_counts=True)
    span = int(transfer.outcome.finish.max())
    bits = flows.astype(np.float64) * transfer.size * 8 * PS_PER_SECOND
    rate = topology.links.rate[used // 2].astype(np.float64)
    return round(float((bits / (rate * span)).max()), 6)


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
        "size": transfer.size,
        "spread": request.spread,
        "engine": request.engine,
        "endpoints": topology.endpoints,
        "flow_count": count,
        "unfinished": transfer.unfinished,
        "exact": transfer.outcome is None or transfer.outcome.exact,
        "makespan": int(transfer.fct.max()) if transfer.known else UNKNOWN,
        "flows": [_flow_data(topology, transfer, flow) for flow in chosen.tolist()],
        "links": _links_data(topology, transfer),
    }
    if not whole:
        data["note"] = f"the {SHOWN_FLOWS:,} slowest of {count:,} flows; --flows all lists all"
    return data


def _flow_data(topology: Topology, transfer: Transfer, flow: int) -> FlowData:
    ends = int(transfer.source[flow]), int(transfer.destination[flow])
    fct = int(transfer.fct[flow])
    return {
        "src": ends[0],
        "dst": ends[1],
        "source": endpoint_name(topology, ends[0]),
        "destination": endpoint_name(topology, ends[1]),
        "size": transfer.size,
        "start": 0,
        "fct": UNKNOWN if fct < 0 else fct,
        "path": transfer.paths.path(flow).tolist(),
    }


def _links_data(topology: Topology, transfer: Transfer) -> list[LinkData]:
    used, flows = np.unique(transfer.paths.links, return_counts=True)
    links = topology.links
    described: list[LinkData] = []
    for directed, count in zip(used.tolist(), flows.tolist(), strict=True):
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
                "bytes": count * transfer.size,
            }
        )
    return described
