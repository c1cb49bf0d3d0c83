"""A file of Hygon certificates: any number, of either size, in any order, nothing between.

The vendor's key service answers HSK || CEK; `evidence make` writes HRK || HSK || CEK.
"""

from collections.abc import Iterable
from typing import Final

from ctestbed.core.errors import InputError
from ctestbed.evidence.csv_certificate import (
    CHIP_CERTIFICATE_SIZE,
    ROOT_CERTIFICATE_SIZE,
    Certificate,
    dump_certificate,
    parse_chip_certificate,
    parse_root_certificate,
)

MAX_BUNDLE_SIZE: Final = 64 * 1024
"""Bytes; room for 31 chip certificates."""


def parse_bundle(content: bytes) -> tuple[Certificate, ...]:
    """Read every certificate, in order.

    Raises:
        InputError: `FORMAT_BAD`: nothing in it, a malformed certificate, or a rest too short.
    """
    if not content:
        raise InputError("FORMAT_BAD", "the certificate file is empty")
    certificates: list[Certificate] = []
    offset = 0
    while offset < len(content):
        chip = _is_chip_certificate(content[offset:])
        size = CHIP_CERTIFICATE_SIZE if chip else ROOT_CERTIFICATE_SIZE
        raw = content[offset : offset + size]
        if len(raw) < size:
            raise InputError(
                "FORMAT_BAD",
                f"byte {offset} starts neither an 832-byte nor a 2084-byte certificate: "
                f"{len(raw)} bytes are left",
                hint="a certificate file is a plain concatenation of binary certificates",
            )
        certificates.append(
            parse_chip_certificate(raw, base=offset)
            if chip
            else parse_root_certificate(raw, base=offset)
        )
        offset += size
    return tuple(certificates)


def dump_bundle(certificates: Iterable[Certificate]) -> bytes:
    """Return the concatenation."""
    return b"".join(map(dump_certificate, certificates))


def _is_chip_certificate(content: bytes) -> bool:
    """Tell the kinds apart: where a root certificate has its curve, a chip's has only zero."""
    return not any(content[64:68])
