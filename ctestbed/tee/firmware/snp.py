"""SEV-SNP: guest contexts, launch with page types, the reverse map table, page validation.

The host assigns pages (RMPUPDATE), the secure processor measures and encrypts them
(SNP_LAUNCH_UPDATE) and hands them over as validated; pages that come later are assigned by the
host and validated by the guest itself. The digest holds each page's guest address (AMD 56860).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from typing_extensions import override

from ctestbed.core.errors import CtestbedError
from ctestbed.tee.controller.alias import find_aliases
from ctestbed.tee.controller.controller import MemoryController
from ctestbed.tee.controller.guest import GuestMemory
from ctestbed.tee.controller.ownership import require_pages
from ctestbed.tee.controller.replies import HOST, PAGE_SIZE
from ctestbed.tee.controller.rmp import ReverseMap, RmpFlag
from ctestbed.tee.entropy import Entropy
from ctestbed.tee.firmware.base import (
    ORDER,
    OWNED,
    POLICY,
    Guest,
    Plan,
    Platform,
    refuse,
    refuse_policy,
    require_image,
)
from ctestbed.tee.firmware.snp_digest import DIGEST_SIZE, VMSA_ADDRESS, LaunchDigest, PageType
from ctestbed.tee.firmware.vmsa import SNP_ACTIVE, vmsa_page
from ctestbed.tee.vcpu import VCPU, AreaKind, EventFilter

POLICY_RESERVED: Final = 1 << 17
POLICY_MIGRATE: Final = 1 << 18
POLICY_DEBUG: Final = 1 << 19


class SnpState(StrEnum):
    """States of a guest context."""

    INIT = "GSTATE_INIT"
    LAUNCH = "GSTATE_LAUNCH"
    RUNNING = "GSTATE_RUNNING"


@dataclass(slots=True)
class SnpContext:
    """A guest context page (GCTX). `asid` is 0 until SNP_ACTIVATE."""

    entropy: Entropy
    policy: int = 0
    state: SnpState = SnpState.INIT
    asid: int = 0
    digest: LaunchDigest = field(default_factory=LaunchDigest)


class SnpFirmware(Platform):
    """The secure processor of an SNP machine.

    `alias_check` looks for masked address lines at SNP_INIT, as firmware does since BadRAM;
    `restricted` is restricted injection, which a guest asks for in its SEV_FEATURES.
    """

    digest_size = DIGEST_SIZE

    def __init__(
        self, controller: MemoryController, *, alias_check: bool = False, restricted: bool = False
    ) -> None:
        """Take charge of a controller whose ownership table is a reverse map."""
        super().__init__(controller)
        self.alias_check = alias_check
        self.restricted = restricted
        self.ready = False
        self._guests: dict[int, SnpContext] = {}
        self._next = 1

    @property
    def rmp(self) -> ReverseMap:
        """The reverse map table."""
        table = self.controller.ownership
        if not isinstance(table, ReverseMap):
            raise TypeError("SEV-SNP needs a reverse map table")
        return table

    def snp_init(self, race: Callable[[ReverseMap], None] | None = None) -> None:
        """Set up the reverse map table, and keep everybody out of it from here on.

        `race` is what other cores of the host do meanwhile: RMPocalypse.

        Raises:
            InputError: two addresses reach one cell, where that is looked for (`CTB-M078`).
        """
        if self.alias_check:
            found = find_aliases(self.controller.dram)
            if found:
                raise refuse(
                    "SNP_INIT",
                    "HWERROR_UNSAFE",
                    f"address lines {found:#x} reach no memory of their own",
                    code="CTB-M078",
                )
        if race is not None:
            race(self.rmp)
        self.rmp.lock()
        self.ready = True

    def gctx_create(self, entropy: Entropy) -> int:
        """Make a guest context, and return its handle."""
        if not self.ready:
            raise refuse(
                "SNP_GCTX_CREATE", "INVALID_PLATFORM_STATE", "SNP_INIT has not run", code=ORDER
            )
        handle, self._next = self._next, self._next + 1
        self._guests[handle] = SnpContext(entropy)
        return handle

    def launch_start(self, handle: int, policy: int) -> None:
        """Begin a launch under a policy."""
        guest = self.context("SNP_LAUNCH_START", handle, SnpState.INIT)
        if not policy & POLICY_RESERVED:
            raise refuse_policy(
                "SNP_LAUNCH_START", "POLICY_FAILURE", f"policy {policy:#x} lacks bit 17"
            )
        guest.policy, guest.state = policy, SnpState.LAUNCH

    def activate(self, handle: int, asid: int) -> None:
        """Bind a guest to an ASID, and install its key."""
        guest = self.context("SNP_ACTIVATE", handle, SnpState.LAUNCH)
        if guest.asid:
            raise refuse("SNP_ACTIVATE", "ACTIVE", f"it has ASID {guest.asid}", code=ORDER)
        status = "ASID_OWNED" if asid in self.keys.taken else "INVALID_ASID"
        self.install_key(asid, guest.entropy, status, "SNP_ACTIVATE")
        guest.asid = asid

    def launch_update(self, handle: int, kind: PageType, address: int, length: int) -> None:
        """Measure and encrypt pages that the host assigned and loaded, and validate them.

        Raises:
            InputError: pages not whole, not assigned to this guest, or in another state.
        """
        command = "SNP_LAUNCH_UPDATE"
        guest = self.context(command, handle, SnpState.LAUNCH)
        if not guest.asid:
            raise refuse(command, "INACTIVE", "the guest has no ASID", code=ORDER)
        require_pages(address, length, "INVALID_ADDRESS", command)
        self.require_memory(address, length, "INVALID_ADDRESS", command)
        bad = self.rmp.table.first_where(
            address, length, lambda _, rows: rows["owner"] != guest.asid
        )
        if bad is not None:
            raise refuse(command, "INVALID_PAGE_OWNER", f"page {bad:#x} is not its own", code=OWNED)
        before = RmpFlag.IMMUTABLE
        bad = self.rmp.table.first_where(
            address, length, lambda _, rows: rows["flags"] != int(before)
        )
        if bad is not None:
            raise refuse(
                command, "INVALID_PAGE_STATE", f"page {bad:#x} is not in Pre-Guest", code=OWNED
            )
        first = self.rmp.table.page(address).guest
        if kind in {PageType.ZERO, PageType.SECRETS, PageType.CPUID}:
            self.controller.dram.write(address, bytes(length))
        self.controller.encrypt_in_place(
            guest.asid,
            address,
            length,
            lambda offset, data: guest.digest.update(kind, first + offset, data),
        )
        after = RmpFlag.VALIDATED | (RmpFlag.VMSA if kind is PageType.VMSA else RmpFlag(0))
        self.rmp.table.mark(address, length, flags=int(after))

    def launch_finish(self, handle: int) -> bytes:
        """Close the digest, let the guest run, and return the digest: 48 bytes."""
        guest = self.context("SNP_LAUNCH_FINISH", handle, SnpState.LAUNCH)
        if not guest.asid:
            raise refuse("SNP_LAUNCH_FINISH", "INACTIVE", "the guest has no ASID", code=ORDER)
        guest.state = SnpState.RUNNING
        return guest.digest.value

    def vmrun(self, handle: int, vmsa: int) -> SnpContext:
        """Enter a guest: it must run, and its register page must be a VMSA of its ASID."""
        guest = self.context("VMRUN", handle, SnpState.RUNNING)
        row = self.rmp.table.page(vmsa)
        if row.owner != guest.asid or not row.flags & RmpFlag.VMSA:
            raise refuse(
                "VMRUN", "VMEXIT_INVALID", f"{vmsa:#x} is no register page of the guest", code=OWNED
            )
        return guest

    def dbg_decrypt(self, handle: int, address: int, length: int) -> bytes:
        """Decrypt guest memory for the host, if the policy has DEBUG."""
        guest = self.context("SNP_DBG_DECRYPT", handle, SnpState.RUNNING)
        if not guest.policy & POLICY_DEBUG:
            raise refuse_policy(
                "SNP_DBG_DECRYPT", "POLICY_FAILURE", "the guest's policy has no DEBUG", POLICY
            )
        return self.controller.load_private(guest.asid, address, length).require()

    def page_swap_out(self, handle: int) -> None:
        """Migrate through a migration agent: only the policy is checked."""
        guest = self.context("SNP_GUEST_REQUEST", handle, SnpState.RUNNING)
        if not guest.policy & POLICY_MIGRATE:
            raise refuse_policy(
                "SNP_GUEST_REQUEST", "POLICY_FAILURE", "no MIGRATE_MA in the policy", "CTB-M077"
            )

    def page_reclaim(self, address: int, length: int) -> None:
        """Give pages back to the host."""
        require_pages(address, length, "INVALID_ADDRESS", "SNP_PAGE_RECLAIM")
        self.rmp.assign(address, length, asid=0, guest=0, flags=0)

    def decommission(self, handle: int) -> None:
        """Forget a guest and its key."""
        guest = self.context("SNP_DECOMMISSION", handle)
        self.controller.flush()
        self.keys.erase(guest.asid)
        del self._guests[handle]

    def context(self, command: str, handle: int, needed: SnpState | None = None) -> SnpContext:
        """Return a guest context, if it is in the state that a command needs."""
        guest = self._guests.get(handle)
        if guest is None:
            raise refuse(command, "INVALID_GUEST", f"there is no guest {handle}", code=ORDER)
        if needed is not None and guest.state is not needed:
            raise refuse(
                command,
                "INVALID_GUEST_STATE",
                f"the guest is in {guest.state}, not {needed}",
                code=ORDER,
                hint="launch commands come as GCTX_CREATE, START, ACTIVATE, UPDATE, FINISH",
            )
        return guest

    def handle_of(self, asid: int) -> int:
        """Return the handle of the guest that has an ASID."""
        for handle, guest in self._guests.items():
            if guest.asid == asid:
                return handle
        raise refuse("SNP_GUEST_STATUS", "INVALID_GUEST", f"no guest has ASID {asid}", code=ORDER)

    @override
    def launch(self, plan: Plan) -> Guest:
        require_image(plan, "INVALID_PARAM", "SNP_LAUNCH_UPDATE")
        if not self.ready:
            self.snp_init()
        asid = self.choose_slot(plan, "RESOURCE_LIMIT", "SNP_ACTIVATE")
        handle = self.gctx_create(plan.entropy)
        self.launch_start(handle, plan.policy)
        try:
            self.activate(handle, asid)
        except CtestbedError:
            self.decommission(handle)
            raise
        guest = self._guest(plan, asid)
        self._give(handle, PageType.NORMAL, plan.base, 0, asid, plan)
        for cpu in guest.vcpus:
            self._give(handle, PageType.VMSA, cpu.area, VMSA_ADDRESS, asid, None)
            cpu.trust()
        guest.measurement = self.launch_finish(handle)
        guest.memory.take(0, plan.pages_size)
        return guest

    def _give(
        self, handle: int, kind: PageType, base: int, address: int, asid: int, plan: Plan | None
    ) -> None:
        """Load, assign and measure: what KVM does for one SNP_LAUNCH_UPDATE."""
        pieces = (
            [(0, memoryview(vmsa_page(features=SNP_ACTIVE)))] if plan is None else plan.pieces()
        )
        for offset, data in pieces:
            place = base + offset
            self.controller.write(HOST, place, data).require()
            self.rmp.update(
                place, len(data), asid=asid, guest=address + offset, flags=RmpFlag.IMMUTABLE
            )
            self.launch_update(handle, kind, place, len(data))

    @override
    def resume(self, plan: Plan, key: bytes, measurement: bytes) -> Guest:
        asid = plan.slot or 0
        self.rmp.lock()
        self.ready = True
        self.keys.install(asid, key)
        context = SnpContext(plan.entropy, plan.policy, SnpState.RUNNING, asid)
        context.digest.value = measurement
        self._guests[self._next] = context
        self._next += 1
        guest = self._guest(plan, asid)
        guest.measurement = measurement
        for cpu in guest.vcpus:
            self.rmp.assign(cpu.area, PAGE_SIZE, asid=asid, guest=VMSA_ADDRESS, flags=_VMSA_PAGE)
        return guest

    @override
    def restore_pages(self, guest: Guest, address: int, length: int) -> None:
        flags = int(RmpFlag.VALIDATED)
        place = guest.memory.base + address
        self.rmp.assign(place, length, asid=guest.slot, guest=address, flags=flags)
        guest.memory.take(address, length)

    @override
    def destroy(self, guest: Guest) -> None:
        handle = self.handle_of(guest.slot)
        for address, length in self.rmp.table.owned(guest.slot):
            self.page_reclaim(address, length)
        self.decommission(handle)

    @override
    def debug_read(self, guest: Guest, address: int, length: int) -> bytes:
        place = guest.memory.place(address)
        return self.dbg_decrypt(self.handle_of(guest.slot), place, length)

    def accept(self, guest: GuestMemory, address: int, length: int) -> None:
        """Give pages to a running guest: RMPUPDATE by the host, PVALIDATE by the guest."""
        for first, place, count in guest.runs(address, length):
            free = self.rmp.table.first_where(place, count, lambda _, rows: rows["owner"] != 0)
            if free is None:
                self.rmp.update(place, count, asid=guest.slot, guest=first)
            self.rmp.validate(place, count, asid=guest.slot, guest=first)

    def _guest(self, plan: Plan, asid: int) -> Guest:
        memory = GuestMemory(self.controller, asid, plan.base, plan.memory)
        memory.accept = lambda address, length: self.accept(memory, address, length)
        cpus = [
            VCPU(
                index,
                self.controller,
                asid,
                plan.base + plan.memory + index * PAGE_SIZE,
                AreaKind.OWNED,
                filter=EventFilter(restricted=self.restricted),
            )
            for index in range(plan.vcpus)
        ]
        return Guest(plan.name, asid, plan.policy, b"", memory, cpus)


_VMSA_PAGE: Final = int(RmpFlag.VALIDATED | RmpFlag.VMSA)
