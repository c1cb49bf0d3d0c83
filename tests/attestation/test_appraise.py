"""What a policy makes of authentic evidence, and which claims are bound by what."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.attestation import appraise
from ctestbed.attestation.appraise.csv import CSVPolicy
from ctestbed.attestation.checks import PRECEDENCE, decide
from ctestbed.core.errors import ExitCode, InputError
from ctestbed.evidence.csv_report import parse_report
from tests.attestation import forge
from tests.attestation.judging import assert_refused, codes, failed, outcome, trust

CHIP = forge.machine()
REPORT = forge.report(CHIP)
TRUST = trust(CHIP.hrk)
DEBUGGABLE = forge.report(CHIP, policy=0x40000000)


def test_debugging_is_refused_unless_allowed() -> None:
    refused = outcome(DEBUGGABLE, CHIP.bundle, TRUST, data=forge.DATA)
    assert refused.exit_code is ExitCode.POLICY_REFUSED
    assert refused.verdict == "contraindicated"
    assert failed(refused) == [("policy.debug", "DEBUG_ON")]
    allowed = outcome(
        DEBUGGABLE, CHIP.bundle, TRUST, data=forge.DATA, policy=CSVPolicy(allow_debug=True)
    )
    assert (allowed.exit_code, allowed.verdict) == (ExitCode.OK, "warning")
    assert allowed.log["policy.debug"].status == "skip"
    assert "DEBUG_ON" in codes(allowed)
    strict = outcome(
        DEBUGGABLE,
        CHIP.bundle,
        TRUST,
        data=forge.DATA,
        policy=CSVPolicy(allow_debug=True),
        strict=True,
    )
    assert strict.exit_code is ExitCode.POLICY_REFUSED


def test_appraisal_gathers_every_failure() -> None:
    judgement = outcome(DEBUGGABLE, CHIP.bundle, TRUST, policy=CSVPolicy(bytes(32)))
    assert failed(judgement) == [
        ("report.measurement", "MEASUREMENT_MISMATCH"),
        ("policy.debug", "DEBUG_ON"),
    ]
    assert codes(judgement) == {"CSV_V1_FIELDS_UNBOUND", "MEASUREMENT_MISMATCH", "DEBUG_ON"}


def test_the_trust_vector_claims_no_hardware_of_an_emulated_root() -> None:
    for root_class, tier in (("vendor", 2), ("user", 2), ("emulated", 0)):
        roots = trust(CHIP.hrk, root_class=root_class)  # type: ignore[arg-type]
        judgement = outcome(REPORT, CHIP.bundle, roots, data=forge.DATA)
        assert judgement.appraisal is not None
        assert judgement.verdict == "affirming"
        assert judgement.appraisal.vector["hardware"] == tier


def test_a_measurement_alone_binds_the_rest() -> None:
    judgement = outcome(REPORT, CHIP.bundle, TRUST, policy=CSVPolicy(forge.MEASURE))
    assert judgement.verdict == "affirming"
    assert judgement.appraisal is not None
    assert judgement.appraisal.claims["policy"]["held_by"] == "measurement"
    assert judgement.appraisal.vector["executables"] == 3


@given(st.binary(min_size=4, max_size=4))
def test_whoever_masks_anew_is_caught_by_a_bound_field(anonce: bytes) -> None:
    content = forge.remask(forge.wire(REPORT), anonce)
    attacked = parse_report(content)
    same = anonce == forge.wire(REPORT)[188:192]
    with_data = outcome(attacked, CHIP.bundle, TRUST, data=forge.DATA)
    with_measure = outcome(attacked, CHIP.bundle, TRUST, policy=CSVPolicy(forge.MEASURE))
    alone = outcome(attacked, CHIP.bundle, TRUST, policy=CSVPolicy(allow_debug=True))
    assert (with_data.exit_code == 0) == same
    assert (with_measure.exit_code == 0) == same
    assert (alone.exit_code, alone.verdict) == (ExitCode.OK, "warning")


def test_signature_usage_and_algorithm_are_held_by_their_value() -> None:
    for other in (
        forge.report(CHIP, signature_usage=0x1001),
        forge.report(CHIP, signature_algorithm=5),
    ):
        judgement = outcome(other, CHIP.bundle, TRUST, data=forge.DATA)
        assert_refused(judgement, ExitCode.NOT_AUTHENTIC, "report.signer", "SIGNER_BAD")


def test_the_serial_can_be_anybodys_and_is_never_bound() -> None:
    attacked = forge.remac(replace(REPORT, serial=b"ANOTHER CHIP".ljust(64, b"\0")))
    judgement = outcome(attacked, CHIP.bundle, TRUST, data=forge.DATA)
    assert judgement.verdict == "affirming"
    assert judgement.appraisal is not None
    serial = judgement.appraisal.claims["chip_serial"]
    assert serial == {"value": "ANOTHER CHIP", "bound": False, "held_by": None}


def test_a_guest_that_chooses_its_report_data_is_caught_by_the_measurement_alone() -> None:
    """A debuggable guest asks for data one bit off; another mask shifts data and policy back."""
    shift = b"\1\0\0\0"
    asked = bytes(a ^ b for a, b in zip(forge.DATA, shift * 16, strict=True))
    honest = forge.wire(forge.report(CHIP, policy=0, report_data=asked))
    anonce = bytes(a ^ b for a, b in zip(honest[188:192], shift, strict=True))
    attacked = parse_report(forge.remask(honest, anonce))
    alone = outcome(attacked, CHIP.bundle, TRUST, data=forge.DATA)
    assert (alone.exit_code, alone.verdict) == (ExitCode.OK, "affirming")
    assert alone.appraisal is not None
    policy = alone.appraisal.claims["policy_flags"]
    assert policy == {"value": ["NODBG"], "bound": True, "held_by": "report data"}
    both = outcome(attacked, CHIP.bundle, TRUST, data=forge.DATA, policy=CSVPolicy(forge.MEASURE))
    caught = [("report.measurement", "MEASUREMENT_MISMATCH")]
    assert (both.exit_code, failed(both)) == (ExitCode.POLICY_REFUSED, caught)


@pytest.mark.parametrize(
    ("change", "check", "code"),
    [
        ({"mac": bytes(32)}, "report.mac", "MAC_BAD"),
        ({"serial": bytes(64)}, "report.mac", "MAC_BAD"),
        ({"reserved": bytes(32)}, "report.mac", "MAC_BAD"),
        ({"r": 1}, "report.signature", "SIG_BAD"),
        ({"s": 0}, "report.signature", "SIG_BAD"),
        ({"s": 2**256 - 1}, "report.signature", "SIG_BAD"),
        ({"policy": 3}, "report.signature", "SIG_BAD"),
        ({"report_data": bytes(64)}, "report.signature", "SIG_BAD"),
    ],
)
def test_a_changed_report_is_not_authentic(
    change: dict[str, object], check: str, code: str
) -> None:
    changed = replace(REPORT, **change)  # type: ignore[arg-type]
    judgement = outcome(changed, CHIP.bundle, TRUST)
    assert_refused(judgement, ExitCode.NOT_AUTHENTIC, check, code)


def test_a_report_of_a_pek_off_the_curve_is_not_authentic() -> None:
    off = replace(CHIP.pek, x=CHIP.pek.x ^ 1)
    judgement = outcome(forge.report(replace(CHIP, pek=off)), CHIP.bundle, TRUST)
    assert_refused(judgement, ExitCode.NOT_AUTHENTIC, "report.signature", "KEY_BAD")


def test_requiring_an_unknown_check_suggests_the_nearest() -> None:
    with pytest.raises(InputError) as refusal:
        outcome(REPORT, CHIP.bundle, TRUST, require=("report.dat",))
    assert refusal.value.code == "CTB-A004"
    assert "report.data" in str(refusal.value.hint)


def test_requiring_a_check_that_failed_adds_nothing() -> None:
    judgement = outcome(REPORT, CHIP.bundle, TRUST, data=bytes(64), require=("report.data",))
    assert_refused(judgement, ExitCode.NOT_FRESH, "report.data", "NONCE_MISMATCH")


def test_the_first_of_3_11_13_14_12_decides() -> None:
    assert [int(code) for code in PRECEDENCE] == [3, 11, 13, 14, 12]
    assert decide(reversed(PRECEDENCE)) is ExitCode.INPUT
    assert decide([ExitCode.POLICY_REFUSED, ExitCode.UNDECIDED]) is ExitCode.UNDECIDED
    assert decide([]) is ExitCode.OK


def test_appraise_does_not_know_verify() -> None:
    for path in Path(appraise.__file__).parent.glob("*.py"):
        names = [
            node.module or ""
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom)
        ]
        assert not any("verify" in name or "crypto" in name for name in names)
