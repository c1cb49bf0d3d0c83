"""Flows that wait for others: closed forms, and starts that an independent solver agrees with."""

from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import InputError
from ctestbed.transport import chained
from ctestbed.transport.chained import Chain, solve_chained
from ctestbed.transport.flow import FlowEngine
from ctestbed.transport.problem import UNFINISHED, FlowProblem
from tests.transport.oracle import ends

RATE = 8 * 10**12
"""A byte per picosecond."""


def problem(
    capacity: list[int], paths: list[list[int]], sizes: list[int], starts: list[int]
) -> FlowProblem:
    offsets = np.cumsum([0, *(len(path) for path in paths)])
    return FlowProblem(
        np.array(capacity),
        offsets,
        np.array([link for path in paths for link in path]),
        np.array(sizes),
        np.array(starts),
    )


def chain(waits: list[tuple[list[tuple[int, int]], int]]) -> Chain:
    """Build a chain of ([(flow, lag), ...], needs) per flow."""
    edges = [edge for group, _ in waits for edge in group]
    return Chain(
        np.cumsum([0, *(len(group) for group, _ in waits)]),
        np.array([flow for flow, _ in edges], np.int64),
        np.array([lag for _, lag in edges], np.int64),
        np.array([needs for _, needs in waits]),
    )


ENGINES: tuple[FlowEngine, ...] = ("auto", "flow", "reference")
NOTHING: tuple[list[tuple[int, int]], int] = ([], 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_relay_adds_up(engine: FlowEngine) -> None:
    """Three hops of 1,000 B at a byte per ps, 7 ps of lag and a pause of 5 ps before each."""
    outcome, starts = solve_chained(
        problem([RATE] * 3, [[0], [1], [2]], [1000] * 3, [5] * 3),
        chain([NOTHING, ([(0, 7)], 1), ([(1, 7)], 1)]),
        engine,
    )
    assert starts.tolist() == [5, 1017, 2029]
    assert outcome.finish.tolist() == [1005, 2017, 3029]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_barrier_waits_for_the_last_and_a_shot_for_the_first(engine: FlowEngine) -> None:
    outcome, starts = solve_chained(
        problem([RATE] * 4, [[0], [1], [2], [3]], [100, 300, 10, 10], [0] * 4),
        chain([NOTHING, NOTHING, ([(0, 0), (1, 0)], 2), ([(0, 0), (1, 0)], 1)]),
        engine,
    )
    assert starts.tolist() == [0, 0, 300, 100]
    assert outcome.finish.tolist() == [100, 300, 310, 110]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_flow_that_starts_late_slows_one_that_runs(engine: FlowEngine) -> None:
    """Flow 2 starts at 100 and shares with flow 1, which has 200 B left: both at half rate."""
    outcome, _ = solve_chained(
        problem([RATE, RATE], [[0], [1], [1]], [100, 300, 400], [0] * 3),
        chain([NOTHING, NOTHING, ([(0, 0)], 1)]),
        engine,
    )
    assert outcome.finish.tolist() == [100, 500, 700]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_waits_for_a_flow_that_never_ends_never_starts(engine: FlowEngine) -> None:
    outcome, starts = solve_chained(
        problem([RATE, 0, RATE], [[0], [1], [2], [2]], [5] * 4, [0] * 4),
        chain([NOTHING, NOTHING, ([(1, 0)], 1), ([(0, 0)], 1)]),
        engine,
    )
    assert outcome.finish.tolist() == [5, UNFINISHED, UNFINISHED, 10]
    assert starts.tolist() == [0, 0, UNFINISHED, 5]


@st.composite
def chained_problems(draw: st.DrawFn) -> tuple[FlowProblem, Chain, list[list[int]]]:
    links = draw(st.integers(1, 3))
    count = draw(st.integers(1, 7))
    capacity = draw(st.lists(st.integers(1, 9), min_size=links, max_size=links))
    paths = [
        draw(st.lists(st.integers(0, links - 1), min_size=1, max_size=links, unique=True))
        for _ in range(count)
    ]
    waits = []
    for flow in range(count):
        ahead = draw(st.lists(st.integers(0, flow - 1), max_size=3, unique=True)) if flow else []
        edges = [(before, draw(st.integers(0, 30))) for before in ahead]
        waits.append((edges, draw(st.integers(min(1, len(ahead)), len(ahead)))))
    sizes = draw(st.lists(st.integers(1, 60), min_size=count, max_size=count))
    starts = draw(st.lists(st.integers(0, 40), min_size=count, max_size=count))
    return (
        problem([rate * RATE // 8 for rate in capacity], paths, sizes, starts),
        chain(waits),
        paths,
    )


@pytest.mark.parametrize("engine", ["auto", "flow"])
@given(drawn=chained_problems())
def test_starts_and_ends_agree_with_each_other(
    engine: FlowEngine, drawn: tuple[FlowProblem, Chain, list[list[int]]]
) -> None:
    """Solved at once with the starts that came out, the same ends come out: by causality only one
    set of starts does that."""
    given_problem, waits, paths = drawn
    outcome, starts = solve_chained(given_problem, waits, engine)
    again = ends(
        given_problem.capacity.tolist(), paths, given_problem.sizes.tolist(), starts.tolist()
    )
    assert outcome.finish.tolist() == [ceil(end) for end in again if end is not None]
    for flow, start in enumerate(starts.tolist()):
        span = slice(waits.offsets[flow], waits.offsets[flow + 1])
        done = sorted((outcome.finish[waits.flows[span]] + waits.lag[span]).tolist())
        needs = int(waits.needs[flow])
        over = done[needs - 1] if needs else 0
        assert start == over + int(given_problem.starts[flow])


def test_too_much_work_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chained, "MAX_WORK", 3)
    with pytest.raises(InputError) as caught:
        solve_chained(
            problem([RATE] * 2, [[0], [1], [1]], [100, 300, 400], [0] * 3),
            chain([NOTHING, NOTHING, ([(0, 0)], 1)]),
            "reference",
        )
    assert caught.value.code == "CTB-S047"
