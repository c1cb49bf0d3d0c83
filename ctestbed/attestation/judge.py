"""Verify, then appraise: one piece of evidence, from bytes to a verdict."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ctestbed.attestation.appraise import csv as appraise
from ctestbed.attestation.checks import Check, CheckFailedError, CheckLog, decide
from ctestbed.attestation.csv_key import key_fingerprint
from ctestbed.attestation.roots.pins import Pin, TrustSet
from ctestbed.attestation.verify import csv as verify
from ctestbed.core.errors import CtestbedError, ExitCode, InputError, UndecidedError, Where
from ctestbed.core.names import did_you_mean
from ctestbed.core.result import Finding
from ctestbed.evidence.csv_bundle import parse_bundle
from ctestbed.evidence.csv_certificate import Certificate, usage_name
from ctestbed.evidence.csv_report import CSVReport, ReportFile, parse_report_file
from ctestbed.evidence.report_data import ReportData

FORMAT: Final = "csv-report-v1"

_FORMAT_CHECKS: Final = (
    Check("evidence.format", ExitCode.INPUT, "", "0-2547", "csv-rs: src/api/guest/types.rs"),
    Check("endorsements.format", ExitCode.INPUT, "endorsements", "", "csv-rs: src/certs"),
)
CHECKS: Final = (*_FORMAT_CHECKS, *verify.CHECKS, *appraise.CHECKS)
"""Every check of CSV evidence, in order."""
MAX_CERTIFICATES: Final = 32
"""Different certificates; bounds the combinations that are tried."""


@dataclass(frozen=True, slots=True)
class Named:
    """Content and the name the user knows it by."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Expectations:
    """What a relying party asks for. `require` are checks that must have passed."""

    report_data: ReportData | None = None
    policy: appraise.CSVPolicy = field(default_factory=appraise.CSVPolicy)
    strict: bool = False
    require: tuple[str, ...] = ()


@dataclass(slots=True)
class Judgement:
    """What came of it, filled as far as it went. `root_identity` is the HRK's own name."""

    log: CheckLog
    findings: list[Finding] = field(default_factory=list)
    failures: list[ExitCode] = field(default_factory=list)
    root: Pin | None = None
    root_identity: tuple[str, str] | None = None
    appraisal: appraise.Appraisal | None = None
    padding: int | None = None

    @property
    def exit_code(self) -> ExitCode:
        """The code of the failure that decides, or OK."""
        return decide(self.failures)

    @property
    def verdict(self) -> appraise.Verdict:
        """Appraisal's verdict; none where the evidence is not authentic, fresh and complete."""
        return self.appraisal.verdict if self.appraisal else "none"


def judge(
    evidence: Named, endorsements: Sequence[Named], trust: TrustSet, wanted: Expectations
) -> Judgement:
    """Judge a CSV report with its certificates; raises nothing that evidence can cause.

    Raises:
        InputError: `wanted.require` names a check that does not exist.
    """
    for name in wanted.require:
        if name not in {check.id for check in CHECKS}:
            raise InputError(
                "CTB-A004",
                f"--require {name!r} names no check",
                hint=did_you_mean(name, [check.id for check in CHECKS]),
            )
    judgement = Judgement(CheckLog(CHECKS))
    _note_padding(wanted.report_data, judgement)
    try:
        file = _parse_evidence(evidence, judgement)
        certificates = _parse_endorsements(endorsements, judgement)
        _verify(file.report, certificates, trust, wanted, judgement)
    except CheckFailedError as error:
        judgement.findings.append(Finding.of_error(error))
        judgement.failures.append(error.check.decides)
    _apply_strictness(wanted, judgement)
    return judgement


