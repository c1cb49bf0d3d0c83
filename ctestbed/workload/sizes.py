"""Published distributions of flow sizes, and draws from them."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SizeDistribution:
    """Flow sizes in bytes and the share of flows that are not larger, straight in between."""

    name: str
    title: str
    source: str
    sizes: tuple[int, ...]
    shares: tuple[Fraction, ...]

    @property
    def mean(self) -> Fraction:
        """Bytes of the mean flow, exactly."""
        steps = pairwise(zip(self.sizes, self.shares, strict=True))
        return sum(
            ((high - low) * (small + large) / 2 for (small, low), (large, high) in steps),
            Fraction(0),
        )

    def draw(self, count: int, generator: np.random.Generator) -> NDArray[Any]:
        """Draw sizes: whole bytes, rounded up, so never 0."""
        shares = [float(share) for share in self.shares]
        at = np.interp(generator.random(count), shares, self.sizes)
        return np.maximum(1, np.ceil(at)).astype(np.int64)


@cache
def size_distributions() -> Mapping[str, SizeDistribution]:
    """Return the distributions that ship with ctestbed, by name."""
    text = files("ctestbed.workload").joinpath("sizes.toml").read_text("utf-8")
    return {
        name: SizeDistribution(
            name,
            table["title"],
            table["source"],
            tuple(int(size) for size, _ in table["points"]),
            tuple(Fraction(percent) / 100 for _, percent in table["points"]),
        )
        for name, table in tomllib.loads(text, parse_float=Decimal).items()
    }
