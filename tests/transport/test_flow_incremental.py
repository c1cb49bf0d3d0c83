"""The incremental engine against full solutions, and laws that fair sharing must keep."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.transport.flow import solve_flows, solve_rational
from ctestbed.transport.incremental import solve_compiled, solve_counted
from ctestbed.transport.problem import FlowProblem
from ctestbed.transport.symmetry import merge_alike
from tests.transport.test_flow import G100, networks, problem

pytestmark = pytest.mark.numba


def crowd(seed: int, flows: int, links: int, classes: int = 1, weights: int = 1) -> FlowProblem:
    """Random flows that keep coming and going over too few links."""
    draws = np.random.default_rng(seed)
    return problem(
        (draws.integers(1, 9, links) * 25 * 10**9).tolist(),
        [draws.permutation(links)[: draws.integers(1, 5)].tolist() for _ in range(flows)],
        draws.integers(1, 200_000, flows).tolist(),
        draws.integers(0, 20_000_000, flows).tolist(),
        draws.integers(0, classes, flows).tolist(),
        draws.integers(1, weights + 1, flows).tolist(),
    )


@pytest.mark.parametrize(
    ("seed", "classes", "weights"), [(0, 1, 1), (1, 3, 1), (2, 1, 5), (3, 8, 3)]
)
def test_incremental_equals_rationals_on_crowded_networks(
    seed: int, classes: int, weights: int
) -> None:
    merged = merge_alike(crowd(seed, 90, 16, classes, weights))
    compiled, rational = solve_compiled(merged), solve_rational(merged)
    assert compiled.exact
    assert compiled.finish.tolist() == rational.finish.tolist()


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(200))
def test_incremental_equals_rationals_many_times(seed: int) -> None:
    merged = merge_alike(crowd(seed, 40, 4 + seed % 20, 1 + seed % 4, 1 + seed % 3))
    compiled = solve_compiled(merged)
    assert compiled.exact
    assert compiled.finish.tolist() == solve_rational(merged).finish.tolist()


@pytest.mark.parametrize("classes", [1, 3])
def test_incremental_equals_solving_anew_and_works_less(classes: int) -> None:
    merged = merge_alike(crowd(7, 600, 90, classes))
    outcome, work = solve_counted(merged)
    again, whole = solve_counted(merged, anew=True)
    assert outcome.finish.tolist() == again.finish.tolist()
    assert outcome.exact
    assert again.exact
    assert work.events == whole.events
    assert work.links_set < whole.links_set


def test_an_incast_is_one_group_behind_its_last_link() -> None:
    """Each sender's own link and leaf uplink carry fewer of the flows, and are no narrower."""
    senders = 500
    paths = [[1 + sender, 501 + sender // 10, 0] for sender in range(senders)]
    sizes = list(range(1000, 1000 + senders))
    merged = merge_alike(problem([G100] * 551, paths, sizes))
    outcome, work = solve_counted(merged)
    assert (work.groups, work.slots) == (1, 1)
    # Shortest first: all n flows share until the shortest is done, then n - 1, and so on.
    done, last, expected = 0, 0, []
    for left, size in zip(range(senders, 0, -1), sizes, strict=True):
        done += (size - last) * left
        last = size
        expected.append(-(-done * 8 * 10**12 // G100))
    assert outcome.finish[merged.flow_class].tolist() == expected


@settings(deadline=None)
@given(networks())
def test_lower_classes_do_not_exist_for_higher_ones(network: dict[str, Any]) -> None:
    ranks = network["priority"] or [0] * len(network["paths"])
    finish = solve_flows(problem(**network)).finish.tolist()
    first = [flow for flow, rank in enumerate(ranks) if rank == 0]
    if not first:
        return
    alone = dict(network)
    for key in ("paths", "sizes", "starts", "priority", "weight"):
        if network[key] is not None:
            alone[key] = [network[key][flow] for flow in first]
    assert solve_flows(problem(**alone)).finish.tolist() == [finish[flow] for flow in first]


@given(networks(), st.randoms(use_true_random=False))
def test_names_of_links_and_their_order_on_a_path_do_not_matter(
    network: dict[str, Any], shuffler: Any
) -> None:
    names = list(range(len(network["capacity"])))
    shuffler.shuffle(names)
    renamed = dict(network)
    renamed["capacity"] = [0] * len(names)
    for link, name in enumerate(names):
        renamed["capacity"][name] = network["capacity"][link]
    renamed["paths"] = [[names[link] for link in path] for path in network["paths"]]
    for path in renamed["paths"]:
        shuffler.shuffle(path)
    finish = solve_flows(problem(**network)).finish.tolist()
    assert solve_flows(problem(**renamed)).finish.tolist() == finish


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 10**7), st.integers(0, 3), st.integers(1, 9)),
        min_size=1,
        max_size=20,
    ),
    st.integers(10**6, 10**12),
)
def test_one_link_is_busy_until_all_is_sent(flows: list[tuple[int, int, int]], rate: int) -> None:
    """However a link is shared, it idles never, so the last byte leaves at bytes / rate."""
    sizes, ranks, weights = (list(column) for column in zip(*flows, strict=True))
    for engine in ("auto", "flow"):
        finish = solve_flows(
            problem([rate], [[0]] * len(flows), sizes, None, ranks, weights),
            engine,
        ).finish
        assert finish.max() == -(-sum(sizes) * 8 * 10**12 // rate)
    more = solve_flows(problem([2 * rate], [[0]] * len(flows), sizes, None, ranks, weights))
    assert bool((more.finish <= finish).all())


@given(st.integers(1, 9), st.integers(1, 10**6), st.integers(1, 10**7))
def test_a_weight_of_k_is_k_flows(weight: int, size: int, other: int) -> None:
    heavy = solve_flows(
        problem([G100], [[0], [0]], [weight * size, other], None, None, [weight, 1])
    )
    many = solve_flows(problem([G100], [[0]] * (weight + 1), [size] * weight + [other]))
    assert heavy.finish.tolist() == many.finish[-2:].tolist()


def test_priority_by_hand() -> None:
    """The first class has 100G for 80 us; the second waits on link 0 and not on link 1."""
    net = problem([G100, G100], [[0], [0], [1]], [1_000_000] * 3, None, [0, 1, 1])
    for engine in ("auto", "flow", "reference"):
        finish = solve_flows(net, engine).finish
        assert finish.tolist() == [80_000_000, 160_000_000, 80_000_000]


@pytest.mark.parametrize(
    "change", [{"priority": [0, 8]}, {"priority": [-1, 0]}, {"weight": [0, 1]}, {"weight": [1]}]
)
def test_classes_and_weights_out_of_range_are_refused(change: dict[str, Any]) -> None:
    from ctestbed.core.errors import InputError

    good: dict[str, Any] = {"capacity": [1, 1], "paths": [[0], [1]], "sizes": [1, 1]}
    with pytest.raises(InputError, match="flow engine") as caught:
        solve_flows(problem(**(good | change)))
    assert caught.value.code == "CTB-S001"
