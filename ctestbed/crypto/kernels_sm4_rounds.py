"""The inside of SM4 on 1,024 blocks at once, a bit of each in a plane: rounds and transposition.

Bit i of every block lies in one plane of 16 words of 64 bits, so a round is Boolean arithmetic over
planes and nothing is looked up: fast, and in constant time. Distances and steps are in constants
and counted in words of `planes`: that is what compilers turn into vector code.

Block r * 16 + l of a batch is bit r of lane l. A block is read as two little-endian words, of
which bit i of big-endian word w lies at 32 * w + (i ^ 24): where bits lie is a permutation of
planes, which costs nothing.
"""

import numpy as np

from ctestbed.core.jit import inner, kernel, part, prefetch_word

LANES = 16
"""Words of a plane: the fewest that compilers turn into vector code, and no slower than more."""
BLOCKS = 64 * LANES
WORDS = 2 * BLOCKS
"""Words of 64 bits in a batch: in planes and masks, first the first halves of all blocks."""

LINE = 8
"""Words of a cache line."""

M32, M16, M8 = 0x00000000FFFFFFFF, 0x0000FFFF0000FFFF, 0x00FF00FF00FF00FF
M4, M2, M1 = 0x0F0F0F0F0F0F0F0F, 0x3333333333333333, 0x5555555555555555


@part
def exchange(a, b, shift, mask):
    """Return a and b with bits of a outside `mask` exchanged for those of b in it."""
    moved = ((a >> np.uint64(shift)) ^ b) & np.uint64(mask)
    return a ^ (moved << np.uint64(shift)), b ^ moved


@part
def octet(a, b, c, d, e, f, g, h, far, far_mask, middle, middle_mask, near, near_mask):
    """Make three of the six steps that transpose 64 rows of 64 bits, for eight of the rows."""
    a, e = exchange(a, e, far, far_mask)
    b, f = exchange(b, f, far, far_mask)
    c, g = exchange(c, g, far, far_mask)
    d, h = exchange(d, h, far, far_mask)
    a, c = exchange(a, c, middle, middle_mask)
    b, d = exchange(b, d, middle, middle_mask)
    e, g = exchange(e, g, middle, middle_mask)
    f, h = exchange(f, h, middle, middle_mask)
    a, b = exchange(a, b, near, near_mask)
    c, d = exchange(c, d, near, near_mask)
    e, f = exchange(e, f, near, near_mask)
    g, h = exchange(g, h, near, near_mask)
    return a, b, c, d, e, f, g, h


