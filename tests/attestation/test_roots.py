"""Trust anchors: pinned by key, in classes that never mix."""

from dataclasses import replace
from pathlib import Path

import pytest

from ctestbed.attestation.commands import VerifyRequest, run_verify
from ctestbed.attestation.csv_key import key_fingerprint
from ctestbed.attestation.roots.commands import RootsRequest, run_roots
from ctestbed.attestation.roots.pins import Pin, TrustSet, load_trust, user_pins
from ctestbed.core.errors import CtestbedError, ExitCode, InputError
from ctestbed.core.result import InputFile
from ctestbed.evidence.csv_bundle import dump_bundle
from ctestbed.evidence.csv_certificate import dump_certificate, parse_root_certificate
from ctestbed.tee.state import StateDirectory
from tests.attestation import forge
from tests.attestation.judging import outcome, trust
from tests.shared import shared_data

CHIP = forge.machine()
EMULATED = forge.machine("E", uid="CTESTBED-EMULATED-HRK")


def _write(path: Path, content: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return str(path)


def _emulated_state(tmp_path: Path) -> Path:
    _write(tmp_path / "state" / "roots" / "csv" / "hrk.cert", dump_certificate(EMULATED.hrk))
    return tmp_path / "state"


def test_the_vendors_pin_is_the_key_of_its_certificate() -> None:
    content = shared_data("evidence/roots/hygon_hrk.cert").read_bytes()
    (pin,) = load_trust("vendor", None).pins
    assert pin.fingerprint == key_fingerprint(parse_root_certificate(content))
    assert (pin.root_class, pin.platform) == ("vendor", "csv")


def test_emulated_roots_come_from_the_state_directory(tmp_path: Path) -> None:
    (pin,) = load_trust("emulated", _emulated_state(tmp_path)).pins
    assert pin.root_class == "emulated"
    assert pin.name == "CTESTBED-EMULATED-HRK"
    assert load_trust("emulated", tmp_path / "none").pins == ()
    assert load_trust("user", None).pins == ()


def test_a_damaged_emulated_root_is_named(tmp_path: Path) -> None:
    state = _emulated_state(tmp_path)
    path = state / "roots" / "csv" / "hrk.cert"
    path.write_bytes(path.read_bytes()[:400])
    with pytest.raises(InputError) as refusal:
        load_trust("emulated", state)
    assert refusal.value.code == "FORMAT_BAD"


def test_vendor_trust_never_takes_an_emulated_root_even_if_pinned() -> None:
    as_vendor = trust(EMULATED.hrk, root_class="vendor")
    judgement = outcome(forge.report(EMULATED, "E"), EMULATED.bundle, as_vendor)
    assert judgement.exit_code is ExitCode.NOT_AUTHENTIC
    assert judgement.log["root.pinned"].code == "ROOT_UNTRUSTED"


def test_an_emulated_root_stays_emulated_however_it_is_pinned(tmp_path: Path) -> None:
    path = _write(tmp_path / "hrk.cert", dump_certificate(EMULATED.hrk))
    roots = load_trust(path, None)
    judgement = outcome(forge.report(EMULATED, "E"), EMULATED.bundle, roots, data=forge.DATA)
    assert judgement.verdict == "affirming"
    assert judgement.root is not None
    assert judgement.root.root_class == "emulated"


def test_a_pin_is_of_one_platform() -> None:
    pin = Pin("name", "csv", "00" * 32, "source", "user")
    assert TrustSet("user", (pin,)).find("csv", "00" * 32, b"") == pin
    assert TrustSet("user", (pin,)).find("snp", "00" * 32, b"") is None


def test_roots_from_a_path_are_certificates_or_pins(tmp_path: Path) -> None:
    certificates = _write(tmp_path / "a.cert", dump_bundle([CHIP.hsk, CHIP.hrk, CHIP.hrk]))
    (pin,) = load_trust(certificates, None).pins
    assert (pin.root_class, pin.fingerprint) == ("user", key_fingerprint(CHIP.hrk))
    text = f"roots:\n  - {{name: A, platform: csv, fingerprint: '{pin.fingerprint}', source: me}}\n"
    (same,) = load_trust(_write(tmp_path / "a.yaml", text.encode()), None).pins
    assert same.fingerprint == pin.fingerprint


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"roots:\n  - {name: A, platform: csv, fingerprint: 'zz', source: me}\n", None),
        (b"roots: []\nextra: 1\n", None),
        (b"- 1\n", None),
        (b"", None),
        (b"\xff\xfe", None),
        (dump_certificate(CHIP.hsk), "CTB-A002"),
        (dump_certificate(replace(CHIP.hrk, r=1)), "CTB-A003"),
        (dump_certificate(CHIP.hrk)[:-1], "FORMAT_BAD"),
    ],
)
def test_bad_roots_files_are_refused(tmp_path: Path, content: bytes, code: str | None) -> None:
    path = _write(tmp_path / "roots", content)
    with pytest.raises(InputError) as refusal:
        load_trust(path, None)
    assert code in {None, refusal.value.code}


