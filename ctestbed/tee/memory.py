"""The memory controller: DRAM in 4 KiB frames, a key per ASID, a tweak from the address.

A guest's private access passes through the SM4 engine under the key of its ASID; its shared
access and every access of the host reach DRAM as it is. The key table is an object of its own,
which only the secure processor is given, so nothing else can install or read a key.

The data unit of the engine is a frame and its tweak the frame's physical address, so each
16-byte block is encrypted apart from its neighbours, and equal blocks at two addresses differ.
There is no integrity: a changed block decrypts to garbage, an old one to old data.
"""

from dataclasses import dataclass, field
from typing import Final

from ctestbed.core.errors import InputError
from ctestbed.crypto.sm4_xts import Standard, decrypt_units, encrypt_units

PAGE_SIZE: Final = 4096
KEY_SIZE: Final = 32
"""An SM4-XTS key: 16 bytes for the data, 16 for the tweak."""
HOST_ASID: Final = 0
"""The ASID that never has a key: what runs under it is not encrypted."""
XTS_STANDARD: Final[Standard] = "gb"
PHYSICAL_LIMIT: Final = 1 << 48

_ZERO_PAGE: Final = bytes(PAGE_SIZE)


class KeySlots:
    """The key table, one slot per ASID from 1 on. Its keys never show in a repr."""

    def __init__(self, count: int) -> None:
        """Make `count` empty slots."""
        self.count = count
        self._keys: dict[int, bytes] = {}

    def install(self, asid: int, key: bytes) -> None:
        """Put a 32-byte key into the empty slot of `asid`."""
        if not HOST_ASID < asid <= self.count or asid in self._keys:
            raise InputError("CTB-M002", f"key slot {asid} is taken or not one of 1-{self.count}")
        if len(key) != KEY_SIZE:
            raise InputError("CTB-M002", f"a memory key has {KEY_SIZE} bytes, not {len(key)}")
        self._keys[asid] = key

    def erase(self, asid: int) -> None:
        """Forget the key of `asid`; what it encrypted is lost."""
        self._keys.pop(asid, None)

    def key(self, asid: int) -> bytes:
        """Return the key of `asid`.

        Raises:
            InputError: the slot is empty.
        """
        try:
            return self._keys[asid]
        except KeyError:
            raise InputError("CTB-M002", f"key slot {asid} holds no key") from None


