"""Exact-integer quantities: bit/s, bytes, picoseconds, millimetres, milliwatts.

Text is read through `Decimal` and must come out whole, or it is refused. What people confuse is
refused with the reason: a bare number, `64M` (MB or MiB?), a small `b` for a size.
"""

import re
from collections.abc import Mapping
from decimal import Context, Decimal
from typing import Final, NewType

from ctestbed.core.errors import InputError, Where

BitsPerSecond = NewType("BitsPerSecond", int)
Bytes = NewType("Bytes", int)
Picoseconds = NewType("Picoseconds", int)
Millimetres = NewType("Millimetres", int)
Milliwatts = NewType("Milliwatts", int)

MAX_QUANTITY: Final = 2**62
"""The largest quantity kept: sums of two still fit a signed 64-bit column."""

PS_PER_SECOND: Final = 10**12
FIBRE_PS_PER_KM: Final = 5_000_000
"""One-way delay of a kilometre of fibre where a link gives no refractive index."""

_LIGHT_M_PER_S: Final = 299_792_458

_DECIMAL: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_RATE_BITS: Final = ("bps", "bit/s", "b/s")
_RATES: Final = {
    f"{prefix}{suffix}": scale for prefix, scale in _DECIMAL.items() for suffix in _RATE_BITS
} | {f"{prefix}B/s": 8 * scale for prefix, scale in (_DECIMAL | _BINARY).items()}
_SIZES: Final = {f"{prefix}B": scale for prefix, scale in (_DECIMAL | _BINARY).items()}
_TIMES: Final = {
    "ps": 1,
    "ns": 10**3,
    "us": 10**6,
    "µs": 10**6,
    "μs": 10**6,
    "ms": 10**9,
    "s": 10**12,
    "min": 60 * 10**12,
    "h": 3600 * 10**12,
}
_LENGTHS: Final = {"mm": 1, "cm": 10, "m": 1000, "km": 10**6}
_POWERS: Final = {"mW": 1, "W": 10**3, "kW": 10**6, "MW": 10**9}
_QUANTITY: Final = re.compile(
    r"\s*([+-]?[0-9][0-9_]{0,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?)\s*(\S{0,12})\s*"
)
_EXACT: Final = Context(prec=200)
"""Wide enough that no accepted number times a unit is ever rounded."""


def parse_rate(text: str | int, where: Where | None = None) -> BitsPerSecond:
    """Read a rate in bit/s: `400Gbps`, `400 Gb/s`, `50GB/s` (bytes, converted)."""
    return BitsPerSecond(_parse(text, _RATES, "rate", "400Gbps", where))


def parse_size(text: str | int, where: Where | None = None) -> Bytes:
    """Read a size in bytes: `64MiB`, `2MB`, `4096B`."""
    return Bytes(_parse(text, _SIZES, "size", "64MiB", where))


def parse_time(text: str | int, where: Where | None = None) -> Picoseconds:
    """Read a duration in picoseconds: `750us`, `1.5ms`, `1h`."""
    return Picoseconds(_parse(text, _TIMES, "time", "750us", where))


def parse_length(text: str | int, where: Where | None = None) -> Millimetres:
    """Read a length in millimetres: `150km`, `2.5m`."""
    return Millimetres(_parse(text, _LENGTHS, "length", "150km", where))


def parse_power(text: str | int, where: Where | None = None) -> Milliwatts:
    """Read a power in milliwatts: `16W`, `3.5kW`."""
    return Milliwatts(_parse(text, _POWERS, "power", "16W", where))


def _parse(
    text: str | int, scales: Mapping[str, int], what: str, example: str, where: Where | None
) -> int:
    match = _QUANTITY.fullmatch(str(text)) if not isinstance(text, bool) else None
    if match is None:
        raise InputError(
            "CTB-C001",
            f"{text!r} is not a {what}",
            where=where,
            hint=f"write a number and a unit, such as `{example}`",
        )
    number, unit = match.groups()
    value = Decimal(number.replace("_", ""))
    if value == 0 and not unit:
        return 0
    if value < 0:
        raise InputError(
            "CTB-C002",
            f"{text!r} is negative, and a {what} cannot be",
            where=where,
            hint=f"write it as `{example}`",
        )
    if unit not in scales:
        raise _unit_error(str(text), unit, what, example, where)
    exact = _EXACT.multiply(value, Decimal(scales[unit]))
    if exact != exact.to_integral_value():
        raise InputError(
            "CTB-C004",
            f"{text!r} is not a whole number of {_BASE[what]}",
            where=where,
            hint="quantities are kept as exact integers; use a smaller unit or fewer digits",
        )
    if exact > MAX_QUANTITY:
        raise InputError(
            "CTB-C005",
            f"{text!r} is larger than any {what} ctestbed can hold ({MAX_QUANTITY} {_BASE[what]})",
            where=where,
            hint="check the unit prefix",
        )
    return int(exact)


