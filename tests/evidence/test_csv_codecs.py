"""The CSV codecs: exact both ways, strict about what must be zero, and where the facts say."""

import struct
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import InputError, UndecidedError
from ctestbed.evidence.csv_bundle import dump_bundle, parse_bundle
from ctestbed.evidence.csv_certificate import (
    CHIP_LAYOUT,
    ROOT_LAYOUT,
    ChipCertificate,
    RootCertificate,
    Usage,
    body,
    dump_chip_certificate,
    dump_root_certificate,
    parse_chip_certificate,
    parse_root_certificate,
    usage_name,
)
from ctestbed.evidence.csv_report import (
    REPORT_LAYOUT,
    CSVReport,
    dump_report,
    dump_report_file,
    mac_input,
    mask,
    parse_report,
    parse_report_file,
    policy_flags,
    serial_text,
    signed_bytes,
)
from ctestbed.evidence.layout import (
    Codec,
    Field,
    Number,
    Prefixed,
    Raw,
    Struct,
    Unsigned,
    Zero,
    walk,
)
from tests.evidence.strategies import chip_certificates, raw, reports, root_certificates, u32
from tests.shared import shared_data


def real_report() -> bytes:
    return shared_data("evidence/csv/csv1_report_raw.bin").read_bytes()


@given(reports)
def test_reports_survive_the_wire(report: CSVReport) -> None:
    content = dump_report(report)
    assert len(content) == 2548
    assert parse_report(content) == report
    assert dump_report(parse_report(content)) == content


@given(root_certificates)
def test_root_certificates_survive_the_wire(certificate: RootCertificate) -> None:
    content = dump_root_certificate(certificate)
    assert len(content) == 832
    assert parse_root_certificate(content) == certificate


@given(chip_certificates)
def test_chip_certificates_survive_the_wire(certificate: ChipCertificate) -> None:
    content = dump_chip_certificate(certificate)
    assert len(content) == 2084
    assert parse_chip_certificate(content) == certificate


@given(reports, st.integers(0, 2547), st.integers(1, 255))
def test_what_is_accepted_is_written_again_byte_for_byte(
    report: CSVReport, at: int, change: int
) -> None:
    content = bytearray(dump_report(report))
    content[at] ^= change
    try:
        parsed = parse_report(bytes(content))
    except InputError as error:
        assert error.code == "FORMAT_BAD"
        assert error.where is not None
        assert error.where.pointer
    else:
        assert dump_report(parsed) == bytes(content)


@given(raw(2548), u32)
def test_masking_twice_is_no_masking(content: bytes, anonce: int) -> None:
    assert mask(mask(content, anonce), anonce) == content


@given(raw(2548), u32)
def test_the_mask_is_the_four_bytes_of_anonce_repeated(content: bytes, anonce: int) -> None:
    word = struct.pack("<I", anonce)
    clear = {*range(188, 336), *range(2516, 2548)}
    expected = bytes(
        byte if index in clear else byte ^ word[index % 4] for index, byte in enumerate(content)
    )
    assert mask(content, anonce) == expected


def test_the_real_report_reads_as_its_source_says() -> None:
    content = real_report()
    report = parse_report(content)
    assert dump_report(report) == content
    assert report.anonce == 0x1291429B
    assert report.report_data == b"user data".ljust(64, b"\0")
    assert report.mnonce.hex() == "67c6697351ff4aec29cdbaabf2fbe346"
    assert report.measure.hex().startswith("1178dadb")
    assert report.measure.hex().endswith("2ea052")
    assert report.policy == 0x40000001
    assert policy_flags(report.policy) == ["NODBG"]
    assert (report.signature_usage, report.signature_algorithm) == (0x1002, 4)
    assert serial_text(report) == "NZA9T14052605"
    assert any(report.reserved)
    assert report.pek.uid == b"HYGON-SSD-PEK"
    assert signed_bytes(report) == content[:180]
    assert mac_input(report) == content[336:2516]