@inner
def transpose(planes):
    """Turn 64 rows of 64 bits into 64 planes, in both halves of a batch; its own inverse."""
    for row in range(16):
        for lane in range(LANES):
            at = (row // 8 * 64 + row % 8) * LANES + lane
            a, b, c, d, e, f, g, h = octet(
                planes[at], planes[at + 128], planes[at + 256], planes[at + 384],
                planes[at + 512], planes[at + 640], planes[at + 768], planes[at + 896],
                32, M32, 16, M16, 8, M8,
            )  # fmt: skip
            planes[at], planes[at + 128], planes[at + 256], planes[at + 384] = a, b, c, d
            planes[at + 512], planes[at + 640], planes[at + 768], planes[at + 896] = e, f, g, h
    for eight in range(16):
        for lane in range(LANES):
            at = eight * 8 * LANES + lane
            a, b, c, d, e, f, g, h = octet(
                planes[at], planes[at + 16], planes[at + 32], planes[at + 48],
                planes[at + 64], planes[at + 80], planes[at + 96], planes[at + 112],
                4, M4, 2, M2, 1, M1,
            )  # fmt: skip
            planes[at], planes[at + 16], planes[at + 32], planes[at + 48] = a, b, c, d
            planes[at + 64], planes[at + 80], planes[at + 96], planes[at + 112] = e, f, g, h


# The S-box is affine, inverse, affine: around the 63-gate inversion in Boyar and Peralta's AES
# S-box (m) lie linear layers solved for SM4's field and matrices (a and b). 34 AND and 83 XOR; its
# additive constants are left out and lie in the round keys: see `kernels_sm4.IN` and `OUT`.
@part
def s_box(x0, x1, x2, x3, x4, x5, x6, x7):
    """Return the bits of S(x ^ 75) ^ D3 from those of x, lowest first."""
    a0 = x3 ^ x5
    a1 = x4 ^ x7
    a2 = x0 ^ a1
    a3 = x0 ^ a0
    a4 = x1 ^ x5
    a5 = x2 ^ x6
    a6 = x2 ^ x4
    a7 = x1 ^ a5
    a8 = x3 ^ a2
    a9 = x7 ^ a0
    a10 = x2 ^ a2
    a11 = x7 ^ a3
    a12 = x6 ^ a0
    a13 = x1 ^ x3
    a14 = a6 ^ a13
    a15 = a3 ^ a5
    a16 = a3 ^ a6
    a17 = x1 ^ a2
    a18 = x0 ^ a4
    a19 = x2 ^ a9
    a20 = a7 ^ a8
    a21 = a1 ^ a4
    a22 = x5 ^ a1
    a23 = a4 ^ a10
    m1 = a5 & a9
    m2 = a7 & a10
    m3 = a19 ^ m1
    m4 = x1 & a16
    m5 = m4 ^ m1
    m6 = a3 & x0
    m7 = a8 & a4
    m8 = a0 ^ m6
    m9 = a22 & a18
    m10 = m9 ^ m6
    m11 = a21 & a14
    m12 = a15 & a11
    m13 = m12 ^ m11
    m14 = a20 & a23
    m15 = m14 ^ m11
    m16 = m3 ^ m2
    m17 = m5 ^ a12
    m18 = m8 ^ m7
    m19 = m10 ^ m15
    m20 = m16 ^ m13
    m21 = m17 ^ m15
    m22 = m18 ^ m13
    m23 = m19 ^ a17
    m24 = m22 ^ m23
    m25 = m22 & m20
    m26 = m21 ^ m25
    m27 = m20 ^ m21
    m28 = m23 ^ m25
    m29 = m28 & m27
    m30 = m26 & m24
    m31 = m20 & m23
    m32 = m27 & m31
    m33 = m27 ^ m25
    m34 = m21 & m22
    m35 = m24 & m34
    m36 = m24 ^ m25
    m37 = m21 ^ m29
    m38 = m32 ^ m33
    m39 = m23 ^ m30
    m40 = m35 ^ m36
    m41 = m38 ^ m40
    m42 = m37 ^ m39
    m43 = m37 ^ m38
    m44 = m39 ^ m40
    m45 = m42 ^ m41
    m46 = m44 & a9
    m47 = m40 & a10
    m48 = m39 & a16
    m49 = m43 & x0
    m50 = m38 & a4
    m51 = m37 & a18
    m52 = m42 & a14
    m53 = m45 & a11
    m54 = m41 & a23
    m55 = m44 & a5
    m56 = m40 & a7
    m57 = m39 & x1
    m58 = m43 & a3
    m59 = m38 & a8
    m60 = m37 & a22
    m61 = m42 & a21
    m62 = m45 & a15
    m63 = m41 & a20
    b0 = m60 ^ m63
    b1 = m55 ^ m58
    b2 = m47 ^ b0
    b3 = m56 ^ b1
    b4 = m46 ^ m50
    b5 = m49 ^ b4
    b6 = m61 ^ b2
    b7 = m59 ^ b3
    b8 = m62 ^ b2
    b9 = m48 ^ m54
    b10 = b3 ^ b8
    b11 = m58 ^ b6
    b12 = m53 ^ b9
    b13 = m59 ^ m62
    b14 = m54 ^ b7
    b15 = m63 ^ b13
    b16 = b0 ^ b13
    b17 = b1 ^ b15
    b18 = m46 ^ m52
    b19 = m49 ^ b14
    b20 = b10 ^ b18
    b21 = b5 ^ b7
    b22 = m51 ^ m52
    b23 = b5 ^ b11
    b24 = b19 ^ b22
    b25 = b5 ^ b10
    b26 = b11 ^ b12
    b27 = m53 ^ b20
    b28 = m57 ^ b17
    b29 = b12 ^ b21
    return b26, b25, b29, b16, b23, b24, b27, b28


@part
def mixed(planes, at, two, three, key):
    """Return a plane's word of X1 ^ X2 ^ X3 ^ round key."""
    return planes[at] ^ planes[at + two] ^ planes[at + three] ^ key


@part
def substitute(planes, one, two, three, keys, turn, result):
    """Write S(X1 ^ X2 ^ X3 ^ round key), 32 planes, to `result`. Words are named by first plane."""
    second, third = (two - one) * LANES, (three - one) * LANES
    for byte in range(4):
        p = byte * 8
        k0, k1, k2, k3 = keys[turn, p], keys[turn, p + 1], keys[turn, p + 2], keys[turn, p + 3]
        k4, k5, k6, k7 = keys[turn, p + 4], keys[turn, p + 5], keys[turn, p + 6], keys[turn, p + 7]
        for lane in range(LANES):
            at, to = (one + p) * LANES + lane, p * LANES + lane
            y0, y1, y2, y3, y4, y5, y6, y7 = s_box(
                mixed(planes, at, second, third, k0),
                mixed(planes, at + LANES, second, third, k1),
                mixed(planes, at + 2 * LANES, second, third, k2),
                mixed(planes, at + 3 * LANES, second, third, k3),
                mixed(planes, at + 4 * LANES, second, third, k4),
                mixed(planes, at + 5 * LANES, second, third, k5),
                mixed(planes, at + 6 * LANES, second, third, k6),
                mixed(planes, at + 7 * LANES, second, third, k7),
            )
            result[to], result[to + LANES] = y0, y1
            result[to + 2 * LANES], result[to + 3 * LANES] = y2, y3
            result[to + 4 * LANES], result[to + 5 * LANES] = y4, y5
            result[to + 6 * LANES], result[to + 7 * LANES] = y6, y7


@part
def add_five(x, to, s, own, over, one, two, three):
    """Add five words of `s` to one of `x`."""
    x[to] ^= s[own] ^ s[over] ^ s[one] ^ s[two] ^ s[three]


@part
def for_bit(x, to, s, own, over, under, beyond, up):
    """Diffuse into bit up / LANES of a byte, from 2 to 7."""
    low = up - 2 * LANES
    add_five(x, to + up, s, own + up, over + up, own + low, under + low, beyond + low)


@part
def diffuse(x, word, s):
    """Add s ^ s<<<2 ^ s<<<10 ^ s<<<18 ^ s<<<24, of 32 planes, to those of a word of `x`.

    Of a byte's bit j: s<<<24 is that bit of the byte over it; the others are bit j - 2 of this byte
    and the two under it, or, of the two lowest bits, bit j + 6 of the three under it.
    """
    for byte in range(4):
        for lane in range(LANES):
            to = (word + byte * 8) * LANES + lane
            a = byte * 8 * LANES + lane
            b = (byte - 1 & 3) * 8 * LANES + lane
            c = (byte + 1 & 3) * 8 * LANES + lane
            d = (byte + 2 & 3) * 8 * LANES + lane
            c6, d6, b6 = c + 6 * LANES, d + 6 * LANES, b + 6 * LANES
            add_five(x, to, s, a, b, c6, d6, b6)
            add_five(x, to + LANES, s, a + LANES, b + LANES, c6 + LANES, d6 + LANES, b6 + LANES)
            for_bit(x, to, s, a, b, c, d, 2 * LANES)
            for_bit(x, to, s, a, b, c, d, 3 * LANES)
            for_bit(x, to, s, a, b, c, d, 4 * LANES)
            for_bit(x, to, s, a, b, c, d, 5 * LANES)
            for_bit(x, to, s, a, b, c, d, 6 * LANES)
            for_bit(x, to, s, a, b, c, d, 7 * LANES)


@kernel
def rounds(planes, keys, work, source, target, ahead):
    """Do the 32 rounds; `work` holds 32 planes.

    Meanwhile, ask for a batch of `source` and of `target` from word `ahead` on: the next one.
    """
    for turn in range(0, 32, 4):
        for line in range(0, WORDS // 8, LINE):
            prefetch_word(source, ahead + turn * (WORDS // 32) + line)
            prefetch_word(target, ahead + turn * (WORDS // 32) + line)
        substitute(planes, 32, 64, 96, keys, turn, work)
        diffuse(planes, 0, work)
        substitute(planes, 64, 96, 0, keys, turn + 1, work)
        diffuse(planes, 32, work)
        substitute(planes, 96, 0, 32, keys, turn + 2, work)
        diffuse(planes, 64, work)
        substitute(planes, 0, 32, 64, keys, turn + 3, work)
        diffuse(planes, 96, work)


def warm() -> None:
    """Compile it, by doing the rounds of nothing."""
    words = np.zeros(WORDS, np.uint64)
    work = np.zeros(32 * LANES, np.uint64)
    constant = words.copy()
    constant.flags.writeable = False
    rounds(words, np.zeros((32, 32), np.uint64), work, constant, words, 0)
