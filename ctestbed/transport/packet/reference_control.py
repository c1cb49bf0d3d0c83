"""Laws of congestion control at the sender, one object a flow, as in `laws`."""

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Final

from ctestbed.transport.packet.kernels_layout import LEAST_USE, NEVER
from ctestbed.transport.packet.laws import BIT_PS, DCQCN, HPCC, Swift, Tuning
from ctestbed.transport.packet.problem import PacketSettings

FAR: Final = float(NEVER)


@dataclass(frozen=True, slots=True)
class Answer:
    """What an answer tells its sender, `fresh` packets of which it did not know.

    `upto` is one above the number that it is about, `following` the flow's next number and
    `flying` how many packets are in flight. `took` is the packet's round trip.
    """

    now: int
    gap: bool
    upto: int
    fresh: int
    following: int
    flying: int
    took: int
    marked: bool
    trimmed: bool
    telemetry: list[tuple[int, int, int]]


class Law:
    """No law: as fast as the line goes."""

    window: float | None = None
    """Bytes in flight, None if the law sets no window."""

    def __init__(self, line: float) -> None:
        self.line = self.rate = line

    def pace(self, now: int, size: int) -> int:
        """Return when a flow that sends `size` bytes now may send again."""
        return now if self.rate >= self.line else now + int(size * BIT_PS / self.rate)

    def packets(self, frame: int) -> int:
        """Return how many packets of `frame` bytes the window holds."""
        return int((self.window or 0.0) / frame)

    def notice(self, now: int) -> None:
        """Take a congestion notice."""

    def answer(self, answer: Answer) -> None:
        """Take an acknowledgement, or the report of a gap."""

    def timeout(self, now: int) -> None:
        """Take it that an answer did not come in time."""


class DCQCNLaw(Law):
    """DCQCN: what its timers would have done is done when the rate is next needed."""

    def __init__(self, line: float, dcqcn: DCQCN) -> None:
        super().__init__(line)
        self.dcqcn = dcqcn
        self.target = line
        self.alpha = 1.0
        self.alpha_at = self.rise_at = FAR
        self.times = self.rounds = self.towards = 0.0

    def _catch_up(self, now: int) -> None:
        while self.alpha_at <= now:
            self.alpha *= 1.0 - self.dcqcn.g
            self.alpha_at += self.dcqcn.alpha_period
        while self.rise_at <= now:
            self.times += 1.0
            self.rise_at += self.dcqcn.rise_period
            self._rise()
            if self.rate >= self.line:
                self.rise_at = FAR

    def _rise(self) -> None:
        dcqcn = self.dcqcn
        past = min(self.times, self.rounds) - dcqcn.fast_recovery
        if past > 0:
            self.target += past * dcqcn.hyper_increase
        elif max(self.times, self.rounds) > dcqcn.fast_recovery:
            self.target += dcqcn.additive_increase
        self.target = min(self.target, self.line)
        self.rate = min((self.rate + self.target) * 0.5, self.line)

    def notice(self, now: int) -> None:
        """Cut the rate."""
        dcqcn = self.dcqcn
        self._catch_up(now)
        self.target = self.rate
        self.rate = max(self.rate * (1.0 - self.alpha * 0.5), dcqcn.least_rate)
        self.alpha = (1.0 - dcqcn.g) * self.alpha + dcqcn.g
        self.alpha_at = now + dcqcn.alpha_period
        self.rise_at = now + dcqcn.rise_period
        self.times = self.rounds = self.towards = 0.0

    def pace(self, now: int, size: int) -> int:
        """Count the bytes towards the next rise."""
        self._catch_up(now)
        if self.rate >= self.line:
            return now
        self.towards += size
        if self.towards >= self.dcqcn.rise_bytes:
            self.towards -= self.dcqcn.rise_bytes
            self.rounds += 1.0
            self._rise()
        return now + int(size * BIT_PS / self.rate)