def test_the_real_certificates_read_as_their_source_says() -> None:
    content = shared_data("evidence/csv/csv1_hsk_cek.cert").read_bytes()
    root = shared_data("evidence/roots/hygon_hrk.cert").read_bytes()
    hsk, cek = parse_bundle(content)
    (hrk,) = parse_bundle(root)
    assert dump_bundle([hsk, cek, hrk]) == content + root
    assert isinstance(hsk, RootCertificate)
    assert isinstance(hrk, RootCertificate)
    assert isinstance(cek, ChipCertificate)
    assert (hrk.usage, hsk.usage, cek.usage) == (Usage.HRK, Usage.HSK, Usage.CEK)
    assert hsk.key_id.hex() == "6e1009311eb0e448f7320da5ce2d4d47"
    assert hrk.key_id == hrk.signer_id == hsk.signer_id
    assert cek.signer_id == hsk.key_id
    assert [slot.usage for slot in cek.signatures] == [Usage.HSK, Usage.INVALID]
    assert [item.uid for item in (hrk, hsk, cek)] == [
        b"HYGON-SSD-HRK",
        b"HYGON-SSD-HSK",
        b"HYGON-SSD-CEK",
    ]
    assert body(hsk) == content[:576]
    assert body(cek) == content[832 : 832 + 1044]


def _offsets(layout: Struct[Any]) -> dict[str, tuple[int, int]]:
    return {field.name: (field.offset, field.codec.size) for field in layout.fields}


def test_fields_lie_where_the_facts_say() -> None:
    # facts/attestation.md 1.3, entered by hand from its text.
    report = _offsets(REPORT_LAYOUT)
    assert report["report_data"] == (64, 64)
    assert report["mnonce"] == (128, 16)
    assert report["measure"] == (144, 32)
    assert report["policy"] == (176, 4)
    assert report["anonce"] == (188, 4)
    assert report["r"] == (192, 72)
    assert report["s"] == (264, 72)
    assert report["pek"] == (336, 2084)
    assert report["serial"] == (2420, 64)
    assert report["reserved"] == (2484, 32)
    assert report["mac"] == (2516, 32)
    root = _offsets(ROOT_LAYOUT)
    assert root["usage"] == (36, 4)
    assert root["curve"] == (64, 4)
    assert (root["x"], root["y"]) == ((68, 72), (140, 72))
    assert root["uid"] == (212, 2 + 254)
    assert (root["r"], root["s"]) == ((576, 72), (648, 72))
    chip = _offsets(CHIP_LAYOUT)
    assert chip["usage"] == (8, 4)
    assert chip["uid"] == (164, 2 + 254)
    assert chip["signer_id"] == (420, 16)
    assert (chip["signature_0"], chip["signature_1"]) == ((1044, 520), (1564, 520))


@pytest.mark.parametrize("at", [40, 63, 100, 139, 172, 211, 227, 467, 468, 575, 608, 700, 720, 831])
def test_padding_of_a_root_certificate_must_be_zero(at: int) -> None:
    content = bytearray(shared_data("evidence/roots/hygon_hrk.cert").read_bytes())
    assert content[at] == 0
    content[at] = 1
    with pytest.raises(InputError) as refusal:
        parse_root_certificate(bytes(content))
    assert refusal.value.code == "FORMAT_BAD"


@pytest.mark.parametrize(
    ("at", "field"),
    [(224, "r"), (263, "r"), (296, "s"), (335, "s")],
)
def test_bytes_above_a_number_must_be_zero(at: int, field: str) -> None:
    content = bytearray(real_report())
    content[at] ^= 0x80
    with pytest.raises(InputError, match=f"field {field} ") as refusal:
        parse_report(bytes(content))
    assert refusal.value.where is not None
    assert refusal.value.where.pointer == field


def test_a_length_past_its_field_is_refused() -> None:
    content = bytearray(shared_data("evidence/roots/hygon_hrk.cert").read_bytes())
    content[212:214] = (255).to_bytes(2, "little")
    with pytest.raises(InputError, match="at most 254 fit"):
        parse_root_certificate(bytes(content))


