"""Help: every command has some, its example works, and the first page loads next to nothing."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from ctestbed.cli._nouns import NOUNS
from tests.cli.shell import ctestbed, process
from tests.cli.tree import commands, example

HEAVY = {"numpy", "numba", "networkx", "cryptography", "pydantic", "rich", "jinja2", "asyncio"}


def test_the_tree_is_the_one_in_the_design() -> None:
    assert set(commands()) == {
        ("topology", "list"),
        ("topology", "show"),
        ("topology", "import"),
        ("topology", "export"),
        ("topology", "diff"),
        ("topology", "bom"),
        ("topology", "build"),
        ("topology", "validate"),
        ("route", "path"),
        ("sim", "transfer"),
        ("sim", "headroom"),
        ("sim", "longhaul"),
        ("cvm", "launch"),
        ("cvm", "list"),
        ("cvm", "show"),
        ("cvm", "stop"),
        ("cvm", "attack"),
        ("evidence", "make"),
        ("evidence", "show"),
        ("attest", "verify"),
        ("attest", "roots"),
        ("bench", "list"),
        ("bench", "run"),
        ("report", "build"),
        ("report", "convert"),
        ("doctor",),
        ("explain",),
        ("schema", "list"),
        ("schema", "show"),
        ("config", "show"),
        ("config", "path"),
        ("completion",),
    }


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_has_help_and_an_example_of_itself(words: tuple[str, ...]) -> None:
    outcome = ctestbed(*words, "--help")
    assert outcome.code == 0
    assert outcome.stderr == ""
    assert f"Usage: ctestbed {' '.join(words)}" in outcome.stdout
    assert f"ctestbed {' '.join(words)}" in example(words)
    assert ctestbed(*words, "-h").stdout == outcome.stdout


@pytest.mark.parametrize("noun", NOUNS)
def test_help_rows_are_the_nouns_own_words(noun: str) -> None:
    module, text = NOUNS[noun]
    app = import_module(module).app
    assert app.info.help == text
    assert app.info.name == noun
    alone = subprocess.run(
        [sys.executable, "-c", f"import {module}"], capture_output=True, check=False
    )
    assert alone.returncode == 0, alone.stderr


PRELUDE = """
set -euo pipefail
ctestbed() {{ {python} -c 'from ctestbed.cli.main import main; main()' "$@"; }}
"""


def run_example(line: str, directory: Path) -> subprocess.CompletedProcess[str]:
    script = PRELUDE.format(python=sys.executable) + line
    environment = {**os.environ, "CTESTBED_STATE_DIR": str(directory / "state")}
    return subprocess.run(
        ["bash", "-c", script],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make what the examples name: VM a, its evidence, two reports, a root certificate."""
    place = tmp_path_factory.mktemp("examples")
    verify = "ctestbed attest verify ev.bin"
    for line in (
        "ctestbed cvm launch --platform csv --name a --export json=run.json",
        "ctestbed evidence make a --nonce 0123456789abcdef -o ev.bin",
        f"{verify} --roots emulated --nonce 0123456789abcdef -o verify.json --format json",
        "cp state/roots/csv/hrk.cert hrk.cert",
    ):
        done = run_example(line, place)
        assert done.returncode == 0, done.stderr
    return place


@pytest.mark.parametrize(
    "words",
    [words for words in commands() if words not in {("cvm", "stop"), ("cvm", "launch")}],
    ids=" ".join,
)
def test_every_example_works(words: tuple[str, ...], workplace: Path) -> None:
    line = example(words)
    if " -o ev.bin" in line:
        line += " --force"
    done = run_example(line, workplace)
    assert done.returncode == 0, done.stderr
    assert "rror" not in done.stderr


def test_launching_and_stopping_by_example(tmp_path: Path) -> None:
    for words in (("cvm", "launch"), ("cvm", "stop")):
        done = run_example(example(words), tmp_path)
        assert done.returncode == 0, done.stderr


def modules_after(*words: str) -> set[str]:
    """Return the top-level modules that a process has loaded when a command ends."""
    code = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: sys.stderr.write("
        "json.dumps(sorted({m.partition('.')[0] for m in sys.modules}))))\n"
        "from ctestbed.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr))


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("-h",),
        ("--version",),
        ("topology", "--help"),
        ("topology", "validate", "--help"),
        ("bench", "run", "--help"),
        ("attest", "verify", "--help"),
        ("cvm", "launch", "--help"),
        ("completion", "bash"),
    ],
    ids=" ".join,
)
def test_help_loads_nothing_heavy(words: tuple[str, ...]) -> None:
    assert not modules_after(*words) & HEAVY


def test_the_quick_first_page_is_what_typer_would_print() -> None:
    quick, through_typer = process("--help"), ctestbed("--help")
    assert quick.code == through_typer.code == 0
    assert " ".join(quick.stdout.split()) == " ".join(through_typer.stdout.split())


def test_no_command_shows_help_as_a_usage_error() -> None:
    outcome = process()
    assert outcome.code == 2
    assert "Usage: ctestbed" in outcome.stdout + outcome.stderr


def test_version() -> None:
    from ctestbed import __version__

    assert process("--version").stdout == f"ctestbed {__version__}\n"


def test_a_mistyped_command_is_met_with_the_nearest() -> None:
    outcome = ctestbed("topolgy")
    assert outcome.code == 2
    assert outcome.stdout == ""
    assert "topology" in outcome.stderr
    outcome = ctestbed("topology", "validat")
    assert outcome.code == 2
    assert "validate" in outcome.stderr


def test_help_under_a_ci_s_variables_has_no_escapes() -> None:
    """Typer forces a terminal under some of them."""
    loud = {"GITHUB_ACTIONS": "true", "FORCE_COLOR": "1", "PY_COLORS": "1", "CI": "1"}
    for words in (("--help",), ("topology", "--help"), ("sim", "headroom", "--help")):
        assert "\x1b" not in process(*words, env=loud).stdout


def test_import_names_every_format_that_it_reads() -> None:
    from ctestbed.topology.formats.registry import FORMATS

    said = " ".join(ctestbed("topology", "import", "--help").stdout.split())
    assert f"{', '.join(sorted(FORMATS)[:-1])} or {max(FORMATS)}." in said
