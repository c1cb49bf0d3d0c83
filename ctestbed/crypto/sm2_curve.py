"""The curve sm2p256v1 (GB/T 32918.5-2017) over Python integers. Variable-time.

A point is an affine pair (x, y), or None at infinity. Jacobian triples (X, Y, Z) with
x = X/Z**2 and y = Y/Z**3 (Z = 0 at infinity) stay inside this module; their formulas are
dbl-2001-b and madd of the Explicit-Formulas Database, for a = -3.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

P = 0xFFFFFFFE_FFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFF_00000000_FFFFFFFF_FFFFFFFF
A = P - 3
B = 0x28E9FA9E_9D9F5E34_4D5A9E4B_CF6509A7_F39789F5_15AB8F92_DDBCBD41_4D940E93
N = 0xFFFFFFFE_FFFFFFFF_FFFFFFFF_FFFFFFFF_7203DF6B_21C6052B_53BBF409_39D54123
G = (
    0x32C4AE2C_1F198119_5F990446_6A39C994_8FE30BBF_F2660BE1_715A4589_334C74C7,
    0xBC3736A2_F4F6779C_59BDCEE3_6B692153_D0A9877C_C62A4740_02DF32E5_2139F0A0,
)

Affine: TypeAlias = tuple[int, int]
Jacobian: TypeAlias = tuple[int, int, int]
Multiples: TypeAlias = dict[int, Affine]


class Table(NamedTuple):
    """Multiples of a point: row i holds digit * 2**(bits * i) of every signed digit of `bits`."""

    bits: int
    rows: list[Multiples]


_INFINITY: Jacobian = (1, 1, 0)

# Of the base point: 43 additions a product, 1,376 points, built in about 15 ms. Wider windows cost
# a process that checks a handful of signatures more than they save.
_BASE_BITS = 6
# Of a point that many products are of: 33 additions, 4,224 points, built in about 30 ms.
_WIDE_BITS = 8

_NAF_BITS = 5


def is_on_curve(x: int, y: int) -> bool:
    """Tell whether (x, y) is a point: coordinates reduced, and y**2 = x**3 + ax + b.

    The cofactor is 1, so every such point has order N.
    """
    return 0 <= x < P and 0 <= y < P and (y * y - (x * x + A) * x - B) % P == 0


def multiply_base(scalar: int) -> Affine:
    """Return scalar * G; a multiple of N, whose product is infinite, is a ValueError."""
    return _normalize([_add_base(_INFINITY, scalar % N)])[0]


def multiply(scalar: int, point: Affine, table: Table | None = None) -> Affine | None:
    """Return scalar * point, by way of its `table` if there is one."""
    total = _multiply(scalar % N, point, table)
    return _normalize([total])[0] if total[2] else None


def multiply_add(
    base_scalar: int, scalar: int, point: Affine, table: Table | None = None
) -> Affine | None:
    """Return base_scalar * G + scalar * point, by way of the point's `table` if there is one."""
    total = _add_base(_multiply(scalar % N, point, table), base_scalar % N)
    return _normalize([total])[0] if total[2] else None


def add(left: Affine | None, right: Affine | None) -> Affine | None:
    """Return the sum of two points."""
    if left is None or right is None:
        return left or right
    total = _add((*left, 1), right)
    return _normalize([total])[0] if total[2] else None


