"""What a switch makes of frames that come in: room for them, pauses, marks, and queues."""

from ctestbed.core.jit import indexed_from_zero, inner, part
from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.kernels_credit import count_freed
from ctestbed.transport.packet.kernels_harm import drawn
from ctestbed.transport.packet.kernels_port import ask, give_back
from ctestbed.transport.packet.kernels_store import put


@part
def threshold(nodes, queues, settings, node, queue):
    """Return the bytes above which an ingress class pauses its peer."""
    if settings[at.C_ALPHA] == 0:
        return queues[queue, at.Q_XOFF]
    left = max(0, nodes[node, at.N_SHARED] - nodes[node, at.N_USED])
    return min(queues[queue, at.Q_XOFF], settings[at.C_ALPHA] * left // settings[at.C_ALPHA_OF])


@part
def release(ports, queues, nodes, doors, settings, node, port, now):
    """Give back the bytes of the frame that has left by `port`.

    Returns the port whose peer is to be told that it may send again, or -1.
    """
    queue, size = ports[port, at.P_OWED] >> 16, ports[port, at.P_OWED] & 0xFFFF
    give_back(ports, queues, nodes, node, port)
    if settings[at.C_CREDIT]:
        return count_freed(ports, queues, settings, queue, size)
    if queues[queue, at.Q_OFF] == 0:
        return -1
    level = threshold(nodes, queues, settings, node, queue) - settings[at.C_HYSTERESIS]
    if queues[queue, at.Q_IN] > max(0, min(level, queues[queue, at.Q_XON])):
        return -1
    queues[queue, at.Q_OFF] = 0
    classes = settings[at.C_CLASSES]
    ask(ports, queues, doors, settings, queue // classes, queue % classes, now)
    return queue // classes


@indexed_from_zero
@inner
def reconcile(ports, queues, nodes, node, now):
    """Give back the bytes of all frames that have left a node's ports and wait to be counted."""
    first = nodes[node, at.N_FIRST]
    for port in range(first, first + nodes[node, at.N_PORTS]):
        if ports[port, at.P_OWED] >= 0 and ports[port, at.P_FREE] <= now:
            give_back(ports, queues, nodes, node, port)


@part
def admit(ports, queues, nodes, doors, settings, node, port, out, klass, size, now):
    """Find room for a frame: 0 if there is none, 1 if there is, 2 if the peer must pause too."""
    classes = settings[at.C_CLASSES]
    queue = port * classes + klass
    if settings[at.C_LOSSLESS] >> klass & 1 == 0:
        leaving = out * classes + klass
        limit = queues[leaving, at.Q_LIMIT]
        if settings[at.C_ALPHA]:
            left = max(0, nodes[node, at.N_SHARED] - nodes[node, at.N_USED])
            limit = min(limit, settings[at.C_ALPHA] * left // settings[at.C_ALPHA_OF])
        if queues[leaving, at.Q_BYTES] + size > limit:
            return 0
        queues[queue, at.Q_IN] += size
        nodes[node, at.N_USED] += size
        return 1
    verdict = 1
    if settings[at.C_CREDIT]:
        # Its sender had credit for it.
        nodes[node, at.N_USED] += size
        queues[queue, at.Q_IN] += size
        queues[queue, at.Q_MAX_IN] = max(queues[queue, at.Q_MAX_IN], queues[queue, at.Q_IN])
        return verdict
    if queues[queue, at.Q_IN] + size > min(queues[queue, at.Q_MAX_IN], queues[queue, at.Q_XOFF]):
        # Only here does it matter that frames which have left are still counted.
        reconcile(ports, queues, nodes, node, now)
    if queues[queue, at.Q_IN] + size > threshold(nodes, queues, settings, node, queue):
        over = queues[queue, at.Q_OVER] + size
        if (
            over > queues[queue, at.Q_ROOM]
            or nodes[node, at.N_POOL] + size > nodes[node, at.N_POOL_SIZE]
        ):
            return 0
        queues[queue, at.Q_OVER] = over
        queues[queue, at.Q_MAX_OVER] = max(queues[queue, at.Q_MAX_OVER], over)
        nodes[node, at.N_POOL] += size
        if queues[queue, at.Q_OFF] == 0:
            queues[queue, at.Q_OFF] = 1
            queues[queue, at.Q_PAUSES] += 1
            ask(ports, queues, doors, settings, port, klass, now)
            verdict = 2
    else:
        nodes[node, at.N_USED] += size
    queues[queue, at.Q_IN] += size
    queues[queue, at.Q_MAX_IN] = max(queues[queue, at.Q_MAX_IN], queues[queue, at.Q_IN])
    return verdict


@indexed_from_zero
@inner
def lose(queues, run, settings, port, klass, now):
    """Count a frame that found no room."""
    queue = port * settings[at.C_CLASSES] + klass
    queues[queue, at.Q_DROPS] += 1
    if queues[queue, at.Q_FIRST] == at.NEVER:
        queues[queue, at.Q_FIRST] = now
    if run[at.X_LOST] == 0:
        run[at.X_LOST_TIME] = now
        run[at.X_LOST_PORT] = port
    run[at.X_LOST] += 1


@part
def enqueue(ports, queues, store, chain, settings, run, out, klass, flow, place, stamp):
    """Queue a data frame for port `out`, marking it if the queue is long."""
    queue = out * settings[at.C_CLASSES] + klass
    waiting = queues[queue, at.Q_BYTES]
    if waiting >= settings[at.C_KMIN] and draw_mark(
        queues, settings, queue, ports[out, at.P_LINK], waiting
    ):
        place |= at.ECN
        queues[queue, at.Q_MARKS] += 1
    count = queues[queue, at.Q_COUNT]
    tail = queues[queue, at.Q_TAIL] if count > 0 else -1
    slot = put(store, chain, run, tail, 0, flow, place, stamp)
    if count == 0:
        queues[queue, at.Q_HEAD] = slot
    queues[queue, at.Q_TAIL] = slot
    queues[queue, at.Q_COUNT] = count + 1
    queues[queue, at.Q_BYTES] = waiting + (stamp & 0xFFFF)
    queues[queue, at.Q_MAX] = max(queues[queue, at.Q_MAX], queues[queue, at.Q_BYTES])


@indexed_from_zero
@inner
def draw_mark(queues, settings, queue, link, waiting):
    """Decide whether a frame that finds `waiting` bytes is marked: RED between two bounds.

    The draw depends on seed, link and the frames that this port has sent and holds: on no other.
    """
    if waiting >= settings[at.C_KMAX]:
        return True
    count = queues[queue, at.Q_FRAMES] + queues[queue, at.Q_COUNT]
    span = settings[at.C_KMAX] - settings[at.C_KMIN]
    chance = settings[at.C_PMAX] * (waiting - settings[at.C_KMIN]) // span
    return drawn(settings, link, count) < chance


@part
def reconcile_all(ports, queues, nodes, now):
    """Give back what has left by `now` everywhere: who reads the tables then reads the truth."""
    for node in range(len(nodes)):
        reconcile(ports, queues, nodes, node, now)


def warm() -> None:
    """Compiled with the kernels that call them."""
