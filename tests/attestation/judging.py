"""Judge forged evidence in one call."""

from collections.abc import Sequence
from typing import Any

from ctestbed.attestation.appraise.csv import CSVPolicy
from ctestbed.attestation.csv_key import key_fingerprint
from ctestbed.attestation.judge import Expectations, Judgement, Named, judge
from ctestbed.attestation.roots.pins import Pin, RootClass, TrustSet
from ctestbed.core.errors import ExitCode
from ctestbed.evidence.csv_bundle import dump_bundle
from ctestbed.evidence.csv_certificate import Certificate, RootCertificate
from ctestbed.evidence.csv_report import CSVReport, dump_report
from ctestbed.evidence.report_data import ReportData


def trust(*roots: RootCertificate, root_class: RootClass = "user") -> TrustSet:
    pins = (Pin("a root", "csv", key_fingerprint(root), "a test", root_class) for root in roots)
    return TrustSet("user", tuple(pins))


def outcome(
    report: CSVReport,
    certificates: Sequence[Certificate],
    roots: TrustSet,
    *,
    data: bytes | None = None,
    policy: CSVPolicy | None = None,
    **wanted: Any,
) -> Judgement:
    expected = None if data is None else ReportData(data, len(data), "--nonce")
    bundle = [Named("certs", dump_bundle(certificates))] if certificates else []
    return judge(
        Named("ev.bin", dump_report(report)),
        bundle,
        roots,
        Expectations(expected, policy or CSVPolicy(), **wanted),
    )


def codes(judgement: Judgement) -> set[str]:
    return {finding.code for finding in judgement.findings}


def failed(judgement: Judgement) -> list[tuple[str, str | None]]:
    return [(check.id, check.code) for check in judgement.log.checks if check.status == "fail"]


def assert_refused(judgement: Judgement, exit_code: ExitCode, check: str, code: str) -> None:
    """The verdict is none, and the one failed check is named in data and in a finding."""
    assert judgement.exit_code is exit_code
    assert judgement.verdict == "none"
    assert judgement.appraisal is None
    assert failed(judgement) == [(check, code)]
    assert any(
        finding.code == code and finding.message.startswith(f"{check}: ")
        for finding in judgement.findings
    )