def _verify(
    report: CSVReport,
    certificates: tuple[Certificate, ...],
    trust: TrustSet,
    wanted: Expectations,
    judgement: Judgement,
) -> None:
    chain = verify.choose_chain(report.pek, certificates, trust)
    _note_unused(chain, certificates, judgement)
    if chain.hrk is not None:
        judgement.root_identity = _identity(chain.hrk)
    log = judgement.log
    judgement.root = verify.verify_report(report, chain, trust, wanted.report_data, log)
    judgement.appraisal = appraise.appraise_report(
        report,
        wanted.policy,
        log,
        data_matched=log["report.data"].status == "pass",
        emulated=judgement.root.root_class == "emulated",
    )
    judgement.findings += judgement.appraisal.findings
    if judgement.verdict == "contraindicated":
        judgement.failures.append(ExitCode.POLICY_REFUSED)


def _parse_evidence(evidence: Named, judgement: Judgement) -> ReportFile:
    try:
        file = parse_report_file(evidence.content)
    except (InputError, UndecidedError) as error:
        raise _malformed(judgement, "evidence.format", evidence.name, error) from None
    judgement.padding = file.padding
    judgement.log.passed("evidence.format")
    return file


def _parse_endorsements(
    endorsements: Sequence[Named], judgement: Judgement
) -> tuple[Certificate, ...]:
    """Return the distinct certificates, in the order given."""
    certificates: dict[Certificate, None] = {}
    for item in endorsements:
        try:
            certificates |= dict.fromkeys(parse_bundle(item.content))
        except InputError as error:
            raise _malformed(judgement, "endorsements.format", item.name, error) from None
    if len(certificates) > MAX_CERTIFICATES:
        judgement.log.refuse(
            "endorsements.format",
            "ENDORSEMENTS_TOO_MANY",
            f"{len(certificates)} different certificates were given, and {MAX_CERTIFICATES} are"
            " more than any chain needs",
            hint="give those of this chip only",
        )
    if endorsements:
        judgement.log.passed("endorsements.format")
    else:
        judgement.log.unknown("endorsements.format", "ENDORSEMENT_MISSING")
    return tuple(certificates)


def _malformed(
    judgement: Judgement, check: str, name: str, error: CtestbedError
) -> CheckFailedError:
    """Say which file is malformed, and where in it; an unknown version decides as itself (14)."""
    failed = judgement.log.failed(check, error.code, actual=error.message)
    refusal = CheckFailedError(replace(failed, decides=error.exit_code), error.message, error.hint)
    pointer = error.where.pointer if error.where else None
    refusal.where = Where(file=name, pointer=pointer)
    return refusal


def _apply_strictness(wanted: Expectations, judgement: Judgement) -> None:
    """Turn a warning under --strict, and a required check that did not pass, into failures."""
    if wanted.strict and judgement.verdict == "warning":
        judgement.failures.append(ExitCode.POLICY_REFUSED)
    for name in wanted.require:
        check = judgement.log[name]
        if check.status in {"pass", "fail"}:
            continue
        judgement.findings.append(
            Finding(
                "CHECK_NOT_PASSED",
                "error",
                f"required check {name} did not pass: {check.status}",
                Where(pointer=check.field or None),
                "give what the check compares with, or drop --require",
            )
        )
        judgement.failures.append(check.decides)


def _note_padding(data: ReportData | None, judgement: Judgement) -> None:
    if data is not None and data.padded:
        judgement.findings.append(
            Finding(
                "REPORT_DATA_PADDED",
                "note",
                f"{data.option} has {data.given} bytes: compared as 64, with zero bytes after it",
            )
        )


def _note_unused(
    chain: verify.Chain, certificates: Iterable[Certificate], judgement: Judgement
) -> None:
    used = {chain.hrk, chain.hsk, chain.cek}
    unused = [usage_name(item.usage) for item in certificates if item not in used]
    if unused:
        judgement.findings.append(
            Finding(
                "ENDORSEMENT_UNUSED",
                "note",
                f"certificates that play no part in this chain were left aside: "
                f"{', '.join(sorted(unused))}",
            )
        )


def _identity(root: Certificate) -> tuple[str, str] | None:
    try:
        fingerprint = key_fingerprint(root)
    except CtestbedError:
        return None
    return root.uid.decode("ascii", "backslashreplace"), fingerprint
