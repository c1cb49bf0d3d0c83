"""The packet engine in plain Python: the oracle of the compiled one, and quick for small runs.

One heap of events in order of (time, rank, directed link): a transmitter falls free (or a pause
runs out), a frame arrives, a timer fires. A port's transmitter sends, in this order: the pause that
its peer is to hear, control frames, data that waits in the switch, data of flows that begin here.
"""

import time
from dataclasses import replace
from heapq import heappop, heappush
from typing import Final

import numpy as np

from ctestbed.core.interrupt import Wish, wish_to_stop
from ctestbed.transport.packet.computed import computed_limits
from ctestbed.transport.packet.credits import buffers
from ctestbed.transport.packet.kernels_layout import NEVER
from ctestbed.transport.packet.laws import Tuning, tune
from ctestbed.transport.packet.problem import (
    BIT_TIMES_OF_QUANTUM,
    Column,
    LinkClassLimits,
    PacketFlows,
    PacketNetwork,
    PacketOutcome,
    PacketSettings,
    PacketWaits,
    PortRecord,
    no_harm,
)
from ctestbed.transport.packet.reference_acks import Answer
from ctestbed.transport.packet.reference_code import groups_of
from ctestbed.transport.packet.reference_control import make_law
from ctestbed.transport.packet.reference_ends import Ends
from ctestbed.transport.packet.reference_harm import do_harm, fate_of
from ctestbed.transport.packet.reference_hold import give_credit, look_ahead, next_word, who_waits
from ctestbed.transport.packet.reference_pause import Pauses
from ctestbed.transport.packet.reference_sight import Looks, causes_of, note_first, stalls_of
from ctestbed.transport.packet.reference_state import Flow, Frame, Node, Port, Queue, Wait, mix
from ctestbed.transport.packet.sight import plan_looks
from ctestbed.transport.packet.stillness import next_look, patience_of, stands_still

WAKE: Final = 0
ARRIVAL: Final = 1
TIMER: Final = 2
PS_PER_SECOND: Final = 10**12


