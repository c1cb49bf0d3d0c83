"""Ownership whose guest page tables are kept by a trusted part, not by the host.

Beside the table of physical pages, each guest has a table of its own pages: where each lies,
and in which state it is. A guest access must agree with it, so a host that points elsewhere gets
a fault. TDX, CSV3, CCA and virtCCA differ in what the physical table stops, and in names.
"""

from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ctestbed.tee.controller.ownership import Ownership, PageTable, Rows, refuse_foreign
from ctestbed.tee.controller.replies import (
    PAGE_SIZE,
    FaultKind,
    Path,
    Reply,
    Requester,
    faulted,
)


class MapState(IntEnum):
    """The state of a guest's page in the trusted table."""

    FREE = 0
    MAPPED = 1
    PENDING = 2
    BLOCKED = 3


class MappedOwnership(Ownership):
    """The base: `maps` has a table per guest, by its key slot, whose rows say where pages lie."""

    name = "mapped"
    absent_fault = FaultKind.NESTED_PAGE_FAULT
    pending_fault = FaultKind.NESTED_PAGE_FAULT
    device_fault = FaultKind.IO_PAGE_FAULT

    def __init__(self) -> None:
        """Start without guests."""
        super().__init__()
        self.maps: dict[int, PageTable] = {}

    def map(self, slot: int, guest: int, address: int, length: int, state: MapState) -> None:
        """Map whole pages of a guest; `guest` and `address` are those of the first."""
        table = self.maps.setdefault(slot, PageTable())
        table.fill(guest, length, owner=slot, state=state, flags=0, guest=address)

    def set_state(self, slot: int, guest: int, length: int, state: MapState) -> None:
        """Change the state of mapped pages."""
        self.maps[slot].mark(guest, length, state=state)

    def unmap(self, slot: int, guest: int, length: int) -> None:
        """Forget where pages lie."""
        if slot in self.maps:
            self.maps[slot].fill(guest, length, owner=0, state=0, flags=0, guest=0)

    def place(self, slot: int, guest: int) -> tuple[MapState, int]:
        """Return the state of a guest's page, and where it lies."""
        page = self.maps.get(slot, _NOTHING).page(guest)
        return MapState(page.state), page.guest

    def first_state(self, slot: int, guest: int, length: int, state: MapState) -> int | None:
        """Return the guest address of the first page of a range in this state."""
        table = self.maps.get(slot, _NOTHING)
        return table.first_where(guest, length, lambda _, rows: rows["state"] == state)

    def first_not(self, slot: int, guest: int, length: int, state: MapState) -> int | None:
        """Return the guest address of the first page of a range in another state."""
        table = self.maps.get(slot, _NOTHING)
        return table.first_where(guest, length, lambda _, rows: rows["state"] != state)

    def check(self, who: Requester, address: int, length: int, *, write: bool) -> Reply | None:
        """Check a private access against the guest's table, any other by `outside`."""
        if who.path in {Path.GUEST_PRIVATE, Path.OTHER_GUEST, Path.DMA_ACCEPTED}:
            return self._private(who, address, length)
        return self.outside(who, address, length, write=write)

    def outside(self, who: Requester, address: int, length: int, *, write: bool) -> Reply | None:
        """Check an access that is no guest's private one."""

    def _private(self, who: Requester, address: int, length: int) -> Reply | None:
        device = who.path is Path.DMA_ACCEPTED
        guest = who.guest_address
        if guest is None:  # a device, or a guest on a table that the host forged for it
            bad = self.first_mismatch(who, address, length, self.owned_state)
            fault = self.device_fault if device else self.absent_fault
            return None if bad is None else faulted(fault, bad, "the page is not this guest's")
        table = self.maps.get(who.slot, _NOTHING)
        first = address - address % PAGE_SIZE

        def wrong(number: int, rows: Rows) -> NDArray[np.bool_]:
            step = np.arange(number, number + len(rows), dtype=np.uint64) * PAGE_SIZE
            bad = (rows["state"] != MapState.MAPPED) | (rows["guest"] != first + step)
            return np.asarray(bad, np.bool_)

        found = table.first_where(guest, length, wrong)
        if found is None:
            return None
        state, place = self.place(who.slot, found)
        bad_address = first + found - (guest - guest % PAGE_SIZE)
        if state is MapState.PENDING:
            return faulted(self.pending_fault, bad_address, "the guest has not accepted the page")
        fault = self.device_fault if device else self.absent_fault
        if state is MapState.FREE:
            return refuse_foreign(who, bad_address, fault, "the page is not mapped", absent=True)
        if state is MapState.BLOCKED:
            return faulted(fault, bad_address, "the page is blocked")
        return faulted(fault, bad_address, f"the trusted table maps it to {place:#x}")

    @property
    def owned_state(self) -> int:
        """The state of a guest's page in the physical table."""
        return 1


_NOTHING: Final = PageTable()


class SecureEpt(MappedOwnership):
    """TDX: the PAMT says what each physical page is for; Secure EPT maps a TD's pages.

    The host's own accesses are not checked here: the TD-owner bit of each line answers them.
    `quiet` is SEPT_VE_DISABLE: touching a pending page leaves the TD instead of telling it.
    """

    name = "PAMT + Secure EPT"
    absent_fault = FaultKind.EPT_VIOLATION

    def __init__(self, *, quiet: bool = True) -> None:
        """Start without TDs."""
        super().__init__()
        self.pending_fault = FaultKind.EPT_VIOLATION if quiet else FaultKind.VE


class IsolationRegions(MappedOwnership):
    """CSV3: pages in secure regions, which only the secure processor gives to a guest."""

    name = "CSV3 isolation"

    @override
    def outside(self, who: Requester, address: int, length: int, *, write: bool) -> Reply | None:
        """Block any access from outside the guest."""
        bad = self.first_owned(address, length)
        if bad is None:
            return None
        return faulted(FaultKind.ISOLATION, bad, "the page lies in a guest's isolated memory")


class Granule(IntEnum):
    """Physical address spaces of the granule protection table."""

    NON_SECURE = 0
    SECURE = 1
    REALM = 2
    ROOT = 3


class GranuleTable(MappedOwnership):
    """CCA: each granule belongs to one address space, and every access is checked, DMA too."""

    name = "granule protection table"
    absent_fault = FaultKind.STAGE_2
    pending_fault = FaultKind.STAGE_2
    device_fault = FaultKind.GRANULE

    @override
    def outside(self, who: Requester, address: int, length: int, *, write: bool) -> Reply | None:
        """Let the Non-secure world reach Non-secure granules only."""
        bad = self.table.first_where(address, length, lambda _, rows: rows["state"] != 0)
        if bad is None:
            return None
        space = Granule(self.table.page(bad).state).name.replace("_", "-").capitalize()
        return faulted(FaultKind.GRANULE, bad, f"the granule is {space}")

    @property
    def owned_state(self) -> int:
        """A realm's granule."""
        return Granule.REALM


class SecurePartition(MappedOwnership):
    """virtCCA: a partition of DRAM that TrustZone keeps from the normal world and its devices."""

    name = "TrustZone partition"
    absent_fault = FaultKind.STAGE_2
    pending_fault = FaultKind.STAGE_2
    device_fault = FaultKind.EXTERNAL_ABORT

    @override
    def outside(self, who: Requester, address: int, length: int, *, write: bool) -> Reply | None:
        """Keep the normal world out of the partition."""
        bad = self.table.first_where(address, length, lambda _, rows: rows["state"] != 0)
        if bad is None:
            return None
        return faulted(FaultKind.EXTERNAL_ABORT, bad, "the page is secure memory")
