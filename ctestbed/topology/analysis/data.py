"""The structure of a fabric as plain data: what `topology validate` tells of it."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from typing_extensions import TypedDict

Element: TypeAlias = Literal[
    "adapter", "cable", "leaf", "spine", "core", "router", "switch", "scale-up switch"
]
Loss: TypeAlias = Literal["network", "plane", "rail", "part"]


class Spread(TypedDict):
    """Over the pairs of leaves looked at; `typical` is the lower median.

    `typical` and `most` are null where only the fewest are known.
    """

    fewest: int
    typical: int | None
    most: int | None


def spread_of(pairs: Mapping[int, int]) -> Spread | None:
    """Return the spread of `value -> number of pairs`; None without a pair."""
    total = sum(pairs.values())
    if not total:
        return None
    seen = 0
    typical = None
    for value in sorted(pairs):
        seen += pairs[value]
        if typical is None and 2 * seen >= total:
            typical = value
    return {"fewest": min(pairs), "typical": typical, "most": max(pairs)}


def same_for_all(value: int) -> Spread:
    """Return the spread of one value that holds for every pair."""
    return {"fewest": value, "typical": value, "most": value}


class BisectionData(TypedDict):
    """What halves of one plane's endpoints can exchange one way: bounds, and whether they meet.

    In bit/s, or where a rate is unknown in cables. `sides` are the endpoint ports of the halves
    that gave `at_most`, null where a closed form did.
    """

    at_least: int
    at_most: int
    unit: Literal["bit/s", "cables"]
    exact: bool
    method: str
    sides: list[int] | None


class Methods(TypedDict):
    """How each figure of a plane was come by; null where there is no such figure."""

    hops: str | None
    shortest_paths: str | None
    disjoint_paths: str | None


class PlaneStructure(TypedDict):
    """One plane of a site (or a connected part of a record), and all that are exactly like it.

    Hops and paths are between leaves (or routers), over switches of this plane alone; paths count
    cables. `hops` says how many ordered pairs are so many hops apart; it is of pairs that start at
    `searched` of the leaves. `unreachable` pairs have no way. `fan_out` is the most next hops of
    a leaf towards another. `weakest` are the two leaves that fewest disjoint paths join.
    """

    site: str | None
    planes: list[int]
    leaves: int
    switches: int
    diameter: int | None
    mean_hops: float | None
    hops: dict[str, int]
    searched: int
    unreachable: int
    fan_out: int | None
    shortest_paths: Spread | None
    disjoint_paths: Spread | None
    weakest: list[str]
    bisection: BisectionData | None
    methods: Methods


class SinglePoint(TypedDict):
    """One kind of element of which one, lost, cuts hosts off.

    `cuts` is what they lose: the whole network, a plane, a rail, or (`part`) the hosts beyond.
    `hosts` are exposed to such a loss, `elements` are those whose loss does it, and the worst of
    these takes `most` hosts at once. `examples` name a few of the worst.
    """

    site: str | None
    planes: list[int]
    element: Element
    cuts: Loss
    hosts: int
    elements: int
    most: int
    examples: list[str]


class ThinHosts(TypedDict):
    """Hosts that hang on fewer leaves than most do."""

    leaves: int
    usual: int
    hosts: list[str]


class TrunkLoss(TypedDict):
    """A trunk whose loss cuts sites off from the others, unless its protection path takes over."""

    between: list[str]
    cut_off: list[str]
    protected: bool


class SitesData(TypedDict):
    """How sites reach each other over trunks.

    `indirect` pairs do so through a third site only, `apart` pairs not at all; `via` are sites
    whose loss cuts others from each other. `routes_fewest` is the fewest routes (a protection path
    is one) by which two sites are joined that share no trunk.
    """

    pairs: int
    direct: int
    indirect: list[list[str]]
    apart: list[list[str]]
    via: list[str]
    most_hops: int
    routes_fewest: int
    lone_trunks: list[TrunkLoss]


class StructureData(TypedDict):
    """Distances, diversity, bisection and single points of failure of a fabric.

    `hosts` are those looked at (accelerators where they are cabled directly); `unnamed` adapters
    of a record do not say which host they are in, and are in no host.
    """

    hosts: int
    unnamed: int
    planes: list[PlaneStructure]
    single_points: list[SinglePoint]
    thin_hosts: list[ThinHosts]
    sites: SitesData | None
