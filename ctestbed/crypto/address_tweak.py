"""XE and XEX whose tweak is made from the physical address: AMD's first memory engines.

The tweak of a 16-byte block is the XOR of one constant for each set bit of its address (Du et al.,
"SEV is Unsecure", 2017). XE adds it before the cipher, XEX before and after. The constants belong
to a machine: whoever solves them once can move ciphertext anywhere.
"""

from functools import reduce
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ctestbed.core.errors import InputError
from ctestbed.crypto import bulk, sm4
from ctestbed.crypto.buffers import BLOCK_SIZE, BytesLike, freeze
from ctestbed.crypto.masked_ecb import CipherName, masked_ecb
from ctestbed.crypto.sm3 import hkdf_sm3

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ctestbed.crypto.buffers import Words

Form: TypeAlias = Literal["XE", "XEX"]

LOWEST_BIT: Final = 4
"""Of an address, below which lie the bytes of a block."""
ADDRESS_BITS: Final = 48
"""With a constant each: bits 4 to 51."""
_PLACES: Final = 256
"""Blocks of a page: tweaks are those of the page and of the place in it, added."""
_AES_KEYS: Final = (16, 24, 32)


class AddressTweak:
    """The constants of a machine; its repr does not show them."""

    def __init__(self, constants: bytes) -> None:
        """Take 16 bytes for each address bit from bit 4 up, for at most 48 bits."""
        import numpy as np

        count = len(constants) // BLOCK_SIZE
        if len(constants) % BLOCK_SIZE or not 0 < count <= ADDRESS_BITS:
            raise InputError(
                "CTB-K012",
                f"an address tweak takes 1 to {ADDRESS_BITS} constants of {BLOCK_SIZE} bytes, "
                f"not {len(constants)} bytes",
            )
        self.constants: tuple[bytes, ...] = tuple(
            constants[at : at + BLOCK_SIZE] for at in range(0, len(constants), BLOCK_SIZE)
        )
        self.limit: int = 1 << (LOWEST_BIT + count)
        # A table for each byte of a block's number: sums of the constants of the byte's bits.
        padded = np.zeros((ADDRESS_BITS, 2), np.uint64)
        padded[:count] = np.frombuffer(constants, np.uint64).reshape(count, 2)
        self._tables = np.zeros((ADDRESS_BITS // 8, _PLACES, 2), np.uint64)
        for bit in range(8):
            low, high = slice(1 << bit), slice(1 << bit, 2 << bit)
            self._tables[:, high] = self._tables[:, low] ^ padded[bit::8, None]
        self._places = freeze(self._tables[0].T.copy())

    @classmethod
    def derive(cls, key: bytes) -> "AddressTweak":
        """Return the constants that a tweak key of a machine stands for. How is ours."""
        return cls(hkdf_sm3(key, b"address tweak", ADDRESS_BITS * BLOCK_SIZE))

    def of(self, address: int) -> bytes:
        """Return the tweak of the block at `address`."""
        return self.expand(address, 1).tobytes()

    def expand(self, address: int, blocks: int) -> "Words":
        """Return the tweaks of consecutive blocks from `address` on: (blocks, 2)."""
        pages, skip = self._pages(address, blocks)
        tweaks: Words = (pages[:, None] ^ self._tables[0]).reshape(-1, 2)
        return tweaks[skip : skip + blocks]

    def masks(self, address: int, blocks: int) -> bulk.Masks:
        """Return the tweaks of consecutive blocks as bulk ciphers take them."""
        pages, skip = self._pages(address, blocks)
        return bulk.Masks("TABLE", freeze(pages), self._places, _PLACES, skip)

    def _pages(self, address: int, blocks: int) -> "tuple[NDArray[np.uint64], int]":
        """Return the tweaks of the pages touched, and the first block's place in the first."""
        import numpy as np

        if address % BLOCK_SIZE or not 0 <= address <= self.limit - blocks * BLOCK_SIZE:
            raise InputError(
                "CTB-K013",
                f"{blocks * BLOCK_SIZE} bytes at {address:#x} do not lie on whole blocks "
                f"below {self.limit:#x}",
            )
        first, skip = divmod(address // BLOCK_SIZE, _PLACES)
        numbers = np.arange(first, first + -(-(skip + blocks) // _PLACES), dtype=np.uint64)
        rows = numbers.astype("<u8").view(np.uint8).reshape(-1, 8)
        parts = (self._tables[byte + 1, rows[:, byte]] for byte in range(ADDRESS_BITS // 8 - 1))
        return reduce(np.bitwise_xor, parts), skip


def encrypt(
    cipher: CipherName, key: bytes, tweak: AddressTweak, address: int, data: BytesLike, form: Form
) -> bytes:
    """Encrypt whole blocks that lie at `address`, a multiple of 16.

    `key` has 16 bytes, or 24 or 32 for AES.
    """
    return _crypt(cipher, key, tweak, address, data, before=True, after=form == "XEX")


def decrypt(
    cipher: CipherName, key: bytes, tweak: AddressTweak, address: int, data: BytesLike, form: Form
) -> bytes:
    """Invert `encrypt`."""
    return _crypt(
        cipher, key, tweak, address, data, before=form == "XEX", after=True, decrypts=True
    )


def _crypt(
    cipher: CipherName,
    key: bytes,
    tweak: AddressTweak,
    address: int,
    data: BytesLike,
    *,
    before: bool,
    after: bool,
    decrypts: bool = False,
) -> bytes:
    sm4.require_blocks(f"{cipher} by address", data)
    if len(key) not in (_AES_KEYS if cipher == "AES" else _AES_KEYS[:1]):
        raise InputError("CTB-K005", f"{cipher} has no key of {len(key)} bytes")
    masks = tweak.masks(address, len(data) // BLOCK_SIZE)
    if cipher == "SM4":
        done = bulk.masked_sm4(key, data, masks, decrypt=decrypts, before=before, after=after)
        if done is not None:
            return done
    add_masks = bulk.mask_adder(len(data))

    def add(source: "Words", target: "Words", first: int) -> None:
        import numpy as np

        if add_masks is not None:
            add_masks(source, target, masks._replace(skip=masks.skip + first))
        else:
            tweaks = tweak.expand(address + first * BLOCK_SIZE, len(source) // 2)
            np.bitwise_xor(source, tweaks.reshape(-1), out=target)

    return masked_ecb(cipher, key, data, add, decrypt=decrypts, before=before, after=after)
