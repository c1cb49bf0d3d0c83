"""`cvm launch|list|show|stop`: VMs that live in a state directory."""

from collections import Counter
from dataclasses import dataclass
from math import log2
from pathlib import Path
from typing import Final

from typing_extensions import TypedDict

from ctestbed.core.errors import InputError, Where
from ctestbed.core.result import Finding, InputFile, Result
from ctestbed.tee.controller.replies import PAGE_SIZE, ReplyKind
from ctestbed.tee.host import load_records, prepare_machine, resume_vm
from ctestbed.tee.images import load_image, require_memory, require_vcpus
from ctestbed.tee.machine import VM, Machine
from ctestbed.tee.mitigations import Mitigation, parse_mitigations
from ctestbed.tee.platforms import Profile, load_profile
from ctestbed.tee.policies import policy_flags, with_debug
from ctestbed.tee.records import (
    DAMAGED,
    VMRecord,
    load_record,
    remove_vm,
    require_vm_name,
    save_vm,
)
from ctestbed.tee.state import StateDirectory

SAMPLE_BYTES: Final = 64
DEFAULT_MEMORY: Final = 64 * 2**20


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """Launch a VM. `image` is a file, `-`, or None for the built-in one; `memory` is bytes.

    `switches` are mitigations of the platform's profile. `seed` makes the emulated machine of
    an empty state directory repeatable.
    """

    state_dir: Path
    name: str
    platform: str = "csv"
    memory: int = DEFAULT_MEMORY
    image: str | None = None
    allow_debug: bool = False
    vcpus: int = 1
    switches: tuple[str, ...] = ()
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class ListRequest:
    """List the VMs of a state directory."""

    state_dir: Path


@dataclass(frozen=True, slots=True)
class ShowRequest:
    """Show one VM."""

    state_dir: Path
    name: str


@dataclass(frozen=True, slots=True)
class StopRequest:
    """Stop one VM."""

    state_dir: Path
    name: str


class ImageData(TypedDict):
    """The image a VM was launched from; size in bytes."""

    name: str
    size: int
    sha256: str


class VMData(TypedDict):
    """What is fixed at launch. `memory` is bytes; `asid` is the key slot, 0 for none.

    `commands` is the platform's own launch sequence, `switches` the mitigations that are on.
    """

    name: str
    platform: str
    memory: int
    asid: int
    policy: int
    policy_flags: list[str]
    measurement: str
    image: ImageData
    vcpus: int
    switches: list[str]
    commands: list[str]


class ListData(TypedDict):
    """The VMs whose records can be read, by name."""

    vms: list[VMData]


class ViewData(TypedDict):
    """The same bytes of guest page 0 as two parties see them; entropy in bits per byte.

    `host_answer` says what the host got: data, ciphertext, a fixed pattern or the fault, in which
    case it saw no byte.
    """

    address: int
    length: int
    host_answer: str
    host: str
    guest: str
    host_entropy: float
    guest_entropy: float


class ShowData(VMData):
    """A VM, where it lies in DRAM, how much of it is touched, and who sees what."""

    title: str
    base: int
    touched: int
    cipher: str
    host_read: str
    integrity: str
    ownership: str
    save_area: str
    view: ViewData
    root_fingerprint: str | None
    seeded: bool


class StopData(TypedDict):
    """Which VM was stopped."""

    name: str


def run_launch(request: LaunchRequest) -> Result:
    """Load the image, have the platform measure and encrypt it, and keep the VM.

    Raises:
        InputError: a bad name, memory or image, or a name already taken.
        EnvironmentLacksError: the platform is not built, no key slot is free, or the state
            directory cannot be written; nothing is left of the VM then.
    """
    require_vm_name(request.name)
    profile = load_profile(request.platform)
    switches = _switches(request, profile)
    if request.allow_debug:
        with_debug(profile.platform, profile.launch.default_policy.value)
    require_memory(request.memory, PAGE_SIZE)
    require_vcpus(request.vcpus)
    image = load_image(request.image, request.memory)
    state = StateDirectory(request.state_dir)
    with state.exclusive():
        if request.name in state.vm_names():
            raise InputError(
                "CTB-M026",
                f"VM {request.name!r} exists already",
                where=Where(file=str(state.path)),
                hint=f"stop it first (`ctestbed cvm stop {request.name}`), or use another name",
            )
        machine = prepare_machine(state, profile, request.seed, switches)
        vm = machine.launch(
            request.name,
            request.memory,
            image,
            allow_debug=request.allow_debug,
            vcpus=request.vcpus,
        )
        save_vm(state, vm.record, vm.frame_data())
    inputs = () if request.image is None else (InputFile(image.name, image.sha256),)
    run = {"state_dir": str(state.path)}
    if machine.chip is not None:
        run |= {"root_fingerprint": machine.chip.root_fingerprint}
    return Result(
        "ctestbed.cvm.launch/1",
        _vm_data(vm.record),
        findings=_seeded_notes(machine, request),
        inputs=inputs,
        run=run,
    )