def test_a_kernel_buffer_is_a_report_and_zeros_to_4096() -> None:
    content = real_report()
    file = parse_report_file(content.ljust(4096, b"\0"))
    assert file.padding == 4096 - 2548
    assert dump_report_file(file) == content.ljust(4096, b"\0")
    assert parse_report_file(content).padding == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: content.ljust(4095, b"\0"),
        lambda content: content.ljust(4097, b"\0"),
        lambda content: content.ljust(4095, b"\0") + b"\1",
        lambda _: b"",
        lambda _: bytes(2547),
    ],
)
def test_other_lengths_and_tails_are_malformed(change: object) -> None:
    assert callable(change)
    with pytest.raises(InputError) as refusal:
        parse_report_file(change(real_report()))
    assert refusal.value.code == "FORMAT_BAD"


@given(st.binary(max_size=5000))
def test_garbage_is_malformed_and_nothing_worse(content: bytes) -> None:
    with pytest.raises(InputError):
        parse_report_file(content)
    with pytest.raises(InputError):
        parse_bundle(content)


def test_a_version_2_report_is_told_apart() -> None:
    pek = mask(real_report(), 0x1291429B)[336:2420]
    head = bytearray(1168)
    head[180:188] = struct.pack("<II", 0x1002, 4)
    content = bytes(head) + pek + bytes(128)
    assert len(content) == 3380
    for version_2 in (content, content.ljust(4096, b"\0")):
        with pytest.raises(UndecidedError) as refusal:
            parse_report_file(version_2)
        assert refusal.value.code == "UNSUPPORTED_VERSION"


@given(st.lists(st.one_of(root_certificates, chip_certificates), min_size=1, max_size=4))
def test_bundles_of_both_kinds_survive(
    certificates: list[RootCertificate | ChipCertificate],
) -> None:
    known = [
        replace(certificate, curve=certificate.curve or 3)
        if isinstance(certificate, RootCertificate)
        else certificate
        for certificate in certificates
    ]
    assert list(parse_bundle(dump_bundle(known))) == known


def test_a_bundle_cut_short_names_where() -> None:
    content = shared_data("evidence/csv/csv1_hsk_cek.cert").read_bytes()
    with pytest.raises(InputError, match="byte 832 "):
        parse_bundle(content[:-1])


def test_writing_refuses_what_does_not_fit() -> None:
    cases: tuple[tuple[Codec, Any], ...] = (
        (Unsigned(2), 65536),
        (Unsigned(2), -1),
        (Number(72), 2**256),
        (Raw(4), b"123"),
        (Prefixed(6), b"12345"),
    )
    for codec, value in cases:
        with pytest.raises(ValueError, match=r"fit|has 3 bytes"):
            codec.write(value)


def test_a_layout_with_a_gap_or_a_wrong_size_is_refused() -> None:
    with pytest.raises(ValueError, match="gap"):
        Struct(dict, 8, (Field("a", 0, Raw(4)), Field("b", 5, Raw(3))))
    with pytest.raises(ValueError, match="covers 4 of 8"):
        Struct(dict, 8, (Field("a", 0, Zero(4)),))
    with pytest.raises(ValueError, match="3 bytes, not 4"):
        Struct(dict, 4, (Field("a", 0, Raw(4)),)).read(b"123")


def test_walking_covers_every_byte_once() -> None:
    leaves = list(walk(REPORT_LAYOUT, parse_report(real_report())))
    position = 0
    for leaf in leaves:
        assert leaf.offset == position
        position += leaf.length
    assert position == 2548


def test_a_serial_that_is_not_text_is_hex() -> None:
    report = parse_report(real_report())
    values = {name: getattr(report, name) for name in report.__slots__}
    other = CSVReport(**values | {"serial": b"\xff\x01".ljust(64, b"\0")})
    assert serial_text(other) == "ff01"


def test_a_whole_format_has_one_length() -> None:
    for read in (parse_report, parse_root_certificate, parse_chip_certificate):
        with pytest.raises(InputError, match="has 3 bytes"):
            read(b"123")


def test_unknown_usages_have_a_number_for_a_name() -> None:
    assert usage_name(0x77) == "0x0077"
