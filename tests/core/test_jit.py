"""The compile cache: named by its sources, writable or not used."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.numba


def test_any_kernel_source_changes_the_cache_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ctestbed.core import kernel_cache

    monkeypatch.setattr(kernel_cache, "_PACKAGE", tmp_path)
    (tmp_path / "engine").mkdir()
    caller, callee = tmp_path / "engine" / "kernels.py", tmp_path / "kernels_queue.py"
    caller.write_text("call = 1\n")
    callee.write_text("called = 20\n")
    before = kernel_cache.sources_digest()
    assert kernel_cache.sources_digest() == before
    callee.write_text("called = 30\n")
    changed = kernel_cache.sources_digest()
    assert changed != before
    callee.rename(tmp_path / "kernels_moved.py")
    assert kernel_cache.sources_digest() not in {before, changed}


def test_cache_lies_in_the_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ctestbed.core import kernel_cache

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert (
        kernel_cache.find_cache_directory()
        == tmp_path / "ctestbed" / f"kernels-{kernel_cache.sources_digest()}"
    )


def test_no_cache_where_none_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ctestbed.core import kernel_cache

    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert kernel_cache.find_cache_directory() is None
