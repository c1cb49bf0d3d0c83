"""Say what a file of evidence seems to be, from its length and first bytes."""

from typing import Final

from ctestbed.evidence.csv_certificate import (
    ALGORITHM_SM2_SIGN,
    CHIP_CERTIFICATE_SIZE,
    CURVE_SM2,
    ROOT_CERTIFICATE_SIZE,
    Usage,
)

_V2_SIZE: Final = 1168 + 2212
_V2_PEK: Final = 1168
_SNP_SIZE: Final = 1184
_TD_REPORT_SIZE: Final = 1024
_BUFFER_SIZE: Final = 4096
_EXTENDED_MAGIC: Final = b"ATTESTATION_EXT\0"
_TEE_TYPE_TDX: Final = 0x81
_V1_HEAD: Final = 192
_V1_SIZE: Final = 2548
_QE_VENDOR: Final = bytes.fromhex("939a7233f79c4ca9940a0db3957f0607")
_CCA_TAGS: Final = {b"\xd9\x01\x8f": 399, b"\xd9\x03\x8b": 907}


def is_csv_report_v2(content: bytes) -> bool:
    """Tell a CSV3 report by its PEK, which lies unmasked behind 1168 bytes."""
    if not _V2_SIZE <= len(content) <= _BUFFER_SIZE or any(content[_V2_SIZE:]):
        return False
    usage, curve = _u32(content, _V2_PEK + 8), _u32(content, _V2_PEK + 16)
    return usage == Usage.PEK == _u32(content, 180) and curve == CURVE_SM2


def has_certificate_length(content: bytes) -> bool:
    """Tell whether a whole number of 832 and 2084-byte certificates fits a file exactly."""
    size = len(content)
    return size > 0 and any(
        (size - chips) % ROOT_CERTIFICATE_SIZE == 0
        for chips in range(0, size + 1, CHIP_CERTIFICATE_SIZE)
    )


def describe_format(content: bytes) -> str:
    """Return a clause such as `it has 1184 bytes and seems to be an AMD SEV-SNP report`."""
    if not content:
        return "the file is empty"
    kind = _kind(content)
    size = f"it has {len(content)} bytes"
    return f"{size} and seems to be {kind}" if kind else f"{size} of no known format"


def _kind(content: bytes) -> str | None:
    head = content[:64].lstrip()
    version = _u16(content, 0)
    tag = _CCA_TAGS.get(content[:3])
    snp = _u32(content, 0) in range(2, 6) and _u32(content, 52) == 1
    kinds = (
        ("nothing but zero bytes", not any(content)),
        ("JSON", head[:1] in {b"{", b"["}),
        ("PEM", head.startswith(b"-----BEGIN")),
        ("an extended CSV attestation request or answer", content.startswith(_EXTENDED_MAGIC)),
        (f"an Intel TDX or SGX quote of version {version}", content[12:28] == _QE_VENDOR),
        (f"an Arm CCA token (CBOR tag {tag})", tag is not None),
        ("an AMD SEV-SNP report", len(content) >= _SNP_SIZE and snp),
        ("an Intel TDREPORT", len(content) == _TD_REPORT_SIZE and content[0] == _TEE_TYPE_TDX),
        ("certificates of 832 and 2084 bytes", has_certificate_length(content)),
        ("a CSV report cut short", len(content) < _V1_SIZE and _is_csv_report_start(content)),
        ("a CSV report with more bytes after it", _is_csv_report_start(content)),
    )
    return next((kind for kind, matches in kinds if matches), None)


def _is_csv_report_start(content: bytes) -> bool:
    """Unmask the usage and algorithm that every CSV report holds."""
    anonce = _u32(content, 188)
    usage, algorithm = _u32(content, 180) ^ anonce, _u32(content, 184) ^ anonce
    return len(content) > _V1_HEAD and (usage, algorithm) == (Usage.PEK, ALGORITHM_SM2_SIGN)


def _u16(content: bytes, offset: int) -> int:
    return int.from_bytes(content[offset : offset + 2], "little")


def _u32(content: bytes, offset: int) -> int:
    return int.from_bytes(content[offset : offset + 4], "little")
