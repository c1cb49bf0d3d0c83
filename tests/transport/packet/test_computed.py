"""Computed pauses on a long link: nothing is lost, and the way out never waits, in BDP + 2RT."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ctestbed.transport.packet.engine import simulate
from ctestbed.transport.packet.problem import PacketOutcome, PacketSettings
from tests.transport.packet.problems import NEVER, Problem, chain

pytestmark = pytest.mark.numba

RATE = 4 * 10**11
DELAY = 750 * 10**6
"""ps: 150 km."""
BDP = 75_000_000
PERIOD = 500_000
"""Bytes in 10 us."""
FRAME = 4064
LEAST = BDP + 2 * PERIOD + 8 * FRAME
"""The published BDP + 2RT, and whole frames."""
SIZE = 400_000_000


def run(scheme: Any, buffer: int, out: int, blocked: int = 0) -> tuple[PacketOutcome, int]:
    """Return what came of a flow from a long link to one of `out` bit/s, and the most it held."""
    problem: Problem = chain(
        [(RATE, 10**6), (RATE, DELAY), (out, 10**6)], SIZE,
        PacketSettings(retry=NEVER, flow_control=scheme),
        xoff=buffer - BDP - 4 * FRAME, room=BDP + 4 * FRAME,
    )  # fmt: skip
    network, flows, limits, settings = problem
    held = np.zeros(len(network.tail), np.int64)
    held[4] = blocked
    outcome = simulate(network, flows, replace(limits, blocked=held), settings, 10**12)
    assert outcome.ended
    row = outcome.ports.links.tolist().index(2)
    return outcome, int(outcome.ports.entered_max[row, 0])


def ideal(out: int, blocked: int = 0) -> int:
    """When the last byte can be there: the way out sends from the first packet's arrival on."""
    opens = max(blocked, DELAY + 2 * 10**6)
    return opens + SIZE * FRAME // 4000 * 8 * 10**12 // out


@pytest.mark.parametrize(
    ("out", "blocked"), [(10**11, 0), (RATE // 2, 0), (RATE, 5 * DELAY), (RATE, 0)]
)
def test_bdp_and_two_periods_neither_lose_nor_starve(out: int, blocked: int) -> None:
    outcome, most = run("bifrost", LEAST, out, blocked)
    assert outcome.lost == 0
    assert most <= LEAST
    assert int(outcome.delivered[0]) == pytest.approx(ideal(out, blocked), rel=0.005)


def test_plain_pauses_starve_in_the_same_buffer() -> None:
    outcome, _ = run("pfc", LEAST, 10**11)
    assert outcome.lost == 0
    assert int(outcome.delivered[0]) > 1.1 * ideal(10**11)


@pytest.mark.parametrize("buffer", [BDP * 2 // 3, BDP // 2])
def test_less_than_the_round_trip_starves_or_loses(buffer: int) -> None:
    problem = chain(
        [(RATE, 10**6), (RATE, DELAY), (10**11, 10**6)], SIZE,
        PacketSettings(retry=NEVER, flow_control="bifrost"), xoff=buffer, room=0,
    )  # fmt: skip
    outcome = simulate(*problem, 2 * 10**10)
    late = not outcome.ended or int(outcome.delivered[0]) > 1.05 * ideal(10**11)
    assert outcome.lost > 0 or late


def test_short_links_pause_as_usual() -> None:
    links = [(10**11, 10**6), (10**10, 10**6)]
    ends = [
        simulate(*chain(links, 10**7, PacketSettings(flow_control=scheme), xoff=400_000))
        for scheme in ("pfc", "bifrost")
    ]
    assert ends[0].finish.tolist() == ends[1].finish.tolist()
    assert np.array_equal(ends[0].ports.pauses, ends[1].ports.pauses)
