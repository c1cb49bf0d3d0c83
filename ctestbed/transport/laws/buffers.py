"""Shared buffers: thresholds that move, thresholds that do not, and when a loop locks.

Sizes in bytes, alpha and beta as exact rationals; the answers are exact rationals too.
"""

from dataclasses import dataclass
from fractions import Fraction


def dynamic_threshold(buffer: int, alpha: Fraction, queues: int) -> Fraction:
    """Return the length at which `queues` equal congested queues settle: aB / (1 + na).

    Each queue may hold alpha times what is free (Choudhury and Hahne, Infocom 1996). One congested
    queue pauses at that length.
    """
    return alpha * buffer / (1 + queues * alpha)


def dynamic_reserve(buffer: int, alpha: Fraction, queues: int) -> Fraction:
    """Return what stays free when `queues` equal congested queues have settled."""
    return buffer - queues * dynamic_threshold(buffer, alpha, queues)


@dataclass(frozen=True, slots=True)
class SharedSwitch:
    """A shared-buffer switch: bytes in all, ports, priorities, headroom per port and priority."""

    buffer: int
    ports: int
    headroom: Fraction
    priorities: int = 8

    @property
    def shared(self) -> Fraction:
        """Bytes left when every port and priority has its headroom."""
        return self.buffer - self.priorities * self.ports * self.headroom


def static_pause_threshold(switch: SharedSwitch) -> Fraction:
    """Return the largest fixed XOFF threshold per ingress queue: (B - 8nt) / (8n).

    DCQCN, SIGCOMM 2015, section 4; 8 is the number of priorities.
    """
    return switch.shared / (switch.priorities * switch.ports)


def dynamic_pause_threshold(switch: SharedSwitch, beta: Fraction, used: Fraction) -> Fraction:
    """Return the XOFF threshold with `used` bytes taken: beta * (B - 8nt - s) / 8."""
    return beta * (switch.shared - used) / switch.priorities


def marking_before_pause(switch: SharedSwitch, beta: Fraction) -> Fraction:
    """Return the largest ECN threshold that marks before any ingress can pause.

    DCQCN, SIGCOMM 2015: t_ECN < beta * (B - 8nt) / (8n * (beta + 1)).
    """
    return beta * switch.shared / (switch.priorities * switch.ports * (beta + 1))


def fixed_marking_before_pause(switch: SharedSwitch) -> Fraction:
    """Return the same bound where the XOFF threshold is fixed: a port's share over all ports."""
    return static_pause_threshold(switch) / switch.ports


def loop_lock_rate(rate: int, hops: int, ttl: int) -> Fraction:
    """Return the injection in bit/s above which a routing loop of `hops` links locks: nB / TTL.

    Every packet crosses the loop's links TTL times in all, and they carry n * B together (Hu et
    al., Deadlocks in datacenter networks, HotNets 2016).
    """
    return Fraction(hops * rate, ttl)
