"""Reading what a user named and writing so that nothing is ever lost or half-written."""

import errno
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from typing_extensions import Buffer

from ctestbed.core.errors import CtestbedError, EnvironmentLacksError, InputError, Where

MAX_TEXT_BYTES: Final = 64 * 2**20
"""The largest text input read whole (testbed files, envelopes)."""


def read_input(name: str, *, limit: int = MAX_TEXT_BYTES, what: str = "input") -> bytes:
    """Read a file, or standard input for `-`, refusing more than `limit` bytes.

    Never reads further than one byte past the limit, so a 1 GB file costs nothing.

    Raises:
        InputError: no such file, a directory, unreadable, or over the limit.
    """
    try:
        if name == "-":
            content = sys.stdin.buffer.read(limit + 1)
        else:
            with Path(name).open("rb") as stream:
                content = stream.read(limit + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(name, what, error) from error
    if len(content) > limit:
        raise InputError(
            "CTB-C010",
            f"{what} {name!r} is larger than {limit} bytes",
            where=Where(file=name),
            hint="check that this is the file you meant",
        )
    return content


def _unreadable(name: str, what: str, error: OSError | ValueError) -> CtestbedError:
    where = Where(file=name)
    if isinstance(error, FileNotFoundError):
        return InputError(
            "CTB-C011", f"{what} {name!r} does not exist", where=where, hint="check the path"
        )
    if isinstance(error, PermissionError):
        return EnvironmentLacksError(
            "CTB-C012",
            f"{what} {name!r} may not be read by this user",
            where=where,
            hint="check its permissions",
        )
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return InputError("CTB-C013", f"{what} {name!r} cannot be read: {reason}", where=where)


def exists(path: Path) -> bool:
    """Tell whether a path leads to something; one that cannot be looked at leads nowhere."""
    try:
        return path.exists()
    except (OSError, ValueError):  # too long, not permitted, a NUL byte
        return False


def is_file(path: Path) -> bool:
    """Tell whether a path leads to a regular file, as `exists` does."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def under_home(name: str) -> Path:
    """Return a path under the user's home, which a user whom the system does not know lacks."""
    try:
        return Path.home() / name
    except RuntimeError:
        return Path("/nonexistent") / name


def write_output(path: Path, content: bytes, *, force: bool = False) -> None:
    """Write a user's output file atomically; refuse to replace one unless `force`.

    Raises:
        InputError: the file exists and `force` is not set.
        EnvironmentLacksError: no space, no permission, no such directory.
    """
    if exists(path) and not is_file(path):
        _write_special(path, content)
        return
    refuse_existing(path, force=force)
    write_atomic(path, content, mode=_default_mode())


def write_together(files: Sequence[tuple[Path, bytes]], *, force: bool = False) -> None:
    """Write several files that belong together: all of them, or none of the new ones.

    Raises:
        InputError: two are one file, or one exists and `force` is not set; nothing is written.
        EnvironmentLacksError: one cannot be written; those that were new are taken back.
    """
    refuse_twice([path for path, _ in files])
    for path, _ in files:
        if is_file(path):
            refuse_existing(path, force=force)
    new: list[Path] = []
    try:
        for path, content in files:
            existed = exists(path)
            write_output(path, content, force=force)
            if not existed:
                new.append(path)
    except CtestbedError:
        for path in new:
            path.unlink(missing_ok=True)
        raise


def refuse_twice(paths: Sequence[Path]) -> None:
    """Refuse one file as the place of two outputs, which would leave the last of them only.

    Raises:
        InputError: two paths lead to one place.
    """
    seen: set[str] = set()
    for path in paths:
        place = _real(path)
        if place in seen:
            raise InputError(
                "CTB-C014",
                f"{str(path)!r} would be written twice",
                where=Where(file=str(path)),
                hint="name another file for one of the outputs",
            )
        seen.add(place)


def _real(path: Path) -> str:
    try:
        return os.path.realpath(path)
    except OSError:  # the current directory is gone
        return str(path)


def refuse_existing(path: Path, *, force: bool) -> None:
    """Refuse to replace a file unless `force`.

    Raises:
        InputError: the file exists and `force` is not set.
    """
    if exists(path) and not force:
        raise InputError(
            "CTB-C014",
            f"{str(path)!r} exists already",
            where=Where(file=str(path)),
            hint="use --force to replace it, or name another file",
        )


def _default_mode() -> int:
    """Return the mode that this user gives to new files: a temporary file has its own."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def _write_special(path: Path, content: bytes) -> None:
    """Write to a device or pipe, which a rename would replace instead of filling."""
    try:
        with path.open("wb") as stream:
            stream.write(content)
    except OSError as error:
        raise unwritable(path, error) from error


def write_atomic(path: Path, content: bytes | Iterable[Buffer], *, mode: int) -> None:
    """Write to a temporary file beside `path`, flush it to disk, then rename it into place.

    `content` may come in parts, so that what is large is never held twice.
    """
    parts = [content] if isinstance(content, bytes) else content
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:64]}.", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            for part in parts:
                stream.write(part)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        Path(temporary).replace(path)
        temporary = None
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    """Make the rename itself durable, where the file system can."""
    try:
        handle = os.open(directory, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def unwritable(path: Path, error: OSError) -> CtestbedError:
    """Explain why `path` could not be written."""
    where = Where(file=str(path))
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return EnvironmentLacksError(
            "CTB-C015",
            f"no space to write {str(path)!r}; nothing that was there before is lost",
            where=where,
            hint="free some space and run it again",
        )
    return EnvironmentLacksError(
        "CTB-C016",
        f"{str(path)!r} cannot be written: {error.strerror or error}",
        where=where,
        hint="check that its directory exists and may be written",
    )
