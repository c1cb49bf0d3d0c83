"""What encrypting memory costs on this machine, in CPU time and beside a plain copy."""

from collections.abc import Callable
from typing import Final

from ctestbed.core.result import Metric
from ctestbed.core.timing import sample_rates
from ctestbed.crypto import bulk
from ctestbed.crypto.throughput import RATE_UNIT, timed_metric
from ctestbed.tee.controller.controller import MemoryController, Parts
from ctestbed.tee.controller.engine import XTSByPage
from ctestbed.tee.controller.guest import GuestMemory
from ctestbed.tee.controller.keys import KeySlots
from ctestbed.tee.controller.replies import PAGE_SIZE

DEFAULT_SIZE: Final = 8 * 2**20
DEFAULT_ROUNDS: Final = 9


def measure_throughput(
    size: int = DEFAULT_SIZE, rounds: int = DEFAULT_ROUNDS
) -> tuple[Metric, ...]:
    """Time `rounds` guest writes of `size` bytes, encrypted and in clear, beside a plain copy.

    Each round times all three, so that a busy neighbour slows all alike. Values are medians,
    with the interval between order statistics that holds the true median 95 times in 100.
    """
    bulk.prepare()
    size = max(size // PAGE_SIZE, 1) * PAGE_SIZE
    engine = XTSByPage("SM4")
    keys = KeySlots(1, engine.key_size)
    keys.install(1, bytes(range(engine.key_size)))
    private = GuestMemory(MemoryController(Parts(keys, engine)), slot=1, base=0, size=size)
    data = bytes(range(256)) * (size // 256)
    jobs: dict[str, Callable[[], object]] = {
        "memory.guest_write.throughput": lambda: private.write(0, data),
        "memory.plain.throughput": lambda: private.write_shared(0, data),
        "memory.copy.throughput": lambda: bytearray(data),
    }
    rates = sample_rates({name: (job, size) for name, job in jobs.items()}, rounds)
    written, plain, copy = rates.values()
    return (
        *(timed_metric(name, RATE_UNIT, "higher", samples) for name, samples in rates.items()),
        timed_metric(
            "memory.guest_write.slowdown_over_plain", "ratio", "lower", _ratios(plain, written)
        ),
        timed_metric(
            "memory.guest_write.slowdown_over_copy", "ratio", "lower", _ratios(copy, written)
        ),
    )


def _ratios(numerators: list[float], denominators: list[float]) -> list[float]:
    return [round(a / b, 3) for a, b in zip(numerators, denominators, strict=True)]
