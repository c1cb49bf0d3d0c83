"""The flow engine: exact max-min fair rates with arrivals and departures, at any size.

Alike flows are merged first (`symmetry`). What is left is solved in exact rationals where that is
quick, and otherwise by the compiled kernel in 106-bit arithmetic, which notices when a decision
lies within its error and says so (`FlowOutcome.exact`).
"""

from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from ctestbed.core.errors import InvariantError
from ctestbed.core.units import MAX_QUANTITY, PS_PER_SECOND
from ctestbed.transport.problem import UNFINISHED, Column, FlowOutcome, FlowProblem, too_long
from ctestbed.transport.reference import finish_times, solve_reference
from ctestbed.transport.symmetry import Quotient, merge_alike

FlowEngine: TypeAlias = Literal["auto", "flow", "reference"]

RATIONAL_LIMIT: Final = 200_000
"""Crossings times flow classes up to which rationals beat loading the compiled kernel."""

_MAX_EXACT_FLOAT: Final = 2**53

_ERROR_PER_EVENT: Final = 2.0**-102
"""A few roundings of 106 bits: what one event may add to the relative error of a time."""


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
        merged.capacity.tolist(), crossings, merged.sizes.tolist(), merged.starts.tolist()
    )
    return FlowOutcome.of_ends(finish)


def solve_compiled(merged: Quotient) -> FlowOutcome:
    """Solve classes of flows by the compiled kernel."""
    from ctestbed.transport.kernels import SAME, SURE, solve

    by_link = np.argsort(merged.links, kind="stable")
    of_flow = np.repeat(np.arange(merged.flows), np.diff(merged.offsets))
    link_offsets = np.searchsorted(
        merged.links[by_link], np.arange(len(merged.capacity) + 1)
    ).astype(np.int64)
    pairs, doubt = solve(
        merged.capacity.astype(np.float64),
        merged.offsets.astype(np.int64),
        merged.links.astype(np.int64),
        merged.counts.astype(np.int64),
        link_offsets,
        of_flow[by_link].astype(np.int64),
        _pairs(merged.sizes, 8 * PS_PER_SECOND),
        _pairs(merged.starts, 1),
        np.argsort(merged.starts, kind="stable"),
    )
    ended = ~np.isnan(pairs[:, 0])
    high, low = np.where(ended[:, None], pairs, 0.0).T
    if bool((high > MAX_QUANTITY).any()):
        raise too_long()
    whole = np.rint(high)
    rest = (high - whole) + low
    carry = np.rint(rest)
    rest -= carry
    finish = whole.astype(np.int64) + carry.astype(np.int64) + (rest > SAME)
    unsure = bool(((np.abs(rest) > SURE) & (np.abs(rest) <= SAME)).any())
    blurred = float(high.max(initial=0.0)) * merged.flows * _ERROR_PER_EVENT > SURE
    exact = not (doubt or unsure or blurred)
    return FlowOutcome(np.where(ended, finish, UNFINISHED), exact)


def _pairs(values: Column, scale: int) -> Column:
    """Return `values * scale` as unevaluated sums of two doubles."""
    exact: list[int] = [value * scale for value in values.tolist()]
    high = [float(value) for value in exact]
    low = [float(value - int(top)) for value, top in zip(exact, high, strict=True)]
    pairs: np.ndarray[Any, np.dtype[np.float64]] = np.stack([high, low], axis=1)
    return pairs


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
    done = ended[flow]
    first = np.full(len(problem.capacity), np.inf)
    last = np.zeros(len(problem.capacity))
    np.minimum.at(first, problem.links[done], problem.starts[flow[done]])
    np.maximum.at(last, problem.links[done], finish[flow[done]])
    carried = np.bincount(
        problem.links[done], weights=bits[flow[done]], minlength=len(problem.capacity)
    )
    busy = np.where(np.isinf(first), 0.0, last - np.where(np.isinf(first), 0.0, first))
    if bool((carried > busy * problem.capacity * (1 + 1e-9)).any()):
        raise InvariantError("CTB-S022", "a link carried more bytes than its capacity allows")
