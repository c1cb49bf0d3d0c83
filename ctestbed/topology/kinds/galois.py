"""Finite fields of prime-power order, as tables: what MMS graphs are made of.

An element is an integer below q: the digits, in base p, of a polynomial over the prime field.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctestbed.topology.kinds.primes import prime_power


@dataclass(frozen=True)
class Field:
    """The field of q elements: `powers[i]` is the i-th power of a primitive element."""

    q: int
    add: NDArray[Any]
    multiply: NDArray[Any]
    powers: NDArray[Any]


@lru_cache(maxsize=4)
def field(q: int) -> Field:
    """Return the field of q elements, by its tables of q x q.

    Raises:
        ValueError: q is no prime power, so there is none.
    """
    parts = prime_power(q)
    if parts is None:
        raise ValueError(f"there is no field of {q} elements")
    p, m = parts
    digits = np.array(list(product(range(p), repeat=m)), np.int64)[:, ::-1]  # lowest first
    weights = p ** np.arange(m)
    add = ((digits[:, None, :] + digits[None, :, :]) % p) @ weights
    for low in product(range(p), repeat=m):
        multiply = _multiplication(digits, weights, np.array(low[::-1], np.int64), p)
        powers = _primitive_powers(multiply, q)
        if powers is not None:
            return Field(q, add, multiply, powers)
    raise AssertionError("every prime power has a primitive polynomial")


def _multiplication(
    digits: NDArray[Any], weights: NDArray[Any], low: NDArray[Any], p: int
) -> NDArray[Any]:
    """Multiply all pairs modulo x^m = -(low), low being the polynomial's lower digits."""
    q, m = digits.shape
    total = np.zeros((q, q, m), np.int64)
    shifted = digits.copy()  # a * x^i, for every a
    for position in range(m):
        total += digits[None, :, position, None] * shifted[:, None, :]
        carry = shifted[:, -1:].copy()
        shifted = np.concatenate([np.zeros((q, 1), np.int64), shifted[:, :-1]], axis=1)
        shifted = (shifted - carry * low) % p
    table: NDArray[Any] = (total % p) @ weights
    return table


def _primitive_powers(multiply: NDArray[Any], q: int) -> NDArray[Any] | None:
    """Return the powers of an element that runs through all of 1 ... q-1, if there is one."""
    for generator in range(1, q):
        powers, value = [1], generator
        while value not in {0, 1} and len(powers) < q:
            powers.append(value)
            value = int(multiply[value, generator])
        if value == 1 and len(powers) == q - 1:
            return np.array(powers)
    return None
