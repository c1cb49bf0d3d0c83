"""What failures do to a packet run: rows for the engine, and slower receivers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from ctestbed.core.errors import InputError, Where
from ctestbed.transport.packet.kernels_layout import CUT, NEVER
from ctestbed.transport.packet.problem import Harm, PacketNetwork, PacketSettings
from ctestbed.workload.failures import Failure, link_states

MAX_TURNS: Final = 200_000
"""Times that flapping cables may die in one run."""
PAUSE_QUANTA: Final = 65535
"""What a pause lasts where frames may be lost: a pause whose end is lost would hold for ever."""


def harm_of(failures: Sequence[Failure], horizon: int) -> Harm:
    """Return the losses, storms and slow receivers of failures up to `horizon` ps.

    Raises:
        InputError: a cable flaps so often that the run would not end.
    """
    for failure in failures:
        if failure.kind != "flap":
            continue
        end = min(horizon, NEVER if failure.until is None else failure.until)
        if (end - failure.start) // (failure.down + failure.up) > MAX_TURNS:
            raise InputError(
                "CTB-S110",
                f"failure {failure.text!r} takes more than {MAX_TURNS:,} turns",
                where=Where(pointer="--fail"),
                hint="give it an end, as in `@0..1ms`, or the run a `--horizon`",
            )
    losses = _dead(failures, horizon)
    storms = []
    for failure in failures:
        until = NEVER if failure.until is None else failure.until
        if failure.kind == "loss":
            share = min(CUT - 1, int(failure.share * CUT))
            losses += [(link, failure.start, until, share) for link in failure.links]
        elif failure.kind == "storm":
            klass = -1 if failure.traffic_class is None else failure.traffic_class
            # A NIC's failure names the link from it; what it pauses is the link to it.
            storms += [(link ^ 1, klass, failure.start, until) for link in failure.links]
    return Harm(
        np.array(losses, np.int64).reshape(-1, 4),
        np.array(storms, np.int64).reshape(-1, 4),
        np.array(_slows(failures), np.int64).reshape(-1, 3),
    )


def _dead(failures: Sequence[Failure], horizon: int) -> list[tuple[int, int, int, int]]:
    """Return when links are dead: link, from, until, and that nothing comes through."""
    since: dict[int, int] = {}
    rows = []
    for time, link, lives in zip(*(each.tolist() for each in link_states(failures, horizon)),
                                 strict=True):  # fmt: skip
        if lives:
            rows.append((link, since.pop(link), time, CUT))
        else:
            since[link] = time
    rows += [(link, time, NEVER, CUT) for link, time in since.items()]
    return rows


def slow_down(network: PacketNetwork, failures: Sequence[Failure]) -> PacketNetwork:
    """Let receivers that are slow for the whole run take no more: the cable to them is as slow.

    Raises:
        InputError: one is not slower than its cable.
    """
    rate = network.rate.copy()
    for failure in failures:
        if failure.kind != "slow":
            continue
        to_it = _to_receiver(failure)
        if any(failure.rate >= int(network.rate[link]) for link in to_it):
            raise InputError(
                "CTB-S111",
                f"failure {failure.text!r}: its cable is not faster",
                where=Where(pointer="--fail"),
                hint="write `slow:ENDPOINT,rate=RATE`, with less than the cable's rate",
            )
        if not _passes(failure):
            rate[to_it] = np.minimum(rate[to_it], failure.rate)
    return replace(network, rate=rate)


def _to_receiver(failure: Failure) -> list[int]:
    # A NIC's failure names the link from it.
    return [link ^ 1 for link in failure.links]


def _passes(failure: Failure) -> bool:
    """Whether a receiver is slow for a part of the run only."""
    return failure.kind == "slow" and (failure.start > 0 or failure.until is not None)


def _slows(failures: Sequence[Failure]) -> list[tuple[int, int, int]]:
    """Return when which link's sender sends at what rate: that of the slowest that holds then."""
    spans: dict[int, list[tuple[int, int, int]]] = {}
    for failure in filter(_passes, failures):
        until = NEVER if failure.until is None else failure.until
        for link in _to_receiver(failure):
            spans.setdefault(link, []).append((failure.start, until, failure.rate))
    rows = []
    for link, mine in spans.items():
        for time in sorted({edge for start, until, _ in mine for edge in (start, until)}):
            rates = [rate for start, until, rate in mine if start <= time < until]
            if time < NEVER:
                rows.append((link, time, min(rates, default=0)))
    return rows


def afflict(settings: PacketSettings, failures: Sequence[Failure], horizon: int) -> PacketSettings:
    """Return settings of a run in which these failures happen.

    Raises:
        InputError: a cable flaps too often, or a storm pauses a class that no flow has.
    """
    if not failures:
        return settings
    for failure in failures:
        if (failure.traffic_class or 0) >= settings.classes:
            raise InputError(
                "CTB-S112",
                f"failure {failure.text!r}: no flow has class {failure.traffic_class}",
                where=Where(pointer="--fail"),
                hint=f"classes count from 0 to {settings.classes - 1} here; without one, all pause",
            )
    quanta = PAUSE_QUANTA if settings.lossless else 0
    return replace(settings, harm=harm_of(failures, horizon), pause_quanta=quanta)
