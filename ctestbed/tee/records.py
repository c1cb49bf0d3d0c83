"""A VM between commands: its record, and its memory as DRAM held it.

`NAME.json` is one `VMRecord`; `NAME.dram` holds the touched 4 KiB frames, in the order of the
record's `frames`. The record is written last and removed first, so a VM exists exactly when
its record does. Records of version 1 (CSV and plain VMs without save areas) are read as they are.
"""

import json
import re
from collections.abc import Iterable
from typing import Annotated, Final, NoReturn

from pydantic import Field, ValidationError
from typing_extensions import Buffer

from ctestbed.core.errors import InputError, Where
from ctestbed.core.names import did_you_mean
from ctestbed.core.spec import SpecModel
from ctestbed.tee.controller.dram import PHYSICAL_LIMIT
from ctestbed.tee.controller.replies import PAGE_SIZE
from ctestbed.tee.images import MAX_VCPUS
from ctestbed.tee.mitigations import Mitigation
from ctestbed.tee.names import PLATFORMS
from ctestbed.tee.platforms import digest_size, engine_key_size, load_profile
from ctestbed.tee.state import StateDirectory

RECORD_VERSION: Final = 2
DAMAGED: Final = "CTB-M022"
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?")

_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Address = Annotated[int, Field(ge=0, le=PHYSICAL_LIMIT, multiple_of=PAGE_SIZE)]


class ImageRecord(SpecModel):
    """The image a VM was launched from: its name, its size in bytes, its SHA-256."""

    name: str
    size: Annotated[int, Field(gt=0)]
    sha256: _Digest


class VMRecord(SpecModel):
    """The schema of `vms/NAME.json`, versions 1 and 2. Sizes and addresses are bytes.

    `base` is where guest address 0 lies in DRAM; `asid` is the key slot, 0 for none; `key` is
    the memory key in hex; `frames` are runs of touched frames: first number, how many. Version 2
    adds what follows: how many virtual CPUs, how many frames of save areas lie after its
    memory, runs of `private` frames, and switches of the machine.
    """

    version: Annotated[int, Field(ge=1, le=2)]
    name: Annotated[str, Field(pattern=f"^{_NAME.pattern}$")]
    platform: Annotated[str, Field(pattern=f"^({'|'.join(PLATFORMS)})$")]
    memory: _Address
    base: _Address
    asid: Annotated[int, Field(ge=0)]
    policy: Annotated[int, Field(ge=0, lt=2**32)]
    measurement: Annotated[str, Field(pattern=r"^([0-9a-f]{64}|[0-9a-f]{96})$")]
    image: ImageRecord
    key: Annotated[str, Field(pattern=r"^([0-9a-f]{32}){0,4}$", repr=False)]
    frames: list[tuple[int, int]]
    vcpus: Annotated[int, Field(ge=0, le=MAX_VCPUS)] = 0
    save_pages: Annotated[int, Field(ge=0, le=2 * MAX_VCPUS)] = 0
    private: Annotated[list[tuple[int, int]], Field(default_factory=list)]
    switches: Annotated[list[Mitigation], Field(default_factory=list)]

    @property
    def extent(self) -> int:
        """How much of DRAM it takes, with its save areas."""
        return self.memory + self.save_pages * PAGE_SIZE

    @property
    def touched(self) -> int:
        """How much of the guest's own memory was touched."""
        last = self.memory // PAGE_SIZE
        return PAGE_SIZE * sum(max(0, min(count, last - first)) for first, count in self.frames)


