"""The one door to the compiled ciphers: the bit-sliced SM4 and the laned SM3.

Every function here returns the result, or None where the library is to do the work: the bytes are
the same either way. Compiled code comes with numba, which takes longer to load than a small job
takes in all. So it is loaded once the requests of this process would have saved the time that
loading takes, and used from then on for requests that do not waste most of a batch. Where numba
does not work, or gives another result than the standard's example, the library does all.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from ctestbed.crypto.buffers import BytesLike, fresh_bytes, words_of

if TYPE_CHECKING:
    from ctestbed.crypto.buffers import Words

# Measured in CPU seconds on one core of Zen 5; half or twice as much does not matter here.
_LOADING: Final = 0.12
_LOADING_NUMBA: Final = 0.4
_COMPILING: Final = 8.0
_SAVED_BY_SM4: Final = 5.5e-9
"""For each byte. XTS saves 10, and asks twice where it has no kernels."""
_SAVED_BY_SM3: Final = 1.9e-9
_SAVED_BY_MASKS: Final = 0.5e-9

_LEAST_SM4: Final = 2048
"""Bytes: as long in a batch of 16 KiB as in the library."""
_LEAST_MESSAGES: Final = 8
"""Of the 32 that SM3 takes at a time: fewer are faster one by one."""
_WORD: Final = 4
_DIGEST_SIZE: Final = 32


class _Compiled:
    """A file of kernels: not needed yet, loaded, or out of reach."""

    def __init__(self, module: str, kernel: str, example: Callable[[Any], bool]) -> None:
        """Remember what to load, the kernel it is for, and how to try it."""
        self._module, self._kernel, self._example = module, kernel, example
        self._kernels: Any = None
        self._tried = False
        self._saved = 0.0
        self._lock = Lock()

    def for_saving(self, seconds: float) -> Any:
        """Return the kernels, or None, for a request that they do `seconds` faster."""
        if not self._tried:
            self._saved += seconds
            if self._saved > _LOADING and self._saved > self._cost:
                return self.load()
        return self._kernels

    def load(self) -> Any:
        """Return the kernels, loaded and tried, or None if they do not work."""
        with self._lock:
            if not self._tried:
                self._kernels = self._working()
                self._tried = True
        return self._kernels

    def _working(self) -> Any:
        try:
            kernels: Any = import_module(f"{__package__}.{self._module}")
            # Without its compiler, numba runs kernels as Python: far slower than the library.
            compiled = hasattr(getattr(kernels, self._kernel), "signatures")
            return kernels if compiled and self._example(kernels) else None
        except Exception:  # noqa: BLE001 - whatever ails numba, the library works
            return None

    def switch_off(self) -> None:
        """Do without the kernels, loaded or not."""
        self._kernels, self._tried = None, True

    @cached_property
    def _cost(self) -> float:
        """The seconds that loading takes."""
        from ctestbed.core.kernel_cache import is_compiled

        compiling = 0.0 if is_compiled(self._module, self._kernel) else _COMPILING
        return compiling + (_LOADING if "numba" in sys.modules else _LOADING_NUMBA)


class Masks(NamedTuple):
    """What is added to blocks before and after the cipher: see `kernels_sm4.run`.

    All words are read-only rows, as `words_of` and `freeze` make them.
    """

    kind: Literal["ECB", "XTS_IEEE", "XTS_GB", "TABLE", "CTR"]
    tweaks: "Words"
    table: "Words"
    per_unit: int = 1
    skip: int = 0


def prepare() -> bool:
    """Load the compiled ciphers now, as for a measurement; tell whether all work."""
    return None not in (_SM4.load(), _SM3.load(), _MASKS.load())


@contextmanager
def library_only() -> Iterator[None]:
    """Let the library do all meanwhile, in every thread: to compare with."""
    engines = (_SM4, _SM3, _MASKS)
    before = [engine.__dict__.copy() for engine in engines]
    for engine in engines:
        engine.switch_off()
    try:
        yield
    finally:
        for engine, state in zip(engines, before, strict=True):
            engine.__dict__.update(state)


def ecb(key: bytes, data: BytesLike, *, decrypt: bool) -> bytes | None:
    """SM4 on whole blocks, each by itself."""
    if len(data) < _LEAST_SM4 or (kernels := _sm4(len(data))) is None:
        return None
    none = words_of(b"")
    return _run(kernels, key, data, Masks("ECB", none, none), decrypt=decrypt)


def ctr(key: bytes, counter: bytes, data: BytesLike) -> bytes | None:
    """SM4-CTR on whole blocks."""
    if len(data) < _LEAST_SM4 or (kernels := _sm4(len(data))) is None:
        return None
    first = words_of(counter).byteswap()
    first.flags.writeable = False
    return _run(kernels, key, data, Masks("CTR", first, words_of(b"")))


def masked_sm4(
    key: bytes,
    data: BytesLike,
    masks: Masks,
    *,
    decrypt: bool,
    before: bool = True,
    after: bool = True,
) -> bytes | None:
    """SM4 on whole blocks with masks added on one side or both."""
    if len(data) < _LEAST_SM4 or (kernels := _sm4(len(data))) is None:
        return None
    return _run(kernels, key, data, masks, decrypt=decrypt, before=before, after=after)


def mask_adder(size: int) -> "Callable[[Words, Words, Masks], None] | None":
    """Return what writes words with masks added to others, for a request of `size` bytes."""
    if (kernels := _MASKS.for_saving(size * _SAVED_BY_MASKS)) is None:
        return None

    def add(source: "Words", target: "Words", masks: Masks) -> None:
        kind = kernels.KINDS[masks.kind]
        constant = source.view()
        constant.flags.writeable = False
        kernels.add_masks(
            constant, target, masks.tweaks, masks.table, kind, masks.per_unit, masks.skip
        )

    return add


def sm3_digests(data: BytesLike, size: int) -> bytes | None:
    """SM3 of every `size` bytes of `data`, one behind the other."""
    import numpy as np

    count = len(data) // size
    if size % _WORD or count < _LEAST_MESSAGES:
        return None
    if (kernels := _SM3.for_saving(len(data) * _SAVED_BY_SM3)) is None:
        return None
    words = np.frombuffer(data, np.uint32)
    return _digest(kernels, words if words.flags.aligned else words.copy(), count)


def _digest(kernels: Any, words: Any, count: int) -> bytes:
    import numpy as np

    words.flags.writeable = False
    digests = np.empty(count * _DIGEST_SIZE // _WORD, np.uint32)
    kernels.digest_all(words, count, len(words) // count, digests)
    return digests.tobytes()


def _sm4(size: int) -> Any:
    return _SM4.for_saving(size * _SAVED_BY_SM4)


def _run(
    kernels: Any,
    key: bytes,
    data: BytesLike,
    masks: Masks,
    *,
    decrypt: bool = False,
    before: bool = True,
    after: bool = True,
) -> bytes:
    import numpy as np

    result, view = fresh_bytes(len(data))
    keys = np.empty((32, 32), np.uint64)
    kernels.round_keys(np.frombuffer(key, np.uint8), decrypt, keys)
    kind = kernels.KINDS[masks.kind]
    sides = kernels.BEFORE * before + kernels.AFTER * after
    kernels.run(
        words_of(data),
        np.frombuffer(view, np.uint64),
        keys,
        masks.tweaks,
        masks.table,
        kind,
        masks.per_unit,
        masks.skip,
        sides,
    )
    return result


def _encrypts_example(kernels: Any) -> bool:
    """GB/T 32907-2016 A.1."""
    example = bytes.fromhex("0123456789abcdeffedcba9876543210")
    none = words_of(b"")
    result = _run(kernels, example, example, Masks("ECB", none, none))
    return result == bytes.fromhex("681edf34d206965e86b3e94f536e4246")


def _digests_example(kernels: Any) -> bool:
    """GB/T 32905-2016 A.2."""
    import numpy as np

    digest = _digest(kernels, np.frombuffer(b"abcd" * 16, np.uint32), 1)
    return digest == bytes.fromhex(
        "debe9ff92275b8a138604889c18e5a4d6fdb70e5387e5765293dcba39c0c5732"
    )


def _doubles(kernels: Any) -> bool:
    """A tweak whose highest bit is set, doubled: IEEE 1619-2018 section 5.2."""
    import numpy as np

    tweak = words_of(bytes(15) + b"\x80")
    masks = np.empty(4, np.uint64)
    kernels.add_masks(words_of(bytes(32)), masks, tweak, tweak, kernels.XTS_IEEE, 2, 0)
    return masks.tobytes() == bytes(15) + b"\x80\x87" + bytes(15)


_SM4: Final = _Compiled("kernels_sm4", "run", _encrypts_example)
_SM3: Final = _Compiled("kernels_sm3", "digest_all", _digests_example)
_MASKS: Final = _Compiled("kernels_masks", "add_masks", _doubles)
