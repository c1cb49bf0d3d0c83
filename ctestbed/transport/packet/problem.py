"""What the packet engine is given and what it gives back: integer arrays and a few settings."""

from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctestbed.transport.packet.kernels_layout import NEVER
from ctestbed.transport.packet.laws import DCQCN, HPCC, NSCC, CongestionControl, Swift

Column: TypeAlias = NDArray[Any]

FlowControl: TypeAlias = Literal["pfc", "cbfc", "bifrost"]

BIT_TIMES_OF_QUANTUM: Final = 512
MAX_QUANTA: Final = 65535


@dataclass(frozen=True, slots=True)
class PacketNetwork:
    """Directed links and the paths over them.

    Directed link d goes from node `tail[d]` to `head[d]` at `rate[d]` bit/s in `delay[d]` ps; its
    reverse is d ^ 1. Path p is `links[offsets[p]:offsets[p + 1]]`.
    """

    tail: Column
    head: Column
    rate: Column
    delay: Column
    offsets: Column
    links: Column


@dataclass(frozen=True, slots=True)
class PacketWaits:
    """What each flow waits for: `needs[f]` of the edges `offsets[f]:offsets[f + 1]`, 0: nothing.

    An edge is done when the sender of `flows[e]` knows that all came or, where `receipt[e]`, when
    its receiver has all.
    """

    offsets: Column
    flows: Column
    receipt: Column
    needs: Column


@dataclass(frozen=True, slots=True)
class PacketFlows:
    """Flows: bytes, start in ps, class; flow f has `paths[f]` paths from `first_path[f]` on.

    The start of a flow that waits counts from the moment at which it hears of the last that it
    needs: at once in its own node, from another as soon as a control frame could bring the word
    over the quickest cable in use.
    """

    sizes: Column
    starts: Column
    classes: Column
    first_path: Column
    paths: Column
    after: PacketWaits | None = None


@dataclass(frozen=True, slots=True)
class LinkClassLimits:
    """Bytes per port and class, one value per directed link (of the port that receives it)."""

    xoff: Column
    xon: Column
    headroom: Column
    queue: Column
    blocked: Column | None = None
    """ps until which the link's receiver takes no data, as if it had paused the link at time 0."""


@dataclass(frozen=True, slots=True)
class Harm:
    """What goes wrong in mid-run, rows of integers; times in ps, links directed.

    `losses` holds (link, from, until, chance of 2**32; 2**32: the link is dead), `storms` (link,
    class or -1 for all, from, until): the link's sender is kept paused, as by its receiver.
    """

    losses: Column
    storms: Column
    slows: Column = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    """Rows of (link, time, rate): from then on its sender sends at that rate, 0 for the link's."""


@dataclass(frozen=True, slots=True)
class Watchdog:
    """What a port does about a class paused for `after` ps without a break.

    Until no pause has held for `restore` ps it drops what waits and what comes for that class, or
    with `forward` sends it as if nobody paused. Ports of hosts keep what has not begun.
    """

    after: int
    restore: int
    forward: bool = False


def no_harm() -> Harm:
    """Return that nothing goes wrong."""
    return Harm(np.zeros((0, 4), np.int64), np.zeros((0, 4), np.int64))


@dataclass(frozen=True, slots=True)
class PacketSettings:
    """How frames are formed, queued, paused and repeated. Sizes in bytes, times in ps."""

    payload: int = 4000
    header: int = 64
    control: int = 64
    classes: int = 1
    lossless: int = 1
    """Bit c is set where class c is lossless."""
    flow_control: FlowControl = "pfc"
    """How lossless classes are held back: pauses, credits for `xoff + headroom` bytes, or pauses
    that are computed where links are long (`computed`)."""
    pause_period: int = 10_000_000
    """ps between computed pauses: Bifrost, ICNP 2023."""
    pause_quanta: int = 0
    """Quanta of 512 bit times that a pause lasts; 0: until it is taken back."""
    pause_response: int = 0
    alpha: tuple[int, int] = (0, 1)
    """Share of the free buffer that one queue may take, as a fraction; 0: static thresholds."""
    hysteresis: int = 0
    shared: int = NEVER
    headroom_pool: int = NEVER
    retry: int = NEVER
    ack_every: int = 1
    """Packets that a receiver acknowledges together, unless the sender asks or one is missing."""
    reliability: Literal["gbn", "sr"] = "gbn"
    code: tuple[int, int] = (0, 0)
    """Of selective repeat: data packets of a group, and parity after them; at most 255 together."""
    spray: bool = False
    """Packets of a flow take its paths in turn; or, with `drawn_paths`, each draws one."""
    drawn_paths: bool = False
    adaptive: bool = False
    """Each switch sends a packet by the least loaded of its flow's ways on; paths are sorted."""
    flowlet_gap: int = 0
    """ps without a packet after which a flow takes another of its paths, by hash; 0: never."""
    mark_from: int = NEVER
    mark_all: int = NEVER
    mark_share: int = 0
    """Of 2**32: the chance of a mark just below `mark_all`."""
    max_in_flight: int = NEVER
    trim: bool = False
    congestion: CongestionControl = "none"
    dcqcn: DCQCN = field(default_factory=DCQCN)
    hpcc: HPCC = field(default_factory=HPCC)
    swift: Swift = field(default_factory=Swift)
    nscc: NSCC = field(default_factory=NSCC)
    seed: int = 1
    harm: Harm | None = None
    watchdog: Watchdog | None = None
    looks: int = 0
    """How many looks at all ports are kept, at most: `sight` says when they are taken."""
    ttl: int = 0
    """Links that a packet may cross; where its path goes on after them it is lost. 0: any."""

    @property
    def overtakes(self) -> bool:
        """Whether packets of a flow overtake each other where nothing is lost."""
        return self.spray or self.adaptive


