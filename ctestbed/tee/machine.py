"""An emulated host with one memory controller, and the VMs that run on it."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from secrets import token_bytes
from typing import Final

from ctestbed.core.errors import EnvironmentLacksError, InputError
from ctestbed.evidence.csv_report import CSVReport
from ctestbed.tee.assemble import build_controller, build_platform
from ctestbed.tee.controller.dram import PHYSICAL_LIMIT
from ctestbed.tee.controller.guest import GuestMemory
from ctestbed.tee.controller.replies import HOST, PAGE_SIZE, Reply
from ctestbed.tee.csv_platform import MNONCE_SIZE, AttestationRequest, CSVFirmware
from ctestbed.tee.csv_vendor import CSVChip
from ctestbed.tee.entropy import Entropy
from ctestbed.tee.firmware.base import Guest, Plan
from ctestbed.tee.images import Image
from ctestbed.tee.mitigations import Mitigation
from ctestbed.tee.platforms import Profile
from ctestbed.tee.policies import with_debug
from ctestbed.tee.records import RECORD_VERSION, ImageRecord, VMRecord, runs_of
from ctestbed.tee.tcb import FirmwareVersion

FIRST_BASE: Final = 1 << 32
"""Where guest memory begins in DRAM: above what a real host keeps for itself."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a VM holds of a machine: key slot and memory. Sizes and addresses are bytes."""

    name: str
    slot: int
    base: int
    extent: int


@dataclass(frozen=True)
class VM:
    """A running VM: what its platform made of it, and its record, made when it is asked for.

    A record holds the digest of the image, which is no part of a launch.
    """

    guest: Guest = field(repr=False)
    place: Place
    make_record: Callable[[], VMRecord] = field(repr=False)

    @cached_property
    def record(self) -> VMRecord:
        """What a state directory keeps of it."""
        return self.make_record()

    @property
    def memory(self) -> GuestMemory:
        """Its memory as it sees it."""
        return self.guest.memory

    def frames(self) -> list[int]:
        """Return the numbers of its touched frames, from guest address 0; save areas follow."""
        return self.memory.controller.dram.touched(self.place.base, self.place.extent)

    def frame_data(self) -> Iterator[memoryview]:
        """Yield what DRAM holds of the touched frames, in order, in runs."""
        dram = self.memory.controller.dram
        for first, count in self.record.frames:
            place = self.record.base + first * PAGE_SIZE
            for cells in dram.pages(place, count * PAGE_SIZE):
                yield cells.data.data

    def host_reply(self, address: int, length: int) -> Reply:
        """Return what the host gets when it reads at a guest address."""
        return self.memory.controller.read(HOST, self.memory.place(address), length)

    def host_view(self, address: int, length: int) -> bytes:
        """Return the bytes that the host reads at a guest address; none where it faults."""
        return self.host_reply(address, length).data


