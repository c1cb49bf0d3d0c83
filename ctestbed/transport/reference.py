"""Max-min fair fluid flows in exact rationals: what every faster engine must agree with.

Rates are the max-min fair ones: no flow can gain without a slower or equal one losing. Of several
classes of priority, each shares what the classes before it leave. Rates are found by progressive
filling (Bertsekas and Gallager, Data Networks, 6.5.2) and change only when a flow starts or ends.
Finish times are exact, and rounded up to whole picoseconds at the end.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import TypeAlias

from ctestbed.core.errors import InvariantError
from ctestbed.core.units import PS_PER_SECOND
from ctestbed.transport.problem import FlowOutcome, FlowProblem

Crossings: TypeAlias = Sequence[Sequence[tuple[int, int]]]
"""For each flow (or class of alike flows), pairs (link, flows of the class on such a link)."""

_SIZE_UNIT = 8 * PS_PER_SECOND
"""Work is counted in 1e-12 bit, so that bit/s times ps is a whole number of it."""


def max_min_rates(
    capacity: Sequence[int],
    crossings: Crossings,
    active: Iterable[int],
    classes: Sequence[int] | None = None,
    weights: Sequence[int] | None = None,
) -> dict[int, Fraction]:
    """Return the fair rate in bit/s of each active flow.

    Classes of priority are served in order, each from what those before it leave; within one,
    flows share by weight. Left out, all are of one class and weight 1.
    """
    by_class: defaultdict[int, list[int]] = defaultdict(list)
    for flow in active:
        by_class[classes[flow] if classes else 0].append(flow)
    room = {link: Fraction(rate) for link, rate in enumerate(capacity)}
    rates: dict[int, Fraction] = {}
    for _, flows in sorted(by_class.items()):
        own = {flow: weights[flow] if weights else 1 for flow in flows}
        _fill(room, crossings, own, rates)
    return rates


def _fill(  # noqa: C901 - one loop, best read whole
    room: dict[int, Fraction],
    crossings: Crossings,
    weights: dict[int, int],
    rates: dict[int, Fraction],
) -> None:
    """Share `room` among the flows of one class, and take from it what they get."""
    members: defaultdict[int, list[int]] = defaultdict(list)
    waiting: defaultdict[int, int] = defaultdict(int)
    for flow, weight in weights.items():
        for link, count in crossings[flow]:
            members[link].append(flow)
            waiting[link] += count * weight
    shares = [(room[link] / waiting[link], link) for link in members]
    heapify(shares)
    while shares:
        share, link = heappop(shares)
        if not waiting[link]:
            continue
        now = room[link] / waiting[link]
        if now < share:
            raise InvariantError("CTB-S022", f"the fair share of link {link} fell while filling")
        if now > share:  # flows that others held back left their share to the rest
            heappush(shares, (now, link))
            continue
        fixed: defaultdict[int, int] = defaultdict(int)
        for flow in members[link]:
            if flow not in rates:
                rates[flow] = share * weights[flow]
                for other, count in crossings[flow]:
                    fixed[other] += count * weights[flow]
        for other, count in fixed.items():
            room[other] -= share * count
            waiting[other] -= count


def finish_times(
    capacity: Sequence[int],
    crossings: Crossings,
    sizes: Sequence[int],
    starts: Sequence[int],
    classes: Sequence[int] | None = None,
    weights: Sequence[int] | None = None,
) -> list[Fraction | None]:
    """Return when each flow ends, in exact ps; None if it never does."""
    finish: list[Fraction | None] = [None] * len(sizes)
    pending = sorted(range(len(sizes)), key=lambda flow: starts[flow], reverse=True)
    left: dict[int, Fraction] = {}
    now = Fraction(0)
    while left or pending:
        while pending and starts[pending[-1]] <= now:
            flow = pending.pop()
            if sizes[flow]:
                left[flow] = Fraction(sizes[flow] * _SIZE_UNIT)
            else:
                finish[flow] = Fraction(starts[flow])
        rates = max_min_rates(capacity, crossings, left, classes, weights)
        ends = {flow: work / rates[flow] for flow, work in left.items() if rates[flow]}
        steps = list(ends.values())
        if pending:
            steps.append(starts[pending[-1]] - now)
        if not steps:
            break
        step = min(steps)
        now += step
        left = {flow: work - rates[flow] * step for flow, work in left.items()}
        for flow in [flow for flow, end in ends.items() if end == step]:
            finish[flow] = now
            if left.pop(flow):
                raise InvariantError("CTB-S022", f"flow {flow} ended with bytes left")
    return finish


def solve_reference(problem: FlowProblem) -> FlowOutcome:
    """Solve flow by flow, without merging alike ones: slow, and short enough to check by eye."""
    problem.check()
    bounds = problem.offsets.tolist()
    links = problem.links.tolist()
    crossings = [[(link, 1) for link in links[begin:end]] for begin, end in pairwise(bounds)]
    finish = finish_times(
        problem.capacity.tolist(),
        crossings,
        problem.sizes.tolist(),
        problem.starts.tolist(),
        problem.classes.tolist(),
        problem.weights.tolist(),
    )
    return FlowOutcome.of_ends(finish)
