"""Recognising and showing files, and reading report data."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ctestbed.core.errors import InputError
from ctestbed.evidence.commands import ShowRequest, describe, run_show
from ctestbed.evidence.csv_certificate import (
    EMPTY_SLOT,
    Usage,
    dump_certificate,
    parse_chip_certificate,
    parse_root_certificate,
)
from ctestbed.evidence.csv_report import dump_report, parse_report
from ctestbed.evidence.explain import odd_in_certificate
from ctestbed.evidence.recognise import describe_format
from ctestbed.evidence.report_data import parse_report_data
from tests.evidence.strategies import reports
from tests.shared import shared_data

REPORT = "evidence/csv/csv1_report_raw.bin"


def _fields(content: bytes) -> dict[str, dict[str, object]]:
    return {field["name"]: dict(field) for field in describe(content)["parts"][0]["fields"]}


def test_every_byte_of_a_report_is_shown_as_it_is() -> None:
    content = shared_data(REPORT).read_bytes()
    part = describe(content)["parts"][0]
    assert b"".join(bytes.fromhex(field["wire"]) for field in part["fields"]) == content
    fields = _fields(content)
    assert fields["report_data"]["value"] == "'user data'"
    assert fields["anonce"]["plain"] is None
    assert str(fields["report_data"]["plain"]).startswith(b"user data".hex())
    assert "NODBG" in str(fields["policy"]["value"])
    assert not any(field["odd"] for field in fields.values())


def test_certificates_are_shown_one_by_one() -> None:
    content = shared_data("evidence/csv/csv1_hsk_cek.cert").read_bytes()
    data = describe(content)
    assert [part["title"] for part in data["parts"]] == ["HSK certificate", "CEK certificate"]
    wire = b"".join(bytes.fromhex(f["wire"]) for part in data["parts"] for f in part["fields"])
    assert wire == content
    assert not any(field["odd"] for part in data["parts"] for field in part["fields"])


def test_oddities_of_a_report_are_named() -> None:
    report = parse_report(shared_data(REPORT).read_bytes())
    odd = replace(
        report,
        report_data=bytes(64),
        mnonce=bytes(16),
        measure=bytes(32),
        policy=0,
        signature_usage=1,
        signature_algorithm=5,
        anonce=0,
        r=0,
        s=0,
        serial=b"A\0B".ljust(64, b"\0"),
        reserved=bytes(32),
        pek=replace(report.pek, usage=Usage.OCA, uid=b"CTESTBED-EMULATED-PEK"),
    )
    named = {name for name, field in _fields(dump_report(odd)).items() if field["odd"]}
    assert named == {
        *("report_data", "mnonce", "measure", "policy", "signature_usage", "signature_algorithm"),
        *("anonce", "r", "s", "serial", "reserved", "pek.usage", "pek.uid"),
    }


def test_oddities_of_certificates_are_named() -> None:
    hrk = parse_root_certificate(shared_data("evidence/roots/hygon_hrk.cert").read_bytes())
    cek = parse_chip_certificate(shared_data("evidence/csv/csv1_hsk_cek.cert").read_bytes()[832:])
    assert set(odd_in_certificate(replace(hrk, signer_id=bytes(16), curve=2, uid=b""))) == {
        "signer_id",
        "curve",
        "uid",
    }
    assert "usage" in odd_in_certificate(replace(hrk, usage=7))
    bare = replace(cek, signature_0=EMPTY_SLOT, algorithm=5)
    assert set(odd_in_certificate(bare)) == {"signature_0.usage", "algorithm"}
    half = replace(cek, signature_1=replace(EMPTY_SLOT, r=1))
    assert set(odd_in_certificate(half)) == {"signature_1.usage"}
    assert odd_in_certificate(replace(cek, usage=Usage.PDH, algorithm=5)) == {}


@given(reports)
def test_any_report_can_be_shown(report: object) -> None:
    content = dump_report(report)  # type: ignore[arg-type]
    assume(any(content))
    part = describe(content)["parts"][0]
    assert b"".join(bytes.fromhex(field["wire"]) for field in part["fields"]) == content


@pytest.mark.parametrize(
    ("name", "seems"),
    [
        ("snp/milan_v2_report.bin", "AMD SEV-SNP report"),
        ("snp/turin_v5_report.bin", "AMD SEV-SNP report"),
        ("tdx/cos113_quote.dat", "TDX or SGX quote of version 4"),
        ("tdx/v5_td15_quote.dat", "TDX or SGX quote of version 5"),
        ("tdx/sgx_v3_quote.dat", "TDX or SGX quote of version 3"),
        ("cca/token01_legacy_es384.cbor", "CBOR tag 399"),
        ("cca/token_907_good.cbor", "CBOR tag 907"),
        ("csv/trustee_csv_evidence.json", "JSON"),
        ("roots/amd_ask_ark_milan.pem", "PEM"),
        ("csv/csv1_hsk_cek.cert", "certificates"),
        ("snp/milan_v2_vcek.der", "no known format"),
    ],
)
def test_other_files_are_recognised(name: str, seems: str) -> None:
    assert seems in describe_format(shared_data(f"evidence/{name}").read_bytes())


def test_damaged_reports_are_recognised() -> None:
    content = shared_data(REPORT).read_bytes()
    assert "cut short" in describe_format(content[:2000])
    assert "more bytes after it" in describe_format(content + b"\0")
    assert describe_format(b"") == "the file is empty"
    assert "extended CSV" in describe_format(b"ATTESTATION_EXT\0" + bytes(100))


def test_a_shown_file_is_named_with_its_digest() -> None:
    path = shared_data(REPORT)
    result = run_show(ShowRequest(str(path)))
    (file,) = result.inputs
    assert file.sha256 == "5cd88d5e83ad80089253bbad7fcd9e2edd2806b8a4c9aeb1fa6237c7176a9030"
    assert result.data["format"] == "csv-report-v1"


@pytest.mark.parametrize(
    "content", [b"", b"\0", b"text", bytes(1184), b"\xff" * 2548, bytes(831), b"\xff" * 832]
)
def test_a_refusal_names_the_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ev.bin"
    path.write_bytes(content)
    with pytest.raises(InputError) as refusal:
        run_show(ShowRequest(str(path)))
    assert refusal.value.where is not None
    assert refusal.value.where.file == str(path)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as stream:
        stream.truncate(2**30)
    with pytest.raises(InputError, match="larger than"):
        run_show(ShowRequest(str(path)))


def test_report_data_comes_as_hex_or_text() -> None:
    data = parse_report_data(None, "text:user data")
    assert data is not None
    assert data.field == b"user data".ljust(64, b"\0")
    assert (data.given, data.padded) == (9, True)
    nonce = parse_report_data("AB" * 64, None)
    assert nonce is not None
    assert not nonce.padded
    assert parse_report_data(None, None) is None
    assert parse_report_data("00ff", "00FF") is not None


@pytest.mark.parametrize(
    ("nonce", "data", "code"),
    [
        ("xyz", None, "CTB-E002"),
        ("123", None, "CTB-E002"),
        ("text:a", None, "CTB-E002"),
        ("", None, "CTB-E003"),
        (None, "text:", "CTB-E003"),
        ("00" * 65, None, "CTB-E003"),
        ("00", "01", "CTB-E001"),
    ],
)
def test_bad_report_data_is_refused(nonce: str | None, data: str | None, code: str) -> None:
    with pytest.raises(InputError) as refusal:
        parse_report_data(nonce, data)
    assert refusal.value.code == code


@given(st.binary(min_size=1, max_size=64))
def test_report_data_is_padded_at_its_end(value: bytes) -> None:
    data = parse_report_data(value.hex(), None)
    assert data is not None
    assert data.field == value + bytes(64 - len(value))


def test_a_dumped_certificate_is_shown_in_both_sizes() -> None:
    hrk = parse_root_certificate(shared_data("evidence/roots/hygon_hrk.cert").read_bytes())
    assert describe(dump_certificate(hrk))["parts"][0]["length"] == 832
