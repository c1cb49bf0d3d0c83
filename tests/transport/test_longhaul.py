"""What distance asks of a lossless link, against published figures and by hand."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.headroom import bandwidth_delay_product, paced_pause_buffer, pfc_buffer
from ctestbed.core.units import FIBRE_PS_PER_KM
from ctestbed.transport.laws.longhaul import (
    computed_pause,
    credit_limit,
    credits_needed,
    lossless_headroom,
    pause_overhead,
    pause_refreshes,
    pause_time,
    periodic_pause_buffer,
    pfc_buffer_unlike,
    reach,
)

US = 10**6
KM = 10**6  # mm


@pytest.mark.parametrize(
    ("rate", "microseconds"), [(100 * 10**9, 335.5), (400 * 10**9, 83.9), (800 * 10**9, 41.9)]
)
def test_longest_pause(rate: int, microseconds: float) -> None:
    assert float(pause_time(rate)) / US == pytest.approx(microseconds, abs=0.06)


@pytest.mark.parametrize(("gigabits", "times"), [(100, 5), (400, 18), (800, 36)])
def test_published_refreshes_at_150_km(gigabits: int, times: int) -> None:
    assert pause_refreshes(gigabits * 10**9, 750 * US) == times


def test_published_pause_overhead() -> None:
    """One pause of 64 B per 10 us takes 0.05 % of 100 Gb/s."""
    assert float(pause_overhead(100 * 10**9, 10 * US)) == pytest.approx(0.0005, abs=0.00005)


def test_published_reach_of_infiniband_credits() -> None:
    """A 12-bit field of 64 B blocks: half a window is 131,072 B, about 1 km at 100 Gb/s."""
    assert credit_limit() == 131_072
    length = reach(100 * 10**9, credit_limit())
    assert float(length) == pytest.approx(KM, rel=0.1)
    assert credits_needed(100 * 10**9, FIBRE_PS_PER_KM) == -(-125_000 // 64)


@pytest.mark.parametrize(("megabytes", "kilometres"), [(12, 24), (32, 64), (132, 264), (165, 330)])
def test_published_reach_of_a_chip(megabytes: int, kilometres: int) -> None:
    assert reach(400 * 10**9, megabytes * 10**6) == kilometres * KM


def test_published_buffers_of_long_links() -> None:
    rate, delay = 100 * 10**9, 400 * US
    assert bandwidth_delay_product(rate, delay) / 2**20 == pytest.approx(9.5, rel=0.01)
    assert (6 * 2**20 + bandwidth_delay_product(rate, delay)) / 2**20 == pytest.approx(
        15.5, rel=0.01
    )
    assert bandwidth_delay_product(40 * 10**9, 885 * US) == 8_850_000


@given(st.integers(1, 10**12), st.integers(0, 10**10), st.integers(1, 10**8))
def test_buffers_of_each_scheme(rate: int, delay: int, period: int) -> None:
    assert pfc_buffer_unlike(rate, rate, delay) == pfc_buffer(rate, delay)
    assert pfc_buffer_unlike(rate, 0, delay) == bandwidth_delay_product(rate, delay)
    assert periodic_pause_buffer(rate, delay, period) == paced_pause_buffer(rate, delay, period)
    assert periodic_pause_buffer(rate, delay, period, 0) == bandwidth_delay_product(rate, delay)


def test_headroom_of_a_real_port_is_a_little_more_than_the_round_trip() -> None:
    """150 km at 400 Gb/s: frames in flight and the response add less than 0.2 %."""
    exact = lossless_headroom(400 * 10**9, 750 * US, 9100, response_quanta=905)
    assert exact == 75_000_000 + 2 * 9100 + 64 + 905 * 64
    assert exact / 75_000_000 < 1.002


def test_computed_pauses_neither_overflow_nor_starve() -> None:
    """The law by hand, in steps of T, behind a drain that stops and starts: H = BDP + 2RT."""
    rate, period, steps = 100 * 10**9, 10 * US, 40
    per_step = Fraction(rate * period, 8 * 10**12)
    buffer = 2 * steps * per_step + 2 * per_step
    pipe = [Fraction(0)] * steps  # what was granted reaches the port one round trip later
    flying, queue, starved = Fraction(0), Fraction(0), 0
    for at in range(2000):
        granted, pause = computed_pause(rate, period, buffer, queue, flying)
        assert pause == period - granted / per_step * period
        pipe.append(granted)
        arrived = pipe.pop(0)
        flying += granted - arrived
        stopped = at % 700 < 300
        queue += arrived
        assert queue <= buffer
        sent = min(queue, per_step) if not stopped else Fraction(0)
        queue -= sent
        starved += not stopped and at > 3 * steps and sent < per_step
    assert starved == 0


def test_a_buffer_that_is_overdrawn_grants_nothing() -> None:
    granted, pause = computed_pause(10**11, US, Fraction(10), Fraction(8), Fraction(5))
    assert (granted, pause) == (Fraction(0), Fraction(US))
