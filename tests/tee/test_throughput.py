"""The measure of what encryption costs: its form and its statistics, never its speed."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.timing import median_interval
from ctestbed.tee.throughput import measure_throughput


def test_every_figure_says_what_it_is() -> None:
    metrics = {metric.name: metric for metric in measure_throughput(64 * 1024, 6)}
    assert list(metrics) == [
        "memory.guest_write.throughput",
        "memory.plain.throughput",
        "memory.copy.throughput",
        "memory.guest_write.slowdown_over_plain",
        "memory.guest_write.slowdown_over_copy",
    ]
    for metric in metrics.values():
        assert (metric.provenance, metric.kind, metric.n) == ("measured", "timed", 6)
        assert not isinstance(metric.value, str)
        assert metric.ci95 is not None
        assert 0 < metric.ci95[0] <= metric.value <= metric.ci95[1]
    assert metrics["memory.guest_write.throughput"].unit == "bytes per CPU second"
    canonical = metrics["memory.guest_write.throughput"].to_dict(canonical=True)
    assert not {"value", "n", "ci95"} & set(canonical)


@pytest.mark.parametrize("size", [0, 1, 4097])
def test_a_size_is_taken_as_whole_pages(size: int) -> None:
    assert len(measure_throughput(size, 1)) == 5


@given(st.permutations(range(12)), st.integers(0, 12))
def test_the_interval_is_of_order_statistics_that_hold_the_median(order: list[int], n: int) -> None:
    samples = sorted(order[:n])
    found = median_interval(order[:n])
    coverage = {  # of the interval that leaves `rank` samples out on either side
        rank: 1 - 2 * sum(comb(n, k) for k in range(rank + 1)) / 2**n for rank in range(n // 2)
    }
    good = [rank for rank, held in coverage.items() if held >= 0.95]
    expected = (samples[max(good)], samples[n - 1 - max(good)]) if good else None
    assert found == expected
