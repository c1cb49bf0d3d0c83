"""One line of progress on a terminal's stderr, once a job has lasted half a second."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

PATIENCE_S: Final = 0.5


@contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows what is being done; the line is wiped at the end."""
    started, shown = time.monotonic(), False

    def show(label: str) -> None:
        nonlocal shown
        if sys.stderr.isatty() and time.monotonic() - started > PATIENCE_S:
            sys.stderr.write(f"\r\x1b[K{label} ...")
            sys.stderr.flush()
            shown = True

    try:
        yield show
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
