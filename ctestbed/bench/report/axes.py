"""Axes of charts: round ticks, short figures, and a scale that stays inside its box."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

MAX_MAGNITUDE: Final = 1e300
"""Larger figures are left out of charts: their differences would overflow."""

_SUFFIXES: Final = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SHORT: Final = 1e5
"""Figures from here on are written with a suffix."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear scale from `low`..`high` to the pixels `start`..`stop`, with its ticks."""

    low: float
    high: float
    start: float
    stop: float
    ticks: tuple[float, ...]

    def place(self, value: float) -> float:
        """Return the pixel of `value`, held inside the axis."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.stop - self.start)


def drawable(value: float) -> bool:
    """Tell whether a chart can show `value`: finite and not absurdly large."""
    return math.isfinite(value) and abs(value) <= MAX_MAGNITUDE


def build_axis(
    values: Sequence[float], start: float, stop: float, *, with_zero: bool, steps: int = 5
) -> Axis:
    """Return an axis over `values`, widened to round ticks.

    `with_zero` makes it start at zero, as bars must; otherwise it does so only where zero is near.
    """
    low, high = min(values, default=0.0), max(values, default=1.0)
    if with_zero or 0 <= low <= 0.4 * high:
        low = min(low, 0.0)
    if with_zero or 0.4 * low <= high <= 0:
        high = max(high, 0.0)
    size = max(abs(low), abs(high))
    if high - low <= 1e-9 * size or high - low < 1e-300:  # noqa: PLR2004 - below this, one value
        low, high = (0.0, size * 2 or 1.0) if low >= 0 else (-size * 2, 0.0)
    if high - low < 1e-300:  # noqa: PLR2004 - too small for a step that is a normal number
        low, high = 0.0, 1.0
    step = _round_step((high - low) / steps)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(index * step for index in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], start, stop, ticks)


def _round_step(raw: float) -> float:
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10, 20) if factor * power >= raw)


def format_figure(value: float) -> str:
    """Write a figure in few characters: `0.25`, `1,500`, `75M`, `1e+21`."""
    size = abs(value)
    if size >= _SHORT:
        for scale, suffix in _SUFFIXES:
            if scale <= size < scale * 1000:
                return f"{value / scale:.3g}{suffix}"
        return f"{value:.3g}"
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.4g}" if size >= 1e-4 else f"{value:.2g}"  # noqa: PLR2004 - decimals end here


def thin_out(points: Sequence[tuple[float, float]], limit: int = 1200) -> list[tuple[float, float]]:
    """Keep at most about `limit` points: the ends of each stretch, its lowest and its highest."""
    if len(points) <= limit:
        return list(points)
    bounds = [round(index * len(points) / (limit // 4)) for index in range(limit // 4 + 1)]
    kept: list[tuple[float, float]] = []
    for begin, end in pairwise(bounds):
        stretch = range(begin, end)
        low = min(stretch, key=lambda index: points[index][1])
        high = max(stretch, key=lambda index: points[index][1])
        kept += [points[index] for index in sorted({begin, low, high, end - 1})]
    return kept
