"""SM2 public-key encryption (GB/T 32918.4-2016) on sm2p256v1 with SM3. Variable-time, as `sm2`.

A ciphertext is a point C1, a digest C3 and the masked message C2. The standard orders them C1C3C2;
older software C1C2C3; OpenSSL writes DER {x, y, hash, cipher} (GM/T 0009). gmssl leaves out the 04
in front of a point.
"""

from dataclasses import dataclass
from hmac import compare_digest
from typing import Final, Literal, TypeAlias

from ctestbed.core.errors import InputError, NotAuthenticError
from ctestbed.crypto import der
from ctestbed.crypto import sm2_curve as curve
from ctestbed.crypto.sm2 import (
    ENCODED_SIZE,
    UNCOMPRESSED,
    PreparedKey,
    PrivateKey,
    PublicKey,
    fresh_nonces,
)
from ctestbed.crypto.sm3 import DIGEST_SIZE, kdf_sm3, sm3

Order: TypeAlias = Literal["C1C3C2", "C1C2C3"]

_POINT_SIZE: Final = ENCODED_SIZE - 1
_TAGS: Final = (der.INTEGER, der.INTEGER, der.OCTET_STRING, der.OCTET_STRING)


class DecryptionError(NotAuthenticError):
    """A ciphertext that this key does not decrypt, or that was changed."""


@dataclass(frozen=True, slots=True)
class Ciphertext:
    """C1, a point of the curve; C3, 32 bytes; and C2, as long as the message (`CTB-K015`)."""

    point: curve.Affine
    digest: bytes
    body: bytes

    def __post_init__(self) -> None:
        if not curve.is_on_curve(*self.point):
            raise InputError("CTB-K015", "C1 of the SM2 ciphertext is not a point of the curve")
        if len(self.digest) != DIGEST_SIZE:
            raise InputError(
                "CTB-K015",
                f"C3 of the SM2 ciphertext has {len(self.digest)} bytes instead of {DIGEST_SIZE}",
            )
        if not self.body:
            raise InputError("CTB-K015", "C2 of the SM2 ciphertext is empty")


def encrypt(key: PublicKey | PreparedKey, message: bytes) -> Ciphertext:
    """Encrypt a message of at least one byte; every call gives another ciphertext."""
    if not message:
        raise InputError("CTB-K014", "SM2 encrypts a message of at least one byte")
    return next(
        ciphertext
        for nonce in fresh_nonces()
        if (ciphertext := _encrypt_with_nonce(key, message, nonce)) is not None
    )


def decrypt(private_key: PrivateKey, ciphertext: Ciphertext) -> bytes:
    """Invert `encrypt`; raise `DecryptionError` (`CTB-K016`) and yield nothing on anything else."""
    shared = curve.multiply(private_key.d, ciphertext.point)
    if shared is not None:
        message, digest = _mask_and_digest(shared, ciphertext.body, decrypts=True)
        if message is not None and compare_digest(digest, ciphertext.digest):
            return message
    raise DecryptionError("CTB-K016", "the SM2 ciphertext was changed or is for another key")


def dump_ciphertext(ciphertext: Ciphertext, order: Order = "C1C3C2") -> bytes:
    """Return 04 || C1 || C3 || C2, or the last two in the older order."""
    x, y = ciphertext.point
    tail = (ciphertext.digest, ciphertext.body)
    first, second = tail if order == "C1C3C2" else tail[::-1]
    return bytes([UNCOMPRESSED]) + x.to_bytes(32) + y.to_bytes(32) + first + second


def parse_ciphertext(raw: bytes, order: Order = "C1C3C2") -> Ciphertext:
    """Read the parts one behind the other; 04 in front of C1 may be there or not (`CTB-K015`).

    Where a 04 could be either, only one reading gives a point of the curve.
    """
    start = int(raw[:1] == bytes([UNCOMPRESSED]) and _is_point(raw[1:]))
    if len(raw) <= start + _POINT_SIZE + DIGEST_SIZE:
        raise InputError(
            "CTB-K015",
            f"an SM2 ciphertext has more than {_POINT_SIZE + DIGEST_SIZE} bytes, not {len(raw)}",
        )
    tail = raw[start + _POINT_SIZE :]
    cut = DIGEST_SIZE if order == "C1C3C2" else len(tail) - DIGEST_SIZE
    first, second = tail[:cut], tail[cut:]
    digest, body = (first, second) if order == "C1C3C2" else (second, first)
    return Ciphertext(_point(raw[start:]), digest, body)


def dump_der_ciphertext(ciphertext: Ciphertext) -> bytes:
    """Return the DER form, as OpenSSL writes it."""
    return der.dump_sequence([*ciphertext.point, ciphertext.digest, ciphertext.body])


def parse_der_ciphertext(data: bytes) -> Ciphertext:
    """Read the DER form, strictly; `CTB-K015` on anything else."""
    try:
        x, y, digest, body = der.parse_sequence(data, _TAGS)
    except ValueError as error:
        raise InputError(
            "CTB-K015", f"the SM2 ciphertext is not DER of x, y, hash and cipher: {error}"
        ) from error
    return Ciphertext((int.from_bytes(x), int.from_bytes(y)), digest, body)


def _encrypt_with_nonce(
    key: PublicKey | PreparedKey, message: bytes, nonce: int
) -> Ciphertext | None:
    """Encrypt with a given nonce; None where it must not be used (section 6.1 A5)."""
    public_key, table = (key.public_key, key.table) if isinstance(key, PreparedKey) else (key, None)
    shared = curve.multiply(nonce, public_key.point, table)
    if shared is None:
        return None
    body, digest = _mask_and_digest(shared, message, decrypts=False)
    return None if body is None else Ciphertext(curve.multiply_base(nonce), digest, body)


def _mask_and_digest(
    shared: curve.Affine, data: bytes, *, decrypts: bool
) -> tuple[bytes | None, bytes]:
    """Return the data masked, None if the mask is all zeros, and the digest of the message."""
    x, y = (number.to_bytes(32) for number in shared)
    mask = kdf_sm3(x + y, len(data))
    masked = (int.from_bytes(data) ^ int.from_bytes(mask)).to_bytes(len(data))
    digest = sm3(x + (masked if decrypts else data) + y)
    return (masked if any(mask) else None), digest


def _is_point(raw: bytes) -> bool:
    return len(raw) >= _POINT_SIZE and curve.is_on_curve(*_point(raw))


def _point(raw: bytes) -> curve.Affine:
    return int.from_bytes(raw[:32]), int.from_bytes(raw[32:_POINT_SIZE])