@dataclass(frozen=True, slots=True)
class PortRecord:
    """What each used port saw, a row per directed link and a column per class; bytes and ps."""

    links: Column
    waiting_max: Column
    """Of frames that wait to leave by the link."""
    entered_max: Column
    """Of frames that came in by it and had not left the switch; so too below."""
    headroom_max: Column
    drops: Column
    pauses: Column
    """Pauses told to the link's sender, refreshes apart."""
    paused: Column
    """How long the link's sender heeded them."""
    marks: Column
    sent_bytes: Column
    sent_frames: Column
    first_drop: Column
    """NEVER where nothing was dropped."""
    watchdog_drops: Column
    """Frames for the link that its sender's watchdog dropped."""
    watchdog_first: Column
    first_pause: Column
    """When the link's sender was first told to pause, NEVER if never."""
    cause: Column
    """Because of which link, out of the node that told it; -1: of none, it only was too much."""
    stalled: Column
    """How long the link's sender had something to send, a free transmitter, and no credit."""


@dataclass(frozen=True, slots=True)
class Sights:
    """What looks at all ports saw, a row per look, the first after `step` ps and so on.

    `waiting` and `held` have a column for each of the record's links: bytes that wait to leave by
    it, and whether its sender was held back, by a pause or for want of credit. Then of all links
    together: bytes, how many are held, and bytes of payload that had come by then. Where the time
    between looks was doubled, a row has the most that two looks saw.
    """

    step: int
    waiting: Column
    held: Column
    all_waiting: Column
    all_held: Column
    delivered: Column


@dataclass(frozen=True, slots=True)
class PacketOutcome:
    """What became of the flows and ports. Times in ps; -1: not finished.

    `finish` is when the sender knew that all had come, `delivered` when it had. `ended` is False
    where the horizon came first, or (`stuck`) nothing could happen any more. `now` is when the last
    frame arrived anywhere.
    """

    starts: Column
    """-1: never begun."""
    finish: Column
    delivered: Column
    resent: Column
    ended: bool
    stuck: bool
    now: int
    lost: int
    trimmed: int
    perished: int
    """Frames of any kind lost on dead links; `erred`: lost by chance on links that lose."""
    erred: int
    watched: int
    """Frames dropped by watchdogs; `expired`: that had crossed as many links as they may."""
    expired: int
    data_hops: int
    control_hops: int
    ports: PortRecord
    waits: tuple[tuple[int, int], ...] = ()
    """Of a stuck run: directed links whose frames wait, each with one that it waits for: the second
    leaves the first's receiver, and holds frames that came by the first."""
    sights: Sights | None = None
    """None: nobody looked."""
    interrupted: bool = False
    """Somebody asked the run to stop before its end."""
    events: int = 0
    cpu: float = 0.0


def one_cable(
    size: int,
) -> tuple[PacketNetwork, PacketFlows, LinkClassLimits, PacketSettings]:
    """Return the smallest problem: one flow over one cable of 100 Gb/s and 1 us."""

    def column(*values: int) -> Column:
        return np.array(values, np.int64)

    network = PacketNetwork(
        column(0, 1), column(1, 0), column(10**11, 10**11), column(10**6, 10**6), column(0, 1),
        column(0),
    )  # fmt: skip
    flows = PacketFlows(column(size), column(0), column(0), column(0), column(1))
    free = column(NEVER, NEVER)
    return network, flows, LinkClassLimits(free, free, free, free), PacketSettings()
