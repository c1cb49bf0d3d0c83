"""AES-XTS (IEEE 1619-2018) on many data units at once: AES-128 and AES-256.

A context of the library for each page costs more than the cipher. With compiled masks, the tweaks
of all units are encrypted in one ECB call and the data in one ECB pass between masks; without
them, each unit gets its context.
"""

from typing import TYPE_CHECKING, Final

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ctestbed.core.errors import InputError
from ctestbed.crypto import bulk, sm4
from ctestbed.crypto.buffers import BLOCK_SIZE, BytesLike, words_of
from ctestbed.crypto.masked_ecb import masked_ecb
from ctestbed.crypto.sm4_xts import require_units

if TYPE_CHECKING:
    from ctestbed.crypto.buffers import Words

KEY_SIZES: Final = (32, 64)
"""A data key and a tweak key of 16 bytes each, or of 32."""

_LEAST: Final = 1 << 15
"""Bytes: from here on, masks are faster than contexts."""


def encrypt_units(key: bytes, tweaks: bytes, data: BytesLike, unit_size: int) -> bytes:
    """Encrypt many data units of `unit_size` bytes (whole blocks), a 16-byte tweak for each.

    The two halves of `key` must differ, as FIPS 140 wants it.
    """
    return _units(key, tweaks, data, unit_size, decrypt=False)


def decrypt_units(key: bytes, tweaks: bytes, data: BytesLike, unit_size: int) -> bytes:
    """Invert `encrypt_units`."""
    return _units(key, tweaks, data, unit_size, decrypt=True)


def _units(key: bytes, tweaks: bytes, data: BytesLike, unit_size: int, *, decrypt: bool) -> bytes:
    if len(key) not in KEY_SIZES:
        raise InputError("CTB-K005", f"an AES-XTS key has 32 or 64 bytes, not {len(key)}")
    half = len(key) // 2
    if key[:half] == key[half:]:
        raise InputError("CTB-K011", "the data key and the tweak key of AES-XTS are the same")
    units = require_units("AES-XTS", data, unit_size)
    sm4.require_length(f"AES-XTS tweaks for {units} data units", tweaks, units * BLOCK_SIZE)
    add_masks = bulk.mask_adder(len(data)) if len(data) >= _LEAST else None
    if add_masks is None:
        return _one_by_one(key, tweaks, data, unit_size, decrypt=decrypt)
    encryptor = Cipher(algorithms.AES(key[half:]), modes.ECB()).encryptor()  # noqa: S305
    per_unit = unit_size // BLOCK_SIZE
    masks = bulk.Masks("XTS_IEEE", words_of(encryptor.update(tweaks)), words_of(b""), per_unit)

    def add(source: "Words", target: "Words", first: int) -> None:
        add_masks(source, target, masks._replace(skip=first))

    return masked_ecb("AES", key[:half], data, add, decrypt=decrypt, unit_size=unit_size)


def _one_by_one(
    key: bytes, tweaks: bytes, data: BytesLike, unit_size: int, *, decrypt: bool
) -> bytes:
    view, parts = memoryview(data), []
    for unit in range(len(data) // unit_size):
        mode = modes.XTS(tweaks[unit * BLOCK_SIZE : (unit + 1) * BLOCK_SIZE])
        engine = Cipher(algorithms.AES(key), mode)
        context = engine.decryptor() if decrypt else engine.encryptor()
        parts.append(context.update(view[unit * unit_size : (unit + 1) * unit_size]))
    return b"".join(parts)
