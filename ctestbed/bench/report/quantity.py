"""Quantities in views: with units, and UNKNOWN where nobody knows."""

from collections.abc import Callable
from typing import TypeAlias

from ctestbed.core.units import (
    format_length,
    format_power,
    format_rate,
    format_size,
    format_time,
)

Quantity: TypeAlias = int | str | None


def _show(value: Quantity, write: Callable[[int], str]) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else write(value)


def show_time(value: Quantity) -> str:
    """Write picoseconds."""
    return _show(value, format_time)


def show_rate(value: Quantity) -> str:
    """Write bit/s; long fractions are cut to four digits for people."""
    return _show(value, lambda rate: _short(rate) if rate > 10**6 else format_rate(rate))


def show_size(value: Quantity) -> str:
    """Write bytes."""
    return _show(value, format_size)


def show_length(value: Quantity) -> str:
    """Write millimetres."""
    return _show(value, format_length)


def show_power(value: Quantity) -> str:
    """Write milliwatts; long fractions are cut to four digits for people."""
    return _show(value, _short_power)


def _short_power(power: int) -> str:
    exact = format_power(power) if power else "0 W"
    if len(exact) <= len("123.4 kW"):
        return exact
    for unit, scale in (("MW", 10**9), ("kW", 10**6), ("W", 10**3)):
        if power >= scale:
            return f"{power / scale:,.2f} {unit}"
    return exact


def _short(rate: int) -> str:
    exact = format_rate(rate)
    if len(exact) <= len("1234.5 Gb/s"):
        return exact
    for unit, scale in (("Pb/s", 10**15), ("Tb/s", 10**12), ("Gb/s", 10**9), ("Mb/s", 10**6)):
        if rate >= scale:
            return f"{rate / scale:.2f} {unit}"
    return exact
