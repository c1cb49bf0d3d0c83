"""The flow engine against an independent solver, the definition of max-min, and closed forms."""

from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.core.errors import InputError, InvariantError
from ctestbed.transport import flow as flow_module
from ctestbed.transport.flow import FlowEngine, solve_flows, solve_rational
from ctestbed.transport.incremental import solve_compiled
from ctestbed.transport.problem import UNFINISHED, FlowOutcome, FlowProblem
from ctestbed.transport.reference import max_min_rates
from ctestbed.transport.symmetry import merge_alike
from tests.transport.oracle import ends, fair_rates

G100 = 100 * 10**9


def problem(
    capacity: list[int],
    paths: list[list[int]],
    sizes: list[int],
    starts: list[int] | None = None,
    priority: list[int] | None = None,
    weight: list[int] | None = None,
) -> FlowProblem:
    return FlowProblem(
        capacity=np.array(capacity, np.int64),
        offsets=np.cumsum([0, *(len(path) for path in paths)]),
        links=np.array([link for path in paths for link in path], np.int32),
        sizes=np.array(sizes, np.int64),
        starts=np.array(starts or [0] * len(paths), np.int64),
        priority=None if priority is None else np.array(priority, np.int64),
        weight=None if weight is None else np.array(weight, np.int64),
    )


@st.composite
def networks(draw: st.DrawFn) -> dict[str, Any]:
    links = draw(st.integers(1, 6))
    flows = draw(st.integers(1, 8))
    rates = st.sampled_from([0, 10**6, 10**9, 3 * 10**9, G100, 4 * G100, 2**61])
    path = st.lists(st.integers(0, links - 1), min_size=1, max_size=4, unique=True)
    few = draw(st.booleans())
    size = st.sampled_from([0, 1000, 2000]) if few else st.integers(0, 10**9)
    start = st.sampled_from([0, 0, 80_000]) if few else st.integers(0, 10**9)
    rank, weight = st.integers(0, draw(st.sampled_from([0, 2]))), st.sampled_from([1, 1, 2, 7])
    several = draw(st.booleans())

    def each(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=flows, max_size=flows))

    return {
        "capacity": draw(st.lists(rates, min_size=links, max_size=links)),
        "paths": each(path),
        "sizes": each(size),
        "starts": each(start),
        "priority": each(rank) if several else None,
        "weight": each(weight) if several else None,
    }


def rounded(exact: list[Fraction | None]) -> list[int]:
    return [UNFINISHED if end is None else ceil(end) for end in exact]


@given(networks())
def test_engines_equal_the_oracle_to_the_picosecond(network: dict[str, Any]) -> None:
    expected = rounded(ends(**network))
    given_problem = problem(**network)
    assert solve_flows(given_problem, "reference").finish.tolist() == expected
    outcome = solve_flows(given_problem)
    assert outcome.finish.tolist() == expected
    assert outcome.exact


@pytest.mark.numba
@settings(deadline=None)
@given(networks())
def test_compiled_kernel_equals_the_oracle(network: dict[str, Any]) -> None:
    network["capacity"] = [min(rate, 2**53) for rate in network["capacity"]]
    merged = merge_alike(problem(**network))
    outcome = solve_compiled(merged)
    if outcome.exact:  # flows of a bit per second may end within the error of a whole ps
        assert outcome.finish[merged.flow_class].tolist() == rounded(ends(**network))


@pytest.mark.numba
@pytest.mark.parametrize("seed", range(4))
def test_compiled_kernel_equals_rationals_on_crowded_networks(seed: int) -> None:
    draws = np.random.default_rng(seed)
    flows, links = 120, 24
    crowded = problem(
        draws.integers(1, 9, links).tolist()
        if seed == 3
        else (draws.integers(1, 9, links) * 25 * 10**9).tolist(),
        [draws.permutation(links)[: draws.integers(1, 5)].tolist() for _ in range(flows)],
        draws.integers(1, 4, flows).tolist(),
        draws.integers(0, 3, flows).tolist(),
    )
    merged = merge_alike(crowded)
    compiled, rational = solve_compiled(merged), solve_rational(merged)
    assert compiled.exact
    assert compiled.finish.tolist() == rational.finish.tolist()


