"""Flows routed over a testbed and solved by the flow engine.

A flow is fluid from its first byte on: it ends when its last byte has entered the network at
max-min fair rates, plus the delays of its path's cables. There are no packets and no queues.
"""

from dataclasses import dataclass

import numpy as np

from ctestbed.core.errors import InputError, Where
from ctestbed.core.units import MAX_QUANTITY
from ctestbed.routing.clos import Paths, route_flows
from ctestbed.routing.spread import Spread
from ctestbed.topology.graph import Topology
from ctestbed.transport.chained import Chain, solve_chained
from ctestbed.transport.flow import FlowEngine, solve_flows
from ctestbed.transport.problem import UNFINISHED, FlowOutcome, FlowProblem, too_long
from ctestbed.workload.flows import Column, Flows, Waits
from ctestbed.workload.traffic import build_traffic


@dataclass(frozen=True, slots=True)
class Transfer:
    """Flows and what became of them; `fct` and `starts` are -1 where they cannot be told."""

    flows: Flows
    paths: Paths
    outcome: FlowOutcome | None
    starts: Column
    fct: Column
    unrated: bool = False
    """The rate of a cable on the way is unknown."""

    @property
    def source(self) -> Column:
        """Endpoints that send."""
        return self.flows.source

    @property
    def destination(self) -> Column:
        """Endpoints that receive."""
        return self.flows.destination

    @property
    def makespan(self) -> int:
        """Picoseconds from 0 until the last flow completes, of those that do."""
        return int((self.starts + self.fct)[self.fct >= 0].max(initial=0))

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
    """Build the pattern, route it, and solve it.

    Raises:
        InputError: the pattern does not fit the endpoints, or no path exists.
    """
    flows = build_traffic(pattern, size, topology, seed, where)
    return drive_flows(topology, flows, spread, seed=seed, engine=engine, where=where)


def drive_flows(
    topology: Topology,
    flows: Flows,
    spread: Spread,
    *,
    seed: int,
    engine: FlowEngine = "auto",
    where: Where | None = None,
) -> Transfer:
    """Route flows and solve them. Flows of one pair are told apart by their order.

    Raises:
        InputError: no path exists, or flows that wait for others would take too long.
    """
    paths = route_flows(
        topology,
        flows.source,
        flows.destination,
        spread=spread,
        seed=seed,
        label=turns(flows),
    )
    used, links = np.unique(paths.links, return_inverse=True)
    rate, delay = topology.links.rate[used // 2], topology.links.delay[used // 2]
    unknown = np.full(len(flows), UNFINISHED, np.int64)
    if bool((rate < 0).any()):
        return Transfer(flows, paths, None, unknown, unknown, unrated=True)
    problem = FlowProblem(rate, paths.offsets, links.reshape(-1), flows.sizes, flows.starts)
    crossed = delay[links.reshape(-1)]
    if bool((np.add.reduceat(crossed.astype(np.float64), paths.offsets[:-1]) > MAX_QUANTITY).any()):
        raise too_long()
    delays = np.add.reduceat(crossed, paths.offsets[:-1])
    lost = np.minimum.reduceat(crossed, paths.offsets[:-1]) < 0
    if flows.after is None:
        outcome, starts = solve_flows(problem, engine), flows.starts
    elif bool(lost.any()):
        return Transfer(flows, paths, None, unknown, unknown)
    else:
        try:
            outcome, starts = solve_chained(problem, _chain(flows.after, delays), engine)
        except InputError as error:
            raise InputError(
                error.code, error.message, where=where or error.where, hint=error.hint
            ) from None
    fct = np.where(
        (outcome.finish == UNFINISHED) | lost, UNFINISHED, outcome.finish + delays - starts
    )
    return Transfer(flows, paths, outcome, starts, fct)


def turns(flows: Flows) -> Column:
    """Return for each flow how many flows of the same pair stand before it."""
    order = np.lexsort((flows.destination, flows.source))
    source, destination = flows.source[order], flows.destination[order]
    new = np.ones(len(order), bool)
    new[1:] = (source[1:] != source[:-1]) | (destination[1:] != destination[:-1])
    first = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    turns = np.empty(len(order), np.int64)
    turns[order] = np.arange(len(order)) - first
    return turns


def _chain(waits: Waits, delays: Column) -> Chain:
    """Return the waits with their lags: the way there, and for a sender's end the way back too."""
    ways = np.where(waits.receipt, 1, 2)
    return Chain(waits.offsets, waits.flows, ways * delays[waits.flows], waits.needs)
