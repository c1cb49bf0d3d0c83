"""On a terminal: colour, progress that comes and goes, binary that is kept off the screen."""

import os
import pty
import re
import subprocess
import time
from pathlib import Path

import pytest

from ctestbed.cli import _progress
from tests.cli.shell import MAIN, ctestbed


def on_terminal(*words: str, cwd: Path, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run with stdout and stderr on a pseudo-terminal; return the code and what it showed."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*MAIN, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "", "TERM": "xterm", "COLUMNS": "120", **(env or {})},
    ) as running:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux says so when the other side is closed
                break
            if not part:
                break
            shown += part
        code = running.wait(timeout=60)
    os.close(ours)
    return code, shown.decode(errors="replace")


def test_a_report_in_colour(tmp_path: Path) -> None:
    code, shown = on_terminal("topology", "validate", "lab-128", cwd=tmp_path)
    assert code == 0
    assert "\x1b[1;32m" in shown
    assert "PASS" in shown


@pytest.mark.parametrize("quiet", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_report_without_colour(quiet: dict[str, str], tmp_path: Path) -> None:
    code, shown = on_terminal("topology", "validate", "lab-128", cwd=tmp_path, env=quiet)
    assert code == 0
    assert "\x1b[1;32m" not in shown
    assert "PASS" in shown


@pytest.mark.parametrize("width", [60, 80])
def test_a_drawing_is_cut_and_never_wrapped(width: int, tmp_path: Path) -> None:
    env = {"COLUMNS": str(width), "NO_COLOR": "1"}
    code, shown = on_terminal("topology", "show", "three-vendor-sites", cwd=tmp_path, env=env)
    assert code == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)  # bold stays without colour
    lines = [line.rstrip("\r") for line in plain.split("\n")]
    assert all(len(line) <= width for line in lines)
    first = next(n for n, line in enumerate(lines) if line.startswith("  [spine-0]"))
    assert "|" in lines[first + 1], "the next line of the drawing, not the rest of this one"
    assert lines[first + 2].startswith("  ====")
    assert any(line.endswith("\u2026") for line in lines)


def test_a_plane_fits_a_terminal_of_eighty_columns(tmp_path: Path) -> None:
    env = {"COLUMNS": "80", "NO_COLOR": "1"}
    for name in ("lab-128", "fat-tree-1024", "uneven-planes-1024"):
        code, shown = on_terminal("topology", "show", name, cwd=tmp_path, env=env)
        assert code == 0
        drawn = [line for line in shown.splitlines() if "[leaf-" in line or "[spine-" in line]
        assert drawn
        assert not any("\u2026" in line for line in drawn)


def test_progress_is_shown_and_wiped(tmp_path: Path) -> None:
    code, shown = on_terminal("bench", "run", "two-campus-150km", cwd=tmp_path)
    assert code == 0
    assert "\r\x1b[Kmemory encryption ..." in shown
    assert "expectations ...\r\x1b[K" in shown


def test_binary_is_kept_off_the_screen(tmp_path: Path) -> None:
    assert ctestbed("cvm", "launch", "--name", "a", "--memory", "2MiB").code == 0
    code, shown = on_terminal("evidence", "make", "a", "--nonce", "00", cwd=tmp_path)
    assert code == 2
    assert "name a file with -o FILE" in shown


@pytest.mark.parametrize(
    ("terminal", "patience", "shown"),
    [
        (True, 0.0, "\r\x1b[Ksecond ...\r\x1b[Kthird ...\r\x1b[K"),
        (True, 60.0, ""),
        (False, 0.0, ""),
    ],
)
def test_progress_waits_and_needs_a_terminal(
    terminal: bool,
    patience: float,
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A step that is under way when patience ends is shown then, not only the next one."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    monkeypatch.setattr(_progress, "PATIENCE_S", patience)
    with _progress.progress_line() as show:
        if not patience:
            time.sleep(0.2)
        show("second")
        show("third")
    assert capsys.readouterr().err == shown
