"""A heap of small integers by keys that are pairs of doubles, with places, so that keys may move.

`ids[-1]` counts the items in the heap, which are `ids[:ids[-1]]`; `keys[item]` is the key (high,
low) of an item, and `places[item]` where it stands, or -1 if it is not in the heap.
"""

from ctestbed.core.jit import inner


@inner
def before(keys, one, other):  # type: ignore[no-untyped-def]
    """Tell whether the key of `one` is below that of `other`."""
    return keys[one, 0] < keys[other, 0] or (
        keys[one, 0] == keys[other, 0] and keys[one, 1] < keys[other, 1]
    )


@inner
def settle(ids, places, keys, place):  # type: ignore[no-untyped-def]
    """Move the item at `place` up or down to where its key belongs."""
    item, size = ids[place], ids[-1]
    while place > 0:
        parent = (place - 1) >> 1
        above = ids[parent]
        if not before(keys, item, above):
            break
        ids[place] = above
        places[above] = place
        place = parent
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and before(keys, ids[child + 1], ids[child]):
            child += 1
        below = ids[child]
        if not before(keys, below, item):
            break
        ids[place] = below
        places[below] = place
        place = child
    ids[place] = item
    places[item] = place


@inner
def put(ids, places, keys, item):  # type: ignore[no-untyped-def]
    """Insert an item, or move it if its key changed."""
    place = places[item]
    if place < 0:
        place = ids[-1]
        ids[-1] += 1
        ids[place] = item
    settle(ids, places, keys, place)


@inner
def drop(ids, places, keys, item):  # type: ignore[no-untyped-def]
    """Take an item out, if it is in."""
    place = places[item]
    if place < 0:
        return
    places[item] = -1
    ids[-1] -= 1
    if place < ids[-1]:
        ids[place] = ids[ids[-1]]
        settle(ids, places, keys, place)


def warm() -> None:
    """Compile nothing: these are compiled with the kernels that call them."""
