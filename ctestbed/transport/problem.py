"""What a flow engine is given and what it gives back: integer arrays, nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctestbed.core.errors import InputError
from ctestbed.core.units import MAX_QUANTITY

Column: TypeAlias = NDArray[Any]

UNFINISHED: Final = -1
"""The finish time of a flow that never ends, since a link on its path has no capacity."""

MAX_FLOWS: Final = 1 << 22
"""More flows than this would take gigabytes; ask for a smaller pattern."""


MAX_CLASSES: Final = 8
"""Ethernet has eight classes of service."""

MAX_WEIGHT: Final = 1 << 20
"""Weights above this would not add up exactly in doubles over millions of flows."""


@dataclass(frozen=True, slots=True)
class FlowProblem:
    """Fluid flows over directed links.

    `capacity[l]` bit/s of link l (0: nothing passes); flow f crosses
    `links[offsets[f]:offsets[f + 1]]`, each once; it has `sizes[f]` bytes, from `starts[f]` ps on.
    A flow of class `priority[f]` gets what the lower numbers leave (strict; 0 is first); within a
    class it counts as `weight[f]` equal flows would. Left out, all are of one class and weight 1.
    """

    capacity: Column
    offsets: Column
    links: Column
    sizes: Column
    starts: Column
    priority: Column | None = None
    weight: Column | None = None

    @property
    def flows(self) -> int:
        """Number of flows."""
        return len(self.sizes)

    @property
    def classes(self) -> Column:
        """Each flow's class of priority."""
        return np.zeros(self.flows, np.int64) if self.priority is None else self.priority

    @property
    def weights(self) -> Column:
        """Each flow's weight."""
        return np.ones(self.flows, np.int64) if self.weight is None else self.weight

    def check(self) -> None:
        """Refuse arrays that do not fit each other.

        Raises:
            InputError: a negative quantity, an empty path, a link twice, a link that is not there,
                a class or a weight that is not allowed.
        """
        fault = self._fault()
        if fault is not None:
            raise InputError("CTB-S001", f"the flow engine was given {fault}")

    def _fault(self) -> str | None:  # noqa: PLR0911 - one return per fault, in order
        if self.flows > MAX_FLOWS:
            return f"{self.flows:,} flows, and {MAX_FLOWS:,} is the most it holds"
        ends = self.offsets[[0, -1]].tolist() if len(self.offsets) else None
        lengths = {self.flows + 1: len(self.offsets), self.flows: len(self.starts)}
        if any(want != have for want, have in lengths.items()) or ends != [0, len(self.links)]:
            return "arrays of different lengths"
        if len(self.classes) != self.flows or len(self.weights) != self.flows:
            return "arrays of different lengths"
        if self.flows and not 0 <= self.classes.min() <= self.classes.max() < MAX_CLASSES:
            return f"a class of priority outside 0 to {MAX_CLASSES - 1}"
        if self.flows and not 0 < self.weights.min() <= self.weights.max() <= MAX_WEIGHT:
            return f"a weight outside 1 to {MAX_WEIGHT:,}"
        if any(bool((values < 0).any()) for values in (self.capacity, self.sizes, self.starts)):
            return "a negative capacity, size or start"
        hops = np.diff(self.offsets)
        if bool((hops < 1).any()):
            return "a flow without links"
        if self.flows and not 0 <= self.links.min() <= self.links.max() < len(self.capacity):
            return "a link that is not there"
        crossing = np.repeat(np.arange(self.flows), hops) * len(self.capacity) + self.links
        crossing.sort()
        if bool((crossing[1:] == crossing[:-1]).any()):
            return "a flow that meets a link twice"
        return None


@dataclass(frozen=True, slots=True)
class FlowOutcome:
    """When each flow's last byte has left the fluid, in ps from 0, rounded up; or UNFINISHED.

    `exact` is False only if some decision of the fast arithmetic lay within its error bound.
    """

    finish: Column
    exact: bool = True

    @classmethod
    def of_ends(cls, ends: Sequence[Fraction | None]) -> "FlowOutcome":
        """Round exact ends up.

        Raises:
            InputError: a flow ends later than a clock of 62 bits can tell.
        """
        whole = [UNFINISHED if end is None else ceil(end) for end in ends]
        if max(whole, default=0) > MAX_QUANTITY:
            raise too_long()
        return cls(np.array(whole, np.int64))


def too_long() -> InputError:
    """Return the refusal of a run that outlasts the clock."""
    return InputError(
        "CTB-S002",
        f"a flow would end after more than {MAX_QUANTITY} ps, which is all the clock holds",
        hint="use smaller sizes or faster links",
    )
