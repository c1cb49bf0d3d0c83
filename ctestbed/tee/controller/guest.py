"""A guest's memory as the guest addresses it, and the page tables that lead there.

Guest address 0 lies at `base`, the next page after it, and so on, but for the pages that whoever
keeps the tables has moved. A page that nobody gave to the guest yet is accepted at its first use,
once: a guest that lost an accepted page takes the fault.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from ctestbed.core.errors import InputError
from ctestbed.crypto.sm4 import BytesLike
from ctestbed.tee.controller.controller import MemoryController
from ctestbed.tee.controller.ownership import PageTable
from ctestbed.tee.controller.replies import (
    DONE,
    PAGE_SIZE,
    Path,
    Reply,
    ReplyKind,
    Requester,
)


@dataclass(slots=True)
class GuestMemory:
    """`size` bytes, accessed under key slot `slot`.

    `accept` gives a guest address and a length, whole pages, to the platform, which assigns and
    accepts those of them that nobody gave to the guest yet. `moved` is what a host, or the
    trusted part, put elsewhere: frame by guest page number.
    """

    controller: MemoryController = field(repr=False)
    slot: int
    base: int
    size: int
    accept: Callable[[int, int], None] | None = field(default=None, repr=False)
    moved: dict[int, int] = field(default_factory=dict, repr=False)
    accepted: PageTable = field(default_factory=PageTable, repr=False)

    def read(self, address: int, length: int) -> bytes:
        """Read private memory.

        Raises:
            MemoryFaultError: the access faults.
            InputError: it reaches outside (`CTB-M001`).
        """
        return self.try_read(address, length).require()

    def write(self, address: int, data: BytesLike) -> None:
        """Write private memory. Raises as `read` does."""
        self.try_write(address, data).require()

    def try_read(self, address: int, length: int) -> Reply:
        """Read private memory, and return a fault as an answer."""
        reply = self._read(Path.GUEST_PRIVATE, address, length)
        if self._accepts(reply, address, length):
            reply = self._read(Path.GUEST_PRIVATE, address, length)
        return reply

    def try_write(self, address: int, data: BytesLike) -> Reply:
        """Write private memory, and return a fault as an answer."""
        reply = self._write(Path.GUEST_PRIVATE, address, data)
        if self._accepts(reply, address, len(data)):
            reply = self._write(Path.GUEST_PRIVATE, address, data)
        return reply

    def read_shared(self, address: int, length: int) -> bytes:
        """Read a page shared with the host."""
        return self._read(Path.GUEST_SHARED, address, length).require()

    def write_shared(self, address: int, data: BytesLike) -> None:
        """Write a page shared with the host, in clear."""
        self._write(Path.GUEST_SHARED, address, data).require()

    def place(self, address: int) -> int:
        """Return the physical address of a guest address, by the tables as they are."""
        self.require(address, 1)
        page, offset = divmod(address, PAGE_SIZE)
        return self.moved.get(page, self.base // PAGE_SIZE + page) * PAGE_SIZE + offset

    def requester(self, address: int, path: Path = Path.GUEST_PRIVATE) -> Requester:
        """Return this guest as a requester of one of its addresses."""
        slot = self.slot if path is not Path.GUEST_SHARED else 0
        return Requester(path, slot, address)

    def runs(self, address: int, length: int) -> Iterator[tuple[int, int, int]]:
        """Yield (guest address, physical address, length) of the contiguous parts of a range."""
        self.require(address, length)
        end = address + length
        cuts = {address, end}
        for page in self.moved:
            cuts |= {page * PAGE_SIZE, (page + 1) * PAGE_SIZE}
        edges = sorted(cut for cut in cuts if address <= cut <= end)
        for start, stop in pairwise(edges):
            yield start, self.place(start), stop - start

    def require(self, address: int, length: int) -> None:
        """Refuse an access outside the guest's memory (`CTB-M001`)."""
        if address < 0 or length < 0 or address + length > self.size:
            raise InputError(
                "CTB-M001",
                f"{length} bytes at {address:#x} reach outside the guest's {self.size:#x} bytes",
            )

    def take(self, address: int, length: int) -> None:
        """Note that pages were accepted, by the launch or by the guest."""
        self.accepted.mark(address, length, state=1)

    def _accepts(self, reply: Reply, address: int, length: int) -> bool:
        """Have the pages of an access accepted, if that is all it lacks."""
        if reply.fault is None or not reply.fault.absent or self.accept is None:
            return False
        start = address - address % PAGE_SIZE
        end = address + length + -(address + length) % PAGE_SIZE
        for first, count in self.accepted.spans(start, end - start, state=0):
            self.accept(first, count)
            self.take(first, count)
        return True

    def _read(self, path: Path, address: int, length: int) -> Reply:
        parts = []
        kind = ReplyKind.DATA
        for guest, place, count in self.runs(address, length):
            reply = self.controller.read(self.requester(guest, path), place, count)
            if reply.fault is not None:
                return reply
            kind = reply.kind if reply.kind is not ReplyKind.DATA else kind
            parts.append(reply.data)
        return Reply(kind, parts[0] if len(parts) == 1 else b"".join(parts))

    def _write(self, path: Path, address: int, data: BytesLike) -> Reply:
        """Write, unless any part of the range is refused."""
        runs = list(self.runs(address, len(data)))
        for guest, place, count in runs:
            who = self.requester(guest, path)
            refusal = self.controller.ownership.check(who, place, count, write=True)
            if refusal is not None:
                return refusal
        reply, view = DONE, memoryview(data)
        for guest, place, count in runs:
            part = view[guest - address : guest - address + count]
            reply = self.controller.write(self.requester(guest, path), place, part)
            if reply.fault is not None:
                return reply
        return reply
