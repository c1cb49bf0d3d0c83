"""TDX: the module's interface functions, for the host (TDH) and for a TD (TDG).

A TD gets a private KeyID and a key, control pages, Secure EPT, pages that are added and measured,
and virtual CPUs; TDH.MR.FINALIZE ends the build. Pages that come later are augmented by the host
and accepted by the TD, which zeroes them. Names of statuses are those of Intel's module.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from typing_extensions import override

from ctestbed.core.errors import InputError
from ctestbed.crypto.sm4 import BytesLike
from ctestbed.tee.controller.alias import find_aliases
from ctestbed.tee.controller.controller import MemoryController
from ctestbed.tee.controller.guest import GuestMemory
from ctestbed.tee.controller.mapped import MapState, SecureEpt
from ctestbed.tee.controller.replies import PAGE_SIZE
from ctestbed.tee.entropy import Entropy
from ctestbed.tee.firmware.base import (
    ALIGNMENT,
    ORDER,
    OWNED,
    Guest,
    Plan,
    Platform,
    refuse,
    refuse_policy,
    require_image,
)
from ctestbed.tee.firmware.mrtd import CHUNK, Mrtd
from ctestbed.tee.firmware.vmsa import vmsa_page
from ctestbed.tee.vcpu import VCPU, AreaKind, EventFilter

ATTRIBUTE_DEBUG: Final = 1
ATTRIBUTE_QUIET: Final = 1 << 28
ATTRIBUTE_MIGRATABLE: Final = 1 << 29


class LifeCycle(StrEnum):
    """A TD's life cycle, by its key."""

    HKID_ASSIGNED = "TD_HKID_ASSIGNED"
    KEYS_CONFIGURED = "TD_KEYS_CONFIGURED"
    BLOCKED = "TD_BLOCKED"


class OpState(StrEnum):
    """How far a TD has come."""

    UNALLOCATED = "UNALLOCATED"
    UNINITIALIZED = "UNINITIALIZED"
    INITIALIZED = "INITIALIZED"
    RUNNABLE = "RUNNABLE"


class PageKind(StrEnum):
    """What the PAMT says a page is for; the number is its place in the table."""

    FREE = "PT_NDA"
    REGULAR = "PT_REG"
    TDR = "PT_TDR"
    TDCX = "PT_TDCX"
    TDVPR = "PT_TDVPR"


_KINDS: Final = list(PageKind)


@dataclass(slots=True)
class TD:
    """What the module keeps of a TD. `root` is the physical address of its TDR."""

    root: int
    hkid: int
    entropy: Entropy
    life: LifeCycle = LifeCycle.HKID_ASSIGNED
    state: OpState = OpState.UNALLOCATED
    attributes: int = 0
    mrtd: Mrtd = field(default_factory=Mrtd)
    measurement: bytes = b""
    vcpus: int = 0


