"""What is written down for people to see, in plain Python: looks, and who first paused whom."""

from dataclasses import dataclass, field

import numpy as np

from ctestbed.transport.packet.kernels_layout import LOOK, NEVER
from ctestbed.transport.packet.problem import Column, Sights
from ctestbed.transport.packet.reference_state import Port, Queue


@dataclass(slots=True)
class Looks:
    """Looks at all ports, each `step` ps; of more than `rows`, pairs are merged."""

    step: int
    rows: int
    waiting: list[Column] = field(default_factory=list)
    held: list[Column] = field(default_factory=list)
    sums: list[Column] = field(default_factory=list)
    """Bytes that wait, ports held back, bytes of payload that had come."""

    def take(self, ports: list[Port], good: int, begin: int, horizon: int) -> None:
        """Look at each time that is due before `begin`, the time of the next event."""
        while (now := (len(self.sums) + 1) * self.step) < begin and now <= horizon:
            waiting = [sum(queue.waiting for queue in port.queues) for port in ports]
            held = [any(queue.is_held(now) for queue in port.queues) for port in ports]
            self.waiting.append(np.array(waiting, np.int64))
            self.held.append(np.array(held))
            self.sums.append(np.array([sum(waiting), sum(held), good], np.int64))
            if len(self.sums) == self.rows:
                for rows in (self.waiting, self.held, self.sums):
                    rows[:] = [
                        np.maximum(*pair) for pair in zip(rows[::2], rows[1::2], strict=True)
                    ]
                self.step *= 2

    def sights(self, ports: int) -> Sights:
        """Return what was seen."""
        sums = np.array(self.sums, np.int64).reshape(-1, LOOK)
        return Sights(
            self.step,
            np.array(self.waiting, np.int64).reshape(-1, ports),
            np.array(self.held, bool).reshape(-1, ports),
            *sums.T,
        )


def note_first(queue: Queue, leaving: Queue | None, now: int) -> None:
    """Note when a class first tells its peer to pause, and because of whom.

    That is the class of a port of its node with the longest queue of those that are paused
    themselves and that what came in here waits for; a frame that is too much goes to `leaving`.
    """
    if queue.first_pause < NEVER:
        return
    queue.first_pause = now
    for port in queue.port.node.ports:
        other = port.queues[queue.klass]
        longest = -1 if queue.cause is None else queue.cause.waiting
        if not other.is_paused(now) or other.waiting <= longest:
            continue
        if other is leaving or any(frame.entered is queue for frame in other.frames):
            queue.cause = other


def causes_of(rows: list[list[Queue]]) -> Column:
    """Return the links because of which classes first paused their peers, -1 where of none."""
    causes = [[queue.cause for queue in row] for row in rows]
    return np.array([[-1 if q is None else q.port.link for q in row] for row in causes], np.int64)


def stalls_of(rows: list[list[Queue]], now: int) -> Column:
    """Return how long classes have stood still by now that still do."""
    return np.array([[queue.stalls(now) for queue in row] for row in rows], np.int64)
