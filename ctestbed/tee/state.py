"""The state directory: what the emulated machines of one user keep between commands.

    STATE/lock                  held while anything changes
    STATE/machines/csv.json     the emulated chip: its keys, certificates, serial number
    STATE/machines/NAME.json    another platform's machine: its seed or its own secret
    STATE/roots/csv/hrk.cert    the root certificate that its chain ends in
    STATE/vms/NAME.json         a VM's record (see records.py), written last: it makes the VM
    STATE/vms/NAME.dram         the touched frames of its memory, as DRAM holds them

Directories are 0700 and files 0600. Every file is written beside its place and renamed into it,
so a killed process leaves at most a stray temporary file or memory without a record, which
the next change clears away.
"""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from typing_extensions import Buffer

from ctestbed.core.errors import EnvironmentLacksError, Where
from ctestbed.core.files import exists, unwritable, write_atomic

FILE_MODE: Final = 0o600
DIRECTORY_MODE: Final = 0o700
LOCK_SECONDS: Final = 30
_POLL_SECONDS: Final = 0.02
_TOP: Final = Path()


def resolve_state_path(option: str | None, environ: Mapping[str, str]) -> Path:
    """Choose the directory: the flag, CTESTBED_STATE_DIR, XDG_STATE_HOME, ~/.local/state."""
    named = option or environ.get("CTESTBED_STATE_DIR")
    if named:
        return Path(named)
    base = environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(base):  # noqa: PTH117 - the XDG rule: a relative value is ignored
        return Path(base) / "ctestbed"
    home = environ.get("HOME")
    if not home:
        raise EnvironmentLacksError(
            "CTB-M010",
            "no state directory: neither --state-dir nor CTESTBED_STATE_DIR nor HOME is set",
            hint="name one with --state-dir",
        )
    return Path(home) / ".local" / "state" / "ctestbed"


class StateDirectory:
    """One state directory. Reading never changes it; changing it needs `exclusive()`."""

    def __init__(self, path: Path, *, lock_seconds: float = LOCK_SECONDS) -> None:
        """Name it; nothing is made or read yet."""
        self.path = path
        self._lock_seconds = lock_seconds

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the directory alone, making it first and clearing away what a crash left.

        Raises:
            EnvironmentLacksError: it cannot be made or written, or stays locked too long.
        """
        self._make(_TOP)
        with self._lock(fcntl.LOCK_EX):
            self._clear_leftovers()
            yield

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Keep writers out while several files are read; an absent directory is an empty one."""
        if not exists(self._lock_path):
            yield
            return
        with self._lock(fcntl.LOCK_SH):
            yield

    def read(self, name: str) -> bytes | None:
        """Return a file's content, or None if it is absent."""
        path = self.path / name
        try:
            return _read_regular(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise EnvironmentLacksError(
                "CTB-M011",
                f"state file {str(path)!r} cannot be read: {error.strerror}",
                where=Where(file=str(path)),
                hint="check its owner and permissions, or use another --state-dir",
            ) from error

    def write(self, name: str, content: bytes | Iterable[Buffer]) -> None:
        """Write a file atomically, for this user only; `content` may come in parts."""
        path = self.path / name
        self._make(Path(name).parent)
        write_atomic(path, content, mode=FILE_MODE)

    def remove(self, name: str) -> None:
        """Remove a file if it is there."""
        path = self.path / name
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise unwritable(path, error) from error

    def vm_names(self) -> list[str]:
        """Return the names of the VMs that have a record, readable or not, sorted."""
        return sorted(
            path.stem for path in self._files("vms") if _is_visible(path) and path.suffix == ".json"
        )

    def emulated_root_certificates(self) -> dict[str, bytes]:
        """Return the root certificate of each emulated platform, by platform name."""
        found = {}
        for path in self._files("roots"):
            content = self.read(f"roots/{path.name}/hrk.cert")
            if content is not None:
                found[path.name] = content
        return found

    @property
    def _lock_path(self) -> Path:
        return self.path / "lock"

    def _files(self, name: str) -> list[Path]:
        directory = self.path / name
        try:
            return sorted(directory.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise EnvironmentLacksError(
                "CTB-M011",
                f"state directory {str(directory)!r} cannot be read: {error.strerror}",
                where=Where(file=str(directory)),
                hint="check its owner and permissions, or use another --state-dir",
            ) from error

    def _make(self, name: Path) -> None:
        """Make a directory of the state, and those above it, for this user only."""
        for part in (*reversed(name.parents), name):
            directory = self.path / part
            try:
                directory.mkdir(mode=DIRECTORY_MODE, parents=part == _TOP, exist_ok=True)
            except OSError as error:
                raise unwritable(directory, error) from error

    @contextmanager
    def _lock(self, kind: int) -> Iterator[None]:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
        if kind == fcntl.LOCK_EX:
            flags |= os.O_CREAT
        try:
            handle = os.open(self._lock_path, flags, FILE_MODE)
        except OSError as error:
            raise unwritable(self._lock_path, error) from error
        try:
            self._wait(handle, kind)
            yield
        finally:
            os.close(handle)

    def _wait(self, handle: int, kind: int) -> None:
        """Poll for the lock: a blocking call could not be given a bound."""
        deadline = time.monotonic() + self._lock_seconds
        while True:
            try:
                fcntl.flock(handle, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise EnvironmentLacksError(
                        "CTB-M012",
                        f"the state directory {str(self.path)!r} has been locked by another"
                        f" process for {self._lock_seconds:g} s",
                        where=Where(file=str(self._lock_path)),
                        hint="wait for the other ctestbed to end, or use another --state-dir",
                    ) from None
                time.sleep(_POLL_SECONDS)
            except OSError as error:
                raise unwritable(self._lock_path, error) from error
            else:
                return

    def _clear_leftovers(self) -> None:
        """Remove temporary files and memory without a record: nobody else is writing now."""
        for directory in ("machines", "vms", "roots/csv"):
            for path in self._files(directory):
                orphan = path.suffix == ".dram" and not exists(path.with_suffix(".json"))
                if not _is_visible(path) or orphan:
                    self.remove(f"{directory}/{path.name}")


def _read_regular(path: Path) -> bytes:
    """Read a file; a pipe or a device might never end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")
    return path.read_bytes()


def _is_visible(path: Path) -> bool:
    return not path.name.startswith(".")
