"""Credits in place of pauses: lossless always, and a buffer a round trip at most."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.transport.packet.credits import worth_saying
from ctestbed.transport.packet.engine import simulate
from ctestbed.transport.packet.problem import PacketSettings
from ctestbed.transport.packet.reference import simulate_reference
from tests.transport.packet.problems import NEVER, Problem, chain, problems

pytestmark = pytest.mark.numba

RATE = 10**11
LONG = 100 * 10**6  # 20 km at 5 us a km
FRAME = 4064
CREDITS = PacketSettings(flow_control="cbfc", retry=NEVER)
PACKETS = 5000


def across(buffer: int) -> Problem:
    """One flow by way of two switches with a long cable between them."""
    links = [(RATE, 10**6), (RATE, LONG), (RATE, 10**6)]
    return chain(links, PACKETS * 4000, CREDITS, xoff=buffer, room=0)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 1.5])
@pytest.mark.parametrize("engine", [simulate, simulate_reference])
def test_throughput_is_the_rate_or_a_buffer_a_round_trip(share: float, engine: Any) -> None:
    # facts/fabric.md 1.3: credits for a round trip fill the cable, fewer give buffer / RTT.
    trip = 2 * LONG
    buffer = int(share * trip * RATE / 8e12)
    outcome = engine(*across(buffer))
    assert outcome.ended
    assert outcome.lost == 0
    assert outcome.ports.pauses.sum() == 0
    rate = PACKETS * FRAME * 8e12 / (int(outcome.delivered[0]) - LONG)
    # Two frames are told of at once, and a part of a frame cannot be used.
    assert rate == pytest.approx(min(RATE, buffer * 8e12 / trip), rel=0.03)
    row = outcome.ports.links.tolist().index(2)
    assert 0 < int(outcome.ports.entered_max[row, 0]) <= buffer


def test_a_blocked_way_out_fills_the_buffer_and_no_more() -> None:
    buffer = 100 * FRAME + 1000
    links = [(RATE, 10**6), (RATE, LONG), (RATE // 1000, 10**6)]
    outcome = simulate(*chain(links, 4_000_000, CREDITS, xoff=buffer, room=0), 10**9)
    row = outcome.ports.links.tolist().index(2)
    assert int(outcome.ports.entered_max[row, 0]) == 100 * FRAME
    assert outcome.lost == 0


@pytest.mark.parametrize("frames", [1.0, 1.2, 1.34, 2.0, 3.9])
def test_the_smallest_buffers_let_everything_through(frames: float) -> None:
    links = [(RATE, 10**6), (RATE, 10**6), (RATE // 10, 10**6)]
    for size in (1, 3999, 100_001):
        outcome = simulate(*chain(links, size, CREDITS, xoff=int(frames * FRAME), room=0))
        assert outcome.ended
        assert outcome.lost == 0


def test_a_buffer_below_one_frame_lets_none_through() -> None:
    problem = chain([(RATE, 10**6)] * 2, 4000, CREDITS, xoff=FRAME - 1, room=0)
    for run in (simulate, simulate_reference):
        outcome = run(*problem)
        assert outcome.stuck
        assert outcome.data_hops == 0


@given(st.integers(1, 10**6), st.integers(64, 9000))
def test_what_stays_unsaid_leaves_room_for_a_frame(room: int, frame: int) -> None:
    enough = worth_saying(room, frame)
    assert 1 <= enough <= max(1, 2 * frame)
    if room >= frame:
        assert room - (enough - 1) >= frame


@given(problems())
@settings(max_examples=60, deadline=None)
def test_credits_never_lose_a_frame_nor_exceed_the_buffer(problem: Problem) -> None:
    network, flows, limits, choices = problem
    buffer = int(limits.xoff[0] + limits.headroom[0])
    choices = replace(choices, flow_control="cbfc", lossless=2**choices.classes - 1, harm=None)
    outcome = simulate_reference(network, flows, limits, choices, 3 * 10**9)
    assert outcome.lost == 0
    ends = set(network.links[network.offsets[1:] - 1].tolist())
    for link, row in zip(outcome.ports.links.tolist(), outcome.ports.entered_max, strict=True):
        assert link in ends or int(row.max()) <= buffer
