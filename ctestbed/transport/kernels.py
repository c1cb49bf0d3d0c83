"""The compiled flow engine, in double-double arithmetic (106 bits; a pair high, low).

Sums and products are error-free transformations (Dekker 1971, Knuth TAOCP 2 4.2.2); they need
IEEE arithmetic as written, so no fast-math. A relative error of about 1e-31 per operation leaves a
picosecond in a second exact to some 1e-15 ps after ten thousand events.
"""

from heapq import heapify, heappop, heappush

import numpy as np

from ctestbed.core.jit import kernel

SAME = 2.0**-30
"""Events closer than this many ps are one event."""

SURE = 2.0**-40
"""And two that differ by more than this, but less than SAME, are in doubt."""

_SPLITTER = 134217729.0  # 2^27 + 1


@kernel
def add(a_high, a_low, b_high, b_low):  # type: ignore[no-untyped-def]
    """Return a + b."""
    total = a_high + b_high
    part = total - a_high
    low = (a_high - (total - part)) + (b_high - part) + a_low + b_low
    high = total + low
    return high, low - (high - total)


@kernel
def multiply(a_high, a_low, b_high, b_low):  # type: ignore[no-untyped-def]
    """Return a * b."""
    product = a_high * b_high
    scaled = _SPLITTER * a_high
    a1 = scaled - (scaled - a_high)
    a2 = a_high - a1
    scaled = _SPLITTER * b_high
    b1 = scaled - (scaled - b_high)
    b2 = b_high - b1
    low = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2 + (a_high * b_low + a_low * b_high)
    high = product + low
    return high, low - (high - product)


@kernel
def divide(a_high, a_low, b_high, b_low):  # type: ignore[no-untyped-def]
    """Return a / b: three quotient digits, each of a remainder."""
    first = a_high / b_high
    high, low = multiply(b_high, b_low, first, 0.0)
    rest_high, rest_low = add(a_high, a_low, -high, -low)
    second = rest_high / b_high
    high, low = multiply(b_high, b_low, second, 0.0)
    rest_high, rest_low = add(rest_high, rest_low, -high, -low)
    third = rest_high / b_high
    high, low = add(first, 0.0, second, 0.0)
    return add(high, low, third, 0.0)


@kernel
def fill(  # type: ignore[no-untyped-def]
    capacity, offsets, links, counts, link_offsets, link_flows, active, waiting, rate, fixed
):
    """Set `rate[f]` (high, low) of every active flow to its max-min fair rate, in bit/s.

    `waiting[l]` counts the active flows of link l; `fixed` is scratch, one flag per flow.
    """
    waiting = waiting.copy()
    room = np.zeros((len(capacity), 2))
    room[:, 0] = capacity
    fixed[:] = False
    shares = [(0.0, 0.0, 0)]
    shares.clear()
    for link in range(len(capacity)):
        if waiting[link] > 0:
            high, low = divide(capacity[link], 0.0, float(waiting[link]), 0.0)
            shares.append((high, low, link))
    heapify(shares)
    while len(shares) > 0:
        old_high, old_low, link = heappop(shares)
        if waiting[link] == 0:
            continue
        high, low = divide(room[link, 0], room[link, 1], float(waiting[link]), 0.0)
        if high > old_high or (high == old_high and low > old_low):
            heappush(shares, (high, low, link))
            continue
        for place in range(link_offsets[link], link_offsets[link + 1]):
            flow = link_flows[place]
            if not active[flow] or fixed[flow]:
                continue
            fixed[flow] = True
            rate[flow, 0] = high
            rate[flow, 1] = low
            for crossing in range(offsets[flow], offsets[flow + 1]):
                other = links[crossing]
                many = counts[crossing]
                waiting[other] -= many
                if many == 1:
                    took_high, took_low = high, low
                else:
                    took_high, took_low = multiply(high, low, float(many), 0.0)
                room[other, 0], room[other, 1] = add(
                    room[other, 0], room[other, 1], -took_high, -took_low
                )


@kernel
def solve(  # type: ignore[no-untyped-def]
    capacity, offsets, links, counts, link_offsets, link_flows, work, starts, order
):
    """Return (finish, doubt): ends in ps as pairs, NaN if never, and whether a tie was in doubt.

    `work` and `starts` are pairs, in 1e-12 bit and ps; `order` lists flows by start.
    """
    flows = len(work)
    finish = np.full((flows, 2), np.nan)
    left = work.copy()
    rate = np.zeros((flows, 2))
    ends = np.zeros((flows, 2))
    active = np.zeros(flows, np.bool_)
    fixed = np.zeros(flows, np.bool_)
    waiting = np.zeros(len(capacity), np.int64)
    running = np.zeros(flows, np.int64)
    count = 0
    arrived = 0
    now_high, now_low = 0.0, 0.0
    doubt = False
    while count > 0 or arrived < flows:
        while arrived < flows:
            flow = order[arrived]
            if starts[flow, 0] > now_high or (
                starts[flow, 0] == now_high and starts[flow, 1] > now_low
            ):
                break
            arrived += 1
            if work[flow, 0] == 0.0:
                finish[flow] = starts[flow]
                continue
            active[flow] = True
            running[count] = flow
            count += 1
            for crossing in range(offsets[flow], offsets[flow + 1]):
                waiting[links[crossing]] += counts[crossing]
        fill(
            capacity, offsets, links, counts, link_offsets, link_flows, active, waiting, rate, fixed
        )
        step_high, step_low = np.inf, 0.0
        arriving = arrived < flows
        if arriving:
            flow = order[arrived]
            step_high, step_low = add(starts[flow, 0], starts[flow, 1], -now_high, -now_low)
        for place in range(count):
            flow = running[place]
            if rate[flow, 0] <= 0.0:
                ends[flow, 0] = np.inf
                continue
            high, low = divide(left[flow, 0], left[flow, 1], rate[flow, 0], rate[flow, 1])
            ends[flow, 0], ends[flow, 1] = high, low
            if high < step_high or (high == step_high and low < step_low):
                step_high, step_low = high, low
                arriving = False
        if step_high == np.inf:
            break
        if arriving:
            now_high, now_low = starts[order[arrived], 0], starts[order[arrived], 1]
        else:
            now_high, now_low = add(now_high, now_low, step_high, step_low)
        kept = 0
        for place in range(count):
            flow = running[place]
            apart = (ends[flow, 0] - step_high) + (ends[flow, 1] - step_low)
            if apart <= SAME:
                doubt = doubt or apart > SURE
                finish[flow, 0], finish[flow, 1] = now_high, now_low
                active[flow] = False
                for crossing in range(offsets[flow], offsets[flow + 1]):
                    waiting[links[crossing]] -= counts[crossing]
                continue
            high, low = multiply(rate[flow, 0], rate[flow, 1], step_high, step_low)
            left[flow, 0], left[flow, 1] = add(left[flow, 0], left[flow, 1], -high, -low)
            running[kept] = flow
            kept += 1
        count = kept
    return finish, doubt


def warm() -> None:
    """Compile every kernel at the types the engine calls it with, into the cache."""
    pair = np.array([[8e12, 0.0]])
    index = np.zeros(1, np.int64)
    offsets = np.array([0, 1])
    solve(
        np.array([1e9]), offsets, index, np.ones(1, np.int64), offsets, index, pair, pair * 0, index
    )
