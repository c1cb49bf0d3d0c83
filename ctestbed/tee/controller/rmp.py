"""AMD's reverse map table: who owns a page of memory, at which guest address, validated or not.

The host assigns pages (RMPUPDATE), which makes them invalid; the guest makes them valid
(PVALIDATE). A host may read an assigned page and gets ciphertext; its writes fault.
"""

from enum import IntEnum, IntFlag
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ctestbed.core.errors import InputError
from ctestbed.tee.controller.ownership import Ownership, Page, Rows, refuse_foreign, require_pages
from ctestbed.tee.controller.replies import FaultKind, Path, Reply, Requester, faulted

ASSIGNED: Final = 1


class RmpFlag(IntFlag):
    """The flags of an entry."""

    VALIDATED = 1
    IMMUTABLE = 2
    VMSA = 4


class RmpResult(IntEnum):
    """What RMPUPDATE and PVALIDATE return in EAX, by AMD's manual (volume 3)."""

    SUCCESS = 0
    FAIL_INPUT = 1
    FAIL_PERMISSION = 2
    FAIL_INUSE = 3
    FAIL_OVERLAP = 4
    FAIL_SIZEMISMATCH = 6


class ReverseMap(Ownership):
    """The table, and the window in which the host can still write it.

    The table lies in DRAM. While the secure processor sets it up, the host must be kept out of
    it; `guarded` firmware does so. Once `locked`, hardware does.
    """

    name = "RMP"

    def __init__(self, *, guarded: bool = True) -> None:
        """Make an empty table, not yet locked."""
        super().__init__()
        self.guarded = guarded
        self.locked = False

    def lock(self) -> None:
        """End the set-up: SNP_INIT has returned."""
        self.locked = True

    def overwrite(self, address: int, page: Page) -> Reply | None:
        """Write an entry as a host that stores to the table's own memory."""
        if self.locked or self.guarded:
            return faulted(FaultKind.RMP, address, "the table's own pages are not the host's")
        self.table.fill(
            address, 1, owner=page.owner, state=page.state, flags=page.flags, guest=page.guest
        )
        return None

    def update(self, address: int, length: int, *, asid: int, guest: int, flags: int = 0) -> None:
        """RMPUPDATE: give pages to a guest, or back to the host with asid 0. Never validates.

        Raises:
            InputError: FAIL_INPUT, or FAIL_PERMISSION on an immutable page.
        """
        require_pages(address, length, "FAIL_INPUT", "RMPUPDATE")
        bad = self.table.first_where(address, length, _has(RmpFlag.IMMUTABLE))
        if bad is not None:
            raise refused("RMPUPDATE", RmpResult.FAIL_PERMISSION, f"page {bad:#x} is immutable")
        self.assign(address, length, asid=asid, guest=guest, flags=flags & ~RmpFlag.VALIDATED)

    def assign(self, address: int, length: int, *, asid: int, guest: int, flags: int) -> None:
        """Write entries as the secure processor does, which nothing holds back."""
        self.table.fill(
            address, length, owner=asid, state=ASSIGNED if asid else 0, flags=flags, guest=guest
        )

    def validate(
        self, address: int, length: int, *, asid: int, guest: int, valid: bool = True
    ) -> None:
        """PVALIDATE: a guest accepts pages, or gives them up.

        Raises:
            InputError: pages of another guest or address, or pages in that state already (the
                instruction sets the carry flag then: a guest takes it as an attack).
        """
        require_pages(address, length, "FAIL_INPUT", "PVALIDATE")
        who = Requester(Path.GUEST_PRIVATE, asid, guest)
        bad = self.first_mismatch(who, address, length, ASSIGNED)
        if bad is not None:
            raise refused("PVALIDATE", RmpResult.FAIL_INPUT, f"page {bad:#x} is not this guest's")
        same = _has(RmpFlag.VALIDATED) if valid else _lacks(RmpFlag.VALIDATED)
        bad = self.table.first_where(address, length, same)
        if bad is not None:
            raise InputError(
                "CTB-M073", f"PVALIDATE changes nothing (CF = 1): page {bad:#x} is in that state"
            )
        for _, rows in self.table.rows(address, length, make=True):
            cleared = rows["flags"] & np.uint8(0xFF ^ RmpFlag.VALIDATED)
            rows["flags"] = cleared | np.uint8(RmpFlag.VALIDATED if valid else 0)

    def check(self, who: Requester, address: int, length: int, *, write: bool) -> Reply | None:
        """Check an access as the page walker and the IOMMU do."""
        if who.path in {Path.GUEST_PRIVATE, Path.OTHER_GUEST}:
            return self._private(who, address, length, FaultKind.NESTED_PAGE_FAULT)
        if who.path is Path.DMA_ACCEPTED:
            return self._private(who, address, length, FaultKind.IO_PAGE_FAULT)
        if not write:
            return None
        bad = self.first_owned(address, length)
        if bad is None:
            return None
        return faulted(_WRITE_FAULT[who.path], bad, "the page is assigned to a guest")

    def _private(self, who: Requester, address: int, length: int, fault: FaultKind) -> Reply | None:
        bad = self.first_mismatch(who, address, length, ASSIGNED)
        if bad is not None:
            row = self.table.page(bad)
            cause = (
                "the page is the host's"
                if not row.owner
                else "the page is another guest's"
                if row.owner != who.slot
                else f"the page serves guest address {row.guest:#x}"
            )
            return refuse_foreign(who, bad, fault, cause, absent=not row.owner)
        bad = self.table.first_where(address, length, _lacks(RmpFlag.VALIDATED))
        if bad is not None:
            return faulted(FaultKind.VC, bad, "the page is not validated")
        bad = self.table.first_where(address, length, _has(RmpFlag.VMSA))
        if bad is not None:
            return faulted(fault, bad, "the page is a register save area")
        return None


_WRITE_FAULT: Final = {
    Path.HOST: FaultKind.RMP,
    Path.GUEST_SHARED: FaultKind.NESTED_PAGE_FAULT,
    Path.DMA_UNTRUSTED: FaultKind.IO_PAGE_FAULT,
}


def refused(command: str, result: RmpResult, why: str) -> InputError:
    """Return the error of an instruction that failed."""
    return InputError("CTB-M073", f"{command} returns {result.name}: {why}")


def _has(flag: RmpFlag) -> Any:
    def test(_: int, rows: Rows) -> NDArray[np.bool_]:
        return np.asarray(rows["flags"] & np.uint8(flag) != 0, np.bool_)

    return test


def _lacks(flag: RmpFlag) -> Any:
    def test(_: int, rows: Rows) -> NDArray[np.bool_]:
        return np.asarray(rows["flags"] & np.uint8(flag) == 0, np.bool_)

    return test
