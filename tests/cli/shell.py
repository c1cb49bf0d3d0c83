"""Run the command line as a person would: in this process for speed, in another where it counts."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

MAIN = (sys.executable, "-c", "from ctestbed.cli.main import main; main()")


@dataclass(frozen=True)
class Outcome:
    """What a command ended with."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """Parse stdout, which must be one JSON document and nothing else."""
        return json.loads(self.stdout)


def ctestbed(*words: str, stdin: str | bytes | None = None) -> Outcome:
    """Run in this process; streams apart, no terminal."""
    from ctestbed.cli.app import app

    result = CliRunner().invoke(app, list(words), input=stdin, prog_name="ctestbed")
    return Outcome(result.exit_code, result.stdout, result.stderr)


def process(
    *words: str,
    stdin: bytes | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Outcome:
    """Run in a process of its own."""
    done = subprocess.run(
        [*MAIN, *words],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())
