"""The testbed file, version 1: one YAML document that describes a cluster and what it must do.

Models only: what a field may hold. Whether the numbers make a buildable network is `plan`'s
question; other layers read their own sections (`confidential`, `memory`, `transfers`, `expect`).
"""

import re
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from ctestbed.core.spec import (
    LengthOrUnknown,
    RateOrUnknown,
    Size,
    SizeOrUnknown,
    SpecModel,
    TimeOrUnknown,
)
from ctestbed.topology.tiers import Tier

MAX_COUNT: Final = 2**22
"""The largest count a field may give; whole fabrics are bounded by memory further on."""

MAX_REFRACTIVE_INDEX: Final = 4

Count: TypeAlias = Annotated[int, Field(ge=1, le=MAX_COUNT)]
NAME_PATTERN: Final = r"[a-z0-9][a-z0-9._-]{0,62}"


def _name(value: str) -> str:
    if re.fullmatch(NAME_PATTERN, value) is None:
        raise ValueError(f"{value[:80]!r} is not a name: small letters, digits, then . _ - too")
    return value


Name: TypeAlias = Annotated[
    str,
    AfterValidator(_name),
    WithJsonSchema({"type": "string", "pattern": f"^{NAME_PATTERN}$"}),
]
Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=2000)]
Platform: TypeAlias = Literal[
    "csv", "csv2", "csv3", "sev", "sev-es", "snp", "tdx", "cca", "virtcca", "plain"
]


def _index_of_refraction(value: Any) -> Decimal:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 1 <= value <= MAX_REFRACTIVE_INDEX:
        raise ValueError(
            f"{value!r} is not a refractive index (from 1 to {MAX_REFRACTIVE_INDEX}; "
            "glass fibre: 1.468)"
        )
    return Decimal(str(value))


RefractiveIndex: TypeAlias = Annotated[
    Decimal,
    BeforeValidator(_index_of_refraction),
    WithJsonSchema(
        {"type": "number", "minimum": 1, "maximum": MAX_REFRACTIVE_INDEX, "examples": [1.468]}
    ),
]


def refusal(code: str, message: str, hint: str) -> ValueError:
    """Return the error a validator raises to become a finding with this code and hint."""
    return ValueError(f"{code}\0{message}\0{hint}")


class Cable(SpecModel):
    """Figures of one class of cables; what is left out comes from the fabric's own figures."""

    rate: RateOrUnknown | None = None
    delay: TimeOrUnknown | None = None
    length: LengthOrUnknown | None = None
    refractive_index: RefractiveIndex | None = None

    @model_validator(mode="after")
    def _one_delay(self) -> "Cable":
        if self.delay is not None and self.length is not None:
            raise refusal(
                "CTB-T001",
                "both `delay` and `length` are given, and either decides the other",
                "keep one of them",
            )
        if self.refractive_index is not None and self.length is None:
            raise refusal(
                "CTB-T001", "`refractive_index` has no `length` to act on", "give a `length`"
            )
        return self


class Fabric(Cable):
    """A fat-tree of two or three tiers: regular of order `k`, or given by its counts.

    Counts are of one plane: with two tiers `leaves`, `hosts_per_leaf`, `spines`; with three also
    `pods` (then leaves and spines are per pod) and `cores`. `parallel` is the number of cables
    between a leaf and each of its spines. `radix` and `rate` are of a whole switch port; planes
    of form nic-split break every port into as many as there are planes, `k` included.
    """

    kind: Literal["fat-tree"]
    tiers: Literal[2, 3]
    k: Count | None = None
    pods: Count | None = None
    leaves: Count | None = None
    hosts_per_leaf: Count | None = None
    spines: Count | None = None
    cores: Count | None = None
    parallel: Count | None = None
    radix: Count | None = None
    mtu: SizeOrUnknown | None = None
    host_links: Cable | None = None
    spine_links: Cable | None = None
    core_links: Cable | None = None

    @property
    def has_cores(self) -> bool:
        """Whether a third tier stands above the spines."""
        return self.tiers > Tier.SPINE

    @model_validator(mode="after")
    def _one_form(self) -> "Fabric":
        counts = ["leaves", "hosts_per_leaf", "spines"]
        upper = ["pods", "cores"]
        stray = [] if self.has_cores else self._given([*upper, "core_links"])
        if stray:
            raise refusal(
                "CTB-T002",
                f"`{stray[0]}` has no place in a fat-tree of two tiers",
                "set `tiers: 3`, or leave it out",
            )
        given = self._given(counts + upper)
        given_beside_k = given or self._given(["parallel"])
        if self.k is not None and given_beside_k:
            raise refusal(
                "CTB-T002",
                f"`k` decides the counts, so `{given_beside_k[0]}` has no place beside it",
                "keep `k` alone, or give the counts without it",
            )
        needed = counts + upper if self.has_cores else counts
        missing = [key for key in needed if key not in given]
        if self.k is None and missing:
            raise refusal(
                "CTB-T002",
                f"a fat-tree of {self.tiers} tiers without `k` needs `{'`, `'.join(missing)}`",
                "give `k`, or all the counts",
            )
        return self

    def _given(self, keys: list[str]) -> list[str]:
        return [key for key in keys if getattr(self, key) is not None]


