"""How uneven hashing is: flows thrown on equal links at random (Monte Carlo)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from ctestbed.core.seeds import spawn_generator

_BLOCK: Final = 2**22


@dataclass(frozen=True, slots=True)
class Imbalance:
    """The busiest link's flows over the mean: its mean over trials, and where 90 % of them lie."""

    mean: float
    low: float
    high: float
    trials: int


def hashing_imbalance(links: int, flows: int, trials: int, seed: int) -> Imbalance:
    """Return busiest link over mean link for `flows` equal flows hashed on `links` equal links.

    The measure of Meta's RoCE study (SIGCOMM 2024). `low` and `high` are the 5th and the 95th of a
    hundred trials.
    """
    generator = spawn_generator(seed, f"hashing/{links}/{flows}")
    ratios = np.empty(trials)
    rows = max(1, _BLOCK // max(flows, links))
    for begin in range(0, trials, rows):
        count = min(rows, trials - begin)
        chosen = generator.integers(0, links, (count, flows))
        chosen += np.arange(count)[:, None] * links
        carried = np.bincount(chosen.reshape(-1), minlength=count * links).reshape(count, links)
        ratios[begin : begin + count] = carried.max(axis=1) * links / flows
    low, high = np.percentile(ratios, [5, 95])
    return Imbalance(float(ratios.mean()), float(low), float(high), trials)


def slowed_by(communication: Fraction, stretch: Fraction) -> Fraction:
    """Return the training speed lost when all communication takes `stretch` times as long.

    `communication` is its share of a step, nothing of it hidden.
    """
    return 1 - 1 / (1 - communication + communication * stretch)
