"""The flow engine: exact max-min fair rates with priorities, arrivals and departures, at any size.

Alike flows are merged first (`symmetry`). What is left is solved in exact rationals where that is
quick, and otherwise by the compiled kernels (`incremental`) in 106-bit arithmetic, which notice
when a decision lies within their error and say so (`FlowOutcome.exact`).
"""

from itertools import pairwise
from typing import Final, Literal, TypeAlias

import numpy as np

from ctestbed.core.errors import InvariantError
from ctestbed.core.units import PS_PER_SECOND
from ctestbed.transport.incremental import solve_compiled
from ctestbed.transport.problem import UNFINISHED, Column, FlowOutcome, FlowProblem
from ctestbed.transport.reference import finish_times, solve_reference
from ctestbed.transport.symmetry import Quotient, merge_alike

FlowEngine: TypeAlias = Literal["auto", "flow", "reference"]

RATIONAL_LIMIT: Final = 200_000
"""Crossings times flow classes up to which rationals beat loading the compiled kernel."""

_MAX_EXACT_FLOAT: Final = 2**53


def solve_flows(problem: FlowProblem, engine: FlowEngine = "auto") -> FlowOutcome:
    """Return when each flow ends.

    `auto` and `flow` merge alike flows and choose the arithmetic by size (`flow` always takes the
    compiled kernel); `reference` does neither. All agree to the picosecond.

    Raises:
        InputError: the arrays do not fit each other.
        InvariantError: bytes were not conserved.
    """
    if engine == "reference":
        return solve_reference(problem)
    problem.check()
    if not problem.flows:
        return FlowOutcome(np.zeros(0, np.int64))
    merged = merge_alike(problem)
    small = len(merged.links) * merged.flows <= RATIONAL_LIMIT
    wide = bool((merged.capacity > _MAX_EXACT_FLOAT).any())
    solve = solve_rational if wide or (small and engine == "auto") else solve_compiled
    outcome = solve(merged)
    finish = outcome.finish[merged.flow_class]
    _check_bounds(problem, finish)
    return FlowOutcome(finish, outcome.exact)


def solve_rational(merged: Quotient) -> FlowOutcome:
    """Solve classes of flows in exact rationals."""
    bounds = merged.offsets.tolist()
    crossing = list(zip(merged.links.tolist(), merged.counts.tolist(), strict=True))
    crossings = [crossing[begin:end] for begin, end in pairwise(bounds)]
    finish = finish_times(
        merged.capacity.tolist(),
        crossings,
        merged.sizes.tolist(),
        merged.starts.tolist(),
        merged.priority.tolist(),
        merged.weight.tolist(),
    )
    return FlowOutcome.of_ends(finish)


def _check_bounds(problem: FlowProblem, finish: Column) -> None:
    """Hold every result against two laws that any engine must keep.

    No flow is faster than its narrowest link alone would let it be; and no link carries more by
    its last finish than its capacity since its first start.
    """
    slowest = np.minimum.reduceat(problem.capacity[problem.links], problem.offsets[:-1])
    ended = finish != UNFINISHED
    if bool((ended & (problem.sizes > 0) & (slowest == 0)).any()):
        raise InvariantError("CTB-S022", "a flow ended over a link without capacity")
    took = (finish - problem.starts).astype(np.float64)
    bits = problem.sizes.astype(np.float64) * 8 * PS_PER_SECOND
    if bool((ended & (bits > (took * slowest) * (1 + 1e-9))).any()):
        raise InvariantError("CTB-S022", "a flow ended sooner than its narrowest link allows")
    flow = np.repeat(np.arange(problem.flows), np.diff(problem.offsets))
    links = problem.links
    if not bool(ended.all()):
        done = ended[flow]
        flow, links = flow[done], links[done]
    first = np.full(len(problem.capacity), np.inf)
    last = np.zeros(len(problem.capacity))
    np.minimum.at(first, links, problem.starts.astype(np.float64)[flow])
    np.maximum.at(last, links, finish.astype(np.float64)[flow])
    carried = np.bincount(links, weights=bits[flow], minlength=len(problem.capacity))
    busy = np.where(np.isinf(first), 0.0, last - np.where(np.isinf(first), 0.0, first))
    if bool((carried > busy * problem.capacity * (1 + 1e-9)).any()):
        raise InvariantError("CTB-S022", "a link carried more bytes than its capacity allows")
