"""The state directory under concurrency, kills, damage, full disks and missing permissions."""

import errno
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.core.errors import EnvironmentLacksError, ExitCode, InputError
from ctestbed.tee.commands import (
    LaunchRequest,
    ListRequest,
    ShowRequest,
    StopRequest,
    run_launch,
    run_list,
    run_show,
    run_stop,
)
from ctestbed.tee.records import require_vm_name, runs_of
from ctestbed.tee.state import StateDirectory, resolve_state_path

LAUNCH = """
import sys
from pathlib import Path
from ctestbed.core.errors import CtestbedError
from ctestbed.tee.commands import LaunchRequest, run_launch
for name in sys.argv[2:]:
    try:
        run_launch(LaunchRequest(Path(sys.argv[1]), name))
        print(name)
    except CtestbedError as error:
        print(error.code)
"""


def launch(state: Path, name: str = "a", **options: object) -> None:
    run_launch(LaunchRequest(state, name, **options))  # type: ignore[arg-type]


def names(state: Path) -> list[str]:
    return [vm["name"] for vm in run_list(ListRequest(state)).data["vms"]]


def tree(state: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(state)): path.read_bytes()
        for path in state.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(
    ("option", "environ", "expected"),
    [
        ("/flag", {"CTESTBED_STATE_DIR": "/env", "HOME": "/h"}, "/flag"),
        (None, {"CTESTBED_STATE_DIR": "/env", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/env"),
        (None, {"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/ctestbed"),
        (None, {"XDG_STATE_HOME": "relative", "HOME": "/h"}, "/h/.local/state/ctestbed"),
        (None, {"CTESTBED_STATE_DIR": "", "HOME": "/h"}, "/h/.local/state/ctestbed"),
    ],
)
def test_the_directory_is_chosen_in_order(
    option: str | None, environ: dict[str, str], expected: str
) -> None:
    assert resolve_state_path(option, environ) == Path(expected)


def test_no_directory_at_all_is_said() -> None:
    with pytest.raises(EnvironmentLacksError, match="no state directory"):
        resolve_state_path(None, {})


def test_everything_is_for_this_user_only(tmp_path: Path) -> None:
    state = tmp_path / "deep" / "state"
    before = os.umask(0)
    try:
        launch(state)
    finally:
        os.umask(before)
    for path in (state, *state.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_reading_makes_nothing(tmp_path: Path) -> None:
    state = tmp_path / "none"
    assert names(state) == []
    with pytest.raises(InputError, match="there is no VM 'a'"):
        run_show(ShowRequest(state, "a"))
    assert not state.exists()
    assert StateDirectory(state).emulated_root_certificates() == {}


def test_the_root_certificate_lies_where_verifiers_look(tmp_path: Path) -> None:
    launch(tmp_path)
    root = (tmp_path / "roots" / "csv" / "hrk.cert").read_bytes()
    assert StateDirectory(tmp_path).emulated_root_certificates() == {"csv": root}
    (tmp_path / "roots" / "csv" / "hrk.cert").unlink()
    launch(tmp_path, "b")
    assert StateDirectory(tmp_path).emulated_root_certificates() == {"csv": root}


def test_processes_that_run_at_once_lose_nothing(tmp_path: Path) -> None:
    wanted = [[f"p{number}-{index}" for index in range(2)] + ["same"] for number in range(4)]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(tmp_path), *mine], stdout=subprocess.PIPE, text=True
        )
        for mine in wanted
    ]
    printed = [word for process in running for word in process.communicate()[0].split()]
    assert all(process.returncode == 0 for process in running)
    assert sorted(names(tmp_path)) == sorted({name for mine in wanted for name in mine})
    assert printed.count("same") == 1
    assert printed.count("CTB-M026") == 3
    vms = run_list(ListRequest(tmp_path)).data["vms"]
    assert len({vm["asid"] for vm in vms}) == len(vms) == 9
    roots = {run_show(ShowRequest(tmp_path, vm["name"])).data["root_fingerprint"] for vm in vms}
    assert len(roots) == 1


HOLD = """
import sys, time
from pathlib import Path
from ctestbed.tee.state import StateDirectory
with StateDirectory(Path(sys.argv[1])).exclusive():
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_held_lock_is_waited_for_with_a_bound_and_freed_by_a_kill(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        waiting = StateDirectory(tmp_path, lock_seconds=0.1)
        start = time.monotonic()
        for attempt in (waiting.exclusive, waiting.shared):
            with pytest.raises(EnvironmentLacksError, match="locked") as caught, attempt():
                pass
            assert caught.value.code == "CTB-M012"
        assert time.monotonic() - start < 10
        holder.kill()
        holder.wait()
        with StateDirectory(tmp_path, lock_seconds=0.1).exclusive():
            pass


KILL = """
import os, signal, sys
from pathlib import Path
import ctestbed.core.files as files
real, left = files.os.fsync, [int(sys.argv[2])]
def fsync(handle):
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    real(handle)
files.os.fsync = fsync
from ctestbed.tee.commands import LaunchRequest, run_launch
run_launch(LaunchRequest(Path(sys.argv[1]), "a"))
"""


@pytest.mark.parametrize("syncs", range(9))
def test_a_launch_killed_anywhere_leaves_a_directory_that_works(tmp_path: Path, syncs: int) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILL, str(tmp_path), str(syncs)], check=False, capture_output=True
    )
    assert killed.returncode in {-signal.SIGKILL, 0}
    assert (killed.returncode == 0) == (syncs == 8)
    made = names(tmp_path)
    assert made in ([], ["a"])
    assert run_list(ListRequest(tmp_path)).findings == ()
    launch(tmp_path, "b")
    if "a" in made:
        run_show(ShowRequest(tmp_path, "a"))
    else:
        launch(tmp_path, "a")
    assert names(tmp_path) == ["a", "b"]
    assert not list(tmp_path.rglob(".*"))
    assert sorted(path.stem for path in tmp_path.rglob("*.dram")) == ["a", "b"]


def truncate(content: bytes) -> bytes:
    return content[: len(content) // 2]


DAMAGES: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "half a record": ("json", truncate),
    "an empty record": ("json", lambda _: b""),
    "a record of zeros": ("json", lambda content: bytes(len(content))),
    "a list": ("json", lambda _: b"[]"),
    "a deep list": ("json", lambda _: b"[" * 100_000),
    "text as a version": (
        "json",
        lambda content: content.replace(b'"version": 2', b'"version":"2"'),
    ),
    "no version": ("json", lambda content: content.replace(b'"version": 2,', b"")),
    "an unknown key": ("json", lambda content: content.replace(b"{", b'{"extra": 1,', 1)),
    "another's record": ("json", lambda content: content.replace(b'"a"', b'"c"')),
    "another platform": ("json", lambda content: content.replace(b'"csv"', b'"tdx"')),
    "half a memory": ("dram", truncate),
    "no memory": ("dram", lambda _: b""),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_vm_is_named_and_hides_no_other(tmp_path: Path, damage: str) -> None:
    suffix, spoil = DAMAGES[damage]
    launch(tmp_path, "a")
    launch(tmp_path, "b")
    path = tmp_path / "vms" / f"a.{suffix}"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(InputError) as caught:
        run_show(ShowRequest(tmp_path, "a"))
    assert caught.value.code == "CTB-M022"
    assert caught.value.exit_code == ExitCode.INPUT
    assert str(path) in caught.value.message
    assert "cvm stop a" in str(caught.value.hint)
    listed = run_list(ListRequest(tmp_path))
    assert "b" in [vm["name"] for vm in listed.data["vms"]]
    assert listed.exit_code == ExitCode.OK
    assert [finding.code for finding in listed.findings] == ["CTB-M022"] * (suffix == "json")
    launch(tmp_path, "c")
    run_stop(StopRequest(tmp_path, "a"))
    assert names(tmp_path) == ["b", "c"]
    launch(tmp_path, "a")


@pytest.mark.parametrize("frames", [[[0, 10**15]], [[-1, 16]], [[0, 0]], [[0, 8], [10**9, 8]]])
def test_frames_that_no_memory_has_are_refused_at_once(tmp_path: Path, frames: object) -> None:
    launch(tmp_path)
    path = tmp_path / "vms" / "a.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "frames": frames}))
    with pytest.raises(InputError) as caught:
        run_show(ShowRequest(tmp_path, "a"))
    assert caught.value.code == "CTB-M022"


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_any_damage_to_a_record_is_refused_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    state = tmp_path_factory.getbasetemp() / "shared-state"
    if not state.exists():
        launch(state)
    path = state / "vms" / "a.json"
    good = path.read_bytes()
    bad = bytearray(good)
    start = data.draw(st.integers(0, len(good) - 1))
    bad[start : start + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=20))
    path.write_bytes(bad)
    try:
        run_show(ShowRequest(state, "a"))
    except InputError as error:
        assert json.loads(good)["key"] not in error.message
    finally:
        path.write_bytes(good)


def test_a_newer_record_is_left_alone(tmp_path: Path) -> None:
    launch(tmp_path, "a")
    launch(tmp_path, "b")
    path = tmp_path / "vms" / "a.json"
    path.write_text('{"version": 3}')
    attempts: tuple[Callable[[], object], ...] = (
        lambda: run_show(ShowRequest(tmp_path, "a")),
        lambda: run_stop(StopRequest(tmp_path, "a")),
    )
    for run in attempts:
        with pytest.raises(InputError, match="has version 3"):
            run()
    assert path.exists()
    assert names(tmp_path) == ["b"]


def test_a_damaged_machine_is_named_and_can_be_replaced(tmp_path: Path) -> None:
    launch(tmp_path)
    path = tmp_path / "machines" / "csv.json"
    path.write_bytes(truncate(path.read_bytes()))
    attempts: tuple[Callable[[], object], ...] = (
        lambda: launch(tmp_path, "b"),
        lambda: run_show(ShowRequest(tmp_path, "a")),
    )
    for attempt in attempts:
        with pytest.raises(InputError) as caught:
            attempt()
        assert caught.value.code == "CTB-M060"
        assert str(path) in caught.value.message
    assert names(tmp_path) == ["a"]
    path.unlink()
    with pytest.raises(InputError, match="it is absent, though VMs need it"):
        run_show(ShowRequest(tmp_path, "a"))
    run_stop(StopRequest(tmp_path, "a"))
    launch(tmp_path, "b")
    run_show(ShowRequest(tmp_path, "b"))


@pytest.mark.parametrize("full_at", range(4))
def test_a_full_disk_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full_at: int
) -> None:
    launch(tmp_path, "kept")
    before = tree(tmp_path)
    real, left = os.fsync, [full_at]

    def fsync(handle: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    if full_at == 3:  # only the directory's own flush is left: the VM stands
        launch(tmp_path, "a")
        return
    with pytest.raises(EnvironmentLacksError, match="no space to write"):
        launch(tmp_path, "a")
    monkeypatch.undo()
    assert tree(tmp_path) == before
    launch(tmp_path, "a")
    assert names(tmp_path) == ["a", "kept"]


LIMITED = """
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
from ctestbed.core.errors import CtestbedError
from ctestbed.tee.commands import LaunchRequest, run_launch
try:
    run_launch(LaunchRequest(Path(sys.argv[1]), "a"))
except CtestbedError as error:
    print(error.code, int(error.exit_code))
"""


@pytest.mark.parametrize("limit", [0, 100, 1000, 20_000])
def test_a_real_limit_on_file_size_loses_nothing(tmp_path: Path, limit: int) -> None:
    launch(tmp_path, "kept")
    before = tree(tmp_path)
    done = subprocess.run(
        [sys.executable, "-B", "-c", LIMITED, str(tmp_path), str(limit)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["CTB-C015", "4"]
    assert tree(tmp_path) == before
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_a_directory_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for state in (tmp_path / "file", tmp_path / "file" / "state", Path("/proc/ctestbed")):
        with pytest.raises(EnvironmentLacksError) as caught:
            launch(state)
        assert caught.value.exit_code == ExitCode.ENVIRONMENT


AS_NOBODY = """
import os, sys
from pathlib import Path
from ctestbed.core.errors import CtestbedError
from ctestbed.tee.commands import *
import pydantic_core, cryptography.hazmat.bindings.openssl.binding, numpy, ctestbed.tee.platforms
from ctestbed.tee.platforms import load_profile
load_profile("csv"), load_profile("plain")
state = Path(sys.argv[1])
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
for run in (
    lambda: run_list(ListRequest(state)).data["vms"][0]["name"],
    lambda: run_show(ShowRequest(state, "a")).data["name"],
    lambda: run_launch(LaunchRequest(state, "b")),
    lambda: run_stop(StopRequest(state, "a")),
):
    try:
        print(run())
    except CtestbedError as error:
        print(error.code, int(error.exit_code))
"""


def test_a_read_only_directory_is_read_and_not_changed() -> None:
    with tempfile.TemporaryDirectory() as place:  # root's own tmp_path lets nobody in
        Path(place).chmod(0o755)
        state = Path(place) / "state"
        launch(state)
        before = tree(state)
        for path in (*state.rglob("*"), state):
            if os.geteuid() == 0:
                os.chown(path, 65534, 65534)
            path.chmod(0o500 if path.is_dir() else 0o400)
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(state)],
            check=True,
            capture_output=True,
            text=True,
        )
        for path in (state, *state.rglob("*")):
            path.chmod(0o700)
        assert tree(state) == before
    assert done.stdout.splitlines() == ["a", "a", "CTB-C016 4", "CTB-C016 4"]


UNREADABLE = """
import os, sys
from pathlib import Path
from ctestbed.core.errors import CtestbedError
from ctestbed.tee.state import StateDirectory
state = StateDirectory(Path(sys.argv[1]))
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
for run in (
    state.vm_names,
    state.emulated_root_certificates,
    lambda: state.read("vms/a.json"),
    lambda: state.remove("vms/a.json"),
    lambda: state.shared().__enter__(),
):
    try:
        print(run())
    except CtestbedError as error:
        print(error.code, int(error.exit_code))
"""


def test_another_users_directory_is_said_to_be_unreadable() -> None:
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        state = Path(place) / "state"
        launch(state)
        for path in (state / "lock", state / "vms", state / "roots"):
            path.chmod(0)
        state.chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", UNREADABLE, str(state)],
            check=True,
            capture_output=True,
            text=True,
        )
        for path in (state / "lock", state / "vms", state / "roots"):
            path.chmod(0o700)
    refused = done.stdout.splitlines()
    assert refused == ["CTB-M011 4", "CTB-M011 4", "CTB-M011 4", "CTB-C016 4", "CTB-C016 4"]


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../a",
        "a/b",
        "/a",
        "a\0",
        "A",
        "a.json",
        "-a",
        "a-",
        "é",
        "a\n",
        "a" * 64,
        "~",
    ],
)
def test_a_name_that_could_leave_the_directory_is_refused(name: str) -> None:
    with pytest.raises(InputError) as caught:
        require_vm_name(name)
    assert caught.value.code == "CTB-M020"


@given(st.text(max_size=70))
def test_an_accepted_name_is_one_plain_path_part(name: str) -> None:
    try:
        require_vm_name(name)
    except InputError:
        return
    path = Path("vms") / f"{name}.json"
    assert path.parts == ("vms", f"{name}.json")
    assert not path.name.startswith(".")


@given(st.sets(st.integers(0, 60)))
def test_runs_hold_the_same_numbers(numbers: set[int]) -> None:
    runs = runs_of(sorted(numbers))
    assert [n for first, count in runs for n in range(first, first + count)] == sorted(numbers)
    assert all(runs[i][0] + runs[i][1] < runs[i + 1][0] for i in range(len(runs) - 1))


def test_a_record_of_version_1_is_read_as_it_is(tmp_path: Path) -> None:
    launch(tmp_path, seed=3, memory=1 << 20)
    path = tmp_path / "vms" / "a.json"
    record = json.loads(path.read_text())
    new = run_show(ShowRequest(tmp_path, "a")).data
    for name in ("vcpus", "save_pages", "private", "switches"):
        del record[name]
    record["frames"] = [[0, 16]]
    path.write_text(json.dumps({**record, "version": 1}))
    dram = tmp_path / "vms" / "a.dram"
    dram.write_bytes(dram.read_bytes()[: 16 * 4096])
    old = run_show(ShowRequest(tmp_path, "a")).data
    assert old["vcpus"] == 0
    assert {**old, "vcpus": 1} == new
    launch(tmp_path, "b")
    assert names(tmp_path) == ["a", "b"]
    run_stop(StopRequest(tmp_path, "a"))
