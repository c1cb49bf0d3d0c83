"""The Hygon CSV attestation report, version 1: 2548 bytes.

Bytes 0-187 and 336-2515 travel XORed with the four bytes of `anonce`, repeated; `CSVReport`
holds the plain values and codecs mask on the way out. What holds which byte:

    0-179      the PEK's signature, over the bytes as masked
    180-187    nothing: a verifier must compare usage and algorithm with their only values
    188-191    the MAC, whose input `anonce` masks: nothing signs `anonce` itself
    192-335    the signature's own numbers, and zero padding that the codec insists on
    336-2515   the MAC, as masked (336-1379 also the CEK's signature, as plain)

The MAC's key is `mnonce`, in the report itself: whoever holds a report can choose another
`anonce`, mask anew, and recompute the MAC. Layout: openanolis/csv-rs, src/api/guest/types.rs;
inclavare-containers/librats, include/librats/csv.h; checked on real reports.
"""

from dataclasses import dataclass
from typing import Final

from ctestbed.core.errors import InputError, UndecidedError
from ctestbed.evidence.csv_certificate import CHIP_LAYOUT, ChipCertificate, Usage
from ctestbed.evidence.layout import U32, Field, Number, Raw, Struct, flags, parse
from ctestbed.evidence.recognise import describe_format, is_csv_report_v2

REPORT_SIZE: Final = 2548
BUFFER_SIZE: Final = 4096
"""The kernel answers in a buffer of this size, zero after the report."""
SIGNED_SIZE: Final = 180
NONCE_SIZE: Final = 64
MASKED: Final = (range(188), range(336, 2516))
MAC_INPUT: Final = range(336, 2516)
MAC_KEY: Final = range(128, 144)

POLICY_FLAGS: Final = {
    0: "NODBG",
    1: "NOKS",
    2: "ES",
    3: "NOSEND",
    4: "DOMAIN",
    5: "CSV",
    6: "CSV3",
    7: "ASID_REUSE",
}
POLICY_NODBG: Final = 1


@dataclass(frozen=True, slots=True)
class CSVReport:
    """A report in plain values. `anonce` is the mask as a little-endian number.

    `serial` is the chip's serial number padded with zero; `reserved` is random in the field.
    """

    user_pubkey_digest: bytes
    vm_id: bytes
    vm_version: bytes
    report_data: bytes
    mnonce: bytes
    measure: bytes
    policy: int
    signature_usage: int
    signature_algorithm: int
    anonce: int
    r: int
    s: int
    pek: ChipCertificate
    serial: bytes
    reserved: bytes
    mac: bytes


REPORT_LAYOUT: Final = Struct(
    CSVReport,
    REPORT_SIZE,
    (
        Field("user_pubkey_digest", 0, Raw(32), "digest of the owner's public key"),
        Field("vm_id", 32, Raw(16), "the owner's id for the VM"),
        Field("vm_version", 48, Raw(16), "the owner's version of the VM"),
        Field("report_data", 64, Raw(64), "what the guest asked to have signed"),
        Field("mnonce", 128, Raw(16), "the guest's fresh number, and the key of the MAC"),
        Field("measure", 144, Raw(32), "launch measurement (SM3)"),
        Field("policy", 176, U32, "guest policy"),
        Field("signature_usage", 180, U32, "who signs: always the PEK"),
        Field("signature_algorithm", 184, U32, "always 4, an SM2 signature"),
        Field("anonce", 188, U32, "mask of bytes 0-187 and 336-2515; nothing signs it"),
        Field("r", 192, Number(72), "signature over bytes 0-179 as masked, r"),
        Field("s", 264, Number(72), "signature, s"),
        Field("pek", 336, CHIP_LAYOUT),
        Field("serial", 2420, Raw(64), "chip serial number; only the MAC covers it"),
        Field("reserved", 2484, Raw(32), "not documented, random in the field"),
        Field("mac", 2516, Raw(32), "HMAC-SM3 under mnonce over bytes 336-2515 as masked"),
    ),
)


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A report as a file holds it: `padding` zero bytes follow it."""

    report: CSVReport
    padding: int = 0


def mask(content: bytes, anonce: int) -> bytes:
    """Return `content` with the masked ranges XORed: masks plain bytes, unmasks masked ones."""
    word = anonce.to_bytes(4, "little")
    result = bytearray(content)
    for masked in MASKED:
        part = content[masked.start : masked.stop]
        key = (word * (len(part) // 4 + 1))[: len(part)]
        mixed = int.from_bytes(part) ^ int.from_bytes(key)
        result[masked.start : masked.stop] = mixed.to_bytes(len(part))
    return bytes(result)


def parse_report(content: bytes) -> CSVReport:
    """Read exactly the 2548 bytes of a report.

    Raises:
        InputError: `FORMAT_BAD`, naming the field and its bytes.
    """
    anonce = int.from_bytes(content[188:192], "little")
    plain = mask(content, anonce) if len(content) == REPORT_SIZE else content
    return parse(REPORT_LAYOUT, plain, "CSV report")


def dump_report(report: CSVReport) -> bytes:
    """Return the 2548 bytes, masked."""
    return mask(REPORT_LAYOUT.write(report), report.anonce)


def parse_report_file(content: bytes) -> ReportFile:
    """Read a report, or a kernel's buffer: a report and zero bytes, 4096 in all.

    Raises:
        InputError: `FORMAT_BAD`: not a CSV report; says what it seems to be.
        UndecidedError: `UNSUPPORTED_VERSION`: a version 2 report (CSV3).
    """
    if is_csv_report_v2(content):
        raise UndecidedError(
            "UNSUPPORTED_VERSION",
            "this is a CSV report of version 2 (CSV3), which is not built yet",
            hint="ask the guest for a report of version 1 (flags 0)",
        )
    tail = content[REPORT_SIZE:]
    if len(content) not in {REPORT_SIZE, BUFFER_SIZE} or any(tail) or not any(content):
        raise InputError(
            "FORMAT_BAD",
            f"not a CSV report (2548 bytes, or 4096 with zero padding): {describe_format(content)}",
            hint="name the file that holds the raw report",
        )
    return ReportFile(parse_report(content[:REPORT_SIZE]), len(tail))


def dump_report_file(file: ReportFile) -> bytes:
    """Return report and padding."""
    return dump_report(file.report) + bytes(file.padding)


def signed_bytes(report: CSVReport) -> bytes:
    """Return what the PEK signs: bytes 0-179 as masked."""
    return dump_report(report)[:SIGNED_SIZE]


def mac_input(report: CSVReport) -> bytes:
    """Return what the MAC under `mnonce` covers: PEK, serial and reserved bytes as masked."""
    return dump_report(report)[MAC_INPUT.start : MAC_INPUT.stop]


def policy_flags(policy: int) -> list[str]:
    """Return the names of the policy's flag bits (0-7); the rest are version numbers."""
    return flags(policy, POLICY_FLAGS)


def serial_text(report: CSVReport) -> str:
    """Return the serial number as text, or in hex where it is not printable ASCII."""
    serial = report.serial.rstrip(b"\0")
    text = serial.decode("ascii", "replace")
    return text if text.isascii() and text.isprintable() else serial.hex()


SIGNER_USAGE: Final = Usage.PEK
"""The only value of `signature_usage`."""
