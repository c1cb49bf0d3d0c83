"""SEV and SEV-ES, and the ancestor of Hygon's CSV: the secure processor's commands.

LAUNCH_START makes a guest and its key, ACTIVATE binds it to an ASID, LAUNCH_UPDATE_DATA encrypts
in place what the host loaded and adds it to the digest, LAUNCH_UPDATE_VMSA does so with register
pages (ES only), LAUNCH_MEASURE closes the digest, LAUNCH_FINISH lets the guest run. The digest is
over the data in the order of the updates, and knows no addresses (AMD 55766).
"""

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from hashlib import sha256
from typing import Final, Protocol, cast

from typing_extensions import override

from ctestbed.core.errors import CtestbedError
from ctestbed.crypto.sm4 import BytesLike
from ctestbed.tee.controller.controller import MemoryController
from ctestbed.tee.controller.guest import GuestMemory
from ctestbed.tee.controller.replies import HOST, PAGE_SIZE
from ctestbed.tee.entropy import Entropy
from ctestbed.tee.firmware.base import (
    BLOCKS,
    ORDER,
    Guest,
    Plan,
    Platform,
    refuse,
    refuse_policy,
    require_image,
)
from ctestbed.tee.firmware.vmsa import vmsa_page
from ctestbed.tee.vcpu import VCPU, AreaKind, EventFilter

BLOCK: Final = 16
POLICY_NODBG: Final = 1
POLICY_ES: Final = 1 << 2
POLICY_NOSEND: Final = 1 << 3


class SevStatus(IntEnum):
    """The status codes of the SEV API that the emulator returns (AMD 55766, chapter 5)."""

    INVALID_PLATFORM_STATE = 0x01
    INVALID_GUEST_STATE = 0x02
    INVALID_LEN = 0x04
    POLICY_FAILURE = 0x07
    INACTIVE = 0x08
    INVALID_ADDRESS = 0x09
    ASID_OWNED = 0x0C
    INVALID_ASID = 0x0D
    INVALID_GUEST = 0x10
    RESOURCE_LIMIT = 0x17


class GuestState(StrEnum):
    """How far a guest has come, by the API's own names."""

    LAUNCHING = "LUPDATE"
    MEASURED = "LSECRET"
    RUNNING = "RUNNING"


class Digest(Protocol):
    """A running hash."""

    def update(self, data: BytesLike, /) -> object:
        """Take more data."""
        ...


@dataclass(slots=True)
class Context:
    """What the secure processor keeps of a guest. `asid` is 0 until ACTIVATE."""

    policy: int
    entropy: Entropy
    digest: Digest
    state: GuestState = GuestState.LAUNCHING
    asid: int = 0
    measurement: bytes = b""
    vmsas: dict[int, bytes] = field(default_factory=dict, repr=False)


