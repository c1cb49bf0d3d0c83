"""Hygon CSV certificates: HRK and HSK (832 bytes), CEK, PEK, OCA and PDH (2084 bytes).

Fixed binary, little-endian; SM2 numbers are 32 bytes in fields of 72. A codec knows where
bytes lie and which must be zero; whether usages and keys make sense is for a verifier.
Layout: openanolis/csv-rs, src/certs.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from ctestbed.evidence.layout import U8, U32, Field, Number, Prefixed, Raw, Struct, Zero, parse

ROOT_CERTIFICATE_SIZE: Final = 832
CHIP_CERTIFICATE_SIZE: Final = 2084
ROOT_BODY_SIZE: Final = 576
CHIP_BODY_SIZE: Final = 1044
CURVE_SM2: Final = 3
ALGORITHM_SM2_SIGN: Final = 4
ALGORITHM_SM2_DH: Final = 5


class Usage(IntEnum):
    """What a key is for, and in a signature slot who signed."""

    HRK = 0x0000
    HSK = 0x0013
    INVALID = 0x1000
    OCA = 0x1001
    PEK = 0x1002
    PDH = 0x1003
    CEK = 0x1004


@dataclass(frozen=True, slots=True)
class SignatureSlot:
    """One of a chip certificate's two signatures; an empty one has usage INVALID and zeros."""

    usage: int
    algorithm: int
    r: int
    s: int


@dataclass(frozen=True, slots=True)
class RootCertificate:
    """HRK or HSK. Ids are 16 opaque bytes; `uid` is the SM2 identity it signs under."""

    version: int
    key_id: bytes
    signer_id: bytes
    usage: int
    curve: int
    x: int
    y: int
    uid: bytes
    r: int
    s: int


@dataclass(frozen=True, slots=True)
class ChipCertificate:
    """CEK, PEK, OCA or PDH. `signer_id` is 16 opaque bytes, zero where nobody fills it."""

    version: int
    firmware_major: int
    firmware_minor: int
    usage: int
    algorithm: int
    curve: int
    x: int
    y: int
    uid: bytes
    signer_id: bytes
    signature_0: SignatureSlot
    signature_1: SignatureSlot

    @property
    def signatures(self) -> tuple[SignatureSlot, SignatureSlot]:
        """Both slots, in order."""
        return self.signature_0, self.signature_1


Certificate: TypeAlias = RootCertificate | ChipCertificate

EMPTY_SLOT: Final = SignatureSlot(Usage.INVALID, 0, 0, 0)

ROOT_LAYOUT: Final = Struct(
    RootCertificate,
    ROOT_CERTIFICATE_SIZE,
    (
        Field("version", 0, U32, "layout version"),
        Field("key_id", 4, Raw(16), "id of this key"),
        Field("signer_id", 20, Raw(16), "id of the key that signs this certificate"),
        Field("usage", 36, U32, "what this key is for"),
        Field("reserved_0", 40, Zero(24)),
        Field("curve", 64, U32, "3 is sm2p256v1"),
        Field("x", 68, Number(72), "public key, x"),
        Field("y", 140, Number(72), "public key, y"),
        Field("uid", 212, Prefixed(256), "SM2 identity this key signs under"),
        Field("reserved_1", 468, Zero(108)),
        Field("r", 576, Number(72), "signature over bytes 0-575 of the certificate, r"),
        Field("s", 648, Number(72), "signature, s"),
        Field("reserved_2", 720, Zero(112)),
    ),
)

_SLOT_LAYOUT: Final = Struct(
    SignatureSlot,
    520,
    (
        Field("usage", 0, U32, "who signs"),
        Field("algorithm", 4, U32, "4 is an SM2 signature, 0 none"),
        Field("r", 8, Number(72), "signature over bytes 0-1043 of the certificate, r"),
        Field("s", 80, Number(72), "signature, s"),
        Field("reserved", 152, Zero(368)),
    ),
)

CHIP_LAYOUT: Final = Struct(
    ChipCertificate,
    CHIP_CERTIFICATE_SIZE,
    (
        Field("version", 0, U32, "layout version"),
        Field("firmware_major", 4, U8, "firmware API, major"),
        Field("firmware_minor", 5, U8, "firmware API, minor"),
        Field("reserved_0", 6, Zero(2)),
        Field("usage", 8, U32, "what this key is for"),
        Field("algorithm", 12, U32, "4 is SM2 signing, 5 SM2 key agreement"),
        Field("curve", 16, U32, "3 is sm2p256v1"),
        Field("x", 20, Number(72), "public key, x"),
        Field("y", 92, Number(72), "public key, y"),
        Field("uid", 164, Prefixed(256), "SM2 identity this key signs under"),
        Field("signer_id", 420, Raw(16), "id of the key that signs this certificate"),
        Field("reserved_1", 436, Zero(608)),
        Field("signature_0", 1044, _SLOT_LAYOUT),
        Field("signature_1", 1564, _SLOT_LAYOUT),
    ),
)


def parse_root_certificate(raw: bytes, *, base: int = 0) -> RootCertificate:
    """Read 832 bytes, at `base` in their file; `FORMAT_BAD` on anything malformed."""
    return parse(ROOT_LAYOUT, raw, "HRK/HSK certificate", base=base)


def dump_root_certificate(certificate: RootCertificate) -> bytes:
    """Return the 832 bytes."""
    return ROOT_LAYOUT.write(certificate)


def parse_chip_certificate(raw: bytes, *, base: int = 0) -> ChipCertificate:
    """Read 2084 bytes, at `base` in their file; `FORMAT_BAD` on anything malformed."""
    return parse(CHIP_LAYOUT, raw, "chip certificate", base=base)


def dump_chip_certificate(certificate: ChipCertificate) -> bytes:
    """Return the 2084 bytes."""
    return CHIP_LAYOUT.write(certificate)


def dump_certificate(certificate: Certificate) -> bytes:
    """Return the bytes of either kind."""
    if isinstance(certificate, RootCertificate):
        return dump_root_certificate(certificate)
    return dump_chip_certificate(certificate)


def body(certificate: Certificate) -> bytes:
    """Return the signed bytes: the first 576 of a root certificate, 1044 of a chip's."""
    size = ROOT_BODY_SIZE if isinstance(certificate, RootCertificate) else CHIP_BODY_SIZE
    return dump_certificate(certificate)[:size]


def usage_name(usage: int) -> str:
    """Return the usage's name, or its number in hex."""
    try:
        return Usage(usage).name
    except ValueError:
        return f"0x{usage:04x}"
