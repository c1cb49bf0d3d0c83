"""Trust anchors pinned by key fingerprint, never by name.

vendor     `attest/roots/*.yaml`, shipped with ctestbed; accepts no emulated root
emulated   the roots of the emulated machines in the state directory
user       what `attest roots pin` put into the state directory, `STATE/roots/user.yaml`: trust
           made for one experiment ends with its state directory
PATH       one file for one run, counted as user: a pins file, or root certificates

A root whose identity says EMULATED is of class emulated however it came to be trusted.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from ctestbed.attestation.csv_key import key_fingerprint, require_issuer
from ctestbed.core.data import data_directory
from ctestbed.core.errors import CtestbedError, InputError, Where
from ctestbed.core.files import exists, read_input
from ctestbed.core.names import did_you_mean
from ctestbed.core.result import InputFile
from ctestbed.core.spec import SpecModel, validate_model
from ctestbed.core.yamlfile import load_yaml
from ctestbed.evidence.csv_bundle import MAX_BUNDLE_SIZE, parse_bundle
from ctestbed.evidence.csv_certificate import RootCertificate, Usage
from ctestbed.tee.state import StateDirectory

RootClass: TypeAlias = Literal["vendor", "emulated", "user"]

USER_PINS: Final = "roots/user.yaml"
EMULATED_MARK: Final = b"EMULATED"
_NAMED: Final = ("vendor", "emulated", "user")
_HEADER: Final = "# Roots that this user trusts; written by `ctestbed attest roots`.\n"


class PinEntry(SpecModel):
    """One pinned root in a file. `fingerprint`: SHA-256 of 04 || X || Y, big-endian, in hex."""

    name: Annotated[str, Field(min_length=1)]
    platform: Literal["csv"]
    fingerprint: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    source: Annotated[str, Field(min_length=1)]


class PinFile(SpecModel):
    """The schema of a pins file."""

    roots: list[PinEntry]


@dataclass(frozen=True, slots=True)
class Pin:
    """A trusted root, and in which class."""

    name: str
    platform: str
    fingerprint: str
    source: str
    root_class: RootClass


@dataclass(frozen=True, slots=True)
class TrustSet:
    """The roots of one verification; `asked` is what `--roots` said, `source` its file if one."""

    asked: str
    pins: tuple[Pin, ...]
    source: InputFile | None = None

    def find(self, platform: str, fingerprint: str, identity: bytes) -> Pin | None:
        """Return the pin of a root, or None if it is not trusted here."""
        emulated = EMULATED_MARK in identity
        for pin in self.pins:
            if (pin.platform, pin.fingerprint) != (platform, fingerprint):
                continue
            if emulated and pin.root_class == "vendor":
                continue
            if emulated:
                return replace(pin, root_class="emulated")
            return pin
        return None


def load_trust(choice: str, state_dir: Path | None) -> TrustSet:
    """Return the roots that `--roots CHOICE` trusts.

    Raises:
        InputError: neither a class nor a file, or a malformed pins file or certificate.
    """
    if choice == "vendor":
        return TrustSet(choice, vendor_pins())
    if choice in _NAMED:
        if state_dir is None:
            return TrustSet(choice, ())
        state = StateDirectory(state_dir)
        return TrustSet(choice, emulated_pins(state) if choice == "emulated" else user_pins(state))
    if not exists(Path(choice)):
        raise InputError(
            "CTB-A001",
            f"--roots {choice!r} is neither a class of roots nor a file",
            hint=did_you_mean(choice, _NAMED),
        )
    content = read_input(choice, limit=MAX_BUNDLE_SIZE, what="roots file")
    source = InputFile.of(choice, content)
    if b"\0" in content:
        return TrustSet(choice, tuple(pins_of_certificates(content, choice, "user")), source)
    return TrustSet(choice, _read_pins(content, choice, "user"), source)


def vendor_pins() -> tuple[Pin, ...]:
    """Return the roots that ctestbed ships."""
    files = sorted((data_directory("attest") / "roots").glob("*.yaml"))
    return tuple(
        pin for file in files for pin in _read_pins(file.read_bytes(), str(file), "vendor")
    )


def emulated_pins(state: StateDirectory) -> tuple[Pin, ...]:
    """Return the roots of a state directory's emulated machines."""
    return tuple(
        pin
        for platform, content in sorted(state.emulated_root_certificates().items())
        for pin in pins_of_certificates(
            content, f"the state directory's emulated {platform} machine", "emulated"
        )
    )


def user_pins(state: StateDirectory) -> tuple[Pin, ...]:
    """Return the roots that the user pinned."""
    content = state.read(USER_PINS)
    if content is None:
        return ()
    return _read_pins(content, str(state.path / USER_PINS), "user")


def write_user_pins(state: StateDirectory, pins: Iterable[Pin]) -> None:
    """Replace the user's pins; the caller holds the state directory."""
    lines = [_HEADER, "roots:\n"]
    for pin in pins:
        for index, key in enumerate(("name", "platform", "fingerprint", "source")):
            lines.append(f"  {'-' if index == 0 else ' '} {key}: {json.dumps(getattr(pin, key))}\n")
    if len(lines) == 2:  # noqa: PLR2004 - header and key, no pin
        lines[1] = "roots: []\n"
    state.write(USER_PINS, "".join(lines).encode())


def pins_of_certificates(content: bytes, source: str, root_class: RootClass) -> list[Pin]:
    """Return a pin for each HRK of a certificate file.

    Raises:
        InputError: malformed, without an HRK, or with one that did not sign itself.
    """
    roots = [
        certificate
        for certificate in _bundle(content, source)
        if isinstance(certificate, RootCertificate) and certificate.usage == Usage.HRK
    ]
    if not roots:
        raise InputError(
            "CTB-A002",
            f"{source!r} holds no root certificate (HRK)",
            where=Where(file=source),
            hint="a root is an 832-byte certificate of usage 0",
        )
    return [_pin(root, source, root_class) for root in dict.fromkeys(roots)]


def _pin(root: RootCertificate, source: str, root_class: RootClass) -> Pin:
    try:
        require_issuer(root, root)
        fingerprint = key_fingerprint(root)
    except CtestbedError as error:
        raise InputError(
            "CTB-A003",
            f"the root certificate in {source!r} cannot be pinned: {error.message}",
            where=Where(file=source),
        ) from None
    name = root.uid.decode("ascii", "backslashreplace") or "unnamed root"
    return Pin(name, "csv", fingerprint, source, root_class)


def _bundle(content: bytes, source: str) -> Iterable[object]:
    try:
        return parse_bundle(content)
    except InputError as error:
        raise InputError(
            error.code,
            f"{source!r}: {error.message}",
            where=Where(file=source, pointer=error.where.pointer if error.where else None),
            hint=error.hint,
        ) from None


def _read_pins(content: bytes, name: str, root_class: RootClass) -> tuple[Pin, ...]:
    entries = validate_model(PinFile, load_yaml(content, name)).roots
    return tuple(
        Pin(entry.name, entry.platform, entry.fingerprint, entry.source, root_class)
        for entry in entries
    )
