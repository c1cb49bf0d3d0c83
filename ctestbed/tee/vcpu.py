"""Virtual CPUs: registers, where they lie while the host runs, and what the host can do to them.

A save area is in clear (SEV, CSV: the host reads and writes registers), encrypted with a check
at entry (SEV-ES, CSV2), or a page that the host's accesses cannot change (SNP, TDX, CSV3, CCA,
virtCCA). Events wait in a queue, behind the filter of the platform.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal

from ctestbed.core.errors import InputError
from ctestbed.crypto.sm3 import sm3
from ctestbed.tee.controller.controller import MemoryController
from ctestbed.tee.controller.guest import GuestMemory
from ctestbed.tee.controller.replies import HOST, PAGE_SIZE, Reply

VC_VECTOR: Final = 29
HV_VECTOR: Final = 28
_VECTORS: Final = 256

# Byte offsets in a save area: AMD's manual, volume 2, table B-4, and ours for the Arm platforms.
X86: Final = {
    "rflags": 0x170, "rip": 0x178, "rsp": 0x1D8, "rax": 0x1F8, "rcx": 0x308, "rdx": 0x310,
    "rbx": 0x318, "rbp": 0x328, "rsi": 0x330, "rdi": 0x338, "cr0": 0x158, "cr3": 0x150,
    "cr4": 0x148, "efer": 0xD0,
}  # fmt: skip
ARM: Final = {"pc": 0x200, **{f"x{number}": 0x300 + 8 * number for number in range(31)}}


class AreaKind(StrEnum):
    """How a save area is kept from the host."""

    CLEAR = "in clear"
    ENCRYPTED = "encrypted, checked at entry"
    OWNED = "a page of the guest"


class EventKind(StrEnum):
    """What a host can queue for a virtual CPU."""

    INTERRUPT = "interrupt"
    EXCEPTION = "exception"


@dataclass(frozen=True, slots=True)
class Event:
    """An interrupt or exception by its vector."""

    kind: EventKind
    vector: int


@dataclass(frozen=True, slots=True)
class EventFilter:
    """What a platform lets a host queue: `restricted` takes the doorbell (#HV) alone."""

    exceptions: bool = True
    restricted: bool = False

    def refusal(self, event: Event) -> str | None:
        """Return why an event is refused, or None."""
        if self.restricted and event != Event(EventKind.EXCEPTION, HV_VECTOR):
            return "injection is restricted to #HV"
        if event.kind is EventKind.EXCEPTION and not self.exceptions:
            return "the host cannot inject exceptions on this platform"
        return None


@dataclass(frozen=True, slots=True)
class Touch:
    """One instruction of a guest program, as far as a host sees it: the page it touches."""

    address: int
    write: bool = False


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """What a host notes at one exit: how many instructions ran, and which page was touched."""

    instructions: int
    page: int
    write: bool


@dataclass(slots=True)
class VCPU:
    """One virtual CPU. `area` is the physical address of its save area."""

    index: int
    controller: MemoryController = field(repr=False)
    slot: int
    area: int
    kind: AreaKind
    layout: dict[str, int] = field(default_factory=lambda: X86, repr=False)
    filter: EventFilter = field(default_factory=EventFilter)
    queue: list[Event] = field(default_factory=list)
    exits: int = 0
    _check: bytes = field(default=b"", repr=False)

    def save(self, page: bytes) -> None:
        """Exit: put the register page away, as the platform does."""
        page = page.ljust(PAGE_SIZE, b"\0")
        self.exits += 1
        if self.kind is AreaKind.CLEAR:
            self.controller.dram.write(self.area, page)
            return
        self.controller.store_private(self.slot, self.area, page)
        self._check = sm3(page)

    def load(self, slot: int | None = None) -> bytes:
        """Enter: take the register page back; `slot` is the key slot that the host names.

        Raises:
            InputError: the area is not what was saved (`CTB-M080`), where that is checked.
        """
        if self.kind is AreaKind.CLEAR:
            return self.controller.dram.read(self.area, PAGE_SIZE)
        used = self.slot if slot is None else slot
        page = b""
        if self.kind is AreaKind.ENCRYPTED or used == self.slot:
            page = self.controller.load_private(used, self.area, PAGE_SIZE).data
        if not page or (self._check and sm3(page) != self._check):
            raise InputError(
                "CTB-M080",
                f"entry fails (VMEXIT_INVALID): the save area of virtual CPU {self.index} is not"
                " what was saved",
            )
        return page

    def trust(self) -> None:
        """Take what the area holds as saved: a machine that lives on between two processes."""
        if self.kind is not AreaKind.CLEAR:
            self._check = sm3(
                self.controller.load_private(self.slot, self.area, PAGE_SIZE).require()
            )

    def registers(self) -> dict[str, int]:
        """Return the registers as the guest has them."""
        page = self.load()
        return {name: _word(page, offset) for name, offset in self.layout.items()}

    def set_registers(self, **values: int) -> None:
        """Run the guest until its registers hold these values, and exit."""
        page = bytearray(self.load())
        for name, value in values.items():
            offset = self.layout[name]
            page[offset : offset + 8] = value.to_bytes(8, "little")
        self.save(bytes(page))

    def host_view(self) -> Reply:
        """Return what the host reads of the save area."""
        return self.controller.read(HOST, self.area, PAGE_SIZE)

    def inject(self, kind: EventKind | Literal["interrupt", "exception"], vector: int) -> Event:
        """Queue an event for the guest.

        Raises:
            InputError: no such vector, or the platform's filter refuses it (`CTB-M081`).
        """
        event = Event(EventKind(kind), vector)
        if not 0 <= vector < _VECTORS:
            raise InputError("CTB-M081", f"there is no vector {vector}")
        reason = self.filter.refusal(event)
        if reason is not None:
            raise InputError("CTB-M081", f"{event.kind} {vector} is refused: {reason}")
        self.queue.append(event)
        return event

    def deliver(self) -> list[Event]:
        """Give all queued events to the guest, in order."""
        events, self.queue = self.queue, []
        return events

    def run(
        self,
        program: Iterable[Touch],
        memory: GuestMemory,
        *,
        step: int | None = None,
        watch: Callable[[TraceEntry], None] | None = None,
    ) -> list[TraceEntry]:
        """Run a program, with an exit every `step` instructions, and return the host's trace.

        With `step` 1 the host counts instructions and sees the page of each: single-stepping.
        Pages show because the host, or the trusted part at its request, maps them.
        """
        trace: list[TraceEntry] = []
        done = 0
        for touch in program:
            memory.require(touch.address, 1)
            done += 1
            if step is None or done % step:
                continue
            entry = TraceEntry(done, touch.address // PAGE_SIZE, touch.write)
            self.exits += 1
            trace.append(entry)
            if watch is not None:
                watch(entry)
        return trace


def reset_page(values: Sequence[tuple[int, int, int]]) -> bytes:
    """Make a page of (offset, size, value) fields, little endian."""
    page = bytearray(PAGE_SIZE)
    for offset, size, value in values:
        page[offset : offset + size] = value.to_bytes(size, "little")
    return bytes(page)


def _word(page: bytes, offset: int) -> int:
    return int.from_bytes(page[offset : offset + 8], "little")
