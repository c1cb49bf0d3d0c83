"""MRTD, the launch measurement of TDX: one running SHA-384 over page additions and contents.

TDH.MEM.PAGE.ADD gives 128 bytes with the page's guest address, TDH.MR.EXTEND 128 bytes and 256
of content for each chunk (Intel's TDX module specification). VMMs extend each page right after
adding it, or all pages after adding all: two measurements, both right.
"""

from hashlib import sha384
from typing import Final

import numpy as np

from ctestbed.crypto.sm4 import BytesLike
from ctestbed.tee.controller.replies import PAGE_SIZE

RECORD: Final = 128
CHUNK: Final = 256
_CHUNKS: Final = PAGE_SIZE // CHUNK
_PAGE: Final = RECORD + _CHUNKS * (RECORD + CHUNK)
_ADDRESS: Final = slice(16, 24)


class Mrtd:
    """The measurement as the TDX module keeps it."""

    def __init__(self) -> None:
        """Start."""
        self._hash = sha384()

    def add_page(self, address: int) -> None:
        """Take an addition: TDH.MEM.PAGE.ADD."""
        self._hash.update(_record(b"MEM.PAGE.ADD", address))

    def extend(self, address: int, chunk: BytesLike) -> None:
        """Take 256 bytes of content: TDH.MR.EXTEND."""
        self._hash.update(_record(b"MR.EXTEND", address) + bytes(chunk))

    def add_and_extend(self, address: int, data: BytesLike) -> None:
        """Take whole pages, each added and then extended chunk by chunk, in one go."""
        content = np.frombuffer(data, np.uint8).reshape(-1, _CHUNKS, CHUNK)
        buffer = np.zeros((len(content), _PAGE), np.uint8)
        pages = address + PAGE_SIZE * np.arange(len(content), dtype="<u8")
        buffer[:, :RECORD] = np.frombuffer(_record(b"MEM.PAGE.ADD", 0), np.uint8)
        buffer[:, _ADDRESS] = pages.view(np.uint8).reshape(-1, 8)
        chunks = buffer[:, RECORD:].reshape(len(content), _CHUNKS, RECORD + CHUNK)
        chunks[:, :, :RECORD] = np.frombuffer(_record(b"MR.EXTEND", 0), np.uint8)
        places = pages[:, None] + CHUNK * np.arange(_CHUNKS, dtype="<u8")
        chunks[:, :, _ADDRESS] = places.view(np.uint8).reshape(len(content), _CHUNKS, 8)
        chunks[:, :, RECORD:] = content
        self._hash.update(buffer.data)

    @property
    def value(self) -> bytes:
        """The measurement so far: 48 bytes."""
        return self._hash.digest()


def _record(name: bytes, address: int) -> bytes:
    return (name.ljust(16, b"\0") + address.to_bytes(8, "little")).ljust(RECORD, b"\0")
