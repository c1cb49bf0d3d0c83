"""What encrypting memory costs on this machine, in CPU time and beside a plain copy."""

from collections.abc import Callable, Sequence
from math import comb
from time import process_time_ns
from typing import Final

from ctestbed.core.result import Better, Metric
from ctestbed.tee.memory import KEY_SIZE, PAGE_SIZE, GuestMemory, KeySlots, MemoryController

DEFAULT_SIZE: Final = 8 * 2**20
DEFAULT_ROUNDS: Final = 9
_NS_PER_SECOND: Final = 10**9
_ERROR: Final = 0.05
_RATE: Final = "bytes per CPU second"


def measure_throughput(
    size: int = DEFAULT_SIZE, rounds: int = DEFAULT_ROUNDS
) -> tuple[Metric, ...]:
    """Time `rounds` guest writes of `size` bytes, encrypted and in clear, beside a plain copy.

    Each round times all three, so that a busy neighbour slows all alike. Values are medians,
    with the interval between order statistics that holds the true median 95 times in 100.
    """
    size = max(size // PAGE_SIZE, 1) * PAGE_SIZE
    keys = KeySlots(1)
    keys.install(1, bytes(range(KEY_SIZE)))
    controller = MemoryController(keys)
    private = GuestMemory(controller, asid=1, base=0, size=size)
    data = bytes(range(256)) * (size // 256)
    jobs: dict[str, Callable[[], object]] = {
        "memory.sm4_xts.throughput": lambda: private.write(0, data),
        "memory.plain.throughput": lambda: private.write_shared(0, data),
        "memory.copy.throughput": lambda: bytearray(data),
    }
    for job in jobs.values():
        job()  # the first use builds tables and fills caches
    rates: dict[str, list[int]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            rates[name].append(_bytes_per_second(job, size))
    sm4, plain, copy = rates.values()
    return (
        *(_timed(name, _RATE, "higher", samples) for name, samples in rates.items()),
        _timed("memory.sm4_xts.slowdown_over_plain", "ratio", "lower", _ratios(plain, sm4)),
        _timed("memory.sm4_xts.slowdown_over_copy", "ratio", "lower", _ratios(copy, sm4)),
    )


def _bytes_per_second(job: Callable[[], object], size: int) -> int:
    """Repeat `job` until 10 ms of CPU time have passed: a shorter span is all clock error."""
    done, start = 0, process_time_ns()
    while True:
        job()
        done += size
        elapsed = process_time_ns() - start
        if elapsed >= _NS_PER_SECOND // 100:
            return done * _NS_PER_SECOND // elapsed


def _ratios(numerators: list[int], denominators: list[int]) -> list[float]:
    return [round(a / b, 3) for a, b in zip(numerators, denominators, strict=True)]


def _timed(name: str, unit: str, better: Better, samples: Sequence[float]) -> Metric:
    return Metric(
        name,
        _median(samples),
        unit,
        provenance="measured",
        better=better,
        kind="timed",
        source="CPU time of this process (process_time), single thread",
        n=len(samples),
        ci95=median_interval(samples),
    )


def _median(samples: Sequence[float]) -> float:
    return sorted(samples)[(len(samples) - 1) // 2]


def median_interval(samples: Sequence[float]) -> tuple[float, float] | None:
    """Return the narrowest pair of order statistics holding the median at 95 % or more.

    It assumes nothing about the distribution; None where fewer than 6 samples cannot say.
    """
    ordered, n = sorted(samples), len(samples)
    outside, rank = 0.0, 0
    while rank < n // 2:
        outside += 2 * comb(n, rank) / 2**n
        if outside > _ERROR:
            break
        rank += 1
    return (ordered[rank - 1], ordered[n - rank]) if rank else None
