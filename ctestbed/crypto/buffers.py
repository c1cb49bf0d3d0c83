"""Bytes to write results into, and blocks as words of 64 bits."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Words: TypeAlias = NDArray[np.uint64]

BLOCK_SIZE: Final = 16

# Flat: of a memoryview of wider items, the length would not be the number of bytes.
BytesLike: TypeAlias = bytes | bytearray | memoryview

_WRITABLE: Final = 0x200
"""PyBUF_WRITE."""


def fresh_bytes(size: int) -> tuple[bytes, memoryview]:
    """Return new bytes, and a view through which they may be written until others see them.

    For large results: one made elsewhere and then copied costs fresh memory twice, and each time
    that is more than the cipher. Python's C interface allows it for bytes made without content.
    """
    make, place, view = _interface()
    result = make(None, size)
    return result, view(place(result), size, _WRITABLE)


@cache
def _interface() -> "tuple[Callable[..., bytes], Callable[..., int], Callable[..., memoryview]]":
    import ctypes

    python = ctypes.pythonapi
    make, place, view = (
        python.PyBytes_FromStringAndSize,
        python.PyBytes_AsString,
        python.PyMemoryView_FromMemory,
    )
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_char_p, ctypes.c_ssize_t)
    place.restype, place.argtypes = ctypes.c_void_p, (ctypes.py_object,)
    view.restype = ctypes.py_object
    view.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)
    return make, place, view


def words_of(data: BytesLike) -> "Words":
    """Return whole blocks as words: read-only and aligned, which kernels are compiled for."""
    import numpy as np

    words = np.frombuffer(data, np.uint64)
    if not words.flags.aligned:
        words = words.copy()
    words.flags.writeable = False
    return words


def freeze(words: "Words") -> "Words":
    """Return words as one read-only row."""
    row = words.reshape(-1)
    row.flags.writeable = False
    return row
