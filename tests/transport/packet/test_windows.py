"""Laws that set windows: closed forms, bounds, and answers of packets that were sent twice."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ctestbed.transport.packet.engine import simulate
from ctestbed.transport.packet.laws import CongestionControl, tune
from ctestbed.transport.packet.problem import Harm, PacketFlows, PacketNetwork, PacketSettings
from ctestbed.transport.packet.reference import simulate_reference
from tests.transport.packet.problems import NEVER, Problem, chain, column, every_link
from tests.transport.packet.test_engines import difference

pytestmark = pytest.mark.numba

WINDOWS: list[CongestionControl] = ["hpcc", "swift", "nscc"]
CABLES = [(10**11, 10**6), (25 * 10**9, 333_333), (7 * 10**9, 5 * 10**6)]


@pytest.mark.parametrize("law", WINDOWS)
@pytest.mark.parametrize("engine", [simulate, simulate_reference])
def test_packets_one_by_one_take_the_empty_round_trip_each(
    law: CongestionControl, engine: Any
) -> None:
    choices = PacketSettings(congestion=law, max_in_flight=1)
    problem = chain(CABLES, 5 * choices.payload, choices)
    base = float(tune(problem[0], problem[1], choices).base[0])
    # By hand: each cable's frame and acknowledgement, rounded up to a picosecond, and its delay.
    alone = sum(
        -(-size * 8 * 10**12 // rate) + delay for rate, delay in CABLES for size in (4064, 64)
    )
    assert base == alone
    assert engine(*problem).finish.tolist() == [5 * alone]


@pytest.mark.parametrize("law", WINDOWS)
def test_no_law_lets_more_fly_than_the_settings_do(law: CongestionControl) -> None:
    def last(most: int) -> int:
        choices = PacketSettings(congestion=law, max_in_flight=most)
        return int(simulate(*chain([(10**11, 10**7)] * 2, 400_000, choices)).finish[0])

    free, three = last(NEVER), last(3)
    # Three packets a round trip of 40 us and little more: 34 round trips for 100 packets.
    assert three > 33 * 40 * 10**6 > 5 * free


def early_timeouts(law: CongestionControl, reliability: Any, most: int) -> Problem:
    """Three flows into two hosts behind a slow cable and a short queue; timeouts come early."""
    ends = [(38, 47), (3, 47), (34, 47), (47, 19), (19, 25), (19, 29)]
    rates, delays = [25, 25, 25, 10, 25, 10], [0, 10**6, 1000, 10**6, 0, 10**6]
    network = PacketNetwork(
        column(*(end for pair in ends for end in pair)),
        column(*(end for pair in ends for end in pair[::-1])),
        np.repeat(column(*rates) * 10**9, 2),
        np.repeat(column(*delays), 2),
        column(0, 3, 6, 9),
        column(0, 6, 8, 2, 6, 10, 4, 6, 10),
    )
    zeros = np.zeros(3, np.int64)
    flows = PacketFlows(
        column(30_000, 200_000, 30_000), zeros, zeros, np.arange(3), np.ones(3, np.int64)
    )
    choices = PacketSettings(
        payload=1000, lossless=0, retry=3 * 10**6, reliability=reliability, congestion=law,
        mark_from=5000, mark_all=20_000, mark_share=2**31, max_in_flight=most,
    )  # fmt: skip
    return network, flows, every_link(12, queue=5000), choices


@pytest.mark.parametrize("law", WINDOWS)
@pytest.mark.parametrize("reliability", ["gbn", "sr"])
@pytest.mark.parametrize("most", [5, NEVER])
def test_answers_of_packets_that_were_sent_twice_are_told_apart(
    law: CongestionControl, reliability: Any, most: int
) -> None:
    problem = early_timeouts(law, reliability, most)
    one, other = simulate(*problem, 10**9), simulate_reference(*problem, 10**9)
    assert int(one.resent.sum()) > 0
    assert difference(one, other) is None


@pytest.mark.parametrize("engine", [simulate, simulate_reference])
@pytest.mark.parametrize("lossy", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("share", [0.02, 0.3])
def test_receiver_credits_that_get_lost_hold_a_flow_up_and_do_not_stop_it(
    engine: Any, lossy: tuple[int, ...], share: float
) -> None:
    # Link 1 carries credits and acknowledgements, link 0 the packets that ask for them.
    rows = np.array([[link, 0, NEVER, int(share * 2**32)] for link in lossy], np.int64)
    choices = PacketSettings(
        lossless=0, reliability="sr", congestion="rcc", retry=10**8,
        harm=Harm(rows, np.zeros((0, 4), np.int64)),
    )  # fmt: skip
    outcome = engine(*chain([(10**11, 10**6)], 800_000, choices), 10**12)
    assert outcome.ended
    assert outcome.erred > 0
    calm = engine(*chain([(10**11, 10**6)], 800_000, replace(choices, harm=None)))
    assert calm.resent.tolist() == [0]
    assert calm.finish[0] < outcome.finish[0]


def test_no_credit_at_all_leaves_the_timer_to_send_the_rest() -> None:
    # All that goes back is lost for 1 ms: what the path holds goes unasked, again at each timer.
    rows = np.array([[1, 0, 10**9, 2**32]], np.int64)
    choices = PacketSettings(
        lossless=0, reliability="sr", congestion="rcc", retry=10**8,
        harm=Harm(rows, np.zeros((0, 4), np.int64)),
    )  # fmt: skip
    problem = chain([(10**11, 10**6)], 800_000, choices)
    unasked = int(tune(problem[0], problem[1], choices).unasked(4064.0)[0])
    cut = simulate(*problem, 9 * 10**8)
    assert cut.finish.tolist() == [-1]
    assert unasked <= cut.data_hops <= 10 * unasked
    whole = simulate(*problem)
    assert whole.ended
    assert 10**9 < int(whole.finish[0]) < 13 * 10**8
