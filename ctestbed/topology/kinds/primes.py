"""Prime powers: the orders that fields have."""


def prime_power(q: int) -> tuple[int, int] | None:
    """Return (p, m) with q = p^m and p prime, or None: only such orders have a field."""
    if q < 2:  # noqa: PLR2004 - the smallest prime
        return None
    p = next((d for d in range(2, int(q**0.5) + 1) if q % d == 0), q)
    m, rest = 0, q
    while rest % p == 0:
        rest //= p
        m += 1
    return (p, m) if rest == 1 else None


def nearest_prime_powers(q: int) -> str:
    """Return a hint that names the orders next to q which a Slim Fly can have."""

    def fits(value: int) -> bool:
        return value % 4 != 2 and prime_power(value) is not None  # noqa: PLR2004 - 4w + delta

    below = next((value for value in range(q - 1, 2, -1) if fits(value)), None)
    above = next(value for value in range(q + 1, 4 * q) if fits(value))
    return f"use {above}" if below is None else f"use {below} or {above}"
