"""Who owns a page: the table that hardware looks up at an access, and the default, no table.

A table keeps a row per 4 KiB page of physical memory: the key slot of its owner, the guest
address it serves, a state and flags. Rows exist once they are written, 4096 at a time.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctestbed.core.errors import InputError
from ctestbed.tee.controller.replies import PAGE_SIZE, FaultKind, Path, Reply, Requester, faulted

ROW: Final = np.dtype([("owner", "<u4"), ("state", "u1"), ("flags", "u1"), ("guest", "<u8")])
Rows: TypeAlias = NDArray[Any]
_CHUNK: Final = 4096


@dataclass(frozen=True, slots=True)
class Page:
    """A row of a table. `guest` is the guest address that the page serves."""

    owner: int
    state: int
    flags: int
    guest: int


class PageTable:
    """Rows by page number; those never written are all zeros."""

    def __init__(self) -> None:
        """Make an empty table."""
        self._chunks: dict[int, Rows] = {}
        self._blank = np.zeros(_CHUNK, ROW)
        self._blank.flags.writeable = False

    def rows(self, address: int, length: int, *, make: bool = False) -> Iterator[tuple[int, Rows]]:
        """Yield (page number, rows) of the pages that a range touches, as views."""
        number, last = address // PAGE_SIZE, -(-(address + length) // PAGE_SIZE)
        while number < last:
            chunk, start = divmod(number, _CHUNK)
            count = min(_CHUNK - start, last - number)
            rows = self._chunks.get(chunk)
            if rows is None:
                rows = self._blank
                if make:
                    rows = self._chunks[chunk] = np.zeros(_CHUNK, ROW)
            yield number, rows[start : start + count]
            number += count

    def page(self, address: int) -> Page:
        """Return one row."""
        (_, rows) = next(self.rows(address, 1))
        row = rows[0]
        return Page(int(row["owner"]), int(row["state"]), int(row["flags"]), int(row["guest"]))

    def fill(
        self, address: int, length: int, *, owner: int, state: int, flags: int, guest: int
    ) -> None:
        """Write the rows of whole pages; `guest` is the guest address of the first."""
        for number, rows in self.rows(address, length, make=True):
            rows["owner"], rows["state"], rows["flags"] = owner, state, flags
            first = guest + number * PAGE_SIZE - address if owner else 0
            step = PAGE_SIZE if owner else 0
            rows["guest"] = first + step * np.arange(len(rows), dtype=np.uint64)

    def mark(self, address: int, length: int, **columns: int) -> None:
        """Write single columns of whole pages."""
        for _, rows in self.rows(address, length, make=True):
            for name, value in columns.items():
                rows[name] = value

    def first_where(
        self, address: int, length: int, test: Callable[[int, Rows], NDArray[np.bool_]]
    ) -> int | None:
        """Return the address of the first page of a range whose row passes a test.

        The test is given the number of the first row, counted from the range's own first page.
        """
        start = address // PAGE_SIZE
        for number, rows in self.rows(address, length):
            hits = np.flatnonzero(test(number - start, rows))
            if len(hits):
                return (number + int(hits[0])) * PAGE_SIZE
        return None

    def spans(self, address: int, length: int, *, state: int) -> list[tuple[int, int]]:
        """Return (address, length) of the runs of pages of a range that are in a state."""
        found: list[tuple[int, int]] = []
        for number, rows in self.rows(address, length):
            flags = np.concatenate([[False], rows["state"] == state, [False]])
            edges = np.flatnonzero(flags[1:] != flags[:-1]).reshape(-1, 2)
            for first, last in edges:
                start, size = (number + int(first)) * PAGE_SIZE, int(last - first) * PAGE_SIZE
                if found and sum(found[-1]) == start:
                    found[-1] = (found[-1][0], found[-1][1] + size)
                else:
                    found.append((start, size))
        return found

    def owned(self, owner: int) -> list[tuple[int, int]]:
        """Return (address, length) of the runs of an owner's pages, sorted."""
        found: list[tuple[int, int]] = []
        for chunk in sorted(self._chunks):
            mine = np.concatenate([[False], self._chunks[chunk]["owner"] == owner, [False]])
            edges = np.flatnonzero(mine[1:] != mine[:-1]).reshape(-1, 2)
            base = chunk * _CHUNK
            for first, last in edges:
                place = (base + int(first)) * PAGE_SIZE
                found.append((place, int(last - first) * PAGE_SIZE))
        return found


class Ownership:
    """No table: whoever reaches memory is served. The base of those that have one."""

    name = "none"

    def __init__(self) -> None:
        """Make an empty table."""
        self.table = PageTable()

    def check(self, who: Requester, address: int, length: int, *, write: bool) -> Reply | None:
        """Return the refusal of an access, or None where it may go on."""

    def owner(self, address: int) -> int:
        """Return the key slot of a page's owner, 0 for the host."""
        return self.table.page(address).owner

    def first_mismatch(self, who: Requester, address: int, length: int, state: int) -> int | None:
        """Return the first page that is not the requester's, at its guest address, in `state`."""
        guest = who.guest_address
        page = None if guest is None else guest - guest % PAGE_SIZE

        def wrong(number: int, rows: Rows) -> NDArray[np.bool_]:
            bad = (rows["owner"] != who.slot) | (rows["state"] != state)
            if page is not None:
                step = np.arange(number, number + len(rows), dtype=np.uint64) * PAGE_SIZE
                bad |= rows["guest"] != page + step
            return np.asarray(bad, np.bool_)

        return self.table.first_where(address, length, wrong)

    def first_owned(self, address: int, length: int) -> int | None:
        """Return the first page of a range that has an owner."""
        return self.table.first_where(address, length, lambda _, rows: rows["owner"] != 0)


def require_pages(address: int, length: int, status: str, command: str) -> None:
    """Refuse what is not whole pages, by the status that the platform's firmware returns.

    Raises:
        InputError: `CTB-M072`.
    """
    if address % PAGE_SIZE or length % PAGE_SIZE or length <= 0 or address < 0:
        raise InputError(
            "CTB-M072",
            f"{command} returns {status}: {length} bytes at {address:#x} are not whole pages",
            hint="addresses and sizes are multiples of 4 KiB",
        )


def refuse_foreign(
    who: Requester, bad: int, fault: FaultKind, what: str, *, absent: bool = False
) -> Reply:
    """Return the fault of a private access to a page that is not the requester's."""
    return faulted(fault, bad, what, absent=absent and who.path is Path.GUEST_PRIVATE)
