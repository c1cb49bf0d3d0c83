"""What a hostile host, or somebody with a probe, can do to an emulated machine.

Every method does what the hardware lets a host do, no more: an access is answered by the memory
controller, a page table that a trusted part keeps cannot be moved, an event passes the filter of
the platform. `docs/explanation/memory-encryption.md` says which attack needs which.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ctestbed.core.errors import InputError
from ctestbed.tee.controller.dram import Captured
from ctestbed.tee.controller.guest import GuestMemory
from ctestbed.tee.controller.ownership import Page
from ctestbed.tee.controller.replies import HOST, PAGE_SIZE, Reply
from ctestbed.tee.controller.rmp import ReverseMap
from ctestbed.tee.firmware.snp import SnpFirmware
from ctestbed.tee.machine import VM, Machine
from ctestbed.tee.vcpu import Event, EventKind, Touch, TraceEntry


@dataclass(frozen=True, slots=True)
class Hypervisor:
    """The host of a machine, turned against its guests."""

    machine: Machine

    def read(self, vm: VM, address: int, length: int) -> Reply:
        """Read what lies at a guest address, through the host's own mapping."""
        return vm.host_reply(address, length)

    def write(self, vm: VM, address: int, data: bytes) -> Reply:
        """Write raw bytes there: garbage, moved or replayed ciphertext."""
        return self.machine.controller.write(HOST, vm.memory.place(address), data)

    def move(self, vm: VM, source: int, target: int, length: int = 16) -> Reply:
        """Copy raw bytes from one guest address to another."""
        reply = self.read(vm, source, length)
        return reply if reply.fault is not None else self.write(vm, target, reply.data)

    def remap(self, vm: VM, address: int, target: int) -> None:
        """Have the host's tables lead a guest page to the frame of another address.

        Where a trusted part keeps the tables, its own still count, and the access faults.
        """
        vm.memory.moved[address // PAGE_SIZE] = vm.memory.place(target) // PAGE_SIZE

    def reassign(self, vm: VM, address: int, target: int) -> None:
        """On SNP, also tell the reverse map of the new guest address, which invalidates the page.

        Raises:
            InputError: the platform has no reverse map, or RMPUPDATE fails.
        """
        table = self.machine.controller.ownership
        if not isinstance(table, ReverseMap):
            raise InputError("CTB-M073", "RMPUPDATE is not an instruction of this platform")
        page = address - address % PAGE_SIZE
        frame = vm.memory.place(target) // PAGE_SIZE * PAGE_SIZE
        table.update(frame, PAGE_SIZE, asid=vm.guest.slot, guest=page)

    def enter_as(self, attacker: VM, slot: int, frames: dict[int, int]) -> GuestMemory:
        """Return an attacker's VM as it sees memory when its ASID is another VM's: CROSSLINE.

        `frames` leads its guest pages to frames. Registers are another matter: `VCPU.load(slot)`.
        """
        own = attacker.memory
        return GuestMemory(own.controller, slot, own.base, own.size, moved=dict(frames))

    def probe(self, vm: VM, address: int, length: int) -> Captured:
        """Record whole lines on the DIMM's pins, with what lies beside them."""
        return self.machine.controller.dram.capture(vm.memory.place(address), length)

    def replay(self, vm: VM, address: int, captured: Captured) -> None:
        """Put recorded lines back on the pins."""
        self.machine.controller.dram.restore(vm.memory.place(address), captured)

    def mask_lines(self, mask: int) -> None:
        """Have the DIMM ignore address lines: before the launch by SPD, later by an interposer."""
        self.machine.controller.dram.mask_lines(mask)

    def invd(self) -> list[int]:
        """Execute INVD, and return the lines it dropped."""
        return self.machine.controller.invalidate()

    def wbinvd(self) -> list[int]:
        """Execute WBINVD, and return the lines it wrote back."""
        return self.machine.controller.flush()

    def inject(self, vm: VM, kind: EventKind, vector: int, cpu: int = 0) -> Event:
        """Queue an interrupt or exception, where the platform's filter lets it."""
        return vm.guest.vcpus[cpu].inject(kind, vector)

    def single_step(
        self,
        vm: VM,
        program: Iterable[Touch],
        watch: Callable[[TraceEntry], None] | None = None,
        cpu: int = 0,
    ) -> list[TraceEntry]:
        """Run a program with an exit at each instruction, and return the trace of pages."""
        return vm.guest.vcpus[cpu].run(program, vm.memory, step=1, watch=watch)

    def debug_read(self, vm: VM, address: int, length: int) -> bytes:
        """Have the platform decrypt guest memory, as a debuggable guest's policy allows."""
        return self.machine.platform.debug_read(vm.guest, address, length)

    def race_rmp(self, pages: dict[int, Page]) -> list[Reply | None]:
        """Run SNP_INIT while another core writes entries of the table: RMPocalypse.

        Returns what each write met: None where it was stored.
        """
        platform = self.machine.platform
        if not isinstance(platform, SnpFirmware):
            raise InputError("CTB-M073", "SNP_INIT is not a command of this platform")
        met: list[Reply | None] = []

        def race(table: ReverseMap) -> None:
            met.extend(table.overwrite(address, page) for address, page in pages.items())

        platform.snp_init(race)
        return met

    def roll_back(self, version: int) -> bytes:
        """Load older firmware, and return what it can sign with."""
        self.machine.version.load(version)
        return self.machine.version.signing_secret()
