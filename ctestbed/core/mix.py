"""SplitMix64's finaliser over arrays: one stated 64-bit mix, the same on every machine."""

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint64]

GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)


def mix64(values: NDArray[Any]) -> Words:
    """Return SplitMix64's output for each 64-bit state: z += golden; xor-shift-multiply twice."""
    z = values.astype(np.uint64) + GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))
