"""Erasure codes: what they add, what they save, and how often a group must be repeated."""

from dataclasses import replace
from math import comb
from typing import Any

import numpy as np
import pytest

from ctestbed.transport.packet.engine import simulate
from ctestbed.transport.packet.problem import Harm, PacketOutcome, PacketSettings
from ctestbed.transport.packet.reference import simulate_reference
from tests.transport.packet.problems import NEVER, chain

pytestmark = pytest.mark.numba

engines = pytest.mark.parametrize("run", [simulate, simulate_reference])
FRAME = 325_120  # ps: 4064 B at 100 Gb/s
CODED = PacketSettings(lossless=0, reliability="sr", code=(8, 2), retry=10**9)


def lossy(run: Any, packets: int, share: float, **other: Any) -> PacketOutcome:
    """A flow over one cable that loses this share on the way there, and nothing on the way back."""
    losses = np.array([[0, 0, NEVER, int(share * 2**32)]], np.int64)
    harm = Harm(losses, np.zeros((0, 4), np.int64))
    settings = replace(CODED, harm=harm, **other)
    outcome: PacketOutcome = run(*chain([(10**11, 10**6)], packets * 4000, settings), 10**12)
    assert outcome.ended
    return outcome


@engines
@pytest.mark.parametrize("packets", [1, 7, 8, 9, 16, 40])
def test_a_lone_flow_waits_for_the_parity_of_all_groups_but_its_last(
    run: Any, packets: int
) -> None:
    outcome = run(*chain([(10**11, 10**6)], packets * 4000, CODED))
    before = packets + 2 * (-(-packets // 8) - 1)
    assert outcome.delivered.tolist() == [before * FRAME + 10**6]
    assert outcome.finish.tolist() == [before * FRAME + 5_120 + 2 * 10**6]
    assert outcome.resent.tolist() == [0]
    assert outcome.data_hops == packets + 2 * -(-packets // 8)


@engines
@pytest.mark.parametrize(("lost", "again"), [(1, 0), (2, 0), (3, 1), (5, 3)])
def test_as_many_losses_as_there_is_parity_cost_nothing(run: Any, lost: int, again: int) -> None:
    delay = 1000
    begin = 2 * FRAME + 2 * delay
    dead = np.array([[0, begin, begin + (lost - 1) * FRAME + 10, 2**32]], np.int64)
    harm = Harm(dead, np.zeros((0, 4), np.int64))
    outcome = run(*chain([(10**11, delay)], 32_000, replace(CODED, harm=harm)))
    assert outcome.perished == lost
    assert outcome.resent.tolist() == [again]
    if again == 0:  # as many packets of parity stand in
        assert outcome.delivered.tolist() == [(8 + lost) * FRAME + delay]


def test_what_is_asked_again_is_what_groups_lack_on_average() -> None:
    loss, groups = 0.1, 2000
    outcome = lossy(simulate, 8 * groups, loss, retry=10**10)
    chance = {lost: comb(10, lost) * loss**lost * (1 - loss) ** (10 - lost) for lost in range(11)}
    mean = sum((lost - 2) * p for lost, p in chance.items() if lost > 2)
    square = sum((lost - 2) ** 2 * p for lost, p in chance.items() if lost > 2)
    # What is sent again may be lost again, and is then asked for by time with what else is unknown.
    expected = groups * mean
    sigma = (groups * (square - mean**2)) ** 0.5
    assert expected - 4 * sigma < int(outcome.resent[0]) < 1.5 * expected + 4 * sigma
    plain = lossy(simulate, 8 * groups, loss, retry=10**10, code=(0, 0))
    assert int(plain.resent[0]) > 8 * groups * loss * 0.9


@engines
def test_a_flow_ends_whatever_is_lost(run: Any) -> None:
    outcome = lossy(run, 24, 0.4, retry=10**8)
    assert (outcome.finish >= 0).all()
    assert (outcome.finish > outcome.delivered).all()
