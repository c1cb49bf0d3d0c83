"""Closed forms against published figures, against simulation by hand, and against each other."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.transport.laws.balance import hashing_imbalance, slowed_by
from ctestbed.transport.laws.buffers import (
    SharedSwitch,
    dynamic_pause_threshold,
    dynamic_reserve,
    dynamic_threshold,
    fixed_marking_before_pause,
    loop_lock_rate,
    marking_before_pause,
    static_pause_threshold,
)
from ctestbed.transport.laws.crossing import (
    compute_step,
    flat_ring_crossing,
    hierarchical_crossing,
    performance,
    pipeline_crossing,
    pipeline_step,
    warmed_pipeline_crossing,
)
from ctestbed.transport.laws.packet import (
    Framing,
    Link,
    delivery_time,
    goodput,
    lone_completion,
    receiver_floor,
    sending_time,
)
from ctestbed.transport.laws.reliability import (
    ChunkedWrite,
    chunk_loss,
    code_failure,
    erasure_time,
    go_back_n_efficiency,
    one_timeout_slowdown,
    parity_share,
    sample_selective_repeat,
    selective_repeat_efficiency,
    selective_repeat_time,
    window_packets,
)

MS = 10**9
CABLE = (10**11, 10**6)
"""100 Gb/s and 1 us: every link of the published scenarios."""


# --- packets over idle links


def test_published_lone_flows_to_the_picosecond() -> None:
    """htsim printed 85.615 us for 1 MB over 2 links; 2 MB over 6 links take 176.216 us."""
    assert lone_completion(10**6, [CABLE] * 2) == 85_615_360
    assert lone_completion(2 * 10**6, [CABLE] * 6) == 176_216_320


def test_published_incast_floor() -> None:
    """S1: 8,000 packets of 325.12 ns at the receiver."""
    assert receiver_floor([10**6] * 32, 10**11) == 2_600_960_000


def test_published_uec_framing() -> None:
    """UEC counts the header into its 4,000 B: 509 packets for 2 MB, and 85.636 us for 1 MB."""
    framing = Framing(payload=3936, header=64)
    assert framing.packets(2 * 10**6) == 509
    assert float(lone_completion(10**6, [CABLE] * 2, framing)) == pytest.approx(85.636e6, abs=500)


links = st.lists(
    st.tuples(st.sampled_from([10**9, 10**10, 25 * 10**9, 10**11]), st.integers(0, 10**7)),
    min_size=1,
    max_size=5,
)


def by_hand(size: int, path: list[Link], framing: Framing) -> tuple[Fraction, Fraction]:
    """Send every packet and every acknowledgement over every link, one after another."""
    count = framing.packets(size)
    there = [Fraction(0)] * count
    packets = [framing.full] * (count - 1) + [framing.last(size)]
    answers = [framing.acknowledgement] * count
    delivered = Fraction(0)
    for way, sizes in ((path, packets), (path[::-1], answers)):
        for rate, delay in way:
            free = Fraction(0)
            for at in range(count):
                free = max(free, there[at]) + sending_time(sizes[at], rate)
                there[at] = free + delay
        delivered = delivered or there[-1]
    return delivered, there[-1]


@given(
    st.integers(1, 40_000),
    links,
    st.builds(Framing, st.integers(500, 4000), st.integers(64, 200), st.just(64)),
)
def test_lone_flow_is_what_packets_by_hand_take(
    size: int, path: list[Link], framing: Framing
) -> None:
    assert (delivery_time(size, path, framing), lone_completion(size, path, framing)) == by_hand(
        size, path, framing
    )


def test_goodput_of_a_full_link() -> None:
    assert goodput(10**11, 4000, 64) == Fraction(10**11 * 4000, 4064)


# --- buffers


def test_published_thresholds_of_dcqcn() -> None:
    """12 MB, 32 ports, 22.4 KB of headroom: XOFF at most 24.47 KB, ECN below 21.7 KB (beta 8)."""
    switch = SharedSwitch(12 * 10**6, 32, Fraction(22_400))
    assert static_pause_threshold(switch) == 24_475
    assert float(marking_before_pause(switch, Fraction(8))) == pytest.approx(21_750, rel=1e-3)
    # The paper prints 0.85 KB here, which does not follow from its formula.
    assert float(fixed_marking_before_pause(switch)) == pytest.approx(765, abs=1)
    assert dynamic_pause_threshold(switch, Fraction(8), Fraction(0)) == switch.shared


def test_published_dynamic_threshold() -> None:
    """Azure: alpha 1/8 on an 18 MB pool; one congested queue pauses at 2.0 MB."""
    assert dynamic_threshold(18 * 10**6, Fraction(1, 8), 1) == 2 * 10**6


@given(st.integers(1, 10**9), st.fractions(Fraction(1, 128), 8), st.integers(1, 500))
def test_dynamic_threshold_is_alpha_times_what_is_free(
    buffer: int, alpha: Fraction, queues: int
) -> None:
    threshold = dynamic_threshold(buffer, alpha, queues)
    assert threshold == alpha * (buffer - queues * threshold)
    assert threshold == alpha * dynamic_reserve(buffer, alpha, queues)
    assert 0 < dynamic_reserve(buffer, alpha, queues) < buffer


def test_published_loop_lock() -> None:
    """A loop of 2 links of 40 Gb/s with TTL 16 locks above 5 Gb/s."""
    assert loop_lock_rate(40 * 10**9, 2, 16) == 5 * 10**9


# --- reliability


@pytest.mark.parametrize(
    ("exponent", "slow", "fast"),
    [(7, 0.998, 0.996), (6, 0.982, 0.965), (5, 0.845, 0.732), (4, 0.353, 0.215)],
)
def test_published_go_back_n_at_150_km(exponent: int, slow: float, fast: float) -> None:
    """Packets of 4,096 B, 750 us one way, at 400 and at 800 Gb/s."""
    loss = Fraction(1, 10**exponent)
    for gigabits, expected in ((400, slow), (800, fast)):
        window = window_packets(gigabits * 10**9, 750 * 10**6, 4096)
        efficiency = go_back_n_efficiency(loss, window)
        assert float(efficiency) == pytest.approx(expected, abs=0.001)
        assert efficiency < selective_repeat_efficiency(loss) == 1 - loss


@given(st.fractions(0, 1), st.integers(1, 10**6))
def test_go_back_n_is_the_mean_of_what_a_loss_wastes(loss: Fraction, window: int) -> None:
    """A packet gets through after p / (1 - p) losses on average, each of which wastes W sends."""
    if loss == 1:
        return
    sends = 1 + loss / (1 - loss) * window
    assert go_back_n_efficiency(loss, Fraction(window)) == 1 / sends


def test_published_chunk_loss() -> None:
    exact = chunk_loss(Fraction(1, 10**5), 16)
    assert float(exact) == pytest.approx(1.6e-4, rel=0.01)
    assert chunk_loss(1e-5, 16) == pytest.approx(float(exact), rel=1e-9)
    assert parity_share(32, 8) == Fraction(1, 5)


def write_128mib(loss: float, round_trips: int = 3) -> ChunkedWrite:
    """128 MiB at 400 Gb/s in chunks of 64 KiB over 25 ms."""
    injection = 65536 * 8 * 10**12 // (400 * 10**9)
    return ChunkedWrite(2048, injection, 25 * MS, round_trips * 25 * MS, loss)


def test_published_slowdown_of_one_timeout() -> None:
    assert float(one_timeout_slowdown(write_128mib(0.0))) == pytest.approx(3.71, rel=0.005)


@pytest.mark.parametrize("loss", [1e-5, 1e-3, 0.05, 0.6])
@pytest.mark.parametrize("round_trips", [1, 3])
def test_selective_repeat_s_expectation_is_the_mean_of_draws(loss: float, round_trips: int) -> None:
    write = write_128mib(loss, round_trips)
    drawn = sample_selective_repeat(write, 1500, seed=1)
    spread = 5 * drawn.std() / np.sqrt(len(drawn)) + 1
    assert abs(drawn.mean() - selective_repeat_time(write)) < spread
    assert drawn.min() >= write.ideal


@given(st.integers(1, 40), st.integers(1, 10**6), st.integers(0, 10**7), st.floats(0, 0.9))
def test_selective_repeat_never_beats_the_ideal(
    chunks: int, injection: int, round_trip: int, loss: float
) -> None:
    write = ChunkedWrite(chunks, injection, round_trip, 3 * round_trip, loss)
    time = selective_repeat_time(write)
    assert time >= write.ideal * (1 - 1e-12)
    if loss == 0:
        assert time == write.ideal
    if chunks == 1:  # one geometric number of attempts
        expected = write.ideal + write.again * loss / (1 - loss)
        assert time == pytest.approx(expected, rel=1e-9)


def test_selective_repeat_refuses_certain_loss() -> None:
    with pytest.raises(ValueError, match="never ends"):
        selective_repeat_time(write_128mib(1.0))


@given(st.floats(0, 1), st.integers(1, 40), st.integers(0, 10))
def test_a_code_fails_when_more_than_its_parity_is_lost(
    loss: float, data: int, parity: int
) -> None:
    failure = code_failure(loss, data, parity)
    assert -1e-12 <= failure <= 1 + 1e-9
    if parity == 0:
        assert failure == pytest.approx(1 - (1 - loss) ** data, abs=1e-9)


def test_erasure_code_pays_parity_first_and_repeats_seldom() -> None:
    clean = write_128mib(0.0)
    assert erasure_time(clean, 32, 8) == pytest.approx(1.25 * 2048 * clean.injection)
    lossy = write_128mib(0.01)
    coded = erasure_time(lossy, 32, 8) + lossy.round_trip
    assert coded == pytest.approx(erasure_time(clean, 32, 8) + lossy.round_trip, rel=1e-3)
    assert coded < selective_repeat_time(lossy) / 3
    hopeless = write_128mib(0.5)
    assert erasure_time(hopeless, 32, 8) > selective_repeat_time(hopeless)


def test_erasure_time_is_the_mean_of_draws() -> None:
    """Blocks fail by lot; those that failed are sent again by selective repeat."""
    write = ChunkedWrite(128, 1000, 10**6, 3 * 10**6, 0.12)
    generator = np.random.default_rng(5)
    fixed = (128 + 64) * 1000
    failed = (generator.binomial(12, write.loss, (3000, 16)) > 4).sum(axis=1)
    total = 0.0
    for count in failed.tolist():
        if count:
            again = ChunkedWrite(count * 8, 1000, 10**6, 3 * 10**6, write.loss)
            total += 1.5e6 + selective_repeat_time(again)
    mean = fixed + total / len(failed)
    assert erasure_time(write, 8, 4) == pytest.approx(mean, rel=0.1)


# --- hashing


@pytest.mark.parametrize(("flows", "ratio"), [(16, 3.1), (64, 1.95), (256, 1.47), (1000, 1.23)])
def test_published_hashing_imbalance(flows: int, ratio: float) -> None:
    """Sixteen links; Meta reports more than 1.2 with 1,000 flows."""
    drawn = hashing_imbalance(16, flows, 3000, seed=7)
    assert drawn.mean == pytest.approx(ratio, rel=0.015)
    assert drawn.low <= drawn.mean <= drawn.high
    if flows == 1000:
        assert (drawn.low, drawn.high) == pytest.approx((1.136, 1.344), abs=0.02)
        assert drawn.mean > 1.2


def test_hashing_on_one_link_is_even() -> None:
    drawn = hashing_imbalance(1, 10, 50, seed=0)
    assert (drawn.mean, drawn.low, drawn.high, drawn.trials) == (1.0, 1.0, 1.0, 50)


# --- crossing between sites


def test_published_costs_of_distance() -> None:
    """1T parameters in BF16 between two sites: 5 s on 8 links of 400G, 0.63 on 64, 0.16 on 256."""
    for links, seconds in ((8, 5.0), (64, 0.63), (256, 0.16)):
        time = hierarchical_crossing(2, 2 * 10**12, links * 400 * 10**9, 0)
        assert float(time) / 10**12 == pytest.approx(seconds, rel=0.03)
    assert hierarchical_crossing(2, 0, 1, 750, 50) == 2 * 800


def test_published_pipeline_at_150_km() -> None:
    """p = 8, m = 256, 30 ms of passes: strict 1F1B loses 2.4 %, one more microbatch 0.02 %."""
    delay, step = 750 * 10**6, pipeline_step(256, 8, 30 * MS)
    assert pipeline_crossing(256, 8, 7, delay) / step == pytest.approx(0.024, abs=0.0005)
    assert warmed_pipeline_crossing(delay) / step == pytest.approx(0.0002, abs=0.00002)


def test_published_flat_ring() -> None:
    """256 ranks, 8 slots: 127.5 D by the law (a step simulation gave 124); 4 D without a limit."""
    assert flat_ring_crossing(256, 8, 1000) == 127_500
    assert flat_ring_crossing(256, None, 1000) == flat_ring_crossing(256, 10**6, 1000) == 4000


def test_what_overlap_hides_costs_nothing() -> None:
    crossing = hierarchical_crossing(2, 2 * 10**11, 800 * 10**9, 2500 * 10**6)
    step = 20 * 10**12
    assert performance(step, crossing, int(crossing)) == 1
    assert performance(step, crossing) == Fraction(step) / (step + crossing)
    assert compute_step(10**9, 10**6, 100, 10**14, Fraction(1, 2)) == 6 * 10**15 * 10**12 // (
        5 * 10**15
    )


def test_two_flows_on_one_link_halve_the_speed_of_what_they_carry() -> None:
    assert slowed_by(Fraction(1), Fraction(2)) == Fraction(1, 2)
    assert slowed_by(Fraction(1, 2), Fraction(2)) == Fraction(1, 3)
    assert slowed_by(Fraction(1, 2), Fraction(1)) == 0
