"""`attest roots`: list trust anchors, and pin or unpin the user's own."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from typing_extensions import TypedDict

from ctestbed.attestation.roots.pins import (
    Pin,
    RootClass,
    emulated_pins,
    pins_of_certificates,
    user_pins,
    vendor_pins,
    write_user_pins,
)
from ctestbed.core.errors import InputError
from ctestbed.core.files import read_input
from ctestbed.core.names import did_you_mean
from ctestbed.core.result import InputFile, Result
from ctestbed.evidence.csv_bundle import MAX_BUNDLE_SIZE
from ctestbed.tee.state import StateDirectory

_MIN_PREFIX: Final = 8


@dataclass(frozen=True, slots=True)
class RootsRequest:
    """List, pin or unpin. `target`: a certificate file to pin, or a fingerprint's start."""

    state_dir: Path
    action: str = "list"
    target: str | None = None
    name: str | None = None


class RootEntry(TypedDict):
    """A pinned root and in which class; fingerprint is SHA-256 of 04 || X || Y in hex."""

    root_class: RootClass
    name: str
    platform: str
    fingerprint: str
    source: str


class RootsData(TypedDict):
    """All pinned roots after the action, and those it pinned or unpinned."""

    action: Literal["list", "pin", "unpin"]
    roots: list[RootEntry]
    changed: list[RootEntry]


def run_roots(request: RootsRequest) -> Result:
    """Do what the request says, and list what is then pinned.

    Raises:
        InputError: an unknown action, a missing or unusable target.
        EnvironmentLacksError: the state directory cannot be written.
    """
    state = StateDirectory(request.state_dir)
    inputs: tuple[InputFile, ...] = ()
    changed: list[Pin] = []
    match request.action:
        case "list":
            action: Literal["list", "pin", "unpin"] = "list"
        case "pin":
            action = "pin"
            target = _require_target(request, "a file that holds a root certificate")
            content = read_input(target, limit=MAX_BUNDLE_SIZE, what="root certificate")
            inputs = (InputFile.of(target, content),)
            changed = _pin(state, target, content, request.name)
        case "unpin":
            action = "unpin"
            changed = _unpin(state, _require_target(request, "a fingerprint"))
        case other:
            raise InputError(
                "CTB-A006",
                f"`attest roots` knows no action {other!r}",
                hint=did_you_mean(other, ("list", "pin", "unpin")),
            )
    roots = [*vendor_pins(), *emulated_pins(state), *user_pins(state)]
    data: RootsData = {
        "action": action,
        "roots": [_entry(pin) for pin in roots],
        "changed": [_entry(pin) for pin in changed],
    }
    return Result("ctestbed.attest.roots/1", data, inputs=inputs)


def _pin(state: StateDirectory, source: str, content: bytes, name: str | None) -> list[Pin]:
    found = pins_of_certificates(content, source, "user")
    if name is not None:
        found = [replace(pin, name=name) for pin in found]
    with state.exclusive():
        held = user_pins(state)
        known = {pin.fingerprint for pin in held}
        new = [pin for pin in found if pin.fingerprint not in known]
        if new:
            write_user_pins(state, [*held, *new])
    return new


def _unpin(state: StateDirectory, prefix: str) -> list[Pin]:
    with state.exclusive():
        held = user_pins(state)
        wanted = prefix.lower()
        matching = [pin for pin in held if pin.fingerprint.startswith(wanted)]
        if len(wanted) < _MIN_PREFIX or len(matching) != 1:
            raise InputError(
                "CTB-A007",
                f"{prefix[:80]!r} is not the start ({_MIN_PREFIX} digits or more) of the"
                " fingerprint of one root that you pinned",
                hint="`ctestbed attest roots` lists them; those of other classes stay",
            )
        write_user_pins(state, [pin for pin in held if pin not in matching])
    return matching


def _require_target(request: RootsRequest, what: str) -> str:
    if request.target is None:
        raise InputError(
            "CTB-A008",
            f"`attest roots {request.action}` needs {what}",
            hint=f"ctestbed attest roots {request.action} TARGET",
        )
    return request.target


def _entry(pin: Pin) -> RootEntry:
    return {
        "root_class": pin.root_class,
        "name": pin.name,
        "platform": pin.platform,
        "fingerprint": pin.fingerprint,
        "source": pin.source,
    }
