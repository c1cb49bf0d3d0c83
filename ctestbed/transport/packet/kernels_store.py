"""Queues of frames in chunks from one store, and a heap of integer keys."""

from ctestbed.core.jit import part
from ctestbed.transport.packet import kernels_layout as at

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
    return slot


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
def pop(heap, size):
    """Take the least key, `heap[0]`, off a heap of `size` keys; return the new size."""
    size -= 1
    key = heap[size]
    spot = 0
    while True:
        down = 2 * spot + 1
        if down >= size:
            break
        if down + 1 < size and heap[down + 1] < heap[down]:
            down += 1
        if key <= heap[down]:
            break
        heap[spot] = heap[down]
        spot = down
    heap[spot] = key
    return size


def warm() -> None:
    """Compiled with the kernels that call them."""
