"""The one fault that explains all that differs, where no name tells devices apart.

Tried first: a cable more, a cable less, or two that exchanged ends, after which the record would
be the design but for names. What it names is one of all that are alike.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final

import numpy as np

from ctestbed.topology.asbuilt.deviations import Deviation
from ctestbed.topology.asbuilt.fingerprint import (
    Network,
    colours,
    fingerprint,
    networks_of,
    rounds_needed,
    support,
)
from ctestbed.topology.cabling import Cabling, Column

MAX_CABLES: Final = 20_000
MAX_TRIES: Final = 2_000
ENDS: Final = 4
"""Ends of two cables: no more places than that can have another mix of neighbours."""
EFFORT: Final = 3_000_000
"""Cables looked at over all tries: fewer are made where there are more cables."""

_NOTE: Final = "told up to exchange of devices that are alike"


def explain(design: Cabling, built: Cabling) -> tuple[Deviation, ...] | None:
    """Return the one fault, none where both are alike, or None where neither is so."""
    size = len(design.cables)
    if size > MAX_CABLES or abs(size - len(built.cables)) > 1:
        return None
    ours, theirs = networks_of(design, built)
    if not np.array_equal(np.sort(ours.kind), np.sort(theirs.kind)):
        return None
    search = _Search(ours, theirs, built)
    if search.alike(theirs):
        return ()
    if size > len(built.cables):
        return search.missing()
    return search.extra() if size < len(built.cables) else search.swapped()


class _Search:
    """The design's fingerprint, and which places of the record are strange to it."""

    def __init__(self, ours: Network, theirs: Network, built: Cabling) -> None:
        self.ours, self.theirs, self.built = ours, theirs, built
        self.rounds = rounds_needed(ours)
        self.meant = fingerprint(ours, self.rounds)
        self.near = next(
            (rounds for rounds in range(self.rounds) if self._surplus(rounds)), self.rounds
        )
        mixes = _mixes(ours), _mixes(theirs)
        self.mixed = ~np.isin(mixes[1], mixes[0])
        self.strange = self._strangeness(self.near)
        self.over = _degrees(theirs) - _degrees(ours)
        self.under = _degrees(ours) - _degrees(theirs)
        tries = EFFORT // max(len(theirs.a), 1)
        self.tries = min(MAX_TRIES, max(tries, 30))

    def _surplus(self, rounds: int) -> Counter[int]:
        """Return the colours that the record has more of than the design."""
        near, there = colours(self.ours, rounds), colours(self.theirs, rounds)
        return Counter(there.tolist()) - Counter(near.tolist())

    def _strangeness(self, rounds: int) -> Column:
        """Return how strange each place of the record is, seen from so many rounds."""
        near, there = colours(self.ours, rounds), colours(self.theirs, rounds)
        surplus = list(self._surplus(rounds)) or [0]
        strange: Column = 4 * self.mixed + 2 * ~np.isin(there, near) + np.isin(there, surplus)
        return strange

    def alike(self, network: Network) -> bool:
        """Tell whether a network is the design but for names, as far as can be told."""
        return np.array_equal(fingerprint(network, self.rounds), self.meant)

    def missing(self) -> tuple[Deviation, ...] | None:
        """Find the cable that the record lacks."""
        kind, degree = self.theirs.kind.tolist(), self.theirs.degree.tolist()
        places = range(len(self.built.devices))
        odd = [at for at in places if (kind[at], degree[at]) in self.over]
        below = {(of, count - less) for of, count in self.under for less in (1, 2)}
        maybe = [at for at in places if (kind[at], degree[at]) in below or at in set(odd)]
        pairs = {(min(pair), max(pair)) for pair in product(odd, maybe)}
        for a, b in self._ranked(pairs):
            if self.alike(self.theirs.having([(a, b)])):
                one, two = self._names(a, b)
                text = f"the cable between {one} and {two} is missing, {_NOTE}"
                where = self.built.where_device(a) if self.built.file else None
                return (Deviation("missing", one, two, "1 cable", text, 1, where),)
        return None

    def extra(self) -> tuple[Deviation, ...] | None:
        """Find the cable that the design lacks."""
        kind, degree = self.theirs.kind, self.theirs.degree
        odd = np.array(
            [key in self.over for key in zip(kind.tolist(), degree.tolist(), strict=True)], bool
        )
        ends = self.theirs.a, self.theirs.b
        rows: dict[tuple[int, int], int] = {}
        for row in np.flatnonzero(odd[ends[0]] | odd[ends[1]]).tolist():
            a, b = int(ends[0][row]), int(ends[1][row])
            rows.setdefault((min(a, b), max(a, b)), row)
        for a, b in self._ranked(rows):
            row = rows[a, b]
            if self.alike(self.theirs.without([row])):
                one, two = self._names(a, b)
                text = f"a cable between {one} and {two} is one more than designed, {_NOTE}"
                where = self.built.where(row) if self.built.file else None
                itself = a == b
                if itself:
                    text = f"1 cable of {one} to itself: {self.built.cable_name(row)}"
                return (
                    Deviation("self-loop" if itself else "extra", one, two, None, text, 1, where),
                )
        return None

    def swapped(self) -> tuple[Deviation, ...] | None:
        """Find the two cables that exchanged ends."""
        if self.mixed.sum() > ENDS:
            return None
        odd = _odd_support(self.ours, self.theirs)
        for rounds in (self.near, self.near + 1):  # the fewer, the nearer to the fault
            found = self._swapped_among(self._strangeness(rounds), odd)
            if found is not None:
                return (found,)
        return None

    def _swapped_among(self, strange: Column, odd: list[int]) -> Deviation | None:
        """Try the cables between strange places, those in the oddest company first."""
        a, b = self.theirs.a, self.theirs.b
        both = strange[a] + strange[b]
        rows = np.flatnonzero((strange[a] > 0) & (strange[b] > 0)).tolist()
        ranked = sorted(
            rows,
            key=lambda row: (-int(both[row]) // 4, -odd[row], -int(both[row]), self._rank(row)),
        )
        tries = 0
        for first, second in _by_sum(ranked):
            w, x, y, z = (int(end[row]) for row in (first, second) for end in (a, b))
            for pairs in ([(w, z), (y, x)], [(w, y), (x, z)]):
                tries += 1
                if tries > self.tries:
                    return None
                if self.alike(self.theirs.without([first, second]).having(pairs)):
                    return self._swap(first, second, pairs)
        return None

    def _swap(self, first: int, second: int, pairs: list[tuple[int, int]]) -> Deviation:
        rows = sorted((first, second), key=self.built.cable_name)
        names = [self.built.cable_name(row) for row in rows]
        meant = sorted(" - ".join(self._names(*pair)) for pair in pairs)
        text = f"{names[0]} and {names[1]} have exchanged ends: {meant[0]} and {meant[1]} are "
        text += f"meant, {_NOTE}"
        where = self.built.where(rows[0]) if self.built.file else None
        return Deviation("swapped", names[0], names[1], "; ".join(meant), text, 2, where)

    def _names(self, a: int, b: int) -> tuple[str, str]:
        one, two = sorted((self.built.devices[a].name, self.built.devices[b].name))
        return one, two

    def _rank(self, row: int) -> tuple[str, str]:
        return self._names(int(self.theirs.a[row]), int(self.theirs.b[row]))

    def _ranked(self, pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the pairs to try: strangest first, then by name, so that no order matters."""
        strange = self.strange.tolist()
        return sorted(
            pairs, key=lambda pair: (-strange[pair[0]] - strange[pair[1]], self._names(*pair))
        )[: self.tries]


def _degrees(network: Network) -> Counter[tuple[int, int]]:
    """Return how many places of each kind have so many cables."""
    return Counter(zip(network.kind.tolist(), network.degree.tolist(), strict=True))


def _mixes(network: Network) -> Column:
    """Return a number for each place: its kind, and its cables by the kind of their other end."""
    a, b = network.a, network.b
    near, far = np.concatenate([a, b]), np.concatenate([b, a])
    count = np.bincount(near * 2 + network.kind[far], minlength=2 * len(network.kind))
    size = len(near) + 1
    mixed: Column = (network.kind * size + count[::2]) * size + count[1::2]
    return mixed


def _odd_support(ours: Network, theirs: Network) -> list[int]:
    """Return for each built cable how far its support is from any alike of the design."""
    found = np.zeros(len(theirs.a), np.int64)
    usual, there = support(ours), support(theirs)
    kinds = [network.kind[network.a] + network.kind[network.b] for network in (ours, theirs)]
    for kind in np.unique(kinds[1]).tolist():
        known = np.unique(usual[kinds[0] == kind])
        rows = np.flatnonzero(kinds[1] == kind)
        if not len(known):
            continue
        at = np.searchsorted(known, there[rows])
        low, high = known[np.maximum(at - 1, 0)], known[np.minimum(at, len(known) - 1)]
        found[rows] = np.minimum(np.abs(there[rows] - low), np.abs(there[rows] - high))
    return found.tolist()


def _by_sum(rows: list[int]) -> Iterator[tuple[int, int]]:
    """Yield pairs of rows, those near the front of the list first."""
    for last in range(1, len(rows)):
        for first in range(last):
            yield rows[first], rows[last]


def unlike(design: Cabling, built: Cabling) -> bool:
    """Tell whether both surely differ by more than names, where that can be asked."""
    if max(len(design.cables), len(built.cables)) > MAX_CABLES:
        return False
    ours, theirs = networks_of(design, built)
    rounds = rounds_needed(ours)
    return not np.array_equal(fingerprint(ours, rounds), fingerprint(theirs, rounds))


def rates_alike(design: Cabling, built: Cabling) -> bool:
    """Tell whether both have as many cables of each rate, but for one more or less."""
    ours, theirs = (Counter(c.cables.rate.tolist()) for c in (design, built))
    return (ours - theirs).total() + (theirs - ours).total() <= 1
