"""Max-min fair rates kept up to date while flows come and go: only what a change can reach moves.

Every link has a *level*: the rate per unit of weight at which it holds its flows back, infinite if
it does not. A flow runs at the lowest level on its way. A link's level is its capacity shared by
water-filling among its flows, each held to the lowest level of its *other* links. So it depends on
lower levels only, and a change is carried through in order of level, as shortest paths are
(Ramalingam and Reps 1996): take the lowest link whose level is not what its flows now imply; if
that is lower, set it; if higher, lift the link out of the way first. What lies below is never
looked at, and each link is set at most twice.

Links of one class of priority come in order of class: what one class leaves is the next one's
capacity. `slots` are such links, `groups` are flows of one path, class and weight.
"""

import numpy as np

from ctestbed.core.jit import inner
from ctestbed.transport.kernels import add, divide, multiply
from ctestbed.transport.kernels_heap import drop, put

SAME_LEVEL = 2.0**-96
"""Levels that differ by less than this share are one level."""

NEAR = 1e-9
"""Levels that doubles find closer than this share are compared as pairs."""

SLACK = 1e-6
"""A link that carries less than its capacity by this share holds nobody back, rounding or not."""

# Columns of `slots`: level, implied level and capacity as pairs; then, near enough, what its flows
# take, and how many of them nothing holds back yet.
LEVEL, IMPLIED, ROOM, LOAD, LOOSE = 0, 2, 4, 6, 7

# Columns of `groups`: the lowest level on the way, the lowest elsewhere, weight, the slot of the
# lowest.
LOW, NEXT, WEIGHT, LOWEST = 0, 2, 4, 5


@inner
def same(a_high, a_low, b_high, b_low):  # type: ignore[no-untyped-def]
    """Tell whether two levels are one."""
    if a_high == b_high and a_low == b_low:
        return True
    if np.inf in (a_high, b_high):
        return False
    return abs((a_high - b_high) + (a_low - b_low)) <= SAME_LEVEL * abs(a_high)


@inner
def is_slack(slots, slot):  # type: ignore[no-untyped-def]
    """Tell whether `slot` holds nobody back, and clearly need not."""
    return (
        slots[slot, LEVEL] == np.inf
        and slots[slot, LOOSE] == 0.0
        and slots[slot, LOAD] < slots[slot, ROOM] * (1.0 - SLACK)
    )


@inner
def share(slots, groups, members, counts, slot, begin, end):  # type: ignore[no-untyped-def]
    """Return the level (high, low) that the flows of `slot` imply: infinite if it holds nobody.

    `members[begin:end]` are pairs (group, crossing); `counts[crossing]` multiplies a group's
    weight. Doubles sort the flows into held and free, pairs confirm it and do the sums.
    """
    room = slots[slot, ROOM]
    free = load = loose = 0.0
    for place in range(begin, end):
        group = members[place, 0]
        weight = counts[members[place, 1]] * groups[group, WEIGHT]
        free += weight
        if groups[group, LOW] == np.inf:
            loose += 1.0
        else:
            load += weight * groups[group, LOW]
    slots[slot, LOAD] = load
    slots[slot, LOOSE] = loose
    if free == 0.0 or is_slack(slots, slot):
        return np.inf, 0.0
    level = room / free
    while True:  # as more flows prove to be held elsewhere, the rest get more
        left, now_free = room, 0.0
        for place in range(begin, end):
            group = members[place, 0]
            weight = counts[members[place, 1]] * groups[group, WEIGHT]
            limit = groups[group, NEXT if groups[group, LOWEST] == slot else LOW]
            if limit < level:
                left -= limit * weight
            else:
                now_free += weight
        if now_free == 0.0 or now_free >= free:
            break
        free = now_free
        level = left / free
    blurred = level * (1.0 - NEAR)
    surely = (end - begin) * 2.0**-52 * room <= 0.1 * NEAR * left
    level_high, level_low = blurred if surely else 0.0, 0.0
    free = -1.0
    while True:
        left_high, left_low = slots[slot, ROOM], slots[slot, ROOM + 1]
        now_free = 0.0
        near = not surely
        for place in range(begin, end):
            group = members[place, 0]
            weight = counts[members[place, 1]] * groups[group, WEIGHT]
            column = NEXT if groups[group, LOWEST] == slot else LOW
            high, low = groups[group, column], groups[group, column + 1]
            if (high - level_high) + (low - level_low) <= SAME_LEVEL * level_high:
                if weight != 1.0:
                    high, low = multiply(high, low, weight, 0.0)
                left_high, left_low = add(left_high, left_low, -high, -low)
            else:
                now_free += weight
                near = near or high < level * (1.0 + NEAR)
        if now_free == 0.0:
            return np.inf, 0.0
        if 0.0 < free <= now_free:  # rounding can flip a tie for ever; it moves nothing
            return level_high, level_low
        free = now_free
        level_high, level_low = divide(left_high, left_low, free, 0.0)
        if level_high <= 0.0:
            return 0.0, 0.0
        if not near:
            return level_high, level_low


