"""A routing loop: frames die after their last hop, and lock the loop above n B / TTL."""

from typing import Any

import numpy as np
import pytest

from ctestbed.transport.packet.engine import simulate
from ctestbed.transport.packet.problem import PacketFlows, PacketNetwork, PacketSettings
from ctestbed.transport.packet.reference import simulate_reference
from ctestbed.workload.packet_findings import find_circle
from tests.transport.packet.problems import NEVER, Problem, column, every_link

pytestmark = pytest.mark.numba

RATE = 40 * 10**9
US = 10**6


def loop(switches: int, ttl: int, inject: int, size: int) -> Problem:
    """A host sends at `inject` bit/s into a circle of switches whose routes point round it.

    Cable 0 joins host and switch 0; cable i + 1 joins switch i and the next.
    """
    ends = [(100, 0), *((i, (i + 1) % switches) for i in range(switches))]
    links = [0, *(2 * (turn % switches + 1) for turn in range(ttl + 1))]
    network = PacketNetwork(
        column(*(end for pair in ends for end in pair)),
        column(*(end for pair in ends for end in pair[::-1])),
        np.repeat(column(inject, *[RATE] * switches), 2),
        np.full(2 * len(ends), US, np.int64), column(0, len(links)), column(*links),
    )  # fmt: skip
    flows = PacketFlows(column(size), column(0), column(0), column(0), column(1))
    limits = every_link(2 * len(ends), xoff=40_640, xon=36_576)
    return network, flows, limits, PacketSettings(retry=NEVER, ttl=ttl, payload=1000)


@pytest.mark.parametrize("run", [simulate, simulate_reference])
@pytest.mark.parametrize("switches", [2, 3])
def test_each_frame_crosses_as_many_links_as_it_may(run: Any, switches: int) -> None:
    outcome = run(*loop(switches, 16, 10**9, 10_000))
    assert outcome.expired == 10
    assert outcome.data_hops == 160
    assert outcome.finish.tolist() == [-1]
    assert outcome.lost == 0


@pytest.mark.parametrize(
    ("switches", "ttl", "rate"),
    [(2, 16, 5.0), (2, 32, 2.5), (3, 16, 8.0), (4, 16, 10.0), (4, 33, 5.0)],
)
def test_a_loop_locks_above_the_law_and_not_below(switches: int, ttl: int, rate: float) -> None:
    # facts/fabric.md 5.3: n B / TTL, 5 Gb/s for two links of 40 Gb/s and a TTL of 16. Of the TTL
    # links one leads to the loop, so the first of it is crossed by (TTL - 1) / n turns, rounded up.
    assert rate * 1e9 == RATE // -(-(ttl - 1) // switches)
    assert rate * 1e9 == pytest.approx(switches * RATE / ttl, rel=0.07)
    below = simulate(*loop(switches, ttl, int(rate * 0.99e9), 4_000_000))
    assert below.expired == 4000
    assert find_circle(below.waits) == []
    above = simulate(*loop(switches, ttl, int(rate * 1.03e9), 4_000_000))
    assert above.expired < 4000
    assert above.stuck
    assert above.lost == 0
    assert find_circle(above.waits) == [2 * (i + 1) for i in range(switches)]
