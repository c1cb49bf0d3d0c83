"""The look for masked address lines at boot that firmware does since BadRAM."""

from typing import Final

from ctestbed.tee.controller.dram import Dram
from ctestbed.tee.controller.replies import PAGE_SIZE

_MARK: Final = b"alias probe mark"


def find_aliases(dram: Dram) -> int:
    """Return the address bits under which two addresses reach one cell, 0 if there are none.

    It writes and reads cells as firmware does, and puts back what they held. A line that is
    masked later is not found: the look is at boot only.
    """
    found = 0
    bit = PAGE_SIZE
    while bit < dram.size:
        places = [next(dram.pages(place, 1, make=True)) for place in (0, bit)]
        touched = [bool(cells.touched[0]) for cells in places]
        low, high = dram.read(0, len(_MARK)), dram.read(bit, len(_MARK))
        dram.write(bit, bytes(len(_MARK)))
        dram.write(0, _MARK)
        if dram.read(bit, len(_MARK)) == _MARK:
            found |= bit
        dram.write(bit, high)
        dram.write(0, low)
        for cells, before in zip(places, touched, strict=True):
            cells.touched[0] = before
        bit <<= 1
    return found
