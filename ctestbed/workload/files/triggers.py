"""Triggers of a connection matrix, turned into what each flow waits for, and back.

A trigger is fired by flows that are done sending or receiving, and starts flows: `oneshot` at its
only firing, `barrier` when all of its `count` firings are there, `multishot` one flow at each
firing, in the order of the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import numpy as np

from ctestbed.core.errors import InputError
from ctestbed.core.result import Finding
from ctestbed.topology.formats.source import Source
from ctestbed.workload.flows import Flows, Waits

TriggerKind: TypeAlias = Literal["oneshot", "multishot", "barrier"]

KINDS: Final[tuple[TriggerKind, ...]] = ("oneshot", "multishot", "barrier")

Edge: TypeAlias = tuple[int, bool]
"""A flow, and whether its receiver's end counts rather than its sender's."""


@dataclass(slots=True)
class Trigger:
    """One trigger while a file is read: where it is defined and used, who fires it, whom it starts.

    `line` 0 means that it is used and not defined yet.
    """

    number: int
    kind: TriggerKind = "oneshot"
    count: int = 0
    line: int = 0
    used: int = 0
    firers: list[Edge] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)


def waits_of(
    triggers: Mapping[int, Trigger], flows: int, source: Source
) -> tuple[Waits | None, tuple[Finding, ...]]:
    """Return what each of `flows` flows waits for, and notes on triggers that start nothing.

    Raises:
        InputError: a trigger that is not defined, or cannot fire as it is meant to.
    """
    ahead: dict[int, tuple[list[Edge], int]] = {}
    notes: list[Finding] = []
    for trigger in triggers.values():
        _check(trigger, source)
        if not trigger.targets:
            message = f"trigger {trigger.number} starts no flow"
            notes.append(
                Finding("CTB-S041", "note", message, source.where(trigger.line), "is one missing?")
            )
        for at, target in enumerate(trigger.targets):
            needs = at + 1 if trigger.kind == "multishot" else len(trigger.firers)
            ahead[target] = (trigger.firers, needs)
    if not ahead:
        return None, tuple(notes)
    return _pack(ahead, flows), tuple(notes)


def _check(trigger: Trigger, source: Source) -> None:
    firers, targets = len(trigger.firers), len(trigger.targets)
    flows = "1 flow fires" if firers == 1 else f"{firers:,} flows fire"
    fault = None
    if not trigger.line:
        fault = "is used, and no line defines it"
    elif targets and not firers:
        fault = "is never fired, so the flows behind it never start"
    elif trigger.kind == "oneshot" and firers > 1:
        fault = f"is oneshot, and {flows} it"
    elif trigger.kind == "barrier" and trigger.count != firers:
        fault = f"waits for {trigger.count:,} firings, and {flows} it"
    elif trigger.kind == "multishot" and targets > firers:
        fault = f"starts {targets:,} flows one by one, and {flows} it"
    if fault is not None:
        raise source.refuse(
            "CTB-S041",
            f"trigger {trigger.number} {fault}",
            trigger.line or trigger.used,
            "mend its `trigger id ...` line, or the flows that fire it or wait for it",
        )


def _pack(ahead: Mapping[int, tuple[list[Edge], int]], flows: int) -> Waits:
    needs = np.zeros(flows, np.int64)
    counts = np.zeros(flows, np.int64)
    for target, (edges, needed) in ahead.items():
        needs[target], counts[target] = needed, len(edges)
    edges_in_order = [edge for target in sorted(ahead) for edge in ahead[target][0]]
    return Waits(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.array([flow for flow, _ in edges_in_order], np.int64),
        np.array([receipt for _, receipt in edges_in_order], bool),
        needs,
    )


def triggers_of(flows: Flows) -> list[Trigger]:
    """Return the triggers that make `flows` wait as they do, numbered from 1.

    Raises:
        InputError: a flow would have to fire two triggers at one end, which the format cannot say.
    """
    if flows.after is None:
        return []
    waits, made = flows.after, dict[tuple[Edge, ...], list[Trigger]]()
    triggers: list[Trigger] = []
    for flow in np.flatnonzero(waits.needs > 0).tolist():
        span = slice(waits.offsets[flow], waits.offsets[flow + 1])
        key = tuple(zip(waits.flows[span].tolist(), waits.receipt[span].tolist(), strict=True))
        needs = int(waits.needs[flow])
        trigger = _fitting(made.setdefault(key, []), needs, len(key))
        if trigger is None:
            kind: TriggerKind = "oneshot" if len(key) == 1 else "barrier"
            if needs < len(key):
                kind = "multishot"
            trigger = Trigger(len(triggers) + 1, kind, len(key), firers=list(key))
            triggers.append(trigger)
            made[key].append(trigger)
        trigger.targets.append(flow)
    _refuse_unsayable(triggers)
    return triggers


def _fitting(made: list[Trigger], needs: int, firers: int) -> Trigger | None:
    """Return a trigger of the same firers that would start a flow after `needs` firings."""
    for trigger in made:
        if trigger.kind == "multishot":
            if needs == len(trigger.targets) + 1:
                return trigger
        elif needs == firers:
            return trigger
    return None


def _refuse_unsayable(triggers: list[Trigger]) -> None:
    fires: dict[Edge, int] = {}
    for trigger in triggers:
        if trigger.kind == "multishot" and len(trigger.targets) < 1:
            continue
        for edge in trigger.firers:
            if edge in fires:
                raise InputError(
                    "CTB-S044",
                    f"flow {edge[0]} would fire two triggers when it is done, and a connection "
                    "matrix gives each end of a flow one",
                    hint="write CSV, which says for each flow what it waits for",
                )
            fires[edge] = trigger.number