def build_table(point: Affine, bits: int = _WIDE_BITS) -> Table:
    """Return the table of a point of which many products are to be taken."""
    starts: list[Jacobian] = [(*point, 1)]
    for _ in range(256 // bits):  # a row more than digits, for the last one's carry
        start = starts[-1]
        for _ in range(bits):
            start = _double(start)
        starts.append(start)
    width = 1 << (bits - 1)
    points: list[Jacobian] = []
    for start_point in _normalize(starts):
        multiple = _INFINITY
        for _ in range(width):
            multiple = _add(multiple, start_point)
            points.append(multiple)
    affine = _normalize(points)
    rows = [
        _with_negatives(enumerate(affine[first : first + width], start=1))
        for first in range(0, len(affine), width)
    ]
    return Table(bits, rows)


def _double(point: Jacobian) -> Jacobian:
    x, y, z = point
    delta = z * z % P
    gamma = y * y % P
    beta = x * gamma % P
    alpha = 3 * (x - delta) * (x + delta) % P
    x3 = (alpha * alpha - 8 * beta) % P
    return x3, (alpha * (4 * beta - x3) - 8 * gamma * gamma) % P, 2 * y * z % P


def _add(left: Jacobian, right: Affine) -> Jacobian:
    x1, y1, z1 = left
    x2, y2 = right
    if not z1:
        return x2, y2, 1
    zz = z1 * z1 % P
    h = (x2 * zz - x1) % P
    r = (y2 * zz % P * z1 - y1) % P
    if not h:  # same x: the same point, or its negative
        return _INFINITY if r else _double(left)
    hh = h * h % P
    hhh = h * hh % P
    v = x1 * hh % P
    x3 = (r * r - hhh - 2 * v) % P
    return x3, (r * (v - x3) - y1 * hhh) % P, z1 * h % P


def _normalize(points: Sequence[Jacobian]) -> list[Affine]:
    """Turn finite points affine with one inversion for all (Montgomery's trick)."""
    products = [1]
    for _, _, z in points:
        products.append(products[-1] * z % P)
    inverse = pow(products.pop(), -1, P)
    affine = []
    for (x, y, z), before in zip(reversed(points), reversed(products), strict=True):
        z_inverse = inverse * before % P
        inverse = inverse * z % P
        square = z_inverse * z_inverse % P
        affine.append((x * square % P, y * square * z_inverse % P))
    return affine[::-1]


def _with_negatives(multiples: Iterable[tuple[int, Affine]]) -> Multiples:
    return {
        signed: (x, y if signed > 0 else P - y)
        for factor, (x, y) in multiples
        for signed in (factor, -factor)
    }


@cache
def _base_table() -> Table:
    return build_table(G, _BASE_BITS)


def _add_base(total: Jacobian, scalar: int) -> Jacobian:
    """Return total + scalar * G."""
    return _add_multiple(total, scalar, _base_table())


def _add_multiple(total: Jacobian, scalar: int, table: Table) -> Jacobian:
    """Return total + scalar * the table's point: an addition for each signed digit."""
    modulus = 1 << table.bits
    for row in table.rows:
        digit = scalar % modulus
        if digit > modulus // 2:
            digit -= modulus
        scalar = (scalar - digit) >> table.bits
        if digit:
            total = _add(total, row[digit])
    return total


def _multiply(scalar: int, point: Affine, table: Table | None) -> Jacobian:
    """Return scalar * point, by its table or by width-5 non-adjacent form."""
    if table is not None:
        return _add_multiple(_INFINITY, scalar, table)
    multiples = _odd_multiples(point)
    total = _INFINITY
    for digit in reversed(list(_non_adjacent_form(scalar))):
        total = _double(total)
        if digit:
            total = _add(total, multiples[digit])
    return total


def _odd_multiples(point: Affine) -> Multiples:
    """Return ±1, ±3 ... ±15 times `point`."""
    points: list[Jacobian] = [(*point, 1)]
    twice = _normalize([_double(points[0])])[0]
    while len(points) < 1 << (_NAF_BITS - 2):
        points.append(_add(points[-1], twice))
    odd = range(1, 2 * len(points), 2)
    return _with_negatives(zip(odd, _normalize(points), strict=True))


def _non_adjacent_form(scalar: int) -> Iterator[int]:
    """Yield digits, lowest first: zero, or odd and below 16 in magnitude."""
    modulus = 1 << _NAF_BITS
    while scalar:
        digit = 0
        if scalar & 1:
            digit = scalar % modulus
            if digit > modulus // 2:
                digit -= modulus
        scalar = (scalar - digit) >> 1
        yield digit
