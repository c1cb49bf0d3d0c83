"""`evidence make`: have a VM of a state directory ask its secure processor for a report."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from typing_extensions import TypedDict

from ctestbed.core.errors import InputError
from ctestbed.core.result import Finding, Result
from ctestbed.evidence.csv_report import CSVReport, dump_report, serial_text
from ctestbed.evidence.report_data import ReportData, parse_report_data
from ctestbed.tee.host import resume_vm
from ctestbed.tee.state import StateDirectory

CERTS_SUFFIX: Final = ".certs"
"""Added to the evidence's file name, it names the file of its endorsements."""


@dataclass(frozen=True, slots=True)
class MakeEvidenceRequest:
    """Ask a VM for evidence over `nonce` (hex) or `report_data` (hex, or `text:...`)."""

    state_dir: Path
    name: str
    nonce: str | None = None
    report_data: str | None = None


class MakeData(TypedDict):
    """What the evidence carries that its maker can vouch for; `report_data` is all 64 bytes."""

    name: str
    platform: str
    format: str
    report_data: str
    report_data_given: int
    measurement: str
    policy: int
    evidence_bytes: int
    endorsement_bytes: int


@dataclass(frozen=True, slots=True)
class MadeEvidence:
    """The result, the report, and HRK || HSK || CEK, which goes beside it as `*.certs`."""

    result: Result
    evidence: bytes
    endorsements: bytes


def run_make_evidence(request: MakeEvidenceRequest) -> MadeEvidence:
    """Make evidence. Nothing is written: the caller writes both files, or neither.

    What is fresh in a report (mnonce, anonce, its digest) stands under the result's `run`.

    Raises:
        InputError: no such VM, damaged state, a bad nonce, no nonce, or a platform that signs
            no evidence.
    """
    asked = parse_report_data(request.nonce, request.report_data)
    if asked is None:
        raise InputError(
            "CTB-M070",
            "evidence binds nothing fresh without --nonce or --report-data",
            hint="add --nonce with hex digits that your verifier chose",
        )
    state = StateDirectory(request.state_dir)
    with state.shared():
        machine, vm = resume_vm(state, request.name)
        report = machine.attest(vm, asked.field)
    evidence = dump_report(report)
    endorsements = b"" if machine.chip is None else machine.chip.endorsements
    data: MakeData = {
        "name": vm.record.name,
        "platform": vm.record.platform,
        "format": machine.profile.evidence.format.value,
        "report_data": report.report_data.hex(),
        "report_data_given": asked.given,
        "measurement": report.measure.hex(),
        "policy": report.policy,
        "evidence_bytes": len(evidence),
        "endorsement_bytes": len(endorsements),
    }
    result = Result(
        "ctestbed.evidence.make/1",
        data,
        _padding_note(asked),
        run={"state_dir": str(state.path), **_fresh(report, evidence)},
    )
    return MadeEvidence(result, evidence, endorsements)


def _padding_note(asked: ReportData) -> tuple[Finding, ...]:
    if not asked.padded:
        return ()
    message = f"{asked.option} has {asked.given} bytes; zeros fill the report's 64"
    return (Finding("CTB-M071", "note", message),)


def _fresh(report: CSVReport, evidence: bytes) -> dict[str, str]:
    return {
        "mnonce": report.mnonce.hex(),
        "anonce": f"{report.anonce:08x}",
        "serial": serial_text(report),
        "evidence_sha256": sha256(evidence).hexdigest(),
    }