def require_vm_name(name: str) -> str:
    """Return `name` if it may name a VM: it becomes a file name, so little is allowed.

    Raises:
        InputError: it may not.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            "CTB-M020",
            f"{name[:80]!r} cannot name a VM",
            hint="use 1 to 63 of a-z, 0-9, `-` and `_`, with a letter or digit at both ends",
        )
    return name


def load_record(state: StateDirectory, name: str) -> VMRecord:
    """Read the record of a VM.

    Raises:
        InputError: no such VM, a damaged record, or one of a version this ctestbed cannot read.
    """
    require_vm_name(name)
    content = state.read(f"vms/{name}.json")
    if content is None:
        known = state.vm_names()
        raise InputError(
            "CTB-M021",
            f"there is no VM {name!r}",
            where=Where(file=str(state.path)),
            hint=did_you_mean(name, known) if known else "launch one with `ctestbed cvm launch`",
        )
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        _refuse_damaged(state, name, "json", "it is not JSON")
    version = value.get("version") if isinstance(value, dict) else None
    if isinstance(version, int) and version > RECORD_VERSION:
        raise InputError(
            "CTB-M023",
            f"the record of VM {name!r} has version {version}, and this ctestbed reads 1 to"
            f" {RECORD_VERSION}",
            where=Where(file=_path(state, name, "json")),
            hint="use the ctestbed that launched it, or another --state-dir",
        )
    try:
        record = VMRecord.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"])) or "the record"
        _refuse_damaged(state, name, "json", f"{field}: {first['msg']}")
    if record.name != name:
        _refuse_damaged(state, name, "json", f"it is the record of {record.name!r}")
    _require_consistent(state, record)
    return record


def _require_consistent(state: StateDirectory, record: VMRecord) -> None:
    for runs, end in ((record.frames, record.extent), (record.private, record.memory)):
        for first, count in runs:
            if first < 0 or count < 1 or (first + count) * PAGE_SIZE > end:
                reason = "its frames lie outside its memory"
                _refuse_damaged(state, record.name, "json", reason)
    profile = load_profile(record.platform)
    size = engine_key_size(profile)
    if len(record.measurement) != 2 * digest_size(profile):
        _refuse_damaged(state, record.name, "json", "its measurement is not one of its platform")
    if len(record.key) != 2 * size or bool(record.asid) != bool(profile.memory.key_slots.value):
        _refuse_damaged(state, record.name, "json", "its key is not one of its platform")
    if record.asid > profile.memory.key_slots.value:
        _refuse_damaged(state, record.name, "json", "its key slot is not one of its platform")
    if record.save_pages < record.vcpus or not set(record.switches) <= set(profile.switches):
        _refuse_damaged(state, record.name, "json", "its parts are not those of its platform")


def load_frames(state: StateDirectory, record: VMRecord) -> bytes:
    """Read a VM's touched frames, one after the other, in the order of the record's runs."""
    content = state.read(f"vms/{record.name}.dram")
    expected = PAGE_SIZE * sum(count for _, count in record.frames)
    if content is None or len(content) != expected:
        held = "absent" if content is None else f"{len(content)} bytes long"
        _refuse_damaged(state, record.name, "dram", f"it is {held}, not {expected} bytes")
    return content


def save_vm(state: StateDirectory, record: VMRecord, frames: Iterable[Buffer]) -> None:
    """Write memory, then record; if the record cannot be written, no VM and no memory is left."""
    state.write(f"vms/{record.name}.dram", frames)
    try:
        state.write(f"vms/{record.name}.json", record.model_dump_json(indent=1).encode() + b"\n")
    except BaseException:
        state.remove(f"vms/{record.name}.dram")
        raise


def remove_vm(state: StateDirectory, name: str) -> None:
    """Remove record and key first, then memory, which nothing can decrypt any more."""
    state.remove(f"vms/{name}.json")
    state.remove(f"vms/{name}.dram")


def runs_of(numbers: list[int]) -> list[tuple[int, int]]:
    """Return sorted frame numbers as runs: first number, how many."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == sum(runs[-1]):
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((number, 1))
    return runs


def _path(state: StateDirectory, name: str, suffix: str) -> str:
    return str(state.path / "vms" / f"{name}.{suffix}")


def _refuse_damaged(state: StateDirectory, name: str, suffix: str, reason: str) -> NoReturn:
    raise InputError(
        DAMAGED,
        f"the state of VM {name!r} is damaged: {_path(state, name, suffix)!r}: {reason}",
        where=Where(file=_path(state, name, suffix)),
        hint=f"`ctestbed cvm stop {name}` removes what is left of it",
    )
