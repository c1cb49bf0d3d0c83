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

UNCOMPRESSED = 4
ENCODED_SIZE = 65
_RAW_SIZE = 64
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

    @classmethod
    def decode(cls, encoded: bytes) -> "PublicKey":
        """Read the uncompressed form: 04 || X || Y, 65 bytes; `CTB-K002` on anything else."""
        if len(encoded) != ENCODED_SIZE or encoded[0] != UNCOMPRESSED:
            raise InputError(
                "CTB-K002",
                f"an SM2 public key is 04 and {ENCODED_SIZE - 1} bytes, "
                f"not {len(encoded)} bytes from {encoded[:1].hex() or 'nothing'}",
            )
        return cls(int.from_bytes(encoded[1:33]), int.from_bytes(encoded[33:]))

    @property
    def encoded(self) -> bytes:
        """The uncompressed form, 65 bytes: 04 || X || Y, big-endian."""
        return bytes([UNCOMPRESSED]) + self.x.to_bytes(32) + self.y.to_bytes(32)

    @property
    def point(self) -> curve.Affine:
        """The coordinates."""
        return self.x, self.y


@dataclass(frozen=True, slots=True)
class PreparedKey:
    """A public key with a table of its multiples, which makes verification three times as fast.

    Making one takes as long as verifying about thirty signatures.
    """

    public_key: PublicKey
    table: curve.Table = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", curve.build_table(self.public_key.point))


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
        else fresh_nonces()
    )
    return next(
        signature
        for nonce in nonces
        if (signature := _sign_with_nonce(private_key, digest, nonce)) is not None
    )


def verify(
    key: PublicKey | PreparedKey, message: bytes, identity: bytes, signature: Signature
) -> None:
    """Return if `signature` holds; raise `SignatureInvalidError` (`SIG_BAD`) otherwise.

    Where many signatures of one key are to be verified, give a `PreparedKey`.
    """
    public_key = key.public_key if isinstance(key, PreparedKey) else key
    _verify_digest(key, _digest(public_key, message, identity), signature)


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


def parse_raw_signature(raw: bytes) -> Signature:
    """Read r || s, 64 bytes, big-endian, as gmssl has it; `CTB-K004` on another length."""
    if len(raw) != _RAW_SIZE:
        raise InputError(
            "CTB-K004", f"a raw SM2 signature has {_RAW_SIZE} bytes, and this has {len(raw)}"
        )
    return Signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))


def dump_raw_signature(signature: Signature) -> bytes:
    """Return r || s, 64 bytes."""
    return signature.r.to_bytes(32) + signature.s.to_bytes(32)


def identity_digest(public_key: PublicKey, identity: bytes) -> bytes:
    """Return Z, which binds identity, curve and key (GB/T 32918.2, 5.5)."""
    if len(identity) > _MAX_IDENTITY:
        raise InputError(
            "CTB-K003",
            f"the SM2 identity has {len(identity)} bytes, and at most {_MAX_IDENTITY} fit",
        )
    parameters = (curve.A, curve.B, *curve.G, public_key.x, public_key.y)
    bound = b"".join(number.to_bytes(32) for number in parameters)
    return sm3((8 * len(identity)).to_bytes(2) + identity + bound)


def _digest(public_key: PublicKey, message: bytes, identity: bytes) -> bytes:
    """Return e = SM3(Z || message)."""
    return sm3(identity_digest(public_key, identity) + message)


def fresh_nonces() -> Iterator[int]:
    """Yield numbers in 1..n-1 from the operating system."""
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


def _verify_digest(key: PublicKey | PreparedKey, digest: bytes, signature: Signature) -> None:
    """Check r = e + x of s*G + (r + s)*key (GB/T 32918.2, 7.1)."""
    r, s = signature.r, signature.s
    if not (0 < r < curve.N and 0 < s < curve.N):
        raise SignatureInvalidError("SIG_BAD", "r or s of the SM2 signature is outside 1..n-1")
    public_key, table = (key.public_key, key.table) if isinstance(key, PreparedKey) else (key, None)
    t = (r + s) % curve.N
    point = curve.multiply_add(s, t, public_key.point, table) if t else None
    if point is None or (int.from_bytes(digest) + point[0]) % curve.N != r:
        raise SignatureInvalidError(
            "SIG_BAD", "the SM2 signature does not match this message, identity and key"
        )
