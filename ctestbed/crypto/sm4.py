"""SM4 (GB/T 32907-2016) in ECB, CBC, CTR and GCM, over `cryptography`. No mode pads.

Much data in ECB or CTR is done by a compiled cipher, to the same bytes: see `bulk`.
"""

from typing import TypeVar

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ctestbed.core.errors import InputError, NotAuthenticError
from ctestbed.crypto import bulk
from ctestbed.crypto.buffers import BLOCK_SIZE, BytesLike

__all__ = [
    "BLOCK_SIZE",
    "TAG_SIZE",
    "BytesLike",
    "cbc_decrypt",
    "cbc_encrypt",
    "ctr_decrypt",
    "ctr_encrypt",
    "ecb_decrypt",
    "ecb_encrypt",
    "gcm_decrypt",
    "gcm_encrypt",
    "require_blocks",
    "require_key",
    "require_length",
]

TAG_SIZE = 16

_NONCE_SIZE = 12
_M = TypeVar("_M", bound=modes.Mode)


def ecb_encrypt(key: bytes, data: BytesLike) -> bytes:
    """Encrypt whole blocks, each by itself."""
    return _ecb(key, data, decrypt=False)


def ecb_decrypt(key: bytes, data: BytesLike) -> bytes:
    """Invert `ecb_encrypt`."""
    return _ecb(key, data, decrypt=True)


def cbc_encrypt(key: bytes, iv: bytes, data: BytesLike) -> bytes:
    """Encrypt whole blocks, chained from a 16-byte `iv`."""
    require_blocks("SM4-CBC", data)
    return _encrypt(key, modes.CBC(require_length("SM4-CBC IV", iv, BLOCK_SIZE)), data)


def cbc_decrypt(key: bytes, iv: bytes, data: BytesLike) -> bytes:
    """Invert `cbc_encrypt`."""
    require_blocks("SM4-CBC", data)
    return _decrypt(key, modes.CBC(require_length("SM4-CBC IV", iv, BLOCK_SIZE)), data)


def ctr_encrypt(key: bytes, counter: bytes, data: BytesLike) -> bytes:
    """Encrypt any number of bytes; `counter` is the first block, counted up as 128 bits."""
    require_length("SM4-CTR counter", counter, BLOCK_SIZE)
    whole = len(data) - len(data) % BLOCK_SIZE
    done = bulk.ctr(require_key(key), counter, data if whole == len(data) else data[:whole])
    if done is None:
        return _encrypt(key, modes.CTR(counter), data)
    if whole == len(data):
        return done
    last = (int.from_bytes(counter) + whole // BLOCK_SIZE) % (1 << 128)
    return done + _encrypt(key, modes.CTR(last.to_bytes(BLOCK_SIZE)), data[whole:])


def ctr_decrypt(key: bytes, counter: bytes, data: BytesLike) -> bytes:
    """Invert `ctr_encrypt`, which is its own inverse."""
    return ctr_encrypt(key, counter, data)


def gcm_encrypt(key: bytes, nonce: bytes, data: BytesLike, associated: bytes = b"") -> bytes:
    """Return ciphertext || 16-byte tag (RFC 8998); a 12-byte `nonce` serves a key once."""
    mode = modes.GCM(require_length("SM4-GCM nonce", nonce, _NONCE_SIZE))
    encryptor = _cipher(key, mode).encryptor()
    encryptor.authenticate_additional_data(associated)
    return encryptor.update(data) + encryptor.finalize() + encryptor.tag


def gcm_decrypt(key: bytes, nonce: bytes, data: BytesLike, associated: bytes = b"") -> bytes:
    """Invert `gcm_encrypt`; raise `NotAuthenticError` (`CTB-K009`) and yield nothing on forgery."""
    if len(data) < TAG_SIZE:
        raise InputError("CTB-K007", f"SM4-GCM data has {len(data)} bytes, fewer than its tag")
    tag = bytes(data[-TAG_SIZE:])
    mode = modes.GCM(require_length("SM4-GCM nonce", nonce, _NONCE_SIZE), tag)
    decryptor = _cipher(key, mode).decryptor()
    decryptor.authenticate_additional_data(associated)
    plaintext = decryptor.update(data[:-TAG_SIZE])
    try:
        return plaintext + decryptor.finalize()
    except InvalidTag:
        raise NotAuthenticError("CTB-K009", "the SM4-GCM tag does not match") from None


def require_blocks(mode: str, data: BytesLike) -> None:
    """Refuse data that is not whole blocks (`CTB-K007`)."""
    if len(data) % BLOCK_SIZE:
        raise InputError("CTB-K007", f"{mode} takes whole blocks of 16 bytes, not {len(data)}")


def require_length(what: str, value: bytes, length: int, code: str = "CTB-K006") -> bytes:
    """Return `value` if it has `length` bytes."""
    if len(value) != length:
        raise InputError(code, f"{what} has {len(value)} bytes instead of {length}")
    return value


def require_key(key: bytes) -> bytes:
    """Return `key` if it has 16 bytes."""
    return require_length("SM4 key", key, 16, "CTB-K005")


def _ecb(key: bytes, data: BytesLike, *, decrypt: bool) -> bytes:
    require_blocks("SM4-ECB", data)
    done = bulk.ecb(require_key(key), data, decrypt=decrypt)
    if done is not None:
        return done
    return (_decrypt if decrypt else _encrypt)(key, modes.ECB(), data)  # noqa: S305


def _cipher(key: bytes, mode: _M) -> Cipher[_M]:
    return Cipher(algorithms.SM4(require_key(key)), mode)


def _encrypt(key: bytes, mode: modes.ECB | modes.CBC | modes.CTR, data: BytesLike) -> bytes:
    encryptor = _cipher(key, mode).encryptor()
    return encryptor.update(data) + encryptor.finalize()


def _decrypt(key: bytes, mode: modes.ECB | modes.CBC | modes.CTR, data: BytesLike) -> bytes:
    decryptor = _cipher(key, mode).decryptor()
    return decryptor.update(data) + decryptor.finalize()
