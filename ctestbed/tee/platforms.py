"""The platforms, and the facts of those that are built: `attest/platforms/NAME.yaml`."""

from functools import cache
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import Field, model_validator

from ctestbed.core.data import data_directory
from ctestbed.core.errors import EnvironmentLacksError, InputError, Where
from ctestbed.core.files import read_input
from ctestbed.core.names import did_you_mean
from ctestbed.core.spec import SpecModel, validate_model
from ctestbed.core.yamlfile import load_yaml
from ctestbed.tee.names import BUILT, PLATFORMS

ValueT = TypeVar("ValueT")
_Text = Annotated[str, Field(min_length=1)]


class Fact(SpecModel, Generic[ValueT]):
    """A value, and either the source that documents it or why it is our own choice."""

    value: ValueT
    source: _Text | None = None
    ours: _Text | None = None

    @model_validator(mode="after")
    def _has_one_reason(self) -> "Fact[ValueT]":
        if (self.source is None) == (self.ours is None):
            raise ValueError("a fact has either `source` or `ours`")
        return self


class MemoryFacts(SpecModel):
    """How the memory controller treats a guest's private pages, and what a host gets of them."""

    cipher: Fact[Literal["SM4", "none"]]
    mode: Fact[Literal["XTS", "none"]]
    standard: Fact[Literal["GB/T 17964-2021", "none"]]
    tweak: Fact[Literal["physical address of the 4 KiB page", "none"]]
    integrity: Fact[Literal["none"]]
    host_read: Fact[Literal["ciphertext", "plaintext"]]
    host_write: Fact[Literal["allowed"]]
    key_slots: Fact[Annotated[int, Field(ge=0, le=2**16)]]

    @property
    def encrypts(self) -> bool:
        """Whether private pages are encrypted at all."""
        return self.cipher.value != "none"


class LaunchFacts(SpecModel):
    """How the initial image is measured."""

    commands: Fact[list[str]]
    digest: Fact[Literal["SM3", "SHA-256"]]
    input: Fact[_Text]
    default_policy: Fact[Annotated[int, Field(ge=0, lt=2**32)]]


class EvidenceFacts(SpecModel):
    """What the platform signs when asked."""

    format: Fact[Literal["CSV report V1", "none"]]
    chain: Fact[list[str]]
    report_data: Fact[int]


class Profile(SpecModel):
    """A platform profile."""

    platform: Literal["csv", "plain"]
    title: _Text
    memory: MemoryFacts
    launch: LaunchFacts
    evidence: EvidenceFacts


def load_profile(name: str) -> Profile:
    """Return the profile of a platform.

    Raises:
        InputError: no such platform, or a profile file that does not fit its model.
        EnvironmentLacksError: the platform is planned, but this version does not have it.
    """
    require_built(name)
    return _load(name)


def require_built(name: str, where: Where | None = None) -> None:
    """Refuse a platform that this version does not have; `where` is what asks for it.

    Raises:
        InputError: there is no such platform.
        EnvironmentLacksError: the platform is planned, but this version does not have it.
    """
    if name not in PLATFORMS:
        hint = did_you_mean(name, PLATFORMS)
        raise InputError("CTB-M030", f"there is no platform {name!r}", where=where, hint=hint)
    if name not in BUILT:
        raise EnvironmentLacksError(
            "CTB-M031",
            f"platform {name!r} is not built yet in this version",
            where=where,
            hint=f"built are: {', '.join(BUILT)}",
        )


@cache
def _load(name: str) -> Profile:
    path = data_directory("attest") / "platforms" / f"{name}.yaml"
    return validate_model(Profile, load_yaml(read_input(str(path)), str(path)))
