"""`sim longhaul`: simulated points against the closed forms, reach, and what is refused."""

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.core.errors import InputError
from ctestbed.core.headroom import bandwidth_delay_product
from ctestbed.workload.chips import load_chips
from ctestbed.workload.headroom_solve import solve_headroom
from ctestbed.workload.longhaul import LongHaulRequest, run_longhaul
from ctestbed.workload.longhaul_point import Point, delay_of, lossless_need, simulate_point

KM = 10**6
G = 10**9


def points(**given: Any) -> list[dict[str, Any]]:
    asked: dict[str, Any] = {"distance": "150km", "rate": "400Gbps", "search": False} | given
    return list(run_longhaul(LongHaulRequest(**asked)).data["points"])


# Facts: 400 Gb/s over 150 km is 75 MB a round trip, and plain PFC takes two.
@pytest.mark.parametrize(
    ("buffer", "verdict"),
    [("60MB", "loses"), ("76MB", "starves"), ("149MB", "starves"), ("151MB", "full rate")],
)
def test_pfc_takes_two_round_trips(buffer: str, verdict: str) -> None:
    (point,) = points(scheme="pfc", buffer=buffer)
    assert point["verdict"] == verdict
    assert point["provenance"] == "simulated"
    assert point["peak"] <= point["buffer"]


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([10, 25, 100, 400, 800]),
    st.integers(1, 60),
    st.sampled_from([1024, 1500, 4160, 9100]),
    st.floats(0.2, 3),
)
def test_idle_time_is_what_the_buffer_lacks(rate: int, length: int, mtu: int, part: float) -> None:
    """With XON = XOFF the way out is idle for a round trip less what stands below XOFF."""
    trip = bandwidth_delay_product(rate * G, delay_of(length * KM))
    need = lossless_need(rate * G, length * KM, mtu)
    seen = simulate_point(Point("pfc", rate * G, length * KM, need + int(part * trip), mtu))
    assert seen.lost == 0
    lacking = max(0.0, (1 - part) * trip) * 8e12 / (rate * G)
    assert seen.idle == pytest.approx(lacking, abs=8 * mtu * 8e12 / (rate * G) + 8e6)


def test_too_small_a_buffer_loses_whatever_xoff_is() -> None:
    need = lossless_need(100 * G, 80 * KM, 4160)
    assert simulate_point(Point("pfc", 100 * G, 80 * KM, need - 4 * 4160, 4160)).lost > 0
    assert simulate_point(Point("pfc", 100 * G, 80 * KM, need, 4160)).lost == 0


def test_lossy_schemes_lose_and_go_back_n_pays_for_it() -> None:
    by_scheme = {point["scheme"]: point for point in points(scheme="none", buffer="50MB")}
    assert {point["verdict"] for point in by_scheme.values()} == {"loses"}
    assert by_scheme["gbn"]["share"] < by_scheme["sr"]["share"] <= 1


# Facts: efficiency of go-back-N at 150 km and 400 Gb/s with 4,096 B.
@pytest.mark.parametrize(
    ("loss", "share"), [("1e-7", 0.998), ("1e-6", 0.982), ("1e-5", 0.845), ("1e-4", 0.353)]
)
def test_go_back_n_at_a_loss_rate(loss: str, share: float) -> None:
    gbn, sr = points(scheme="none", mtu="4096B", loss=loss)
    assert gbn["lossy_share"] == pytest.approx(share, abs=6e-4)
    assert sr["lossy_share"] == pytest.approx(1 - float(loss), abs=1e-6)


def test_reach_by_simulation_is_that_of_the_closed_form() -> None:
    result = run_longhaul(LongHaulRequest("10km", "400Gbps,800Gbps", "pfc", "75MB"))
    for one in result.data["breaks"]:
        assert one["full_rate_simulated"] == pytest.approx(one["full_rate"], rel=0.003)
        assert one["lossless_simulated"] == pytest.approx(one["lossless"], rel=0.003)
    figures = {metric.name: metric for metric in result.metrics}
    reached = figures["longhaul.pfc.break_distance"]
    assert reached.provenance == "simulated"
    # Two round trips of 800 Gb/s at 10 us per km there and back: 2 MB per km.
    assert reached.value == pytest.approx(37.5 * KM, rel=0.003)