def _switches(request: LaunchRequest, profile: Profile) -> list[Mitigation]:
    switches = parse_mitigations(
        list(request.switches), [str(name) for name in profile.switches], profile.platform
    )
    if Mitigation.FRESHNESS in switches:
        raise InputError(
            "CTB-M079",
            "a VM with freshness cannot be kept between commands: its counters are in no file",
            hint="freshness is for experiments that run in one process",
        )
    return switches


def _seeded_notes(machine: Machine, request: LaunchRequest) -> tuple[Finding, ...]:
    """Say so where a VM's keys can be derived again although nobody asked for a seed."""
    if not machine.entropy.seeded or request.seed is not None:
        return ()
    message = (
        "this state directory's emulated machine was made from a seed, so every key of the VM "
        "can be derived again"
    )
    hint = "use another --state-dir for a machine with fresh keys"
    return (Finding("CTB-M027", "note", message, Where(file=str(request.state_dir)), hint),)


def run_list(request: ListRequest) -> Result:
    """List the VMs. A record that cannot be read is a warning, and hides no other VM."""
    state = StateDirectory(request.state_dir)
    with state.shared():
        records, findings = load_records(state)
    data: ListData = {"vms": [_vm_data(record) for record in records]}
    return Result("ctestbed.cvm.list/1", data, tuple(findings), run={"state_dir": str(state.path)})


def run_show(request: ShowRequest) -> Result:
    """Show a VM: what was fixed at launch, and what its host and itself see of one page.

    Raises:
        InputError: no such VM, or its state is damaged.
    """
    state = StateDirectory(request.state_dir)
    with state.shared():
        machine, vm = resume_vm(state, request.name)
    memory, chip = machine.profile.memory, machine.chip
    data: ShowData = {
        **_vm_data(vm.record),
        "title": machine.profile.title,
        "base": vm.record.base,
        "touched": vm.record.touched,
        "cipher": memory.engine,
        "host_read": memory.host_read.value,
        "integrity": memory.integrity.value,
        "ownership": memory.ownership.value,
        "save_area": machine.profile.guest.save_area.value,
        "view": _view(vm),
        "root_fingerprint": None if chip is None else chip.root_fingerprint,
        "seeded": machine.entropy.seeded,
    }
    return Result("ctestbed.cvm.show/1", data, run={"state_dir": str(state.path)})


def run_stop(request: StopRequest) -> Result:
    """Destroy a VM: its record and memory key, then its memory, readable or not.

    Raises:
        InputError: no such VM, or one of a newer ctestbed, whose files this one does not know.
    """
    state = StateDirectory(request.state_dir)
    findings: tuple[Finding, ...] = ()
    with state.exclusive():
        try:
            load_record(state, request.name)
        except InputError as error:
            if error.code != DAMAGED:
                raise
            findings = (Finding(error.code, "note", error.message, error.where),)
        remove_vm(state, request.name)
    data: StopData = {"name": request.name}
    return Result("ctestbed.cvm.stop/1", data, findings, run={"state_dir": str(state.path)})


def _vm_data(record: VMRecord) -> VMData:
    return {
        "name": record.name,
        "platform": record.platform,
        "memory": record.memory,
        "asid": record.asid,
        "policy": record.policy,
        "policy_flags": policy_flags(record.platform, record.policy),
        "measurement": record.measurement,
        "image": {
            "name": record.image.name,
            "size": record.image.size,
            "sha256": record.image.sha256,
        },
        "vcpus": record.vcpus,
        "switches": [str(switch) for switch in record.switches],
        "commands": load_profile(record.platform).launch.commands.value,
    }


def _view(vm: VM) -> ViewData:
    """Put the two views of guest page 0 side by side: its start in hex, the whole's entropy."""
    length = min(PAGE_SIZE, vm.record.image.size)
    reply, guest = vm.host_reply(0, length), vm.memory.read(0, length)
    host = reply.data
    shared = vm.record.asid == 0 and reply.kind is ReplyKind.DATA
    return {
        "address": 0,
        "length": length,
        "host_answer": str(reply.fault or ("plaintext" if shared else reply.kind)),
        "host": host[:SAMPLE_BYTES].hex(),
        "guest": guest[:SAMPLE_BYTES].hex(),
        "host_entropy": entropy_of(host),
        "guest_entropy": entropy_of(guest),
    }


def entropy_of(data: bytes) -> float:
    """Return the Shannon entropy of the bytes' distribution, in bits per byte (0 to 8)."""
    if not data:
        return 0.0
    shares = [count / len(data) for count in Counter(data).values()]
    return round(sum(share * log2(1 / share) for share in shares), 3)
