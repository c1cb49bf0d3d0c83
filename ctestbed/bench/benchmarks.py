"""The benchmarks: each returns metrics timed here, in CPU seconds of one thread."""

from collections.abc import Callable
from typing import Final

from ctestbed.core.result import Metric
from ctestbed.core.timing import median, median_interval, sample_rates

ROUNDS: Final = 9
_SOURCE: Final = "CPU time of this process (process_time), single thread"
_SAMPLE: Final = 16 * 1024


def run_benchmark(name: str) -> tuple[Metric, ...]:
    """Run one benchmark of the catalogue by name."""
    return _RUNNERS[name]()


def _rates(unit: str, jobs: dict[str, tuple[Callable[[], object], int]]) -> tuple[Metric, ...]:
    return tuple(
        Metric(
            name,
            median(samples),
            unit,
            "measured",
            "higher",
            "timed",
            source=_SOURCE,
            n=len(samples),
            ci95=median_interval(samples),
        )
        for name, samples in sample_rates(jobs, ROUNDS).items()
    )


def _memory() -> tuple[Metric, ...]:
    from ctestbed.crypto import gmssl_oracle
    from ctestbed.crypto.throughput import PAGE_SIZE, RATE_UNIT, measure_ciphers
    from ctestbed.tee.costs import measure_costs
    from ctestbed.tee.throughput import DEFAULT_SIZE, measure_throughput

    key, data = bytes(range(16)), bytes(_SAMPLE)
    baselines = _rates(
        RATE_UNIT,
        {
            "memory.gmssl_sm4.throughput": (
                lambda: gmssl_oracle.sm4_ecb_encrypt(key, data),
                _SAMPLE,
            ),
            "memory.gmssl_sm3.throughput": (
                lambda: gmssl_oracle.sm3(data[:PAGE_SIZE]),
                PAGE_SIZE,
            ),
        },
    )
    ciphers = measure_ciphers(DEFAULT_SIZE, ROUNDS)
    return (*ciphers, *baselines, *measure_throughput(), *measure_costs())


def _attestation() -> tuple[Metric, ...]:
    from ctestbed.bench.trust import attest_demonstration, judge_demonstration

    vm = attest_demonstration(1, memory=2**21, image_size=2**18).vm
    return _rates(
        "reports per CPU second",
        {
            "attestation.verify.rate": (lambda: judge_demonstration(vm), 1),
            "attestation.launch_and_report.rate": (
                lambda: attest_demonstration(1, memory=2**21, image_size=2**18),
                1,
            ),
        },
    )


def _fabric() -> tuple[Metric, ...]:
    from ctestbed.topology.build import build_topology
    from ctestbed.topology.load import load_testbed
    from ctestbed.topology.validate import validate_testbed

    loaded = load_testbed("kunlun-32k")
    cables = build_topology(loaded).link_count
    return _rates(
        "cables per CPU second",
        {
            "fabric.build.rate": (lambda: build_topology(loaded), cables),
            "fabric.validate.rate": (lambda: validate_testbed(loaded), cables),
        },
    )


def _transfer() -> tuple[Metric, ...]:
    from ctestbed.topology.build import load_topology
    from ctestbed.workload.drive import drive

    _, topology = load_topology("fat-tree-1024")
    flows = topology.endpoints
    return _rates(
        "flows per CPU second",
        {
            f"transfer.{spread}.rate": (
                lambda spread=spread: drive(  # type: ignore[misc]
                    topology, "permutation", 2_000_000, spread, seed=1
                ),
                flows,
            )
            for spread in ("balanced", "ecmp")
        },
    )


_RUNNERS: Final[dict[str, Callable[[], tuple[Metric, ...]]]] = {
    "memory": _memory,
    "attestation": _attestation,
    "fabric": _fabric,
    "transfer": _transfer,
}
