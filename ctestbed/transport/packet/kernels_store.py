"""Queues of frames in chunks from one store, and a heap of integer keys."""

from ctestbed.core.jit import part
from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.kernels_window import tell

CHUNK_BITS = 3
CHUNK = 1 << CHUNK_BITS
"""Frames of a chunk: 256 bytes."""


@part
def put(store, chain, run, tail, time, flow, place, stamp):
    """Write a frame behind slot `tail` (-1: the queue is empty); return its slot."""
    slot = tail + 1
    if tail < 0 or slot & CHUNK - 1 == 0:
        if run[at.X_LEFT] == 0:
            run[at.X_FAULT] = 1
            return 0
        chunk = run[at.X_FREE]
        run[at.X_FREE] = chain[chunk]
        run[at.X_LEFT] -= 1
        if tail >= 0:
            chain[tail >> CHUNK_BITS] = chunk
        slot = chunk << CHUNK_BITS
    store[slot, at.F_TIME] = time
    store[slot, at.F_FLOW] = flow
    store[slot, at.F_PLACE] = place
    store[slot, at.F_STAMP] = stamp
    if store.shape[1] > at.FRAME:
        tell(store, run, slot)
    return slot


@part
def send(store, chain, run, slot, time, flow, place, stamp):
    """Write a frame to `slot` of a wire; return the slot of the next, free and marked so."""
    store[slot, at.F_TIME] = time
    store[slot, at.F_FLOW] = flow
    store[slot, at.F_PLACE] = place
    store[slot, at.F_STAMP] = stamp
    if store.shape[1] > at.FRAME:
        tell(store, run, slot)
    after = slot + 1
    if after & CHUNK - 1 == 0:
        if run[at.X_LEFT] == 0:
            run[at.X_FAULT] = 1
            return slot
        chunk = run[at.X_FREE]
        run[at.X_FREE] = chain[chunk]
        run[at.X_LEFT] -= 1
        chain[slot >> CHUNK_BITS] = chunk
        after = chunk << CHUNK_BITS
    store[after, at.F_TIME] = at.NEVER
    return after


@part
def take(chain, run, slot):
    """Free the first slot of a wire; return the next."""
    after = slot + 1
    if after & CHUNK - 1 == 0:
        chunk = slot >> CHUNK_BITS
        after = chain[chunk] << CHUNK_BITS
        chain[chunk] = run[at.X_FREE]
        run[at.X_FREE] = chunk
        run[at.X_LEFT] += 1
    return after


@part
def drop_head(chain, run, head, last):
    """Free slot `head`, the only one left if `last`; return the next slot, -1 if none."""
    if last or head & CHUNK - 1 == CHUNK - 1:
        chunk = head >> CHUNK_BITS
        after = -1 if last else chain[chunk] << CHUNK_BITS
        chain[chunk] = run[at.X_FREE]
        run[at.X_FREE] = chunk
        run[at.X_LEFT] += 1
        return after
    return head + 1


@part
def push(heap, size, key):
    """Add a key to a binary heap of `size` keys; return the new size."""
    spot = size
    while spot > 0:
        up = (spot - 1) >> 1
        if heap[up] <= key:
            break
        heap[spot] = heap[up]
        spot = up
    heap[spot] = key
    return size + 1


@part
def settle_top(heap, size, key):
    """Put `key` in the place of the least of `size` keys and restore the heap's order."""
    heap[size] = at.NEVER
    spot = 0
    down = 1
    while down < size:
        # No branch: which of two is less is a matter of chance, and a wrong guess is dear.
        down += heap[down + 1] < heap[down]
        if key <= heap[down]:
            break
        heap[spot] = heap[down]
        spot = down
        down = 2 * spot + 1
    heap[spot] = key


def warm() -> None:
    """Compiled with the kernels that call them."""
