"""Pauses at the port that hears them, and its watchdog, in plain Python: see `kernels_pause`."""

from abc import ABC, abstractmethod
from typing import Final

from ctestbed.transport.packet.kernels_layout import NEVER
from ctestbed.transport.packet.problem import BIT_TIMES_OF_QUANTUM, PacketSettings
from ctestbed.transport.packet.reference_state import Port, Queue

PS_PER_SECOND: Final = 10**12


class Pauses(ABC):
    """What ports make of pauses; whoever inherits from it moves frames."""

    settings: PacketSettings
    now: int
    watched: int
    ports: dict[int, Port]

    @abstractmethod
    def _set_wake(self, port: Port, when: int) -> None:
        """Have a port served by `when`."""

    @abstractmethod
    def _set_timer(self, port: Port, when: int) -> None:
        """Have `_watch` called by `when`."""

    @abstractmethod
    def _release(self, port: Port) -> Port | None:
        """Give back the bytes that a port owes; return who may now tell its peer so."""

    def _heed(self, queue: Queue, span: int, *, stop: bool) -> None:
        settings, watchdog = self.settings, self.settings.watchdog
        bits = settings.pause_quanta * BIT_TIMES_OF_QUANTUM
        span = span or bits * PS_PER_SECOND // queue.port.rate
        ends = self.now + settings.pause_response + span if span else NEVER
        self._restore(queue)
        if queue.barked and watchdog is not None and watchdog.forward:
            queue.storm_ends = ends if stop else self.now
            return
        if not stop or queue.paused_until <= self.now:
            queue.paused += max(0, min(self.now, queue.paused_until) - queue.paused_from)
            queue.paused_from = self.now + settings.pause_response
            queue.paused_until = self.now
        if stop:
            queue.paused_until = ends
            if not queue.barked and queue.watch_at == NEVER:
                self._set_watch(queue)

    def _patience(self) -> int:
        return NEVER if self.settings.watchdog is None else self.settings.watchdog.after

    def _set_watch(self, queue: Queue) -> None:
        if self.settings.watchdog is not None:
            queue.watch_at = queue.paused_from + self._patience()
            self._set_timer(queue.port, queue.watch_at)

    def _watch_all(self) -> None:
        """Set the watchdogs of what is paused from the start."""
        for port in self.ports.values():
            for queue in port.queues:
                if queue.paused_until > 0:
                    self._set_watch(queue)

    def _restore(self, queue: Queue) -> None:
        """Let a class be as before if its storm has been over for long enough."""
        watchdog = self.settings.watchdog
        if queue.barked and watchdog is not None:
            ends = queue.storm_ends if watchdog.forward else queue.paused_until
            queue.barked = self.now < ends + watchdog.restore

    def _discards(self, queue: Queue) -> bool:
        """Tell whether a watchdog drops what comes to leave by a class now, and count it."""
        self._restore(queue)
        watchdog = self.settings.watchdog
        if not queue.barked or watchdog is None or watchdog.forward:
            return False
        self._count_drop(queue)
        return True

    def _count_drop(self, queue: Queue) -> None:
        self.watched += 1
        queue.watchdog_drops += 1
        queue.watchdog_first = min(queue.watchdog_first, self.now)

    def _watch(self, port: Port) -> None:
        for queue in port.queues:
            if queue.watch_at <= self.now:
                queue.watch_at = NEVER
                if queue.paused_until > self.now:
                    late = queue.paused_from + self._patience()
                    if late > self.now:
                        queue.watch_at = late
                    else:
                        queue.barked = True
                        self._bark(port, queue)
            self._set_timer(port, queue.watch_at)

    def _bark(self, port: Port, queue: Queue) -> None:
        """Drop what waits in a class, and let those send again that it held; or end its pause."""
        watchdog = self.settings.watchdog
        if watchdog is not None and watchdog.forward:
            queue.storm_ends = queue.paused_until
            queue.paused += max(0, self.now - queue.paused_from)
            queue.paused_until = self.now
            return
        being_sent = port.owed
        for frame in queue.frames:
            self._count_drop(queue)
            assert frame.entered is not None  # noqa: S101 - whatever waits here came in
            port.owed = frame.entered, frame.size
            other = self._release(port)
            if other is not None:
                self._set_wake(other, self.now)
        port.owed = being_sent
        queue.frames.clear()
        queue.waiting = 0
