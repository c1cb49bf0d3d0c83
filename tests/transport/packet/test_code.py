"""Erasure codes: what they add, what they save, and how often a group must be repeated."""

from dataclasses import replace
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest

from ctestbed.transport.laws.reliability import (
    ChunkedWrite,
    code_failure,
    erasure_time,
    parity_share,
)
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


@pytest.mark.parametrize(("data", "parity", "loss"), [(8, 2, 0.05), (32, 8, 0.1), (4, 1, 0.02)])
def test_a_write_is_repeated_as_often_as_the_closed_form_says(
    data: int, parity: int, loss: float
) -> None:
    # A write of one group falls back on repetition if more than `parity` packets of it are lost.
    law = code_failure(loss, data, parity)
    writes = 1500
    again = sum(
        int(lossy(simulate, data, loss, code=(data, parity), seed=seed, retry=10**10).resent[0] > 0)
        for seed in range(writes)
    )
    assert abs(again - writes * law) < 4 * (writes * law * (1 - law)) ** 0.5


def test_a_long_write_takes_as_long_as_the_closed_form_says_or_a_little_less() -> None:
    # facts/fabric.md 1.4: (M + ceil(M / R)) Tinj + P(fall back) (RTT + wait RTT) + E[T_sr]. Our
    # receiver asks at the end of each group and not of the write: `wait` is nothing.
    data, parity, loss, groups, far = 8, 2, 0.03, 25, 10**9
    write = ChunkedWrite(data * groups, FRAME, 2 * far, 2 * far, loss)
    law = erasure_time(write, data, parity, wait=Fraction(0))
    took = []
    for seed in range(300):
        losses = np.array([[0, 0, NEVER, int(loss * 2**32)]], np.int64)
        choices = replace(
            CODED, seed=seed, retry=10**11, harm=Harm(losses, np.zeros((0, 4), np.int64))
        )
        took.append(
            int(simulate(*chain([(10**11, far)], data * groups * 4000, choices)).delivered[0])
        )
    # The law counts no way to the receiver, and two round trips for what one brings.
    least = (data + parity) * groups * FRAME
    fallback = 1 - (1 - code_failure(loss, data, parity)) ** groups
    assert least * 0.98 + far + 0.9 * fallback * 2 * far < np.mean(took) < law + far


def test_the_published_share_of_parity_is_what_is_sent() -> None:
    # Row L17: of EC(32, 8) 20 % of the bytes sent is parity.
    # Over a cable so long that the sender does not hear in time which parity is not needed.
    outcome = simulate(*chain([(10**11, 10**8)], 32 * 50 * 4000, replace(CODED, code=(32, 8))))
    sent = int(outcome.ports.sent_bytes[0, 0])
    assert (sent - 32 * 50 * 4064) / sent == pytest.approx(float(parity_share(32, 8)), abs=1e-12)
    assert parity_share(32, 8) == Fraction(1, 5)


@engines
def test_a_flow_ends_whatever_is_lost(run: Any) -> None:
    outcome = lossy(run, 24, 0.4, retry=10**8)
    assert (outcome.finish >= 0).all()
    assert (outcome.finish > outcome.delivered).all()