@given(networks())
def test_rates_are_max_min_fair_by_definition(network: dict[str, Any]) -> None:
    capacity, paths = network["capacity"], network["paths"]
    crossings = [[(link, 1) for link in path] for path in paths]
    classed = max_min_rates(
        capacity, crossings, range(len(paths)), network["priority"], network["weight"]
    )
    every = dict(enumerate(paths))
    assert classed == fair_rates(capacity, every, network["priority"], network["weight"])
    rates = max_min_rates(capacity, crossings, range(len(paths)))
    load = [
        sum((rates[f] for f, path in enumerate(paths) if link in path), Fraction(0))
        for link in range(len(capacity))
    ]
    assert all(carried <= limit for carried, limit in zip(load, capacity, strict=True))
    for f, path in enumerate(paths):
        assert any(
            load[link] == capacity[link]
            and rates[f] == max(rates[g] for g, other in enumerate(paths) if link in other)
            for link in path
        ), f"flow {f} has no bottleneck"
    assert rates == fair_rates(capacity, dict(enumerate(paths)))


@given(networks(), st.randoms(use_true_random=False))
def test_order_of_flows_does_not_matter(network: dict[str, Any], shuffler: Any) -> None:
    order = list(range(len(network["paths"])))
    shuffler.shuffle(order)
    moved = dict(network)
    for key in ("paths", "sizes", "starts", "priority", "weight"):
        if network[key] is not None:
            moved[key] = [network[key][f] for f in order]
    finish = solve_flows(problem(**network)).finish
    assert solve_flows(problem(**moved)).finish.tolist() == finish[order].tolist()


@given(networks())
def test_delaying_everything_delays_everything(network: dict[str, Any]) -> None:
    later = dict(network, starts=[start + 12_345 for start in network["starts"]])
    finish = solve_flows(problem(**network)).finish
    moved = solve_flows(problem(**later)).finish
    assert moved.tolist() == [end if end == UNFINISHED else end + 12_345 for end in finish]


