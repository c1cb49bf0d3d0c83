"""SM4-XTS in its two forms, one data unit or many at a time.

The standards differ in how a tweak is multiplied by alpha from block to block. IEEE 1619 reads
its 16 bytes as a little-endian number and shifts left; GB/T 17964-2021 reads the bits as GCM
does and shifts right. The first block of a data unit is the same in both, later ones are not.

Many whole units are done by a compiled cipher, to the same bytes: see `bulk`.

Equal halves of a key are not refused, as the sample inputs of IEEE 1619 have them; whoever
makes keys draws both halves at random. A data unit holds 16 bytes to 2**20 blocks, the limit
of IEEE 1619-2018 and of OpenSSL.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ctestbed.core.errors import InputError
from ctestbed.crypto import bulk, sm4
from ctestbed.crypto.buffers import BLOCK_SIZE, BytesLike, words_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Words: TypeAlias = NDArray[np.uint64]  # last axis: the two halves of a block

Standard: TypeAlias = Literal["gb", "ieee"]
_ECB: TypeAlias = Callable[[bytes, BytesLike], bytes]

_MAX_UNIT = BLOCK_SIZE << 20
_ORDER = {"gb": ">u8", "ieee": "<u8"}
_KINDS: Final[dict[Standard, Literal["XTS_GB", "XTS_IEEE"]]] = {"gb": "XTS_GB", "ieee": "XTS_IEEE"}
# Bytes of tweaks expanded at a time: they stay in the cache, and memory stays bounded.
_BATCH = 1 << 20


def xts_encrypt(key: bytes, tweak: bytes, data: BytesLike, *, standard: Standard) -> bytes:
    """Encrypt one data unit under a 32-byte `key` (data key, tweak key) and a 16-byte `tweak`.

    A last partial block steals ciphertext, so the result is as long as `data`.
    """
    return _unit(sm4.ecb_encrypt, key, tweak, data, standard)


def xts_decrypt(key: bytes, tweak: bytes, data: BytesLike, *, standard: Standard) -> bytes:
    """Invert `xts_encrypt`."""
    return _unit(sm4.ecb_decrypt, key, tweak, data, standard)


def encrypt_units(
    key: bytes, tweaks: bytes, data: BytesLike, unit_size: int, standard: Standard
) -> bytes:
    """Encrypt many data units of `unit_size` bytes (whole blocks), a 16-byte tweak for each."""
    return _units(sm4.ecb_encrypt, key, tweaks, data, unit_size, standard)


def decrypt_units(
    key: bytes, tweaks: bytes, data: BytesLike, unit_size: int, standard: Standard
) -> bytes:
    """Invert `encrypt_units`."""
    return _units(sm4.ecb_decrypt, key, tweaks, data, unit_size, standard)


def _unit(ecb: _ECB, key: bytes, tweak: bytes, data: BytesLike, standard: Standard) -> bytes:
    import numpy as np

    data_key, tweak_key = _split_key(key)
    sm4.require_length("SM4-XTS tweak", tweak, BLOCK_SIZE)
    _require_unit_size("SM4-XTS", len(data))
    blocks, rest = divmod(len(data), BLOCK_SIZE)
    if not rest:
        return _units(ecb, key, tweak, data, len(data), standard)
    tweaks = _expand(sm4.ecb_encrypt(tweak_key, tweak), blocks + bool(rest), standard)[0]
    if rest and ecb is sm4.ecb_decrypt:  # the last whole block was encrypted after the partial one
        tweaks[-2:] = tweaks[:-3:-1].copy()
    words = np.frombuffer(data, np.uint64, count=2 * blocks).reshape(-1, 2)
    whole = _mask(ecb, data_key, words, tweaks[:blocks]).tobytes()
    if not rest:
        return whole
    last = whole[-BLOCK_SIZE:]
    stolen = np.frombuffer(bytes(data[-rest:]) + last[rest:], np.uint64)
    return whole[:-BLOCK_SIZE] + _mask(ecb, data_key, stolen, tweaks[-1]).tobytes() + last[:rest]


def _units(
    ecb: _ECB, key: bytes, tweaks: bytes, data: BytesLike, unit_size: int, standard: Standard
) -> bytes:
    import numpy as np

    data_key, tweak_key = _split_key(key)
    units = require_units("SM4-XTS", data, unit_size)
    sm4.require_length(f"SM4-XTS tweaks for {units} data units", tweaks, units * BLOCK_SIZE)
    first = sm4.ecb_encrypt(tweak_key, tweaks)
    blocks = unit_size // BLOCK_SIZE
    masks = bulk.Masks(_KINDS[standard], words_of(first), words_of(b""), blocks)
    done = bulk.masked_sm4(data_key, data, masks, decrypt=ecb is sm4.ecb_decrypt)
    if done is not None:
        return done
    words = np.frombuffer(data, np.uint64).reshape(units, blocks, 2)
    result = np.empty_like(words)
    batch = max(1, _BATCH // unit_size)
    for start in range(0, units, batch):
        part = slice(start, start + batch)
        encrypted = first[start * BLOCK_SIZE : (start + batch) * BLOCK_SIZE]
        expanded = _expand(encrypted, blocks, standard)
        result[part] = _mask(ecb, data_key, words[part], expanded)
    return result.tobytes()


def _split_key(key: bytes) -> tuple[bytes, bytes]:
    sm4.require_length("SM4-XTS key", key, 32, "CTB-K005")
    return key[:16], key[16:]


def require_units(mode: str, data: BytesLike, unit_size: int) -> int:
    """Return how many data units of whole blocks `data` is (`CTB-K007` if not whole ones)."""
    _require_unit_size(mode, unit_size)
    if unit_size % BLOCK_SIZE or len(data) % unit_size:
        raise InputError(
            "CTB-K007",
            f"{len(data)} bytes are not whole {mode} data units of {unit_size} bytes, "
            "each of whole blocks",
        )
    return len(data) // unit_size


def _require_unit_size(mode: str, size: int) -> None:
    if not BLOCK_SIZE <= size <= _MAX_UNIT:
        raise InputError(
            "CTB-K007", f"a data unit of {mode} holds {BLOCK_SIZE} to {_MAX_UNIT} bytes, not {size}"
        )


def _mask(ecb: _ECB, key: bytes, words: "Words", tweaks: "Words") -> "Words":
    """Return ecb(words ^ tweaks) ^ tweaks."""
    import numpy as np

    masked = (words ^ tweaks).data.cast("B")
    return np.frombuffer(ecb(key, masked), np.uint64).reshape(words.shape) ^ tweaks


def _expand(encrypted: bytes, blocks: int, standard: Standard) -> "Words":
    """Return T, T * alpha, T * alpha**2 ... for each encrypted tweak T: (units, blocks, 2).

    The run of known tweaks doubles until it is 32 long, and grows by 32 from there.
    """
    import numpy as np

    order = _ORDER[standard]
    start = np.frombuffer(encrypted, order).reshape(-1, 2)
    tweaks = np.empty((len(start), blocks, 2), np.uint64)
    tweaks[:, 0] = start
    known = 1
    while known < blocks:
        step = min(known, 32)
        count = min(step, blocks - known)
        source = tweaks[:, known - step : known - step + count]
        _multiply(source, step, standard, tweaks[:, known : known + count])
        known += count
    return tweaks.astype(order, copy=False).view(np.uint64)


def _multiply(tweaks: "Words", power: int, standard: Standard, out: "Words") -> None:
    """Write tweaks * alpha**power to `out`, for powers up to 32.

    Alpha's own power is a shift through the two words, the first of which takes back what
    falls off the second, times x**7 + x**2 + x + 1.
    """
    import numpy as np

    left, right = np.left_shift, np.right_shift
    up, down = (left, right) if standard == "ieee" else (right, left)
    first, second = tweaks[..., 0], tweaks[..., 1]
    carry = down(second, 64 - power)
    out[..., 0] = up(first, power) ^ carry ^ up(carry, 1) ^ up(carry, 2) ^ up(carry, 7)
    out[..., 1] = up(second, power) | down(first, 64 - power)
