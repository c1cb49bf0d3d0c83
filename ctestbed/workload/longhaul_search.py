"""The longest cable over which a scheme with a given buffer still holds, by bisection of runs."""

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from ctestbed.workload.longhaul_point import Point, Simulated, simulate_point

PRECISION: Final = 1_000
"""The search ends at one part in so many of the expected length."""
_Task = TypeVar("_Task")
_Answer = TypeVar("_Answer")
_FEW: Final = 8
"""Runs that one process has done before others have started."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Bit/s, bytes, and the length in mm by closed form; `lossless`: starving is allowed."""

    scheme: Simulated
    rate: int
    buffer: int
    mtu: int
    lossless: bool
    expected: int


@dataclass(frozen=True, slots=True)
class Found:
    """The longest length in mm that holds, -1 if it lies beyond twice the expected; the runs."""

    length: int
    runs: int


def find_reach(task: Reach) -> Found:
    """Bisect between nothing and twice the expected length."""
    low, high, runs = 0, 2 * task.expected, 1
    if _holds(task, high):
        return Found(-1, runs)
    while high - low > max(1, task.expected // PRECISION):
        middle = (low + high) // 2
        runs += 1
        if _holds(task, middle):
            low = middle
        else:
            high = middle
    return Found(low, runs)


def _holds(task: Reach, length: int) -> bool:
    seen = simulate_point(Point(task.scheme, task.rate, length, task.buffer, task.mtu))
    return seen.lost == 0 and (task.lossless or seen.idle == 0)


def map_all(work: Callable[[_Task], _Answer], tasks: Sequence[_Task]) -> list[_Answer]:
    """Return the answers in order, worked out on all processors where there are many."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if len(tasks) <= _FEW or not cores or cores == 1:
        return [work(task) for task in tasks]
    from ctestbed.transport.packet.engine import load_kernel

    load_kernel()  # compiled once, before many would each compile it
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(cores, len(tasks)), mp_context=context) as pool:
        return list(pool.map(work, tasks))
