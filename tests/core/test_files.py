"""Files: nothing lost, nothing half-written, and one clear error whatever goes wrong."""

import os
import resource
import signal
from pathlib import Path

import pytest

from ctestbed.core import files
from ctestbed.core.errors import EnvironmentLacksError, ExitCode, InputError


def test_existing_output_is_kept_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b"before")
    with pytest.raises(InputError) as caught:
        files.write_output(path, b"after")
    assert caught.value.code == "CTB-C014"
    assert path.read_bytes() == b"before"
    files.write_output(path, b"after", force=True)
    assert path.read_bytes() == b"after"


def test_failed_write_leaves_the_old_file_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b"before")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EnvironmentLacksError) as caught:
        files.write_output(path, b"after", force=True)
    assert caught.value.exit_code is ExitCode.ENVIRONMENT
    assert caught.value.code == "CTB-C015"
    assert path.read_bytes() == b"before"
    assert [item.name for item in tmp_path.iterdir()] == ["report.json"]


def test_a_real_size_limit_reads_as_no_space(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(EnvironmentLacksError) as caught:
            files.write_output(tmp_path / "big", b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert caught.value.code == "CTB-C015"
    assert list(tmp_path.iterdir()) == []


def test_missing_directory_is_an_environment_error(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacksError) as caught:
        files.write_output(tmp_path / "no" / "such" / "file", b"")
    assert caught.value.code == "CTB-C016"


def test_files_that_belong_together_are_written_together(tmp_path: Path) -> None:
    first, second = tmp_path / "ev.bin", tmp_path / "no" / "ev.bin.certs"
    with pytest.raises(EnvironmentLacksError):
        files.write_together([(first, b"1"), (second, b"2")])
    assert not first.exists()
    second = tmp_path / "ev.bin.certs"
    second.write_bytes(b"old")
    with pytest.raises(InputError):
        files.write_together([(first, b"1"), (second, b"2")])
    assert not first.exists()
    assert second.read_bytes() == b"old"
    files.write_together([(first, b"1"), (second, b"2")], force=True)
    assert (first.read_bytes(), second.read_bytes()) == (b"1", b"2")


def test_a_device_is_written_to_and_not_replaced() -> None:
    files.write_output(Path("/dev/null"), b"gone")
    assert Path("/dev/null").is_char_device()


def test_reading_stops_at_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as stream:
        stream.truncate(2**30)
    with pytest.raises(InputError) as caught:
        files.read_input(str(path), limit=1000)
    assert caught.value.code == "CTB-C010"


@pytest.mark.parametrize(
    ("name", "code"), [("missing", "CTB-C011"), (".", "CTB-C013"), ("a\0b", "CTB-C013")]
)
def test_what_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        files.read_input(name)
    assert caught.value.code == code


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_output_has_the_mode_that_its_user_gives_new_files(
    tmp_path: Path, mask: int, mode: int
) -> None:
    before = os.umask(mask)
    try:
        files.write_output(tmp_path / "out", b"x")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == mode


def test_what_cannot_be_looked_at_is_not_there(tmp_path: Path) -> None:
    for name in ("x" * 300, "a\0b", "/".join(["y" * 200] * 30)):
        assert not files.exists(tmp_path / name)
        assert not files.is_file(tmp_path / name)


def test_a_home_that_nobody_knows_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    assert not files.exists(files.under_home(".config"))


def test_one_file_cannot_take_two_outputs(tmp_path: Path) -> None:
    path, link = tmp_path / "out", tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(InputError) as caught:
        files.write_together([(path, b"1"), (link, b"2")], force=True)
    assert caught.value.code == "CTB-C014"
    assert not path.exists()
