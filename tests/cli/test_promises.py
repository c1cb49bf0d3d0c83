"""What the first version promises, command by command, as a check outside would run it."""

import json
from pathlib import Path

import pytest

from tests.cli.shell import ctestbed, process
from tests.shared import shared_data

NONCE = "00112233445566778899aabbccddeeff"


def test_a_built_fabric_is_valid() -> None:
    built = process("topology", "build", "fat-tree", "--k", "16", "--format", "yaml")
    assert built.code == 0
    checked = process("topology", "validate", "-", "--format", "json", stdin=built.stdout.encode())
    assert checked.code == 0
    counts = checked.json["data"]["counts"]
    assert (counts["host"], counts["switch"]) == (1024, 320)


def test_a_shift_takes_164_us() -> None:
    outcome = ctestbed(
        *("sim", "transfer", "lab-128", "--pattern", "shift:64", "--size", "2MB"),
        *("--spread", "balanced", "--format", "json"),
    )
    metrics = {metric["name"]: metric for metric in outcome.json["metrics"]}
    assert metrics["fct.max"]["value"] == 164_000_000
    assert metrics["fct.max"]["unit"] == "ps"


def test_a_vm_is_launched_attested_and_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ctestbed("cvm", "launch", "--platform", "csv", "--name", "a").code == 0
    assert ctestbed("evidence", "make", "a", "--nonce", NONCE, "-o", "ev.bin").code == 0
    assert Path("ev.bin.certs").stat().st_size == 832 + 832 + 2084

    def verify(*words: str) -> int:
        return ctestbed("attest", "verify", "ev.bin", *words).code

    assert verify("--roots", "emulated", "--nonce", NONCE) == 0
    assert verify("--roots", "vendor", "--nonce", NONCE) == 11
    assert verify("--nonce", NONCE) == 11
    assert verify("--roots", "emulated", "--nonce", "ff" * 16) == 13
    certificates = Path("ev.bin.certs").read_bytes()
    Path("ev.bin.certs").unlink()
    assert verify("--roots", "emulated", "--nonce", NONCE) == 14
    Path("chip.cert").write_bytes(certificates[832:])
    assert verify("--roots", "emulated", "--nonce", NONCE, "--endorsements", "chip.cert") == 14


def test_companions_are_written_together_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ctestbed("cvm", "launch", "--name", "a", "--memory", "2MiB").code == 0
    Path("ev.bin.certs").write_text("mine")
    outcome = ctestbed("evidence", "make", "a", "--nonce", NONCE, "-o", "ev.bin")
    assert outcome.code == 3
    assert not Path("ev.bin").exists()
    assert Path("ev.bin.certs").read_text() == "mine"


def test_the_real_report_verifies_offline() -> None:
    words = ["attest", "verify", str(shared_data("evidence/csv/csv1_report_raw.bin"))]
    for name in ("evidence/csv/csv1_hsk_cek.cert", "evidence/roots/hygon_hrk.cert"):
        words += ["--endorsements", str(shared_data(name))]
    outcome = ctestbed(*words, "--format", "json")
    assert outcome.code == 0
    data = outcome.json["data"]
    assert (data["verdict"], data["root_class"]) == ("warning", "vendor")
    codes = {finding["code"] for finding in outcome.json["findings"]}
    assert "CSV_V1_FIELDS_UNBOUND" in codes
    assert ctestbed(*words, "--strict").code == 12


def test_a_report_of_a_run_becomes_every_other_form(tmp_path: Path) -> None:
    stored = tmp_path / "run.json"
    assert ctestbed("bench", "run", "lab-128", "--format", "json", "-o", str(stored)).code == 0
    fresh = ctestbed("bench", "run", "lab-128", "--canonical")
    again = process("report", "convert", str(stored), "--to", "json")
    assert again.json["data"] == fresh.json["data"] == json.loads(stored.read_text())["data"]
    page = process("report", "build", str(stored))
    assert page.code == 0
    assert page.stdout.startswith("<!")
