"""Credits: what a switch port says of its buffer, and what the sender of its link makes of it.

Both ends count bytes from the start of the run, so what is said late or twice does no harm.
"""

from ctestbed.core.jit import indexed_from_zero, inner, part
from ctestbed.transport.packet import kernels_layout as at


@part
def lacks_credit(queues, queue, size):
    """Tell whether the far end has not yet vouched for a class's next `size` bytes."""
    return queues[queue, at.Q_SENT] + size > queues[queue, at.Q_ALLOWED]


@indexed_from_zero
@inner
def count_freed(ports, queues, settings, queue, size):
    """Count bytes that came in by `queue` and have left the switch.

    Returns the port that is to say so, or -1.
    """
    room = queues[queue, at.Q_ROOM]
    if room >= at.NEVER:
        return -1
    queues[queue, at.Q_FREED] += size
    frame = settings[at.C_HEADER] + settings[at.C_PAYLOAD]
    enough = max(1, min(2 * frame, -(-room // 4), room - frame + 1))
    if queues[queue, at.Q_FREED] - queues[queue, at.Q_SAID] < enough:
        return -1
    classes = settings[at.C_CLASSES]
    port = queue // classes
    ports[port, at.P_ASKS] |= 1 << queue % classes
    return port


@indexed_from_zero
@inner
def say_credit(ports, queues, settings, port):
    """Take the lowest class that is to be spoken of; return how far its peer may go, and place."""
    asks = ports[port, at.P_ASKS]
    klass = 0
    while asks >> klass & 1 == 0:
        klass += 1
    ports[port, at.P_ASKS] = asks ^ 1 << klass
    queue = port * settings[at.C_CLASSES] + klass
    queues[queue, at.Q_SAID] = queues[queue, at.Q_FREED]
    return queues[queue, at.Q_FREED] + queues[queue, at.Q_ROOM], at.CREDIT << 5 | klass << 2


@part
def note_stall(holds, queue, now):
    """Note that a class has something to send at a free transmitter, and no credit for it."""
    if holds[queue, at.J_SINCE] >= at.NEVER:
        holds[queue, at.J_SINCE] = now


@part
def hear_credit(queues, holds, settings, port, place, allowed, now):
    """Take what the far end of a port's link vouches for."""
    queue = port * settings[at.C_CLASSES] + (place >> 2 & 7)
    if holds[queue, at.J_SINCE] < at.NEVER:
        holds[queue, at.J_STALL] += now - holds[queue, at.J_SINCE]
        holds[queue, at.J_SINCE] = at.NEVER
    queues[queue, at.Q_ALLOWED] = max(queues[queue, at.Q_ALLOWED], allowed)


def warm() -> None:
    """Compiled with the kernels that call them."""
