"""The emulated machine of a state directory, taken up again by each command."""

from collections.abc import Collection

from ctestbed.core.errors import CtestbedError, InputError, Where
from ctestbed.core.result import Finding
from ctestbed.tee.csv_vendor import CSVChip, dump_chip, load_chip, make_chip
from ctestbed.tee.entropy import Entropy
from ctestbed.tee.machine import VM, Machine
from ctestbed.tee.mitigations import Mitigation
from ctestbed.tee.platforms import Profile, load_profile
from ctestbed.tee.records import VMRecord, load_frames, load_record
from ctestbed.tee.secret import MachineSecret, dump_secret, load_secret, make_secret
from ctestbed.tee.state import StateDirectory

_CHIP = "machines/csv.json"
_ROOT = "roots/csv/hrk.cert"
_CSV, _PLAIN = "csv", "plain"


def prepare_machine(
    state: StateDirectory,
    profile: Profile,
    seed: int | None,
    switches: Collection[Mitigation] = (),
) -> Machine:
    """Power on the machine that a new VM is launched on, making its chip the first time.

    Call it under `state.exclusive()`.

    Raises:
        InputError: the chip's file is damaged, or was made from another seed.
    """
    records, _ = load_records(state)
    others = [record for record in records if _shares(record, profile)]
    if profile.platform == _PLAIN:
        return Machine(profile, None, others, switches=switches)
    if profile.platform != _CSV:
        path = _secret_path(profile)
        secret = _load_secret(state, path) or _make_secret(state, profile, seed)
        _require_seed(state, profile, secret.entropy, seed)
        return Machine(
            profile, None, others, entropy=secret.entropy, secret=secret.value, switches=switches
        )
    chip = _load_chip(state) or _make_chip(state, seed)
    _require_seed(state, profile, chip.entropy, seed)
    if state.read(_ROOT) != chip.root_certificate:
        state.write(_ROOT, chip.root_certificate)
    return Machine(profile, chip, others, switches=switches)


def resume_vm(state: StateDirectory, name: str) -> tuple[Machine, VM]:
    """Power on the machine of a VM, with that VM on it. Call it under `state.shared()`.

    Raises:
        InputError: no such VM, or its files or its machine's are damaged.
    """
    record = load_record(state, name)
    profile = load_profile(record.platform)
    chip, secret = None, None
    if profile.platform == _CSV:
        chip = _load_chip(state)
        if chip is None:
            raise _damaged(state, _CHIP, "it is absent, though VMs need it")
    elif profile.platform != _PLAIN:
        secret = _load_secret(state, _secret_path(profile))
        if secret is None:
            reason = "it is absent, though VMs need it"
            raise _damaged(state, _secret_path(profile), reason)
    machine = Machine(
        profile,
        chip,
        entropy=None if secret is None else secret.entropy,
        secret=None if secret is None else secret.value,
        switches=record.switches,
    )
    return machine, machine.resume(record, load_frames(state, record))


def load_records(state: StateDirectory) -> tuple[list[VMRecord], list[Finding]]:
    """Read all records; one that cannot be read becomes a warning, and hides no other."""
    records, findings = [], []
    for name in state.vm_names():
        try:
            records.append(load_record(state, name))
        except CtestbedError as error:
            findings.append(Finding(error.code, "warning", error.message, error.where, error.hint))
    return records, findings


def _shares(record: VMRecord, profile: Profile) -> bool:
    """Whether a VM runs on the machine of this platform; each platform has its own."""
    return record.platform == profile.platform


def _load_chip(state: StateDirectory) -> CSVChip | None:
    content = state.read(_CHIP)
    if content is None:
        return None
    try:
        return load_chip(content)
    except InputError as error:
        raise _damaged(state, _CHIP, error.message) from None


def _secret_path(profile: Profile) -> str:
    return f"machines/{profile.platform}.json"


def _load_secret(state: StateDirectory, path: str) -> MachineSecret | None:
    content = state.read(path)
    if content is None:
        return None
    try:
        return load_secret(content)
    except InputError as error:
        raise _damaged(state, path, error.message) from None


def _make_secret(state: StateDirectory, profile: Profile, seed: int | None) -> MachineSecret:
    secret = make_secret(Entropy(seed), profile.platform)
    state.write(_secret_path(profile), dump_secret(secret))
    return secret


def _make_chip(state: StateDirectory, seed: int | None) -> CSVChip:
    chip = make_chip(Entropy(seed))
    state.write(_CHIP, dump_chip(chip))
    return chip


def _require_seed(
    state: StateDirectory, profile: Profile, entropy: Entropy, seed: int | None
) -> None:
    if seed is not None and seed != entropy.seed:
        made = f"from seed {entropy.seed}" if entropy.seeded else "from fresh keys"
        raise InputError(
            "CTB-M061",
            f"the emulated {profile.title} machine of this state directory was made {made},"
            f" not from {seed}",
            where=Where(file=str(state.path)),
            hint="leave --seed out, or use another --state-dir",
        )


def _damaged(state: StateDirectory, name: str, reason: str) -> InputError:
    path = str(state.path / name)
    return InputError(
        "CTB-M060",
        f"the emulated machine {path!r} cannot be used: {reason}",
        where=Where(file=path),
        hint="stop its VMs and remove this file: the next launch makes a new machine and root",
    )
