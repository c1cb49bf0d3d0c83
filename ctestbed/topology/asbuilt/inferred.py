"""The data form of what was inferred of a fabric: each figure with its cables for and against."""

from typing import TypeAlias

from typing_extensions import TypedDict

Figure: TypeAlias = int | None


class TierData(TypedDict):
    """Switches of one tier."""

    tier: int
    name: str
    switches: int


class LayerData(TypedDict):
    """Cables between two tiers. `pairs_for` pairs have the usual number, `pairs_against` not.

    `full_mesh` is false where switches are joined to some of those above only; then only the
    number of cables upwards is compared. `rate` is the usual one in bit/s.
    """

    lower: str
    upper: str
    groups: int
    full_mesh: bool
    cables_per_pair: Figure
    pairs_for: int
    pairs_against: int
    cables_expected: int
    cables_present: int
    rate: Figure
    rate_for: int
    rate_against: int


class HostsData(TypedDict):
    """Endpoints below leaves: the usual number, and how many leaves have it and have not."""

    endpoints_per_leaf: Figure
    leaves_for: int
    leaves_against: int
    hosts: int
    rate: Figure
    rate_for: int
    rate_against: int


class RailsData(TypedDict):
    """Rails: adapters on the leaf of their rail (`for`) and elsewhere; hosts left out of it."""

    rails: int
    leaves_per_rail: int
    segments: int
    adapters_for: int
    adapters_against: int
    other_hosts: list[str]


class InferredData(TypedDict):
    """What regular fabric the record shows; `kind` is `irregular` where it shows none."""

    kind: str
    description: str
    planes: int
    endpoints: int
    tiers: list[TierData]
    layers: list[LayerData]
    below: HostsData
    rails: RailsData | None