# Facts, section 5.4: the distance at which one round trip of 400 Gb/s fills the whole chip.
@pytest.mark.parametrize(("buffer", "km"), [(12, 24), (32, 64), (132, 264), (165, 330)])
def test_credits_reach_one_round_trip(buffer: int, km: int) -> None:
    request = LongHaulRequest("1km", "400Gbps", "cbfc", f"{buffer}MB")
    (one,) = run_longhaul(request).data["breaks"]
    assert one["full_rate"] == km * KM
    assert buffer * 10**6 in {chip.buffer for chip in load_chips()}


@pytest.mark.parametrize("scheme", ["cbfc", "bifrost"])
@pytest.mark.parametrize("share", [0.9, 1.1])
def test_credits_and_computed_pauses_hold_where_their_laws_say(scheme: str, share: float) -> None:
    (shown,) = points(scheme=scheme, buffer="100MB")
    buffer = int(shown["needed"] * share)
    (point,) = points(scheme=scheme, buffer=f"{buffer}B")
    assert point["provenance"] == "simulated"
    assert point["lost"] == 0 or share < 1
    assert (point["verdict"] == "full rate") == (share > 1)


@pytest.mark.parametrize("scheme", ["cbfc", "bifrost"])
def test_reach_of_credits_and_computed_pauses_is_simulated_too(scheme: str) -> None:
    request = LongHaulRequest("1km", "400Gbps", scheme, "40MB")
    (one,) = run_longhaul(request).data["breaks"]
    assert one["full_rate_simulated"] == pytest.approx(one["full_rate"], rel=0.03)


def test_a_buffer_that_no_chip_has_is_said_so() -> None:
    (point,) = points(scheme="cbfc", distance="9000km", rate="1Tbps", buffer="1MB", mtu="65535B")
    assert point["fits"] == "no known chip"


def test_canonical_data_do_not_vary() -> None:
    request = LongHaulRequest("1km,40km,80km", "100Gbps,200Gbps,400Gbps", search=False)
    one, other = (json.dumps(run_longhaul(request).data) for _ in range(2))
    assert one == other


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"rate": "0Gbps"}, "CTB-S140"),
        ({"rate": "1bps"}, "CTB-S140"),
        ({"rate": "400"}, "CTB-C003"),
        ({"distance": "-1km"}, "CTB-C002"),
        ({"distance": ""}, "CTB-C001"),
        ({"distance": "1e30km"}, "CTB-C005"),
        ({"distance": "200000km"}, "CTB-S140"),
        ({"distance": "90000km", "rate": "10Tbps"}, "CTB-S140"),
        ({"distance": ",".join(f"{n}m" for n in range(500))}, "CTB-S140"),
        ({"scheme": "token"}, "CTB-S140"),
        ({"scheme": ""}, "CTB-S140"),
        ({"buffer": "1B"}, "CTB-S140"),
        ({"buffer": "2000TB"}, "CTB-S140"),
        ({"buffer": "9999999TB"}, "CTB-C005"),
        ({"mtu": "64B"}, "CTB-S140"),
        ({"mtu": "65536B"}, "CTB-S140"),
        ({"loss": "1"}, "CTB-S140"),
        ({"loss": "nan"}, "CTB-S140"),
        ({"loss": "1e-999999999"}, "CTB-S140"),
        ({"loss": "x"}, "CTB-S140"),
    ],
)
def test_nonsense_is_refused(given: dict[str, str], code: str) -> None:
    with pytest.raises(InputError) as caught:
        points(**given)
    assert caught.value.code == code


# Hops of 125 us at 100 Gb/s: 3.125 MB a round trip; the published pair of sizes lies about it.
def test_headroom_of_long_hops_is_found_by_simulation() -> None:
    solved = solve_headroom(100 * G, 125 * 10**6, 4160)
    assert solved.lossless == pytest.approx(3_125_000, rel=0.02)
    for headroom, lost in ((2_800_000, True), (7_600_000, False)):
        assert (headroom < solved.lossless) is lost
        seen = simulate_point(Point("pfc", 100 * G, 25 * KM, headroom, 4160))
        assert (seen.lost > 0) is lost


def test_headroom_of_150_km_is_the_round_trip_and_the_frames_in_flight() -> None:
    solved = solve_headroom(400 * G, 750 * 10**6, 9100)
    closed = 75_000_000 + 3 * 9100 + 64
    assert Fraction(abs(solved.lossless - closed), closed) < Fraction(2, 1000)