class Host(SpecModel):
    """What every host holds."""

    accelerators: Annotated[int, Field(ge=1, le=1024)] = 1
    nics: Annotated[int, Field(ge=1, le=1024)] = 1


class Planes(SpecModel):
    """Independent copies of the fabric, and how hosts reach them.

    nic-per-plane: NIC i of a site is in plane i mod `count`. nic-split: every NIC has `count`
    ports, one in each plane, each of the whole port's rate divided by `count`.
    """

    count: Annotated[int, Field(ge=1, le=256)]
    form: Literal["nic-per-plane", "nic-split"] = "nic-per-plane"


class ScaleUp(SpecModel):
    """The links inside a supernode: each accelerator's rate one way, and the delay of a hop."""

    rate: RateOrUnknown
    delay: TimeOrUnknown


class Supernode(SpecModel):
    """A scale-up domain: this many accelerators, of whole hosts that follow one another."""

    accelerators: Count
    scale_up: ScaleUp


class Site(SpecModel):
    """A place with its own fabric; `fabric` names one of `fabrics`."""

    name: Name
    fabric: Name | None = None


class Lossless(SpecModel):
    """Lossless classes on a port, and the buffer kept for each of them after a pause is sent."""

    classes: Annotated[int, Field(ge=1, le=8)]
    headroom: SizeOrUnknown


class Trunk(Cable):
    """Long-haul cables between two sites: in each plane, `links` per pair of top switches."""

    between: Annotated[list[Name], Field(min_length=2, max_length=2)]
    rate: RateOrUnknown
    links: Count = 1
    lossless: Lossless | None = None

    @model_validator(mode="after")
    def _has_delay(self) -> "Trunk":
        if self.delay is None and self.length is None:
            raise refusal("CTB-T003", "a trunk needs a `length` or a `delay`", "`length: 150km`")
        return self


class Confidential(SpecModel):
    """The confidential VM that is launched and attested on a host of this testbed."""

    platform: Platform
    memory: Size = 2**21
    image_size: Size = 2**18
    policy: Annotated[int, Field(ge=0, le=2**32 - 1)] | None = None


class MemoryBenchmark(SpecModel):
    """A timed encryption of this much memory."""

    cipher: Literal["sm4-xts"] = "sm4-xts"
    size: Size


class Transfer(SpecModel):
    """One traffic pattern over the endpoints, such as `shift:64`; `size` is per flow."""

    name: Name
    pattern: Text
    size: Size
    spread: Literal["balanced", "ecmp"] = "balanced"


class Testbed(SpecModel):
    """A whole testbed file."""

    __test__ = False  # pytest would take the name for a test class

    ctestbed: Literal[1]
    name: Name
    title: Text | None = None
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    sources: list[Text] = Field(default_factory=list)
    assumptions: list[Text] = Field(default_factory=list)
    sites: Annotated[list[Site], Field(min_length=1, max_length=256)] | None = None
    fabric: Fabric | None = None
    fabrics: dict[str, Fabric] | None = None
    host: Host = Host()
    planes: Planes = Planes(count=1)
    supernode: Supernode | None = None
    trunks: list[Trunk] = Field(default_factory=list)
    confidential: Confidential | None = None
    memory: MemoryBenchmark | None = None
    transfers: list[Transfer] = Field(default_factory=list)
    expect: list[Text] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_source_of_fabrics(self) -> "Testbed":
        if (self.fabric is None) == (self.fabrics is None):
            raise refusal(
                "CTB-T004",
                "a testbed needs `fabric` (one for all sites) or `fabrics` (by name)",
                "give exactly one of the two",
            )
        return self
