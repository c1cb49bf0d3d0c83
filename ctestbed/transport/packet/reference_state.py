"""What the plain packet engine keeps of frames, classes, nodes, ports and flows."""

from collections import Counter, deque
from dataclasses import dataclass, field

from ctestbed.transport.packet.credits import worth_saying
from ctestbed.transport.packet.kernels_layout import NEVER
from ctestbed.transport.packet.reference_control import Answer, Law, RCCLaw

_MASK = 2**64 - 1


def mix(seed: int, link: int, count: int) -> int:
    """Draw a number below 2**32 by SplitMix64 over seed, link and count."""
    z = seed + link * 0x9E3779B97F4A7C15 + count * 0xD1B54A32D192ED03 & _MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    return (z ^ z >> 31) >> 32


@dataclass(slots=True)
class Frame:
    """A frame: `hop` is where on its path it is; `entered` the class it is accounted to."""

    kind: str
    size: int
    flow: "Flow | None" = None
    number: int = 0
    path: list[int] = field(default_factory=list)
    hop: int = 0
    klass: int = 0
    stamp: int = 0
    marked: bool = False
    trimmed: bool = False
    asked: bool = False
    """An answer is due at once."""
    others: tuple[int, ...] = ()
    """Of an acknowledgement: which packets it is of besides."""
    entered: "Queue | None" = None
    telemetry: list[tuple[int, int, int]] = field(default_factory=list)
    """HPCC: of each switch that it left, bytes that then waited and had been sent, and when."""
    lasts: int = 0
    """Of a computed pause: how long, ps."""
    orders: dict[int, bool] = field(default_factory=dict)
    """Of a pause: which classes hear, and if they must stop. Of credit, `number` is the limit."""


@dataclass(slots=True)
class Ahead:
    """What the receiver of a long link knows of a class, as in `computed`; bytes and ps."""

    period: int
    first: int
    next: int = NEVER
    flight: int = 0
    came: int = 0
    pause: int = 0


@dataclass(slots=True)
class Queue:
    """A class of a port: `frames` wait to leave by it, `entered` bytes came in by it."""

    port: "Port"
    klass: int
    xoff: int
    xon: int
    room: int
    limit: int
    frames: deque[Frame] = field(default_factory=deque)
    waiting: int = 0
    paused_from: int = 0
    paused_until: int = 0
    entered: int = 0
    over: int = 0
    off: bool = False
    ask_at: int = NEVER
    waiting_max: int = 0
    entered_max: int = 0
    over_max: int = 0
    drops: int = 0
    pauses: int = 0
    paused: int = 0
    marks: int = 0
    sent_bytes: int = 0
    sent_frames: int = 0
    allowed: int = NEVER
    buffer: int = NEVER
    freed: int = 0
    said: int = 0
    first_drop: int = NEVER
    first_pause: int = NEVER
    cause: "Queue | None" = None
    stalled: int = 0
    stalled_from: int = NEVER
    ahead: "Ahead | None" = None
    watch_at: int = NEVER
    """When to see whether its watchdog barks; NEVER if it is not paused."""
    barked: bool = False
    storm_ends: int = 0
    """When the pauses end that its watchdog ignores."""
    watchdog_drops: int = 0
    watchdog_first: int = NEVER

    def lacks_credit(self, size: int, now: int) -> bool:
        """Whether the peer has not vouched for the next `size` bytes; note since when, if so."""
        lacks = self.sent_bytes + size > self.allowed
        if lacks:
            self.stalled_from = min(self.stalled_from, now)
        return lacks

    def hear_credit(self, allowed: int, now: int) -> None:
        """Take how many bytes the peer vouches for."""
        self.allowed = max(self.allowed, allowed)
        self.stalled += self.stalls(now)
        self.stalled_from = NEVER

    def stalls(self, now: int) -> int:
        """Return for how long the class has stood still for want of credit, if it does."""
        return max(0, now - self.stalled_from) if self.stalled_from < NEVER else 0

    def is_held(self, now: int) -> bool:
        """Whether the peer keeps this class from sending, or keeps credit from it."""
        return self.is_paused(now) or self.stalled_from <= now

    def free(self, size: int, frame: int) -> bool:
        """Count bytes that came in here and have left; tell whether the peer is to hear of it."""
        if self.buffer == NEVER:
            return False
        self.freed += size
        return self.freed - self.said >= worth_saying(self.buffer, frame)

    def is_full(self, frame: int) -> bool:
        """Whether the peer may not send a frame because of what came in here."""
        return self.off or self.entered + frame > self.buffer

    def is_paused(self, now: int) -> bool:
        """Whether the peer keeps this class from sending."""
        return self.paused_from <= now < self.paused_until


