"""The standard streams as they come: closed, full, of a reader that left, of a narrow encoding."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ctestbed.core.errors import CtestbedError, EnvironmentLacksError, ExitCode, Where

_STREAM_ERRORS: Final = frozenset(
    {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF, errno.EIO}
)


def open_streams() -> None:
    """Stand in for streams that the caller closed, and let every text be written.

    A closed stdin is empty, a closed stderr swallows, and a closed stdout refuses what is
    written. Files and pipes get UTF-8 whatever the locale, as `-o FILE` does.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 - lives on
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - lives on
    encoding = None if sys.stdout.isatty() else "utf-8"
    sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")  # type: ignore[union-attr]


@contextmanager
def guarded_stdout() -> Iterator[None]:
    """End with the right code where stdout fails; let every other error pass.

    Raises:
        SystemExit: stdout cannot be written, which has been said on stderr.
    """
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if not is_stream_error(error):
            raise
        sys.exit(int(end_stdout(error)))


def is_stream_error(error: OSError) -> bool:
    """Tell whether an error that no file explained can be one of a stream."""
    return error.errno in _STREAM_ERRORS


def end_stdout(error: OSError) -> ExitCode:
    """Write nothing more to stdout, and say why unless its reader just left."""
    # The interpreter's own last flush must not complain again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return ExitCode.PIPE_CLOSED
    from ctestbed.bench.report.text import render_finding
    from ctestbed.core.result import Finding

    say(render_finding(Finding.of_error(_refusal(error)).to_dict()))
    return ExitCode.ENVIRONMENT


def say(text: str) -> None:
    """Write to stderr; where that fails nobody is listening, and the exit code still tells."""
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        return


def _refusal(error: OSError) -> CtestbedError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        from pathlib import Path

        from ctestbed.core.files import unwritable

        return unwritable(Path("standard output"), error)
    return EnvironmentLacksError(
        "CTB-C016",
        f"standard output cannot be written: {error.strerror or error}",
        where=Where(file="standard output"),
        hint="open it, or name a file with -o FILE",
    )
