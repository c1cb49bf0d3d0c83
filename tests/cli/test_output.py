"""The output contract: stdout is the result alone, files are never clobbered, endings are quiet."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ctestbed.core.result import Result
from tests.cli.shell import MAIN, ctestbed, process

VALIDATE = ("topology", "validate", "lab-128")


def test_stdout_holds_the_result_and_stderr_nothing() -> None:
    outcome = ctestbed(*VALIDATE)
    assert outcome.code == 0
    assert outcome.stderr == ""
    assert outcome.stdout.isascii()
    assert outcome.stdout.endswith("PASS: done, verdict positive (exit 0)\n")


@pytest.mark.parametrize(
    "form", ["table", "json", "jsonl", "csv", "md", "junit", "sarif", "html", "svg"]
)
def test_every_format_is_written_to_stdout_alone(form: str) -> None:
    outcome = ctestbed(*VALIDATE, "--format", form)
    assert (outcome.code, outcome.stderr) == (0, "")
    assert outcome.stdout.strip()


def test_an_error_is_said_on_stderr_alone() -> None:
    outcome = ctestbed("topology", "validate", "lab-129")
    assert (outcome.code, outcome.stdout) == (3, "")
    assert outcome.stderr.startswith("error[CTB-T005]: ")


def test_json_stays_json_when_something_is_wrong() -> None:
    outcome = ctestbed("topology", "validate", "lab-129", "--format", "json")
    assert outcome.code == 3
    envelope = outcome.json
    assert (envelope["schema"], envelope["status"]) == ("ctestbed.error/1", "error")
    assert (envelope["exit_code"], envelope["complete"]) == (3, False)
    assert envelope["request"]["command"] == ["topology", "validate"]
    assert envelope["findings"][0]["code"] == "CTB-T005"
    assert outcome.stderr.startswith("error[CTB-T005]: ")


def test_all_findings_of_a_file_are_in_the_error(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("ctestbed: 1\nname: X\nfabric: {kind: ring}\nbogus: 1\n")
    outcome = ctestbed("topology", "validate", str(path), "--format", "json")
    codes = [finding["code"] for finding in outcome.json["findings"]]
    assert len(codes) >= 3
    assert outcome.stderr.count("error[") == len(codes)


def test_output_files_are_not_replaced_unless_forced(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    words = (*VALIDATE, "--format", "json", "-o", str(target))
    outcome = ctestbed(*words)
    assert (outcome.code, outcome.stdout) == (0, "")
    first = target.read_bytes()
    target.write_bytes(b"mine")
    outcome = ctestbed(*words)
    assert outcome.code == 3
    assert outcome.stderr.startswith("error[CTB-C014]: ")
    assert target.read_bytes() == b"mine"
    assert ctestbed(*words, "--force").code == 0
    assert json.loads(target.read_bytes())["data"] == json.loads(first)["data"]
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_a_dash_is_stdout() -> None:
    assert ctestbed(*VALIDATE, "-o", "-").stdout == ctestbed(*VALIDATE).stdout


def test_several_exports_stand_beside_the_table(tmp_path: Path) -> None:
    exports = {form: tmp_path / f"r.{form}" for form in ("json", "md", "html", "junit")}
    words = [f"--export={form}={path}" for form, path in exports.items()]
    outcome = ctestbed(*VALIDATE, *words)
    assert outcome.code == 0
    assert outcome.stdout == ctestbed(*VALIDATE).stdout
    assert json.loads(exports["json"].read_text())["exit_code"] == 0
    assert all(path.stat().st_size for path in exports.values())
    assert exports["html"].read_text().startswith("<!")


def test_a_taken_file_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(_request: Any) -> Result:
        raise AssertionError

    monkeypatch.setattr("ctestbed.topology.comparing.run_validate", work)
    taken = tmp_path / "taken"
    taken.write_text("mine")
    for option in (("-o", str(taken)), ("--export", f"json={taken}")):
        outcome = ctestbed(*VALIDATE, *option)
        assert outcome.code == 3
        assert "exists already" in outcome.stderr


@pytest.mark.parametrize(
    "option",
    [
        ("--format", "xml"),
        ("--export", "json"),
        ("--export", "xml=file"),
        ("--export", "json="),
        ("--color", "purple"),
        ("--bogus",),
    ],
)
def test_wrong_options_are_usage_errors(option: tuple[str, ...]) -> None:
    outcome = ctestbed(*VALIDATE, *option)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert "Usage: ctestbed topology validate" in outcome.stderr


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_full_disk_is_one_clear_error(form: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    words = (*VALIDATE, "--format", form)
    for line in (f"{subprocess.list2cmdline([*MAIN, *words])} > /dev/full",):
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
        assert done.returncode == 4
        assert done.stderr.startswith("error[CTB-C015]: no space to write 'standard output'")
        assert "Traceback" not in done.stderr
    outcome = process(*words, "-o", "/dev/full")
    assert outcome.code == 4
    assert outcome.stderr.startswith("error[CTB-C015]: no space to write '/dev/full'")


@pytest.mark.parametrize(
    "words",
    [
        ("sim", "transfer", "fat-tree-1024", "--pattern", "shift:1", "--size", "1MB"),
        ("explain",),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("form", ["json", "table"])
def test_a_reader_that_leaves_is_no_trouble(words: tuple[str, ...], form: str) -> None:
    """`| head -1` in a shell: the pipe is closed before everything is written."""
    read, write = os.pipe()
    with subprocess.Popen(
        [*MAIN, *words, "--format", form], stdout=write, stderr=subprocess.PIPE
    ) as running:
        os.close(write)
        os.close(read)
        _, errors = running.communicate(timeout=60)
    assert errors == b""
    assert running.returncode == 141


def test_ctrl_c_ends_with_130_and_no_traceback() -> None:
    words = ("sim", "transfer", "fat-tree-8192", "--pattern", "permutation", "--size", "2MB")
    with subprocess.Popen(
        [*MAIN, *words, "--spread", "ecmp", "--engine", "reference"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        time.sleep(2.5)
        assert running.poll() is None, "the job was to last longer"
        running.send_signal(signal.SIGINT)
        output, errors = running.communicate(timeout=30)
    assert running.returncode == 130
    assert output == ""
    assert "Traceback" not in errors


def test_ctrl_c_during_a_run_keeps_what_is_done(tmp_path: Path) -> None:
    """The interrupt comes as the last but one step begins, in a process of its own."""
    code = (
        "import os, signal\n"
        "from ctestbed.bench import testbed_run\n"
        "testbed_run._measure_memory = lambda run: os.kill(os.getpid(), signal.SIGINT)\n"
        "from ctestbed.cli.main import main\n"
        "main()\n"
    )
    words = ["bench", "run", "two-campus-150km", "--format", "json"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 130
    envelope = json.loads(done.stdout)
    assert envelope["complete"] is False
    assert envelope["exit_code"] == 130
    assert envelope["data"]["verdict"] == "affirming"
    assert envelope["data"]["expectations"] == []
    assert "Traceback" not in done.stderr


def crash(_request: Any) -> Result:
    message = "a bug"
    raise ZeroDivisionError(message)


def test_a_bug_is_one_line_and_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("ctestbed.topology.comparing.run_validate", crash)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    outcome = ctestbed(*VALIDATE)
    assert (outcome.code, outcome.stdout) == (1, "")
    match = re.fullmatch(
        r"error\[CTB-U012\]: internal error: ZeroDivisionError: a bug\n"
        r"  hint: this is a bug; the details are in (\S+)\n",
        outcome.stderr,
    )
    assert match
    assert "Traceback" in Path(match.group(1)).read_text()
    loud = ctestbed(*VALIDATE, "-vv")
    assert loud.code == 1
    assert "Traceback" in loud.stderr


def test_a_bug_with_nowhere_to_write_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("ctestbed.topology.comparing.run_validate", crash)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    outcome = ctestbed(*VALIDATE)
    assert outcome.code == 1
    assert outcome.stderr == (
        "error[CTB-U012]: internal error: ZeroDivisionError: a bug\n"
        "  hint: run it again with -vv for the details\n"
    )


def test_too_little_memory_is_the_environment_s_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def hungry(_request: Any) -> Result:
        raise MemoryError

    monkeypatch.setattr("ctestbed.topology.comparing.run_validate", hungry)
    outcome = ctestbed(*VALIDATE)
    assert outcome.code == 4
    assert ctestbed(*VALIDATE, "--format", "json").json["findings"][0]["code"] == "CTB-U010"
    assert outcome.stderr.startswith("error[CTB-U010]: there is not enough memory")


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(_request: Any) -> Result:
        raise ModuleNotFoundError(name="networkx")

    monkeypatch.setattr("ctestbed.topology.comparing.run_validate", lacking)
    outcome = ctestbed(*VALIDATE)
    assert outcome.code == 4
    assert outcome.stderr.startswith("error[CTB-U011]: the library 'networkx' is not installed")


def test_the_request_holds_only_what_changes_the_result(tmp_path: Path) -> None:
    outcome = ctestbed(
        *("cvm", "launch", "--name", "a", "--state-dir", str(tmp_path / "s"), "--seed", "3"),
        *("--format", "json", "--export", f"md={tmp_path / 'x.md'}"),
    )
    request = outcome.json["request"]
    assert request["command"] == ["cvm", "launch"]
    assert request["seed"] == 3
    assert set(request["options"]) == {"name", "platform", "memory", "allow_debug", "vcpus"}
    assert outcome.json["run"]["elapsed_s"] > 0
    assert outcome.json["run"]["host"]["cpus"] >= 1
