"""Traffic patterns: which endpoint sends to which, all at once.

    shift:K       endpoint i sends to (i + K) mod n
    incast:N      N senders to endpoint 0: endpoints 1, 1 + s, 1 + 2s, ... with s = n // N
    permutation   one random cycle, so that everyone sends once, receives once, never to itself
    all-to-all    every ordered pair
    ring          each endpoint to the next, and the last to the first

Where each endpoint has one plane only, all but shift run inside planes (incast in endpoint 0's),
since no path joins two planes; n counts the plane's endpoints then. Patterns in time (`traffic`)
are named here too, so that hints know them.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctestbed.core.errors import InputError, Where
from ctestbed.core.names import did_you_mean
from ctestbed.core.seeds import spawn_generator
from ctestbed.workload.flows import MAX_FLOWS

Column: TypeAlias = NDArray[Any]
Pairs: TypeAlias = tuple[Column, Column]

PAIRS: Final[Mapping[str, str]] = {
    "shift": "shift:K",
    "incast": "incast:N",
    "permutation": "permutation",
    "all-to-all": "all-to-all",
    "ring": "ring",
}
PATTERNS: Final[Mapping[str, str]] = {
    **PAIRS,
    "all-reduce": "all-reduce:G",
    "poisson": "poisson:SIZES:LOAD:FLOWS",
    "on-off": "on-off:BURSTS:PAUSE",
}
_FORM: Final = re.compile(r"([a-z-]+)(?::([0-9]{1,9}))?")


def build_pattern(text: str, groups: list[Column], seed: int, where: Where | None = None) -> Pairs:
    """Return the sources and destinations of a pattern.

    `groups` are the endpoints that reach each other, ascending, one array per plane (or one of
    all). `shift` counts over all endpoints, whatever their group.

    Raises:
        InputError: no such pattern, or a number that does not fit the endpoints.
    """
    name, number = _parse(text, where)
    if name == "ring":
        joined = [group for group in groups if len(group) > 1]
        return _join([(group, np.roll(group, -1)) for group in joined or [groups[0][:0]]])
    if name == "permutation":
        return _join([_cycle(group, seed, at) for at, group in enumerate(groups)])
    if name == "all-to-all":
        _refuse_too_many(sum(len(group) ** 2 for group in groups), text, where)
        return _join([_all_pairs(group) for group in groups])
    if name == "incast":
        return _incast(groups[0], number, text, where)
    return _shift(np.sort(np.concatenate(groups)), number, text, where)


def _parse(text: str, where: Where | None) -> tuple[str, int]:
    match = _FORM.fullmatch(text.strip())
    name, number = match.groups() if match else (text.partition(":")[0], None)
    if name not in PAIRS:
        raise InputError(
            "CTB-S010",
            f"{text[:80]!r} is not a traffic pattern",
            where=where,
            hint=did_you_mean(name, PATTERNS),
        )
    if match is None or (number is None) == (":" in PAIRS[name]):
        raise InputError(
            "CTB-S010",
            f"{text[:80]!r} is not written as `{PATTERNS[name]}`",
            where=where,
            hint=f"write `{PATTERNS[name]}`, K and N being whole numbers",
        )
    return name, int(number or 0)


def _shift(endpoints: Column, by: int, text: str, where: Where | None) -> Pairs:
    count = len(endpoints)
    if by % count == 0:
        raise InputError(
            "CTB-S011",
            f"{text!r} over {count} endpoints sends everyone to itself",
            where=where,
            hint=f"shift by 1 to {count - 1}",
        )
    return endpoints, np.roll(endpoints, -(by % count))


def _incast(endpoints: Column, senders: int, text: str, where: Where | None) -> Pairs:
    count = len(endpoints)
    if not 0 < senders < count:
        raise InputError(
            "CTB-S011",
            f"{text!r} does not fit: {count} endpoints reach each other",
            where=where,
            hint=f"1 to {count - 1} of them can send to the first",
        )
    chosen = endpoints[1 + np.arange(senders) * (count // senders)]
    return chosen, np.full(senders, endpoints[0])


def _cycle(endpoints: Column, seed: int, group: int) -> Pairs:
    order = spawn_generator(seed, f"permutation/{group}").permutation(endpoints)
    following = np.roll(order, -1)
    by_source = np.argsort(order)
    sends = order != following
    return order[by_source][sends[by_source]], following[by_source][sends[by_source]]


def _all_pairs(endpoints: Column) -> Pairs:
    source = np.repeat(endpoints, len(endpoints))
    destination = np.tile(endpoints, len(endpoints))
    apart = source != destination
    return source[apart], destination[apart]


def _join(pairs: list[Pairs]) -> Pairs:
    sources, destinations = zip(*pairs, strict=True)
    return np.concatenate(sources), np.concatenate(destinations)


def _refuse_too_many(flows: int, text: str, where: Where | None) -> None:
    if flows > MAX_FLOWS:
        raise InputError(
            "CTB-S012",
            f"{text!r} would be {flows:,} flows, and {MAX_FLOWS:,} is the most that is run at once",
            where=where,
            hint="use a smaller testbed, or `permutation` or `shift:K` on this one",
        )
