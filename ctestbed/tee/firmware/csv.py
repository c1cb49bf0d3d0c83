"""Hygon's three generations: CSV and CSV2 as SEV and SEV-ES with SM3, and CSV3.

CSV3's secure processor takes over nested page tables and whole regions of memory:
SET_GUEST_PRIVATE_MEMORY gives regions to a guest, LAUNCH_ENCRYPT_DATA copies and measures its
image, LAUNCH_ENCRYPT_VMCB its register pages, UPDATE_NPT maps pages that come later (Linux,
include/linux/psp-csv.h). How CSV3 measures is not public: the digest here is ours.
"""

from typing import Final, cast

from cryptography.hazmat.primitives import hashes
from typing_extensions import override

from ctestbed.crypto.sm3 import digests, sm3
from ctestbed.crypto.sm4 import BytesLike
from ctestbed.tee.controller.controller import MemoryController
from ctestbed.tee.controller.guest import GuestMemory
from ctestbed.tee.controller.mapped import IsolationRegions, MapState
from ctestbed.tee.controller.ownership import require_pages
from ctestbed.tee.controller.replies import PAGE_SIZE
from ctestbed.tee.firmware.base import OWNED, RANGE, Guest, Plan, refuse, require_image
from ctestbed.tee.firmware.sev import (
    Context,
    Digest,
    GuestState,
    SevFirmware,
    SevStatus,
)
from ctestbed.tee.firmware.vmsa import vmsa_page
from ctestbed.tee.vcpu import VCPU, AreaKind, EventFilter

POLICY_CSV3: Final = 1 << 6


class CsvFirmware(SevFirmware):
    """CSV, or CSV2 with `es`: SEV's commands, with SM3 as launch digest."""

    @override
    def new_digest(self) -> Digest:
        return hashes.Hash(hashes.SM3())

    @override
    def close_digest(self, digest: Digest) -> bytes:
        return cast("hashes.Hash", digest).finalize()


class ChainedDigest:
    """Ours, for CSV3: LD = SM3(LD || SM3(page) || guest address) page by page, 32 bytes."""

    def __init__(self) -> None:
        """Start from zeros."""
        self.value = bytes(32)

    def take(self, address: int, data: BytesLike) -> None:
        """Take whole pages that serve `address` and the guest addresses after it."""
        value = self.value
        for index, digest in enumerate(digests(data, PAGE_SIZE)):
            where = (address + index * PAGE_SIZE).to_bytes(8, "little")
            value = sm3(value + digest + where)
        self.value = value

    def update(self, data: BytesLike, /) -> object:
        """Take register pages, which have no guest address."""
        self.take(0, data)
        return None


