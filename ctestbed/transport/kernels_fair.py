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
def left_over(slots, groups, members, counts, slot, begin, end, level_high, level_low, level):  # type: ignore[no-untyped-def]
    """Return (high, low, free, near): what flows held elsewhere below a level leave of `slot`.

    `free` is the weight of the others, and `near` tells whether one of those is close to `level`.
    """
    left_high, left_low = slots[slot, ROOM], slots[slot, ROOM + 1]
    free = 0.0
    near = False
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
            free += weight
            near = near or high < level * (1.0 + NEAR)
    return left_high, left_low, free, near


@inner
def share(slots, groups, members, counts, slot, begin, end):  # type: ignore[no-untyped-def]
    """Return the level (high, low) that the flows of `slot` imply: infinite if it holds nobody.

    `members[begin:end]` are pairs (group, crossing); `counts[crossing]` multiplies a group's
    weight. Doubles sort the flows into held and free, pairs confirm it and do the sums. Mostly
    the same flows are free as the last time, so that is tried first: what flows take is concave
    in the level, and one step from any guess does not pass the answer.
    """
    room, guess = slots[slot, ROOM], slots[slot, IMPLIED]
    left, free = room, 0.0
    load = loose = total = 0.0
    for place in range(begin, end):
        group = members[place, 0]
        weight = counts[members[place, 1]] * groups[group, WEIGHT]
        total += weight
        low = groups[group, LOW]
        if low == np.inf:
            loose += 1.0
        else:
            load += weight * low
        limit = groups[group, NEXT] if groups[group, LOWEST] == slot else low
        if limit < guess:
            left -= limit * weight
        else:
            free += weight
    slots[slot, LOAD] = load
    slots[slot, LOOSE] = loose
    if total == 0.0 or is_slack(slots, slot):
        return np.inf, 0.0
    rounding = (end - begin) * 2.0**-52 * room
    level = room / total
    if free > 0.0 and left * 0.1 * NEAR > rounding:
        level = left / free
        high, low, again, near = left_over(
            slots, groups, members, counts, slot, begin, end, level * (1.0 - NEAR), 0.0, level
        )
        if again == free and not near:
            return divide(high, low, free, 0.0)
    free = np.inf
    while True:  # as more flows prove to be held elsewhere, the rest get more
        left, again = room, 0.0
        for place in range(begin, end):
            group = members[place, 0]
            weight = counts[members[place, 1]] * groups[group, WEIGHT]
            limit = groups[group, NEXT if groups[group, LOWEST] == slot else LOW]
            if limit < level:
                left -= limit * weight
            else:
                again += weight
        if again == 0.0 or again >= free:
            break
        free = again
        level = left / free
    surely = rounding <= 0.1 * NEAR * left
    level_high, level_low = level * (1.0 - NEAR) if surely else 0.0, 0.0
    free = np.inf
    while True:
        high, low, again, near = left_over(
            slots, groups, members, counts, slot, begin, end, level_high, level_low, level
        )
        if again == 0.0:
            return np.inf, 0.0
        if again >= free:  # rounding can flip a tie for ever; it moves nothing
            return level_high, level_low
        free = again
        level_high, level_low = divide(high, low, free, 0.0)
        if level_high <= 0.0:
            return 0.0, 0.0
        if surely and not near:
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
            low_at = int(groups[group, LOWEST])
            if old_high > next_high and new_high > next_high:
                continue
            begin, end = offsets[group], offsets[group + 1]
            # Mostly the order of the two lowest stays, and the path need not be looked at.
            stays = new_high < next_high or (new_high == next_high and new_low <= next_low)
            under = new_high < low_high or (new_high == low_high and new_low < low_low)
            if stays and low_at == slot:
                a_high, a_low, b_high, b_low, at = new_high, new_low, next_high, next_low, slot
            elif stays and low_at >= 0 and low_at != slot and not under:
                a_high, a_low, b_high, b_low, at = low_high, low_low, new_high, new_low, low_at
            else:
                a_high, a_low, b_high, b_low, at = lowest(slots, slot_of, begin, end)
            groups[group, LOW], groups[group, LOW + 1] = a_high, a_low
            groups[group, NEXT], groups[group, NEXT + 1] = b_high, b_low
            groups[group, LOWEST] = at
            if at == low_at and a_high == low_high and a_low == low_low:
                # Only the link that holds the group has another link behind it now.
                if at < 0 or stamps[at] == stamp or slots[at, IMPLIED] < min(next_high, b_high):
                    continue
                stamps[at] = stamp
                queue[marked] = at
                marked += 1
                continue
            if not marks[group]:
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
