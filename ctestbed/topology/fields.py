"""Fields that the models of a testbed file share: names, counts, and the figures of cables."""

import re
from decimal import Decimal
from typing import Annotated, Any, Final, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from ctestbed.core.errors import InputError
from ctestbed.core.spec import (
    Length,
    LengthOrUnknown,
    RateOrUnknown,
    SizeOrUnknown,
    SpecModel,
    TimeOrUnknown,
)
from ctestbed.core.units import Millimetres, fibre_delay

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
PartName: TypeAlias = Annotated[str, Field(min_length=1, max_length=63)]
"""What `parts` calls a switch model, a medium or a NIC model."""


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


def _some(value: Any) -> Any:
    """Refuse a port that carries nothing."""
    if value == 0:
        raise refusal("CTB-T011", "a port of 0 carries nothing", "leave it out, or `unknown`")
    return value


FrameSize: TypeAlias = Annotated[SizeOrUnknown, AfterValidator(_some)]
PortRate: TypeAlias = Annotated[RateOrUnknown, AfterValidator(_some)]


class Port(SpecModel):
    """What a port at one end of a cable is set to, where that is said."""

    rate: PortRate | None = None
    mtu: FrameSize | None = None


class Switch(Port):
    """The ports of a switch (`downlinks` and `uplinks` where they differ) and its packet buffer.

    The uplinks of a top switch are its trunk ports. `buffer` is what all its ports share. `model`
    is one of `parts.switches`.
    """

    model: PartName | None = None
    downlinks: Port | None = None
    uplinks: Port | None = None
    buffer: SizeOrUnknown | None = None


class Lossless(SpecModel):
    """Lossless classes on a port, and the buffer kept for each of them after a pause is sent."""

    classes: Annotated[int, Field(ge=1, le=8)]
    headroom: SizeOrUnknown


def _within_reach(value: Any) -> Any:
    """Refuse a length whose delay could not be held, whatever the fibre's index."""
    if isinstance(value, int):
        try:
            fibre_delay(Millimetres(value), Decimal(MAX_REFRACTIVE_INDEX))
        except InputError as error:
            raise refusal(error.code, error.message, error.hint or "") from None
    return value


CableLength: TypeAlias = Annotated[LengthOrUnknown, AfterValidator(_within_reach)]


class Cable(SpecModel):
    """Figures of one class of cables; what is left out comes from the fabric's own figures."""

    rate: RateOrUnknown | None = None
    delay: TimeOrUnknown | None = None
    length: CableLength | None = None
    refractive_index: RefractiveIndex | None = None
    medium: PartName | None = None
    lossless: Lossless | None = None

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


class Amplifiers(SpecModel):
    """In-line amplifiers of a long-haul route: one after every full `spacing`, none at its end."""

    spacing: Length
    delay: TimeOrUnknown
    amplifier_model: PartName | None = None

    @model_validator(mode="after")
    def _some_way_apart(self) -> "Amplifiers":
        if self.spacing == 0:
            raise refusal("CTB-T001", "amplifiers 0 km apart are no route", "`spacing: 80km`")
        return self


class Route(Cable):
    """The way a long-haul cable takes: its length (or delay) and what stands along it."""

    amplifiers: Amplifiers | None = None

    @model_validator(mode="after")
    def _amplifiers_need_length(self) -> "Route":
        if self.amplifiers is not None and not isinstance(self.length, int):
            raise refusal(
                "CTB-T001", "`amplifiers` are counted along a `length`", "give a `length`"
            )
        return self
