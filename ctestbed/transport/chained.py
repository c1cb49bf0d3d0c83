"""Flows that wait for other flows.

The compiled kernel starts them as it goes. Small problems, and the reference engine, are solved
with known starts only, again and again. Causality makes that exact: what happens until some moment
cannot depend on flows that start at it or later. So the flows that can run are solved, the first
moment at which a waiting flow may start is read off, and they are solved again with it, until
nobody waits. Whenever all flows before that moment have ended, they are not looked at again.
"""

from typing import Any, Final

import numpy as np

from ctestbed.core.errors import InputError
from ctestbed.transport.flow import FlowEngine, solve_flows
from ctestbed.transport.incremental import solve_waiting
from ctestbed.transport.problem import UNFINISHED, Column, FlowOutcome, FlowProblem
from ctestbed.transport.symmetry import Quotient
from ctestbed.transport.waits import Chain

__all__ = ["Chain", "solve_chained"]

MAX_WORK: Final = 20_000_000
"""Flows solved again, times the cables they cross, after which it would take minutes."""

SMALL: Final = 2_000
"""Crossings of all flows up to which solving again beats loading the compiled kernel."""

_NEVER: Final = np.iinfo(np.int64).max


def solve_chained(
    problem: FlowProblem, chain: Chain, engine: FlowEngine = "auto"
) -> tuple[FlowOutcome, Column]:
    """Return when each flow ends, and when it started; `UNFINISHED` where it never does.

    Raises:
        InputError: the arrays do not fit, or the reference engine would take too long.
    """
    problem.check()
    if engine == "flow" or (engine == "auto" and len(problem.links) > SMALL):
        return solve_waiting(_unmerged(problem), chain)
    run = _Run(problem, chain)
    while True:
        run.solve(engine)
        started = run.next_starts()
        if not len(started):
            return FlowOutcome(run.finish, run.exact), run.starts
        run.admit(started)


def _unmerged(problem: FlowProblem) -> Quotient:
    """Return a problem as the kernel takes it, every flow for itself."""
    used, links = np.unique(problem.links, return_inverse=True)
    return Quotient(
        capacity=problem.capacity[used],
        offsets=problem.offsets,
        links=links.reshape(-1),
        counts=np.ones(len(links.reshape(-1)), np.int64),
        sizes=problem.sizes,
        starts=problem.starts,
        priority=problem.classes,
        weight=problem.weights,
        flow_class=np.arange(problem.flows),
    )


class _Run:
    def __init__(self, problem: FlowProblem, chain: Chain) -> None:
        self.problem, self.chain = problem, chain
        count = problem.flows
        self.waiter = np.repeat(np.arange(count), np.diff(chain.offsets))
        self.hops = np.diff(problem.offsets)
        self.starts = np.where(chain.needs > 0, UNFINISHED, problem.starts)
        self.finish = np.full(count, UNFINISHED, np.int64)
        self.active = np.flatnonzero(self.starts >= 0)
        self.exact = True
        self.work = 0

    def solve(self, engine: FlowEngine) -> None:
        """Solve the active flows alone: all earlier ones have ended."""
        self.work += int(self.hops[self.active].sum())
        if self.work > MAX_WORK:
            raise InputError(
                "CTB-S047",
                f"flows that wait for others would be solved again for {len(self.active):,} flows "
                "at every step, which takes too long",
                hint="use --engine flow, which starts them as it goes",
            )
        active, problem = self.active, self.problem
        pick = _spans(problem.offsets, active)
        outcome = solve_flows(
            FlowProblem(
                problem.capacity,
                np.concatenate([[0], np.cumsum(self.hops[active])]).astype(np.int64),
                problem.links[pick],
                problem.sizes[active],
                self.starts[active],
            ),
            engine,
        )
        self.finish[active] = outcome.finish
        self.exact &= outcome.exact

    def next_starts(self) -> Column:
        """Return the waiting flows whose wait is over at the first moment at which one starts."""
        edges = np.flatnonzero(self.starts[self.waiter] < 0)
        ended = self.finish[self.chain.flows[edges]]
        done = np.where(ended < 0, _NEVER, ended + self.chain.lag[edges])
        waiter = self.waiter[edges]
        order = np.lexsort((done, waiter))
        waiter, done = waiter[order], done[order]
        flows, first = np.unique(waiter, return_index=True)
        over = done[first + self.chain.needs[flows] - 1]
        begins = np.full(len(flows), _NEVER)
        known = over < _NEVER
        begins[known] = over[known] + self.problem.starts[flows[known]]
        if not len(flows) or begins.min() == _NEVER:
            return flows[:0]
        ready = over <= begins.min()
        self.starts[flows[ready]] = begins[ready]
        begun: Column = flows[ready]
        return begun

    def admit(self, started: Column) -> None:
        """Go on with the flows that just got a start, and those that still run by then."""
        moment = int(self.starts[started].min())
        # One that never ends has no rate, so it is in nobody's way and as good as ended.
        quiet = bool((self.finish[self.active] <= moment).all())
        self.active = started if quiet else np.sort(np.concatenate([self.active, started]))


def _spans(offsets: Column, rows: Column) -> Any:
    """Return the positions of all entries of the CSR rows `rows`, in order."""
    lengths = offsets[rows + 1] - offsets[rows]
    ends = np.cumsum(lengths)
    return np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(
        offsets[rows] - (ends - lengths), lengths
    )
