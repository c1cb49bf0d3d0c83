"""Verify a Hygon CSV report of version 1: HRK -> HSK -> CEK -> PEK -> report.

Order: every signature and key binding checkable with the certificates at hand (11); report
data (13); that the chain is complete (14). The first failure ends it. A chain that is complete
but ends in an unpinned root is not authentic; one whose root is absent cannot be decided.

The PEK lies in the report. HRK, HSK and CEK come from outside, told apart by usage; duplicates
and other certificates (OCA, PDH, PEK) are left aside: an OCA says who owns the platform, not
that the platform is genuine. Where several could play one part, every combination is tried and
the one with the fewest failures is judged; it is accepted only if each of its own links holds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Final, TypeVar

from ctestbed.attestation.checks import Check, CheckLog
from ctestbed.attestation.csv_key import key_fingerprint, require_issuer, require_signature
from ctestbed.attestation.roots.pins import Pin, TrustSet
from ctestbed.core.errors import ExitCode, NotAuthenticError
from ctestbed.crypto.sm2 import Signature
from ctestbed.crypto.sm3 import hmac_sm3
from ctestbed.evidence.csv_certificate import (
    ALGORITHM_SM2_SIGN,
    Certificate,
    ChipCertificate,
    RootCertificate,
    Usage,
)
from ctestbed.evidence.csv_report import CSVReport, mac_input, signed_bytes
from ctestbed.evidence.report_data import ReportData

_TYPES: Final = "csv-rs: src/api/guest/types.rs"
_CERTS: Final = "csv-rs: src/certs"
_NO: Final = ExitCode.NOT_AUTHENTIC

CHECKS: Final = (
    Check("report.signer", _NO, "signature_usage, signature_algorithm", "180-187", _TYPES),
    Check("report.mac", _NO, "mac", "2516-2547", "HMAC-SM3 under mnonce over 336-2515 as masked"),
    Check("pek.usage", _NO, "pek.usage", "344-347", _CERTS),
    Check("report.signature", _NO, "r, s", "192-335", "SM2 by the PEK over 0-179 as masked"),
    Check("pek.signature", _NO, "pek.signature_0", "1380-1899", f"{_CERTS}: PEK by CEK"),
    Check("cek.signature", _NO, "cek.signature_0", "", f"{_CERTS}: CEK by HSK"),
    Check("hsk.signature", _NO, "hsk.r, hsk.s", "", f"{_CERTS}: HSK by HRK"),
    Check("hrk.signature", _NO, "hrk.r, hrk.s", "", f"{_CERTS}: HRK by itself"),
    Check("root.pinned", _NO, "hrk.x, hrk.y", "", "pinned by key fingerprint, never by name"),
    Check("report.data", ExitCode.NOT_FRESH, "report_data", "64-127", _TYPES),
    Check("chain.complete", ExitCode.UNDECIDED, "endorsements", "", _CERTS),
)
"""Every check, in order."""

_ROLES: Final = {
    "HRK": "the vendor's root key certificate",
    "HSK": "the vendor's signing key certificate",
    "CEK": "the chip's endorsement key certificate",
}


@dataclass(frozen=True, slots=True)
class Chain:
    """The certificates that the verdict rests on; None where nothing plays the part."""

    hrk: RootCertificate | None
    hsk: RootCertificate | None
    cek: ChipCertificate | None
    pek: ChipCertificate

    def missing(self) -> list[str]:
        """Return the parts nobody plays, the root first."""
        parts = {"HRK": self.hrk, "HSK": self.hsk, "CEK": self.cek}
        return [name for name, certificate in parts.items() if certificate is None]

    def links(self) -> Iterable[tuple[str, Certificate, Certificate]]:
        """Yield check, issuer and subject of each link that is at hand, from the PEK up."""
        steps = [("hrk", self.hrk), ("hrk", self.hrk), ("hsk", self.hsk), ("cek", self.cek)]
        steps.append(("pek", self.pek))
        for (_, issuer), (name, subject) in reversed(list(pairwise(steps))):
            if issuer is not None and subject is not None:
                yield f"{name}.signature", issuer, subject


def verify_report(
    report: CSVReport,
    chain: Chain,
    trust: TrustSet,
    report_data: ReportData | None,
    log: CheckLog,
) -> Pin:
    """Make every check in order, recorded in `log`; return the pinned root.

    Raises:
        CheckFailedError: the first check that fails.
    """
    _check_report(report, log)
    _check_links(chain, log)
    pin = _check_root(chain, trust, log)
    _check_report_data(report, report_data, log)
    missing = chain.missing()
    if missing or pin is None:
        log.refuse(
            "chain.complete",
            "ENDORSEMENT_MISSING",
            f"missing: {', '.join(f'{name} ({_ROLES[name]})' for name in missing)}",
            expected="HRK, HSK, CEK",
            actual=f"without {', '.join(missing)}",
            hint="give the certificates with --endorsements FILE (repeatable)",
        )
    log.passed("chain.complete")
    return pin


def choose_chain(
    pek: ChipCertificate, certificates: Iterable[Certificate], trust: TrustSet
) -> Chain:
    """Pick who plays which part: of all combinations, the first with the fewest failures."""
    distinct = list(dict.fromkeys(certificates))
    roots = [item for item in distinct if isinstance(item, RootCertificate)]
    hrks = [item for item in roots if item.usage == Usage.HRK]
    hsks = [item for item in roots if item.usage == Usage.HSK]
    ceks = [
        item for item in distinct if isinstance(item, ChipCertificate) and item.usage == Usage.CEK
    ]
    chains = [
        Chain(hrk, hsk, cek, pek)
        for hrk, hsk, cek in product(_or_none(hrks), _or_none(hsks), _or_none(ceks))
    ]
    return chains[0] if len(chains) == 1 else min(chains, key=lambda it: _failures(it, trust))


_T = TypeVar("_T")


def _or_none(found: Sequence[_T]) -> Sequence[_T | None]:
    return found or (None,)


def _failures(chain: Chain, trust: TrustSet) -> int:
    failures = sum(_problem(issuer, subject) is not None for _, issuer, subject in chain.links())
    return failures + (chain.hrk is not None and _find_pin(chain.hrk, trust) is None)


def _problem(issuer: Certificate, subject: Certificate) -> NotAuthenticError | None:
    try:
        require_issuer(issuer, subject)
    except NotAuthenticError as error:
        return error
    return None


def _find_pin(root: RootCertificate, trust: TrustSet) -> Pin | None:
    try:
        return trust.find("csv", key_fingerprint(root), root.uid)
    except NotAuthenticError:
        return None


def _check_report(report: CSVReport, log: CheckLog) -> None:
    expected = f"usage 0x{Usage.PEK:04x}, algorithm {ALGORITHM_SM2_SIGN}"
    actual = f"usage 0x{report.signature_usage:04x}, algorithm {report.signature_algorithm}"
    if actual != expected:
        log.refuse(
            "report.signer",
            "SIGNER_BAD",
            f"the report says it is signed with {actual}, and only {expected} exists",
            expected=expected,
            actual=actual,
            hint="these bytes are outside signature and MAC: they were changed on the way",
        )
    log.passed("report.signer")
    mac = hmac_sm3(report.mnonce, mac_input(report))
    if mac != report.mac:
        log.refuse(
            "report.mac",
            "MAC_BAD",
            "the report's MAC does not match its PEK, serial and reserved bytes",
            expected=mac.hex(),
            actual=report.mac.hex(),
            hint="was the report unmasked on the way? Its MAC holds for the raw form only",
        )
    log.passed("report.mac")
    if report.pek.usage != Usage.PEK:
        log.refuse(
            "pek.usage",
            "KEY_BAD",
            f"the report's certificate has usage 0x{report.pek.usage:04x}, not that of a PEK",
            expected=f"0x{Usage.PEK:04x}",
            actual=f"0x{report.pek.usage:04x}",
        )
    log.passed("pek.usage")
    try:
        signature = Signature(report.r, report.s)
        require_signature(report.pek, signed_bytes(report), signature, "report")
    except NotAuthenticError as error:
        log.refuse("report.signature", error.code, error.message)
    log.passed("report.signature")


def _check_links(chain: Chain, log: CheckLog) -> None:
    for name in ("pek", "cek", "hsk", "hrk"):
        log.unknown(f"{name}.signature", "ENDORSEMENT_MISSING")
    for check, issuer, subject in chain.links():
        error = _problem(issuer, subject)
        if error is not None:
            log.refuse(check, error.code, error.message, hint=_HINTS.get(error.code))
        log.passed(check)


_HINTS: Final = {
    "SIG_BAD": "is this certificate of the chip that the report is from?",
    "ISSUER_MISMATCH": "give the certificate that the id names",
}


def _check_root(chain: Chain, trust: TrustSet, log: CheckLog) -> Pin | None:
    if chain.hrk is None or chain.missing():
        log.unknown("root.pinned", "ENDORSEMENT_MISSING")
        return None
    fingerprint = key_fingerprint(chain.hrk)
    pin = _find_pin(chain.hrk, trust)
    if pin is None:
        name = chain.hrk.uid.decode("ascii", "backslashreplace")
        log.refuse(
            "root.pinned",
            "ROOT_UNTRUSTED",
            f"the chain ends in root {name!r} with key {fingerprint[:16]}...,"
            f" which is not among the {len(trust.pins)} pinned by --roots {trust.asked}",
            expected=", ".join(item.fingerprint for item in trust.pins) or "no root is pinned",
            actual=fingerprint,
            hint="`ctestbed attest roots` lists the pinned roots; a name proves nothing",
        )
    log.passed("root.pinned", actual=fingerprint)
    return pin


def _check_report_data(report: CSVReport, wanted: ReportData | None, log: CheckLog) -> None:
    if wanted is None:
        log.skipped("report.data")
        return
    expected, actual = wanted.field.hex(), report.report_data.hex()
    if expected != actual:
        nonce = wanted.option == "--nonce"
        log.refuse(
            "report.data",
            "NONCE_MISMATCH" if nonce else "REPORT_DATA_MISMATCH",
            f"the report carries other report data than {wanted.option} says",
            expected=expected,
            actual=actual,
            hint="a replayed report, another request's, or one masked anew",
        )
    log.passed("report.data", expected, actual)
