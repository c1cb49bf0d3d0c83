"""Flows as columns: who sends how much to whom, from when on, and after which others.

The same record comes out of a pattern and out of a file, and goes into every engine.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Column: TypeAlias = NDArray[Any]

MAX_FLOWS: Final = 2**22
"""The most flows that are run at once."""

CLASSES: Final = 8
"""Traffic classes of a port: the priorities that PFC tells apart."""


@dataclass(frozen=True, slots=True)
class Waits:
    """What each flow waits for: `needs[f]` of the flows `flows[offsets[f]:offsets[f + 1]]`.

    A flow counts as done when its sender knows so (it has the last acknowledgement), or where
    `receipt` is set, when its receiver has the last byte. A flow that waits for nothing needs 0.
    """

    offsets: Column
    flows: Column
    receipt: Column
    needs: Column

    def of(self, flow: int) -> list[int]:
        """Return the flows that `flow` waits for."""
        ahead: list[int] = self.flows[self.offsets[flow] : self.offsets[flow + 1]].tolist()
        return ahead

    @classmethod
    def all_of(cls, groups: Sequence[Sequence[int]], *, receipt: bool = True) -> "Waits":
        """Return waits in which flow f needs all of `groups[f]`."""
        counts = np.array([len(group) for group in groups], np.int64)
        flat = np.array([flow for group in groups for flow in group], np.int64)
        return cls(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            flat,
            np.full(len(flat), receipt),
            counts,
        )


@dataclass(frozen=True, slots=True)
class Flows:
    """One row per flow: endpoints, bytes, picoseconds, traffic class 0 to 7.

    `starts` counts from 0 for a flow that waits for nothing, and from the moment its wait is over
    for one that does. `after` is None where no flow waits.
    """

    source: Column
    destination: Column
    sizes: Column
    starts: Column
    classes: Column
    after: Waits | None = None

    def __len__(self) -> int:
        """Return the number of flows."""
        return len(self.source)

    @classmethod
    def together(cls, source: Column, destination: Column, size: int) -> "Flows":
        """Return flows of one size that all start at 0."""
        count = len(source)
        return cls(
            np.asarray(source, np.int64),
            np.asarray(destination, np.int64),
            np.full(count, size, np.int64),
            np.zeros(count, np.int64),
            np.zeros(count, np.int8),
        )

    @property
    def common_size(self) -> int | None:
        """Bytes of every flow, or None where they differ."""
        if not len(self):
            return None
        size = int(self.sizes[0])
        return size if bool((self.sizes == size).all()) else None

    @property
    def total(self) -> int:
        """Bytes of all flows together, exactly."""
        high, low = np.divmod(self.sizes, 2**32)
        return int(high.sum()) * 2**32 + int(low.sum())

    def fault(self, endpoints: int) -> tuple[int, str] | None:
        """Return the first flow that cannot be run among `endpoints` endpoints, and why."""
        reasons = (
            ((self.source < 0) | (self.source >= endpoints), "its source is not an endpoint"),
            (
                (self.destination < 0) | (self.destination >= endpoints),
                "its destination is not an endpoint",
            ),
            (self.source == self.destination, "it sends to itself"),
            (self.sizes <= 0, "it has no bytes"),
            (self.starts < 0, "it starts before time 0"),
            ((self.classes < 0) | (self.classes >= CLASSES), "its class is not 0 to 7"),
        )
        found = [(int(bad.argmax()), why) for bad, why in reasons if bool(bad.any())]
        return min(found, default=None)


def never_started(flows: Flows) -> list[int]:
    """Return, ascending, the flows whose wait never ends."""
    if flows.after is None:
        return []
    waits, count = flows.after, len(flows)
    waiting = np.repeat(np.arange(count), np.diff(waits.offsets))
    order = np.argsort(waits.flows, kind="stable")
    followers = waiting[order].tolist()
    bounds = np.searchsorted(waits.flows[order], np.arange(count + 1)).tolist()
    missing = waits.needs.tolist()
    ready = deque(flow for flow in range(count) if missing[flow] <= 0)
    while ready:
        flow = ready.popleft()
        for follower in followers[bounds[flow] : bounds[flow + 1]]:
            missing[follower] -= 1
            if missing[follower] == 0:
                ready.append(follower)
    return [flow for flow in range(count) if missing[flow] > 0]


def circle_of(flows: Flows, stuck: list[int]) -> list[int]:
    """Return a circle of flows of `stuck` that wait for each other; empty where there is none."""
    if flows.after is None or not stuck:
        return []
    among, seen = set(stuck), dict[int, int]()
    at: int | None = stuck[0]
    while at is not None and at not in seen:
        seen[at] = len(seen)
        at = next((ahead for ahead in flows.after.of(at) if ahead in among), None)
    return [] if at is None else list(seen)[seen[at] :]
