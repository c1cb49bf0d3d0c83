"""Every link of a chain, broken one at a time; missing, doubled and foreign certificates."""

from dataclasses import replace

import pytest

from ctestbed.attestation.judge import MAX_CERTIFICATES
from ctestbed.core.errors import ExitCode
from ctestbed.crypto.sm2 import PublicKey
from ctestbed.evidence.csv_certificate import (
    EMPTY_SLOT,
    Certificate,
    ChipCertificate,
    RootCertificate,
    SignatureSlot,
    Usage,
)
from tests.attestation import forge
from tests.attestation.judging import assert_refused, codes, failed, outcome, trust

CHIP = forge.machine()
REPORT = forge.report(CHIP)
TRUST = trust(CHIP.hrk)
OTHER = forge.machine("2")


def test_a_whole_chain_holds() -> None:
    judgement = outcome(REPORT, CHIP.bundle, TRUST, data=forge.DATA)
    assert judgement.exit_code is ExitCode.OK
    assert judgement.verdict == "affirming"
    assert judgement.root is not None
    assert failed(judgement) == []
    made = {check.id for check in judgement.log.checks if check.status == "pass"}
    skipped = {check.id for check in judgement.log.checks if check.status == "skip"}
    assert skipped == {"report.measurement"}
    assert len(made) == len(judgement.log.checks) - 1


def test_order_and_repetition_of_certificates_do_not_matter() -> None:
    jumbled = (CHIP.cek, CHIP.hrk, CHIP.cek, CHIP.hsk, CHIP.hrk)
    judgement = outcome(REPORT, jumbled, TRUST, data=forge.DATA)
    assert judgement.verdict == "affirming"
    assert "ENDORSEMENT_UNUSED" not in codes(judgement)


def _flip(certificate: RootCertificate, field: str) -> RootCertificate:
    return replace(certificate, **{field: getattr(certificate, field) ^ 1})


def _chip(certificate: ChipCertificate, **changes: object) -> ChipCertificate:
    return replace(certificate, **changes)  # type: ignore[arg-type]


def _slot(certificate: ChipCertificate, **changes: object) -> ChipCertificate:
    slot = replace(certificate.signature_0, **changes)  # type: ignore[arg-type]
    return replace(certificate, signature_0=slot)


NOT_ON_CURVE = 5

LINKS: list[tuple[str, tuple[Certificate, ...], str, str]] = [
    ("HRK's own signature", (_flip(CHIP.hrk, "r"), CHIP.hsk, CHIP.cek), "hrk.signature", "SIG_BAD"),
    ("HRK alone", (_flip(CHIP.hrk, "s"),), "hrk.signature", "SIG_BAD"),
    (
        "HRK of another signer",
        (forge.root_certificate(Usage.HRK, "HRK", "HRK", signer_id=b"x" * 16), CHIP.hsk, CHIP.cek),
        "hsk.signature",
        "SIG_BAD",
    ),
    ("HSK's signature", (CHIP.hrk, _flip(CHIP.hsk, "s"), CHIP.cek), "hsk.signature", "SIG_BAD"),
    ("HSK's signature, no CEK", (CHIP.hrk, _flip(CHIP.hsk, "r")), "hsk.signature", "SIG_BAD"),
    ("HSK under another HRK", (OTHER.hrk, CHIP.hsk, CHIP.cek), "hsk.signature", "ISSUER_MISMATCH"),
    ("CEK's signature", (CHIP.hrk, CHIP.hsk, _slot(CHIP.cek, r=1)), "pek.signature", ""),
    ("CEK's signature, no HRK", (CHIP.hsk, _slot(CHIP.cek, s=1)), "cek.signature", "SIG_BAD"),
    ("CEK of another HSK", (CHIP.hrk, OTHER.hsk, CHIP.cek), "cek.signature", "ISSUER_MISMATCH"),
    ("CEK of another chip", (CHIP.hrk, CHIP.hsk, OTHER.cek), "pek.signature", "SIG_BAD"),
    ("CEK of another chip alone", (OTHER.cek,), "pek.signature", "SIG_BAD"),
    (
        "CEK signed by nobody",
        (CHIP.hrk, CHIP.hsk, _chip(CHIP.cek, signature_0=EMPTY_SLOT)),
        "cek.signature",
        "SIG_BAD",
    ),
    (
        "CEK signed with another algorithm",
        (CHIP.hrk, CHIP.hsk, _slot(CHIP.cek, algorithm=5)),
        "cek.signature",
        "SIG_BAD",
    ),
    ("CEK on another curve", (_chip(CHIP.cek, curve=2),), "pek.signature", "KEY_BAD"),
    ("CEK for key agreement", (_chip(CHIP.cek, algorithm=5),), "pek.signature", "KEY_BAD"),
    (
        "HRK off the curve",
        (replace(CHIP.hrk, x=NOT_ON_CURVE), CHIP.hsk, CHIP.cek),
        "hsk.signature",
        "KEY_BAD",
    ),
    ("CEK off the curve", (_chip(CHIP.cek, x=NOT_ON_CURVE),), "pek.signature", "KEY_BAD"),
]


