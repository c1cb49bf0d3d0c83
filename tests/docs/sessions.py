"""Run the `console` blocks of a page as one shell session, and compare what they show.

In shown output `...` stands for any text, as in doctest; figures timed on the machine may differ,
and with them the spacing of tables. A block with `:caption: FILE` is a file that the session finds
in its directory.

`python -m tests.docs.sessions PAGE` prints what really came out, for whoever writes the page.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent

_BLOCK: Final = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_CAPTION: Final = re.compile(r"\A:caption: (?P<name>[\w.-]+)\n(?::[^\n]*\n)*\n?")
_MARK: Final = "==== end of output, exit "


@dataclass(frozen=True)
class Step:
    """One command of a page, with the output shown below it."""

    command: str
    shown: str


@dataclass(frozen=True)
class Page:
    """What a page gives its session: files, then commands in order."""

    files: dict[str, str]
    steps: list[Step]


def read_page(path: Path) -> Page:
    """Return the session of a page."""
    files: dict[str, str] = {}
    steps: list[Step] = []
    for match in _BLOCK.finditer(path.read_text(encoding="utf-8")):
        body = match["body"]
        caption = _CAPTION.match(body)
        if match["info"].startswith("{code-block}") and caption:
            files[caption["name"]] = body[caption.end() :]
        elif match["info"] == "console":
            steps.extend(_steps(body))
    return Page(files, steps)


def _steps(body: str) -> Iterator[Step]:
    command: list[str] = []
    shown: list[str] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            if command:
                yield Step("\n".join(command), "\n".join(shown))
            command, shown = [line[2:]], []
        elif line.startswith("> ") and not shown:
            command.append(line[2:])
        else:
            shown.append(line)
    if command:
        yield Step("\n".join(command), "\n".join(shown))


def run_page(page: Page, directory: Path, given: dict[str, Path] | None = None) -> list[str]:
    """Run a page's commands in one shell in `directory`, and return the output of each."""
    for name, content in page.files.items():
        (directory / name).write_text(content, encoding="utf-8")
    for name, source in (given or {}).items():
        (directory / name).write_bytes(source.read_bytes())
    script = "".join(
        f"{{ {step.command}\n}} 2>&1; code=$?; echo '{_MARK}'$code; (exit $code)\n"
        for step in page.steps
    )
    home = directory.parent / "home"
    home.mkdir(exist_ok=True)
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "XDG_CACHE_HOME": cache,
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    outputs = re.split(rf"{re.escape(_MARK)}\d+\n", done.stdout)[:-1]
    assert len(outputs) == len(page.steps), done.stderr
    return outputs


def agrees(shown: str, actual: str) -> bool:
    """Tell whether output is what a page shows, `...` standing for any text."""
    parts = [re.escape(part) for part in _tidy(shown).split("...")]
    return re.fullmatch(".*?".join(parts), _tidy(actual), re.DOTALL) is not None


def _tidy(text: str) -> str:
    return "\n".join(_tidy_line(line) for line in text.strip("\n").splitlines())


def _tidy_line(line: str) -> str:
    if "  measured  " in line:
        line = re.sub(r"(?<= )[0-9][0-9,.e+]*(?= )", "#", line)
    return re.sub(r"-{3,}", "---", re.sub(r" {2,}", "  ", line.rstrip()))


def _print_session(path: Path, given: dict[str, Path]) -> None:
    page = read_page(path)
    with tempfile.TemporaryDirectory() as base:
        directory = Path(base) / "work"
        directory.mkdir()
        for step, actual in zip(page.steps, run_page(page, directory, given), strict=True):
            state = "agrees" if agrees(step.shown, actual) else "DIFFERS"
            sys.stdout.write(f"[{state}] $ {step.command}\n{actual}\n")


if __name__ == "__main__":
    _print_session(Path(sys.argv[1]), {Path(name).name: Path(name) for name in sys.argv[2:]})
