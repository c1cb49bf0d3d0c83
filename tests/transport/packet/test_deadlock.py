"""A circle of buffers that wait for each other, and the flow that locks it."""

from typing import Any

import numpy as np
import pytest

from ctestbed.transport.packet.engine import simulate
from ctestbed.transport.packet.problem import PacketFlows, PacketNetwork, PacketSettings
from ctestbed.transport.packet.reference import simulate_reference
from ctestbed.workload.packet_findings import find_circle
from tests.transport.packet.problems import NEVER, Problem, column, every_link

pytestmark = pytest.mark.numba

SWITCHES = 4


def ring(flows: list[tuple[int, int]], size: int) -> Problem:
    """Four switches in a ring, a host at each; a flow goes clockwise from host a to host b.

    Cable i joins switch i and the next; cable 4 + i joins host i and its switch.
    """
    tail = [end for i in range(SWITCHES) for end in (i, (i + 1) % SWITCHES)]
    tail += [end for i in range(SWITCHES) for end in (10 + i, i)]
    head = [tail[index ^ 1] for index in range(len(tail))]
    paths = []
    for source, target in flows:
        path, at_switch = [2 * (SWITCHES + source)], source
        while at_switch != target:
            path.append(2 * at_switch)
            at_switch = (at_switch + 1) % SWITCHES
        paths.append([*path, 2 * (SWITCHES + target) + 1])
    offsets = np.concatenate([[0], np.cumsum([len(path) for path in paths])])
    network = PacketNetwork(
        column(*tail), column(*head), np.full(len(tail), 10**11, np.int64),
        np.full(len(tail), 10**6, np.int64), offsets.astype(np.int64),
        column(*(link for path in paths for link in path)),
    )  # fmt: skip
    count = len(flows)
    zeros = np.zeros(count, np.int64)
    packet_flows = PacketFlows(
        np.full(count, size, np.int64), zeros, zeros, np.arange(count), np.ones(count, np.int64)
    )
    limits = every_link(len(tail), xoff=40_000, xon=36_000)
    return network, packet_flows, limits, PacketSettings(retry=NEVER)


CALM = [(0, 2), (1, 3), (2, 0)]
"""Each crosses two ring cables: three of the four buffers depend on the next, one on none."""
LOCKING = [*CALM, (3, 1)]


@pytest.mark.parametrize("run", [simulate, simulate_reference])
def test_a_circle_that_is_not_closed_never_locks(run: Any) -> None:
    outcome = run(*ring(CALM, 4_000_000))
    assert outcome.ended
    assert outcome.ports.pauses.sum() > 0
    assert find_circle(outcome.waits) == []


@pytest.mark.parametrize("run", [simulate, simulate_reference])
def test_one_flow_more_locks_it_and_the_circle_is_named(run: Any) -> None:
    outcome = run(*ring(LOCKING, 4_000_000))
    assert outcome.stuck
    assert not outcome.ended
    assert outcome.lost == 0
    assert find_circle(outcome.waits) == [0, 2, 4, 6]  # the four ring cables, clockwise


@pytest.mark.parametrize(
    ("waits", "circle"),
    [
        ((), []),
        (((1, 2), (2, 3)), []),
        (((5, 2), (2, 9), (9, 5), (9, 7)), [2, 9, 5]),
        (((1, 1),), [1]),
        (((1, 2), (1, 3), (2, 4), (3, 4)), []),
    ],
)
def test_a_circle_is_found_where_there_is_one(
    waits: tuple[tuple[int, int], ...], circle: list[int]
) -> None:
    assert find_circle(waits) == circle
