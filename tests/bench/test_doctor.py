"""`doctor`: what is here, what is missing, and exit 4 only for what is needed."""

import os
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ctestbed.bench import doctor
from ctestbed.bench.doctor import run_doctor
from ctestbed.core.errors import EnvironmentLacksError, ExitCode
from ctestbed.core.result import Result

ENVIRON = {"XDG_STATE_HOME": "/tmp", "HOME": "/tmp"}  # noqa: S108 - only looked at


def statuses(result: Result) -> dict[str, str]:
    return {check["name"]: check["status"] for check in result.data["checks"]}


def test_a_sound_installation(tmp_path: Path) -> None:
    result = run_doctor(str(tmp_path / "state"), ENVIRON)
    assert (result.exit_code, result.findings) == (ExitCode.OK, ())
    seen = statuses(result)
    assert set(seen.values()) <= {"ok", "absent"}
    assert seen["python"] == seen["state directory"] == seen["data topologies"] == "ok"
    assert {name for name in seen if name.startswith("crypto ")}
    assert not (tmp_path / "state").exists()


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = metadata.version

    def version(name: str) -> str:
        if name == "gmssl":
            raise metadata.PackageNotFoundError
        return whole(name)

    monkeypatch.setattr(metadata, "version", version)
    result = run_doctor(str(tmp_path), ENVIRON)
    assert result.exit_code == ExitCode.ENVIRONMENT
    (finding,) = result.findings
    assert (finding.code, finding.message) == ("CTB-U020", "library gmssl: not installed")
    assert "make setup" in str(finding.hint)


def test_missing_data_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def nowhere(name: str) -> Path:
        raise EnvironmentLacksError("CTB-C020", f"no {name}")

    monkeypatch.setattr(doctor, "data_directory", nowhere)
    result = run_doctor(str(tmp_path), ENVIRON)
    assert result.exit_code == ExitCode.ENVIRONMENT
    assert [f.message for f in result.findings] == [
        "data topologies: no topologies",
        "data attest: no attest",
    ]


def test_a_state_directory_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run_doctor(str(tmp_path / "file" / "state"), ENVIRON)
    assert result.exit_code == ExitCode.ENVIRONMENT
    assert statuses(result)["state directory"] == "wrong"


def test_an_unwritable_cache_is_no_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "deeper"))
    allowed = os.access

    def access(path: Any, mode: int) -> bool:
        return Path(path) != cache and allowed(path, mode)

    monkeypatch.setattr(os, "access", access)
    result = run_doctor(str(tmp_path / "state"), ENVIRON)
    assert result.exit_code == ExitCode.OK
    assert statuses(result)["kernel cache"] == "absent"


def test_crypto_that_disagrees_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = SimpleNamespace(name="SM3", ok=False, detail="differs from gmssl's")
    monkeypatch.setattr("ctestbed.crypto.selfcheck.run_selfcheck", lambda: [broken])
    result = run_doctor(str(tmp_path), ENVIRON)
    assert result.exit_code == ExitCode.ENVIRONMENT
    assert [f.message for f in result.findings] == ["crypto SM3: differs from gmssl's"]


@pytest.mark.parametrize("here", [None, "/bin/tool"])
def test_tools_are_optional(
    here: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("shutil.which", lambda _name: here)
    result = run_doctor(str(tmp_path), ENVIRON)
    assert result.exit_code == ExitCode.OK
    seen = statuses(result)
    assert {seen["tool openssl"], seen["tool chromium"]} == {"ok" if here else "absent"}
