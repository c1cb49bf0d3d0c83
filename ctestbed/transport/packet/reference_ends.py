"""The plain packet engine's flows: what their senders and receivers make of time and frames."""

from abc import ABC, abstractmethod
from bisect import insort
from typing import Final

from ctestbed.transport.packet.kernels_layout import NEVER
from ctestbed.transport.packet.problem import PacketSettings
from ctestbed.transport.packet.reference_acks import (
    Answer,
    keep_back,
    stands_alone,
    wants_answer,
)
from ctestbed.transport.packet.reference_code import is_short, know, lacking, whole
from ctestbed.transport.packet.reference_control import RCCLaw
from ctestbed.transport.packet.reference_harm import change_rate
from ctestbed.transport.packet.reference_hold import compute_pause
from ctestbed.transport.packet.reference_state import Flow, Frame, Node, Port, Queue, mix

PS_PER_SECOND: Final = 10**12


class Ends(ABC):
    """Senders and receivers; whoever inherits from it moves what they send."""

    settings: PacketSettings
    now: int
    open: int
    news: int
    """ps that word of a flow's end takes to another node."""

    @abstractmethod
    def _serve(self, port: Port) -> None:
        """Start the next frame if the transmitter is free."""

    @abstractmethod
    def _set_timer(self, port: Port, when: int) -> None:
        """Have `_tick` called by `when`."""

    @abstractmethod
    def _watch(self, port: Port) -> None:
        """Have the port's watchdogs bark that are due."""

    @abstractmethod
    def _ask(self, queue: Queue) -> None:
        """Have the state of a class said to the peer."""

    # A flow's sender.

    def _make_packet(self, flow: Flow) -> Frame:
        settings = self.settings
        if flow.repair:
            number = min(flow.repair)
            flow.repair.remove(number)
        else:
            number = flow.following
            flow.following += 1
        if not self._may_send(flow):
            flow.port.ring.remove(flow)
            flow.ready = False
        flow.paced = flow.law.pace(self.now, settings.header + settings.payload)
        if settings.retry < NEVER and flow.deadline == NEVER:
            flow.deadline = self.now + settings.retry
            self._set_timer(flow.port, flow.deadline)
        payload = settings.payload
        if number == flow.packets - 1 - settings.code[1]:
            payload = flow.last
        path = flow.paths[self._next_path(flow, number)]
        return Frame(
            "data", payload + settings.header, flow, number, path, 0, flow.klass, self.now,
            asked=wants_answer(flow, settings, self.now),
        )  # fmt: skip

    def _next_path(self, flow: Flow, number: int) -> int:
        if not self.settings.spray:
            return self._flowlet(flow)
        if not self.settings.drawn_paths:
            return number % len(flow.paths)
        flow.turns += 1
        return mix(self.settings.seed, flow.index, flow.turns) % len(flow.paths)

    def _flowlet(self, flow: Flow) -> int:
        """Return which of its paths a flow takes: another after a pause long enough."""
        gap = self.settings.flowlet_gap
        if gap and (not flow.turns or self.now - flow.sent_at >= gap):
            flow.turns += 1
            draw = mix(self.settings.seed, flow.index, flow.turns)
            flow.path = draw % len(flow.paths)
        flow.sent_at = self.now
        return flow.path

    def _may_send(self, flow: Flow) -> bool:
        if flow.following == flow.packets and not flow.repair:
            return False
        return flow.following - flow.acked - len(flow.repair) < flow.window

    def _enter_ring(self, flow: Flow) -> None:
        if flow.begun and not flow.ready and self._may_send(flow):
            flow.ready = True
            flow.port.ring.append(flow)

    def _set_window(self, flow: Flow) -> None:
        if isinstance(flow.law, RCCLaw):
            more = flow.law.allowed - flow.resent - flow.acked
            flow.window = min(self.settings.max_in_flight, more)
        if flow.law.window is not None:
            packets = flow.law.packets(self.settings.payload + self.settings.header)
            flow.window = min(self.settings.max_in_flight, max(1, packets))

    def _react(self, flow: Flow, frame: Frame, before: int) -> None:
        """Have the flow's law take an answer that came; `before` were acknowledged before it."""
        flow.hear(frame, before, self.now, selective=self.settings.reliability == "sr")
        self._set_window(flow)
        if flow.ready and not self._may_send(flow):
            flow.ready = False
            flow.port.ring.remove(flow)

    def _acknowledge(self, flow: Flow, frame: Frame) -> None:
        number, gap, before = frame.number, frame.kind == "nak", flow.acked
        if flow.finish >= 0:
            return
        if self.settings.retry < NEVER:
            flow.deadline = self.now + self.settings.retry
        self._learn(flow, sorted((number, *frame.others)), gap=gap)
        if self._is_done(flow):
            flow.finish = self.now
            flow.deadline = NEVER
            self.open -= 1
            if flow.ready:
                flow.port.ring.remove(flow)
            self._tell_followers(flow, flow.port.node, receipt=False)
            return
        self._react(flow, frame, before)
        if not flow.ready and self._may_send(flow):
            self._enter_ring(flow)
            self._serve(flow.port)

    def _learn(self, flow: Flow, numbers: list[int], *, gap: bool) -> None:
        """Note what an answer says of the flow's packets."""
        if self.settings.reliability == "sr":
            if gap:
                self._ask_again(flow, numbers[-1])
                return
            for number in numbers:
                if number not in flow.known:
                    flow.known.add(number)
                    flow.repair.discard(number)
                    flow.acked += 1
                    if self.settings.code[0]:
                        know(flow, self.settings.code, number)
        else:
            flow.acked = max(flow.acked, numbers[-1])
            if gap or flow.following < flow.acked:
                self._rewind(flow)

    def _is_done(self, flow: Flow) -> bool:
        code = self.settings.code
        return whole(flow, code, known=True) if code[0] else flow.acked == flow.packets

    def _tell_followers(self, flow: Flow, node: Node, *, receipt: bool) -> None:
        """Tell the flows that wait for one that was sent or received whole at `node`."""
        for wanted, follower in flow.followers:
            wait, port = follower.wait, follower.port
            if wanted != receipt or wait is None:
                continue
            insort(wait.heard, self.now + (0 if port.node is node else self.news))
            if len(wait.heard) >= wait.needs and not follower.begun:
                follower.start = wait.heard[wait.needs - 1] + wait.delay
                begun = port.begun
                port.flows[begun:] = sorted(
                    port.flows[begun:], key=lambda each: (each.start, each.index)
                )
                self._set_timer(port, follower.start)

    def _ask_again(self, flow: Flow, number: int) -> None:
        if number not in flow.known and number not in flow.repair and number < flow.following:
            flow.repair.add(number)
            flow.resent += 1

    def _rewind(self, flow: Flow) -> None:
        flow.resent += max(0, flow.following - flow.acked)
        flow.following = flow.acked

    def _tick(self, port: Port) -> None:
        """Begin flows, send again what was not acknowledged in time, say pauses again."""
        while port.begun < len(port.flows) and port.flows[port.begun].start <= self.now:
            flow = port.flows[port.begun]
            flow.begun = True
            self._enter_ring(flow)
            port.begun += 1
        if port.begun < len(port.flows):
            self._set_timer(port, port.flows[port.begun].start)
        for flow in reversed(port.flows[: port.begun]):
            if flow.deadline <= self.now:
                flow.deadline = NEVER
                if self.settings.reliability == "sr":
                    for number in range(flow.following):
                        self._ask_again(flow, number)
                else:
                    self._rewind(flow)
                flow.law.timeout(self.now)
                if isinstance(flow.law, RCCLaw):
                    repair = len(flow.repair)
                    flow.law.give_up(flow.following + flow.resent - repair, repair)
                self._set_window(flow)
                self._enter_ring(flow)
            self._set_timer(port, flow.deadline)
        self._speak(port)
        self._watch(port)
        self._set_timer(port, change_rate(port, self.now))
        self._pull(port)

    def _speak(self, port: Port) -> None:
        """Say again the pauses that are about to run out, and compute those that are due."""
        for queue in port.queues:
            if queue.off and queue.ask_at <= self.now:
                self._ask(queue)
            else:
                self._set_timer(port, queue.ask_at)
        for queue in port.queues:
            if compute_pause(queue, self.settings, self.now):
                port.asks.add(queue.klass)
            if queue.ahead is not None:
                self._set_timer(port, queue.ahead.next)

    def _be_pulled(self, flow: Flow, number: int) -> None:
        """Take a credit at the sender."""
        assert isinstance(flow.law, RCCLaw)  # noqa: S101 - no other law's receivers pull
        if flow.finish < 0:
            flow.law.pull(number)
            self._set_window(flow)
            if not flow.ready and self._may_send(flow):
                self._enter_ring(flow)
                self._serve(flow.port)

    # A flow's receiver.

    def _needs(self, flow: Flow, number: int) -> bool:
        """Whether the receiver can make use of a packet that comes now."""
        if self.settings.reliability == "gbn":
            return number == flow.expected
        if number in flow.have or not self.settings.code[0]:
            return number not in flow.have
        return is_short(flow, self.settings.code, number)

    def _want(self, port: Port, frame: Frame, gaps: int, *, again: bool) -> None:
        """Note that a packet came, or its header, and that `gaps` packets did not.

        If it came `again`, its sender may have missed the last credit; that is said once more.
        """
        flow = frame.flow
        if flow is None or not isinstance(flow.law, RCCLaw):
            return
        flow.missed += gaps
        if again and flow not in port.pulled and flow.pulls > 0:
            flow.pulls = min(flow.pulls, flow.pull_target() - 1)
        flow.last_seen = frame
        if flow.delivered >= 0:
            if flow in port.pulled:
                port.pulled.remove(flow)
        elif flow not in port.pulled and flow.pulls < flow.pull_target():
            port.pulled.append(flow)
            self._set_timer(port, max(self.now, port.pull_at))

    def _pull(self, port: Port) -> None:
        """Send the credit that is due, to the flow whose turn it is."""
        if port.pulled and port.pull_at <= self.now:
            flow = port.pulled.popleft()
            flow.pulls += 1
            seen = flow.last_seen
            assert seen is not None  # noqa: S101 - only flows of which something came are pulled
            port.control.append(
                Frame(
                    "notice", self.settings.control, flow, flow.pulls, seen.path, seen.hop,
                    seen.klass, self.now,
                )
            )  # fmt: skip
            size = self.settings.payload + self.settings.header
            port.pull_at = self.now - (-size * 8 * PS_PER_SECOND) // port.rate
            if flow.pulls < flow.pull_target():
                port.pulled.append(flow)
        if port.pulled:
            self._set_timer(port, port.pull_at)

    def _receive(self, node: Node, flow: Flow, frame: Frame) -> list[Answer]:
        """Take a whole packet; return what its sender is to hear."""
        number, settings = frame.number, self.settings
        if settings.reliability == "gbn":
            return self._receive_in_order(node, flow, number, urgent=frame.asked)
        alone = settings.ack_every == 1 or stands_alone(flow, settings, number)
        missing = self._receive_coded if settings.code[0] else self._receive_any
        gaps = [Answer("nak", each) for each in missing(node, flow, number)]
        if alone:
            return [*gaps, Answer("ack", number)]
        return gaps + keep_back(flow, settings, number, urgent=frame.asked or bool(gaps))

    def _receive_any(self, node: Node, flow: Flow, number: int) -> list[int]:
        if number not in flow.have:
            flow.have.add(number)
            if len(flow.have) == flow.packets:
                flow.delivered = self.now
                self._tell_followers(flow, node, receipt=True)
        gap = range(min(flow.seen, number), number if not self.settings.overtakes else 0)
        flow.seen = max(flow.seen, number + 1)
        return list(gap)

    def _receive_coded(self, node: Node, flow: Flow, number: int) -> list[int]:
        code = self.settings.code
        if number not in flow.have:
            flow.have.add(number)
            flow.came[number // sum(code)] += 1
            if flow.delivered < 0 and whole(flow, code, known=False):
                flow.delivered = self.now
                self._tell_followers(flow, node, receipt=True)
        return [] if self.settings.overtakes else lacking(flow, code, number)

    def _receive_in_order(
        self, node: Node, flow: Flow, number: int, *, urgent: bool
    ) -> list[Answer]:
        if number > flow.expected:
            if flow.seen:
                return []
            flow.seen = number + 1
            return [Answer("nak", flow.expected)]
        if number == flow.expected:
            flow.expected += 1
            flow.seen = 0
            flow.unacked += 1
            if flow.expected == flow.packets:
                flow.delivered = self.now
                self._tell_followers(flow, node, receipt=True)
            elif flow.unacked < self.settings.ack_every and not urgent:
                return []
        flow.unacked = 0
        return [Answer("ack", flow.expected)]
