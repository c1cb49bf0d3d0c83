"""Memory encryption engines: a cipher, and a tweak made from the physical address.

An engine works on whole pages. A number per line and write can join the tweak of any of them
(`freshen`), so that equal plaintext at one address no longer gives equal ciphertext.
"""

from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from ctestbed.crypto import address_tweak, aes_xts, sm4, sm4_xts
from ctestbed.crypto.address_tweak import AddressTweak
from ctestbed.crypto.sm3 import sm3
from ctestbed.crypto.sm4 import BytesLike
from ctestbed.tee.controller.replies import LINE_SIZE, PAGE_SIZE

CipherName: TypeAlias = Literal["SM4", "AES"]
ADDRESS_BITS: Final = 44
"""Address bits 4 to 47: those that an address tweak has a constant for."""
TWEAK_SEED_SIZE: Final = 16 * ADDRESS_BITS


class Engine(Protocol):
    """What the controller asks of an engine. A key has `key_size` bytes."""

    @property
    def key_size(self) -> int:
        """How long a key is."""
        ...

    def encrypt(self, key: bytes, address: int, data: BytesLike) -> bytes:
        """Encrypt whole pages that lie at `address`."""
        ...

    def decrypt(self, key: bytes, address: int, data: BytesLike) -> bytes:
        """Invert `encrypt`."""
        ...


@dataclass(frozen=True, slots=True)
class NoCipher:
    """Memory in clear."""

    key_size: int = 0

    def encrypt(self, key: bytes, address: int, data: BytesLike) -> bytes:  # noqa: ARG002
        """Return the data."""
        return bytes(data)

    def decrypt(self, key: bytes, address: int, data: BytesLike) -> bytes:  # noqa: ARG002
        """Return the data."""
        return bytes(data)


@dataclass(frozen=True, slots=True)
class XTSByPage:
    """XTS with a page as data unit and its physical address as tweak, 16 bytes little endian.

    `key_size` is both halves: 32, or 64 for AES-256.
    """

    cipher: CipherName
    key_size: int = 32
    standard: sm4_xts.Standard = "gb"

    def encrypt(self, key: bytes, address: int, data: BytesLike) -> bytes:
        """Encrypt whole pages."""
        tweaks = _page_tweaks(address, len(data))
        if self.cipher == "SM4":
            return sm4_xts.encrypt_units(key, tweaks, data, PAGE_SIZE, self.standard)
        return aes_xts.encrypt_units(key, tweaks, data, PAGE_SIZE)

    def decrypt(self, key: bytes, address: int, data: BytesLike) -> bytes:
        """Invert `encrypt`."""
        tweaks = _page_tweaks(address, len(data))
        if self.cipher == "SM4":
            return sm4_xts.decrypt_units(key, tweaks, data, PAGE_SIZE, self.standard)
        return aes_xts.decrypt_units(key, tweaks, data, PAGE_SIZE)


@dataclass(frozen=True, slots=True)
class ByAddress:
    """XE or XEX with the XOR of a constant per set address bit as tweak.

    The constants belong to the machine and not to a key: whoever solves them once knows them
    for every guest.
    """

    cipher: CipherName
    form: address_tweak.Form
    tweak: AddressTweak = field(repr=False)
    key_size: int = 16

    def encrypt(self, key: bytes, address: int, data: BytesLike) -> bytes:
        """Encrypt whole blocks."""
        return address_tweak.encrypt(self.cipher, key, self.tweak, address, data, self.form)

    def decrypt(self, key: bytes, address: int, data: BytesLike) -> bytes:
        """Invert `encrypt`."""
        return address_tweak.decrypt(self.cipher, key, self.tweak, address, data, self.form)


def freshen(key: bytes, address: int, data: BytesLike, counters: NDArray[np.uint64]) -> bytes:
    """Mask both sides of an engine with E(counter, line), so that this joins its tweak.

    An engine E(P ^ T) ^ T takes T ^ M for its tweak where M is XORed before and after.
    """
    blocks = line_blocks(address, counters).data.cast("B")
    mask = aes_blocks(sm3(b"freshness" + key)[: sm4.BLOCK_SIZE], blocks)
    words = np.frombuffer(data, np.uint64).reshape(-1, LINE_SIZE // sm4.BLOCK_SIZE, 2)
    return (words ^ mask[:, None, :]).tobytes()


def tweak_of(seed: bytes) -> AddressTweak:
    """Make a machine's tweak constants from `TWEAK_SEED_SIZE` bytes."""
    return AddressTweak(seed[:TWEAK_SEED_SIZE])


def aes_blocks(key: bytes, blocks: BytesLike) -> NDArray[np.uint64]:
    """Encrypt whole blocks under AES, each by itself, and return them as pairs of words."""
    engine = Cipher(algorithms.AES(key), modes.ECB())  # noqa: S305
    return np.frombuffer(engine.encryptor().update(blocks), np.uint64).reshape(-1, 2)


def line_blocks(address: int, counters: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a block per line: its address, and its counter."""
    blocks = np.empty((len(counters), 2), np.uint64)
    blocks[:, 0] = np.arange(address, address + LINE_SIZE * len(counters), LINE_SIZE)
    blocks[:, 1] = counters
    return blocks


def _page_tweaks(address: int, length: int) -> bytes:
    tweaks = np.zeros((length // PAGE_SIZE, 2), np.uint64)
    tweaks[:, 0] = np.arange(address, address + length, PAGE_SIZE)
    return tweaks.tobytes()
