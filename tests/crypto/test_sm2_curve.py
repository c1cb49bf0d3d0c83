"""The fast arithmetic against the chord-and-tangent rule on affine points."""

import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.crypto import sm2_curve as curve
from ctestbed.crypto.sm2_curve import A, Affine, B, G, N, P, multiply_add, multiply_base
from tests.crypto.helpers import few, unhex, vectors

# Digits at the windows' edges, powers at their borders, and both ends of the range.
EDGES = [1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 2**252, 2**255, N // 2, N - 2, N - 1]

scalars = st.sampled_from(EDGES) | st.integers(1, N - 1)


def add(left: Affine | None, right: Affine | None) -> Affine | None:
    """Add by GB/T 32918.1-2016 section 3.2.3.1."""
    if left is None or right is None:
        return left or right
    (x1, y1), (x2, y2) = left, right
    if x1 == x2 and (y1 + y2) % P == 0:
        return None
    slope = (
        (3 * x1 * x1 + A) * pow(2 * y1, -1, P) if left == right else (y2 - y1) * pow(x2 - x1, -1, P)
    )
    x3 = (slope * slope - x1 - x2) % P
    return x3, (slope * (x1 - x3) - y1) % P


def multiply(scalar: int, point: Affine | None) -> Affine | None:
    total = None
    for bit in f"{scalar:b}":
        total = add(total, total)
        if bit == "1":
            total = add(total, point)
    return total


def negative(point: Affine) -> Affine:
    return point[0], P - point[1]


def test_parameters_are_the_published_ones() -> None:
    """GB/T 32918.5-2017; and they must fit each other."""
    assert (
        2**256 - 2**224 - 2**96 + 2**64 - 1,
        P - 3,
        int("28E9FA9E9D9F5E344D5A9E4BCF6509A7F39789F515AB8F92DDBCBD414D940E93", 16),
        int("FFFFFFFEFFFFFFFFFFFFFFFFFFFFFFFF7203DF6B21C6052B53BBF40939D54123", 16),
    ) == (P, A, B, N)
    assert curve.is_on_curve(*G)
    assert multiply(N, G) is None
    assert multiply(N - 1, G) == negative(G)


@pytest.mark.parametrize("scalar", EDGES)
def test_edge_multiples_of_the_base(scalar: int) -> None:
    assert multiply_base(scalar) == multiply(scalar, G)


@few
@given(st.integers(1, N - 1))
def test_multiples_of_the_base(scalar: int) -> None:
    assert multiply_base(scalar) == multiply(scalar, G)


@few
@given(scalars, scalars, scalars)
def test_sums_of_multiples(base_scalar: int, scalar: int, secret: int) -> None:
    point = multiply_base(secret)
    expected = add(multiply(base_scalar, G), multiply(scalar, point))
    assert multiply_add(base_scalar, scalar, point) == expected


@pytest.mark.parametrize("base_scalar", [0, *EDGES[:8], N - 1])
@pytest.mark.parametrize("scalar", [0, 1, 2, 16, 32, N - 1])
@pytest.mark.parametrize("point", [G, negative(G)])
def test_sums_that_meet_equal_and_opposite_points(
    base_scalar: int, scalar: int, point: Affine
) -> None:
    """Both parts are multiples of G, so points meet themselves and their negatives."""
    expected = add(multiply(base_scalar, G), multiply(scalar, point))
    assert multiply_add(base_scalar, scalar, point) == expected
    assert multiply_add(base_scalar, scalar, point, TABLES[point]) == expected


TABLES = {point: curve.build_table(point) for point in (G, negative(G))}


@pytest.mark.parametrize("bits", [2, 5, 8])
@pytest.mark.parametrize("scalar", [0, *EDGES, 2**256 - 2**248])
def test_tables_of_any_width(bits: int, scalar: int) -> None:
    """Scalars whose last digit carries need one row more than digits."""
    point = multiply_base(7)
    expected = multiply(scalar % N, point) if scalar % N else None
    assert curve.multiply(scalar, point, curve.build_table(point, bits)) == expected
    assert curve.multiply(scalar, point) == expected


@few
@given(st.integers(0, 40), st.integers(0, 40))
def test_sums_of_two_points(left: int, right: int) -> None:
    a, b = (multiply_base(n) if n else None for n in (left, right))
    assert curve.add(a, b) == add(a, b)
    assert curve.add(a, a and negative(a)) is None


@few
@given(scalars, scalars)
def test_multiples_add_up(left: int, right: int) -> None:
    if (left + right) % N:
        assert add(multiply_base(left), multiply_base(right)) == multiply_base(left + right)


@few
@given(scalars, scalars)
def test_a_sum_that_vanishes_is_infinity(secret: int, scalar: int) -> None:
    assert multiply_add(-scalar * secret % N, scalar, multiply_base(secret)) is None


@pytest.mark.parametrize("scalar", [0, N, 5 * N])
def test_a_base_product_at_infinity_is_a_bug_of_the_caller(scalar: int) -> None:
    with pytest.raises(ValueError, match="invertible"):
        multiply_base(scalar)


def test_points_of_the_key_exchange_vector() -> None:
    """GB/T 32918.5-2017 annex B: both ephemeral public keys."""
    for vector in vectors("SM2-key-exchange", 1):
        for party in "AB":
            secret, x, y = unhex(vector, f"r{party}", f"R{party}x", f"R{party}y")
            expected = int.from_bytes(x), int.from_bytes(y)
            assert multiply_base(int.from_bytes(secret)) == expected


def test_points_off_the_curve_are_told() -> None:
    x, y = multiply_base(secrets.randbelow(N - 1) + 1)
    assert curve.is_on_curve(x, y)
    for wrong in [(x, y ^ 1), (x ^ 1, y), (x, -y), (x - P, y), (x + P, y), (x, y + P), (0, 0)]:
        assert not curve.is_on_curve(*wrong)
