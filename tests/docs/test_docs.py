"""Docs tell the truth: generated pages are fresh, commands run, and Sphinx finds no fault."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tools.reference import PAGES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"```bash\n(.*?)```", re.DOTALL)
_PLACEHOLDERS = ("…", "FINGERPRINT", "my_hrk.cert", "fabric.yaml", "|")

TUTORIALS = sorted(path.name for path in (DOCS / "tutorials").glob("*.md"))
ENDS_OTHERWISE = {
    "ctestbed sim headroom --rate 400Gbps --length 150km --configured 60MB": 10,
}
"""Commands shown because they fail, and how."""


def _run(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    words = shlex.split(command)
    assert words[0] == "ctestbed"
    redirect = None
    if ">" in words:
        at = words.index(">")
        redirect, words = words[at + 1], words[:at]
    done = subprocess.run(
        [sys.executable, "-m", "ctestbed", *words[1:]],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if redirect:
        (cwd / redirect).write_text(done.stdout, encoding="utf-8")
    return done


def _commands(text: str) -> list[str]:
    lines = [line for block in _BLOCK.findall(text) for line in block.splitlines()]
    return [line.partition("   #")[0].strip() for line in lines if line.startswith("ctestbed ")]


def _runnable(commands: list[str]) -> list[str]:
    return [line for line in commands if not any(mark in line for mark in _PLACEHOLDERS)]


@pytest.mark.parametrize("name", sorted(PAGES))
def test_generated_pages_are_fresh(name: str) -> None:
    stored = (DOCS / "reference" / name).read_text(encoding="utf-8")
    assert stored == PAGES[name](), "run `make golden` and review the diff"


@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorials_run_as_written(name: str, tmp_path: Path) -> None:
    commands = _runnable(_commands((DOCS / "tutorials" / name).read_text(encoding="utf-8")))
    assert commands
    for command in commands:
        done = _run(command, tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stderr}"


@pytest.mark.parametrize("name", ["write-a-testbed.md", "check-headroom.md"])
def test_how_tos_run_as_written(name: str, tmp_path: Path) -> None:
    for command in _runnable(_commands((DOCS / "how-to" / name).read_text(encoding="utf-8"))):
        done = _run(command, tmp_path)
        assert done.returncode == ENDS_OTHERWISE.get(command, 0), f"{command}\n{done.stderr}"


def test_the_attacks_of_the_tutorial_fail_as_it_says(tmp_path: Path) -> None:
    text = (DOCS / "tutorials" / "security-engineer.md").read_text(encoding="utf-8")
    for command in _commands(text)[:3]:
        _run(command, tmp_path)
    rows = re.findall(r"\| `(ctestbed attest verify [^`]*)` \| (\d+)", text)
    assert len(rows) == 2
    for command, code in rows:
        assert _run(command, tmp_path).returncode == int(code)
    (tmp_path / "ev.bin.certs").unlink()
    verify = "ctestbed attest verify ev.bin --roots emulated --nonce 00112233"
    assert _run(verify, tmp_path).returncode == 14


@pytest.mark.slow
def test_sphinx_finds_no_fault(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"),
            *(str(DOCS), str(tmp_path / "html"), "-d", str(tmp_path / "doctrees")),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
