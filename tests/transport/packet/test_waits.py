"""Flows that begin when others are done: exact times, at the same node and at another."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ctestbed.transport.packet.engine import simulate
from ctestbed.transport.packet.problem import (
    PacketFlows,
    PacketNetwork,
    PacketOutcome,
    PacketSettings,
    PacketWaits,
)
from ctestbed.transport.packet.reference import simulate_reference
from tests.transport.packet.problems import NEVER, Problem, column, every_link

pytestmark = pytest.mark.numba

FRAME = 325_120  # ps: 4064 B at 100 Gb/s
WORD = 5_120  # a control frame of 64 B
DELAY = 10**6
SENT = 2 * FRAME + 2 * DELAY
"""One packet over two cables, received."""
KNOWN = SENT + 2 * WORD + 2 * DELAY
"""And acknowledged."""

engines = pytest.mark.parametrize("run", [simulate, simulate_reference])
Run = Callable[..., PacketOutcome]


def star(ends: list[tuple[int, int]], after: PacketWaits, starts: list[int]) -> Problem:
    """Hosts 0 to 3 around switch 9, and flows of one packet from host to host."""
    network = PacketNetwork(
        column(*(node for host in range(4) for node in (host, 9))),
        column(*(node for host in range(4) for node in (9, host))),
        np.full(8, 10**11, np.int64),
        np.full(8, DELAY, np.int64),
        np.arange(0, 2 * len(ends) + 1, 2, dtype=np.int64),
        column(*(link for a, b in ends for link in (2 * a, 2 * b + 1))),
    )
    count = len(ends)
    flows = PacketFlows(
        np.full(count, 4000, np.int64), column(*starts), np.zeros(count, np.int64),
        np.arange(count), np.ones(count, np.int64), after,
    )  # fmt: skip
    return network, flows, every_link(8), PacketSettings(retry=NEVER)


def waits(groups: list[list[tuple[int, bool]]], needs: list[int]) -> PacketWaits:
    sizes = [len(group) for group in groups]
    return PacketWaits(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        column(*(flow for group in groups for flow, _ in group)),
        column(*(receipt for group in groups for _, receipt in group)),
        column(*needs),
    )


@engines
@pytest.mark.parametrize(
    ("second", "receipt", "begins"),
    [
        ((1, 2), True, SENT),  # by the receiver, at once
        ((0, 2), False, KNOWN),  # by the sender, at once
        ((3, 2), True, SENT + WORD + DELAY),  # by a third: the word must get there
        ((0, 2), True, SENT + WORD + DELAY),  # by the sender, of its receiver's end
    ],
)
def test_a_flow_begins_when_its_node_hears_of_the_other(
    run: Run, second: tuple[int, int], receipt: bool, begins: int
) -> None:
    after = waits([[], [(0, receipt)]], [0, 1])
    pause = 2 * WORD  # for acknowledgements on the same cable
    outcome = run(*star([(0, 1), second], after, [0, pause]))
    assert outcome.starts.tolist() == [0, begins + pause]
    assert outcome.finish.tolist() == [KNOWN, begins + pause + KNOWN]


@engines
@pytest.mark.parametrize("needs", [1, 2, 3])
def test_a_flow_begins_after_as_many_as_it_needs(run: Run, needs: int) -> None:
    ahead = [(flow, True) for flow in range(3)]
    starts = [20 * 10**6, 0, 10 * 10**6, 0]
    problem = star(
        [(0, 3), (1, 3), (2, 3), (3, 0)], waits([[], [], [], ahead], [0, 0, 0, needs]), starts
    )
    outcome = run(*problem)
    assert int(outcome.starts[3]) == sorted(starts[:3])[needs - 1] + SENT


@engines
def test_flows_that_wait_for_each_other_never_begin(run: Run) -> None:
    after = waits([[], [(2, True)], [(1, False)]], [0, 1, 1])
    outcome = run(*star([(0, 1), (1, 2), (2, 1)], after, [0, 0, 0]))
    assert outcome.stuck
    assert outcome.starts.tolist() == [0, -1, -1]
    assert (outcome.finish[1:] < 0).all()


@engines
def test_a_relay_over_all_hosts_takes_the_sum_of_its_steps(run: Run) -> None:
    ring: Any = [(host, (host + 1) % 4) for host in range(4)] * 3
    groups: Any = [[], *([(step, True)] for step in range(len(ring) - 1))]
    outcome = run(*star(ring, waits(groups, [len(group) for group in groups]), [0] * len(ring)))
    # Each receiver sends its acknowledgement before the next step's packet.
    steps = [0, *(step * (SENT + WORD) - WORD for step in range(1, len(ring)))]
    assert outcome.starts.tolist() == steps
