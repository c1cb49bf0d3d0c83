"""A library's block cipher between masks: one ECB pass over any number of data units."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ctestbed.crypto.buffers import BLOCK_SIZE, BytesLike, fresh_bytes, words_of

if TYPE_CHECKING:
    from ctestbed.crypto.buffers import Words

CipherName: TypeAlias = Literal["SM4", "AES"]

_BATCH: Final = 1 << 18
"""Bytes at a time, if units are no larger: what lies between the steps stays in the cache."""


def masked_ecb(
    cipher: CipherName,
    key: bytes,
    data: BytesLike,
    add: "Callable[[Words, Words, int], None]",
    *,
    decrypt: bool,
    before: bool = True,
    after: bool = True,
    unit_size: int = BLOCK_SIZE,
) -> bytes:
    """Return the ciphertext, or plaintext, of whole blocks with masks added on the sides named.

    `add(source, target, first)` writes words with the masks of the blocks from number `first` on
    added to `target`. It is called with whole units of `unit_size` bytes.
    """
    import numpy as np

    algorithm = algorithms.SM4(key) if cipher == "SM4" else algorithms.AES(key)
    engine = Cipher(algorithm, modes.ECB())  # noqa: S305 - what makes it a mode are the masks
    context = engine.decryptor() if decrypt else engine.encryptor()
    result, view = fresh_bytes(len(data))
    words, target = words_of(data), np.frombuffer(view, np.uint64)
    batch = max(1, _BATCH // unit_size) * unit_size
    size = min(batch, len(data))
    masked = np.empty(size // 8, np.uint64)
    done = np.empty(size // 8 + 2, np.uint64)  # the library wants a block more
    for start in range(0, len(data), batch):
        part = slice(start // 8, min(start + batch, len(data)) // 8)
        source, first = words[part], start // BLOCK_SIZE
        if before:
            add(source, masked[: len(source)], first)
            source = masked[: len(source)]
        context.update_into(source.data.cast("B"), done.data.cast("B"))
        if after:
            add(done[: len(source)], target[part], first)
        else:
            target[part] = done[: len(source)]
    return result