class HPCCLaw(Law):
    """HPCC: the window follows how full the fullest switch port on the path is."""

    def __init__(
        self, hpcc: HPCC, tuning: Tuning, flow: int, frame: int, rates: list[float]
    ) -> None:
        super().__init__(float(tuning.line[flow]))
        self.hpcc = hpcc
        self.base = float(tuning.base[flow])
        self.frame = float(frame)
        self.most = self.reference = max(float(tuning.filled[flow]), self.frame)
        self.window: float = self.most
        self.step = self.most * (1.0 - hpcc.utilisation) / hpcc.flows
        self.rates = rates
        self.hops = [(0, 0, 0)] * len(rates)
        self.heard = False
        self.stage = 0.0
        self.update = 0
        self.use = hpcc.utilisation

    def answer(self, answer: Answer) -> None:
        """Compare the path's telemetry with what the last answer brought."""
        if answer.trimmed:
            return
        use = took = 0.0
        for hop, (waits, sent, when) in enumerate(answer.telemetry):
            waited, sent_before, before = self.hops[hop]
            apart = float(when - before)
            rate = self.rates[hop]
            if self.heard and apart > 0.0:
                load = (sent - sent_before) * BIT_PS / (apart * rate)
                load += min(waits, waited) * BIT_PS / (rate * self.base)
                if load > use:
                    use, took = load, apart
            self.hops[hop] = waits, sent, when
        if not self.heard:
            self.heard = True
            self.update = answer.following
            return
        share = min(took, self.base) / self.base
        self.use = (1.0 - share) * self.use + share * use
        self._set_window(answer)

    def packets(self, frame: int) -> int:
        """Return how many packets may fly: less than the window is in flight before each.

        The pace holds to a part of a packet.
        """
        return ceil(self.window / frame)

    def _set_window(self, answer: Answer) -> None:
        hpcc = self.hpcc
        stage = 0.0
        if self.use >= hpcc.utilisation or self.stage >= hpcc.stages:
            window = self.reference * hpcc.utilisation / max(self.use, LEAST_USE) + self.step
        else:
            window = self.reference + self.step
            stage = self.stage + 1.0
        self.window = min(max(window, self.frame), self.most)
        if answer.upto > self.update:
            self.reference, self.stage, self.update = self.window, stage, answer.following
        self.rate = min(self.window * BIT_PS / self.base, self.line)


class SwiftLaw(Law):
    """Swift: the window holds the round trip at a target, and may be less than a packet."""

    def __init__(self, swift: Swift, tuning: Tuning, flow: int, frame: int) -> None:
        super().__init__(float(tuning.line[flow]))
        self.swift = swift
        self.frame = float(frame)
        self.rest = swift_rest(swift, tuning, flow)
        self.most = swift.most * self.line * (self.rest + swift.scaling) / BIT_PS
        self.most = max(self.most, self.frame)
        self.window = max(float(tuning.filled[flow]), self.frame)
        self.took = float(tuning.base[flow])
        self.cut_at = 0.0
        self.late = 0.0

    def _target(self, packets: float) -> float:
        swift = self.swift
        low, high = 1.0 / sqrt(swift.scaling_to), 1.0 / sqrt(swift.scaling_from)
        more = swift.scaling * (1.0 / sqrt(packets) - low) / (high - low)
        return self.rest + max(0.0, min(more, swift.scaling))

    def answer(self, answer: Answer) -> None:
        """Compare the packet's round trip with the target."""
        assert self.window is not None  # noqa: S101 - it always sets one
        swift, packets = self.swift, self.window / self.frame
        took = float(answer.took)
        if not answer.gap:
            self.took = took
            self.late = 0.0
        target = self._target(packets)
        may = answer.now - self.cut_at >= self.took
        after = packets
        if answer.gap:
            if may:
                after = packets * (1.0 - swift.most_decrease)
        elif took < target:
            after = packets + swift.increase * answer.fresh / max(packets, 1.0)
        elif may:
            less = 1.0 - swift.decrease * (took - target) / took
            after = packets * max(less, 1.0 - swift.most_decrease)
        self._set_window(answer.now, packets, after)

    def _set_window(self, now: int, before: float, after: float) -> None:
        if after < before:
            self.cut_at = float(now)
        after = max(after, self.swift.least)
        self.window = min(after * self.frame, self.most)
        self.rate = self.line
        if self.window < self.frame:
            self.rate = min(self.window * BIT_PS / self.took, self.line)

    def timeout(self, now: int) -> None:
        """Cut the window, to the least after several in a row."""
        assert self.window is not None  # noqa: S101 - it always sets one
        swift, packets = self.swift, self.window / self.frame
        self.late += 1.0
        if self.late >= swift.timeouts:
            self._set_window(now, packets, swift.least)
        elif now - self.cut_at >= self.took:
            self._set_window(now, packets, packets * (1.0 - swift.most_decrease))


def swift_rest(swift: Swift, tuning: Tuning, flow: int) -> float:
    """Return a flow's target without the scaling by its window."""
    return float(tuning.base[flow]) + swift.queueing + swift.per_hop * float(tuning.switches[flow])


