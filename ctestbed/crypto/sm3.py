"""SM3 (GB/T 32905-2016), and HMAC (RFC 2104) and HKDF (RFC 5869) over it.

Over `cryptography` and not `hashlib`, whose SM3 depends on how the interpreter was linked. Many
messages of one length are digested by a compiled SM3, to the same digests: see `bulk`.
"""

from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ctestbed.core.errors import InputError
from ctestbed.crypto import bulk
from ctestbed.crypto.buffers import BytesLike

DIGEST_SIZE = 32
_HKDF_LIMIT = 255 * DIGEST_SIZE


def sm3(data: BytesLike) -> bytes:
    """Return the 32-byte SM3 digest of `data`."""
    digest = hashes.Hash(hashes.SM3())
    digest.update(data)
    return digest.finalize()


def digests(data: BytesLike, size: int) -> list[bytes]:
    """Return the SM3 digest of every `size` bytes of `data`, such as of pages."""
    if size < 1 or len(data) % size:
        raise InputError("CTB-K010", f"{len(data)} bytes are not whole messages of {size} bytes")
    done = bulk.sm3_digests(data, size)
    if done is None:
        view = memoryview(data)
        return [sm3(view[start : start + size]) for start in range(0, len(data), size)]
    return [done[start : start + DIGEST_SIZE] for start in range(0, len(done), DIGEST_SIZE)]


def hmac_sm3(key: bytes, data: bytes) -> bytes:
    """Return the 32-byte HMAC-SM3 of `data`; compare MACs with `hmac.compare_digest`."""
    mac = hmac.HMAC(key, hashes.SM3())
    mac.update(data)
    return mac.finalize()


def kdf_sm3(secret: bytes, length: int) -> bytes:
    """Derive `length` bytes from `secret` as SM2 does (GB/T 32918.4-2016 section 5.4.3)."""
    counted = [secret + number.to_bytes(4) for number in range(1, -(-length // DIGEST_SIZE) + 1)]
    return b"".join(digests(b"".join(counted), len(secret) + 4))[:length]


def hkdf_sm3(secret: bytes, label: bytes, length: int) -> bytes:
    """Derive `length` bytes (1 to 8,160) from `secret`: HKDF-SM3, no salt, info = `label`."""
    if not 0 < length <= _HKDF_LIMIT:
        raise InputError(
            "CTB-K008", f"HKDF-SM3 derives 1 to {_HKDF_LIMIT} bytes, and {length} were asked for"
        )
    return HKDF(hashes.SM3(), length, salt=None, info=label).derive(secret)