def test_a_file_of_roots_is_an_input_of_the_verdict(tmp_path: Path) -> None:
    evidence = _write(tmp_path / "ev.bin", forge.wire(forge.report(CHIP)))
    certificates = _write(tmp_path / "ev.bin.certs", dump_bundle(CHIP.bundle))
    roots = _write(tmp_path / "hrk.cert", dump_certificate(CHIP.hrk))
    result = run_verify(VerifyRequest(evidence, roots=roots))
    assert [item.name for item in result.inputs] == [evidence, certificates, roots]
    assert result.inputs[-1] == InputFile.of(roots, dump_certificate(CHIP.hrk))


def test_an_unknown_class_suggests_the_nearest() -> None:
    with pytest.raises(InputError) as refusal:
        load_trust("emulatd", None)
    assert refusal.value.code == "CTB-A001"
    assert refusal.value.hint == "did you mean `emulated`?"


def test_pinning_trusts_a_root_until_it_is_unpinned(tmp_path: Path) -> None:
    path = _write(tmp_path / "hrk.cert", dump_certificate(CHIP.hrk))
    state = tmp_path / "state"
    pinned = run_roots(RootsRequest(state, "pin", path, "the lab's root"))
    (entry,) = pinned.data["changed"]
    assert (entry["name"], entry["root_class"]) == ("the lab's root", "user")
    assert run_roots(RootsRequest(state, "pin", path)).data["changed"] == []
    judgement = outcome(forge.report(CHIP), CHIP.bundle, load_trust("user", state), data=forge.DATA)
    assert judgement.verdict == "affirming"
    assert judgement.root is not None
    assert judgement.root.root_class == "user"
    listed = run_roots(RootsRequest(state)).data["roots"]
    assert [root["root_class"] for root in listed] == ["vendor", "user"]
    assert load_trust("vendor", state).pins != load_trust("user", state).pins
    run_roots(RootsRequest(state, "unpin", entry["fingerprint"][:12].upper()))
    assert user_pins(StateDirectory(state)) == ()


def test_names_with_any_character_survive_pinning(tmp_path: Path) -> None:
    path = _write(tmp_path / "hrk.cert", dump_certificate(CHIP.hrk))
    name = "a: \"root\" # of\n'mine' \u6839"
    run_roots(RootsRequest(tmp_path / "state", "pin", path, name))
    (pin,) = user_pins(StateDirectory(tmp_path / "state"))
    assert pin.name == name


@pytest.mark.parametrize(
    ("action", "target", "code"),
    [
        ("pni", None, "CTB-A006"),
        ("pin", None, "CTB-A008"),
        ("unpin", None, "CTB-A008"),
        ("unpin", "abc", "CTB-A007"),
        ("unpin", "0123456789abcdef", "CTB-A007"),
        ("pin", "no such file", "CTB-C011"),
    ],
)
def test_bad_actions_are_refused(
    tmp_path: Path, action: str, target: str | None, code: str
) -> None:
    with pytest.raises(CtestbedError) as refusal:
        run_roots(RootsRequest(tmp_path, action, target))
    assert refusal.value.code == code


def test_listing_changes_nothing(tmp_path: Path) -> None:
    state = tmp_path / "state"
    assert run_roots(RootsRequest(state)).data["changed"] == []
    assert not state.exists()