@given(st.integers(1, 40), st.integers(10**6, 10**12), st.integers(1, 10**9))
def test_equal_flows_through_one_link_end_together(flows: int, rate: int, size: int) -> None:
    outcome = solve_flows(problem([rate], [[0]] * flows, [size] * flows))
    assert set(outcome.finish.tolist()) == {-(-flows * size * 8 * 10**12 // rate)}


def test_parking_lot_by_hand() -> None:
    """One flow over three links, one more on each: 1/2 each; then the long one has it all."""
    lot = problem(
        [G100] * 3, [[0, 1, 2], [0], [1], [2]], [2_000_000, 1_000_000, 1_000_000, 1_000_000]
    )
    assert solve_flows(lot).finish.tolist() == [240_000_000, 160_000_000, 160_000_000, 160_000_000]


def test_two_level_bottleneck_by_hand() -> None:
    """Link 0 holds two flows at 50G; the third takes the other 150G of link 1."""
    net = problem([G100, 2 * G100], [[0], [0, 1], [1]], [1_000_000] * 3)
    assert solve_flows(net).finish.tolist() == [160_000_000, 160_000_000, 53_333_334]


def test_arrival_shares_from_its_start() -> None:
    """Alone for 40 us (half of 1 MB), then at half rate for the other half."""
    net = problem([G100], [[0], [0]], [1_000_000, 1_000_000], [0, 40_000_000])
    assert solve_flows(net).finish.tolist() == [120_000_000, 160_000_000]


def test_dead_link_leaves_flows_unfinished_and_others_alone() -> None:
    net = problem([0, G100], [[0, 1], [1]], [1_000_000, 1_000_000])
    for engine in ("auto", "flow", "reference"):
        assert solve_flows(net, engine).finish.tolist() == [UNFINISHED, 80_000_000]


@pytest.mark.parametrize("engine", ["auto", "flow", "reference"])
def test_a_run_that_outlasts_the_clock_is_refused(engine: FlowEngine) -> None:
    with pytest.raises(InputError, match="clock") as caught:
        solve_flows(problem([1], [[0]], [10**9]), engine)
    assert caught.value.code == "CTB-S002"


def test_no_flows() -> None:
    assert solve_flows(problem([G100], [], [])).finish.tolist() == []
    assert solve_flows(problem([G100], [], []), "reference").finish.tolist() == []


def test_shift_collapses_to_one_class() -> None:
    flows = 1 << 16
    paths = np.arange(2 * flows, dtype=np.int32).reshape(flows, 2)
    shift = FlowProblem(
        np.full(2 * flows, G100),
        np.arange(flows + 1) * 2,
        paths.reshape(-1),
        np.full(flows, 2_000_000),
        np.zeros(flows, np.int64),
    )
    merged = merge_alike(shift)
    assert merged.flows == 1
    assert set(solve_flows(shift).finish.tolist()) == {160_000_000}


@given(networks())
def test_merging_keeps_every_flow_and_its_load(network: dict[str, Any]) -> None:
    whole = problem(**network)
    merged = merge_alike(whole)
    assert len(merged.flow_class) == whole.flows
    assert merged.sizes[merged.flow_class].tolist() == whole.sizes.tolist()
    assert merged.starts[merged.flow_class].tolist() == whole.starts.tolist()


def test_a_colour_collision_costs_speed_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merge what is not alike: the exact check sees it and falls back to no merging."""
    monkeypatch.setattr(
        "ctestbed.transport.symmetry._refine",
        lambda _problem, capacity, flow, _link: (
            np.zeros(int(flow.max()) + 1, np.int64),
            np.zeros(len(capacity), np.int64),
        ),
    )
    lot = problem([G100] * 3, [[0, 1, 2], [0], [1], [2]], [1000] * 4)
    assert merge_alike(lot).flows == 4
    assert solve_flows(lot).finish.tolist() == solve_flows(lot, "reference").finish.tolist()
    # Here the classes count alike, and differ only in what is given.
    for unlike in (
        problem([G100] * 2, [[0], [1]], [1000, 2000]),
        problem([G100] * 2, [[0], [1]], [1000] * 2, [0, 5]),
        problem([G100, 2 * G100], [[0], [1]], [1000] * 2),
    ):
        assert merge_alike(unlike).flows == 2
        assert (
            solve_flows(unlike).finish.tolist() == solve_flows(unlike, "reference").finish.tolist()
        )


def test_weeks_long_runs_are_more_than_the_compiled_arithmetic_can_vouch_for() -> None:
    slow = problem([1], [[0], [0]], [270_000, 269_999])
    assert not solve_flows(slow, "flow").exact
    assert solve_flows(slow, "auto").exact
    assert solve_flows(problem([1], [[0], [0]], [270, 269]), "flow").exact


@pytest.mark.parametrize(
    "change",
    [
        {"paths": [[0], []]},
        {"paths": [[0], [0, 0]]},
        {"paths": [[0], [2]]},
        {"paths": [[0], [-1]]},
        {"sizes": [1, -1]},
        {"starts": [0, -1]},
        {"capacity": [-1, 1]},
        {"sizes": [1]},
    ],
)
def test_arrays_that_do_not_fit_are_refused(change: dict[str, Any]) -> None:
    good: dict[str, Any] = {"capacity": [1, 1], "paths": [[0], [1]], "sizes": [1, 1]}
    for engine in ("auto", "reference"):
        with pytest.raises(InputError, match="flow engine") as caught:
            solve_flows(problem(**(good | change)), engine)
        assert caught.value.code == "CTB-S001"


@pytest.mark.parametrize(
    "finish", [[1, 160_000_000], [159_000_000, 159_000_000], [80_000_000, 80_000_000]]
)
def test_results_that_break_a_law_are_an_invariant_error(
    finish: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong engine is caught: too fast for one flow, or too much for the link."""
    monkeypatch.setattr(
        flow_module, "solve_rational", lambda merged: FlowOutcome(np.array(finish)[: merged.flows])
    )
    two = problem([G100], [[0], [0]], [1_000_000, 1_000_001])
    with pytest.raises(InvariantError) as caught:
        solve_flows(two)
    assert caught.value.exit_code == 22
