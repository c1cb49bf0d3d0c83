"""SM2 signatures (GB/T 32918.2-2016) on sm2p256v1 with SM3.

The signer's identity is part of what is signed and has no default here: OpenSSL's command
line takes an empty one, most others `1234567812345678`, and a signature made under one does
not verify under the other.

The arithmetic is variable-time. It suits a testbed, whose keys guard nothing; a signer whose
timing an attacker can watch needs another implementation.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric import utils as asn1

from ctestbed.core.errors import InputError, NotAuthenticError
from ctestbed.crypto import sm2_curve as curve
from ctestbed.crypto.rfc6979 import deterministic_nonces
from ctestbed.crypto.sm3 import hkdf_sm3, hmac_sm3, sm3

_MAX_IDENTITY = 0xFFFF // 8  # its length in bits is a 16-bit field


class SignatureInvalidError(NotAuthenticError):
    """A signature that this key, this identity and this message do not confirm."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A point of the curve, affine; anything else is refused with `CTB-K002`."""

    x: int
    y: int

    def __post_init__(self) -> None:
        if not curve.is_on_curve(self.x, self.y):
            raise InputError("CTB-K002", "the SM2 public key is not a point of the curve")

    @property
    def encoded(self) -> bytes:
        """The uncompressed form, 65 bytes: 04 || X || Y, big-endian."""
        return b"\4" + self.x.to_bytes(32) + self.y.to_bytes(32)


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A secret scalar in 1..n-2 (GB/T 32918.1 section 6.1); its repr does not show it."""

    d: int = field(repr=False)
    public_key: PublicKey = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.d < curve.N - 1:
            raise InputError("CTB-K001", "the SM2 private key is outside 1..n-2")
        object.__setattr__(self, "public_key", PublicKey(*curve.multiply_base(self.d)))


@dataclass(frozen=True, slots=True)
class Signature:
    """Two numbers of at most 32 bytes each; whether they lie in 1..n-1 is for `verify` to say."""

    r: int
    s: int

    def __post_init__(self) -> None:
        if not (0 <= self.r < 1 << 256 and 0 <= self.s < 1 << 256):
            raise InputError("CTB-K004", "r and s of an SM2 signature are numbers of 32 bytes")


def generate_private_key() -> PrivateKey:
    """Return a fresh key from the operating system's generator."""
    return PrivateKey(secrets.randbelow(curve.N - 2) + 1)


def derive_private_key(seed: bytes, label: bytes) -> PrivateKey:
    """Return the key that `seed` and `label` name. Only for emulated roots made from a seed."""
    surplus = hkdf_sm3(seed, label, 48)  # 128 bits more than n, so that the remainder is unbiased
    return PrivateKey(int.from_bytes(surplus) % (curve.N - 2) + 1)


def sign(
    private_key: PrivateKey, message: bytes, identity: bytes, *, deterministic: bool = False
) -> Signature:
    """Sign `message` as `identity`.

    The nonce is fresh from the operating system, or, for emulated roots made from a seed,
    `deterministic`: as in RFC 6979, with HMAC-SM3 over the key and the digest.
    """
    digest = _digest(private_key.public_key, message, identity)
    nonces = (
        deterministic_nonces(hmac_sm3, curve.N, private_key.d, digest)
        if deterministic
        else _fresh_nonces()
    )
    return next(
        signature
        for nonce in nonces
        if (signature := _sign_with_nonce(private_key, digest, nonce)) is not None
    )


def verify(public_key: PublicKey, message: bytes, identity: bytes, signature: Signature) -> None:
    """Return if `signature` holds; raise `SignatureInvalidError` (`SIG_BAD`) otherwise."""
    _verify_digest(public_key, _digest(public_key, message, identity), signature)


def fingerprint(public_key: PublicKey) -> str:
    """Return the lower-case hex SHA-256 of 04 || X || Y, by which roots are pinned."""
    return sha256(public_key.encoded).hexdigest()


def parse_signature(der: bytes) -> Signature:
    """Read a DER SEQUENCE of two INTEGERs, strictly; `CTB-K004` on anything else."""
    try:
        r, s = asn1.decode_dss_signature(der)
    except ValueError as error:
        raise InputError("CTB-K004", "the SM2 signature is not DER of two integers") from error
    return Signature(r, s)


def dump_signature(signature: Signature) -> bytes:
    """Return the DER form, at most 72 bytes."""
    return asn1.encode_dss_signature(signature.r, signature.s)


def _digest(public_key: PublicKey, message: bytes, identity: bytes) -> bytes:
    """Return e = SM3(Z || message), Z binding identity, curve and key (GB/T 32918.2, 5.5)."""
    if len(identity) > _MAX_IDENTITY:
        raise InputError(
            "CTB-K003",
            f"the SM2 identity has {len(identity)} bytes, and at most {_MAX_IDENTITY} fit",
        )
    parameters = (curve.A, curve.B, *curve.G, public_key.x, public_key.y)
    bound = b"".join(number.to_bytes(32) for number in parameters)
    return sm3(sm3((8 * len(identity)).to_bytes(2) + identity + bound) + message)


def _fresh_nonces() -> Iterator[int]:
    while True:
        yield secrets.randbelow(curve.N - 1) + 1


def _sign_with_nonce(private_key: PrivateKey, digest: bytes, nonce: int) -> Signature | None:
    """Sign with a given nonce; None where it must not be used (GB/T 32918.2, 6.1 A5 and A6)."""
    x, _ = curve.multiply_base(nonce)
    r = (int.from_bytes(digest) + x) % curve.N
    if r in (0, curve.N - nonce):
        return None
    s = pow(1 + private_key.d, -1, curve.N) * (nonce - r * private_key.d) % curve.N
    return Signature(r, s) if s else None


def _verify_digest(public_key: PublicKey, digest: bytes, signature: Signature) -> None:
    """Check r = e + x of s*G + (r + s)*key (GB/T 32918.2, 7.1)."""
    r, s = signature.r, signature.s
    if not (0 < r < curve.N and 0 < s < curve.N):
        raise SignatureInvalidError("SIG_BAD", "r or s of the SM2 signature is outside 1..n-1")
    t = (r + s) % curve.N
    point = curve.multiply_add(s, t, (public_key.x, public_key.y)) if t else None
    if point is None or (int.from_bytes(digest) + point[0]) % curve.N != r:
        raise SignatureInvalidError(
            "SIG_BAD", "the SM2 signature does not match this message, identity and key"
        )