@dataclass(slots=True)
class Node:
    """A switch or host: its shared buffer and shared headroom, in bytes."""

    shared: int
    pool: int
    used: int = 0
    pooled: int = 0
    ports: list["Port"] = field(default_factory=list)
    """In order of their links."""


@dataclass(slots=True)
class Port:
    """One end of a cable: it sends on directed link `link`, and receives from `link ^ 1`."""

    link: int
    node: Node
    rate: int
    delay: int
    free: int = 0
    wake: int = NEVER
    timer: int = NEVER
    owed: tuple[Queue, int] | None = None
    wire: deque[tuple[int, Frame]] = field(default_factory=deque)
    """What is on its way to this port."""
    control: deque[Frame] = field(default_factory=deque)
    asks: set[int] = field(default_factory=set)
    queues: list[Queue] = field(default_factory=list)
    ring: deque["Flow"] = field(default_factory=deque)
    flows: list["Flow"] = field(default_factory=list)
    begun: int = 0
    losses: list[tuple[int, int, int]] = field(default_factory=list)
    """When what comes to this port is lost: from, until, chance of 2**32."""
    came: int = 0
    pulled: deque["Flow"] = field(default_factory=deque)
    """Flows that come in here and are to be given credit, in turn."""
    pull_at: int = 0
    pace: int = 0
    """bit/s at which it sends for a time, where who receives takes no more; 0: its rate."""
    changes: deque[tuple[int, int]] = field(default_factory=deque)
    """When that changes, and to what."""


@dataclass(slots=True)
class Wait:
    """What a flow waits for: when it heard of those that are done, in order of time."""

    needs: int
    delay: int
    heard: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Flow:
    """A flow: what its sender knows, then what its receiver knows."""

    port: Port
    paths: list[list[int]]
    packets: int
    last: int
    klass: int
    start: int
    window: int
    law: Law
    index: int = 0
    wait: "Wait | None" = None
    followers: list[tuple[bool, "Flow"]] = field(default_factory=list)
    """Who waits for it, and whether for its receipt."""
    following: int = 0
    acked: int = 0
    finish: int = -1
    path: int = 0
    turns: int = 0
    sent_at: int = 0
    ready: bool = False
    begun: bool = False
    deadline: int = NEVER
    paced: int = 0
    resent: int = 0
    repair: set[int] = field(default_factory=set)
    known: set[int] = field(default_factory=set)
    expected: int = 0
    seen: int = 0
    unacked: int = 0
    have: set[int] = field(default_factory=set)
    untold: set[int] = field(default_factory=set)
    """Packets that came and are not acknowledged yet."""
    delivered: int = -1
    next_notice: int = 0
    came: Counter[int] = field(default_factory=Counter)
    """With an erasure code, packets of each group: those that came, and those known to have."""
    heard: Counter[int] = field(default_factory=Counter)
    pulls: int = 0
    missed: int = 0
    last_seen: Frame | None = None

    def pull_target(self) -> int:
        """Return how many packets the receiver has to pull: what came unasked needs no credit."""
        unasked = self.law.unasked if isinstance(self.law, RCCLaw) else 0
        return max(0, self.packets - unasked) + self.missed

    def hear(self, frame: Frame, before: int, now: int, *, selective: bool) -> None:
        """Have the law take an answer that came; `before` were acknowledged before it."""
        flying = self.following - self.acked - len(self.repair)
        self.law.answer(
            Answer(
                now, frame.kind == "nak", frame.number + selective, self.acked - before,
                self.following, flying, now - frame.stamp, frame.marked, frame.trimmed,
                frame.telemetry,
            )
        )  # fmt: skip
