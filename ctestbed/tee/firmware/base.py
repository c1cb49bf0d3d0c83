"""What the platforms share: a launch as a plan, a guest, and how a command is refused.

A platform drives its trusted part by the commands that a real host uses, in their order. A
command in a wrong state, on a wrong page or with a wrong address is refused with an error that
names the command and the status that the real firmware returns.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ctestbed.core.errors import (
    CtestbedError,
    EnvironmentLacksError,
    InputError,
    PolicyRefusedError,
)
from ctestbed.crypto.sm4 import BytesLike
from ctestbed.tee.controller.controller import MemoryController
from ctestbed.tee.controller.guest import GuestMemory
from ctestbed.tee.controller.keys import KeySlots
from ctestbed.tee.controller.replies import NO_SLOT, PAGE_SIZE
from ctestbed.tee.entropy import Entropy
from ctestbed.tee.vcpu import VCPU

ORDER: Final = "CTB-M040"
BLOCKS: Final = "CTB-M041"
ALIGNMENT: Final = "CTB-M072"
OWNED: Final = "CTB-M074"
RANGE: Final = "CTB-M075"
SLOT: Final = "CTB-M076"
POLICY: Final = "CTB-M042"
_CHUNK: Final = 1 << 21


@dataclass(frozen=True, slots=True)
class Plan:
    """A launch: `image` goes to guest address 0, padded with zeros to whole pages by platforms.

    `base` is where guest address 0 lies in DRAM; save areas and control pages follow the
    guest's memory, from `base + memory` on. `slot` is the key slot, where the caller chooses.
    """

    name: str
    memory: int
    base: int
    policy: int
    image: BytesLike = field(repr=False)
    entropy: Entropy = field(repr=False)
    vcpus: int = 1
    slot: int | None = None

    def pieces(self) -> Iterator[tuple[int, memoryview]]:
        """Yield (guest address, whole pages) of the image, in pieces of up to 2 MiB."""
        view = memoryview(self.image)
        for start in range(0, len(view), _CHUNK):
            piece = view[start : start + _CHUNK]
            if len(piece) % PAGE_SIZE:
                piece = memoryview(bytes(piece) + bytes(-len(piece) % PAGE_SIZE))
            yield start, piece

    @property
    def pages_size(self) -> int:
        """The image's size in whole pages, in bytes."""
        return len(self.image) + -len(self.image) % PAGE_SIZE


@dataclass(slots=True)
class Guest:
    """A guest that its platform launched."""

    name: str
    slot: int
    policy: int
    measurement: bytes
    memory: GuestMemory
    vcpus: list[VCPU] = field(default_factory=list)
    control_pages: int = 0


class Platform(ABC):
    """The trusted part of a platform, and the host's side of its launch."""

    digest_size = 32
    save_pages = 0
    """How many pages of a guest, beyond one per virtual CPU, lie after its memory."""

    def __init__(self, controller: MemoryController) -> None:
        """Take charge of a machine's memory."""
        self.controller = controller

    @property
    def keys(self) -> KeySlots:
        """The key table, which only the trusted part uses."""
        return self.controller.parts.keys

    @abstractmethod
    def launch(self, plan: Plan) -> Guest:
        """Take a guest through all launch commands until it runs."""

    @abstractmethod
    def resume(self, plan: Plan, key: bytes, measurement: bytes) -> Guest:
        """Take back a running guest whose memory DRAM already holds; its pages follow.

        No such command exists: an emulated machine lives on between two processes.
        """

    def restore_pages(  # noqa: B027 - without a table there is nothing to do
        self, guest: Guest, address: int, length: int
    ) -> None:
        """Take pages of a resumed guest back as its own."""

    @abstractmethod
    def destroy(self, guest: Guest) -> None:
        """Take a guest's memory and key back, by the platform's own teardown."""

    @abstractmethod
    def debug_read(self, guest: Guest, address: int, length: int) -> bytes:
        """Decrypt guest memory for the host, where the guest's policy allows it."""

    def free_slot(self, taken: set[int], status: str, command: str) -> int:
        """Return the lowest key slot that nobody has.

        Raises:
            EnvironmentLacksError: none is free.
        """
        for slot in range(1, self.keys.count + 1):
            if slot not in taken:
                return slot
        raise EnvironmentLacksError(
            "CTB-M050",
            f"{command} returns {status}: all {self.keys.count} key slots"
            f" ({self.keys.name}) of the machine are taken",
            hint="stop a VM first; `ctestbed cvm list` names them",
        )

    def choose_slot(self, plan: Plan, status: str, command: str) -> int:
        """Return the slot that the plan names, or a free one."""
        if plan.slot is not None:
            return plan.slot
        return self.free_slot(set(self.keys.taken), status, command)

    def install_key(self, slot: int, entropy: Entropy, status: str, command: str) -> None:
        """Draw a memory key and put it into a slot.

        Raises:
            InputError: the slot is taken or does not exist.
        """
        if not NO_SLOT < slot <= self.keys.count or slot in self.keys.taken:
            state = "taken" if slot in self.keys.taken else f"not one of 1-{self.keys.count}"
            raise refuse(command, status, f"{self.keys.name} {slot} is {state}", code=SLOT)
        size = self.keys.key_size
        self.keys.install(slot, entropy.draw("memory key", size) if size else b"")

    def require_memory(self, address: int, length: int, status: str, command: str) -> None:
        """Refuse physical memory that the machine does not have."""
        if address < 0 or length < 0 or address + length > self.controller.dram.size:
            raise refuse(
                command, status, f"{length} bytes at {address:#x} are not memory", code=RANGE
            )


def refuse(
    command: str, status: str, why: str, *, code: str, hint: str | None = None
) -> InputError:
    """Return the error of a refused command; `status` is what the real firmware returns."""
    return InputError(code, f"{command} returns {status}: {why}", hint=hint)


def refuse_policy(command: str, status: str, why: str, code: str = POLICY) -> CtestbedError:
    """Return the error of a command that the guest's own policy forbids."""
    return PolicyRefusedError(code, f"{command} returns {status}: {why}")


def require_image(plan: Plan, status: str, command: str) -> None:
    """Refuse an image that does not fit into the guest's memory."""
    if plan.pages_size > plan.memory:
        raise refuse(
            command,
            status,
            f"the image has {len(plan.image)} bytes, and the guest {plan.memory} of memory",
            code=RANGE,
            hint="give the guest more memory",
        )
