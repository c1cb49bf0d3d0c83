"""What else may lie in a state directory: pipes, devices and directories under a VM's name."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ctestbed.core.errors import EnvironmentLacksError
from ctestbed.tee.commands import (
    LaunchRequest,
    ListRequest,
    ShowRequest,
    run_launch,
    run_list,
    run_show,
)

ODD: dict[str, Callable[[Path], None]] = {
    "directory": Path.mkdir,
    "pipe": os.mkfifo,
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "loop": lambda path: path.symlink_to(path.name),
}


@pytest.mark.parametrize("kind", ODD)
def test_what_is_no_file_hides_no_vm_and_is_never_waited_for(tmp_path: Path, kind: str) -> None:
    run_launch(LaunchRequest(tmp_path, "a", seed=1))
    ODD[kind](tmp_path / "vms" / "odd.json")
    listed = run_list(ListRequest(tmp_path))
    assert [vm["name"] for vm in listed.data["vms"]] == ["a"]
    finding = listed.findings[0]
    assert (finding.code, finding.severity) == ("CTB-M011", "warning")
    assert "odd.json" in finding.message
    run_launch(LaunchRequest(tmp_path, "b"))
    with pytest.raises(EnvironmentLacksError) as caught:
        run_show(ShowRequest(tmp_path, "odd"))
    assert caught.value.code == "CTB-M011"


def test_a_lock_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lock")
    assert run_list(ListRequest(tmp_path)).data["vms"] == []