@inner
def lowest(slots, slot_of, begin, end):  # type: ignore[no-untyped-def]
    """Return the two lowest levels of a path as (high, low, high, low, slot of the lowest)."""
    low_high, low_low, next_high, next_low = np.inf, 0.0, np.inf, 0.0
    at = -1
    for crossing in range(begin, end):
        slot = slot_of[crossing]
        high, low = slots[slot, LEVEL], slots[slot, LEVEL + 1]
        if high < low_high or (high == low_high and low < low_low):
            next_high, next_low = low_high, low_low
            low_high, low_low = high, low
            at = slot
        elif high < next_high or (high == next_high and low < next_low):
            next_high, next_low = high, low
    return low_high, low_low, next_high, next_low, at


@inner
def renew(slots, groups, members, counts, bounds, carried, heap, slot):  # type: ignore[no-untyped-def]
    """Work out anew what the flows of `slot` imply, and queue it if that is not its level."""
    ids, places, keys = heap
    begin = bounds[slot]
    high, low = share(slots, groups, members, counts, slot, begin, begin + carried[slot])
    slots[slot, IMPLIED] = high
    slots[slot, IMPLIED + 1] = low
    level_high, level_low = slots[slot, LEVEL], slots[slot, LEVEL + 1]
    if same(high, low, level_high, level_low):
        drop(ids, places, keys, slot)
        return
    if high < level_high or (high == level_high and low < level_low):
        keys[slot, 0], keys[slot, 1] = high, low
    else:
        keys[slot, 0], keys[slot, 1] = level_high, level_low
    put(ids, places, keys, slot)


@inner
def spread(  # type: ignore[no-untyped-def]
    slots, groups, paths, members, counts, bounds, carried, heap, touched, moved, marks, limit
):
    """Carry changes through until every level is what its flows imply.

    `moved` collects groups whose rate changed, flagged in `marks`; `touched` is scratch, a stamp
    per slot. Return (moved groups, links set), the latter -1 if it took more than `limit`.
    """
    offsets, slot_of = paths
    ids, places, keys = heap
    stamps, queue = touched
    many = moved[-1]
    done = 0
    while ids[-1] > 0:
        slot = ids[0]
        drop(ids, places, keys, slot)
        done += 1
        if done > limit:
            return -1
        old_high = slots[slot, LEVEL]
        new_high, new_low = slots[slot, IMPLIED], slots[slot, IMPLIED + 1]
        if done > limit >> 1 and new_high > old_high:
            new_high, new_low = np.inf, 0.0  # see the module: the patient way always settles
        slots[slot, LEVEL], slots[slot, LEVEL + 1] = new_high, new_low
        marked = 0
        stamps[slot] = stamps[-1] = stamps[-1] + 1
        stamp = stamps[-1]
        for place in range(bounds[slot], bounds[slot] + carried[slot]):
            group = members[place, 0]
            low_high, low_low = groups[group, LOW], groups[group, LOW + 1]
            next_high, next_low = groups[group, NEXT], groups[group, NEXT + 1]
            low_at = groups[group, LOWEST]
            if old_high > next_high and new_high > next_high:
                continue
            begin, end = offsets[group], offsets[group + 1]
            a_high, a_low, b_high, b_low, at = lowest(slots, slot_of, begin, end)
            groups[group, LOW], groups[group, LOW + 1] = a_high, a_low
            groups[group, NEXT], groups[group, NEXT + 1] = b_high, b_low
            groups[group, LOWEST] = at
            if (a_high != low_high or a_low != low_low) and not marks[group]:
                marks[group] = True
                moved[many] = group
                many += 1
            change = loosened = 0.0
            if np.inf in (a_high, low_high):
                if a_high != low_high:
                    loosened = 1.0 if a_high == np.inf else -1.0
                    change = -low_high if a_high == np.inf else a_high
            else:
                change = a_high - low_high
            change *= groups[group, WEIGHT]
            for crossing in range(begin, end):
                other = slot_of[crossing]
                slots[other, LOAD] += change * counts[crossing]
                slots[other, LOOSE] += loosened
                if stamps[other] == stamp:
                    continue
                # What holds the group back elsewhere than in `other`, before and after.
                was_high, was_low = low_high, low_low
                if low_at == other:
                    was_high, was_low = next_high, next_low
                is_high, is_low = a_high, a_low
                if at == other:
                    is_high, is_low = b_high, b_low
                if was_high == is_high and was_low == is_low:
                    continue
                if slots[other, IMPLIED] < min(was_high, is_high):
                    continue
                stamps[other] = stamp
                queue[marked] = other
                marked += 1
        for place in range(marked):
            other = queue[place]
            if slots[other, IMPLIED] == np.inf and is_slack(slots, other):
                continue
            renew(slots, groups, members, counts, bounds, carried, heap, other)
        if new_high == np.inf:
            renew(slots, groups, members, counts, bounds, carried, heap, slot)
    moved[-1] = many
    return done


def warm() -> None:
    """Compile nothing: these are compiled with the kernels that call them."""
