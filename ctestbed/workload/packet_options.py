"""What the user of a packet run may choose, and which choices contradict each other."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ctestbed.core.errors import InputError, Where
from ctestbed.core.units import parse_time
from ctestbed.transport.packet.laws import CongestionControl
from ctestbed.transport.packet.problem import Watchdog
from ctestbed.workload.failures import Failure

FlowControl: TypeAlias = Literal["pfc", "cbfc", "bifrost", "none"]

SPREADS: Final = {"balanced", "ecmp", "spray", "random", "adaptive", "flowlet"}
SEVERAL: Final = {"spray", "random", "adaptive", "flowlet"}
OVERTAKING: Final = {"spray", "random", "adaptive"}
MAX_PAYLOAD: Final = 60_000
"""Bytes: a frame's size is kept in 16 bits."""
LOOKS: Final = 256
"""Points of a time series of queues and pauses, at most."""


@dataclass(frozen=True, slots=True)
class PacketOptions:
    """What the user chose; sizes in bytes, times in ps; None: this module's default."""

    flow_control: FlowControl = "pfc"
    congestion: CongestionControl = "none"
    reliability: str = "gbn"
    """gbn, sr, or ec:K,M: selective repeat with M packets of parity after K of data."""
    spread: str = "ecmp"
    """balanced, ecmp, spray, random, adaptive, flowlet, or qp:N: each flow over N queue pairs."""
    trim: bool = False
    ack_every: int = 1
    """Packets that one acknowledgement is of, where nothing calls for one at once."""
    payload: int = 4000
    xoff: int | None = None
    xon: int | None = None
    headroom: int | None = None
    queue: int | None = None
    retry: int | None = None
    horizon: int | None = None
    seed: int = 1
    failures: tuple[Failure, ...] = ()
    looks: int = LOOKS
    """At queues and pauses, of which so many are kept at most; 0: none."""
    watchdog: Watchdog | None = None


def parse_watchdog(text: str) -> Watchdog:
    """Read a watchdog: `TIME[,forward][,restore=TIME]`; it restores after as long as it waits.

    Raises:
        InputError: it is not written so, or waits for no time.
    """
    where = Where(pointer="--watchdog")
    first, *rest = (word.strip() for word in text.split(","))
    after: int = parse_time(first, where)
    restore, forward = after, False
    for word in rest:
        name, equals, value = word.partition("=")
        if name == "restore" and equals:
            restore = parse_time(value, where)
        elif word in {"drop", "forward"}:
            forward = word == "forward"
        else:
            after = 0
    if not after:
        raise InputError(
            "CTB-S102",
            f"{text[:80]!r} is no watchdog",
            where=where,
            hint="write `200ms`, `200ms,forward` or `200ms,restore=1s`",
        )
    return Watchdog(after, restore, forward)


def _faults_of_flow_control(options: PacketOptions) -> tuple[tuple[bool, str, str, str], ...]:
    """Return whether each holds, what it is, its option, and what to do instead."""
    return (
        (
            options.trim and options.flow_control != "none",
            "a lossless class loses nothing, so nothing can be trimmed",
            "--trim",
            "trim with --flow-control none",
        ),
        (
            options.flow_control == "none" and options.headroom is not None,
            "headroom is for classes that lose nothing",
            "--headroom",
            "leave it out, or use --flow-control pfc, cbfc or bifrost",
        ),
        (
            options.flow_control != "none" and options.queue is not None,
            "a lossless class is bounded by its ingress, not by its queue",
            "--queue",
            "give --xoff and --headroom instead",
        ),
        (
            options.flow_control in {"none", "cbfc"} and options.watchdog is not None,
            "watchdogs look at pauses, and here nobody pauses",
            "--watchdog",
            "use it with --flow-control pfc or bifrost",
        ),
        (
            options.flow_control in {"none", "cbfc"} and options.xon is not None,
            "nobody pauses, so nothing is resumed",
            "--xon",
            "leave it out, or use --flow-control pfc or bifrost",
        ),
        (
            options.flow_control in {"cbfc", "bifrost"}
            and any(failure.kind != "slow" for failure in options.failures),
            "credit and computed pauses count on every frame, and know of none that is lost",
            "--fail",
            "`slow` only; other failures with --flow-control pfc or none",
        ),
    )


def check_options(options: PacketOptions) -> None:
    """Refuse protocols that cannot work together.

    Raises:
        InputError: they cannot.
    """
    faults = (
        (
            options.spread in OVERTAKING and options.reliability == "gbn",
            "go-back-N takes packets that overtake each other for lost ones",
            "--reliability",
            f"{options.spread} with --reliability sr",
        ),
        *_faults_of_flow_control(options),
        (
            options.trim and options.reliability.startswith("ec"),
            "a trimmed packet is asked for again, which the code's parity should make needless",
            "--trim",
            "leave --trim out, or use --reliability sr",
        ),
        (
            options.congestion == "rcc" and options.reliability == "gbn",
            "a receiver that gives credit for single packets cannot have all sent again",
            "--reliability",
            "rcc with --reliability sr",
        ),
        (
            options.spread in SEVERAL and options.congestion == "hpcc",
            "HPCC compares what one packet saw of each port with what the last one saw",
            "--cc",
            "hpcc over one path, or spray with --cc nscc or swift",
        ),
        (
            not 0 < options.payload <= MAX_PAYLOAD,
            f"a payload of {options.payload} B fits no frame",
            "--payload",
            f"from 1B to {MAX_PAYLOAD}B",
        ),
    )
    for wrong, message, option, hint in faults:
        if wrong:
            raise InputError("CTB-S086", message, where=Where(pointer=option), hint=hint)
