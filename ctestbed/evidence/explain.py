"""What a field's value means to a person, and what is odd about it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ctestbed.evidence.csv_certificate import (
    ALGORITHM_SM2_DH,
    ALGORITHM_SM2_SIGN,
    CURVE_SM2,
    EMPTY_SLOT,
    Certificate,
    ChipCertificate,
    RootCertificate,
    SignatureSlot,
    Usage,
    usage_name,
)
from ctestbed.evidence.csv_report import POLICY_NODBG, CSVReport, policy_flags

_USAGES: Final = frozenset(Usage) - {Usage.INVALID}


def explain_value(path: str, value: Any) -> str:
    """Return a value as text: numbers of keys in big-endian hex, names beside codes."""
    if value is None:
        return "zero"
    if isinstance(value, bytes):
        return _explain_bytes(value)
    return _EXPLAIN.get(path.rsplit(".", 1)[-1], str)(value)


def _explain_bytes(value: bytes) -> str:
    text = value.rstrip(b"\0")
    if not text:
        return "zero" if value else "empty"
    shown = text.decode("ascii", "replace")
    return repr(shown) if shown.isascii() and shown.isprintable() else value.hex()


def _explain_policy(policy: int) -> str:
    names = ", ".join(policy_flags(policy)) or "no flag"
    hsk, cek = policy >> 8 & 0xF, policy >> 12 & 0xF
    api = f"{policy >> 16 & 0xFF}.{policy >> 24}"
    return f"0x{policy:08x}: {names}; at least HSK {hsk}, CEK {cek}, API {api}"


def _explain_usage(usage: int) -> str:
    return f"0x{usage:04x} {usage_name(usage)}"


_EXPLAIN: Final[Mapping[str, Callable[[int], str]]] = {
    **dict.fromkeys(("x", "y", "r", "s"), "{:064x}".format),
    **dict.fromkeys(("usage", "signature_usage"), _explain_usage),
    "policy": _explain_policy,
    "anonce": "{:08x}".format,
}


def odd_in_report(report: CSVReport) -> dict[str, str]:
    """Return what is odd about a report, by field."""
    notes = {
        "report_data": (not any(report.report_data), "zero: bound to no request"),
        "mnonce": (not any(report.mnonce), "zero, where a fresh number belongs"),
        "measure": (not any(report.measure), "zero: nothing was measured"),
        "policy": (
            not report.policy & POLICY_NODBG,
            "NODBG is clear: the host may debug the VM and read its memory",
        ),
        "signature_usage": (report.signature_usage != Usage.PEK, "only a PEK signs reports"),
        "signature_algorithm": (
            report.signature_algorithm != ALGORITHM_SM2_SIGN,
            "only 4 is known",
        ),
        "anonce": (report.anonce == 0, "zero: the report is not masked"),
        "r": (report.r == 0, "zero is in no signature"),
        "s": (report.s == 0, "zero is in no signature"),
        "serial": (_has_inner_zero(report.serial), "more bytes after the first zero"),
        "reserved": (
            not any(report.reserved),
            "zero, where real reports are random: zeroed by a relay, the MAC cannot hold",
        ),
        "pek.usage": (report.pek.usage != Usage.PEK, "not a PEK"),
    }
    nested = {f"pek.{path}": note for path, note in odd_in_certificate(report.pek).items()}
    return nested | {path: note for path, (odd, note) in notes.items() if odd}


def odd_in_certificate(certificate: Certificate) -> dict[str, str]:
    """Return what is odd about a certificate, by field."""
    notes = {
        "usage": (certificate.usage not in _USAGES, "no known key has this usage"),
        "curve": (certificate.curve != CURVE_SM2, "only 3, SM2, is known"),
    } | _identity_notes(certificate.uid)
    if isinstance(certificate, RootCertificate):
        names_other = certificate.signer_id != certificate.key_id
        is_root = certificate.usage == Usage.HRK
        notes["signer_id"] = (is_root and names_other, "a root signs itself")
        return {path: note for path, (odd, note) in notes.items() if odd}
    agreement = certificate.usage == Usage.PDH
    wanted = ALGORITHM_SM2_DH if agreement else ALGORITHM_SM2_SIGN
    notes["algorithm"] = (
        certificate.algorithm != wanted,
        f"a {usage_name(certificate.usage)} has algorithm {wanted}",
    )
    notes |= _slot_notes(certificate)
    return {path: note for path, (odd, note) in notes.items() if odd}


def _identity_notes(uid: bytes) -> dict[str, tuple[bool, str]]:
    if b"EMULATED" in uid:
        return {"uid": (True, "an emulated identity, no vendor's")}
    printable = uid.isascii() and uid.decode("ascii", "replace").isprintable()
    return {"uid": (not uid or not printable, "not the name of a key")}


def _slot_notes(certificate: ChipCertificate) -> dict[str, tuple[bool, str]]:
    notes: dict[str, tuple[bool, str]] = {}
    for index, slot in enumerate(certificate.signatures):
        half = slot.usage == Usage.INVALID and slot != EMPTY_SLOT
        notes[f"signature_{index}.usage"] = (half, "marked empty, but not empty")
    unsigned = all(map(_is_empty, certificate.signatures))
    if unsigned:
        notes["signature_0.usage"] = (True, "nobody signed this certificate")
    return notes


def _is_empty(slot: SignatureSlot) -> bool:
    return slot.usage == Usage.INVALID


def _has_inner_zero(serial: bytes) -> bool:
    return b"\0" in serial.rstrip(b"\0")
