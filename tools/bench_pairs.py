"""What is compared with a peer in the same run, and how it is shown."""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from ctestbed.core.timing import median, sample_rates

ROUNDS: Final = 7


class Pair(NamedTuple):
    """One comparison: what is done, how many units a call does, by us and by a peer."""

    name: str
    unit: str
    peer: str
    ours: Callable[[], object]
    our_units: int
    theirs: Callable[[], object]
    their_units: int


def print_pairs(pairs: Iterable[Pair]) -> None:
    """Print a line for each comparison."""
    print(f"{'what':24} {'ours per CPU s':>18} {'peer per CPU s':>18} {'ratio':>9}  peer")
    for pair in pairs:
        jobs = {"ours": (pair.ours, pair.our_units), "peer": (pair.theirs, pair.their_units)}
        rates = {name: median(samples) for name, samples in sample_rates(jobs, ROUNDS).items()}
        figures = [f"{rates[name]:,.0f} {pair.unit}" for name in ("ours", "peer")]
        ratio = rates["ours"] / rates["peer"]
        print(f"{pair.name:24} {figures[0]:>18} {figures[1]:>18} {ratio:9.2f}  {pair.peer}")