class MemoryController:
    """DRAM, of which only touched frames cost anything, behind the SM4 engine.

    Physical addresses and lengths are bytes; an access may start and end anywhere.
    """

    def __init__(self, keys: KeySlots, size: int = PHYSICAL_LIMIT) -> None:
        """Make `size` bytes of DRAM; a frame never written reads as zeros."""
        self.size = size
        self._keys = keys
        self._frames: dict[int, bytes] = {}

    def read_raw(self, address: int, length: int) -> bytes:
        """Return what DRAM holds: the host's view, and a guest's of a shared page."""
        first, count, offset = self._span(address, length)
        return self._load(first, count)[offset : offset + length]

    def write_raw(self, address: int, data: bytes) -> None:
        """Store `data` as it is: the host, or a guest's shared write."""
        first, count, offset = self._span(address, len(data))
        whole = offset == 0 and len(data) == count * PAGE_SIZE
        self._store(first, data if whole else _patch(self._load(first, count), offset, data))

    def read_private(self, asid: int, address: int, length: int) -> bytes:
        """Return the decryption under the key of `asid`; garbage if another key wrote it."""
        first, count, offset = self._span(address, length)
        return self._decrypted(asid, first, count)[offset : offset + length]

    def write_private(self, asid: int, address: int, data: bytes) -> None:
        """Store the encryption of `data` under the key of `asid`, in one pass over the engine."""
        first, count, offset = self._span(address, len(data))
        whole = offset == 0 and len(data) == count * PAGE_SIZE
        plain = data if whole else _patch(self._decrypted(asid, first, count), offset, data)
        self._store(first, self._encrypted(asid, first, plain))

    def encrypt_in_place(self, asid: int, address: int, length: int) -> bytes:
        """Encrypt what DRAM holds under the key of `asid`, and return the plaintext it held.

        The secure processor's launch command. Works on whole 16-byte blocks.
        """
        plain = self.read_raw(address, length)
        self.write_private(asid, address, plain)
        return plain

    def frames(self, address: int, size: int) -> dict[int, bytes]:
        """Return the touched frames of a range of whole frames, by number from its start."""
        first, count, _ = self._span(address, size)
        return {
            number - first: self._frames[number]
            for number in sorted(self._frames)
            if first <= number < first + count
        }

    def _span(self, address: int, length: int) -> tuple[int, int, int]:
        """Return the first frame, how many frames, and the offset into the first."""
        if address < 0 or length < 0 or address + length > self.size:
            raise InputError(
                "CTB-M001",
                f"{length} bytes at {address:#x} reach outside the {self.size:#x} bytes of memory",
            )
        first, offset = divmod(address, PAGE_SIZE)
        return first, -(-(offset + length) // PAGE_SIZE), offset

    def _load(self, first: int, count: int) -> bytes:
        frames = self._frames
        return b"".join(frames.get(number, _ZERO_PAGE) for number in range(first, first + count))

    def _store(self, first: int, data: bytes) -> None:
        for number in range(len(data) // PAGE_SIZE):
            start = number * PAGE_SIZE
            self._frames[first + number] = data[start : start + PAGE_SIZE]

    def _encrypted(self, asid: int, first: int, plain: bytes) -> bytes:
        if asid == HOST_ASID or not plain:
            return plain
        tweaks = _tweaks(first, len(plain) // PAGE_SIZE)
        return encrypt_units(self._keys.key(asid), tweaks, plain, PAGE_SIZE, XTS_STANDARD)

    def _decrypted(self, asid: int, first: int, count: int) -> bytes:
        raw = self._load(first, count)
        if asid == HOST_ASID or not raw:
            return raw
        tweaks = _tweaks(first, count)
        return decrypt_units(self._keys.key(asid), tweaks, raw, PAGE_SIZE, XTS_STANDARD)


def _tweaks(first: int, count: int) -> bytes:
    """Return the tweak of each frame: its physical address, 16 bytes little endian."""
    return b"".join(
        (number * PAGE_SIZE).to_bytes(16, "little") for number in range(first, first + count)
    )


def _patch(page: bytes, offset: int, data: bytes) -> bytes:
    return page[:offset] + data + page[offset + len(data) :]


@dataclass(frozen=True, slots=True)
class GuestMemory:
    """A guest's own view: `size` bytes from address 0, which lie at `base` in DRAM.

    Private access is the default, as for a guest that sets the C-bit.
    """

    controller: MemoryController = field(repr=False)
    asid: int
    base: int
    size: int

    def read(self, address: int, length: int) -> bytes:
        """Read private memory: decrypted."""
        return self.controller.read_private(self.asid, self._physical(address, length), length)

    def write(self, address: int, data: bytes) -> None:
        """Write private memory: encrypted."""
        self.controller.write_private(self.asid, self._physical(address, len(data)), data)

    def read_shared(self, address: int, length: int) -> bytes:
        """Read a page shared with the host, as it lies in DRAM."""
        return self.controller.read_raw(self._physical(address, length), length)

    def write_shared(self, address: int, data: bytes) -> None:
        """Write a page shared with the host, in clear."""
        self.controller.write_raw(self._physical(address, len(data)), data)

    def _physical(self, address: int, length: int) -> int:
        if address < 0 or length < 0 or address + length > self.size:
            raise InputError(
                "CTB-M001",
                f"{length} bytes at {address:#x} reach outside the guest's {self.size:#x} bytes",
            )
        return self.base + address
