"""Closed forms against the published tables and against values worked out by hand."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.headroom import (
    LongHaulLink,
    bandwidth_delay_product,
    distance_carried,
    headroom_variants,
    mlx5e_xoff,
    operator_rule,
    paced_pause_buffer,
    pfc_buffer,
    sonic_occupancy,
    sonic_xoff,
)
from ctestbed.core.units import fibre_delay, parse_length, parse_rate, parse_time
from ctestbed.transport.laws.longhaul import pause_refreshes, pause_time

RATES = ("100Gbps", "200Gbps", "400Gbps", "800Gbps", "1600Gbps")
# Kilometres, round trip in us, MB per port and class. Printed to one decimal: 18.8 is 18.75.
PUBLISHED = [
    (80, 800, (10, 20, 40, 80, 160)),
    (100, 1000, (12.5, 25, 50, 100, 200)),
    (150, 1500, (18.75, 37.5, 75, 150, 300)),
    (300, 3000, (37.5, 75, 150, 300, 600)),
    (500, 5000, (62.5, 125, 250, 500, 1000)),
    (1000, 10000, (125, 250, 500, 1000, 2000)),
]


@pytest.mark.parametrize(("kilometres", "round_trip_us", "megabytes"), PUBLISHED)
def test_buffer_against_distance(
    kilometres: int, round_trip_us: int, megabytes: tuple[float, ...]
) -> None:
    delay = fibre_delay(parse_length(f"{kilometres}km"))
    assert 2 * delay == round_trip_us * 10**6
    for text, expected in zip(RATES, megabytes, strict=True):
        rate = parse_rate(text)
        assert bandwidth_delay_product(rate, delay) == expected * 10**6
        assert pfc_buffer(rate, delay) == 2 * expected * 10**6


@given(st.integers(1, 10**13), st.integers(0, 10**13))
def test_bdp_is_the_least_whole_number_of_bytes(rate: int, delay: int) -> None:
    size = bandwidth_delay_product(rate, delay)
    exact = Fraction(2 * rate * delay, 8 * 10**12)
    assert size - 1 < exact <= size
    assert pfc_buffer(rate, delay) <= 2 * size


@given(st.integers(1, 10**13), st.integers(0, 10**13))
def test_what_headroom_carries_is_the_longest_delay_that_fits(rate: int, headroom: int) -> None:
    delay = distance_carried(headroom, rate)
    assert bandwidth_delay_product(rate, delay) <= headroom
    assert bandwidth_delay_product(rate, delay + 1) > headroom or rate < 4 * 10**12


@pytest.mark.parametrize(
    ("text", "microseconds"), [("100Gbps", 335.5), ("400Gbps", 83.9), ("800Gbps", 41.9)]
)
def test_longest_pause(text: str, microseconds: float) -> None:
    rate = parse_rate(text)
    assert float(pause_time(rate)) == pytest.approx(microseconds * 10**6, rel=2e-3)
    assert pause_time(rate) * rate == 65535 * 512 * 10**12


def test_pause_is_refreshed_eighteen_times_per_round_trip() -> None:
    assert pause_refreshes(parse_rate("400Gbps"), parse_time("750us")) == 18


def test_htsim_headroom_case() -> None:
    """Hops of 125 us at 100 Gb/s: 2.8 MB lost packets in htsim, 7.6 MB did not."""
    needed = bandwidth_delay_product(parse_rate("100Gbps"), parse_time("125us"))
    assert needed == 3_125_000
    assert 2_800_000 < needed < 7_600_000


def test_sonic_formula_at_150_km() -> None:
    link = LongHaulLink(parse_rate("400Gbps"), parse_time("750us"), parse_length("150km"))
    cable = Fraction(2 * 150_000 * 400 * 10**9, 8 * 198_000_000)
    plain, cells = sonic_xoff(link), sonic_xoff(link, cell=144)
    assert plain is not None
    assert cells is not None
    assert plain == -(-(cable + 2 * 9100 + 905 * 64) // 1)
    assert float(cable) / 1e6 == pytest.approx(75.8, abs=0.05)
    assert cells / 1e6 == pytest.approx(170.6, abs=0.05)
    assert sonic_xoff(LongHaulLink(800 * 10**9, 1, 1)) is None
    assert sonic_xoff(LongHaulLink(10**11 + 1, 1, 1)) is None


def test_sonic_occupancy() -> None:
    assert sonic_occupancy(144, Fraction(1)) == Fraction(9, 4)
    assert sonic_occupancy(127, Fraction(1)) == Fraction(254, 128)
    assert sonic_occupancy(144, Fraction(0)) == 1


def test_sonic_cable_slope_is_that_of_a_shipped_profile() -> None:
    """MSN2700 (cells of 96 B) at 100G ships 30,720 B of XOFF headroom at 5 m, 104,448 at 300 m.

    Their difference needs no device term, which are not published.
    """
    far, near = (sonic_xoff(LongHaulLink(10**11, 0, metres * 1000), cell=96) for metres in (300, 5))
    assert far is not None
    assert near is not None
    assert far - near == pytest.approx(104_448 - 30_720, rel=1e-3)


def test_driver_and_operator_rules() -> None:
    link = LongHaulLink(100 * 10**9, 500_000, 100_000, mtu=1500)
    assert mlx5e_xoff(link) == (301 + 216) * 100 + 4080
    assert operator_rule(link) == 13_000 + 3_000 + 3_840
    # The driver's cable term is 1.73 times the bytes in the fibre, both ways.
    longer = LongHaulLink(100 * 10**9, 0, 1_100_000, mtu=1500)
    slope = Fraction(mlx5e_xoff(longer) - mlx5e_xoff(link), 1000 * 100)
    assert float(slope / Fraction(5, 4)) == pytest.approx(1.73, abs=0.005)


def test_paced_pause_needs_less_than_plain_pfc() -> None:
    rate, delay = parse_rate("100Gbps"), parse_time("400us")
    assert paced_pause_buffer(rate, delay, parse_time("10us")) == 10_250_000
    assert paced_pause_buffer(rate, delay, 0) == bandwidth_delay_product(rate, delay)


def test_variants_lead_with_the_convention_and_say_what_is_unpublished() -> None:
    link = LongHaulLink(parse_rate("800Gbps"), parse_time("750us"), parse_length("150km"))
    variants = headroom_variants(link)
    assert variants[0].size == 150_000_000
    assert {v.name for v in variants if v.size is None} == {"SONiC", "SONiC, 144 B cells"}
    assert all(v.source for v in variants)
