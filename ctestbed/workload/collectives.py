"""Collectives as flows that wait for each other: hierarchical all-reduce.

Endpoints in groups of G (the members of a supernode or a host), H groups. The array of S bytes is
reduced in three phases:

    inside    every member sends each other member its share, S / G (reduce-scatter)
    across    the j-th members of all groups reduce and gather share j in a ring, in H chunks:
              H - 1 steps of reduce-scatter, H - 1 of all-gather
    inside    every member sends its share to each other member (all-gather)

A step of the ring starts when its sender has received what it passes on. With G = 1 it is a plain
ring; with H = 1 there is no ring.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ctestbed.core.errors import InputError, Where
from ctestbed.workload.flows import MAX_FLOWS, Column, Flows, Waits


def all_reduce_flows(
    groups: list[Column], members: int, size: int, where: Where | None = None
) -> Flows:
    """Return the flows of one all-reduce of `size` bytes per endpoint inside each of `groups`.

    Raises:
        InputError: groups that `members` do not divide, too many flows, or chunks without a byte.
    """
    planned = [_Plan(group.astype(np.int64), members, size) for group in groups if len(group) > 1]
    count = sum(plan.flows for plan in planned)
    _refuse(planned, count, members, size, where)
    first, parts = 0, []
    for plan in planned:
        parts.append(plan.build(first))
        first += plan.flows
    tables, edges = zip(*parts, strict=True)
    source, destination, sizes = np.concatenate(tables, axis=1)
    flow, ahead = np.concatenate(edges, axis=1)
    order = np.argsort(flow, kind="stable")
    counts = np.bincount(flow, minlength=count)
    waits = Waits(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        ahead[order],
        np.ones(len(ahead), bool),
        counts.astype(np.int64),
    )
    zeros = np.zeros(count, np.int64)
    return Flows(
        source, destination, sizes, zeros, zeros.astype(np.int8), waits if len(ahead) else None
    )


def _refuse(
    planned: list["_Plan"], count: int, members: int, size: int, where: Where | None
) -> None:
    unfit = [plan for plan in planned if len(plan.endpoints) % members]
    if not planned or unfit:
        have = len(unfit[0].endpoints) if unfit else 0
        raise InputError(
            "CTB-S011",
            f"{have} endpoints that reach each other do not make groups of {members}"
            if unfit
            else "nobody to reduce with: no two endpoints reach each other",
            where=where,
            hint="`all-reduce:G` takes a G that divides them; 1 makes a plain ring",
        )
    if count > MAX_FLOWS:
        raise InputError(
            "CTB-S012",
            f"the all-reduce would be {count:,} flows, and {MAX_FLOWS:,} is the most that is run "
            "at once",
            where=where,
            hint="use a smaller testbed or larger groups: a ring's flows grow with its square",
        )
    chunks = max(plan.chunks for plan in planned)
    if size < chunks:
        raise InputError(
            "CTB-S013",
            f"{size} bytes cannot be cut into {chunks:,} chunks",
            where=where,
            hint="give a larger size",
        )


@dataclass(frozen=True, slots=True)
class _Plan:
    """The flows of one group of endpoints, numbered phase by phase."""

    endpoints: Column
    members: int
    size: int

    @property
    def nodes(self) -> int:
        return len(self.endpoints) // self.members

    @property
    def chunks(self) -> int:
        """Into how many pieces the array is cut."""
        return self.members * self.nodes

    @property
    def inside(self) -> int:
        """Flows of one inside phase."""
        return len(self.endpoints) * (self.members - 1)

    @property
    def steps(self) -> int:
        return 2 * (self.nodes - 1)

    @property
    def flows(self) -> int:
        return 2 * self.inside + self.steps * len(self.endpoints)

    def build(self, first: int) -> tuple[Any, Any]:
        """Return (source, destination, bytes) rows, and (flow, flow before it) rows."""
        scatter, ring, gather = self._scatter(), self._ring(), self._gather()
        table = np.concatenate([scatter, ring, gather], axis=1)
        table[:2] = self.endpoints[table[:2]]
        edges = np.concatenate([self._ring_edges(), self._gather_edges()], axis=1)
        return table, edges + first

    def _share(self, member: Column) -> Any:
        return _part(np.int64(self.size), self.members, member)

    def _inside_ends(self) -> tuple[Column, Column, Column, Column]:
        """Return (sender, receiver) positions and their members, sender by sender."""
        group = self.members
        sender = np.repeat(np.arange(len(self.endpoints)), group - 1)
        own = sender % group
        other = np.tile(np.arange(group - 1), len(self.endpoints))
        other += other >= own
        return sender, sender - own + other, own, other

    def _scatter(self) -> Column:
        sender, receiver, _, other = self._inside_ends()
        return np.stack([sender, receiver, self._share(other)])

    def _gather(self) -> Column:
        sender, receiver, own, _ = self._inside_ends()
        return np.stack([sender, receiver, self._share(own)])

    def _ring(self) -> Column:
        count, nodes = len(self.endpoints), self.nodes
        at = np.tile(np.arange(count), self.steps)
        step = np.repeat(np.arange(self.steps), count)
        node, member = at // self.members, at % self.members
        reducing = step < nodes - 1
        chunk = np.where(reducing, node - step, node + nodes - step)
        sizes = _part(self._share(member), nodes, chunk % nodes)
        return np.stack([at, (at + self.members) % count, sizes])

    def _ring_edges(self) -> Column:
        """Return what each step waits for: the inside phase, then the step before it."""
        count, group = len(self.endpoints), self.members
        if not self.steps:
            return np.zeros((2, 0), np.int64)
        begins = np.repeat(np.arange(count), group - 1)
        first = np.stack([self.inside + begins, self._received(begins)])
        at = np.tile(np.arange(count), self.steps - 1)
        step = np.repeat(np.arange(1, self.steps), count)
        flow = self.inside + step * count + at
        before = self.inside + (step - 1) * count + (at - group) % count
        return np.concatenate([first, np.stack([flow, before])], axis=1)

    def _received(self, position: Column) -> Any:
        """Return the inside flows that reach each position, one after another, in order."""
        group = self.members
        own = position % group
        turn = np.arange(len(position)) % (group - 1) if group > 1 else own
        sender = turn + (turn >= own)
        return (position - own + sender) * (group - 1) + own - (own > sender)

    def _gather_edges(self) -> Column:
        """Return what the last phase waits for: all that the ring, or the first phase, brings."""
        count, group, nodes = len(self.endpoints), self.members, self.nodes
        flow = np.arange(self.inside)
        if not self.steps:
            flows = np.repeat(flow, group - 1)
            return np.stack([self.inside + flows, self._received(flows // (group - 1))])
        flows = np.repeat(flow, nodes - 1)
        step = np.tile(np.arange(nodes - 1, self.steps), self.inside)
        sender = flows // max(1, group - 1)
        before = self.inside + step * count + (sender - group) % count
        return np.stack([self.inside + self.steps * count + flows, before])


def _part(size: Any, parts: int, at: Any) -> Any:
    """Return the bytes of piece `at` of `size` bytes cut into `parts` as evenly as they go."""
    whole, rest = np.divmod(size, parts)
    return whole + (at < rest)
