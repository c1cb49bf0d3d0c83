"""Flows that wait for others, inside the flow engine's clock.

A chain is (bounds, edges, lag, done, edge_ids, edge_places, waiter, missing, after_ids,
after_places): the edges that wait for flow f are `edges[bounds[f]:bounds[f + 1]]`; an edge is done
`lag` after its flow's end, which `done` holds while it is in the first heap; `waiter[e]` still
misses so many edges; the second heap holds flows whose wait is over, by their starts.
"""

import numpy as np

from ctestbed.core.jit import inner
from ctestbed.transport.kernels import SAME, add
from ctestbed.transport.kernels_heap import drop, put


@inner
def announce(chain, flow, high, low):  # type: ignore[no-untyped-def]
    """Queue the waits that a flow's end is for, each by when it is over: whole ps, then its lag."""
    bounds, edges, lag, done, edge_ids, edge_places = chain[:6]
    whole = np.rint(high)
    rest = (high - whole) + low
    carry = np.rint(rest)
    if rest - carry > SAME:
        carry += 1.0
    ended = add(whole, 0.0, carry, 0.0)
    for place in range(bounds[flow], bounds[flow + 1]):
        edge = edges[place]
        done[edge, 0], done[edge, 1] = add(ended[0], ended[1], lag[edge, 0], lag[edge, 1])
        put(edge_ids, edge_places, done, edge)


@inner
def release(chain, starts, high, low):  # type: ignore[no-untyped-def]
    """Take the waits that are over now, and queue the flows that need no more, by their starts."""
    done, edge_ids, edge_places, waiter, missing, after_ids, after_places = chain[3:]
    while edge_ids[-1] > 0:
        edge = edge_ids[0]
        if done[edge, 0] != high or done[edge, 1] != low:
            break
        drop(edge_ids, edge_places, done, edge)
        flow = waiter[edge]
        missing[flow] -= 1
        if missing[flow] == 0:
            starts[flow, 0], starts[flow, 1] = add(high, low, starts[flow, 0], starts[flow, 1])
            put(after_ids, after_places, starts, flow)


@inner
def first_wait(chain, starts, high, low):  # type: ignore[no-untyped-def]
    """Return when a wait is over, or a flow comes that waited; the time given if not sooner."""
    done, edge_ids, after_ids = chain[3], chain[4], chain[8]
    if after_ids[-1] > 0:
        other = starts[after_ids[0], 0], starts[after_ids[0], 1]
        if other[0] < high or (other[0] == high and other[1] < low):
            high, low = other
    if edge_ids[-1] > 0:
        other = done[edge_ids[0], 0], done[edge_ids[0], 1]
        if other[0] < high or (other[0] == high and other[1] < low):
            high, low = other
    return high, low


@inner
def newcomer(chain, starts, order, arrived, high, low):  # type: ignore[no-untyped-def]
    """Return a flow that starts now, or -1, and how many of those in order have."""
    if len(chain[8]) > 1 and chain[8][-1] > 0:
        flow = chain[8][0]
        if starts[flow, 0] == high and starts[flow, 1] == low:
            drop(chain[8], chain[9], starts, flow)
            return flow, arrived
    if arrived < len(order):
        flow = order[arrived]
        if starts[flow, 0] == high and starts[flow, 1] == low:
            return flow, arrived + 1
    return -1, arrived


def warm() -> None:
    """Compile nothing: these are compiled with the kernels that call them."""
