"""What the plain packet engine keeps of frames, classes, nodes, ports and flows."""

from collections import deque
from dataclasses import dataclass, field

from ctestbed.transport.packet.kernels_layout import NEVER

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
    entered: "Queue | None" = None
    orders: dict[int, bool] = field(default_factory=dict)
    """Of a pause frame: which classes hear, and whether they must stop."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a packet saw as it left: bytes left waiting, bytes sent before it, ps, bit/s."""

    queue: int
    sent: int
    time: int
    rate: int


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
    first_drop: int = NEVER

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


@dataclass(slots=True)
class Flow:
    """A flow: what its sender knows, then what its receiver knows, then its rate control."""

    port: Port
    paths: list[list[int]]
    packets: int
    last: int
    klass: int
    start: int
    window: int
    following: int = 0
    acked: int = 0
    finish: int = -1
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
    delivered: int = -1
    next_notice: int = 0
    line: float = 0.0
    rate: float = 0.0
    target: float = 0.0
    alpha: float = 1.0
    alpha_at: float = float(NEVER)
    rise_at: float = float(NEVER)
    times: float = 0.0
    rounds: float = 0.0
    towards: float = 0.0
    frame: float = 0.0
    base: float = 0.0
    hops: int = 0
    slots: int = 1
    wide: float = 0.0
    widest: float = 0.0
    last_change: float = 0.0
    stage: float = 0.0
    reference: float = 0.0
    use: float = 0.0
    got: float = 0.0
    lost: bool = False
    waited: float = 0.0
    cut_at: float = 0.0
    telemetry: dict[tuple[int, int], Seen] = field(default_factory=dict)
    """HPCC: what packets saw, by their number modulo `slots` and the hop."""
    seen_before: dict[int, Seen] = field(default_factory=dict)
