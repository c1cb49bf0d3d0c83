"""Standard streams as they come: closed, full, abandoned, or of a narrow encoding."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.shell import MAIN, ctestbed, process

COMMANDS = (
    "--help",
    "--version",
    "topology --help",
    "completion bash",
    "explain CTB-T005",
    "topology list --format json",
    "topology build fat-tree --k 4",
    "topology show no-such --format json",
)


def shell(
    words: str, redirect: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command under the shell's redirections."""
    script = f"{shlex.join(MAIN)} {words} {redirect}"
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", script],
        capture_output=True,
        env={**os.environ, **(env or {})},
        check=False,
    )


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize(
    ("redirect", "code", "said"),
    [
        (">&-", 4, b"error[CTB-C016]: standard output cannot be written: Bad file descriptor\n"),
        (">/dev/full", 4, b"error[CTB-C015]: no space to write 'standard output'"),
        ("| true", 141, b""),
        (">&- 2>&- <&-", 4, b""),
    ],
)
def test_a_stdout_that_takes_nothing(words: str, redirect: str, code: int, said: bytes) -> None:
    done = shell(words, redirect)
    assert done.returncode == code
    assert said in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"internal error" not in done.stderr


@pytest.mark.parametrize("redirect", ["2>&-", "2>/dev/full"])
@pytest.mark.parametrize(
    ("words", "code"),
    [("topology list", 0), ("topology show no-such", 3), ("no-such-noun", 2), ("bench list", 0)],
)
def test_a_stderr_that_takes_nothing_changes_no_code(words: str, code: int, redirect: str) -> None:
    assert shell(words, redirect).returncode == code


def test_a_closed_stdin_is_empty() -> None:
    done = shell("topology validate -", "<&-")
    assert done.returncode == 3
    assert done.stderr.startswith(b"error[CTB-C032]: '<stdin>' is empty\n")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "gb18030"])
def test_json_in_a_pipe_is_utf8_whatever_the_locale(encoding: str) -> None:
    done = shell("topology show 测é --format json", "", {"PYTHONIOENCODING": encoding})
    assert done.returncode == 3
    assert "测é" in json.loads(done.stdout.decode("utf-8"))["findings"][0]["message"]


def test_two_outputs_need_two_files(tmp_path: Path) -> None:
    path = tmp_path / "report"
    twice = (
        ("-o", str(path), "--export", f"json={path}"),
        ("--export", f"md={path}", "--export", f"json={tmp_path}/./report"),
    )
    for words in twice:
        outcome = ctestbed("topology", "list", *words, "--force")
        assert outcome.code == 3
        assert outcome.stderr.startswith(f"error[CTB-C014]: '{path}' would be written twice\n")
    assert list(tmp_path.iterdir()) == []


def test_an_export_does_not_replace_what_goes_with_an_artefact(tmp_path: Path) -> None:
    state = ("--state-dir", str(tmp_path / "state"))
    assert ctestbed("cvm", "launch", "--name", "a", *state).code == 0
    files = ("-o", str(tmp_path / "ev"), "--export", f"json={tmp_path}/ev.certs")
    outcome = ctestbed("evidence", "make", "a", "--nonce", "00" * 64, *state, *files)
    assert outcome.code == 3
    assert "ev.certs' would be written twice" in outcome.stderr
    assert [item.name for item in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("bad", ["/nonexistent/report", "/dev/full"])
def test_a_failed_export_leaves_one_document_and_no_file(tmp_path: Path, bad: str) -> None:
    good = tmp_path / "good.md"
    outcome = ctestbed(
        *("topology", "list", "--format", "json"),
        *("--export", f"md={good}", "--export", f"json={bad}"),
    )
    assert outcome.code == 4
    assert (outcome.json["schema"], outcome.json["exit_code"]) == ("ctestbed.error/1", 4)
    assert not good.exists()


def test_an_export_to_a_dash_is_refused_not_a_file_of_that_name() -> None:
    outcome = ctestbed("topology", "list", "--export", "json=-")
    assert outcome.code == 2
    assert "names no file" in outcome.stderr
    assert not Path("-").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("attest", "verify", os.devnull, "--roots"), 3),
        (("bench", "run"), 3),
        (("cvm", "list", "--state-dir"), 4),
        (("topology", "list", "-o"), 4),
        (("topology", "list", "--export"), 4),
    ],
)
def test_a_path_too_long_to_look_at(words: tuple[str, ...], code: int) -> None:
    name = "x" * 300
    outcome = ctestbed(*words, f"json={name}" if words[-1] == "--export" else name)
    assert outcome.code == code
    assert outcome.stderr.startswith("error[CTB-")


def test_a_configuration_path_too_long_to_look_at() -> None:
    outcome = process("topology", "list", env={"CTESTBED_CONFIG": "x" * 300})
    assert outcome.code == 3
    assert outcome.stderr.startswith("error[CTB-U001]: ")


def test_a_name_that_is_no_text_is_refused_by_its_option() -> None:
    for form in ("yaml", "json"):
        words = ("topology", "build", "fat-tree", "--k", "4", "--format", form)
        outcome = ctestbed(*words, "--name", "\udcff")
        assert outcome.code == 3
        assert outcome.stderr.startswith("error[CTB-C043]: `name`: '\\udcff' is not a name")
        assert "at --name" in outcome.stderr


def test_a_configuration_nested_too_deeply(tmp_path: Path) -> None:
    path = tmp_path / "deep.toml"
    path.write_text("a = " + "[" * 100_000)
    outcome = process("topology", "list", env={"CTESTBED_CONFIG": str(path)})
    assert outcome.code == 3
    assert outcome.stderr.startswith("error[CTB-U002]: ")
    assert "nested too deeply" in outcome.stderr


def test_a_directory_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    script = f"mkdir {gone}; cd {gone}; rmdir {gone}; {shlex.join(MAIN)} topology list -o x"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False)
    assert done.returncode == 4
    assert done.stderr.startswith(b"error[CTB-C016]: 'x' cannot be written: No such file")


def test_an_interrupt_while_the_framework_loads_is_quiet() -> None:
    script = """
import sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from ctestbed.cli.main import main
main()
"""
    words = [sys.executable, "-c", script, "topology", "list"]
    done = subprocess.run(words, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