@pytest.mark.parametrize(
    ("certificates", "check", "code"), [link[1:] for link in LINKS], ids=[link[0] for link in LINKS]
)
def test_a_broken_link_is_not_authentic(
    certificates: tuple[Certificate, ...], check: str, code: str
) -> None:
    if not code:  # a slot is outside the signed bytes: the PEK's link still holds
        check, code = "cek.signature", "SIG_BAD"
    judgement = outcome(REPORT, certificates, TRUST)
    assert_refused(judgement, ExitCode.NOT_AUTHENTIC, check, code)


def test_a_broken_link_outweighs_a_wrong_nonce_and_a_missing_root() -> None:
    judgement = outcome(REPORT, (CHIP.hsk, _slot(CHIP.cek, s=1)), TRUST, data=bytes(64))
    assert_refused(judgement, ExitCode.NOT_AUTHENTIC, "cek.signature", "SIG_BAD")


def test_a_wrong_nonce_outweighs_a_missing_root() -> None:
    judgement = outcome(REPORT, (CHIP.hsk, CHIP.cek), TRUST, data=bytes(64))
    assert_refused(judgement, ExitCode.NOT_FRESH, "report.data", "NONCE_MISMATCH")


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ((), ["HRK", "HSK", "CEK"]),
        ((CHIP.hrk,), ["HSK", "CEK"]),
        ((CHIP.hsk,), ["HRK", "CEK"]),
        ((CHIP.cek,), ["HRK", "HSK"]),
        ((CHIP.hsk, CHIP.cek), ["HRK"]),
        ((CHIP.hrk, CHIP.cek), ["HSK"]),
        ((CHIP.hrk, CHIP.hsk), ["CEK"]),
    ],
)
def test_what_is_missing_is_named(given: tuple[Certificate, ...], missing: list[str]) -> None:
    judgement = outcome(REPORT, given, TRUST, data=forge.DATA)
    assert_refused(judgement, ExitCode.UNDECIDED, "chain.complete", "ENDORSEMENT_MISSING")
    message = next(f.message for f in judgement.findings if f.code == "ENDORSEMENT_MISSING")
    named = [name for name in ("HRK", "HSK", "CEK") if f"{name} (" in message]
    assert named == missing


def test_a_root_of_the_same_name_with_another_key_is_refused() -> None:
    impostor = forge.machine("2", uid="UID-HRK-NAME")
    assert impostor.hrk.uid == CHIP.hrk.uid
    report = forge.report(impostor, "2")
    judgement = outcome(report, impostor.bundle, TRUST)
    assert_refused(judgement, ExitCode.NOT_AUTHENTIC, "root.pinned", "ROOT_UNTRUSTED")


def test_an_unpinned_root_outweighs_a_wrong_nonce() -> None:
    judgement = outcome(REPORT, CHIP.bundle, trust(OTHER.hrk), data=bytes(64))
    assert_refused(judgement, ExitCode.NOT_AUTHENTIC, "root.pinned", "ROOT_UNTRUSTED")


def test_an_unpinned_root_of_an_incomplete_chain_cannot_be_decided() -> None:
    judgement = outcome(REPORT, (CHIP.hrk, CHIP.cek), trust(OTHER.hrk))
    assert_refused(judgement, ExitCode.UNDECIDED, "chain.complete", "ENDORSEMENT_MISSING")
    assert judgement.log["root.pinned"].status == "unknown"


def test_another_chips_certificates_beside_the_right_ones_change_nothing() -> None:
    for order in ((*OTHER.bundle, *CHIP.bundle), (*CHIP.bundle, *OTHER.bundle)):
        judgement = outcome(REPORT, order, TRUST, data=forge.DATA)
        assert judgement.verdict == "affirming"
        assert "ENDORSEMENT_UNUSED" in codes(judgement)


