"""One line of progress on a terminal's stderr, once a job has lasted half a second."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import Final

PATIENCE_S: Final = 0.5


class _Line:
    """The line. Both the job and the timer write it, so a lock keeps them apart."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._label = ""
        self._awake = self._shown = False

    def show(self, label: str) -> None:
        """Say what is being done, if the job has lasted long enough."""
        with self._lock:
            self._label = label
            self._write()

    def wake(self) -> None:
        """Begin to show: the job has lasted long enough, perhaps in the middle of a step."""
        with self._lock:
            self._awake = True
            self._write()

    def wipe(self) -> None:
        """End with an empty line, and stay silent."""
        with self._lock:
            if self._shown:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
            self._awake = self._shown = False

    def _write(self) -> None:
        if self._awake and self._label:
            sys.stderr.write(f"\r\x1b[K{self._label} ...")
            sys.stderr.flush()
            self._shown = True


@contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows what is being done; the line is wiped at the end."""
    if not sys.stderr.isatty():
        yield lambda _label: None
        return
    line = _Line()
    timer = Timer(PATIENCE_S, line.wake)
    timer.daemon = True
    timer.start()
    try:
        yield line.show
    finally:
        timer.cancel()
        timer.join()
        line.wipe()
