"""What is written down for people to see: looks at all ports, and who first paused whom, and why.

Both are rare. The engine's loop halts at each look, and pays a branch for each pause told.
"""

from ctestbed.core.jit import engine, indexed_from_zero, inner
from ctestbed.transport.packet import kernels_layout as at

MOST = 2**31 - 1
"""Bytes that can be told of one port."""
CHUNK_BITS = 3
CHUNK = 1 << CHUNK_BITS


@indexed_from_zero
@engine
def look(queues, holds, seen, looks, watch, due, run, settings, horizon):
    """Look at all ports at each time that is due before the next event.

    Nobody looks once all flows have finished, or when nothing is left to happen. Of a port the
    bytes that wait are kept, doubled, and one more if it is held back; and of all, sums. When no
    row is left, rows are merged in pairs, of each the most, and the time between looks doubles.
    """
    begin = at.NEVER
    for node in range(len(due)):
        begin = min(begin, due[node])
    while run[at.X_OPEN] > 0 and begin < at.NEVER:
        now = watch[at.Z_AT]
        if now >= begin or now > horizon:
            return
        row = watch[at.Z_KEPT]
        classes = settings[at.C_CLASSES]
        whole = 0
        count = 0
        for port in range(seen.shape[1]):
            waiting = 0
            held = 0
            for queue in range(port * classes, port * classes + classes):
                waiting += queues[queue, at.Q_BYTES]
                if queues[queue, at.Q_UNTIL] > now and queues[queue, at.Q_PAUSED] <= now:
                    held = 1
                if settings[at.C_CREDIT] and holds[queue, at.J_SINCE] <= now:
                    held = 1
            whole += waiting
            count += held
            seen[row, port] = min(waiting, MOST) << 1 | held
        looks[row, at.L_WAITING] = whole
        looks[row, at.L_HELD] = count
        looks[row, at.L_GOOD] = run[at.X_GOOD]
        watch[at.Z_KEPT] = row + 1
        if row + 1 == len(looks):
            merge(seen, looks, watch)
        watch[at.Z_AT] = (watch[at.Z_KEPT] + 1) * watch[at.Z_STEP]
    if run[at.X_OPEN] == 0:
        watch[at.Z_AT] = at.NEVER


@indexed_from_zero
@inner
def merge(seen, looks, watch):
    """Merge rows in pairs, keeping the most of each."""
    half = len(looks) // 2
    for row in range(half):
        for port in range(seen.shape[1]):
            one, other = seen[2 * row, port], seen[2 * row + 1, port]
            seen[row, port] = max(one >> 1, other >> 1) << 1 | (one | other) & 1
        for column in range(at.LOOK):
            looks[row, column] = max(looks[2 * row, column], looks[2 * row + 1, column])
    watch[at.Z_KEPT] = half
    watch[at.Z_STEP] *= 2


@indexed_from_zero
@inner
def note_first(queues, nodes, holds, store, chain, settings, node, port, klass, out, now):
    """Note when a port first tells its peer to pause, and because of whom.

    That is the port of this node with the longest queue of those that are paused themselves and
    that what came in here waits for; the frame that is too much goes to `out` (-1: to none).
    """
    classes = settings[at.C_CLASSES]
    queue = port * classes + klass
    if holds[queue, at.J_FIRST] < at.NEVER:
        return
    holds[queue, at.J_FIRST] = now
    longest = -1
    first = nodes[node, at.N_FIRST]
    for other in range(first, first + nodes[node, at.N_PORTS]):
        leaving = other * classes + klass
        if (
            queues[leaving, at.Q_UNTIL] > now
            and queues[leaving, at.Q_PAUSED] <= now
            and queues[leaving, at.Q_BYTES] > longest
            and (other == out or waits_from(queues, store, chain, leaving, port))
        ):
            longest = queues[leaving, at.Q_BYTES]
            holds[queue, at.J_CAUSE] = leaving


@indexed_from_zero
@inner
def waits_from(queues, store, chain, queue, port):
    """Tell whether a frame that came in by `port` waits in a queue."""
    slot = queues[queue, at.Q_HEAD]
    for left in range(queues[queue, at.Q_COUNT], 0, -1):
        if store[slot, at.F_PLACE] >> 8 & 0xFFFFFF == port:
            return True
        slot += 1
        if slot & CHUNK - 1 == 0 and left > 1:
            slot = chain[(slot >> CHUNK_BITS) - 1] << CHUNK_BITS
    return False


def warm() -> None:
    """Compile `look`, with the loop."""
    from ctestbed.transport.packet.engine import load_kernel

    load_kernel()