class Machine:
    """A host: DRAM, key slots, and the trusted part of its platform.

    `chip` is what signs reports of CSV; `others` are the VMs that hold its key slots and memory
    already; `secret` (32 bytes) is the machine's own, fresh if left out; `switches` are
    mitigations; `cache` is how many dirty lines the write-back cache holds.
    """

    def __init__(
        self,
        profile: Profile,
        chip: CSVChip | None,
        others: Iterable[VMRecord] = (),
        *,
        entropy: Entropy | None = None,
        secret: bytes | None = None,
        switches: Collection[Mitigation] = (),
        cache: int = 0,
    ) -> None:
        """Power it on."""
        self.profile = profile
        self.chip = chip
        self.switches = tuple(sorted(switches))
        self._others = [_place(record) for record in others]
        self.entropy = entropy or (chip.entropy if chip is not None else Entropy())
        own = secret or token_bytes(32)
        self.controller = build_controller(profile, own, switches, cache=cache)
        self.version = FirmwareVersion(1, own, versioned_keys=profile.guest.versioned_keys.value)
        self.platform = (
            CSVFirmware(chip, self.controller)
            if chip is not None and profile.platform == "csv"
            else build_platform(profile, self.controller, switches)
        )

    def launch(
        self,
        name: str,
        memory: int,
        image: Image,
        *,
        allow_debug: bool = False,
        vcpus: int = 1,
        slot: int | None = None,
    ) -> VM:
        """Load an image at guest address 0, and have the platform measure and protect it.

        Raises:
            EnvironmentLacksError: no key slot or no physical memory is free.
            InputError: what the platform refuses, with the status that it returns.
        """
        policy = self.profile.launch.default_policy.value
        if allow_debug:
            policy = with_debug(self.profile.platform, policy)
        pages = self.platform.save_pages + vcpus
        plan = Plan(
            name=name,
            memory=memory,
            base=self._free_memory(memory + pages * PAGE_SIZE),
            policy=policy,
            image=image.padded,
            entropy=self.entropy.within(name),
            vcpus=vcpus,
            slot=slot or self._free_slot(),
        )
        guest = self.platform.launch(plan)
        place = Place(name, guest.slot, plan.base, memory + pages * PAGE_SIZE)
        self._others.append(place)
        key = self.controller.parts.keys.key(guest.slot).hex() if guest.slot else ""
        frames = runs_of(self.controller.dram.touched(place.base, place.extent))
        return VM(guest, place, lambda: self._record(plan, guest, image, key, frames))

    def _record(
        self, plan: Plan, guest: Guest, image: Image, key: str, frames: list[tuple[int, int]]
    ) -> VMRecord:
        return VMRecord(
            version=RECORD_VERSION,
            name=plan.name,
            platform=self.profile.platform,
            memory=plan.memory,
            base=plan.base,
            asid=guest.slot,
            policy=plan.policy,
            measurement=guest.measurement.hex(),
            image=ImageRecord(name=image.name, size=len(image.content), sha256=image.sha256),
            key=key,
            frames=frames,
            vcpus=plan.vcpus,
            save_pages=self.platform.save_pages + plan.vcpus,
            private=[
                (first // PAGE_SIZE, size // PAGE_SIZE)
                for first, size in guest.memory.accepted.spans(0, plan.pages_size, state=1)
            ],
            switches=list(self.switches),
        )

    def resume(self, record: VMRecord, frames: bytes) -> VM:
        """Take a VM back that an earlier process launched; `frames` are its touched frames."""
        done, view = 0, memoryview(frames)
        for first, count in record.frames:
            size = count * PAGE_SIZE
            self.controller.dram.write(record.base + first * PAGE_SIZE, view[done : done + size])
            done += size
        plan = Plan(
            name=record.name,
            memory=record.memory,
            base=record.base,
            policy=record.policy,
            image=b"",
            entropy=self.entropy.within(record.name),
            vcpus=record.vcpus,
            slot=record.asid,
        )
        key, measurement = bytes.fromhex(record.key), bytes.fromhex(record.measurement)
        guest = self.platform.resume(plan, key, measurement)
        if record.asid:
            for first, count in record.frames:
                place = record.base + first * PAGE_SIZE
                self.controller.reseal(record.asid, place, count * PAGE_SIZE)
        for first, count in record.private:
            self.platform.restore_pages(guest, first * PAGE_SIZE, count * PAGE_SIZE)
        for cpu in guest.vcpus:
            cpu.trust()
        taken = _place(record)
        self._others.append(taken)
        return VM(guest, taken, lambda: record)

    def stop(self, vm: VM) -> None:
        """Tear a VM down: its key, its pages, its memory."""
        self.platform.destroy(vm.guest)
        self.controller.forget(vm.place.base, vm.place.extent)
        self._others = [other for other in self._others if other.name != vm.place.name]

    def attest(self, vm: VM, report_data: bytes) -> CSVReport:
        """Have a VM ask for a report over 64 bytes of `report_data`, with a fresh mnonce.

        Raises:
            InputError: its platform signs no evidence, or none that this version makes.
        """
        if not isinstance(self.platform, CSVFirmware):
            plain = self.profile.platform == "plain"
            raise InputError(
                "CTB-M052",
                f"VM {vm.record.name!r} runs on platform {vm.record.platform!r}, which signs no"
                " evidence" + ("" if plain else " in this version: it makes that of CSV alone"),
                hint="launch one with --platform csv",
            )
        entropy = self.entropy.within(vm.record.name)
        mnonce = entropy.draw(f"mnonce {report_data.hex()}", MNONCE_SIZE)
        handle = self.platform.handle_of(vm.record.asid)
        return self.platform.attestation(handle, AttestationRequest.of(report_data, mnonce))

    def _free_slot(self) -> int | None:
        keys = self.controller.parts.keys
        if not keys.count:
            return None
        taken = {other.slot for other in self._others} | set(keys.taken)
        command = self.profile.launch.commands.value[0]
        return self.platform.free_slot(taken, "RESOURCE_LIMIT", command)

    def _free_memory(self, size: int) -> int:
        """Return the lowest gap of `size` bytes between the VMs that stand."""
        base = FIRST_BASE
        for other in sorted(self._others, key=lambda place: place.base):
            if base + size <= other.base:
                break
            base = max(base, other.base + other.extent)
        if base + size > PHYSICAL_LIMIT:
            raise EnvironmentLacksError(
                "CTB-M051",
                "the machine has no physical memory left for this VM",
                hint="stop a VM first, or give this one less memory",
            )
        return base


def _place(record: VMRecord) -> Place:
    return Place(record.name, record.asid, record.base, record.extent)
