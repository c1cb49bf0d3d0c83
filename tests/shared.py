"""Where tests find the real evidence, fabrics and vectors that are read in place, never copied."""

import os
from pathlib import Path

import pytest

_DEFAULT = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def shared_data(name: str) -> Path:
    """Return the path of a shared data file, or skip the test with the reason."""
    root = Path(os.environ.get("CTESTBED_SHARED_DATA", _DEFAULT))
    path = root / name
    if not path.exists():
        pytest.skip(f"shared test data {name!r} is absent (set CTESTBED_SHARED_DATA)")
    return path
