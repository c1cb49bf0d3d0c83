"""Watchdogs: what a storm does without one and with one, and a deadlock that one breaks."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctestbed.transport.packet.engine import simulate
from ctestbed.transport.packet.problem import (
    Harm,
    PacketFlows,
    PacketNetwork,
    PacketSettings,
    Watchdog,
    no_harm,
)
from ctestbed.transport.packet.reference import simulate_reference
from tests.transport.packet.problems import (
    NEVER,
    Problem,
    column,
    every_link,
    problems,
    watchdogs,
)
from tests.transport.packet.test_deadlock import LOCKING, ring
from tests.transport.packet.test_engines import difference

pytestmark = pytest.mark.numba

US = 10**6
MS = 10**9
SIZE = 400_000


def storm(until: int, choices: PacketSettings) -> Problem:
    """Two senders over one cable between two switches; host 2 pauses for ever, host 3 does not.

    Hosts 0 and 1 hang on switch 10, hosts 2 and 3 on 11. Flow 0 goes to host 2, flow 1 to host 3.
    """
    ends = [(0, 10), (1, 10), (10, 11), (11, 2), (11, 3)]
    network = PacketNetwork(
        column(*(end for pair in ends for end in pair)),
        column(*(end for pair in ends for end in pair[::-1])),
        np.full(10, 10**11, np.int64), np.full(10, US, np.int64), column(0, 3, 6),
        column(0, 4, 6, 2, 4, 8),
    )  # fmt: skip
    flows = PacketFlows(column(SIZE, SIZE), column(0, 0), column(0, 0), column(0, 1), column(1, 1))
    harm = Harm(no_harm().losses, column(6, -1, 10 * US, until).reshape(1, 4))
    return network, flows, every_link(10, xoff=40_000, xon=36_000), replace(choices, harm=harm)


@pytest.mark.parametrize("run", [simulate, simulate_reference])
def test_a_storm_stops_the_victim_and_a_watchdog_frees_it(run: Any) -> None:
    plain = PacketSettings(retry=NEVER)
    held = run(*storm(NEVER, plain))
    assert held.stuck
    assert held.finish.tolist() == [-1, -1]
    assert held.watched == 0
    watchdog = Watchdog(after=100 * US, restore=100 * US)
    freed = run(*storm(NEVER, replace(plain, watchdog=watchdog)))
    assert int(freed.finish[0]) == -1
    assert 110 * US < int(freed.finish[1]) < 110 * US + 80 * US  # two flows on one cable: 65 us
    assert freed.lost == 0
    # All that had not come to host 2, and no frame of the other flow.
    row = freed.ports.links.tolist().index(6)
    assert freed.watched == int(freed.ports.watchdog_drops[row, 0])
    assert freed.watched == 100 - int(freed.ports.sent_frames[row, 0])
    assert int(freed.ports.watchdog_first[row, 0]) == 110 * US
    assert int(freed.ports.watchdog_drops.sum()) == freed.watched


@pytest.mark.parametrize("forward", [False, True])
def test_after_the_storm_and_the_time_to_restore_all_flows_finish(forward: bool) -> None:
    watchdog = Watchdog(after=100 * US, restore=50 * US, forward=forward)
    choices = PacketSettings(retry=MS, watchdog=watchdog)
    outcome = simulate(*storm(500 * US, choices))
    assert outcome.ended
    assert outcome.lost == 0
    assert int(outcome.finish[1]) < 200 * US
    if forward:  # the first flow goes on as its watchdog barks
        assert outcome.watched == 0
        assert int(outcome.finish[0]) < 200 * US
        assert not outcome.resent.any()
    else:  # what it sends again after a millisecond finds the storm over
        assert outcome.watched > 0
        assert MS < int(outcome.finish[0]) < MS + 300 * US


@pytest.mark.parametrize("late", [-1, 0, 1])
def test_frames_are_dropped_until_the_time_to_restore_has_passed(late: int) -> None:
    # The storm ends at 500 us; a flow whose first frame comes to the port before 550 us loses it.
    comes = 550 * US + late
    choices = PacketSettings(retry=MS, watchdog=Watchdog(after=100 * US, restore=50 * US))
    network, flows, limits, choices = storm(500 * US, choices)
    way = 2 * (US + 4064 * 80)  # two cables and two times a frame
    flows = replace(flows, sizes=column(4000, 4000), starts=column(comes - way, comes - way + MS))
    outcome = simulate(network, flows, limits, choices)
    assert outcome.ended
    assert outcome.watched == (late < 0)


def test_a_pause_shorter_than_the_watchdogs_patience_drops_nothing() -> None:
    choices = PacketSettings(retry=MS, watchdog=Watchdog(after=100 * US, restore=0))
    assert simulate(*storm(110 * US, choices)).watched == 0
    assert simulate(*storm(110 * US + 1, choices)).watched > 0


def test_a_watchdog_breaks_a_deadlock() -> None:
    network, flows, limits, choices = ring(LOCKING, 4_000_000)
    choices = replace(choices, retry=20 * MS)
    locked = simulate(network, flows, limits, choices, 200 * MS)
    assert not locked.ended
    watchdog = Watchdog(after=5 * MS, restore=5 * MS)
    broken = simulate(network, flows, limits, replace(choices, watchdog=watchdog), 4000 * MS)
    assert broken.ended
    assert broken.watched > 0


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems(), watchdogs, st.sampled_from([3 * US, 20 * US, NEVER]), st.data())
def test_both_engines_agree_where_watchdogs_bark(
    problem: Problem, watchdog: Watchdog, until: int, data: st.DataObject
) -> None:
    network, flows, limits, choices = problem
    links = sorted(set(network.links.tolist()))
    held = data.draw(st.lists(st.sampled_from(links), min_size=1, max_size=3, unique=True))
    storms = np.array([(link, -1, 0, until) for link in held], np.int64)
    flows = replace(flows, sizes=np.full(len(flows.sizes), 50_000, np.int64))
    harm = Harm(no_harm().losses, storms)
    choices = replace(choices, harm=harm, watchdog=watchdog)
    stormy = network, flows, limits, choices
    assert difference(simulate(*stormy, 3 * MS), simulate_reference(*stormy, 3 * MS)) is None
