"""SM4 (GB/T 32907-2016) on 1,024 blocks at once, a bit of each in a plane: the bulk engine.

A batch is 16 KiB. How the bits lie, and the circuit that takes the S-box's place, is told in
`kernels_sm4_rounds`; the circuit's affine constants are folded into the round keys here.
"""

import numpy as np

from ctestbed.core.jit import indexed_from_zero, kernel
from ctestbed.crypto.kernels_masks import CTR, ECB, KINDS, mask_of, swap_bytes
from ctestbed.crypto.kernels_sm4_rounds import BLOCKS, LANES, WORDS, rounds, transpose

__all__ = ["AFTER", "BEFORE", "KINDS", "round_keys", "run", "warm"]

BEFORE, AFTER = 1, 2
"""On which sides of the cipher the masks are added: one of them, or their sum for both."""

S_BOX = np.frombuffer(
    bytes.fromhex(
        "d690e9fecce13db716b614c228fb2c052b679a762abe04c3aa44132649860699"
        "9c4250f491ef987a33540b43edcfac62e4b31ca9c908e89580df94fa758f3fa6"
        "4707a7fcf37317ba83593c19e6854fa8686b81b27164da8bf8eb0f4b70569d35"
        "1e240e5e6358d1a225227c3b01217887d40046579fd327524c3602e7a0c4c89e"
        "eabf8ad240c738b5a3f7f2cef96115a1e0ae5da49b341a55ad933230f58cb1e3"
        "1df6e22e8266ca60c02923ab0d534e6fd5db3745defd8e2f03ff6a726d6c5b51"
        "8d1baf92bbddbc7f11d95c411f105ad80ac13188a5cd7bbd2d74d012b8e5b4b0"
        "8969974a0c96777e65b9f109c56ec68418f07dec3adc4d2079ee5f3ed7cb3948"
    ),
    np.uint8,
)
FAMILY_KEY = (0xA3B1BAC6, 0x56AA3350, 0x677D9197, 0xB27022DC)
IN = 0x75757575
"""S(x) = circuit(x ^ 75) ^ D3, in each byte,"""
OUT = 0x4F4F4F4F
"""and L(D3D3D3D3) is this: each word of the state lacks it after an odd number of its turns."""


@kernel
def round_keys(key, decrypt, planes):
    """Write the 32 round keys of a 16-byte key, a word for each bit, to `planes`: (32, 32).

    A word is all ones where the key's bit is set. For decryption the keys come in reverse.
    """
    words = np.empty(36, np.uint32)
    for i in range(4):
        word = np.uint32(0)
        for byte in range(4):
            word = np.uint32(np.uint32(word << np.uint32(8)) | key[4 * i + byte])
        words[i] = np.uint32(word ^ np.uint32(FAMILY_KEY[i]))
    for turn in range(32):
        constant = np.uint32(0)
        for byte in range(4):
            constant = np.uint32(constant << np.uint32(8)) | np.uint32((4 * turn + byte) * 7 & 255)
        mixed = np.uint32(words[turn + 1] ^ words[turn + 2] ^ words[turn + 3] ^ constant)
        swapped = np.uint32(0)
        for _ in range(4):
            into = np.uint32(S_BOX[mixed >> np.uint32(24)])
            swapped = np.uint32(np.uint32(swapped << np.uint32(8)) | into)
            mixed = np.uint32(mixed << np.uint32(8))
        turned = np.uint32(swapped << np.uint32(13)) | np.uint32(swapped >> np.uint32(19))
        turned ^= np.uint32(swapped << np.uint32(23)) | np.uint32(swapped >> np.uint32(9))
        words[turn + 4] = np.uint32(words[turn] ^ swapped ^ turned)
    for turn in range(32):
        word = np.uint32(words[35 - turn if decrypt else turn + 4] ^ np.uint32(IN))
        odd = 0
        for other in range(1, 4):
            odd ^= (turn - (turn + other) % 4 + 3) // 4 & 1
        if odd:
            word = np.uint32(word ^ np.uint32(OUT))
        for bit in range(32):
            one = np.uint32(word >> np.uint32(bit)) & np.uint32(1)
            planes[turn, bit ^ 24] = np.uint64(0) - np.uint64(one)


@indexed_from_zero
@kernel
def load(data, start, mask, planes):
    """Take a batch's words, `mask` added, apart into planes."""
    for block in range(BLOCKS):
        planes[block] = data[start + 2 * block] ^ mask[block]
        planes[BLOCKS + block] = data[start + 2 * block + 1] ^ mask[BLOCKS + block]
    transpose(planes)


@indexed_from_zero
@kernel
def store(planes, mask, result, start):
    """Put the planes together again, their four words in reverse, and add `mask`."""
    transpose(planes)
    turn = np.uint64(32)
    for block in range(BLOCKS):
        high, low = planes[block], planes[BLOCKS + block]
        result[start + 2 * block] = mask[block] ^ (low << turn | low >> turn)
        result[start + 2 * block + 1] = mask[BLOCKS + block] ^ (high << turn | high >> turn)


@indexed_from_zero
@kernel
def run(data, result, keys, tweaks, table, kind, per_unit, skip, sides):
    """Encrypt `data`, words of whole blocks, to `result`, by the round keys of `round_keys`.

    `tweaks` has two words for each unit of `per_unit` blocks. `table` (kind TABLE) has the first
    words of all places in a unit, then the second ones; there, data may begin `skip` blocks into
    the first unit. For CTR the first tweak is the first counter: two numbers, the high one first.
    """
    planes = np.empty(WORDS, np.uint64)
    work = np.empty(32 * LANES, np.uint64)
    mask = np.zeros(WORDS, np.uint64)
    nothing = np.zeros(WORDS, np.uint64)
    spare = np.zeros(WORDS, np.uint64)
    low, high = np.uint64(0), np.uint64(0)
    if kind == CTR:
        high, low = tweaks[0], tweaks[1]
    for start in range(0, len(data), WORDS):
        count = min(WORDS, len(data) - start)
        source, first, target, to = data, start, result, start
        if count < WORDS:
            for at in range(count):
                spare[at] = data[start + at]
            source, first, target, to = spare, 0, spare, 0
        if kind == CTR:
            for block in range(BLOCKS):
                planes[block], planes[BLOCKS + block] = swap_bytes(high), swap_bytes(low)
                low += np.uint64(1)
                if low == 0:
                    high += np.uint64(1)
                mask[block] = source[first + 2 * block]
                mask[BLOCKS + block] = source[first + 2 * block + 1]
            transpose(planes)
        else:
            if kind != ECB:
                mask_of(mask, tweaks, table, kind, per_unit, skip + start // 2, count // 2)
            load(source, first, mask if sides & BEFORE else nothing, planes)
        rounds(planes, keys, work, data, result, start + WORDS)
        store(planes, mask if sides & AFTER else nothing, target, to)
        if count < WORDS:
            for at in range(count):
                result[start + at] = spare[at]


def warm() -> None:
    """Compile it, by encrypting a block."""
    key = np.zeros(16, np.uint8)
    words = np.zeros(2, np.uint64)
    constant = words.copy()
    for each in (key, constant):
        each.flags.writeable = False
    keys = np.empty((32, 32), np.uint64)
    round_keys(key, False, keys)
    run(constant, words, keys, constant, constant, ECB, 1, 0, BEFORE + AFTER)
