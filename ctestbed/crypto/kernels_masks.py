"""What bulk modes add to blocks before and after the cipher: tweaks, unit by unit.

In memory of a batch, a mask is split: first the first words of all its blocks, then the second.
"""

import numpy as np

from ctestbed.core.jit import indexed_from_zero, inner, kernel, part
from ctestbed.crypto.kernels_sm4_rounds import BLOCKS, M8, M16, WORDS

ECB, XTS_IEEE, XTS_GB, TABLE, CTR = 0, 1, 2, 3, 4
"""What masks the blocks: nothing; a tweak that is doubled from block to block of a unit; a tweak
of the unit and one of the place in it; or counters that are encrypted in place of the data."""
KINDS = {"ECB": ECB, "XTS_IEEE": XTS_IEEE, "XTS_GB": XTS_GB, "TABLE": TABLE, "CTR": CTR}


@part
def swap_bytes(word):
    """Return a word with its bytes in reverse."""
    word = word >> np.uint64(32) | word << np.uint64(32)
    word = word >> np.uint64(16) & np.uint64(M16) | (word & np.uint64(M16)) << np.uint64(16)
    return word >> np.uint64(8) & np.uint64(M8) | (word & np.uint64(M8)) << np.uint64(8)


@part
def xts_masks(mask, at, count, tweaks, unit, place, gb):
    """Write the tweaks of `count` blocks of a unit, from its block `place` on, to mask from `at`.

    Each is the one before times alpha: as numbers that the machine reads, for IEEE; in the byte
    order of GB/T 17964, which `swap_all` puts right, for GB. From the 33rd on, each is the one 32
    before times alpha**32, which compilers turn into vector code.
    """
    # What came last, of this batch or of the one before.
    low, high = mask[(at - 1) % BLOCKS], mask[BLOCKS + (at - 1) % BLOCKS]
    for each in range(at, at + min(count, 32)):
        if place == 0:
            low, high = tweaks[2 * unit], tweaks[2 * unit + 1]
            if gb:
                low, high = swap_bytes(low), swap_bytes(high)
        elif gb:
            back = (high & np.uint64(1)) * np.uint64(0xE1 << 56)
            high = high >> np.uint64(1) | low << np.uint64(63)
            low = low >> np.uint64(1) ^ back
        else:
            back = (high >> np.uint64(63)) * np.uint64(0x87)
            high = high << np.uint64(1) | low >> np.uint64(63)
            low = low << np.uint64(1) ^ back
        mask[each], mask[BLOCKS + each] = low, high
        place += 1
    half = np.uint64(32)
    if gb:
        for each in range(at + 32, at + count):
            low, high = mask[each - 32], mask[BLOCKS + each - 32]
            back = high << half
            back ^= back >> np.uint64(1) ^ back >> np.uint64(2) ^ back >> np.uint64(7)
            mask[each] = low >> half ^ back
            mask[BLOCKS + each] = high >> half | low << half
    else:
        for each in range(at + 32, at + count):
            low, high = mask[each - 32], mask[BLOCKS + each - 32]
            back = high >> half
            back ^= back << np.uint64(1) ^ back << np.uint64(2) ^ back << np.uint64(7)
            mask[each] = low << half ^ back
            mask[BLOCKS + each] = high << half | low >> half


@part
def swap_all(mask):
    """Reverse the bytes of all words."""
    for at in range(WORDS):
        mask[at] = swap_bytes(mask[at])


@indexed_from_zero
@inner
def mask_of(mask, tweaks, table, kind, per_unit, block, count):
    """Write the masks of `count` blocks from number `block` on."""
    unit, place = block // per_unit, block % per_unit
    at = 0
    if kind == XTS_GB:
        swap_all(mask)
    while at < count:
        several = min(count - at, per_unit - place)
        if kind == TABLE:
            first, second = tweaks[2 * unit], tweaks[2 * unit + 1]
            for each in range(several):
                mask[at + each] = first ^ table[place + each]
                mask[BLOCKS + at + each] = second ^ table[per_unit + place + each]
        else:
            xts_masks(mask, at, several, tweaks, unit, place, kind == XTS_GB)
        at += several
        unit += 1
        place = 0
    if kind == XTS_GB:
        swap_all(mask)


@indexed_from_zero
@kernel
def add_masks(data, result, tweaks, table, kind, per_unit, skip):
    """Write `data`, words of whole blocks, with the masks of `kind` added, to `result`.

    The other arguments are those of `kernels_sm4.run`.
    """
    mask = np.zeros(WORDS, np.uint64)
    for start in range(0, len(data), WORDS):
        count = min(WORDS, len(data) - start) // 2
        mask_of(mask, tweaks, table, kind, per_unit, skip + start // 2, count)
        for block in range(count):
            result[start + 2 * block] = data[start + 2 * block] ^ mask[block]
            result[start + 2 * block + 1] = data[start + 2 * block + 1] ^ mask[BLOCKS + block]


def warm() -> None:
    """Compile it, by masking a block."""
    words = np.zeros(2, np.uint64)
    constant = words.copy()
    constant.flags.writeable = False
    add_masks(constant, words, constant, constant, TABLE, 1, 0)