class NSCCLaw(Law):
    """A window by ECN and delay: quick adapt, proportional, fair and fast increase, decrease."""

    def __init__(self, settings: PacketSettings, tuning: Tuning, flow: int) -> None:
        super().__init__(float(tuning.line[flow]))
        nscc = self.nscc = settings.nscc
        self.frame = float(settings.payload + settings.header)
        self.base = float(tuning.base[flow])
        self.longest = tuning.longest
        self.target = self.longest * (nscc.target if settings.trim else nscc.target_untrimmed)
        self.scale = tuning.widest / nscc.reference_window
        self.most = max(nscc.most * float(tuning.filled[flow]), self.frame)
        self.window = self.most
        self.average = self.pending = self.received = self.achieved = 0.0
        self.adapt_at = self.to_ignore = self.ignored = 0.0
        self.adjusted = self.cut_at = self.quick = 0.0
        self.adapting = self.fast = False

    def _weigh(self, delay: float, *, marked: bool) -> None:
        if not marked and delay > self.target:
            delay = self.base * 0.25
        self.average += self.nscc.averaging * (delay - self.average)

    def _adapt(self, answer: Answer, delay: float) -> bool:
        """Fall to what came through in a round trip, if that is little and something was lost."""
        assert self.window is not None  # noqa: S101 - it always sets one
        nscc, done = self.nscc, False
        if self.ignored < self.to_ignore and (answer.marked or answer.gap):
            done = True
        elif answer.now > self.adapt_at:
            late = self.adapting or answer.gap or delay > nscc.adapt_above * self.target
            if self.adapt_at > 0.0 and late and self.achieved < nscc.adapt_below * self.most:
                self.window = max(self.achieved, self.frame)
                self.to_ignore = answer.flying * self.frame
                self.ignored = 0.0
                self.adapting = False
                done = True
            self.achieved = 0.0
            self.adapt_at = answer.now + self.base + self.target
        if done:
            self.pending = self.received = 0.0
        return done

    def answer(self, answer: Answer) -> None:
        """Weigh the packet's mark and delay."""
        assert self.window is not None  # noqa: S101 - it always sets one
        if answer.gap:
            self.ignored += self.frame
            self._weigh(self.longest, marked=True)
            self.adapting = True
            if not self._adapt(answer, 0.0):
                self._bound(self.window - self.frame)
            return
        fresh = answer.fresh * self.frame
        self.achieved += fresh
        self.received += fresh
        self.ignored += fresh
        delay = max(0.0, answer.took - self.base)
        self._weigh(delay, marked=answer.marked)
        if self._adapt(answer, delay):
            return
        if answer.marked:
            if delay >= self.target:
                self._decrease(answer.now)
        elif delay >= self.target:
            self.pending += self.nscc.fair * self.frame * self.scale * fresh
        else:
            self._increase(fresh, delay)
        self._adjust(answer.now)

    def _increase(self, fresh: float, delay: float) -> None:
        assert self.window is not None  # noqa: S101 - it always sets one
        nscc = self.nscc
        if delay < nscc.fast_below:
            self.quick += fresh
            if self.quick > self.window or self.fast:
                self.fast = True
                self._bound(self.window + fresh * nscc.fast * self.scale)
                return
        else:
            self.quick = 0.0
        self.fast = False
        step = nscc.proportional * self.frame * self.scale / nscc.reference_round_trip
        self.pending += step * fresh * (self.target - delay)

    def _decrease(self, now: int) -> None:
        assert self.window is not None  # noqa: S101 - it always sets one
        self.fast = False
        self.quick = 0.0
        if self.average > self.target and now - self.cut_at > self.base:
            less = 1.0 - self.nscc.decrease * (self.average - self.target) / self.average
            self._bound(self.window * max(less, 1.0 - self.nscc.most_decrease))
            self.cut_at = float(now)

    def _adjust(self, now: int) -> None:
        assert self.window is not None  # noqa: S101 - it always sets one
        nscc, rest = self.nscc, now - self.adjusted
        if self.received > nscc.adjust_packets * self.frame or rest > self.longest:
            window = self.window + self.pending / self.window
            if rest >= self.longest:
                window += nscc.always * self.frame * self.scale
                self.adjusted = float(now)
            self.pending = self.received = 0.0
            self._bound(window)

    def _bound(self, window: float) -> None:
        self.window = min(max(window, self.frame), self.most)

    def timeout(self, now: int) -> None:  # noqa: ARG002 - of other laws
        """Adapt quickly at the next answer."""
        self.adapting = True


class RCCLaw(Law):
    """Receiver credits: `allowed` counts the packets that may ever be sent, repeated ones too."""

    def __init__(self, tuning: Tuning, flow: int, frame: int) -> None:
        super().__init__(float(tuning.line[flow]))
        self.unasked = int(tuning.unasked(float(frame))[flow])
        self.allowed = self.unasked
        self.pulled = 0

    def pull(self, number: int) -> None:
        """Take the word that `number` packets were pulled in all."""
        more = max(0, number - self.pulled)
        self.pulled += more
        self.allowed += more

    def give_up(self, sent: int, repair: int) -> None:
        """Let some packets go again without a credit: those pulled may be lost.

        With nothing to repeat, it is credits that are; then as many go as did at first.
        """
        self.allowed = max(self.allowed, sent + min(self.unasked, repair or self.unasked))


def make_law(settings: PacketSettings, tuning: Tuning, flow: int, rates: list[float]) -> Law:
    """Return a flow's law; `rates` are those of the switch ports on its first path."""
    frame = settings.payload + settings.header
    if settings.congestion == "dcqcn":
        return DCQCNLaw(float(tuning.line[flow]), settings.dcqcn)
    if settings.congestion == "hpcc":
        return HPCCLaw(settings.hpcc, tuning, flow, frame, rates)
    if settings.congestion == "swift":
        return SwiftLaw(settings.swift, tuning, flow, frame)
    if settings.congestion == "nscc":
        return NSCCLaw(settings, tuning, flow)
    if settings.congestion == "rcc":
        return RCCLaw(tuning, flow, frame)
    return Law(float(tuning.line[flow]))
