"""The clock of the flow engine: who arrives, who leaves, and when, in pairs of doubles.

A group of flows of one path serves all its members alike, so it keeps one count of work served
per unit of weight, and each member leaves when that count reaches its tag (the count when it came
plus its own work). A change of a group's rate touches the group, not its members.
"""

import numpy as np

from ctestbed.core.jit import engine, inner
from ctestbed.transport.kernels import SAME, SURE, add, divide, multiply
from ctestbed.transport.kernels_fair import (
    IMPLIED,
    LEVEL,
    LOW,
    LOWEST,
    NEXT,
    ROOM,
    WEIGHT,
    lowest,
    renew,
    same,
    spread,
)
from ctestbed.transport.kernels_heap import drop, put
from ctestbed.transport.kernels_waits import announce, first_wait, newcomer, release

# Columns of `clocks`, pairs of doubles of each group: work served, up to when, and its rate since.
SERVED, SINCE, RATE = 0, 2, 4

SPENT = 2.0**-80
"""What is left of a capacity below this share of it is rounding, and nothing."""


@inner
def enter(groups, slots, clocks, paths, members, bounds, carried, places, group, now):  # type: ignore[no-untyped-def]
    """Put a group that had no members on its links."""
    offsets, slot_of = paths
    begin, end = offsets[group], offsets[group + 1]
    for crossing in range(begin, end):
        slot = slot_of[crossing]
        place = bounds[slot] + carried[slot]
        members[place, 0] = group
        members[place, 1] = crossing
        places[crossing] = place
        carried[slot] += 1
    a_high, a_low, b_high, b_low, at = lowest(slots, slot_of, begin, end)
    groups[group, LOW], groups[group, LOW + 1] = a_high, a_low
    groups[group, NEXT], groups[group, NEXT + 1] = b_high, b_low
    groups[group, LOWEST] = at
    for column in range(6):
        clocks[group, column] = 0.0
    clocks[group, SINCE], clocks[group, SINCE + 1] = now[0], now[1]


@inner
def leave(paths, members, bounds, carried, places, group):  # type: ignore[no-untyped-def]
    """Take a group without members off its links."""
    offsets, slot_of = paths
    for crossing in range(offsets[group], offsets[group + 1]):
        slot = slot_of[crossing]
        carried[slot] -= 1
        last = bounds[slot] + carried[slot]
        place = places[crossing]
        members[place, 0] = members[last, 0]
        members[place, 1] = members[last, 1]
        places[members[place, 1]] = place


@inner
def serve(clocks, group, now):  # type: ignore[no-untyped-def]
    """Bring a group's count of work up to `now`."""
    span = add(now[0], now[1], -clocks[group, SINCE], -clocks[group, SINCE + 1])
    done = multiply(clocks[group, RATE], clocks[group, RATE + 1], span[0], span[1])
    high, low = add(clocks[group, SERVED], clocks[group, SERVED + 1], done[0], done[1])
    clocks[group, SERVED], clocks[group, SERVED + 1] = high, low
    clocks[group, SINCE], clocks[group, SINCE + 1] = now[0], now[1]


@inner
def schedule(clocks, tags, group, flow, keys, ids, places):  # type: ignore[no-untyped-def]
    """Queue a group by when its next flow ends at its rate; a group at rest never ends."""
    if clocks[group, RATE] <= 0.0:
        drop(ids, places, keys, group)
        return
    work = add(tags[flow, 0], tags[flow, 1], -clocks[group, SERVED], -clocks[group, SERVED + 1])
    span = divide(work[0], work[1], clocks[group, RATE], clocks[group, RATE + 1])
    high, low = add(clocks[group, SINCE], clocks[group, SINCE + 1], span[0], span[1])
    keys[group, 0], keys[group, 1] = high, low
    put(ids, places, keys, group)


@inner
def hand_down(slots, groups, members, counts, bounds, carried, slot, below):  # type: ignore[no-untyped-def]
    """Give what a slot leaves of its capacity to the next class; tell whether that changed."""
    room_high, room_low = slots[slot, ROOM], slots[slot, ROOM + 1]
    if slots[slot, LEVEL] < np.inf:
        room_high, room_low = 0.0, 0.0
    else:
        for place in range(bounds[slot], bounds[slot] + carried[slot]):
            group = members[place, 0]
            weight = counts[members[place, 1]] * groups[group, WEIGHT]
            took = multiply(groups[group, LOW], groups[group, LOW + 1], weight, 0.0)
            room_high, room_low = add(room_high, room_low, -took[0], -took[1])
        if room_high <= SPENT * slots[slot, ROOM]:
            room_high, room_low = 0.0, 0.0
    if same(room_high, room_low, slots[below, ROOM], slots[below, ROOM + 1]):
        return False
    slots[below, ROOM], slots[below, ROOM + 1] = room_high, room_low
    return True


