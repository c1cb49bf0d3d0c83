"""Adaptive routing: a switch sends each packet by the least loaded of its equal-cost ways on."""

from ctestbed.core.jit import indexed_from_zero, inner
from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.kernels_harm import drawn


@indexed_from_zero
@inner
def least_loaded(ports, queues, flows, hops, spans, settings, now, flow, place):
    """Return the place in `hops`, on a path that has come the same way, that a packet goes on from.

    Of that path's next port fewest bytes of its class wait; a draw decides between equals. A frame
    that is being sent counts too, but less than any that waits. The paths of a flow are
    sorted, so that those with a beginning in common lie together; `spans` has their number, on the
    first of them, where that beginning ends.
    """
    whose, number = flow >> 32, flow & at.NUMBER
    here = place >> 32
    stride = flows[whose, at.S_STRIDE]
    klass = place >> 2 & 7
    least, equals = at.NEVER, 0
    path = 0
    while path < spans[here]:
        step = here + path * stride + 1
        out = hops[step]
        load = 2 * queues[out * settings[at.C_CLASSES] + klass, at.Q_BYTES]
        load += ports[out, at.P_FREE] > now
        if load < least:
            least, equals = load, 0
        equals += load == least
        path += spans[step]
    turn = drawn(settings, whose, number << 4 | (here - flows[whose, at.S_HOPS]) % stride) % equals
    path = 0
    while True:
        step = here + path * stride + 1
        out = hops[step]
        load = 2 * queues[out * settings[at.C_CLASSES] + klass, at.Q_BYTES]
        load += ports[out, at.P_FREE] > now
        if load == least:
            if turn == 0:
                return step - 1
            turn -= 1
        path += spans[step]


def warm() -> None:
    """Compiled with the kernels that call them."""
