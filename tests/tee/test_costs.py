"""What the memory benchmark times: every model, block size and platform, and nothing unlabelled."""

import pytest

from ctestbed.core.result import Metric
from ctestbed.tee.costs import BLOCKS, measure_costs
from ctestbed.tee.names import PLATFORMS

MODELS = ("sm4_xts", "sm4_xex", "aes_xts", "aes_xex", "aes_xe", "aes_xts.mac", "aes_xts.owner",
          "aes_xts.mac_owner", "aes_xts.tree")  # fmt: skip


@pytest.fixture(scope="module")
def costs() -> dict[str, Metric]:
    return {metric.name: metric for metric in measure_costs(1)}


def test_each_model_is_timed_at_each_block_size_and_beside_plain(costs: dict[str, Metric]) -> None:
    for model in MODELS:
        for access in ("read", "write"):
            for size in BLOCKS:
                rate = costs[f"memory.{model}.{access}.{size}.throughput"].value
                plain = costs[f"memory.plain.{access}.{size}.throughput"].value
                slower = costs[f"memory.{model}.{access}.{size}.slowdown_over_plain"].value
                assert not isinstance(rate, str)
                assert not isinstance(plain, str)
                assert slower == pytest.approx(plain / rate, rel=0.01, abs=0.001)


def test_platforms_launch_exit_and_copy(costs: dict[str, Metric]) -> None:
    for platform in PLATFORMS:
        assert f"memory.launch.{platform.replace('-', '_')}.throughput" in costs
    assert {name for name in costs if name.startswith("memory.accept.")} == {
        f"memory.accept.{name}.throughput" for name in ("snp", "tdx", "cca", "virtcca")
    }
    assert costs["memory.exit.snp.rate"].unit == "exits per CPU second"
    assert "memory.shared_copy.sm4_xts.64KiB.throughput" in costs


def test_what_is_timed_is_measured_and_what_is_quoted_is_claimed(costs: dict[str, Metric]) -> None:
    for name, metric in costs.items():
        quoted = name.startswith("memory.published.")
        assert metric.provenance == ("claimed" if quoted else "measured")
        assert (metric.kind == "timed") is not quoted
        assert metric.source


def test_latency_is_the_inverse_of_the_rate(costs: dict[str, Metric]) -> None:
    rate = costs["memory.aes_xts.read.64B.throughput"].value
    span = costs["memory.aes_xts.read.64B.latency"].value
    assert not isinstance(rate, str)
    assert span == pytest.approx(64 / rate, rel=0.01)
