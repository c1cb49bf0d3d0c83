"""Check this machine and installation: what is here, what works, what to do about the rest."""

import os
import platform
import shutil
import sys
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final, Literal

from typing_extensions import TypedDict

from ctestbed.core.data import data_directory
from ctestbed.core.errors import CtestbedError, ExitCode
from ctestbed.core.files import exists, under_home
from ctestbed.core.result import Finding, Result

_LIBRARIES: Final = (
    "typer", "rich", "numpy", "numba", "networkx", "pydantic", "cryptography", "gmssl",
    "ruamel.yaml", "jinja2",
)  # fmt: skip
_TOOLS: Final = {
    "openssl": "cross-checks SM2 in the tests",
    "chromium": "opens report pages in the tests",
}

_Status = Literal["ok", "missing", "wrong", "absent"]


class DoctorCheck(TypedDict):
    """One check. `absent` is an optional thing that is not here; `missing` and `wrong` fail."""

    name: str
    status: _Status
    detail: str


class DoctorData(TypedDict):
    """The data of `ctestbed.doctor.doctor/1`."""

    checks: list[DoctorCheck]


def run_doctor(state_dir: str | None, environ: Mapping[str, str]) -> Result:
    """Run every check; exit 4 if one fails."""
    checks = [
        _check_python(),
        *_check_libraries(),
        *_check_data(),
        _check_state(state_dir, environ),
        *_check_crypto(),
        _check_kernels(),
        *_check_tools(),
    ]
    findings = tuple(
        Finding("CTB-U020", "error", f"{check['name']}: {check['detail']}", hint=_hint(check))
        for check in checks
        if check["status"] in {"missing", "wrong"}
    )
    code = ExitCode.ENVIRONMENT if findings else ExitCode.OK
    return Result("ctestbed.doctor.doctor/1", {"checks": checks}, findings, exit_code=code)


def _hint(check: DoctorCheck) -> str:
    if check["status"] == "missing":
        return "reinstall ctestbed with its dependencies (`make setup` in the repository)"
    return "see the detail; `ctestbed explain CTB-U020` says more"


def _check(name: str, status: _Status, detail: str) -> DoctorCheck:
    return DoctorCheck(name=name, status=status, detail=detail)


def _check_python() -> DoctorCheck:
    fits = sys.version_info >= (3, 11)
    detail = f"{platform.python_version()} (3.11 or newer is needed)"
    return _check("python", "ok" if fits else "wrong", detail)


def _check_libraries() -> list[DoctorCheck]:
    found = []
    for name in _LIBRARIES:
        try:
            found.append(_check(f"library {name}", "ok", metadata.version(name)))
        except metadata.PackageNotFoundError:
            found.append(_check(f"library {name}", "missing", "not installed"))
    return found


def _check_data() -> list[DoctorCheck]:
    found = []
    for name in ("topologies", "attest"):
        try:
            path = data_directory(name)
        except CtestbedError as error:
            found.append(_check(f"data {name}", "missing", error.message))
        else:
            found.append(_check(f"data {name}", "ok", f"{len(list(path.rglob('*.yaml')))} files"))
    return found


def _check_state(state_dir: str | None, environ: Mapping[str, str]) -> DoctorCheck:
    from ctestbed.tee.state import resolve_state_path

    try:
        path = resolve_state_path(state_dir, environ)
    except CtestbedError as error:
        return _check("state directory", "wrong", error.message)
    existing = path
    while not exists(existing) and existing != existing.parent:
        existing = existing.parent
    if existing.is_dir() and os.access(existing, os.W_OK):
        made = "exists" if existing == path else "will be made when needed"
        return _check("state directory", "ok", f"writable, {made}")
    return _check("state directory", "wrong", f"{str(existing)!r} cannot be written")


def _check_crypto() -> list[DoctorCheck]:
    from ctestbed.crypto.selfcheck import run_selfcheck

    return [
        _check(f"crypto {item.name}", "ok" if item.ok else "wrong", item.detail)
        for item in run_selfcheck()
    ]


def _check_kernels() -> DoctorCheck:
    root = os.environ.get("XDG_CACHE_HOME") or str(under_home(".cache"))
    existing = Path(root)
    while not exists(existing) and existing != existing.parent:
        existing = existing.parent
    if os.access(existing, os.W_OK):
        return _check("kernel cache", "ok", "writable")
    return _check(
        "kernel cache", "absent", "not writable: large simulations compile in every process"
    )


def _check_tools() -> list[DoctorCheck]:
    found: list[DoctorCheck] = []
    locate: Callable[[str], str | None] = shutil.which
    for name, use in _TOOLS.items():
        here = locate(name) is not None
        detail = f"found; {use}" if here else f"not found; {use}, and is not needed otherwise"
        found.append(_check(f"tool {name}", "ok" if here else "absent", detail))
    return found
