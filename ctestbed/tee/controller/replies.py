"""Who may ask the memory controller for something, and what it may answer.

An answer is data, ciphertext, a fixed pattern, poison or a fault, as the platform documents for
the path; a fault is a value here, since the experiments look at it. `Reply.require` turns it
into an error where a caller expects to be served.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ctestbed.core.errors import InputError

PAGE_SIZE: Final = 4096
LINE_SIZE: Final = 64
NO_SLOT: Final = 0
"""The key slot that never has a key: what is accessed under it is not encrypted."""


class Path(StrEnum):
    """By which way an access comes."""

    GUEST_PRIVATE = "guest private"
    GUEST_SHARED = "guest shared"
    HOST = "host"
    OTHER_GUEST = "another guest"
    DMA_UNTRUSTED = "DMA of an untrusted device"
    DMA_ACCEPTED = "DMA of an accepted device"
    BUS = "bus probe"


PRIVATE_PATHS: Final = (Path.GUEST_PRIVATE, Path.OTHER_GUEST, Path.DMA_ACCEPTED)


@dataclass(frozen=True, slots=True)
class Requester:
    """One who accesses memory. `slot` is its key slot (0 for none).

    `guest_address` is the address under which its own page tables know the place, where the
    path has such tables; ownership tables compare it with the one they keep.
    """

    path: Path
    slot: int = NO_SLOT
    guest_address: int | None = None

    def moved(self, offset: int) -> "Requester":
        """Return the same requester, `offset` bytes further."""
        if not offset or self.guest_address is None:
            return self
        return Requester(self.path, self.slot, self.guest_address + offset)


HOST: Final = Requester(Path.HOST)
BUS: Final = Requester(Path.BUS)
UNTRUSTED_DEVICE: Final = Requester(Path.DMA_UNTRUSTED)


class ReplyKind(StrEnum):
    """What an access gave. A write that was done is `data`."""

    DATA = "data"
    CIPHERTEXT = "ciphertext"
    PATTERN = "fixed pattern"
    POISON = "poison"
    FAULT = "fault"


class FaultKind(StrEnum):
    """The exceptions by the names that their architectures use."""

    NESTED_PAGE_FAULT = "#NPF"
    VC = "#VC"
    RMP = "#PF (RMP)"
    IO_PAGE_FAULT = "IO_PAGE_FAULT"
    EPT_VIOLATION = "EPT violation"
    VE = "#VE"
    MACHINE_CHECK = "#MC"
    GRANULE = "granule protection fault"
    STAGE_2 = "stage-2 fault"
    ISOLATION = "isolation fault"
    EXTERNAL_ABORT = "external abort"


@dataclass(frozen=True, slots=True)
class Fault:
    """A refused access. `address` is physical; `absent` says that nobody gave the page yet."""

    kind: FaultKind
    address: int
    cause: str
    absent: bool = False

    def __str__(self) -> str:
        """Render as `#NPF at 0x1000: cause`."""
        return f"{self.kind} at {self.address:#x}: {self.cause}"


class MemoryFaultError(InputError):
    """An access was refused by the memory controller, and its caller needed it served."""

    def __init__(self, fault: Fault) -> None:
        """Keep the fault beside the message."""
        super().__init__("CTB-M003", f"the access raises {fault}")
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Reply:
    """What an access gave: `data` is empty for writes and faults."""

    kind: ReplyKind
    data: bytes = b""
    fault: Fault | None = None

    def require(self) -> bytes:
        """Return the bytes.

        Raises:
            MemoryFaultError: the access was refused.
        """
        if self.fault is not None:
            raise MemoryFaultError(self.fault)
        return self.data


DONE: Final = Reply(ReplyKind.DATA)


def faulted(kind: FaultKind, address: int, cause: str, *, absent: bool = False) -> Reply:
    """Return the answer of a refused access."""
    return Reply(ReplyKind.FAULT, fault=Fault(kind, address, cause, absent))
