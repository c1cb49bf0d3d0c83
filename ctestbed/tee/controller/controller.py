"""The memory controller: DRAM behind a cache, an ownership table, integrity and an engine.

An access passes the ownership table first, which may refuse it; a refused write changes nothing.
A private access is then decrypted or encrypted under the key of its slot, and a line that is not
what that key's holder wrote faults before any of it is used. Every other access reaches DRAM as
it is. A bus probe sits below all of this.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np

from ctestbed.crypto.sm4 import BytesLike
from ctestbed.tee.controller.cache import Line, WriteBackCache
from ctestbed.tee.controller.dram import Cells, Dram
from ctestbed.tee.controller.engine import Engine, NoCipher, freshen
from ctestbed.tee.controller.integrity import Integrity
from ctestbed.tee.controller.keys import KeySlots
from ctestbed.tee.controller.ownership import Ownership
from ctestbed.tee.controller.replies import (
    DONE,
    LINE_SIZE,
    NO_SLOT,
    PAGE_SIZE,
    PRIVATE_PATHS,
    FaultKind,
    Path,
    Reply,
    ReplyKind,
    Requester,
    faulted,
)

PATTERN_BYTE: Final = 0
"""What a fixed pattern is made of."""
_ALL: Final = slice(None)


@dataclass(slots=True)
class Parts:
    """What a controller is made of.

    `hides_ciphertext` answers a host's read of an assigned page with a fixed pattern.
    `accepts_devices`: an attested device reaches private memory; otherwise it is as any other.
    `invd_writes_back`: the processor turns INVD into WBINVD.
    """

    keys: KeySlots
    engine: Engine = field(default_factory=NoCipher)
    fresh: bool = False
    ownership: Ownership = field(default_factory=Ownership)
    integrity: Integrity = field(default_factory=Integrity)
    cache: WriteBackCache = field(default_factory=WriteBackCache)
    dram: Dram = field(default_factory=Dram)
    hides_ciphertext: bool = False
    accepts_devices: bool = False
    invd_writes_back: bool = False


class MemoryController:
    """One controller. Addresses are physical; accesses may start and end anywhere."""

    def __init__(self, parts: Parts) -> None:
        """Put the parts together."""
        self.parts = parts
        self.dram = parts.dram
        self.ownership = parts.ownership
        self.cache = parts.cache
        self._keys = parts.keys
        self._engine = parts.engine
        self._integrity = parts.integrity
        self._counts = parts.fresh or parts.integrity.tree
        self.dram.keeps_beside = self._counts or parts.integrity.checks

    def read(self, who: Requester, address: int, length: int) -> Reply:
        """Answer a read.

        Raises:
            InputError: outside memory (`CTB-M001`), or a slot without a key (`CTB-M002`).
        """
        self.dram.require(address, length)
        if who.path is Path.BUS:
            return Reply(self._raw_kind(address, length), self.dram.read(address, length))
        refusal = self.ownership.check(who, address, length, write=False)
        if refusal is not None:
            return refusal
        if self._private(who):
            self._settle(address, length, keep=who)
            return self._read_private(who, address, length)
        self._settle(address, length)
        return self._read_raw(address, length)

    def write(self, who: Requester, address: int, data: BytesLike) -> Reply:
        """Do a write, or refuse it and change nothing.

        Raises:
            InputError: outside memory (`CTB-M001`), or a slot without a key (`CTB-M002`).
        """
        self.dram.require(address, len(data))
        if who.path is Path.BUS:
            self.dram.write(address, data)
            return DONE
        refusal = self.ownership.check(who, address, len(data), write=True)
        if refusal is not None:
            return refusal
        if not self._private(who):
            self._settle(address, len(data))
            return self._write_raw(address, data)
        self._settle(address, len(data), keep=who)
        if self.cache.takes(len(data)):
            return self._write_cached(who, address, data)
        self._settle(address, len(data))
        return self._write_private(who, address, data)

    def encrypt_in_place(
        self,
        slot: int,
        address: int,
        length: int,
        measure: Callable[[int, memoryview], object] | None = None,
    ) -> None:
        """Turn what DRAM holds in clear into private memory of a slot: a launch command.

        `measure` is given the offset and the plaintext of each run of up to 256 KiB, before it
        is encrypted. No ownership check, since it is the trusted part that calls.
        """
        self._settle(address, length)
        key = self._key(slot)
        for cells in self.dram.pages(address, length, make=True):
            start = max(address - cells.address, 0)
            stop = min(address + length - cells.address, len(cells.data))
            for first, last in _page_cuts(start, stop):
                pages = cells.part(first, last)
                low, high = max(first, start) - first, min(last, stop) - first
                plain = pages.data.data[low:high]
                if measure is not None:
                    measure(pages.address + low - address, plain)
                self._store(
                    slot,
                    key,
                    pages,
                    low,
                    plain if high - low == len(pages.data) else memoryview(bytes(plain)),
                )

    def store_private(self, slot: int, address: int, data: BytesLike) -> None:
        """Write private memory as the trusted part does: no ownership check, no cache."""
        self._settle(address, len(data))
        self._write_private(Requester(Path.GUEST_PRIVATE, slot), address, data)

    def load_private(self, slot: int, address: int, length: int) -> Reply:
        """Read private memory as the trusted part does: no ownership check."""
        self._settle(address, length)
        return self._read_private(Requester(Path.GUEST_PRIVATE, slot), address, length)

    def reseal(self, slot: int, address: int, length: int) -> None:
        """Take ciphertext in DRAM as what a slot wrote: memory that survived a power cycle."""
        key = self._key(slot)
        for cells in self.dram.pages(address, length, make=True):
            if self._integrity.checks:
                self._integrity.count(cells, fresh=False, lines=_ALL)
                self._integrity.seal(key, cells, _ALL)
            cells.sealed[:] = slot

    def flush(self) -> list[int]:
        """WBINVD: write all dirty lines back, and return their addresses."""
        written = self.cache.dirty
        self.cache.evict(written, self._write_back)
        return written

    def invalidate(self) -> list[int]:
        """INVD: forget all dirty lines, and return their addresses; none where it is stopped."""
        if self.parts.invd_writes_back:
            self.flush()
            return []
        return self.cache.drop()

    def forget(self, address: int, length: int) -> None:
        """Clear memory that a guest gave back."""
        self.cache.drop(self.cache.within(address, length))
        self.dram.forget(address, length)
        self._integrity.forget(address, length)

    def _private(self, who: Requester) -> bool:
        if who.path is Path.DMA_ACCEPTED and not self.parts.accepts_devices:
            return False
        return who.path in PRIVATE_PATHS and who.slot != NO_SLOT

    def _key(self, slot: int) -> bytes:
        return self._keys.key(slot)

    def _encrypts(self) -> bool:
        return not isinstance(self._engine, NoCipher)

    def _raw_kind(self, address: int, length: int) -> ReplyKind:
        if self._encrypts() and any(run.sealed.any() for run in self.dram.pages(address, length)):
            return ReplyKind.CIPHERTEXT
        return ReplyKind.DATA

    def _read_raw(self, address: int, length: int) -> Reply:
        parts = self.parts
        if parts.hides_ciphertext and self.ownership.first_owned(address, length) is not None:
            return Reply(ReplyKind.PATTERN, bytes([PATTERN_BYTE]) * length)
        data = self.dram.read(address, length)
        if self._integrity.owner:
            return self._hide_owned(address, data)
        if self._integrity.checks and self._encrypts():
            for cells in self.dram.pages(address, length):
                first, last = _lines_of(cells, address, length)
                if cells.mac[first:last].any():
                    return Reply(ReplyKind.POISON, bytes([PATTERN_BYTE]) * length)
        return Reply(self._raw_kind(address, length), data)

    def _hide_owned(self, address: int, data: bytes) -> Reply:
        """Show a fixed pattern in place of the lines that a guest owns."""
        shown = np.frombuffer(data, np.uint8).copy()
        hidden = False
        for cells in self.dram.pages(address, len(data)):
            first, last = _lines_of(cells, address, len(data))
            for line in np.flatnonzero(cells.owner[first:last] == 1) + first:
                start = cells.address + int(line) * LINE_SIZE - address
                shown[max(start, 0) : start + LINE_SIZE] = PATTERN_BYTE
                hidden = True
        return Reply(ReplyKind.PATTERN if hidden else ReplyKind.DATA, shown.tobytes())

    def _write_raw(self, address: int, data: BytesLike) -> Reply:
        self.dram.write(address, data)
        poisoned = False
        if self._integrity.checks:
            for cells in self.dram.pages(address, len(data), make=True):
                first, last = _lines_of(cells, address, len(data))
                poisoned |= bool(cells.owner[first:last].any() or cells.mac[first:last].any())
                self._integrity.count(cells, fresh=False, lines=slice(first, last))
                self._integrity.release(cells, slice(first, last))
        for cells in self.dram.pages(address, len(data), make=True):
            first = -(-max(address - cells.address, 0) // PAGE_SIZE)
            last = min(address + len(data) - cells.address, len(cells.data)) // PAGE_SIZE
            cells.sealed[first : max(first, last)] = 0
        return Reply(ReplyKind.POISON) if poisoned else DONE

    def _read_private(self, who: Requester, address: int, length: int) -> Reply:
        if not length:
            return DONE
        key, parts = self._key(who.slot), []
        for cells in self.dram.pages(address, length):
            lines = slice(*_lines_of(cells, address, length))
            bad = self._first_broken(key, cells, lines)
            if bad is not None:
                return bad
            parts.append(self._decrypt(key, cells))
        plain = parts[0] if len(parts) == 1 else b"".join(parts)
        start = address % PAGE_SIZE
        return Reply(ReplyKind.DATA, self._overlay(address, plain[start : start + length]))

    def _decrypt(self, key: bytes, cells: Cells) -> bytes:
        raw: BytesLike = cells.data.data
        if not self.parts.fresh:
            return self._engine.decrypt(key, cells.address, raw)
        raw = freshen(key, cells.address, raw, cells.counter)
        plain = self._engine.decrypt(key, cells.address, raw)
        return freshen(key, cells.address, plain, cells.counter)

    def _first_broken(self, key: bytes, cells: Cells, lines: slice) -> Reply | None:
        if not self._integrity.checks:
            return None
        bad = np.flatnonzero(self._integrity.broken(key, cells, lines)) + lines.start
        places = [cells.address + int(line) * LINE_SIZE for line in bad]
        line = next((place for place in places if self.cache.get(place) is None), None)
        if line is None:  # whatever memory holds, a dirty line in the cache is newer
            return None
        return faulted(
            FaultKind.MACHINE_CHECK, line, "the line is poisoned: integrity check failed"
        )

    def _write_private(self, who: Requester, address: int, data: BytesLike) -> Reply:
        """Encrypt and store. Lines written in part are checked first, and nothing is stored yet."""
        key, view = self._key(who.slot), memoryview(data)
        bad = self._broken_edge(key, address, len(data))
        if bad is not None:
            return bad
        done = 0
        for cells in self.dram.pages(address, len(data), make=True):
            start = max(address - cells.address, 0)
            count = min(len(cells.data) - start, len(data) - done)
            for first, last in _page_cuts(start, start + count):
                pages = cells.part(first, last)
                low, high = max(first, start), min(last, start + count)
                part = view[done + low - start : done + high - start]
                self._store(who.slot, key, pages, low - first, part)
            done += count
        return DONE

    def _broken_edge(self, key: bytes, address: int, length: int) -> Reply | None:
        """Check the lines that a write covers in part: it must not make a bad line good."""
        if not self._integrity.checks:
            return None
        edges = {at - at % LINE_SIZE for at in (address, address + length) if at % LINE_SIZE}
        for edge in sorted(edges):
            cells = next(self.dram.pages(edge, LINE_SIZE))
            bad = self._first_broken(key, cells, slice(*_lines_of(cells, edge, LINE_SIZE)))
            if bad is not None:
                return bad
        return None

    def _store(self, slot: int, key: bytes, cells: Cells, start: int, part: memoryview) -> None:
        """Write within whole pages; a page written in part is decrypted, and its rest kept."""
        if len(part) == len(cells.data):
            self._seal(slot, key, cells, part, _ALL)
            return
        plain = bytearray(self._decrypt(key, cells))
        plain[start : start + len(part)] = part
        lines = slice(start // LINE_SIZE, -(-(start + len(part)) // LINE_SIZE))
        self._seal(slot, key, cells, plain, lines)

    def _seal(self, slot: int, key: bytes, cells: Cells, plain: BytesLike, lines: slice) -> None:
        """Encrypt whole pages into their cells; only `lines` count as written."""
        if self._counts:
            self._integrity.count(cells, fresh=self.parts.fresh, lines=lines)
        if self.parts.fresh:
            plain = freshen(key, cells.address, plain, cells.counter)
        done: BytesLike = self._engine.encrypt(key, cells.address, plain)
        if self.parts.fresh:
            done = freshen(key, cells.address, done, cells.counter)
        start, stop, _ = lines.indices(len(cells.counter))
        first, last = start * LINE_SIZE, stop * LINE_SIZE
        cells.data[first:last] = np.frombuffer(done, np.uint8)[first:last]
        self._integrity.seal(key, cells, lines)
        cells.sealed[:] = slot
        cells.touched[:] = True

    def _write_cached(self, who: Requester, address: int, data: BytesLike) -> Reply:
        first = address - address % LINE_SIZE
        length = address + len(data) - first
        length += -length % LINE_SIZE
        whole = first == address and length == len(data)
        before = Reply(ReplyKind.DATA, bytes(length))
        if not whole:
            before = self._read_private(who, first, length)
        if before.fault is not None:
            return before
        lines = bytearray(before.data)
        lines[address - first : address - first + len(data)] = data
        for start in range(0, length, LINE_SIZE):
            line = Line(who.moved(first + start - address), bytes(lines[start : start + LINE_SIZE]))
            self.cache.put(first + start, line)
        self.cache.evict(self.cache.overflow(), self._write_back)
        return DONE

    def _write_back(self, address: int, line: Line) -> None:
        self._write_private(line.who, address, line.data)

    def _settle(self, address: int, length: int, keep: Requester | None = None) -> None:
        """Write back the dirty lines that an access touches; those of its own slot may stay."""
        found = self.cache.within(address, length)
        if keep is not None:
            found = [a for a in found if _slot(self.cache.get(a)) != keep.slot]
        self.cache.evict(found, self._write_back)

    def _overlay(self, address: int, plain: bytes) -> bytes:
        dirty = self.cache.within(address, len(plain))
        if not dirty:
            return plain
        shown = bytearray(plain)
        for start in dirty:
            line = self.cache.get(start)
            if line is not None:
                low, high = max(start, address), min(start + LINE_SIZE, address + len(plain))
                shown[low - address : high - address] = line.data[low - start : high - start]
        return bytes(shown)


def _slot(line: Line | None) -> int:
    return NO_SLOT if line is None else line.who.slot


def _page_cuts(start: int, stop: int) -> list[tuple[int, int]]:
    """Cut a range into a partial first page, whole pages, and a partial last page."""
    edges = {start - start % PAGE_SIZE, stop + -stop % PAGE_SIZE}
    inner = {start + -start % PAGE_SIZE, stop - stop % PAGE_SIZE}
    cuts = sorted(edges | {cut for cut in inner if min(edges) < cut < max(edges)})
    return list(pairwise(cuts))


def _lines_of(cells: Cells, address: int, length: int) -> tuple[int, int]:
    """Return the first line of a run that an access touches, and the one after the last."""
    start = max(address - cells.address, 0) // LINE_SIZE
    stop = min(address + length - cells.address, len(cells.data))
    return start, -(-stop // LINE_SIZE)
