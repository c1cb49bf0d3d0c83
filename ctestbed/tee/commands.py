"""`cvm launch|list|show|stop`: VMs that live in a state directory."""

from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from math import log2
from pathlib import Path
from typing import Final

from typing_extensions import TypedDict

from ctestbed.core.errors import CtestbedError, InputError, Where
from ctestbed.core.result import Finding, InputFile, Result
from ctestbed.tee.csv_platform import describe_policy
from ctestbed.tee.images import DEMO_NAME, load_image, require_memory
from ctestbed.tee.machine import Machine, open_machine
from ctestbed.tee.memory import PAGE_SIZE
from ctestbed.tee.platforms import load_profile
from ctestbed.tee.records import (
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

    `seed` makes the emulated machine of an empty state directory repeatable.
    """

    state_dir: Path
    name: str
    platform: str = "csv"
    memory: int = DEFAULT_MEMORY
    image: str | None = None
    allow_debug: bool = False
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
    """What is fixed at launch. `memory` is bytes; `asid` is the key slot, 0 for none."""

    name: str
    platform: str
    memory: int
    asid: int
    policy: int
    policy_flags: list[str]
    measurement: str
    image: ImageData


class ListData(TypedDict):
    """The VMs whose records can be read, by name."""

    vms: list[VMData]


class ViewData(TypedDict):
    """The same bytes of guest page 0 as two parties see them; entropy in bits per byte."""

    address: int
    length: int
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
    require_memory(request.memory, PAGE_SIZE)
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
        machine = open_machine(state, request.platform, request.seed)
        vm = machine.launch(
            request.name, request.memory, image, profile, allow_debug=request.allow_debug
        )
        save_vm(state, vm.record, vm.frames())
    inputs = (
        () if request.image is None else (InputFile(image.name, sha256(image.content).hexdigest()),)
    )
    return Result(
        "ctestbed.cvm.launch/1",
        _vm_data(vm.record),
        inputs=inputs,
        run={"state_dir": str(state.path), **machine.identity()},
    )
