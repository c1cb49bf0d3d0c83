"""The real Hygon report, end to end and offline: verdicts, exit codes, every flipped bit."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ctestbed.attestation.checks import Status
from ctestbed.attestation.commands import VerifyRequest, run_verify
from ctestbed.attestation.csv_key import require_issuer, require_signature
from ctestbed.attestation.judge import Expectations, Named, judge
from ctestbed.attestation.roots.pins import load_trust
from ctestbed.core.errors import InputError, NotAuthenticError
from ctestbed.core.result import Result
from ctestbed.crypto.sm2 import Signature
from ctestbed.evidence.csv_bundle import parse_bundle
from ctestbed.evidence.csv_certificate import parse_chip_certificate
from ctestbed.evidence.csv_report import policy_flags
from tests.attestation.forge import remask
from tests.shared import shared_data

MEASURE = "1178dadbf826ec7a07444ba358376d81c312cb53d703f9da83b26c1eee2ea052"


def _path(name: str) -> str:
    return str(shared_data(f"evidence/{name}"))


def _verify(evidence: str | None = None, *, certs: str = "HSK CEK HRK", **options: Any) -> Result:
    files = {"HSK CEK": _path("csv/csv1_hsk_cek.cert"), "HRK": _path("roots/hygon_hrk.cert")}
    given = tuple(path for names, path in files.items() if names in certs)
    evidence = evidence or _path("csv/csv1_report_raw.bin")
    return run_verify(VerifyRequest(evidence, given, **options))


def _summary(result: Result) -> tuple[int, str, str | None]:
    return int(result.exit_code), result.data["verdict"], result.data["root_class"]


def _codes(result: Result) -> list[str]:
    return [finding.code for finding in result.findings]


def _status(result: Result) -> dict[str, Status]:
    return {check["id"]: check["status"] for check in result.data["checks"]}


def _failed(result: Result) -> list[str]:
    return [check for check, status in _status(result).items() if status == "fail"]


def test_unbound_it_is_a_warning_under_the_vendors_root() -> None:
    result = _verify()
    assert _summary(result) == (0, "warning", "vendor")
    assert _codes(result) == ["CSV_V1_FIELDS_UNBOUND"]
    assert result.data["root"]["name"] == "Hygon Root Key (HRK)"
    bound = {name for name, claim in result.data["claims"].items() if claim["bound"]}
    assert bound == {"firmware"}
    assert _status(result)["report.data"] == "skip"


@pytest.mark.parametrize(
    "options",
    [
        {"report_data": "text:user data"},
        {"report_data": b"user data".hex()},
        {"nonce": b"user data".ljust(64, b"\0").hex()},
        {"measurement": MEASURE},
        {"measurement": MEASURE.upper(), "report_data": "text:user data", "strict": True},
    ],
)
def test_a_matching_expected_value_binds_all_that_is_signed(options: dict[str, Any]) -> None:
    result = _verify(**options)
    assert _summary(result) == (0, "affirming", "vendor")
    unbound = {name for name, claim in result.data["claims"].items() if not claim["bound"]}
    assert unbound == {"chip_serial"}
    held_by = "measurement" if "measurement" in options else "report data"
    policy = {"value": ["NODBG"], "bound": True, "held_by": held_by}
    assert result.data["claims"]["policy_flags"] == policy


def test_padding_of_a_short_value_is_said() -> None:
    assert _codes(_verify(report_data="text:user data")) == [
        "REPORT_DATA_PADDED",
        "CSV_V1_HELD_BY_REPORT_DATA",
    ]
    whole = _verify(nonce=b"user data".ljust(64, b"\0").hex())
    assert _codes(whole) == ["CSV_V1_HELD_BY_REPORT_DATA"]


@pytest.mark.parametrize(
    "data", ["text:user dat", "text:user data ", "text:User data", "00", "text:user data\0x"]
)
def test_a_prefix_or_another_value_is_stale(data: str) -> None:
    result = _verify(report_data=data)
    assert _summary(result) == (13, "none", None)
    assert "REPORT_DATA_MISMATCH" in _codes(result)
    assert _failed(result) == ["report.data"]
    assert result.data["claims"] == {}


def test_a_wrong_nonce_says_nonce() -> None:
    assert "NONCE_MISMATCH" in _codes(_verify(nonce="00"))


@pytest.mark.parametrize(
    ("certs", "missing"), [("HSK CEK", ["HRK"]), ("HRK", ["HSK", "CEK"]), ("", ["HRK", "HSK"])]
)
def test_missing_certificates_are_named(certs: str, missing: list[str]) -> None:
    result = _verify(certs=certs)
    assert _summary(result) == (14, "none", None)
    assert _failed(result) == ["chain.complete"]
    (finding,) = result.findings
    assert all(name in finding.message for name in missing)


def test_other_roots_do_not_take_it(tmp_path: Path) -> None:
    result = _verify(roots="emulated", state_dir=tmp_path)
    assert _summary(result) == (11, "none", None)
    assert _codes(result) == ["ROOT_UNTRUSTED"]
    assert result.data["root"]["name"] == "HYGON-SSD-HRK"


def test_another_measurement_is_refused_by_policy() -> None:
    result = _verify(measurement="00" * 32, report_data="text:user data")
    assert _summary(result) == (12, "contraindicated", "vendor")
    assert "MEASUREMENT_MISMATCH" in _codes(result)
    assert result.data["trust_vector"]["executables"] == 96


def test_strict_refuses_a_warning() -> None:
    assert _summary(_verify(strict=True)) == (12, "warning", "vendor")


def test_a_required_check_must_have_passed() -> None:
    skipped = _verify(require=("report.data",))
    assert int(skipped.exit_code) == 13
    assert "CHECK_NOT_PASSED" in _codes(skipped)
    assert int(_verify(require=("report.measurement",)).exit_code) == 12
    assert int(_verify(require=("policy.debug",)).exit_code) == 12
    both = _verify(require=("report.measurement", "report.data"))
    assert int(both.exit_code) == 13
    passed = _verify(require=("report.data", "policy.debug"), report_data="text:user data")
    assert int(passed.exit_code) == 0


def test_a_kernel_buffer_verifies_and_its_padding_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "ev.bin"
    path.write_bytes(Path(_path("csv/csv1_report_raw.bin")).read_bytes().ljust(4096, b"\0"))
    result = _verify(str(path))
    assert _summary(result) == (0, "warning", "vendor")
    assert result.data["padding"] == 1548


# --- the attack the facts describe: anonce is not signed


def _remasked(tmp_path: Path, delta: bytes) -> str:
    content = Path(_path("csv/csv1_report_raw.bin")).read_bytes()
    anonce = bytes(a ^ b for a, b in zip(content[188:192], delta, strict=True))
    path = tmp_path / "remasked.bin"
    path.write_bytes(remask(content, anonce))
    return str(path)


def test_a_report_masked_anew_passes_where_nothing_is_expected(tmp_path: Path) -> None:
    result = _verify(_remasked(tmp_path, b"\0\x11\x22\x33"))
    assert _summary(result) == (0, "warning", "vendor")
    assert _codes(result) == ["CSV_V1_FIELDS_UNBOUND"]
    shifted = bytes.fromhex(result.data["claims"]["measurement"]["value"])
    assert bytes(a ^ b for a, b in zip(shifted, b"\0\x11\x22\x33" * 8, strict=True)).hex() == (
        MEASURE
    )


@pytest.mark.parametrize("delta", [b"\0\x11\x22\x33", b"\0\0\0\1", b"\x80\0\0\0", b"\0\1\0\0"])
def test_a_report_masked_anew_is_caught_by_any_expected_value(tmp_path: Path, delta: bytes) -> None:
    evidence = _remasked(tmp_path, delta)
    result = _verify(evidence, report_data="text:user data")
    assert _summary(result) == (13, "none", None)
    assert _failed(result) == ["report.data"]
    by_measurement = _verify(evidence, measurement=MEASURE)
    assert _summary(by_measurement) == (12, "contraindicated", "vendor")


def test_a_report_masked_anew_can_clear_the_debug_protection(tmp_path: Path) -> None:
    result = _verify(_remasked(tmp_path, b"\1\0\0\0"))
    assert _summary(result) == (12, "contraindicated", "vendor")
    assert "DEBUG_ON" in _codes(result)


# --- every bit of 2548 bytes


def _flips(bits: Iterable[int]) -> Counter[str]:
    """Flip one bit at a time, with nothing expected; return how often each check failed."""
    content = Path(_path("csv/csv1_report_raw.bin")).read_bytes()
    certificates = [
        Named(name, Path(_path(name)).read_bytes())
        for name in ("csv/csv1_hsk_cek.cert", "roots/hygon_hrk.cert")
    ]
    trust = load_trust("vendor", None)
    caught: Counter[str] = Counter()
    for bit in bits:
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        judgement = judge(Named("ev", bytes(flipped)), certificates, trust, Expectations())
        assert judgement.exit_code != 0, f"bit {bit} was accepted"
        (failed,) = (check for check in judgement.log.checks if check.status == "fail")
        assert failed.code in {finding.code for finding in judgement.findings}
        assert judgement.verdict == "none"
        caught[failed.id] += 1
    return caught


def test_no_flipped_bit_is_ever_accepted() -> None:
    caught = _flips(range(8 * 2548))
    assert caught.total() == 20_384
    assert set(caught) == {
        "evidence.format",
        "report.signer",
        "report.mac",
        "report.signature",
    }


def test_a_flip_is_caught_by_what_holds_the_byte() -> None:
    # facts/attestation.md 1.3: what each byte of the real file is held by.
    assert set(_flips([8 * 100])) == {"report.signature"}
    assert set(_flips([8 * 130])) == {"report.mac"}
    assert set(_flips([8 * 180, 8 * 184, 8 * 187 + 7])) == {"report.signer"}
    assert set(_flips([8 * 200, 8 * 270])) == {"report.signature"}
    assert set(_flips([8 * 224, 8 * 335])) == {"evidence.format"}
    assert set(_flips([8 * 2430, 8 * 2490, 8 * 2520])) == {"report.mac"}


@pytest.mark.parametrize("text", ["", "00", "zz" * 32, MEASURE + "00", f"0x{MEASURE}"])
def test_a_measurement_of_another_length_is_refused(text: str) -> None:
    with pytest.raises(InputError) as refusal:
        _verify(measurement=text)
    assert refusal.value.code == "CTB-A005"


# --- files that are not evidence


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 2548, b"{}", b"\xff" * 2548, b"\xff" * 4096],
    ids=["empty", "zero", "json", "ones", "buffer"],
)
def test_garbage_is_malformed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ev.bin"
    path.write_bytes(content)
    result = _verify(str(path))
    assert _summary(result) == (3, "none", None)
    assert _failed(result) == ["evidence.format"]
    (finding,) = result.findings
    assert finding.code == "FORMAT_BAD"
    assert finding.where is not None
    assert finding.where.file == str(path)


def test_a_truncated_report_says_so(tmp_path: Path) -> None:
    path = tmp_path / "ev.bin"
    path.write_bytes(Path(_path("csv/csv1_report_raw.bin")).read_bytes()[:-1])
    result = _verify(str(path))
    assert int(result.exit_code) == 3
    assert "cut short" in result.findings[0].message


def test_malformed_certificates_outweigh_all_else(tmp_path: Path) -> None:
    path = tmp_path / "bad.cert"
    path.write_bytes(b"\1" * 832)
    result = run_verify(VerifyRequest(_path("csv/csv1_report_raw.bin"), (str(path),), nonce="00"))
    assert int(result.exit_code) == 3
    assert _failed(result) == ["endorsements.format"]
    assert result.findings[-1].where is not None
    assert result.findings[-1].where.file == str(path)


def test_version_2_is_not_decided(tmp_path: Path) -> None:
    content = Path(_path("csv/csv1_report_raw.bin")).read_bytes()
    mask = content[188:192]
    pek = bytes(byte ^ mask[index % 4] for index, byte in enumerate(content[336:2420]))
    head = bytearray(1168)
    head[180:188] = b"\x02\x10\0\0\4\0\0\0"
    path = tmp_path / "ev.bin"
    path.write_bytes(bytes(head) + pek + bytes(128))
    result = _verify(str(path))
    assert _summary(result) == (14, "none", None)
    assert _codes(result) == ["UNSUPPORTED_VERSION"]


# --- the other real report, from another chip


def _trustee() -> tuple[bytes, bytes]:
    """Return the plain report and PEK certificate of the JSON form, put together by hand."""
    evidence = json.loads(Path(_path("csv/trustee_csv_evidence.json")).read_text())
    pek = evidence["cert_chain"]["pek"]
    data = pek["body"]["data"]
    content = pek["body"]["ver"].to_bytes(4, "little")
    content += bytes([data["firmware"]["major"], data["firmware"]["minor"], 0, 0])
    point = data["pubkey"]["key"]
    words = (data["pubkey"]["usage"], data["pubkey"]["algo"], point["g"])
    content += b"".join(word.to_bytes(4, "little") for word in words)
    content += bytes(point["x"]) + bytes(point["y"])
    content += data["uid_size"].to_bytes(2, "little") + bytes(data["user_id"])
    content += bytes(data["sid"]) + bytes(data["reserved2"])
    for slot in pek["sigs"]:
        content += slot["usage"].to_bytes(4, "little") + slot["algo"].to_bytes(4, "little")
        content += bytes(slot["signature"]["r"]) + bytes(slot["signature"]["s"])
        content += bytes(slot["_reserved"])
    return bytes(evidence["attestation_report"]["data"]), content


def test_another_real_report_is_signed_by_its_own_pek_and_no_other_chips_cek() -> None:
    raw, certificate = _trustee()
    pek = parse_chip_certificate(certificate)
    signature = Signature(
        int.from_bytes(raw[192:224], "little"), int.from_bytes(raw[264:296], "little")
    )
    require_signature(pek, raw[:180], signature, "report")
    _, other_cek = parse_bundle(Path(_path("csv/csv1_hsk_cek.cert")).read_bytes())
    with pytest.raises(NotAuthenticError) as refusal:
        require_issuer(other_cek, pek)
    assert refusal.value.code == "SIG_BAD"
    anonce = raw[188:192]
    policy = bytes(raw[176 + index] ^ anonce[index] for index in range(4))
    assert policy_flags(int.from_bytes(policy, "little")) == ["NODBG", "ES", "CSV3"]
