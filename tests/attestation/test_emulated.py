"""The whole way through the command line: launch, make evidence, verify."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NONCE = "00112233445566778899aabbccddeeff"


def _run(directory: Path, *words: str) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run(
        [sys.executable, "-m", "ctestbed", *words],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": str(directory), "CTESTBED_STATE_DIR": str(directory / "state"), "PATH": ""},
    )
    output = json.loads(done.stdout) if "json" in words else {}
    return done.returncode, output, done.stderr


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("emulated")
    code, _, errors = _run(path, "cvm", "launch", "--platform", "csv", "--name", "a")
    assert code == 0, errors
    code, _, errors = _run(path, "evidence", "make", "a", "--nonce", NONCE, "-o", "ev.bin")
    assert code == 0, errors
    return path


def _verify(directory: Path, *words: str) -> tuple[int, dict[str, Any]]:
    code, envelope, errors = _run(directory, "attest", "verify", *words, "--format", "json")
    assert envelope["exit_code"] == code, errors
    return code, envelope["data"]


def test_emulated_evidence_is_affirmed_under_the_emulated_root(directory: Path) -> None:
    code, data = _verify(directory, "ev.bin", "--roots", "emulated", "--nonce", NONCE)
    assert (code, data["verdict"], data["root_class"]) == (0, "affirming", "emulated")
    assert "EMULATED" in data["root"]["name"]
    assert data["trust_vector"]["hardware"] == 0


def test_the_measurement_that_the_vm_shows_is_the_one_attested(directory: Path) -> None:
    _, shown, _ = _run(directory, "cvm", "show", "a", "--format", "json")
    measurement = shown["data"]["measurement"]
    options = ("--roots", "emulated", "--measurement", measurement)
    code, data = _verify(directory, "ev.bin", *options, "--strict")
    assert (code, data["verdict"]) == (0, "affirming")


def test_the_vendors_roots_do_not_take_it(directory: Path) -> None:
    code, data = _verify(directory, "ev.bin", "--roots", "vendor", "--nonce", NONCE)
    assert (code, data["verdict"], data["root_class"]) == (11, "none", None)


def test_another_nonce_is_stale(directory: Path) -> None:
    code, _ = _verify(directory, "ev.bin", "--roots", "emulated", "--nonce", NONCE[2:])
    assert code == 13


def test_without_its_certificates_it_cannot_be_decided(directory: Path) -> None:
    content = (directory / "ev.bin").read_bytes()
    (directory / "bare.bin").write_bytes(content)
    code, data = _verify(directory, "bare.bin", "--roots", "emulated", "--nonce", NONCE)
    assert code == 14
    given = ("--endorsements", "ev.bin.certs")
    code, _ = _verify(directory, "bare.bin", *given, "--roots", "emulated", "--nonce", NONCE)
    assert code == 0
    assert data["claims"] == {}


def test_bad_files_give_one_error_and_code_3(directory: Path) -> None:
    with (directory / "huge.bin").open("wb") as stream:
        stream.truncate(2**30)
    (directory / "empty.bin").write_bytes(b"")
    for name in ("huge.bin", "empty.bin", "absent.bin", "."):
        code, _, errors = _run(directory, "attest", "verify", name, "--format", "json")
        assert code == 3, errors
        assert "Traceback" not in errors


def test_the_table_reads_well(directory: Path) -> None:
    words = ("attest", "verify", "ev.bin", "--roots", "emulated", "--nonce", NONCE)
    done = subprocess.run(
        [sys.executable, "-m", "ctestbed", *words],
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
        env={"HOME": str(directory), "CTESTBED_STATE_DIR": str(directory / "state")},
    )
    assert "AFFIRMING" in done.stdout
    assert "(emulated)" in done.stdout
    assert done.stdout.isascii()


def test_both_kinds_of_files_are_shown(directory: Path) -> None:
    for name, parts in (("ev.bin", 1), ("ev.bin.certs", 3)):
        code, envelope, _ = _run(directory, "evidence", "show", name, "--format", "json")
        assert code == 0
        assert len(envelope["data"]["parts"]) == parts
    code, envelope, _ = _run(directory, "evidence", "show", "ev.bin.certs", "--format", "json")
    odd = [f["odd"] for part in envelope["data"]["parts"] for f in part["fields"] if f["odd"]]
    assert odd == ["an emulated identity, no vendor's"] * 3


def test_canonical_output_repeats_itself(directory: Path) -> None:
    words = ("attest", "verify", "ev.bin", "--roots", "emulated", "--canonical")
    outputs = {
        subprocess.run(
            [sys.executable, "-m", "ctestbed", *words],
            cwd=directory,
            capture_output=True,
            check=True,
            env={
                "HOME": str(directory),
                "CTESTBED_STATE_DIR": str(directory / "state"),
                "PYTHONHASHSEED": seed,
            },
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert str(directory).encode() not in outputs.pop()


def test_pins_are_listed_pinned_and_unpinned(directory: Path) -> None:
    code, envelope, errors = _run(
        directory, "attest", "roots", "pin", "ev.bin.certs", "--format", "json"
    )
    assert code == 0, errors
    (pinned,) = envelope["data"]["changed"]
    code, data = _verify(directory, "ev.bin", "--roots", "user", "--nonce", NONCE)
    assert (code, data["root_class"]) == (0, "emulated")
    for words in (("roots",), ("roots", "unpin", pinned["fingerprint"])):
        done = _run(directory, "attest", *words)
        assert done[0] == 0, done
    code, _ = _verify(directory, "ev.bin", "--roots", "user", "--nonce", NONCE)
    assert code == 11