class Simulation(Pauses, Ends):
    """One run: build it, `run` it, ask for its `outcome`."""

    def __init__(
        self,
        network: PacketNetwork,
        flows: PacketFlows,
        limits: LinkClassLimits,
        settings: PacketSettings,
    ) -> None:
        self.settings = settings
        self.heap: list[tuple[int, int, int]] = []
        self.nodes: dict[int, Node] = {}
        self.ports: dict[int, Port] = {}
        self.now = self.last = self.lost = self.trimmed = self.data_hops = self.control_hops = 0
        self.still = False
        self.perished = self.erred = self.watched = self.expired = self.good = 0
        limits = computed_limits(network, limits, settings)
        links = set(network.links.tolist())
        for link in sorted(links | {link ^ 1 for link in links}):
            self._add_port(network, limits, link)
        if settings.flow_control == "cbfc":
            give_credit(self.ports, buffers(network, limits), settings.lossless)
        look_ahead(self.ports, network, settings)
        do_harm(self.ports, settings.harm or no_harm())
        self._watch_all()
        step, rows = plan_looks(network, flows, settings)
        self.looks = Looks(step, rows) if rows else None
        tuning = tune(network, flows, settings)
        self.flows = [self._add_flow(tuning, network, flows, f) for f in range(len(flows.sizes))]
        self.open = len(self.flows)
        self._add_waits(flows.after)
        self.news = min(
            port.delay - (-settings.control * 8 * PS_PER_SECOND // port.rate)
            for port in self.ports.values()
        )
        for port in self.ports.values():
            port.flows.sort(key=lambda flow: flow.start)
            if port.changes:
                self._set_timer(port, port.changes[0][0])
            if port.flows:
                self._set_timer(port, port.flows[0].start)

    def _add_port(self, network: PacketNetwork, limits: LinkClassLimits, link: int) -> None:
        place = int(network.tail[link])
        if place not in self.nodes:
            self.nodes[place] = Node(self.settings.shared, self.settings.headroom_pool)
        port = Port(link, self.nodes[place], int(network.rate[link]), int(network.delay[link]))
        arriving = link ^ 1
        port.queues = [
            Queue(
                port, klass, int(limits.xoff[arriving]), int(limits.xon[arriving]),
                int(limits.headroom[arriving]), int(limits.queue[link]),
            )
            for klass in range(self.settings.classes)
        ]  # fmt: skip
        if limits.blocked is not None:
            for queue in port.queues:
                queue.paused_until = int(limits.blocked[link])
        self.ports[link] = port
        port.node.ports.append(port)

    def _add_flow(
        self, tuning: Tuning, network: PacketNetwork, flows: PacketFlows, index: int
    ) -> Flow:
        first = int(flows.first_path[index])
        paths = [
            network.links[int(network.offsets[p]) : int(network.offsets[p + 1])].tolist()
            for p in range(first, first + int(flows.paths[index]))
        ]
        size = int(flows.sizes[index])
        data = -(-size // self.settings.payload)
        packets = data + self.settings.code[1] * groups_of(data, self.settings.code)
        port = self.ports[paths[0][0]]
        flow = Flow(
            port, paths, packets, size - (data - 1) * self.settings.payload,
            int(flows.classes[index]), int(flows.starts[index]), self.settings.max_in_flight,
            make_law(
                self.settings, tuning, index, [float(network.rate[link]) for link in paths[0][1:]]
            ),
        )  # fmt: skip
        flow.index = index
        self._set_window(flow)
        port.flows.append(flow)
        return flow

    def _add_waits(self, waits: PacketWaits | None) -> None:
        if waits is None:
            return
        for flow in self.flows:
            needs = int(waits.needs[flow.index])
            if needs > 0:
                flow.wait, flow.start = Wait(needs, flow.start), NEVER
            for edge in range(int(waits.offsets[flow.index]), int(waits.offsets[flow.index + 1])):
                ahead = self.flows[int(waits.flows[edge])]
                ahead.followers.append((bool(waits.receipt[edge]), flow))

    # Events.

    def _set_wake(self, port: Port, when: int) -> None:
        if when < port.wake:
            port.wake = when
            heappush(self.heap, (when, WAKE, port.link))

    def _set_timer(self, port: Port, when: int) -> None:
        if when < port.timer:
            port.timer = when
            heappush(self.heap, (when, TIMER, port.link))

    def run(self, horizon: int, patience: int, wish: Wish | None = None) -> None:
        """Settle events until none is left, or `horizon` ps, or nothing moves for `patience` ps.

        Or until `wish` says to stop.
        """
        upto = min(horizon, patience)
        while True:
            self._run(upto, wish)
            if upto >= horizon or not self.heap or (wish and wish.stop):
                return
            starts = np.array([flow.start for flow in self.flows], np.int64)
            if stands_still(starts, upto, self.last, patience) and not any(
                port.wire or port.wake < NEVER for port in self.ports.values()
            ):
                self.still = True
                return
            upto = min(horizon, next_look(starts, upto, self.last, patience))

    def _run(self, horizon: int, wish: Wish | None) -> None:
        ports = list(self.ports.values())
        while self.heap and not (wish and wish.stop):
            now, rank, link = self.heap[0]
            port = self.ports[link]
            if rank != ARRIVAL and now != (port.wake if rank == WAKE else port.timer):
                heappop(self.heap)
                continue  # An earlier one stood in for it.
            if self.looks and self.open:
                self.looks.take(ports, self.good, now, horizon)
            if now > horizon:
                break
            heappop(self.heap)
            self.now = now
            if rank == ARRIVAL:
                self.last = now
                frame = port.wire.popleft()[1]
                fate = fate_of(port, self.ports[link ^ 1], frame.size, now, self.settings.seed)
                self.perished += fate == "perished"
                self.erred += fate == "erred"
                if fate == "comes":
                    self._arrive(port, frame)
            elif rank == WAKE:
                port.wake = NEVER
                other = self._release(port) if port.owed and port.free <= now else None
                self._serve(port)
                if other is not None:
                    self._set_wake(other, now)
            else:
                port.timer = NEVER
                self._tick(port)
                self._serve(port)

    # A port's transmitter.

    def _launch(self, port: Port, frame: Frame) -> None:
        port.free = self.now - (-frame.size * 8 * PS_PER_SECOND) // (port.pace or port.rate)
        when = port.free + port.delay
        self.ports[port.link ^ 1].wire.append((when, frame))
        heappush(self.heap, (when, ARRIVAL, port.link ^ 1))

    def _serve(self, port: Port) -> None:
        wake = NEVER
        if port.free <= self.now:
            wake = self._send_next(port)
        if port.free > self.now:
            waits = bool(port.owed or port.control or port.ring or port.asks)
            waits = waits or any(queue.frames for queue in port.queues)
            wake = port.free if waits else NEVER
        self._set_wake(port, wake)

    def _send_next(self, port: Port) -> int:
        """Start a frame if one may go; return when to look again, NEVER if nothing says so."""
        if port.asks:
            self.control_hops += 1
            self._launch(port, next_word(port, self.settings))
            return NEVER
        if port.control:
            self.control_hops += 1
            self._launch(port, port.control.popleft())
            return NEVER
        wake = NEVER
        for queue in port.queues:
            if not queue.frames or queue.lacks_credit(queue.frames[0].size, self.now):
                continue
            if not queue.is_paused(self.now):
                frame = queue.frames.popleft()
                queue.waiting -= frame.size
                assert frame.entered is not None  # noqa: S101 - whatever waits here came in
                port.owed = frame.entered, frame.size
                self._launch_data(port, queue, frame)
                return NEVER
            wake = min(wake, queue.paused_until)
        for turn, flow in enumerate(port.ring):
            queue = port.queues[flow.klass]
            if queue.is_paused(self.now):
                wake = min(wake, queue.paused_until)
            elif queue.lacks_credit(self.settings.payload + self.settings.header, self.now):
                continue
            elif flow.paced > self.now:
                wake = min(wake, flow.paced)
            else:
                port.ring.rotate(-turn - 1)
                self._launch_data(port, queue, self._make_packet(flow))
                return NEVER
        return wake

    def _launch_data(self, port: Port, queue: Queue, frame: Frame) -> None:
        queue.sent_bytes += frame.size
        queue.sent_frames += 1
        self.data_hops += 1
        if self.settings.congestion == "hpcc" and frame.entered is not None:
            frame.telemetry.append((queue.waiting, queue.sent_bytes, self.now))
        self._launch(port, frame)

    # A node: frames come in.

    def _arrive(self, port: Port, frame: Frame) -> None:
        if frame.kind == "pause":
            for klass, stop in sorted(frame.orders.items()):
                self._heed(port.queues[klass], frame.lasts, stop=stop)
            self._serve(port)
        elif frame.kind == "credit":
            port.queues[frame.klass].hear_credit(frame.number, self.now)
            self._serve(port)
        elif frame.kind != "data":
            self._carry_answer(frame)
        elif frame.hop + 1 == self.settings.ttl < len(frame.path):
            self.expired += 1
        elif frame.hop + 1 == len(frame.path):
            self._deliver(port, frame)
        else:
            if self.settings.adaptive:
                frame.path = self._least_loaded(frame)
            out = self.ports[frame.path[frame.hop + 1]]
            frame.hop += 1
            if frame.trimmed:
                out.control.append(frame)
                self._serve(out)
            else:
                self._forward(port, out, frame)

    def _least_loaded(self, frame: Frame) -> list[int]:
        """Return the path by whose next port fewest bytes of the frame's class wait."""
        flow, come = frame.flow, frame.path[: frame.hop + 1]
        assert flow is not None  # noqa: S101 - only pauses have none
        ways: dict[int, list[int]] = {}
        for path in flow.paths:
            if path[: len(come)] == come:
                ways.setdefault(path[len(come)], path)

        def load(link: int) -> tuple[int, bool]:
            port = self.ports[link]
            return port.queues[frame.klass].waiting, port.free > self.now

        least = min(load(link) for link in ways)
        equals = [path for link, path in ways.items() if load(link) == least]
        turn = mix(self.settings.seed, flow.index, frame.number << 4 | frame.hop)
        return equals[turn % len(equals)]

    def _carry_answer(self, frame: Frame) -> None:
        """Pass an answer one hop back along its packet's path, or hand it to the sender."""
        assert frame.flow is not None  # noqa: S101 - only pauses have none
        if frame.hop > 0:
            frame.hop -= 1
            back = self.ports[frame.path[frame.hop] ^ 1]
            back.control.append(frame)
            self._serve(back)
        elif frame.kind == "notice" and self.settings.congestion == "rcc":
            self._be_pulled(frame.flow, frame.number)
        elif frame.kind == "notice":
            frame.flow.law.notice(self.now)
        else:
            self._acknowledge(frame.flow, frame)

    def _threshold(self, node: Node, queue: Queue) -> int:
        share, of = self.settings.alpha
        if share == 0:
            return queue.xoff
        return min(queue.xoff, share * max(0, node.shared - node.used) // of)

    def _ask(self, queue: Queue) -> None:
        """Have the state of a class said to the peer as soon as the transmitter is free."""
        queue.port.asks.add(queue.klass)
        queue.ask_at = NEVER
        if self.settings.pause_quanta and queue.off:
            bits = self.settings.pause_quanta * BIT_TIMES_OF_QUANTUM
            queue.ask_at = self.now + bits * PS_PER_SECOND // queue.port.rate // 2
            self._set_timer(queue.port, queue.ask_at)

    def _forward(self, port: Port, out: Port, frame: Frame) -> None:
        queue = port.queues[frame.klass]
        if self._discards(out.queues[frame.klass]):
            self._note_arrival(queue, frame.size)
            return
        paused_before = queue.off
        if not self._admit(queue, out.queues[frame.klass], frame.size):
            if not self.settings.trim or self.settings.lossless >> frame.klass & 1:
                queue.drops += 1
                queue.first_drop = min(queue.first_drop, self.now)
                self.lost += 1
                return
            self.trimmed += 1
            frame.trimmed, frame.size = True, self.settings.control
            out.control.append(frame)
        else:
            self._note_arrival(queue, frame.size)
            frame.entered = queue
            self._enqueue(out.queues[frame.klass], frame)
        self._serve(out)
        if queue.off and not paused_before and port is not out:
            self._set_wake(port, self.now)

    def _note_arrival(self, queue: Queue, size: int) -> None:
        """Count what came by a long link; have the first after a rest answered at once."""
        ahead = queue.ahead
        if ahead is not None:
            if ahead.next == NEVER:
                ahead.flight, ahead.next = ahead.first, self.now
                self._set_timer(queue.port, self.now)
            ahead.came += size

    def _admit(self, queue: Queue, leaving: Queue, size: int) -> bool:
        node, settings = queue.port.node, self.settings
        if not settings.lossless >> queue.klass & 1:
            limit = leaving.limit
            if settings.alpha[0]:
                free = max(0, node.shared - node.used)
                limit = min(limit, settings.alpha[0] * free // settings.alpha[1])
            if leaving.waiting + size > limit:
                return False
            node.used += size
        elif settings.flow_control == "cbfc" or queue.entered + size <= self._threshold(
            node, queue
        ):
            node.used += size
        else:
            if queue.over + size > queue.room or node.pooled + size > node.pool:
                return False
            queue.over += size
            queue.over_max = max(queue.over_max, queue.over)
            node.pooled += size
            if not queue.off:
                queue.off = True
                queue.pauses += 1
                note_first(queue, leaving, self.now)
                self._ask(queue)
        queue.entered += size
        if settings.lossless >> queue.klass & 1:
            queue.entered_max = max(queue.entered_max, queue.entered)
        return True

    def _enqueue(self, queue: Queue, frame: Frame) -> None:
        if queue.waiting >= self.settings.mark_from and self._draw(queue):
            frame.marked = True
            queue.marks += 1
        queue.frames.append(frame)
        queue.waiting += frame.size
        queue.waiting_max = max(queue.waiting_max, queue.waiting)

    def _draw(self, queue: Queue) -> bool:
        """Decide on a mark by SplitMix64 over seed, link and the frames sent and held."""
        settings = self.settings
        if queue.waiting >= settings.mark_all:
            return True
        count = queue.sent_frames + len(queue.frames)
        span = settings.mark_all - settings.mark_from
        return (
            mix(settings.seed, queue.port.link, count)
            < settings.mark_share * (queue.waiting - settings.mark_from) // span
        )

    def _release(self, port: Port) -> Port | None:
        """Give back the bytes of the frame that has left by `port`.

        Returns another port whose peer may send again, if there is one.
        """
        assert port.owed is not None  # noqa: S101 - the caller has looked
        queue, size = port.owed
        port.owed = None
        node = port.node
        queue.entered -= size
        back = min(queue.over, size)
        queue.over -= back
        node.pooled -= back
        node.used -= size - back
        if self.settings.flow_control == "cbfc":
            if not queue.free(size, self.settings.payload + self.settings.header):
                return None
            queue.port.asks.add(queue.klass)
            return queue.port if queue.port is not port else None
        level = self._threshold(node, queue) - self.settings.hysteresis
        if queue.off and queue.entered <= max(0, min(level, queue.xon)):
            queue.off = False
            self._ask(queue)
            return queue.port if queue.port is not port else None
        return None

    # A flow's receiver.

    def _deliver(self, port: Port, frame: Frame) -> None:
        flow, number = frame.flow, frame.number
        assert flow is not None  # noqa: S101 - only pauses have none
        answers: list[Answer] = []
        again = number in flow.have
        if self.settings.congestion == "dcqcn" and frame.marked and flow.next_notice <= self.now:
            flow.next_notice = self.now + int(self.settings.dcqcn.notice_period)
            answers.append(Answer("notice", 0))
        if not frame.trimmed and self._needs(flow, number):
            self.good += frame.size - self.settings.header
        if frame.trimmed:
            sr = self.settings.reliability == "sr"
            answers.append(Answer("nak", number if sr else flow.expected))
        else:
            answers += self._receive(port.node, flow, frame)
        self._want(port, frame, sum(answer.kind == "nak" for answer in answers), again=again)
        for kind, what, others in answers:
            port.control.append(
                Frame(
                    kind, self.settings.control, flow, what, frame.path, frame.hop, frame.klass,
                    frame.stamp, frame.marked, frame.trimmed, others=others,
                    telemetry=frame.telemetry,
                )
            )  # fmt: skip
        if answers:
            self._serve(port)

    def outcome(self) -> PacketOutcome:
        """Return what became of the flows and ports."""
        links = sorted(self.ports)
        stuck = bool(self.open) and (self.still or not self.heap)
        leaving = [self.ports[link].queues for link in links]
        arriving = [self.ports[link ^ 1].queues for link in links]

        def table(rows: list[list[Queue]], name: str) -> Column:
            return np.array([[getattr(queue, name) for queue in row] for row in rows], np.int64)

        return PacketOutcome(
            np.array([flow.start if flow.start < NEVER else -1 for flow in self.flows], np.int64),
            np.array([flow.finish for flow in self.flows], np.int64),
            np.array([flow.delivered for flow in self.flows], np.int64),
            np.array([flow.resent for flow in self.flows], np.int64),
            ended=not self.open,
            stuck=stuck,
            now=self.last,
            lost=self.lost,
            trimmed=self.trimmed,
            perished=self.perished,
            erred=self.erred,
            watched=self.watched,
            expired=self.expired,
            waits=who_waits(self.ports, self.settings) if stuck else (),
            data_hops=self.data_hops,
            control_hops=self.control_hops,
            sights=self.looks.sights(len(links)) if self.looks else None,
            ports=PortRecord(
                links=np.array(links, np.int64),
                waiting_max=table(leaving, "waiting_max"),
                entered_max=table(arriving, "entered_max"),
                headroom_max=table(arriving, "over_max"),
                drops=table(arriving, "drops"),
                pauses=table(arriving, "pauses"),
                paused=table(leaving, "paused"),
                marks=table(leaving, "marks"),
                sent_bytes=table(leaving, "sent_bytes"),
                sent_frames=table(leaving, "sent_frames"),
                first_drop=table(arriving, "first_drop"),
                watchdog_drops=table(leaving, "watchdog_drops"),
                watchdog_first=table(leaving, "watchdog_first"),
                first_pause=table(arriving, "first_pause"),
                cause=causes_of(arriving),
                stalled=table(leaving, "stalled") + stalls_of(leaving, self.last),
            ),
        )


def simulate_reference(
    network: PacketNetwork,
    flows: PacketFlows,
    limits: LinkClassLimits,
    settings: PacketSettings,
    horizon: int = NEVER - 1,
) -> PacketOutcome:
    """Run as the compiled engine does, event for event."""
    simulation = Simulation(network, flows, limits, settings)
    began = time.process_time()
    with wish_to_stop() as wish:
        simulation.run(horizon, patience_of(settings, limits), wish)
    outcome = simulation.outcome()
    cut = wish.stop and not outcome.ended and not outcome.stuck
    return replace(outcome, interrupted=cut, cpu=time.process_time() - began)
