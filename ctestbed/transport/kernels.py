"""Double-double arithmetic of the flow engine's kernels (106 bits; a pair high, low).

Sums and products are error-free transformations (Dekker 1971, Knuth TAOCP 2 4.2.2); they need
IEEE arithmetic as written, so no fast-math. A relative error of about 1e-31 per operation leaves a
picosecond in a second exact to some 1e-15 ps after ten thousand events.
"""

from ctestbed.core.jit import inner

SAME = 2.0**-30
"""Events closer than this many ps are one event."""

SURE = 2.0**-40
"""And two that differ by more than this, but less than SAME, are in doubt."""

_SPLITTER = 134217729.0  # 2^27 + 1


@inner
def add(a_high, a_low, b_high, b_low):  # type: ignore[no-untyped-def]
    """Return a + b."""
    total = a_high + b_high
    part = total - a_high
    low = (a_high - (total - part)) + (b_high - part) + a_low + b_low
    high = total + low
    return high, low - (high - total)


@inner
def multiply(a_high, a_low, b_high, b_low):  # type: ignore[no-untyped-def]
    """Return a * b."""
    product = a_high * b_high
    scaled = _SPLITTER * a_high
    a1 = scaled - (scaled - a_high)
    a2 = a_high - a1
    scaled = _SPLITTER * b_high
    b1 = scaled - (scaled - b_high)
    b2 = b_high - b1
    low = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2 + (a_high * b_low + a_low * b_high)
    high = product + low
    return high, low - (high - product)


@inner
def divide(a_high, a_low, b_high, b_low):  # type: ignore[no-untyped-def]
    """Return a / b: three quotient digits, each of a remainder."""
    first = a_high / b_high
    high, low = multiply(b_high, b_low, first, 0.0)
    rest_high, rest_low = add(a_high, a_low, -high, -low)
    second = rest_high / b_high
    high, low = multiply(b_high, b_low, second, 0.0)
    rest_high, rest_low = add(rest_high, rest_low, -high, -low)
    third = rest_high / b_high
    high, low = add(first, 0.0, second, 0.0)
    return add(high, low, third, 0.0)


def warm() -> None:
    """Compile nothing: these are compiled with the kernels that call them."""
