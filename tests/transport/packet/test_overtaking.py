"""A packet that was thought lost comes after all, while its repetition waits to be sent."""

import numpy as np
import pytest

from ctestbed.transport.packet.engine import simulate
from ctestbed.transport.packet.problem import Harm, PacketFlows, PacketNetwork, PacketSettings
from ctestbed.transport.packet.reference import simulate_reference
from tests.transport.packet.problems import NEVER, Problem, column, every_link

pytestmark = pytest.mark.numba

FRAME = 325_120  # ps: 4064 B at 100 Gb/s
PACKETS = 12
SHORT, LONG = 10**6, 20 * 10**6


def two_ways(seed: int, resumes: int) -> Problem:
    """Packets draw one of two cables; overtaken ones count as lost, and a storm holds repairs."""
    ends = [(0, 1), (1, 2), (1, 2), (2, 3)]
    delays = [SHORT, SHORT, LONG, SHORT]
    network = PacketNetwork(
        column(*(end for pair in ends for end in pair)),
        column(*(end for pair in ends for end in pair[::-1])),
        np.full(8, 10**11, np.int64), np.repeat(column(*delays), 2),
        column(0, 3, 6), column(0, 2, 6, 0, 4, 6),
    )  # fmt: skip
    flows = PacketFlows(
        column(PACKETS * 4000, 4000), column(0, 10**9), column(0, 0), column(0, 0), column(2, 2)
    )
    storm = np.array([[0, -1, PACKETS * FRAME - FRAME // 2, resumes]], np.int64)
    settings = PacketSettings(
        reliability="sr", flowlet_gap=1, retry=NEVER, seed=seed,
        harm=Harm(np.zeros((0, 4), np.int64), storm),
    )  # fmt: skip
    return network, flows, every_link(8), settings


@pytest.mark.parametrize("seed", range(8))
def test_nothing_behind_the_last_packet_is_sent(seed: int) -> None:
    waits = range(LONG // 2, 3 * LONG, 2 * FRAME)
    problems = [two_ways(seed, resumes) for resumes in waits]
    outcomes = [simulate(*problem) for problem in problems]
    assert any(int(outcome.resent[0]) for outcome in outcomes)
    for problem, outcome in zip(problems, outcomes, strict=True):
        plain = simulate_reference(*problem)
        assert outcome.finish.tolist() == plain.finish.tolist()
        assert outcome.data_hops == plain.data_hops
        assert outcome.data_hops <= 3 * (PACKETS + 1 + int(outcome.resent.sum()))
