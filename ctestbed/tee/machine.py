"""An emulated host with one memory controller, and the VMs that run on it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from ctestbed.core.errors import EnvironmentLacksError, InputError
from ctestbed.crypto.sm3 import sm3
from ctestbed.evidence.csv_report import POLICY_NODBG, CSVReport
from ctestbed.tee.csv_platform import MNONCE_SIZE, AttestationRequest, CSVFirmware
from ctestbed.tee.csv_vendor import CSVChip
from ctestbed.tee.images import Image
from ctestbed.tee.memory import (
    HOST_ASID,
    PAGE_SIZE,
    PHYSICAL_LIMIT,
    GuestMemory,
    KeySlots,
    MemoryController,
)
from ctestbed.tee.platforms import Profile
from ctestbed.tee.records import RECORD_VERSION, ImageRecord, VMRecord, runs_of

FIRST_BASE: Final = 1 << 32
"""Where guest memory begins in DRAM: above what a real host keeps for itself."""


@dataclass(frozen=True, slots=True)
class VM:
    """A running VM: its record, and its memory as it sees it."""

    record: VMRecord
    memory: GuestMemory = field(repr=False)

    def frames(self) -> dict[int, bytes]:
        """Return what DRAM holds of its touched frames, by number from guest address 0."""
        return self.memory.controller.frames(self.memory.base, self.memory.size)

    def host_view(self, address: int, length: int) -> bytes:
        """Return what the host reads at a guest address."""
        return self.memory.controller.read_raw(self.memory.base + address, length)


class Machine:
    """A host: DRAM, key slots, and a secure processor where the platform has one.

    `others` are the VMs that hold its key slots and its memory already.
    """

    def __init__(
        self, profile: Profile, chip: CSVChip | None, others: Iterable[VMRecord] = ()
    ) -> None:
        """Power it on."""
        self.profile = profile
        self.chip = chip
        self._others = list(others)
        self.controller = MemoryController(keys := KeySlots(profile.memory.key_slots.value))
        self._keys = keys
        self.firmware = None if chip is None else CSVFirmware(chip, self.controller, keys)

    def launch(self, name: str, memory: int, image: Image, *, allow_debug: bool = False) -> VM:
        """Load an image at guest address 0, and have the platform measure and encrypt it.

        Raises:
            EnvironmentLacksError: no key slot or no physical memory is free.
        """
        policy = self.profile.launch.default_policy.value & ~(POLICY_NODBG if allow_debug else 0)
        base = self._free_memory(memory)
        self.controller.write_raw(base, image.padded)
        asid, key, measurement = HOST_ASID, b"", sm3(image.padded)
        if self.firmware is not None and self.chip is not None:
            asid = self._free_slot()
            self.firmware.launch_start(asid, policy, self.chip.entropy.within(name))
            self.firmware.launch_update_data(asid, base, len(image.padded))
            measurement = self.firmware.launch_measure(asid)
            self.firmware.launch_finish(asid)
            key = self._keys.key(asid)
        guest = GuestMemory(self.controller, asid, base, memory)
        record = VMRecord(
            version=RECORD_VERSION,
            name=name,
            platform=self.profile.platform,
            memory=memory,
            base=base,
            asid=asid,
            policy=policy,
            measurement=measurement.hex(),
            image=ImageRecord(
                name=image.name,
                size=len(image.content),
                sha256=sha256(image.content).hexdigest(),
            ),
            key=key.hex(),
            frames=runs_of(list(self.controller.frames(base, memory))),
        )
        self._others.append(record)
        return VM(record, guest)

    def resume(self, record: VMRecord, frames: dict[int, bytes]) -> VM:
        """Take a VM back that an earlier process launched."""
        for number, frame in frames.items():
            self.controller.write_raw(record.base + number * PAGE_SIZE, frame)
        if self.firmware is not None and self.chip is not None:
            self.firmware.resume(
                record.asid,
                record.policy,
                bytes.fromhex(record.key),
                bytes.fromhex(record.measurement),
                self.chip.entropy.within(record.name),
            )
        return VM(record, GuestMemory(self.controller, record.asid, record.base, record.memory))

    def attest(self, vm: VM, report_data: bytes) -> CSVReport:
        """Have a VM ask for a report over 64 bytes of `report_data`, with a fresh mnonce.

        Raises:
            InputError: its platform signs no evidence.
        """
        if self.firmware is None or self.chip is None:
            raise InputError(
                "CTB-M052",
                f"VM {vm.record.name!r} runs on platform {vm.record.platform!r}, which signs no"
                " evidence",
                hint="launch one with --platform csv",
            )
        entropy = self.chip.entropy.within(vm.record.name)
        mnonce = entropy.draw(f"mnonce {report_data.hex()}", MNONCE_SIZE)
        return self.firmware.attestation(vm.record.asid, AttestationRequest.of(report_data, mnonce))

    def _free_slot(self) -> int:
        taken = {record.asid for record in self._others}
        for asid in range(1, self._keys.count + 1):
            if asid not in taken:
                return asid
        raise EnvironmentLacksError(
            "CTB-M050",
            f"all {self._keys.count} key slots of the machine are taken",
            hint="stop a VM first; `ctestbed cvm list` names them",
        )

    def _free_memory(self, size: int) -> int:
        """Return the lowest gap of `size` bytes between the VMs that stand."""
        base = FIRST_BASE
        for other in sorted(self._others, key=lambda record: record.base):
            if base + size <= other.base:
                break
            base = max(base, other.base + other.memory)
        if base + size > PHYSICAL_LIMIT:
            raise EnvironmentLacksError(
                "CTB-M051",
                "the machine has no physical memory left for this VM",
                hint="stop a VM first, or give this one less memory",
            )
        return base
