"""Coalesced acknowledgements: how many there are, and that flows end as soon with fewer."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.transport.packet.engine import simulate
from ctestbed.transport.packet.laws import CongestionControl
from ctestbed.transport.packet.problem import Harm, PacketSettings, no_harm
from ctestbed.transport.packet.reference import simulate_reference
from tests.transport.packet.problems import NEVER, chain

pytestmark = pytest.mark.numba

engines = pytest.mark.parametrize("run", [simulate, simulate_reference])
FRAME = 325_120  # ps: 4064 B at 100 Gb/s
ALONE = FRAME + 5_120 + 2 * 10**6  # a packet and its answer, over one cable of 1 us
CABLE = [(10**11, 10**6)]
PLAIN = PacketSettings(lossless=0, retry=10**9)
KINDS: dict[str, dict[str, Any]] = {
    "gbn": {},
    "sr": {"reliability": "sr"},
    "sprayed": {"reliability": "sr", "spray": True},
    "ec": {"reliability": "sr", "code": (8, 2)},
}
kinds = pytest.mark.parametrize("kind", KINDS)


def lost(first: int, last: int) -> Harm:
    """The packets of these numbers, of those sent at full rate from time 0 on, do not arrive."""
    begin = first * FRAME + FRAME // 2
    rows = np.array([[0, begin + 10**6, last * FRAME + FRAME // 2 + 10**6, 2**32]], np.int64)
    return Harm(rows, no_harm().storms)


@engines
@kinds
@pytest.mark.parametrize("every", [1, 2, 7, 64, 1000])
@pytest.mark.parametrize("packets", [1, 6, 7, 8, 250])
def test_a_lone_flow_is_acknowledged_so_often_and_ends_as_soon(
    run: Any, kind: str, every: int, packets: int
) -> None:
    choices = replace(PLAIN, **KINDS[kind])
    outcome = run(*chain(CABLE * 2, packets * 4000, replace(choices, ack_every=every)))
    alone = run(*chain(CABLE * 2, packets * 4000, choices))
    assert outcome.finish.tolist() == alone.finish.tolist()
    assert outcome.resent.tolist() == [0]
    sent = packets
    if kind == "ec":
        # The last group's parity comes when all is there, and is answered packet by packet.
        sent = packets + 2 * (-(-packets // 8) - 1)
        assert outcome.control_hops == 2 * (-(-sent // every) + 2)
    else:
        assert outcome.control_hops == 2 * -(-sent // every)


@engines
@pytest.mark.parametrize("kind", ["gbn", "sr", "sprayed"])
@pytest.mark.parametrize("window", [1, 3, 10])
def test_a_window_smaller_than_n_asks_for_an_answer(run: Any, kind: str, window: int) -> None:
    choices = replace(PLAIN, **KINDS[kind], max_in_flight=window, ack_every=64)
    outcome = run(*chain(CABLE, 30 * 4000, choices))
    # A window at once, and an answer to its last packet.
    assert outcome.finish.tolist() == [30 // window * ((window - 1) * FRAME + ALONE)]
    assert outcome.control_hops == 30 // window
    assert outcome.resent.tolist() == [0]


@engines
@pytest.mark.parametrize("law", ["hpcc", "swift", "nscc", "rcc"])
def test_no_law_waits_for_its_timer_where_n_is_large(run: Any, law: CongestionControl) -> None:
    choices = replace(PLAIN, reliability="sr", congestion=law, ack_every=10_000)
    outcome = run(*chain(CABLE * 2, 400_000, choices))
    assert outcome.resent.tolist() == [0]
    assert 0 < int(outcome.finish[0]) < choices.retry // 5


@engines
@kinds
def test_a_sender_asks_before_its_timer_sends_all_again(run: Any, kind: str) -> None:
    choices = replace(PLAIN, **KINDS[kind], ack_every=10**6, retry=50 * 10**6)
    outcome = run(*chain(CABLE, 1000 * 4000, choices))
    assert int(outcome.delivered[0]) > 5 * choices.retry
    assert outcome.resent.tolist() == [0]


@engines
@pytest.mark.parametrize("kind", ["gbn", "sr"])
@pytest.mark.parametrize(("first", "last"), [(0, 1), (17, 18), (30, 39)])
def test_what_is_missing_is_reported_at_once(run: Any, kind: str, first: int, last: int) -> None:
    choices = replace(PLAIN, **KINDS[kind], harm=lost(first, last), retry=NEVER)
    one, many = (
        run(*chain(CABLE, 100 * 4000, replace(choices, ack_every=every))) for every in (1, 1000)
    )
    assert one.perished == many.perished > 0
    assert one.delivered.tolist() == many.delivered.tolist()
    assert one.resent.tolist() == many.resent.tolist()
    assert many.control_hops < one.control_hops


@given(
    st.integers(1, 40), st.integers(1, 60), st.sampled_from(sorted(KINDS)), st.floats(0, 0.3),
    st.integers(0, 2**31),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_a_flow_ends_whatever_is_lost_either_way(
    every: int, packets: int, kind: str, share: float, seed: int
) -> None:
    rows = np.array([[link, 0, NEVER, int(share * 2**32)] for link in (0, 1)], np.int64)
    choices = replace(
        PLAIN, **KINDS[kind], ack_every=every, retry=20 * 10**6, seed=seed,
        harm=Harm(rows, no_harm().storms),
    )  # fmt: skip
    outcome = simulate_reference(*chain(CABLE, packets * 4000, choices), 10**12)
    assert outcome.ended
    assert outcome.finish[0] > outcome.delivered[0] > 0