class TdxModule(Platform):
    """The TDX module of a machine."""

    digest_size = 48
    save_pages = 2

    def __init__(self, controller: MemoryController) -> None:
        """Take charge of a controller whose ownership table is PAMT and Secure EPT."""
        super().__init__(controller)
        self._tds: dict[int, TD] = {}
        self._booted = False

    @property
    def sept(self) -> SecureEpt:
        """The PAMT and the Secure EPTs."""
        table = self.controller.ownership
        if not isinstance(table, SecureEpt):
            raise TypeError("TDX needs a PAMT and Secure EPT")
        return table

    def mng_create(self, root: int, hkid: int, entropy: Entropy) -> None:
        """TDH.MNG.CREATE: make a TD with a free page as its root and a free KeyID."""
        command = "TDH.MNG.CREATE"
        self._require_free(command, root)
        if hkid in {td.hkid for td in self._tds.values()}:
            raise refuse(command, "TDX_HKID_NOT_FREE", f"KeyID {hkid} is in use", code="CTB-M076")
        if not 0 < hkid <= self.keys.count:
            raise refuse(
                command,
                "TDX_OPERAND_INVALID",
                f"KeyID {hkid} is not one of 1-{self.keys.count}",
                code="CTB-M076",
            )
        self._mark(root, PageKind.TDR, hkid)
        self._tds[root] = TD(root, hkid, entropy)

    def mng_key_config(self, root: int) -> None:
        """TDH.MNG.KEY.CONFIG: make the key of a TD's KeyID."""
        td = self.td("TDH.MNG.KEY.CONFIG", root)
        if td.life is not LifeCycle.HKID_ASSIGNED:
            raise refuse(
                "TDH.MNG.KEY.CONFIG", "TDX_KEY_CONFIGURED", "the TD has its key", code=ORDER
            )
        self.install_key(td.hkid, td.entropy, "TDX_OPERAND_BUSY", "TDH.MNG.KEY.CONFIG")
        td.life = LifeCycle.KEYS_CONFIGURED

    def mng_addcx(self, root: int, page: int) -> None:
        """TDH.MNG.ADDCX: give a TD the page of its control structure (one here, not four)."""
        td = self.td("TDH.MNG.ADDCX", root, OpState.UNALLOCATED)
        if td.life is not LifeCycle.KEYS_CONFIGURED:
            raise refuse(
                "TDH.MNG.ADDCX", "TDX_TD_KEYS_NOT_CONFIGURED", "the TD has no key", code=ORDER
            )
        self._require_free("TDH.MNG.ADDCX", page)
        self._mark(page, PageKind.TDCX, td.hkid)
        td.state = OpState.UNINITIALIZED

    def mng_init(self, root: int, attributes: int) -> None:
        """TDH.MNG.INIT: fix a TD's attributes, and start its measurement."""
        td = self.td("TDH.MNG.INIT", root, OpState.UNINITIALIZED)
        td.attributes, td.state = attributes, OpState.INITIALIZED

    def page_add(self, root: int, guest: int, page: int, source: BytesLike) -> None:
        """TDH.MEM.PAGE.ADD and 16 times TDH.MR.EXTEND for each page of `source`, in turn."""
        td = self._adding("TDH.MEM.PAGE.ADD", root, guest, page, len(source))
        self._place(td, guest, page, source)
        td.mrtd.add_and_extend(guest, source)

    def page_add_only(self, root: int, guest: int, page: int, source: BytesLike) -> None:
        """TDH.MEM.PAGE.ADD of whole pages, whose content `mr_extend` measures later, or never."""
        td = self._adding("TDH.MEM.PAGE.ADD", root, guest, page, len(source))
        self._place(td, guest, page, source)
        for start in range(0, len(source), PAGE_SIZE):
            td.mrtd.add_page(guest + start)

    def mr_extend(self, root: int, guest: int) -> None:
        """TDH.MR.EXTEND: measure 256 bytes of an added page."""
        td = self.td("TDH.MR.EXTEND", root, OpState.INITIALIZED)
        if guest % CHUNK:
            raise refuse(
                "TDH.MR.EXTEND", "TDX_OPERAND_INVALID", f"{guest:#x} is no chunk", code=ALIGNMENT
            )
        state, place = self.sept.place(td.hkid, guest)
        if state is not MapState.MAPPED:
            raise refuse(
                "TDH.MR.EXTEND",
                "TDX_EPT_ENTRY_STATE_INCORRECT",
                f"{guest:#x} is {state.name}",
                code=ORDER,
            )
        place += guest % PAGE_SIZE
        td.mrtd.extend(guest, self.controller.load_private(td.hkid, place, CHUNK).require())

    def vp_create(self, root: int, page: int) -> int:
        """TDH.VP.CREATE and TDH.VP.INIT: give a TD a virtual CPU, and return its number."""
        td = self.td("TDH.VP.CREATE", root, OpState.INITIALIZED)
        self._require_free("TDH.VP.CREATE", page)
        self._mark(page, PageKind.TDVPR, td.hkid)
        self.controller.store_private(td.hkid, page, vmsa_page(features=0))
        td.vcpus += 1
        return td.vcpus - 1

    def mr_finalize(self, root: int) -> bytes:
        """TDH.MR.FINALIZE: end the build, and return MRTD: 48 bytes."""
        td = self.td("TDH.MR.FINALIZE", root, OpState.INITIALIZED)
        if not td.vcpus:
            raise refuse("TDH.MR.FINALIZE", "TDX_NO_VCPUS", "the TD has no CPU", code=ORDER)
        td.measurement, td.state = td.mrtd.value, OpState.RUNNABLE
        return td.measurement

    def vp_enter(self, root: int) -> TD:
        """TDH.VP.ENTER: run a TD, which must be finalised."""
        return self.td("TDH.VP.ENTER", root, OpState.RUNNABLE)

    def page_aug(self, root: int, guest: int, page: int, length: int) -> None:
        """TDH.MEM.PAGE.AUG: give a running TD pages, which it must accept."""
        command = "TDH.MEM.PAGE.AUG"
        td = self.td(command, root, OpState.RUNNABLE)
        self._require_places(command, td, guest, page, length)
        self._mark(page, PageKind.REGULAR, td.hkid, guest, length)
        self.sept.map(td.hkid, guest, page, length, MapState.PENDING)

    def page_accept(self, root: int, guest: int, length: int) -> None:
        """TDG.MEM.PAGE.ACCEPT: a TD takes pending pages, which are zeroed.

        Raises:
            InputError: a page that is accepted already (a TD takes that as an attack), or none.
        """
        command = "TDG.MEM.PAGE.ACCEPT"
        td = self.td(command, root, OpState.RUNNABLE)
        _require_aligned(command, guest, length)
        bad = self.sept.first_not(td.hkid, guest, length, MapState.PENDING)
        if bad is not None:
            state, _ = self.sept.place(td.hkid, bad)
            status = (
                "TDX_PAGE_ALREADY_ACCEPTED"
                if state is MapState.MAPPED
                else "TDX_EPT_ENTRY_STATE_INCORRECT"
            )
            raise refuse(command, status, f"guest page {bad:#x} is {state.name}", code=ORDER)
        for start in range(guest, guest + length, PAGE_SIZE):
            _, place = self.sept.place(td.hkid, start)
            self.controller.store_private(td.hkid, place, bytes(PAGE_SIZE))
        self.sept.set_state(td.hkid, guest, length, MapState.MAPPED)

    def range_block(self, root: int, guest: int, length: int) -> None:
        """TDH.MEM.RANGE.BLOCK: stop a TD's accesses to pages, before they are removed."""
        td = self.td("TDH.MEM.RANGE.BLOCK", root)
        bad = self.sept.first_state(td.hkid, guest, length, MapState.FREE)
        if bad is not None:
            raise refuse(
                "TDH.MEM.RANGE.BLOCK", "TDX_EPT_ENTRY_FREE", f"{bad:#x} is not mapped", code=ORDER
            )
        self.sept.set_state(td.hkid, guest, length, MapState.BLOCKED)

    def page_remove(self, root: int, guest: int) -> None:
        """TDH.MEM.PAGE.REMOVE: take a blocked page back, for the host to use again."""
        td = self.td("TDH.MEM.PAGE.REMOVE", root)
        state, place = self.sept.place(td.hkid, guest)
        if state is not MapState.BLOCKED:
            raise refuse(
                "TDH.MEM.PAGE.REMOVE",
                "TDX_EPT_ENTRY_STATE_INCORRECT",
                f"{guest:#x} is {state.name}, not BLOCKED",
                code=ORDER,
            )
        self.sept.unmap(td.hkid, guest, PAGE_SIZE)
        self._release(place, PAGE_SIZE)

    def mem_rd(self, root: int, guest: int, length: int) -> bytes:
        """TDH.MEM.RD: read a debuggable TD's memory for the host."""
        td = self.td("TDH.MEM.RD", root)
        if not td.attributes & ATTRIBUTE_DEBUG:
            raise refuse_policy("TDH.MEM.RD", "TDX_TD_NON_DEBUG", "the TD has no DEBUG attribute")
        _, place = self.sept.place(td.hkid, guest)
        return self.controller.load_private(td.hkid, place + guest % PAGE_SIZE, length).require()

    def export(self, root: int) -> None:
        """TDH.EXPORT.STATE.IMMUTABLE: begin to migrate; only the attribute is checked."""
        td = self.td("TDH.EXPORT.STATE.IMMUTABLE", root, OpState.RUNNABLE)
        if not td.attributes & ATTRIBUTE_MIGRATABLE:
            raise refuse_policy(
                "TDH.EXPORT.STATE.IMMUTABLE",
                "TDX_TD_NOT_MIGRATABLE",
                "the TD has no MIGRATABLE attribute",
                "CTB-M077",
            )

    def key_freeid(self, root: int) -> None:
        """Tear a TD down: flush, take its KeyID and pages back (VPFLUSHDONE to RECLAIM)."""
        td = self.td("TDH.MNG.KEY.FREEID", root)
        self.controller.flush()
        self.keys.erase(td.hkid)
        for address, length in self.sept.table.owned(td.hkid):
            self._release(address, length)
        self.sept.maps.pop(td.hkid, None)
        del self._tds[root]

    def td(self, command: str, root: int, needed: OpState | None = None) -> TD:
        """Return a TD, if it is in the state that a function needs."""
        td = self._tds.get(root)
        if td is None:
            raise refuse(
                command,
                "TDX_PAGE_METADATA_INCORRECT",
                f"page {root:#x} is no TD's root",
                code=ORDER,
            )
        if needed is not None and td.state is not needed:
            raise refuse(
                command,
                "TDX_OP_STATE_INCORRECT",
                f"the TD is {td.state}, not {needed}",
                code=ORDER,
                hint="a TD is created, configured, initialised, filled, and then finalised",
            )
        return td

    def root_of(self, hkid: int) -> int:
        """Return the root of the TD that has a KeyID."""
        for root, td in self._tds.items():
            if td.hkid == hkid:
                return root
        raise refuse("TDH.MNG.RD", "TDX_OPERAND_INVALID", f"no TD has KeyID {hkid}", code=ORDER)

    def require_unaliased(self) -> None:
        """Look, before the first TD, for two addresses that reach one cell, as the BIOS check does.

        Raises:
            InputError: there are (`CTB-M121`).
        """
        if not self._booted:
            found = find_aliases(self.controller.dram)
            if found:
                raise InputError(
                    "CTB-M121",
                    "the check at boot (MCHECK) does not let the TDX module load: address lines "
                    f"{found:#x} reach no memory of their own",
                )
            self._booted = True

    @override
    def launch(self, plan: Plan) -> Guest:
        require_image(plan, "TDX_OPERAND_INVALID", "TDH.MEM.PAGE.ADD")
        self.require_unaliased()
        taken = {td.hkid for td in self._tds.values()} | set(self.keys.taken)
        hkid = plan.slot or self.free_slot(taken, "TDX_HKID_NOT_FREE", "TDH.MNG.CREATE")
        root = plan.base + plan.memory
        self.mng_create(root, hkid, plan.entropy)
        self.mng_key_config(root)
        self.mng_addcx(root, root + PAGE_SIZE)
        self.mng_init(root, plan.policy)
        guest = self._guest(plan, hkid, root)
        for start, data in plan.pieces():
            self.page_add(root, start, plan.base + start, data)
        for cpu in guest.vcpus:
            self.vp_create(root, cpu.area)
            cpu.trust()
        guest.measurement = self.mr_finalize(root)
        guest.memory.take(0, plan.pages_size)
        return guest

    @override
    def resume(self, plan: Plan, key: bytes, measurement: bytes) -> Guest:
        hkid, root = plan.slot or 0, plan.base + plan.memory
        self.keys.install(hkid, key)
        td = TD(root, hkid, plan.entropy, LifeCycle.KEYS_CONFIGURED, OpState.RUNNABLE, plan.policy)
        td.measurement, td.vcpus = measurement, plan.vcpus
        self._tds[root] = td
        self._mark(root, PageKind.TDR, hkid)
        self._mark(root + PAGE_SIZE, PageKind.TDCX, hkid)
        guest = self._guest(plan, hkid, root)
        guest.measurement = measurement
        for cpu in guest.vcpus:
            self._mark(cpu.area, PageKind.TDVPR, hkid)
        return guest

    @override
    def restore_pages(self, guest: Guest, address: int, length: int) -> None:
        place = guest.memory.base + address
        self._mark(place, PageKind.REGULAR, guest.slot, address, length)
        self.sept.map(guest.slot, address, place, length, MapState.MAPPED)
        guest.memory.take(address, length)

    @override
    def destroy(self, guest: Guest) -> None:
        self.key_freeid(self.root_of(guest.slot))

    @override
    def debug_read(self, guest: Guest, address: int, length: int) -> bytes:
        return self.mem_rd(self.root_of(guest.slot), address, length)

    def accept(self, guest: GuestMemory, root: int, address: int, length: int) -> None:
        """Give pages to a running TD: augmented by the host, accepted by the TD."""
        for first, place, count in guest.runs(address, length):
            self.page_aug(root, first, place, count)
            self.page_accept(root, first, count)

    def _guest(self, plan: Plan, hkid: int, root: int) -> Guest:
        memory = GuestMemory(self.controller, hkid, plan.base, plan.memory)
        memory.accept = lambda address, length: self.accept(memory, root, address, length)
        cpus = [
            VCPU(
                index,
                self.controller,
                hkid,
                root + (2 + index) * PAGE_SIZE,
                AreaKind.OWNED,
                filter=EventFilter(exceptions=False),
            )
            for index in range(plan.vcpus)
        ]
        return Guest(plan.name, hkid, plan.policy, b"", memory, cpus, self.save_pages)

    def _adding(self, command: str, root: int, guest: int, page: int, length: int) -> TD:
        td = self.td(command, root, OpState.INITIALIZED)
        self._require_places(command, td, guest, page, length)
        return td

    def _place(self, td: TD, guest: int, page: int, source: BytesLike) -> None:
        self._mark(page, PageKind.REGULAR, td.hkid, guest, len(source))
        self.sept.map(td.hkid, guest, page, len(source), MapState.MAPPED)
        self.controller.store_private(td.hkid, page, source)

    def _require_places(self, command: str, td: TD, guest: int, page: int, length: int) -> None:
        _require_aligned(command, guest, length)
        _require_aligned(command, page, length)
        self.require_memory(page, length, "TDX_OPERAND_INVALID", command)
        self._require_free(command, page, length)
        bad = self.sept.first_not(td.hkid, guest, length, MapState.FREE)
        if bad is not None:
            raise refuse(
                command,
                "TDX_EPT_ENTRY_STATE_INCORRECT",
                f"guest page {bad:#x} is mapped already",
                code=OWNED,
            )

    def _require_free(self, command: str, page: int, length: int = PAGE_SIZE) -> None:
        _require_aligned(command, page, length)
        bad = self.sept.first_owned(page, length)
        if bad is not None:
            kind = _KINDS[self.sept.table.page(bad).state]
            raise refuse(
                command,
                "TDX_PAGE_METADATA_INCORRECT",
                f"page {bad:#x} is {kind}, not {PageKind.FREE}",
                code=OWNED,
            )

    def _mark(
        self, page: int, kind: PageKind, hkid: int, guest: int = 0, length: int = PAGE_SIZE
    ) -> None:
        self.sept.table.fill(
            page, length, owner=hkid, state=_KINDS.index(kind), flags=0, guest=guest
        )

    def _release(self, page: int, length: int) -> None:
        self.sept.table.fill(page, length, owner=0, state=0, flags=0, guest=0)


def _require_aligned(command: str, address: int, length: int) -> None:
    if address % PAGE_SIZE or length % PAGE_SIZE or length <= 0 or address < 0:
        raise refuse(
            command,
            "TDX_OPERAND_INVALID",
            f"{length} bytes at {address:#x} are not whole pages",
            code=ALIGNMENT,
        )
