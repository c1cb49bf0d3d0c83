"""DRAM: cells in 2 MiB blocks that exist once they are written, behind address lines.

Beside each 64-byte line lies what the platform keeps with it in the DIMM: a MAC, an owner bit,
a counter. So whoever moves cells by their address lines moves these too. A masked line is one
that a forged SPD (before boot) or an interposer (at any time) makes the DIMM ignore.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ctestbed.core.errors import InputError
from ctestbed.crypto.sm4 import BytesLike
from ctestbed.tee.controller.replies import LINE_SIZE, PAGE_SIZE

PHYSICAL_LIMIT: Final = 1 << 48
BLOCK_SIZE: Final = 1 << 21
RUN_SIZE: Final = 1 << 18
"""How much is worked on at a time: with its ciphertext and tweaks, it stays in a core's cache."""
_PAGES: Final = BLOCK_SIZE // PAGE_SIZE
_BESIDE: Final = ("mac", "owner", "counter")


@dataclass(frozen=True, slots=True)
class Cells:
    """A run of cells of whole pages, as views: what is written to them is stored.

    `sealed` is no hardware: per page, the key slot under which it was last written, so that an
    answer can say whether it holds ciphertext.
    """

    address: int
    data: NDArray[np.uint8]
    mac: NDArray[np.uint32]
    owner: NDArray[np.uint8]
    counter: NDArray[np.uint64]
    sealed: NDArray[np.uint32]
    touched: NDArray[np.bool_]

    def part(self, start: int, stop: int) -> "Cells":
        """Return the cells of bytes `start` to `stop`, whole pages from this run's start."""
        lines = slice(start // LINE_SIZE, stop // LINE_SIZE)
        pages = slice(start // PAGE_SIZE, stop // PAGE_SIZE)
        return Cells(
            self.address + start,
            self.data[start:stop],
            self.mac[lines],
            self.owner[lines],
            self.counter[lines],
            self.sealed[pages],
            self.touched[pages],
        )


@dataclass(frozen=True, slots=True)
class Captured:
    """What a probe on the DIMM's pins sees of whole lines: data, and what lies beside it."""

    data: bytes
    mac: NDArray[np.uint32]
    owner: NDArray[np.uint8]
    counter: NDArray[np.uint64]


def _empty(address: int, blank: Cells | None = None) -> Cells:
    """Make the cells of a block; with `blank`, nothing of its own lies beside its lines."""
    lines = BLOCK_SIZE // LINE_SIZE
    return Cells(
        address,
        np.zeros(BLOCK_SIZE, np.uint8),
        np.zeros(lines, np.uint32) if blank is None else blank.mac,
        np.zeros(lines, np.uint8) if blank is None else blank.owner,
        np.zeros(lines, np.uint64) if blank is None else blank.counter,
        np.zeros(_PAGES, np.uint32),
        np.zeros(_PAGES, np.bool_),
    )


class Dram:
    """`size` bytes of DRAM; what was never written reads as zeros and takes no space."""

    def __init__(self, size: int = PHYSICAL_LIMIT) -> None:
        """Make it. `keeps_beside` says whether anything lies beside lines at all."""
        self.size = size
        self.keeps_beside = True
        self._blocks: dict[int, Cells] = {}
        self._blank = _empty(0)
        for array in (self._blank.data, self._blank.mac, self._blank.owner, self._blank.counter):
            array.flags.writeable = False
        self._mask = 0

    @property
    def masked_lines(self) -> int:
        """The address bits that the DIMM ignores."""
        return self._mask

    def mask_lines(self, mask: int) -> None:
        """Make the DIMM ignore these address bits (0 for none): one cell for two addresses.

        Raises:
            InputError: a bit within a page, or above the DIMM.
        """
        if mask < 0 or mask % PAGE_SIZE or mask >= self.size:
            raise InputError(
                "CTB-M004",
                f"address lines {mask:#x} cannot be masked: they are not those of pages below"
                f" {self.size:#x}",
            )
        self._mask = mask

    def require(self, address: int, length: int) -> None:
        """Refuse an access outside memory (`CTB-M001`)."""
        if address < 0 or length < 0 or address + length > self.size:
            raise InputError(
                "CTB-M001",
                f"{length} bytes at {address:#x} reach outside the {self.size:#x} bytes of memory",
            )

    def pages(self, address: int, length: int, *, make: bool = False) -> Iterator[Cells]:
        """Yield the cells of the whole pages that an access touches, in runs of up to 256 KiB.

        `address` of each run is the one asked for, whatever cell answers it. Without `make`,
        cells that do not exist are shown as zeros that cannot be written.
        """
        self.require(address, length)
        start, stop = address - address % PAGE_SIZE, address + length
        longest = min(RUN_SIZE, self._mask & -self._mask or RUN_SIZE)
        while start < stop:
            end = min(stop + -stop % PAGE_SIZE, start - start % longest + longest)
            cell = start & ~self._mask
            offset = cell % BLOCK_SIZE
            found = self._block(cell // BLOCK_SIZE, make=make).part(offset, offset + end - start)
            yield Cells(
                start,
                found.data,
                found.mac,
                found.owner,
                found.counter,
                found.sealed,
                found.touched,
            )
            start = end

    def read(self, address: int, length: int) -> bytes:
        """Return the bytes of cells, as the pins give them."""
        runs = [cells.data for cells in self.pages(address, length)]
        first = address % PAGE_SIZE
        if len(runs) == 1:
            return runs[0][first : first + length].tobytes()
        whole = b"".join(run.data for run in runs)
        return whole[first : first + length]

    def write(self, address: int, data: BytesLike) -> None:
        """Store bytes as they are, and leave alone what lies beside them."""
        done, view = 0, memoryview(data)
        for cells in self.pages(address, len(data), make=True):
            start = max(address - cells.address, 0)
            count = min(len(cells.data) - start, len(data) - done)
            cells.data[start : start + count] = np.frombuffer(view[done : done + count], np.uint8)
            cells.touched[start // PAGE_SIZE : -(-(start + count) // PAGE_SIZE)] = True
            done += count

    def capture(self, address: int, length: int) -> Captured:
        """Return whole lines with what lies beside them: a bus probe that records."""
        _require_lines(address, length)
        first, last = address // LINE_SIZE % 64, length // LINE_SIZE
        runs = list(self.pages(address, length))
        beside = [
            np.concatenate([getattr(run, name) for run in runs])[first : first + last]
            for name in _BESIDE
        ]
        return Captured(self.read(address, length), *beside)

    def restore(self, address: int, captured: Captured) -> None:
        """Put captured lines, with what lay beside them, at an address: a bus replay."""
        _require_lines(address, len(captured.data))
        self.write(address, captured.data)
        done = 0
        for run in self.pages(address, len(captured.data), make=True):
            start = max(address - run.address, 0) // LINE_SIZE
            count = min(len(run.mac) - start, len(captured.mac) - done)
            for name in _BESIDE if self.keeps_beside else ():
                part = getattr(captured, name)[done : done + count]
                getattr(run, name)[start : start + count] = part
            done += count

    def touched(self, address: int, length: int) -> list[int]:
        """Return the numbers of the touched pages of a range, counted from its start."""
        first, last = address // PAGE_SIZE, (address + length) // PAGE_SIZE
        found: list[int] = []
        for block in sorted(self._blocks):
            number = block * _PAGES
            if number + _PAGES > first and number < last:
                pages = np.flatnonzero(self._blocks[block].touched) + number
                found += [int(page) - first for page in pages if first <= page < last]
        return found

    def forget(self, address: int, length: int) -> None:
        """Give the space of whole blocks of a range back; its edges are cleared."""
        for block in range(-(-address // BLOCK_SIZE), (address + length) // BLOCK_SIZE):
            self._blocks.pop(block & ~(self._mask // BLOCK_SIZE), None)
        for cells in self.pages(address, length):
            if (cells.address & ~self._mask) // BLOCK_SIZE in self._blocks:
                beside = _BESIDE if self.keeps_beside else ()
                for name in ("data", "sealed", "touched", *beside):
                    getattr(cells, name)[:] = 0

    def _block(self, number: int, *, make: bool) -> Cells:
        found = self._blocks.get(number)
        if found is None:
            if not make:
                return self._blank
            found = _empty(number * BLOCK_SIZE, None if self.keeps_beside else self._blank)
            self._blocks[number] = found
        return found


def _require_lines(address: int, length: int) -> None:
    if address % LINE_SIZE or length % LINE_SIZE:
        raise InputError(
            "CTB-M004",
            f"a probe takes whole lines of {LINE_SIZE} bytes, not {length} at {address:#x}",
        )
