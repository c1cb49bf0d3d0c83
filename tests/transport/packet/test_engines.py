"""The compiled packet engine and the plain one: the same, event for event, and lawful."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctestbed.transport.packet.engine import simulate
from ctestbed.transport.packet.problem import PacketOutcome, PacketSettings
from ctestbed.transport.packet.reference import simulate_reference
from tests.transport.packet.problems import NEVER, Problem, chain, problems

HORIZON = 3 * 10**9

pytestmark = pytest.mark.numba

unhurried = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def difference(one: PacketOutcome, other: PacketOutcome) -> str | None:
    """Return the first thing in which two outcomes differ, the engines' own counts apart."""
    parts: list[tuple[str, Any, Any]] = [
        ("", one, other),
        ("ports.", one.ports, other.ports),
        *([("sights.", one.sights, other.sights)] if one.sights else []),
    ]
    for prefix, a, b in parts:
        for part in fields(a):
            if part.name in {"ports", "sights", "events", "cpu"}:
                continue
            x, y = getattr(a, part.name), getattr(b, part.name)
            if not np.array_equal(x, y):
                return f"{prefix}{part.name}: {x} and {y}"
    return None


@unhurried
@given(problems(), st.sampled_from([10**8, HORIZON]))
def test_both_engines_agree_event_for_event(problem: Problem, horizon: int) -> None:
    assert difference(simulate(*problem, horizon), simulate_reference(*problem, horizon)) is None


@unhurried
@given(problems())
def test_who_looks_changes_nothing(problem: Problem) -> None:
    network, flows, limits, choices = problem
    seen = simulate(network, flows, limits, replace(choices, looks=6), HORIZON)
    unseen = simulate(network, flows, limits, replace(choices, looks=0), HORIZON)
    assert unseen.sights is None
    assert difference(unseen, seen) is None


@unhurried
@given(problems())
def test_bytes_are_conserved_and_time_runs_forward(problem: Problem) -> None:
    network, flows, _, choices = problem
    outcome = simulate_reference(*problem, HORIZON)
    done = outcome.finish >= 0
    assert (outcome.delivered[done] > flows.starts[done]).all()
    assert (outcome.finish[done] > outcome.delivered[done]).all()
    ports = outcome.ports
    frames = int(ports.sent_frames.sum())
    assert frames == outcome.data_hops
    packets = -(-flows.sizes // choices.payload)
    if done.all():
        hops = np.diff(network.offsets)[flows.first_path]
        sent = int((packets * hops).sum())
        assert frames >= sent - outcome.trimmed * int(hops.max())
        if not outcome.lost and not outcome.trimmed and not outcome.resent.any():
            data, parity = choices.code
            groups = -(-packets // data) if data else 0 * packets
            # Parity that a flow did not need may be sent, or not.
            assert sent <= frames <= sent + int((groups * parity * hops).sum())
    assert outcome.lost == int(ports.drops.sum())


@unhurried
@given(problems(), st.randoms(use_true_random=False))
def test_names_of_nodes_change_nothing(problem: Problem, random: Any) -> None:
    network, *_ = problem
    names = np.unique(np.concatenate([network.tail, network.head]))
    other = names.copy()
    random.shuffle(other)
    renamed = replace(
        network,
        tail=other[np.searchsorted(names, network.tail)],
        head=other[np.searchsorted(names, network.head)],
    )
    before = simulate(*problem, HORIZON)
    assert difference(before, simulate(renamed, *problem[1:], HORIZON)) is None


@pytest.mark.parametrize(
    ("links", "size", "finish"),
    [(2, 1_000_000, 85_615_360), (6, 2_000_000, 176_216_320)],
)
def test_a_lone_flow_meets_the_closed_form(links: int, size: int, finish: int) -> None:
    # facts: fabric-peers 1.1; htsim's RoCE prints 85.615 us for the first.
    problem = chain([(10**11, 10**6)] * links, size, PacketSettings())
    for run in (simulate, simulate_reference):
        outcome = run(*problem)
        assert outcome.ended
        assert outcome.finish.tolist() == [finish]
        assert outcome.lost == 0


def long_cable(room: int, *, stalled: int = 10**6) -> Problem:
    """400 Gb/s over 150 km into a switch whose own way out is a million times slower."""
    links = [(4 * 10**11, 10**6), (4 * 10**11, 750 * 10**6), (stalled, 10**6)]
    choices = PacketSettings(retry=NEVER)
    return chain(links, 200_000_000, choices, xoff=406_400, room=room)


def test_headroom_of_150_km_is_the_round_trip_and_the_frames_in_flight() -> None:
    bdp = 75_000_000  # 2 x 750 us x 400 Gb/s: facts/fabric.md, table 1.2
    horizon = 4 * 10**9
    free = simulate(*long_cable(NEVER), horizon)
    row = free.ports.links.tolist().index(2)
    peak = int(free.ports.headroom_max[row, 0])
    assert abs(peak - bdp) < 0.002 * bdp
    assert simulate(*long_cable(peak), horizon).lost == 0
    lost = simulate(*long_cable(peak - 1), horizon)
    assert lost.lost > 0
    assert int(lost.ports.drops[row, 0]) == lost.lost
    assert 0 < int(lost.ports.first_drop[row, 0]) < horizon


def test_a_pause_that_is_not_repeated_in_time_lets_the_sender_go() -> None:
    # 400 Gb/s: one pause covers 65,535 quanta, 83.9 us; without a refresh the sender goes again.
    problem = chain(
        [(4 * 10**11, 10**6), (10**9, 10**6)], 4_000_000, PacketSettings(retry=NEVER), xoff=20_000
    )
    network, flows, limits, choices = problem
    held = simulate_reference(*problem)
    assert held.ended
    assert held.ports.pauses.sum() > 0
    refreshed = simulate_reference(network, flows, limits, replace(choices, pause_quanta=65535))
    assert refreshed.finish.tolist() == held.finish.tolist()
    assert refreshed.ports.entered_max.max() == held.ports.entered_max.max()


@given(st.integers(1, 40))
@settings(max_examples=20, deadline=None)
def test_more_buffer_never_loses_more_at_one_open_loop_bottleneck(frames: int) -> None:
    def lost(queue: int) -> int:
        links = [(10**11, 10**6), (10**10, 10**6)]
        choices = PacketSettings(lossless=0, retry=NEVER, reliability="sr", spray=True)
        problem = chain(links, 200_000, choices, queue=queue)
        return simulate_reference(*problem, 10**9).lost

    assert lost((frames + 1) * 4064) <= lost(frames * 4064)
