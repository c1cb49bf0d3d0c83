"""What a network is bought as: models of switches and NICs, and media of cables, by name.

Models only. Whatever a file leaves out is unknown, and so is every sum that needs it.
"""

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, model_validator

from ctestbed.core.spec import (
    LengthOrUnknown,
    PowerOrUnknown,
    RateOrUnknown,
    SpecModel,
    Unknown,
)
from ctestbed.topology.fields import Count, PartName, Text, refusal

MediumKind: TypeAlias = Literal["transceiver", "aoc", "dac", "aec"]

MAX_BREAKOUT: Final = 64


class Part(SpecModel):
    """What every part may say of itself: where its figures come from, and a remark."""

    source: Text | None = None
    note: Text | None = None


class SwitchModel(Part):
    """A model of switch: whole ports, the rate of each, and the power without transceivers."""

    radix: Count
    port_rate: RateOrUnknown = Unknown.UNKNOWN
    power: PowerOrUnknown = Unknown.UNKNOWN


class Medium(Part):
    """What cables are made of: a transceiver at each end of a fibre, or a cable with its ends on.

    `rate` and `power_per_end` are of one end in a whole port, which carries `breakout` cables of
    an equal part of the rate each; left out, as many as planes split a port into. `reach` holds
    without amplifiers, `amplified_reach` on a route that has them. `in_nics` is for a transceiver
    in a switch that serves several NICs, each of which has another one.
    """

    kind: MediumKind
    rate: RateOrUnknown = Unknown.UNKNOWN
    reach: LengthOrUnknown = Unknown.UNKNOWN
    amplified_reach: LengthOrUnknown | None = None
    power_per_end: PowerOrUnknown = Unknown.UNKNOWN
    breakout: Annotated[int, Field(ge=1, le=MAX_BREAKOUT)] | None = None
    in_nics: PartName | None = None

    @model_validator(mode="after")
    def _only_modules_differ(self) -> "Medium":
        if self.in_nics is not None and self.kind != "transceiver":
            raise refusal(
                "CTB-T001",
                f"a medium of kind {self.kind} has its ends on, so it has no `in_nics`",
                "leave it out, or use `kind: transceiver`",
            )
        return self

    @model_validator(mode="after")
    def _only_light_is_amplified(self) -> "Medium":
        if self.amplified_reach is not None and self.kind != "transceiver":
            raise refusal(
                "CTB-T001",
                f"nothing amplifies a medium of kind {self.kind}, so it has no `amplified_reach`",
                "leave it out, or use `kind: transceiver`",
            )
        return self


class NICModel(Part):
    """A model of NIC, and the power of one without its transceivers."""

    power: PowerOrUnknown = Unknown.UNKNOWN


class AmplifierModel(Part):
    """A model of in-line amplifier, and the power of what stands at one place for all fibres."""

    power: PowerOrUnknown = Unknown.UNKNOWN


class Parts(SpecModel):
    """The parts that a testbed's switches, cables, NICs and amplifiers name."""

    switches: dict[str, SwitchModel] = Field(default_factory=dict)
    media: dict[str, Medium] = Field(default_factory=dict)
    nics: dict[str, NICModel] = Field(default_factory=dict)
    amplifiers: dict[str, AmplifierModel] = Field(default_factory=dict)