@inner
def settle_rates(  # type: ignore[no-untyped-def]
    slots,
    groups,
    paths,
    members,
    counts,
    bounds,
    carried,
    heap,
    touched,
    moved,
    marks,
    dirty,
    unclean,
    below,
    class_of,
    classes,
    limit,
):
    """Bring all rates up to date, class by class, after the links in `dirty` changed.

    Return the number of links set, or -1 if they would not settle.
    """
    offsets, slot_of = paths
    total = 0
    changed = dirty[-1]
    for rank in range(classes):
        for place in range(changed):
            if class_of[dirty[place]] == rank:
                renew(slots, groups, members, counts, bounds, carried, heap, dirty[place])
        done = spread(
            slots,
            groups,
            paths,
            members,
            counts,
            bounds,
            carried,
            heap,
            touched,
            moved,
            marks,
            limit,
        )
        if done < 0:
            return -1
        total += done
        if rank + 1 == classes:
            break
        # A group that came, left or moved changes what its links leave for the next class.
        for place in range(moved[-1]):
            group = moved[place]
            for crossing in range(offsets[group], offsets[group + 1]):
                slot = slot_of[crossing]
                if class_of[slot] == rank and not unclean[slot]:
                    unclean[slot] = True
                    dirty[changed] = slot
                    changed += 1
        for place in range(changed):
            slot = dirty[place]
            lower = below[slot]
            if class_of[slot] != rank or lower < 0:
                continue
            less = hand_down(slots, groups, members, counts, bounds, carried, slot, lower)
            if less and not unclean[lower]:
                unclean[lower] = True
                dirty[changed] = lower
                changed += 1
    for place in range(changed):
        unclean[dirty[place]] = False
    dirty[-1] = 0
    return total


@inner
def forget(slots, groups, carried, capacity, moved, marks, dirty, unclean, queue, first):  # type: ignore[no-untyped-def]
    """Forget every rate, so that the next settling works all of them out again."""
    changed = 0
    for slot in range(len(slots)):
        slots[slot, LEVEL], slots[slot, LEVEL + 1] = np.inf, 0.0
        slots[slot, IMPLIED], slots[slot, IMPLIED + 1] = np.inf, 0.0
        slots[slot, ROOM], slots[slot, ROOM + 1] = capacity[slot], 0.0
        if carried[slot] > 0 or unclean[slot]:
            unclean[slot] = True
            dirty[changed] = slot
            changed += 1
    dirty[-1] = changed
    many = moved[-1]
    for group in range(len(groups)):
        groups[group, LOW], groups[group, LOW + 1] = np.inf, 0.0
        groups[group, NEXT], groups[group, NEXT + 1] = np.inf, 0.0
        groups[group, LOWEST] = -1
        if queue[first[group + 1] - 1] > 0 and not marks[group]:
            marks[group] = True
            moved[many] = group
            many += 1
    moved[-1] = many


@inner
def touch(paths, group, moved, marks, dirty, unclean):  # type: ignore[no-untyped-def]
    """Note that a group's weight changed, and with it every link on its way."""
    offsets, slot_of = paths
    if not marks[group]:
        marks[group] = True
        moved[moved[-1]] = group
        moved[-1] += 1
    for crossing in range(offsets[group], offsets[group + 1]):
        slot = slot_of[crossing]
        if not unclean[slot]:
            unclean[slot] = True
            dirty[dirty[-1]] = slot
            dirty[-1] += 1