def test_damaged_doubles_of_every_certificate_change_nothing() -> None:
    doubles = (
        replace(CHIP.hrk, x=NOT_ON_CURVE),
        _flip(CHIP.hrk, "s"),
        _flip(CHIP.hsk, "s"),
        _slot(CHIP.cek, s=1),
    )
    judgement = outcome(REPORT, (*doubles, *CHIP.bundle), TRUST, data=forge.DATA)
    assert judgement.verdict == "affirming"


def test_of_two_roots_the_pinned_one_is_taken() -> None:
    # Two roots of one key id, both of which signed an HSK of one key: only the pin tells.
    impostor = forge.machine(hrk="HRK-B")
    twin = replace(impostor.hrk, key_id=CHIP.hrk.key_id)
    judgement = outcome(REPORT, (twin, *CHIP.bundle), TRUST, data=forge.DATA)
    assert judgement.verdict == "affirming"


def test_parts_of_two_chains_make_no_chain() -> None:
    # Every certificate is genuine of its own chain, and no combination holds.
    judgement = outcome(REPORT, (OTHER.hrk, OTHER.hsk, CHIP.cek), trust(CHIP.hrk, OTHER.hrk))
    assert_refused(judgement, ExitCode.NOT_AUTHENTIC, "cek.signature", "ISSUER_MISMATCH")


def test_other_purposes_are_left_aside_and_named() -> None:
    oca = _chip(CHIP.cek, usage=Usage.OCA)
    pdh = _chip(CHIP.cek, usage=Usage.PDH, algorithm=5)
    odd = replace(CHIP.hsk, usage=7)
    judgement = outcome(REPORT, (oca, pdh, CHIP.pek, odd, *CHIP.bundle), TRUST, data=forge.DATA)
    assert judgement.verdict == "affirming"
    message = next(f.message for f in judgement.findings if f.code == "ENDORSEMENT_UNUSED")
    assert all(name in message for name in ("OCA", "PDH", "PEK", "0x0007"))


def test_a_pek_cannot_stand_in_for_a_cek() -> None:
    # A PEK that signs another PEK, as if it were a CEK: its usage, which is signed, says no.
    inner = forge.chip_certificate(Usage.PEK, "PEK2", "PEK", Usage.PEK)
    chip = forge.Machine(CHIP.hrk, CHIP.hsk, CHIP.cek, inner)
    judgement = outcome(forge.report(chip, "2"), (*CHIP.bundle, CHIP.pek), TRUST)
    assert_refused(judgement, ExitCode.NOT_AUTHENTIC, "pek.signature", "SIG_BAD")


def test_a_certificate_of_another_usage_signs_no_report() -> None:
    chip = forge.Machine(
        CHIP.hrk,
        CHIP.hsk,
        CHIP.cek,
        forge.chip_certificate(Usage.OCA, "PEK", "CEK", Usage.CEK),
    )
    judgement = outcome(forge.report(chip), CHIP.bundle, TRUST)
    assert_refused(judgement, ExitCode.NOT_AUTHENTIC, "pek.usage", "KEY_BAD")


def test_either_signature_slot_may_hold_the_issuers() -> None:
    owner = SignatureSlot(Usage.OCA, 4, 1, 1)
    swapped = replace(CHIP.pek, signature_0=owner, signature_1=CHIP.pek.signature_0)
    chip = forge.Machine(CHIP.hrk, CHIP.hsk, CHIP.cek, swapped)
    judgement = outcome(forge.report(chip), CHIP.bundle, TRUST, data=forge.DATA)
    assert judgement.verdict == "affirming"


def test_too_many_certificates_are_refused() -> None:
    many = tuple(replace(CHIP.hsk, key_id=bytes([index] * 16)) for index in range(40))
    assert len(many) > MAX_CERTIFICATES
    judgement = outcome(REPORT, many, TRUST)
    assert_refused(judgement, ExitCode.INPUT, "endorsements.format", "ENDORSEMENTS_TOO_MANY")


def test_the_forged_off_curve_point_is_off_the_curve() -> None:
    with pytest.raises(Exception, match="not a point"):
        PublicKey(NOT_ON_CURVE, CHIP.cek.y)
