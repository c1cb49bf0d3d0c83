"""Ctrl-C as a wish to stop soon, for jobs that have something to show when they do."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass(slots=True)
class Wish:
    """Whether somebody has asked the job to stop."""

    stop: bool = False


@contextmanager
def wish_to_stop() -> Iterator[Wish]:
    """Note a first Ctrl-C instead of raising it; a second one is raised as ever.

    Outside the main thread nothing is changed, as signals do not come there, nor where Ctrl-C is
    ignored, as by jobs in the background.
    """
    wish = Wish()
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored or threading.current_thread() is not threading.main_thread():
        yield wish
        return

    def ask(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - signal's signature
        if wish.stop:
            raise KeyboardInterrupt
        wish.stop = True

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield wish
    finally:
        signal.signal(signal.SIGINT, before)