class Csv3Firmware(SevFirmware):
    """CSV3's secure processor: what the host loads goes through it into isolated memory."""

    def __init__(self, controller: MemoryController) -> None:
        """Take charge of a controller with isolation regions."""
        super().__init__(controller, es=True)

    @property
    def regions(self) -> IsolationRegions:
        """The isolation regions and the guests' nested page tables."""
        table = self.controller.ownership
        if not isinstance(table, IsolationRegions):
            raise TypeError("CSV3 needs isolation regions")
        return table

    @override
    def new_digest(self) -> Digest:
        return ChainedDigest()

    @override
    def close_digest(self, digest: Digest) -> bytes:
        return cast("ChainedDigest", digest).value

    def set_guest_private_memory(self, handle: int, address: int, length: int) -> None:
        """Give a secure region to a guest; what it held is out of reach from here on."""
        command = "SET_GUEST_PRIVATE_MEMORY"
        guest = self.context(command, handle)
        require_pages(address, length, SevStatus.INVALID_ADDRESS.name, command)
        self.require_memory(address, length, SevStatus.INVALID_ADDRESS.name, command)
        bad = self.regions.first_owned(address, length)
        if bad is not None:
            raise refuse(
                command, SevStatus.INVALID_ADDRESS.name, f"page {bad:#x} is taken", code=OWNED
            )
        self.regions.table.fill(address, length, owner=guest.asid, state=1, flags=0, guest=0)

    def launch_encrypt_data(
        self, handle: int, guest_address: int, address: int, source: BytesLike
    ) -> None:
        """Copy whole pages into a guest's region, measure them and map them."""
        command = "LAUNCH_ENCRYPT_DATA"
        guest = self.launching(command, handle)
        self._map(command, guest, guest_address, address, len(source))
        self.controller.store_private(guest.asid, address, source)
        cast("ChainedDigest", guest.digest).take(guest_address, source)

    def launch_encrypt_vmcb(self, handle: int, address: int, page: bytes) -> None:
        """Put a virtual CPU's first registers into a guest's region, and measure them."""
        guest = self.launching("LAUNCH_ENCRYPT_VMCB", handle)
        if self.regions.owner(address) != guest.asid:
            raise refuse(
                "LAUNCH_ENCRYPT_VMCB",
                SevStatus.INVALID_ADDRESS.name,
                f"{address:#x} is not the guest's",
                code=OWNED,
            )
        self.controller.store_private(guest.asid, address, page)
        guest.digest.update(page)

    def update_npt(self, handle: int, guest_address: int, address: int, length: int) -> None:
        """Map wiped pages of its region into a running guest: a nested page fault's answer."""
        guest = self.context("UPDATE_NPT", handle, GuestState.RUNNING)
        self._map("UPDATE_NPT", guest, guest_address, address, length)
        for start in range(address, address + length, _WIPE):
            count = min(_WIPE, address + length - start)
            self.controller.store_private(guest.asid, start, bytes(count))

    @override
    def launch(self, plan: Plan) -> Guest:
        require_image(plan, SevStatus.INVALID_LEN.name, "LAUNCH_ENCRYPT_DATA")
        asid = self.choose_slot(plan, SevStatus.RESOURCE_LIMIT.name, "ACTIVATE")
        handle = self.start(plan, asid)
        guest = self._isolated(plan, asid, handle)
        self.set_guest_private_memory(
            handle, plan.base + plan.memory, max(1, plan.vcpus) * PAGE_SIZE
        )
        for start, data in plan.pieces():
            self.set_guest_private_memory(handle, plan.base + start, len(data))
            self.launch_encrypt_data(handle, start, plan.base + start, data)
        for cpu in guest.vcpus:
            self.launch_encrypt_vmcb(handle, cpu.area, vmsa_page(features=0))
            cpu.trust()
        guest.measurement = self.launch_measure(handle)
        self.launch_finish(handle)
        guest.memory.take(0, plan.pages_size)
        return guest

    @override
    def resume(self, plan: Plan, key: bytes, measurement: bytes) -> Guest:
        asid = plan.slot or 0
        self.keys.install(asid, key)
        context = Context(plan.policy, plan.entropy, self.new_digest(), GuestState.RUNNING, asid)
        context.measurement = measurement
        handle, self._next = self._next, self._next + 1
        self._guests[handle] = context
        self.set_guest_private_memory(
            handle, plan.base + plan.memory, max(1, plan.vcpus) * PAGE_SIZE
        )
        guest = self._isolated(plan, asid, handle)
        guest.measurement = measurement
        return guest

    @override
    def restore_pages(self, guest: Guest, address: int, length: int) -> None:
        place = guest.memory.base + address
        self.regions.table.fill(place, length, owner=guest.slot, state=1, flags=0, guest=address)
        self.regions.map(guest.slot, address, place, length, MapState.MAPPED)
        guest.memory.take(address, length)

    @override
    def destroy(self, guest: Guest) -> None:
        for address, length in self.regions.table.owned(guest.slot):
            self.controller.forget(address, length)
            self.regions.table.fill(address, length, owner=0, state=0, flags=0, guest=0)
        self.regions.maps.pop(guest.slot, None)
        super().destroy(guest)

    def accept(self, guest: GuestMemory, handle: int, address: int, length: int) -> None:
        """Give pages to a running guest: the host asks, the secure processor maps."""
        for first, place, count in guest.runs(address, length):
            self.set_guest_private_memory(handle, place, count)
            self.update_npt(handle, first, place, count)

    def _map(
        self, command: str, guest: Context, guest_address: int, address: int, length: int
    ) -> None:
        require_pages(guest_address, length, SevStatus.INVALID_ADDRESS.name, command)
        require_pages(address, length, SevStatus.INVALID_ADDRESS.name, command)
        bad = self.regions.table.first_where(
            address, length, lambda _, rows: rows["owner"] != guest.asid
        )
        if bad is not None:
            raise refuse(
                command,
                SevStatus.INVALID_ADDRESS.name,
                f"page {bad:#x} is not in the guest's secure memory",
                code=RANGE,
            )
        bad = self.regions.first_not(guest.asid, guest_address, length, MapState.FREE)
        if bad is not None:
            raise refuse(
                command,
                SevStatus.INVALID_ADDRESS.name,
                f"guest page {bad:#x} is mapped already",
                code=OWNED,
            )
        self.regions.table.fill(
            address, length, owner=guest.asid, state=1, flags=0, guest=guest_address
        )
        self.regions.map(guest.asid, guest_address, address, length, MapState.MAPPED)

    def _isolated(self, plan: Plan, asid: int, handle: int) -> Guest:
        memory = GuestMemory(self.controller, asid, plan.base, plan.memory)
        memory.accept = lambda address, length: self.accept(memory, handle, address, length)
        cpus = [
            VCPU(
                index,
                self.controller,
                asid,
                plan.base + plan.memory + index * PAGE_SIZE,
                AreaKind.OWNED,
                filter=EventFilter(),
            )
            for index in range(plan.vcpus)
        ]
        return Guest(plan.name, asid, plan.policy, b"", memory, cpus)


_WIPE: Final = 1 << 18
