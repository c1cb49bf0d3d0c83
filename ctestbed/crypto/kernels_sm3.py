"""SM3 (GB/T 32905-2016) of many equally long messages at once, one in each lane.

Words of the schedule and of the state lie lane by lane, so that inner loops become vector code.
Every sum and shift is put back into 32 bits by hand, as numba computes them in 64.
"""

import numpy as np

from ctestbed.core.jit import indexed_from_zero, kernel, part

LANES = 32
"""Messages at a time: fewer do not become vector code, more leave the nearest cache."""

START = np.array(
    [
        0x7380166F, 0x4914B2B9, 0x172442D7, 0xDA8A0600,
        0xA96F30BC, 0x163138AA, 0xE38DEE4D, 0xB0FB0E4E,
    ],
    np.uint32,
)  # fmt: skip
WORDS = 16
"""Words of a block."""
EARLY, LATE, CHANGE = 0x79CC4519, 0x7A879D8A, 16
"""The constants of the rounds below 16 and of the others."""


@part
def turned(word, bits):
    """Return a word of 32 bits rotated left by 1 to 31."""
    return np.uint32(word << np.uint32(bits)) | np.uint32(word >> np.uint32(32 - bits))


@part
def one_round(a, b, c, d, e, f, g, h, word, later, constant, early):
    """Return what b, d, f and h become; after a round they are called c, a, g and e."""
    twelve = turned(a, 12)
    first = turned(np.uint32(np.uint32(twelve + e) + constant), 7)
    if early:
        left = np.uint32(a ^ b ^ c)
        right = np.uint32(e ^ f ^ g)
    else:
        left = np.uint32((a & b) | (a & c) | (b & c))
        right = np.uint32((e & f) | (~e & g))
    mixed = np.uint32(np.uint32(first ^ twelve) + np.uint32(word ^ later))
    left = np.uint32(np.uint32(left + d) + mixed)
    right = np.uint32(np.uint32(right + h) + np.uint32(first + word))
    return (
        turned(b, 9),
        left,
        turned(f, 19),
        np.uint32(right ^ turned(right, 9) ^ turned(right, 17)),
    )


@part
def four_rounds(state, words, constants, turn, early):
    """Do rounds `turn` to `turn` + 3 in all lanes."""
    t0, t1, t2, t3 = constants[turn], constants[turn + 1], constants[turn + 2], constants[turn + 3]
    at = turn * LANES
    for lane in range(LANES):
        a, b, c, d = state[lane], state[32 + lane], state[64 + lane], state[96 + lane]
        e, f, g, h = state[128 + lane], state[160 + lane], state[192 + lane], state[224 + lane]
        w0, w1, w2, w3 = (
            words[at + lane], words[at + 32 + lane], words[at + 64 + lane], words[at + 96 + lane],
        )  # fmt: skip
        w4, w5, w6, w7 = (
            words[at + 128 + lane], words[at + 160 + lane],
            words[at + 192 + lane], words[at + 224 + lane],
        )  # fmt: skip
        b, d, f, h = one_round(a, b, c, d, e, f, g, h, w0, w4, t0, early)
        a, c, e, g = one_round(d, a, b, c, h, e, f, g, w1, w5, t1, early)
        d, b, h, f = one_round(c, d, a, b, g, h, e, f, w2, w6, t2, early)
        c, a, g, e = one_round(b, c, d, a, f, g, h, e, w3, w7, t3, early)
        state[lane], state[32 + lane], state[64 + lane], state[96 + lane] = a, b, c, d
        state[128 + lane], state[160 + lane], state[192 + lane], state[224 + lane] = e, f, g, h


@indexed_from_zero
@kernel
def compress(state, words, constants):
    """Add a block to the state: (8 * LANES); `words` has its 16, and room for 68 (* LANES)."""
    for turn in range(16, 68):
        for lane in range(LANES):
            here = turn * LANES + lane
            mixed = np.uint32(words[here - 16 * LANES] ^ words[here - 9 * LANES])
            mixed = np.uint32(mixed ^ turned(words[here - 3 * LANES], 15))
            mixed = np.uint32(mixed ^ turned(mixed, 15) ^ turned(mixed, 23))
            late = turned(words[here - 13 * LANES], 7)
            words[here] = np.uint32(mixed ^ late ^ words[here - 6 * LANES])
    before = np.empty(8 * LANES, np.uint32)
    for at in range(8 * LANES):
        before[at] = state[at]
    for turn in range(0, CHANGE, 4):
        four_rounds(state, words, constants, turn, True)
    for turn in range(CHANGE, 64, 4):
        four_rounds(state, words, constants, turn, False)
    for at in range(8 * LANES):
        state[at] ^= before[at]


@kernel
def round_constants():
    """Return the 64 constants, each rotated as its round wants it."""
    constants = np.empty(64, np.uint32)
    for turn in range(64):
        constant = np.uint32(EARLY) if turn < CHANGE else np.uint32(LATE)
        bits = np.uint32(turn % 32)
        if bits == 0:
            constants[turn] = constant
        else:
            constants[turn] = np.uint32(constant << bits) | np.uint32(
                constant >> np.uint32(np.uint32(32) - bits)
            )
    return constants


@indexed_from_zero
@kernel
def digest_all(data, count, size, digests):
    """Write the digests of `count` messages of `size` whole words of 32 bits to `digests`.

    `data` holds them one behind the other as the machine reads its bytes; so do `digests`, eight
    words each.
    """
    constants = round_constants()
    words = np.empty(68 * LANES, np.uint32)
    state = np.empty(8 * LANES, np.uint32)
    blocks = (size + 2 + WORDS) // WORDS
    for first in range(0, count, LANES):
        lanes = min(LANES, count - first)
        for at in range(8 * LANES):
            state[at] = START[at // LANES]
        for block in range(blocks):
            whole = size - block * WORDS >= WORDS
            for lane in range(LANES):
                # Lanes that are left over digest the last message again.
                begin = (first + min(lane, lanes - 1)) * size + block * WORDS
                for each in range(WORDS):
                    place = block * WORDS + each
                    if whole or place < size:
                        word = data[begin + each]
                        word = np.uint32(word >> np.uint32(16)) | np.uint32(word << np.uint32(16))
                        word = np.uint32(
                            (word >> np.uint32(8)) & np.uint32(0x00FF00FF)
                        ) | np.uint32((word & np.uint32(0x00FF00FF)) << np.uint32(8))
                    elif place == size:
                        word = np.uint32(0x80000000)
                    elif place == blocks * WORDS - 1:
                        word = np.uint32(size * 32)
                    elif place == blocks * WORDS - 2:
                        word = np.uint32(size * 32 >> 32)
                    else:
                        word = np.uint32(0)
                    words[each * LANES + lane] = word
            compress(state, words, constants)
        for lane in range(lanes):
            for each in range(8):
                word = state[each * LANES + lane]
                word = np.uint32(word >> np.uint32(16)) | np.uint32(word << np.uint32(16))
                digests[(first + lane) * 8 + each] = np.uint32(
                    (word >> np.uint32(8)) & np.uint32(0x00FF00FF)
                ) | np.uint32((word & np.uint32(0x00FF00FF)) << np.uint32(8))


def warm() -> None:
    """Compile it, by digesting a word."""
    word = np.zeros(1, np.uint32)
    word.flags.writeable = False
    digest_all(word, 1, 1, np.zeros(8, np.uint32))
