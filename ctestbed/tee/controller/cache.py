"""A write-back cache between guests and the engine: dirty lines hold plaintext until written.

`flush` (WBINVD) writes them back. `drop` (INVD) forgets them, so that memory shows what it held
before: CacheWarp. It is off until `capacity` says how many lines it has, since nothing but
experiments with it can tell the difference.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ctestbed.tee.controller.replies import LINE_SIZE, Requester


@dataclass(frozen=True, slots=True)
class Line:
    """A dirty line: who wrote it, and its 64 bytes of plaintext."""

    who: Requester
    data: bytes = field(repr=False)


@dataclass(slots=True)
class WriteBackCache:
    """The dirty lines by physical address, least recently written first."""

    capacity: int = 0
    _lines: OrderedDict[int, Line] = field(default_factory=OrderedDict, repr=False)

    @property
    def dirty(self) -> list[int]:
        """The addresses of the dirty lines, sorted."""
        return sorted(self._lines)

    def takes(self, length: int) -> bool:
        """Whether a write of this length stays here rather than going to memory at once."""
        return 0 < length <= self.capacity * LINE_SIZE // 2

    def put(self, address: int, line: Line) -> None:
        """Make a line dirty."""
        self._lines[address] = line
        self._lines.move_to_end(address)

    def get(self, address: int) -> Line | None:
        """Return a dirty line."""
        return self._lines.get(address)

    def within(self, address: int, length: int) -> list[int]:
        """Return the addresses of the dirty lines that a range touches."""
        if not self._lines:
            return []
        first = address - address % LINE_SIZE
        return [line for line in self.dirty if first <= line < address + length]

    def evict(self, addresses: list[int], store: Callable[[int, Line], None]) -> None:
        """Write these lines back."""
        for address in addresses:
            store(address, self._lines.pop(address))

    def overflow(self) -> list[int]:
        """Return the lines that must go, oldest first, for the cache to hold its capacity."""
        return list(self._oldest(len(self._lines) - self.capacity))

    def drop(self, addresses: list[int] | None = None) -> list[int]:
        """Forget dirty lines, all of them by default, and return which."""
        gone = self.dirty if addresses is None else [a for a in addresses if a in self._lines]
        for address in gone:
            del self._lines[address]
        return gone

    def _oldest(self, count: int) -> Iterator[int]:
        for number, address in enumerate(self._lines):
            if number >= count:
                return
            yield address
