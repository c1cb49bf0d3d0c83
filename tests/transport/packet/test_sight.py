"""What the packet engines write down for people: looks, first pauses, and time without credit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from ctestbed.transport.packet.engine import simulate
from ctestbed.transport.packet.problem import Harm, PacketSettings, no_harm
from ctestbed.transport.packet.reference import simulate_reference
from ctestbed.transport.packet.sight import plan_looks
from tests.transport.packet.problems import NEVER, Problem, chain, problems

US = 10**6
FRAME = 325_120
"""ps: 4,064 B at 100 Gb/s."""

unhurried = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.numba
@pytest.mark.parametrize("buffer", [2, 5, 20])
def test_a_link_without_credit_stands_still_for_all_the_time_it_does_not_send(buffer: int) -> None:
    choices = PacketSettings(flow_control="cbfc", retry=NEVER)
    problem = chain([(10**11, 10 * US), (10**11, US)], 400_000, choices, xoff=buffer * 4064, room=0)
    for run in (simulate, simulate_reference):
        outcome = run(*problem)
        # The last frame leaves its sender a cable, a frame and a cable before it is delivered.
        sent = int(outcome.delivered[0]) - 10 * US - FRAME - US
        assert outcome.ports.stalled[:, 0].tolist() == [sent - 100 * FRAME, 0, 0, 0]


def test_no_link_stands_still_for_credit_where_there_is_enough_of_it() -> None:
    choices = PacketSettings(flow_control="cbfc", retry=NEVER)
    outcome = simulate_reference(*chain([(10**11, US)] * 3, 400_000, choices, xoff=10**6, room=0))
    assert not outcome.ports.stalled.any()


def stormy(until: int) -> Problem:
    """Five cables in a row, whose last receiver storms from the start."""
    storm = np.array([[8, -1, 0, until]], np.int64)
    choices = PacketSettings(retry=NEVER, harm=Harm(no_harm().losses, storm), looks=64)
    return chain([(10**11, US)] * 5, 4_000_000, choices, xoff=40_640, room=10**6)


def test_a_storm_goes_up_the_path_a_cable_at_a_time() -> None:
    outcome = simulate_reference(*stormy(10**9), 2 * 10**9)
    first = outcome.ports.first_pause[:, 0]
    # Who sends on links 6, 4, 2 and 0 is paused one after the other, each because of the next.
    assert outcome.ports.links.tolist() == list(range(10))
    assert NEVER > first[0] > first[2] > first[4] > first[6] > 0
    assert (first[[1, 3, 5, 7, 8, 9]] == NEVER).all()
    assert outcome.ports.cause[[0, 2, 4, 6], 0].tolist() == [2, 4, 6, 8]
    # Each switch takes ten frames before it pauses; a frame's time each, and the way there.
    assert first[6] == 4 * US + (11 + 3) * FRAME


def test_what_is_only_too_much_has_no_cause() -> None:
    problem = chain(
        [(10**11, US), (10**10, US)], 400_000, PacketSettings(), xoff=40_640, room=10**6
    )
    outcome = simulate_reference(*problem)
    assert outcome.ports.first_pause[0, 0] < NEVER
    assert (outcome.ports.cause == -1).all()


def test_looks_see_what_waits_and_who_is_held() -> None:
    outcome = simulate_reference(*stormy(500 * US))
    sights = outcome.sights
    assert sights is not None
    times = np.arange(1, len(sights.all_waiting) + 1) * sights.step
    in_storm = times < 500 * US
    assert sights.held[in_storm, 8].all()
    assert not sights.held[times > 520 * US, 8].any()
    assert (sights.waiting.sum(axis=1) <= sights.all_waiting).all()
    # 4 MB in packets of 4 kB: nothing comes while the storm lasts, all of it by the end.
    assert not sights.delivered[in_storm].any()
    assert 3_500_000 < sights.delivered[-1] <= 4_000_000


@unhurried
@given(problems())
def test_looks_are_bounded_and_never_see_more_than_the_most(problem: Problem) -> None:
    network, flows, limits, choices = problem
    choices = replace(choices, looks=6)
    outcome = simulate_reference(network, flows, limits, choices, 3 * 10**9)
    sights = outcome.sights
    assert sights is not None
    assert len(sights.all_waiting) < 6
    assert sights.step % plan_looks(network, flows, choices)[0] == 0
    if len(sights.waiting):
        most = outcome.ports.waiting_max.sum(axis=1)
        assert (sights.waiting.max(axis=0) <= most).all()
        assert (np.diff(sights.delivered) >= 0).all()
        assert sights.delivered[-1] <= flows.sizes.sum() + choices.payload * sum(choices.code)


@unhurried
@given(problems())
def test_causes_of_pauses_began_before(problem: Problem) -> None:
    outcome = simulate_reference(*problem, 3 * 10**9)
    ports = outcome.ports
    row_of = {link: row for row, link in enumerate(ports.links.tolist())}
    for row, klass in np.argwhere(ports.cause >= 0).tolist():
        cause = row_of[int(ports.cause[row, klass])]
        # It leaves the node that was told... whose receiver paused it before, or a storm did.
        assert int(ports.links[row]) != int(ports.cause[row, klass])
        if problem[3].harm is None:
            assert ports.first_pause[cause, klass] < ports.first_pause[row, klass]
