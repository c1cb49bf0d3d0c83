"""`attest verify`: evidence, its certificates, trust anchors and expectations to a verdict."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from typing_extensions import TypedDict

from ctestbed.attestation.appraise.csv import Claim, CSVPolicy, TrustVector, Verdict
from ctestbed.attestation.checks import Check, Status
from ctestbed.attestation.judge import FORMAT, Expectations, Judgement, Named, judge
from ctestbed.attestation.roots.pins import RootClass, load_trust
from ctestbed.core.errors import InputError
from ctestbed.core.files import exists, read_input
from ctestbed.core.result import InputFile, Result
from ctestbed.evidence.csv_bundle import MAX_BUNDLE_SIZE
from ctestbed.evidence.report_data import parse_report_data

CERTIFICATES_SUFFIX: Final = ".certs"
MAX_EVIDENCE_SIZE: Final = 64 * 1024
_MEASUREMENT_SIZE: Final = 32


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """Verify one evidence file. Text as the user wrote it; `measurement` is hex.

    Without `endorsements`, EVIDENCE.certs is read if it is there. `roots`: vendor, emulated,
    user, or a path.
    """

    evidence: str
    endorsements: tuple[str, ...] = ()
    roots: str = "vendor"
    state_dir: Path | None = None
    nonce: str | None = None
    report_data: str | None = None
    measurement: str | None = None
    allow_debug: bool = False
    strict: bool = False
    require: tuple[str, ...] = ()


class CheckData(TypedDict):
    """One check. `range` is bytes of the evidence; absent parts are null."""

    id: str
    status: Status
    code: str | None
    field: str | None
    range: str | None
    expected: str | None
    actual: str | None
    reference: str


class RootData(TypedDict):
    """The root the chain ends in, pinned or not: its name and key fingerprint."""

    name: str
    fingerprint: str


class VerifyData(TypedDict):
    """The outcome. `root_class` is null unless the root is pinned; `padding` counts zero bytes."""

    verdict: Verdict
    root_class: RootClass | None
    root: RootData | None
    platform: str
    format: str | None
    padding: int | None
    trust_vector: TrustVector | None
    checks: list[CheckData]
    claims: dict[str, Claim]


def run_verify(request: VerifyRequest) -> Result:
    """Read what the request names and judge it; the checks made are kept, whatever the verdict.

    Raises:
        InputError: a file that cannot be read, or a malformed option.
    """
    wanted = Expectations(
        parse_report_data(request.nonce, request.report_data),
        CSVPolicy(_parse_measurement(request.measurement), request.allow_debug),
        request.strict,
        request.require,
    )
    trust = load_trust(request.roots, request.state_dir)
    evidence = _read(request.evidence, MAX_EVIDENCE_SIZE, "evidence")
    endorsements = [
        _read(name, MAX_BUNDLE_SIZE, "endorsements") for name in _endorsement_names(request)
    ]
    judgement = judge(evidence, endorsements, trust, wanted)
    inputs = [InputFile.of(item.name, item.content) for item in (evidence, *endorsements)]
    if trust.source is not None:
        inputs.append(trust.source)
    return Result(
        "ctestbed.attest.verify/1",
        judgement_data(judgement),
        findings=tuple(judgement.findings),
        inputs=tuple(inputs),
        exit_code=judgement.exit_code,
    )


def judgement_data(judgement: Judgement) -> VerifyData:
    """Return a judgement as data."""
    root: RootData | None = None
    if judgement.root_identity is not None:
        root = {"name": judgement.root_identity[0], "fingerprint": judgement.root_identity[1]}
    if judgement.root is not None:
        root = {"name": judgement.root.name, "fingerprint": judgement.root.fingerprint}
    appraisal = judgement.appraisal
    return {
        "verdict": judgement.verdict,
        "root_class": judgement.root.root_class if judgement.root else None,
        "root": root,
        "platform": "csv",
        "format": None if judgement.padding is None else FORMAT,
        "padding": judgement.padding,
        "trust_vector": appraisal.vector if appraisal else None,
        "checks": [_check_data(check) for check in judgement.log.checks],
        "claims": appraisal.claims if appraisal else {},
    }


def _check_data(check: Check) -> CheckData:
    return {
        "id": check.id,
        "status": check.status,
        "code": check.code,
        "field": check.field or None,
        "range": check.span or None,
        "expected": check.expected,
        "actual": check.actual,
        "reference": check.reference,
    }


def _read(name: str, limit: int, what: str) -> Named:
    return Named(name, read_input(name, limit=limit, what=what))


def _endorsement_names(request: VerifyRequest) -> tuple[str, ...]:
    if request.endorsements or request.evidence == "-":
        return request.endorsements
    beside = request.evidence + CERTIFICATES_SUFFIX
    return (beside,) if exists(Path(beside)) else ()


def _parse_measurement(text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        value = bytes.fromhex(text)
    except ValueError:
        value = b""
    if len(value) != _MEASUREMENT_SIZE:
        raise InputError(
            "CTB-A005",
            f"--measurement {text[:80]!r} is not {_MEASUREMENT_SIZE} bytes of hex",
            hint=f"write {2 * _MEASUREMENT_SIZE} hex digits",
        )
    return value
