"""Timing that a report can stand behind: repeated CPU time, a median and its interval."""

from collections.abc import Callable, Mapping, Sequence
from math import comb
from time import process_time_ns
from typing import Final

NS_PER_SECOND: Final = 10**9
_ERROR: Final = 0.05
_SPAN_NS: Final = NS_PER_SECOND // 100
"""A shorter span than this is mostly clock error."""


def sample_rates(
    jobs: Mapping[str, tuple[Callable[[], object], int]], rounds: int
) -> dict[str, list[float]]:
    """Time jobs in interleaved rounds, and return each one's units per CPU second.

    `jobs` maps a name to a function and the units of work of one call. Each round times all of
    them, so that a busy neighbour slows all alike; every job has run once before the first.
    """
    for job, _ in jobs.values():
        job()
    rates: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, (job, units) in jobs.items():
            rates[name].append(_rate(job, units))
    return rates


def _rate(job: Callable[[], object], units: int) -> float:
    done, start = 0, process_time_ns()
    while True:
        job()
        done += units
        elapsed = process_time_ns() - start
        if elapsed >= _SPAN_NS:
            return done * NS_PER_SECOND / elapsed


def median(samples: Sequence[float]) -> float:
    """Return the lower median, which is one of the samples."""
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
