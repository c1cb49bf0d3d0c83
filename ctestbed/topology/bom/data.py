"""Data of `topology bom`."""

from typing import Literal, TypeAlias

from typing_extensions import TypedDict

from ctestbed.topology.bom.lines import Group, PartKind
from ctestbed.topology.describe import Quantity

Money: TypeAlias = int | float
"""An amount in the currency of the prices."""

MoneyOrUnknown: TypeAlias = int | float | Literal["UNKNOWN"]
Ratio: TypeAlias = int | float | Literal["UNKNOWN"]
Provenance: TypeAlias = Literal["modelled", "claimed"]


class LineData(TypedDict):
    """So many of one part at one place; quantities in base units, of one part where `_each`.

    `planes` names those of a site whose planes differ; `per_plane` is the count in each, where
    planes have equal shares. `links` are those that cables (or bundles) carry. `power` is null
    where a part draws none, `price_each` where no price applies; `included` names the switch whose
    price holds it.
    """

    group: Group
    part: PartKind
    site: str
    planes: list[int] | None
    place: str
    model: str | None
    kind: str | None
    count: int
    per_plane: int | None
    links: int | None
    radix: int | None
    ports_used: int | None
    rate: Quantity
    length: Quantity
    length_class: str | None
    power_each: Quantity | None
    power: Quantity | None
    power_source: str | None
    price_each: MoneyOrUnknown | None
    cost: MoneyOrUnknown | None
    included: str | None
    price_provenance: Provenance | None
    price_source: str | None


class PowerData(TypedDict):
    """A sum of powers, in mW: UNKNOWN if that of any part is; then `at_least` has the known."""

    value: Quantity
    at_least: int
    unknown: list[str]
    provenance: Provenance


class CostData(TypedDict):
    """A sum of costs: UNKNOWN if any part has no price; then `at_least` has the known."""

    value: MoneyOrUnknown
    at_least: Money
    unknown: list[str]
    provenance: Provenance


class TransceiverData(TypedDict):
    """How many transceivers, and the cables of which it is not said what they are made of."""

    value: Quantity
    at_least: int
    unknown: list[str]


class EndpointData(TypedDict):
    """Figures of the network for each of its endpoints."""

    transceivers: Ratio
    power: Ratio
    cost: Ratio | None


class DesignData(TypedDict):
    """One testbed's bill of materials.

    An endpoint is a NIC, or an accelerator where there are none. `inter_switch_links` are those
    between switches of a site, or between accelerators that are the routers. `power` and `cost`
    are of the network: its switches, cables, transceivers and amplifiers.
    """

    design: str
    title: str
    counts_only: str | None
    endpoint: Literal["NIC", "accelerator"]
    endpoints: int
    accelerators: int
    hosts: int
    planes: int
    switches: int
    endpoint_links: int
    inter_switch_links: int
    trunk_links: int
    scale_up_switches: int
    scale_up_bundles: int
    transceivers: TransceiverData
    power: PowerData
    scale_up_power: PowerData | None
    nic_power: PowerData | None
    cost: CostData | None
    scale_up_cost: CostData | None
    nic_cost: CostData | None
    per_endpoint: EndpointData
    lines: list[LineData]


class PricesData(TypedDict):
    """The price list: its name, title and currency, and how many of its prices applied."""

    name: str
    title: str
    currency: str
    prices: int
    used: int
    provenance: list[Provenance]
    sources: list[str]


class BomData(TypedDict):
    """Data of `topology bom`: one design, or several side by side."""

    designs: list[DesignData]
    prices: PricesData | None
