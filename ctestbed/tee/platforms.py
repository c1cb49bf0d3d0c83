"""The platforms and their facts: `attest/platforms/NAME.yaml`."""

from functools import cache
from typing import Annotated, Generic, Literal, TypeAlias, TypeVar

from pydantic import Field, model_validator

from ctestbed.core.data import data_directory
from ctestbed.core.errors import InputError, Where
from ctestbed.core.files import read_input
from ctestbed.core.names import did_you_mean
from ctestbed.core.spec import SpecModel, validate_model
from ctestbed.core.yamlfile import load_yaml
from ctestbed.tee.mitigations import Mitigation
from ctestbed.tee.names import PLATFORMS

ValueT = TypeVar("ValueT")
_Text = Annotated[str, Field(min_length=1)]
_Switch = Annotated[str, Field(pattern=f"^({'|'.join(Mitigation)})$")]


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


Ownerships: TypeAlias = Literal[
    "none",
    "RMP",
    "PAMT + Secure EPT",
    "CSV3 isolation",
    "granule protection table",
    "TrustZone partition",
]


class MemoryFacts(SpecModel):
    """How the memory controller treats a guest's private pages, and what a host gets of them."""

    cipher: Fact[Literal["SM4", "AES-128", "AES-256", "none"]]
    mode: Fact[Literal["XTS", "XE", "XEX", "none"]]
    standard: Fact[Literal["GB/T 17964-2021", "IEEE 1619", "none"]]
    tweak: Fact[
        Literal[
            "physical address of the 4 KiB page",
            "constants per bit of the physical address",
            "none",
        ]
    ]
    integrity: Fact[Literal["none", "MAC and owner bit"]]
    ownership: Fact[Ownerships]
    host_read: Fact[Literal["ciphertext", "plaintext", "fixed pattern", "fault"]]
    host_write: Fact[Literal["allowed", "fault", "poison"]]
    key_slots: Fact[Annotated[int, Field(ge=0, le=2**16)]]
    slot_name: Fact[_Text]
    key_scope: Fact[Literal["guest", "world", "none"]]
    accepted_devices: Fact[bool]

    @property
    def encrypts(self) -> bool:
        """Whether private pages are encrypted at all."""
        return self.cipher.value != "none"

    @property
    def engine(self) -> str:
        """The cipher and mode in one word."""
        return f"{self.cipher.value}-{self.mode.value}" if self.encrypts else "none"


class GuestFacts(SpecModel):
    """Register save areas, states of pages, what a host may inject, and policy bits."""

    save_area: Fact[Literal["in clear", "encrypted, checked at entry", "a page of the guest"]]
    page_states: Fact[list[str]]
    exceptions_injectable: Fact[bool]
    debug: Fact[_Text]
    migration: Fact[_Text]
    versioned_keys: Fact[bool]


class LaunchFacts(SpecModel):
    """How the initial image is measured."""

    commands: Fact[list[str]]
    digest: Fact[Literal["SM3", "SHA-256", "SHA-384"]]
    input: Fact[_Text]
    default_policy: Fact[Annotated[int, Field(ge=0, lt=2**32)]]


class EvidenceFacts(SpecModel):
    """What the platform signs when asked."""

    format: Fact[Literal["CSV report V1", "none"]]
    chain: Fact[list[str]]
    report_data: Fact[int]


class Profile(SpecModel):
    """A platform profile."""

    platform: Annotated[str, Field(pattern=f"^({'|'.join(PLATFORMS)})$")]
    title: _Text
    memory: MemoryFacts
    guest: GuestFacts
    launch: LaunchFacts
    evidence: EvidenceFacts
    switches: dict[_Switch, Fact[str]]


def load_profile(name: str) -> Profile:
    """Return the profile of a platform.

    Raises:
        InputError: no such platform, or a profile file that does not fit its model.
    """
    require_platform(name)
    return _load(name)


def engine_key_size(profile: Profile) -> int:
    """Return how many bytes a platform's memory key has."""
    size = {"none": 0, "SM4": 16, "AES-128": 16, "AES-256": 32}[profile.memory.cipher.value]
    return 2 * size if profile.memory.mode.value == "XTS" else size


def digest_size(profile: Profile) -> int:
    """Return how many bytes a platform's launch measurement has."""
    return 48 if profile.launch.digest.value == "SHA-384" else 32


def require_platform(name: str, where: Where | None = None) -> None:
    """Refuse a platform that there is not; `where` is what asks for it.

    Raises:
        InputError: there is no such platform.
    """
    if name not in PLATFORMS:
        hint = did_you_mean(name, PLATFORMS)
        raise InputError("CTB-M030", f"there is no platform {name!r}", where=where, hint=hint)


@cache
def _load(name: str) -> Profile:
    path = data_directory("attest") / "platforms" / f"{name}.yaml"
    return validate_model(Profile, load_yaml(read_input(str(path)), str(path)))
