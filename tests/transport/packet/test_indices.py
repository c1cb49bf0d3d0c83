"""The compiled kernels do not check indices: as plain Python, none of theirs leaves its table."""

import os
import subprocess
import sys
from pathlib import Path


def test_no_index_leaves_its_table() -> None:
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-m", "tests.transport.packet.strict_indices", "60"],
        cwd=root, env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "inside\n"), done.stderr[-2000:]