class SevFirmware(Platform):
    """The secure processor of a SEV or SEV-ES machine (`es`)."""

    command_prefix = ""

    def __init__(self, controller: MemoryController, *, es: bool = False) -> None:
        """Take charge of a controller."""
        super().__init__(controller)
        self.es = es
        self._guests: dict[int, Context] = {}
        self._next = 1

    def new_digest(self) -> Digest:
        """Start a launch digest."""
        return sha256()

    def close_digest(self, digest: Digest) -> bytes:
        """Finish a launch digest."""
        return cast("bytes", digest.digest())  # type: ignore[attr-defined]

    def launch_start(self, policy: int, entropy: Entropy) -> int:
        """Make a guest, and return its handle.

        Raises:
            CtestbedError: an ES policy on a machine without it (POLICY_FAILURE).
        """
        if policy & POLICY_ES and not self.es:
            raise refuse_policy(
                "LAUNCH_START", _name(SevStatus.POLICY_FAILURE), "the machine has no SEV-ES"
            )
        handle, self._next = self._next, self._next + 1
        self._guests[handle] = Context(policy, entropy, self.new_digest())
        return handle

    def activate(self, handle: int, asid: int) -> None:
        """Bind a guest to an ASID, and install its key.

        Raises:
            InputError: the ASID is another guest's, or does not exist, or the guest has one.
        """
        guest = self.context("ACTIVATE", handle)
        if guest.asid:
            raise refuse("ACTIVATE", "ACTIVE", f"the guest has ASID {guest.asid}", code=ORDER)
        status = SevStatus.ASID_OWNED if asid in self.keys.taken else SevStatus.INVALID_ASID
        self.install_key(asid, guest.entropy, _name(status), "ACTIVATE")
        guest.asid = asid

    def start(self, plan: Plan, asid: int) -> int:
        """Make a guest and bind it to an ASID, or leave nothing of it, and return its handle."""
        handle = self.launch_start(plan.policy, plan.entropy)
        try:
            self.activate(handle, asid)
        except CtestbedError:
            self.decommission(handle)
            raise
        return handle

    def launch_update_data(self, handle: int, address: int, length: int) -> None:
        """Encrypt in place what the host loaded at a physical address, and measure it."""
        guest = self.launching("LAUNCH_UPDATE_DATA", handle)
        if address % BLOCK or length % BLOCK or length <= 0:
            bad_address = address % BLOCK
            status = SevStatus.INVALID_ADDRESS if bad_address else SevStatus.INVALID_LEN
            raise refuse(
                "LAUNCH_UPDATE_DATA",
                _name(status),
                f"it takes whole 16-byte blocks, not {length} bytes at {address:#x}",
                code=BLOCKS,
            )
        self.require_memory(address, length, _name(SevStatus.INVALID_ADDRESS), "LAUNCH_UPDATE_DATA")
        self.controller.encrypt_in_place(
            guest.asid, address, length, lambda _, data: guest.digest.update(data)
        )

    def launch_update_vmsa(self, handle: int, address: int) -> None:
        """Encrypt and measure a register page that the host prepared (SEV-ES)."""
        guest = self.launching("LAUNCH_UPDATE_VMSA", handle)
        if not guest.policy & POLICY_ES:
            raise refuse(
                "LAUNCH_UPDATE_VMSA",
                _name(SevStatus.INVALID_GUEST_STATE),
                "the guest's policy has no ES",
                code=ORDER,
            )
        if address % PAGE_SIZE:
            raise refuse(
                "LAUNCH_UPDATE_VMSA",
                _name(SevStatus.INVALID_ADDRESS),
                f"{address:#x} is not a page",
                code=BLOCKS,
            )
        self.controller.encrypt_in_place(
            guest.asid, address, PAGE_SIZE, lambda _, data: guest.digest.update(data)
        )

    def launch_measure(self, handle: int) -> bytes:
        """Close the measurement and return it: 32 bytes."""
        guest = self.launching("LAUNCH_MEASURE", handle)
        guest.measurement = self.close_digest(guest.digest)
        guest.state = GuestState.MEASURED
        return guest.measurement

    def launch_finish(self, handle: int) -> None:
        """Let the guest run."""
        self.context("LAUNCH_FINISH", handle, GuestState.MEASURED).state = GuestState.RUNNING

    def vmrun(self, handle: int) -> Context:
        """Enter a guest: it must have been finished."""
        return self.context("VMRUN", handle, GuestState.RUNNING)

    def dbg_decrypt(self, handle: int, address: int, length: int) -> bytes:
        """Decrypt guest memory for the host.

        Raises:
            PolicyRefusedError: the guest's policy has NODBG.
        """
        guest = self.context("DBG_DECRYPT", handle, GuestState.RUNNING)
        if guest.policy & POLICY_NODBG:
            raise refuse_policy(
                "DBG_DECRYPT", _name(SevStatus.POLICY_FAILURE), "the guest's policy has NODBG"
            )
        return self.controller.load_private(guest.asid, address, length).require()

    def send_start(self, handle: int) -> None:
        """Begin to migrate a guest: only the policy is checked, migration is not emulated."""
        guest = self.context("SEND_START", handle, GuestState.RUNNING)
        if guest.policy & POLICY_NOSEND:
            raise refuse_policy(
                "SEND_START",
                _name(SevStatus.POLICY_FAILURE),
                "the guest's policy has NOSEND",
                "CTB-M077",
            )

    def guest_status(self, handle: int) -> tuple[GuestState, int, int]:
        """Return a guest's state, policy and ASID."""
        guest = self.context("GUEST_STATUS", handle)
        return guest.state, guest.policy, guest.asid

    def deactivate(self, handle: int) -> None:
        """Take a guest's ASID and key away."""
        guest = self.context("DEACTIVATE", handle)
        self.controller.flush()
        self.keys.erase(guest.asid)
        guest.asid = 0

    def decommission(self, handle: int) -> None:
        """Forget a guest."""
        self.context("DECOMMISSION", handle)
        del self._guests[handle]

    def context(self, command: str, handle: int, needed: GuestState | None = None) -> Context:
        """Return a guest's context, if it is in the state that a command needs."""
        guest = self._guests.get(handle)
        if guest is None:
            raise refuse(
                command,
                _name(SevStatus.INVALID_GUEST),
                f"there is no guest {handle}",
                code=ORDER,
            )
        if needed is not None and guest.state is not needed:
            raise refuse(
                command,
                _name(SevStatus.INVALID_GUEST_STATE),
                f"the guest is in {guest.state}, not {needed}",
                code=ORDER,
                hint="launch commands come as START, ACTIVATE, UPDATE, MEASURE, FINISH",
            )
        return guest

    def launching(self, command: str, handle: int) -> Context:
        """Return the context of a guest that is being launched and has its key."""
        guest = self.context(command, handle, GuestState.LAUNCHING)
        if not guest.asid:
            raise refuse(command, _name(SevStatus.INACTIVE), "the guest has no ASID", code=ORDER)
        return guest

    def handle_of(self, asid: int) -> int:
        """Return the handle of the guest that has an ASID."""
        for handle, guest in self._guests.items():
            if guest.asid == asid:
                return handle
        raise refuse(
            "GUEST_STATUS", _name(SevStatus.INVALID_GUEST), f"ASID {asid} has no guest", code=ORDER
        )

    @override
    def launch(self, plan: Plan) -> Guest:
        """Load the image, and have it encrypted and measured; register pages come after it."""
        require_image(plan, _name(SevStatus.INVALID_LEN), "LAUNCH_UPDATE_DATA")
        asid = self.choose_slot(plan, _name(SevStatus.RESOURCE_LIMIT), "ACTIVATE")
        handle = self.start(plan, asid)
        guest = self._guest(plan, asid)
        self.controller.write(HOST, plan.base, plan.image)
        self.launch_update_data(handle, plan.base, len(plan.image))
        for cpu in guest.vcpus:
            page = vmsa_page(features=0)
            self.controller.write(HOST, cpu.area, page)
            if self.es:
                self.launch_update_vmsa(handle, cpu.area)
                cpu.trust()
        guest.measurement = self.launch_measure(handle)
        self.launch_finish(handle)
        return guest

    @override
    def resume(self, plan: Plan, key: bytes, measurement: bytes) -> Guest:
        asid = plan.slot or 0
        self.keys.install(asid, key)
        context = Context(plan.policy, plan.entropy, self.new_digest(), GuestState.RUNNING, asid)
        context.measurement = measurement
        self._guests[self._next] = context
        self._next += 1
        guest = self._guest(plan, asid)
        guest.measurement = measurement
        return guest

    @override
    def destroy(self, guest: Guest) -> None:
        handle = self.handle_of(guest.slot)
        self.deactivate(handle)
        self.decommission(handle)

    @override
    def debug_read(self, guest: Guest, address: int, length: int) -> bytes:
        place = guest.memory.place(address)
        return self.dbg_decrypt(self.handle_of(guest.slot), place, length)

    def _guest(self, plan: Plan, asid: int) -> Guest:
        memory = GuestMemory(self.controller, asid, plan.base, plan.memory)
        kind = AreaKind.ENCRYPTED if self.es else AreaKind.CLEAR
        cpus = [
            VCPU(
                index,
                self.controller,
                asid,
                plan.base + plan.memory + index * PAGE_SIZE,
                kind,
                filter=EventFilter(),
            )
            for index in range(plan.vcpus)
        ]
        return Guest(plan.name, asid, plan.policy, b"", memory, cpus)


def _name(status: SevStatus) -> str:
    return status.name
