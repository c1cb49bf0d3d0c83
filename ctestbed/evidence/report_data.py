"""What a relying party asks a guest to have signed: `--nonce HEX`, or `--report-data` hex or text.

One 64-byte field carries either. A shorter value is padded with zero at its end, and comparison
is always over all 64 bytes: comparing a prefix only would accept what nobody asked for.
"""

from dataclasses import dataclass
from typing import Final

from ctestbed.core.errors import InputError

FIELD_SIZE: Final = 64
_TEXT: Final = "text:"


@dataclass(frozen=True, slots=True)
class ReportData:
    """The whole field, and how many bytes of it were given, by which option."""

    field: bytes
    given: int
    option: str

    @property
    def padded(self) -> bool:
        """Whether zero bytes were added."""
        return self.given < FIELD_SIZE


def parse_report_data(nonce: str | None, report_data: str | None) -> ReportData | None:
    """Read the options; None if neither is given.

    Raises:
        InputError: not hex, empty, longer than 64 bytes, or two different values.
    """
    read = [
        _read(text, option)
        for text, option in ((nonce, "--nonce"), (report_data, "--report-data"))
        if text is not None
    ]
    if len({value.field for value in read}) > 1:
        raise InputError(
            "CTB-E001",
            "--nonce and --report-data differ, and a CSV report carries one 64-byte value",
            hint="give one of them",
        )
    return read[0] if read else None


def _read(text: str, option: str) -> ReportData:
    try:
        if option == "--report-data" and text.startswith(_TEXT):
            value = text.removeprefix(_TEXT).encode()
        else:
            value = bytes.fromhex(text)
    except ValueError:
        either = " (or `text:...`)" if option == "--report-data" else ""
        raise InputError(
            "CTB-E002",
            f"{option} {text[:80]!r} is not hex",
            hint=f"write an even number of hex digits{either}",
        ) from None
    if not 0 < len(value) <= FIELD_SIZE:
        raise InputError(
            "CTB-E003",
            f"{option} has {len(value)} bytes, and the field takes 1 to {FIELD_SIZE}",
            hint="give the SHA-256 or SM3 of a longer value",
        )
    return ReportData(value.ljust(FIELD_SIZE, b"\0"), len(value), option)
