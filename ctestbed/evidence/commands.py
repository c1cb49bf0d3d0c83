"""`evidence show`: every field of a report or of certificates, where it lies and what it says.

Nothing here is checked against a key: what is shown is what the bytes claim.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from typing_extensions import TypedDict

from ctestbed.core.errors import CtestbedError, Where
from ctestbed.core.files import read_input
from ctestbed.core.result import InputFile, Result
from ctestbed.evidence.csv_bundle import MAX_BUNDLE_SIZE, parse_bundle
from ctestbed.evidence.csv_certificate import (
    CHIP_LAYOUT,
    ROOT_LAYOUT,
    Certificate,
    RootCertificate,
    usage_name,
)
from ctestbed.evidence.csv_report import MASKED, REPORT_LAYOUT, mask, parse_report_file
from ctestbed.evidence.explain import explain_value, odd_in_certificate, odd_in_report
from ctestbed.evidence.layout import Struct, walk
from ctestbed.evidence.recognise import has_certificate_length


@dataclass(frozen=True, slots=True)
class ShowRequest:
    """Show a file of evidence or certificates; `-` is standard input."""

    evidence: str


class FieldData(TypedDict):
    """One field. `wire` is hex as in the file; `plain` is hex without the mask, null if equal."""

    name: str
    offset: int
    length: int
    masked: bool
    wire: str
    plain: str | None
    value: str
    meaning: str
    odd: str | None


class PartData(TypedDict):
    """A report or a certificate; `key_fingerprint` is SHA-256 of 04 || X || Y in hex."""

    title: str
    offset: int
    length: int
    key_fingerprint: str
    fields: list[FieldData]


class ShowData(TypedDict):
    """The parts of a file, in its order; `padding` counts zero bytes after a report."""

    format: str
    size: int
    padding: int
    parts: list[PartData]


REPORT_FORMAT: Final = "csv-report-v1"
CERTIFICATES_FORMAT: Final = "csv-certificates"


def run_show(request: ShowRequest) -> Result:
    """Take a file apart.

    Raises:
        InputError: it cannot be read, or is malformed; says what it seems to be.
        UndecidedError: a version of evidence that is not built yet.
    """
    content = read_input(request.evidence, limit=MAX_BUNDLE_SIZE, what="evidence")
    try:
        data = describe(content)
    except CtestbedError as error:
        pointer = error.where.pointer if error.where else None
        error.where = Where(file=request.evidence, pointer=pointer)
        raise
    return Result(
        "ctestbed.evidence.show/1", data, inputs=(InputFile.of(request.evidence, content),)
    )


def describe(content: bytes) -> ShowData:
    """Return every part and field of a report or of a certificate file."""
    if has_certificate_length(content):
        return _describe_certificates(content)
    return _describe_report(content)


def _describe_report(content: bytes) -> ShowData:
    file = parse_report_file(content)
    report = file.report
    part: PartData = {
        "title": "CSV report, version 1",
        "offset": 0,
        "length": REPORT_LAYOUT.size,
        "key_fingerprint": _fingerprint(report.pek),
        "fields": _fields(
            REPORT_LAYOUT, report, content, mask(content, report.anonce), 0, odd_in_report(report)
        ),
    }
    return {
        "format": REPORT_FORMAT,
        "size": len(content),
        "padding": file.padding,
        "parts": [part],
    }


def _describe_certificates(content: bytes) -> ShowData:
    parts: list[PartData] = []
    offset = 0
    for certificate in parse_bundle(content):
        layout: Struct[Any] = (
            ROOT_LAYOUT if isinstance(certificate, RootCertificate) else CHIP_LAYOUT
        )
        odd = odd_in_certificate(certificate)
        parts.append(
            {
                "title": f"{usage_name(certificate.usage)} certificate",
                "offset": offset,
                "length": layout.size,
                "key_fingerprint": _fingerprint(certificate),
                "fields": _fields(layout, certificate, content, content, offset, odd),
            }
        )
        offset += layout.size
    return {"format": CERTIFICATES_FORMAT, "size": len(content), "padding": 0, "parts": parts}


def _fields(
    layout: Struct[Any],
    record: Any,
    wire: bytes,
    plain: bytes,
    base: int,
    odd: Mapping[str, str],
) -> list[FieldData]:
    fields: list[FieldData] = []
    for leaf in walk(layout, record, base=base):
        here = slice(leaf.offset, leaf.offset + leaf.length)
        masked = plain is not wire and any(leaf.offset in covered for covered in MASKED)
        fields.append(
            {
                "name": leaf.path,
                "offset": leaf.offset,
                "length": leaf.length,
                "masked": masked,
                "wire": wire[here].hex(),
                "plain": plain[here].hex() if masked else None,
                "value": explain_value(leaf.path, leaf.value),
                "meaning": leaf.meaning or "reserved, zero",
                "odd": odd.get(leaf.path),
            }
        )
    return fields


def _fingerprint(certificate: Certificate) -> str:
    """Name a key as pins do, whether or not it is a point of the curve."""
    point = certificate.x.to_bytes(32) + certificate.y.to_bytes(32)
    return sha256(b"\4" + point).hexdigest()
