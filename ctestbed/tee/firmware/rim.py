"""The realm initial measurement of CCA, and virtCCA's, which has other sizes.

It starts as the hash of the guest's parameters; each measured granule then makes it the hash of
a 256-byte descriptor that holds the measurement so far (TF-RMM; virtCCA_sdk's reference program).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256, sha512
from struct import pack, pack_into
from typing import Final, Literal, TypeAlias

from ctestbed.crypto.sm4 import BytesLike
from ctestbed.tee.controller.replies import PAGE_SIZE

HashName: TypeAlias = Literal["sha-256", "sha-512"]
_ALGORITHM: Final[dict[HashName, int]] = {"sha-256": 0, "sha-512": 1}
_HASH: Final = {"sha-256": sha256, "sha-512": sha512}
_DESCRIPTOR: Final = 256
_DATA, _REC, _RIPAS = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Parameters:
    """What is measured of a realm's or cVM's parameters; `ipa_bits` is the width of addresses."""

    flags: int = 0
    ipa_bits: int = 40
    sve_vl: int = 0
    breakpoints: int = 0
    watchpoints: int = 0
    pmu_counters: int = 0
    algorithm: HashName = "sha-256"


class Rim:
    """The measurement as the RMM or TMM keeps it: `value`."""

    def __init__(self, parameters: Parameters) -> None:
        """Start from the parameters: REALM_CREATE, or cVM create."""
        self._hash = _HASH[parameters.algorithm]
        page = bytearray(PAGE_SIZE)
        pack_into("<Q", page, 0x00, parameters.flags)
        pack_into("<Q", page, 0x08, parameters.ipa_bits)
        pack_into("<Q", page, 0x10, parameters.sve_vl)
        pack_into("<Q", page, 0x18, parameters.breakpoints)
        pack_into("<Q", page, 0x20, parameters.watchpoints)
        pack_into("<Q", page, 0x28, parameters.pmu_counters)
        pack_into("<Q", page, 0x30, _ALGORITHM[parameters.algorithm])
        self.value = self._hash(page).digest()

    def data(self, address: int, content: BytesLike, *, measured: bool = True) -> None:
        """Take whole granules from guest address `address` on: DATA_CREATE."""
        value, view, new = self.value, memoryview(content), self._hash
        head = pack("<B7xQ", _DATA, _DESCRIPTOR)
        for start in range(0, len(view), PAGE_SIZE):
            digest = new(view[start : start + PAGE_SIZE]).digest() if measured else b""
            where = pack("<QQ", address + start, int(measured))
            text = head + value.ljust(64, b"\0") + where + digest
            value = new(text.ljust(_DESCRIPTOR, b"\0")).digest()
        self.value = value

    def cpu(self, parameters: bytes) -> None:
        """Take a virtual CPU's measured parameters: REC_CREATE, or TEC create."""
        digest = self._hash(parameters).digest()
        text = pack("<B7xQ", _REC, _DESCRIPTOR) + self.value.ljust(64, b"\0") + digest
        self.value = self._hash(text.ljust(_DESCRIPTOR, b"\0")).digest()

    def ripas(self, base: int, top: int) -> None:
        """Take a range whose state is set to RAM: RTT_INIT_RIPAS."""
        text = pack("<B7xQ", _RIPAS, _DESCRIPTOR) + self.value.ljust(64, b"\0")
        self.value = self._hash((text + pack("<QQ", base, top)).ljust(_DESCRIPTOR, b"\0")).digest()


def rec_parameters(entry: int, registers: Sequence[int] = (), *, runnable: bool) -> bytes:
    """Return the measured parameters of a CCA REC: 4096 bytes."""
    page = bytearray(PAGE_SIZE)
    pack_into("<Q", page, 0, int(runnable))
    pack_into("<Q", page, 0x200, entry)
    for number, value in enumerate(registers):
        pack_into("<Q", page, 0x300 + 8 * number, value)
    return bytes(page)


def tec_parameters(entry: int, registers: Sequence[int] = (), *, runnable: bool) -> bytes:
    """Return the measured parameters of a virtCCA TEC: 8 registers, entry and flags, 80 bytes."""
    values = [*registers, *[0] * (8 - len(registers))]
    return pack("<10Q", *values, entry, int(runnable))