@engine
def solve(  # type: ignore[no-untyped-def]
    network, flows, rates, work_queues, scratch, chain, classes, anew
):
    """Run until nobody is left, and fill `finish` (pairs, ps; NaN if never).

    `tell` is filled with: whether a tie was in doubt, events, links set, groups moved, most moves
    of one group; events are -1 if rates would not settle, which only a fault in this program
    explains. With `anew`, every event solves the whole network again. See `incremental` for the
    arrays.
    """
    capacity, below, class_of, offsets, slot_of, counts, bounds = network
    group_of, first, weight, work, starts, order, finish, tell = flows
    slots, groups, clocks, carried, members, places = rates
    ids, at, keys, queue, queue_at, tags, changes = work_queues
    heap_ids, heap_places, heap_keys, stamps, marked, moved, marks, dirty, unclean = scratch
    paths = (offsets, slot_of)
    heap = (heap_ids, heap_places, heap_keys)
    touched = (stamps, marked)
    limit = 64 * len(capacity) + 64
    waits = len(chain[1]) > 0
    arrived = 0
    while True:
        high, low = np.inf, 0.0
        if arrived < len(order):
            high, low = starts[order[arrived], 0], starts[order[arrived], 1]
        if waits:
            high, low = first_wait(chain, starts, high, low)
        if ids[-1] > 0 and (keys[ids[0], 0] - high) + (keys[ids[0], 1] - low) < -SAME:
            high, low = keys[ids[0], 0], keys[ids[0], 1]
        if high == np.inf:
            break
        now = (high, low)
        tell[1] += 1
        while ids[-1] > 0:
            group = ids[0]
            apart = (keys[group, 0] - high) + (keys[group, 1] - low)
            if apart > SAME:
                break
            if abs(apart) > SURE:
                tell[0] = 1
            waiting = queue[first[group] : first[group + 1]]
            flow = waiting[0]
            drop(waiting, queue_at, tags, flow)
            finish[flow, 0], finish[flow, 1] = high, low
            if waits:
                announce(chain, flow, high, low)
            clocks[group, SERVED], clocks[group, SERVED + 1] = tags[flow, 0], tags[flow, 1]
            clocks[group, SINCE], clocks[group, SINCE + 1] = high, low
            groups[group, WEIGHT] -= weight[flow]
            touch(paths, group, moved, marks, dirty, unclean)
            if waiting[-1] == 0:
                leave(paths, members, bounds, carried, places, group)
                drop(ids, at, keys, group)
            else:
                schedule(clocks, tags, group, waiting[0], keys, ids, at)
        if waits:
            release(chain, starts, high, low)
        while True:
            flow, arrived = newcomer(chain, starts, order, arrived, high, low)
            if flow < 0:
                break
            if work[flow, 0] == 0.0:
                finish[flow, 0], finish[flow, 1] = high, low
                continue
            group = group_of[flow]
            waiting = queue[first[group] : first[group + 1]]
            if waiting[-1] == 0:
                enter(groups, slots, clocks, paths, members, bounds, carried, places, group, now)
                groups[group, WEIGHT] = 0.0
            else:
                serve(clocks, group, now)
            high_work, low_work = work[flow, 0], work[flow, 1]
            if weight[flow] != 1.0:
                high_work, low_work = divide(high_work, low_work, weight[flow], 0.0)
            tags[flow, 0], tags[flow, 1] = add(
                high_work, low_work, clocks[group, SERVED], clocks[group, SERVED + 1]
            )
            put(waiting, queue_at, tags, flow)
            groups[group, WEIGHT] += weight[flow]
            touch(paths, group, moved, marks, dirty, unclean)
        if anew:
            forget(slots, groups, carried, capacity, moved, marks, dirty, unclean, queue, first)
        done = settle_rates(
            slots,
            groups,
            paths,
            members,
            counts,
            bounds,
            carried,
            heap,
            touched,
            moved,
            marks,
            dirty,
            unclean,
            below,
            class_of,
            classes,
            limit,
        )
        if done < 0:
            tell[1] = -1
            break
        tell[2] += done
        for place in range(moved[-1]):
            group = moved[place]
            marks[group] = False
            if queue[first[group + 1] - 1] == 0:
                continue
            level_high, level_low = groups[group, LOW], groups[group, LOW + 1]
            if not same(level_high, level_low, clocks[group, RATE], clocks[group, RATE + 1]):
                tell[3] += 1
                changes[group] += 1
                tell[4] = max(tell[4], changes[group])
                serve(clocks, group, now)
                clocks[group, RATE], clocks[group, RATE + 1] = level_high, level_low
            schedule(clocks, tags, group, queue[first[group]], keys, ids, at)
        moved[-1] = 0


def warm() -> None:
    """Compile the engine at the types it is called with, into the cache."""
    from ctestbed.transport.incremental import solve_compiled
    from ctestbed.transport.symmetry import Quotient

    one = np.ones(1, np.int64)
    ends = np.array([0, 1])
    solve_compiled(Quotient(one, ends, one - 1, one, one, one, one, one, one - 1))
