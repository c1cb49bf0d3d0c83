"""What a controller keeps of each 64-byte line to tell whether somebody else changed it.

`none` keeps nothing. `mac` keeps 28 bits over ciphertext, address and key beside the data, so
old data with its old MAC passes. `owner` is one bit: written by a guest, or not. `tree` adds a
number per line and write, of which the chip itself knows the last one.

The MAC is ours: a PMAC over AES, cut to 28 bits. Intel names SHA-3 for TDX, whose effect on the
paths is the same.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ctestbed.crypto.sm3 import sm3
from ctestbed.tee.controller.dram import BLOCK_SIZE, Cells
from ctestbed.tee.controller.engine import aes_blocks, line_blocks
from ctestbed.tee.controller.replies import LINE_SIZE

MAC_BITS: Final = 28
_LINES: Final = BLOCK_SIZE // LINE_SIZE


@dataclass(slots=True)
class Integrity:
    """A choice of the three; all false keeps nothing."""

    mac: bool = False
    owner: bool = False
    tree: bool = False
    _counters: dict[int, NDArray[np.uint64]] = field(default_factory=dict, repr=False)

    @property
    def checks(self) -> bool:
        """Whether a changed line can be told at all."""
        return self.mac or self.owner or self.tree

    def count(self, cells: Cells, *, fresh: bool, lines: slice) -> None:
        """Count a write of the lines, where anything counts.

        A tree counts on from what the chip knows; freshness alone from what the cell says.
        """
        if self.tree:
            known = self._known(cells)
            known[lines] += np.uint64(1)
            cells.counter[lines] = known[lines]
        elif fresh:
            cells.counter[lines] += np.uint64(1)

    def seal(self, key: bytes, cells: Cells, lines: slice) -> None:
        """Make the lines of a run those of the holder of `key`: after a private write."""
        if self.mac:
            cells.mac[lines] = _macs(key, cells, lines)
        if self.owner:
            cells.owner[lines] = 1

    def release(self, cells: Cells, lines: slice) -> None:
        """Make the lines nobody's: after any other write."""
        if self.mac:
            cells.mac[lines] = 0
        if self.owner:
            cells.owner[lines] = 0

    def broken(self, key: bytes, cells: Cells, lines: slice) -> NDArray[np.bool_]:
        """Return which lines of a run the holder of `key` must not be given."""
        bad = np.zeros(len(cells.counter[lines]), np.bool_)
        if self.mac:
            bad |= cells.mac[lines] != _macs(key, cells, lines)
        if self.tree:  # which knows the lines that nobody wrote yet: they hold nothing
            known = self._known(cells)[lines]
            bad |= cells.counter[lines] != known
            bad &= known != 0
        if self.owner:
            bad |= cells.owner[lines] != 1
        return bad

    def forget(self, address: int, length: int) -> None:
        """Forget the numbers of whole blocks of a range."""
        for block in range(-(-address // BLOCK_SIZE), (address + length) // BLOCK_SIZE):
            self._counters.pop(block, None)

    def _known(self, cells: Cells) -> NDArray[np.uint64]:
        """Return the chip's own numbers of a run, which lies within one 2 MiB block."""
        block, offset = divmod(cells.address, BLOCK_SIZE)
        if block not in self._counters:
            self._counters[block] = np.zeros(_LINES, np.uint64)
        start = offset // LINE_SIZE
        return self._counters[block][start : start + len(cells.counter)]


def _macs(key: bytes, cells: Cells, lines: slice) -> NDArray[np.uint32]:
    """Return the MAC of each line: PMAC over its four blocks, its address and its counter."""
    start, stop, _ = lines.indices(len(cells.counter))
    first, last = start * LINE_SIZE, stop * LINE_SIZE
    secret = sm3(b"integrity" + key)
    places = np.frombuffer(secret[16:] + sm3(secret) + sm3(secret[::-1])[:16], np.uint64)
    words = cells.data[first:last].view(np.uint64).reshape(-1, 8) ^ places
    blocks = aes_blocks(secret[:16], words.data.cast("B")).reshape(-1, 4, 2)
    sums = blocks[:, 0] ^ blocks[:, 1]
    sums ^= blocks[:, 2]
    sums ^= blocks[:, 3]
    where = line_blocks(cells.address + first, cells.counter[start:stop])
    sums ^= aes_blocks(sm3(secret[:16])[:16], where.data.cast("B"))
    tags = aes_blocks(secret[16:], sums.data.cast("B"))[:, 0]
    return (tags & np.uint64((1 << MAC_BITS) - 1)).astype(np.uint32)