_BASE: Final = {"rate": "bit/s", "size": "bytes", "time": "ps", "length": "mm", "power": "mW"}


def _unit_error(text: str, unit: str, what: str, example: str, where: Where | None) -> InputError:
    if not unit:
        reason, hint = "has no unit", f"write the unit, such as `{example}`"
    elif what == "size" and unit in {"k", "K", "M", "G", "T", "P"}:
        prefix = unit.upper().replace("K", "k")
        reason = "is ambiguous"
        hint = f"`{prefix}B` (powers of 1000) or `{unit.upper()}iB` (powers of 1024)?"
    elif what == "size" and unit.endswith(("b", "bit", "bits")):
        reason, hint = "reads as bits, and a size is in bytes", "write `B` for bytes"
    elif what == "rate" and unit.endswith("Bps"):
        prefix = unit.removesuffix("Bps")
        reason = "is ambiguous"
        hint = f"`{prefix}B/s` (bytes) or `{prefix}bps` (bits)?"
    elif what == "rate" and unit in {"k", "K", "M", "G", "T"}:
        reason, hint = "is ambiguous", f"`{unit}bps` (bits) or `{unit}B/s` (bytes)?"
    elif what == "time" and unit == "m":
        reason, hint = "is ambiguous", "`min` (minutes) or `ms` (milliseconds)?"
    else:
        reason, hint = f"has an unknown unit `{unit}`", f"write it like `{example}`"
        close = {known.lower(): known for known in _units_of(what)}.get(unit.lower())
        if close is not None:
            hint = f"units are case-sensitive: did you mean `{close}`?"
    return InputError("CTB-C003", f"{what} {text!r} {reason}", where=where, hint=hint)


def _units_of(what: str) -> Mapping[str, int]:
    known = {"rate": _RATES, "size": _SIZES, "time": _TIMES, "length": _LENGTHS, "power": _POWERS}
    return known[what]


def format_rate(value: int) -> str:
    """Write bit/s with the largest prefix that keeps the number exact and short."""
    return _format(value, [(f"{p}b/s", s) for p, s in _DECIMAL.items()])


def format_size(value: int) -> str:
    """Write bytes exactly, with whichever of decimal and binary prefixes makes it shorter."""
    decimal = _format(value, [(f"{p}B", s) for p, s in _DECIMAL.items()])
    for prefix, scale in reversed(_BINARY.items()):
        if value and value % scale == 0:
            return min(decimal, f"{value // scale} {prefix}B", key=len)
    return decimal


def format_time(value: int) -> str:
    """Write picoseconds exactly, in the largest unit up to seconds that keeps it short."""
    return _format(value, [(u, _TIMES[u]) for u in ("ps", "ns", "us", "ms", "s")])


def format_length(value: int) -> str:
    """Write millimetres exactly in mm, m or km."""
    return _format(value, [(u, _LENGTHS[u]) for u in ("mm", "m", "km")])


def format_power(value: int) -> str:
    """Write milliwatts exactly in mW, W, kW or MW."""
    return _format(value, list(_POWERS.items()))


def _format(value: int, scales: list[tuple[str, int]]) -> str:
    if value < 0:
        return f"-{_format(-value, scales)}"
    unit, scale = scales[0]
    for unit, scale in reversed(scales):  # noqa: B007 - the last pair tried is the one used
        if value >= scale:
            break
    exact = _EXACT.divide(Decimal(value), Decimal(scale)).normalize(_EXACT)
    return f"{exact:f} {unit}"


def fibre_delay(length: Millimetres, refractive_index: Decimal | None = None) -> Picoseconds:
    """Return the one-way delay of a fibre: 5 us per km, or from its refractive index.

    Rounded up to a whole picosecond, since a bound on delay must not be optimistic.

    Raises:
        InputError: a fibre so long that its delay cannot be held.
    """
    if refractive_index is None:
        delay = -(-length * FIBRE_PS_PER_KM // 10**6)
    else:
        numerator, denominator = refractive_index.as_integer_ratio()
        delay = -(-length * numerator * 10**9 // (denominator * _LIGHT_M_PER_S))
    if delay > MAX_QUANTITY:
        raise InputError(
            "CTB-C005",
            f"light takes longer over {format_length(length)} than the {MAX_QUANTITY} ps that"
            " ctestbed can hold",
            hint="check the unit prefix of the length",
        )
    return Picoseconds(delay)


def transmission_time(size: int, rate: int) -> Picoseconds:
    """Return the time to put `size` bytes on a wire of `rate` bit/s, rounded up to 1 ps."""
    return Picoseconds(-(-size * 8 * PS_PER_SECOND // rate))
