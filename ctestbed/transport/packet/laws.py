"""Laws of congestion control: their parameters, and what each flow's path makes of them.

Rates in bit/s, times in ps, sizes in bytes.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctestbed.transport.dcqcn_fixed_point import DcqcnParameters

if TYPE_CHECKING:
    from ctestbed.transport.packet.problem import PacketFlows, PacketNetwork, PacketSettings

Column: TypeAlias = NDArray[Any]
CongestionControl: TypeAlias = Literal["none", "dcqcn", "hpcc", "swift", "nscc", "rcc"]

BIT_PS: Final = 8.0e12
"""Bits a byte times ps a second: a byte at r bit/s lasts BIT_PS / r ps."""
_US: Final = 10**6
_PUBLISHED: Final = DcqcnParameters()


@dataclass(frozen=True, slots=True)
class DCQCN:
    """Parameters of DCQCN, by default the published ones.

    `fast_recovery` counts the rises before the additive ones. The hyper increase (ten additive
    ones) and the least rate (one of them) are ours: no figure for them was found.
    """

    g: float = _PUBLISHED.gain
    additive_increase: float = _PUBLISHED.additive
    hyper_increase: float = 10 * _PUBLISHED.additive
    alpha_period: float = _PUBLISHED.alpha_timer
    rise_period: float = _PUBLISHED.rate_timer
    rise_bytes: float = _PUBLISHED.byte_counter
    fast_recovery: float = _PUBLISHED.fast_recovery
    least_rate: float = _PUBLISHED.additive
    notice_period: float = _PUBLISHED.notify_interval


@dataclass(frozen=True, slots=True)
class HPCC:
    """Parameters of HPCC (Li et al., SIGCOMM 2019).

    `utilisation` is eta and `stages` maxStage, as published. The additive step is by the paper's
    rule (1 - eta) W / N, where W is the window of a path that a flow has for itself; N, for how
    many flows at once, is ours: with many more an incast is slow to take up what is left by those
    that finish. A window is of a packet at least, which is ours too.
    """

    utilisation: float = 0.95
    stages: float = 5.0
    flows: float = 10.0


@dataclass(frozen=True, slots=True)
class Swift:
    """Parameters of Swift (Kumar et al., SIGCOMM 2020).

    The target is the round trip of the empty path, `queueing`, `per_hop` for each switch, and by
    the flow scaling up to `scaling` more, the more the fewer packets are in flight between
    `scaling_from` and `scaling_to`. The increase, the decrease, its bound and the scaling are what
    csg-htsim's model of it takes. What is added to the empty path, and the least window, is ours:
    the published base target is one number for one fabric, and no path beyond it could meet it.
    """

    increase: float = 1.0
    decrease: float = 0.8
    most_decrease: float = 0.5
    queueing: float = 8.0 * _US
    per_hop: float = 1.0 * _US
    scaling: float = 100.0 * _US
    scaling_from: float = 0.1
    scaling_to: float = 100.0
    least: float = 0.01
    """Packets in flight."""
    most: float = 1.5
    """Times what fills the path at its target; ours."""
    timeouts: float = 5.0
    """In a row, after which the window is the least; ours."""


@dataclass(frozen=True, slots=True)
class NSCC:
    """Parameters of a window by ECN and delay in the manner of UEC's NSCC, as uet-htsim sets them.

    Shares are of the longest empty round trip of the run (`target`, `target_untrimmed`), of the
    window that fills the path (`most`), of a packet (`fair`, `always`). `reference_window` and
    `reference_round_trip` are 100 Gb/s times 12 us, by which steps are scaled.
    """

    target: float = 0.75
    target_untrimmed: float = 1.0
    most: float = 1.5
    reference_window: float = 150_000.0
    reference_round_trip: float = 12.0 * _US
    proportional: float = 4.0
    fair: float = 5.0
    always: float = 0.15
    fast: float = 0.25
    fast_below: float = 1.0 * _US
    decrease: float = 0.8
    most_decrease: float = 0.5
    averaging: float = 0.0125
    adapt_above: float = 4.0
    """Times the target delay."""
    adapt_below: float = 0.125
    """Of the largest window: more than that and a flow does not adapt quickly."""
    adjust_packets: float = 8.0


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a law knows of each flow's (first) path, and of all."""

    line: Column
    """Rate of the port that the flow leaves by."""
    base: Column
    """Round trip of a full packet and its answer where nothing waits."""
    switches: Column
    filled: Column
    """Bytes in flight at `line` for `base`."""
    longest: float
    widest: float
    """Of all flows: the longest `base`, and the bytes that fill it at the fastest `line`."""

    def unasked(self, frame: float) -> Column:
        """Return how many packets of `frame` bytes each flow sends before it is pulled.

        Receiver credits (EQDS, Olteanu et al., NSDI 2022; UEC's RCCC): what fills the empty path,
        so that a flow that is alone never waits.
        """
        packets: Column = np.maximum(1.0, np.ceil(self.filled / frame))
        return packets


def tune(network: "PacketNetwork", flows: "PacketFlows", settings: "PacketSettings") -> Tuning:
    """Return the closed form of every flow's empty path."""
    frame = settings.payload + settings.header
    rate = network.rate[network.links]
    one_way = -(-frame * 8 * 10**12 // rate) + -(-settings.control * 8 * 10**12 // rate)
    each = one_way + network.delay[network.links] + network.delay[network.links ^ 1]
    sums = np.concatenate([[0], np.cumsum(each)])
    first, after = network.offsets[flows.first_path], network.offsets[flows.first_path + 1]
    base = (sums[after] - sums[first]).astype(np.float64)
    line = network.rate[network.links[first]].astype(np.float64)
    longest, fastest = float(base.max(initial=1.0)), float(line.max(initial=1.0))
    return Tuning(
        line, base, (after - first - 1).astype(np.int64), line * base / BIT_PS, longest,
        fastest * longest / BIT_PS,
    )  # fmt: skip
