"""The kinds of fabric a testbed file can describe, one model each, told apart by `kind`.

Models only: which fields a kind has and which of them exclude each other. Whether the numbers
make a network is asked by `kinds`, one module for each family.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from ctestbed.core.spec import SpecModel
from ctestbed.topology.fields import Cable, Count, FrameSize, Switch, Text, refusal
from ctestbed.topology.tiers import Tier

Dimensions: TypeAlias = Annotated[list[Count], Field(min_length=1, max_length=8)]


class FabricBase(Cable):
    """What all kinds share: figures for every cable, the ports of a switch, the frame size.

    `mtu` is of every port, NICs' included, that does not say otherwise; `switch` of all switches.
    """

    vendor: Text | None = None
    radix: Count | None = None
    mtu: FrameSize | None = None
    switch: Switch | None = None

    def given(self, keys: list[str]) -> list[str]:
        """Return those of the keys that the file gives."""
        return [key for key in keys if getattr(self, key) is not None]


class FatTree(FabricBase):
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
    host_links: Cable | None = None
    spine_links: Cable | None = None
    core_links: Cable | None = None
    leaf_switch: Switch | None = None
    spine_switch: Switch | None = None
    core_switch: Switch | None = None

    @property
    def has_cores(self) -> bool:
        """Whether a third tier stands above the spines."""
        return self.tiers > Tier.SPINE

    @model_validator(mode="after")
    def _one_form(self) -> "FatTree":
        counts = ["leaves", "hosts_per_leaf", "spines"]
        upper = ["pods", "cores"]
        stray = [] if self.has_cores else self.given([*upper, "core_links", "core_switch"])
        if stray:
            raise refusal(
                "CTB-T002",
                f"`{stray[0]}` has no place in a fat-tree of two tiers",
                "set `tiers: 3`, or leave it out",
            )
        given = self.given(counts + upper)
        given_beside_k = given or self.given(["parallel"])
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


class RailOptimised(FabricBase):
    """Segments of hosts whose i-th NICs meet at the ToRs of rail i; spines above join all rails.

    Each rail of a segment has `tors_per_rail` ToRs, and every NIC one port to each of them: ToR j
    of a rail, and all above it, is plane j (dual-ToR and dual-plane with 2). Counts of segments
    and spines are of one pod; `pods` and `cores` add a third tier. Rates are of a port as it is.
    """

    kind: Literal["rail-optimised"]
    rails: Annotated[int, Field(ge=1, le=1024)]
    tors_per_rail: Annotated[int, Field(ge=1, le=16)] = 1
    segments: Count
    hosts_per_segment: Count
    spines: Count
    parallel: Count | None = None
    pods: Count | None = None
    cores: Count | None = None
    host_links: Cable | None = None
    spine_links: Cable | None = None
    core_links: Cable | None = None
    leaf_switch: Switch | None = None
    spine_switch: Switch | None = None
    core_switch: Switch | None = None

    @model_validator(mode="after")
    def _pods_and_cores(self) -> "RailOptimised":
        upper = self.given(["pods", "cores", "core_links", "core_switch"])
        if upper and (self.pods is None or self.cores is None):
            raise refusal(
                "CTB-T002",
                f"`{upper[0]}` belongs to a third tier, which needs both `pods` and `cores`",
                "give both, or neither",
            )
        return self


class RailOnly(FabricBase):
    """Rails that nothing joins: the i-th NICs of all scale-up domains meet at rail i's switch.

    A domain holds `rails` NICs, over one host or several. A rail too large for one switch is a
    leaf-spine of its own: `leaves` and `spines` are of one rail.
    """

    kind: Literal["rail-only"]
    rails: Annotated[int, Field(ge=1, le=1024)]
    domains: Count
    leaves: Count = 1
    spines: Count | None = None
    parallel: Count | None = None
    host_links: Cable | None = None
    spine_links: Cable | None = None
    leaf_switch: Switch | None = None
    spine_switch: Switch | None = None

    @model_validator(mode="after")
    def _spines_join_leaves(self) -> "RailOnly":
        upper = self.given(["spines", "parallel", "spine_links", "spine_switch"])
        if self.leaves > 1 and self.spines is None:
            raise refusal(
                "CTB-T002", "the leaves of a rail need `spines` to join them", "`spines: 4`"
            )
        if self.spines is None and upper:
            raise refusal(
                "CTB-T002",
                f"`{upper[0]}` has no place in a rail without spines",
                "give `leaves` and `spines`, or leave it out",
            )
        return self


class SlimFly(FabricBase):
    """The MMS graph over the field of q elements: 2q^2 routers, `p` NICs on each, diameter 2.

    `counts_only` plans the closed form alone, for a q that no field has.
    """

    kind: Literal["slim-fly"]
    q: Annotated[int, Field(ge=3, le=1024)]
    p: Count
    counts_only: bool = False
    host_links: Cable | None = None
    router_links: Cable | None = None


class Dragonfly(FabricBase):
    """`g` groups of `a` routers, `p` NICs and `h` global ports on each; a*h + 1 groups at most.

    Routers of a group all meet. Global port n of a group (n from 0, router n div h) leads n mod
    (g - 1) + 1 groups onwards; ports that do not fill a round lead to the nearest groups.
    """

    kind: Literal["dragonfly"]
    p: Count
    a: Count
    h: Count
    g: Count | None = None
    host_links: Cable | None = None
    local_links: Cable | None = None
    global_links: Cable | None = None


class Torus(FabricBase):
    """Accelerators on a grid of the sides `dims`, cabled to their neighbours in each dimension.

    `wrap` closes each line to a ring; a side of 2 has one cable either way. `cube` is the side of
    the blocks that optical switches join (4 for TPU v4): a wrapped side is a multiple of it, and
    a grid without `wrap` lies inside one block.
    """

    kind: Literal["torus"]
    dims: Dimensions
    wrap: bool = True
    cube: Count | None = None
    dim_links: list[Cable] | None = None


class FullMesh(FabricBase):
    """Accelerators on a grid of the sides `dims`, each cabled to all others of its every line."""

    kind: Literal["full-mesh"]
    dims: Dimensions
    dim_links: list[Cable] | None = None


class ScaleUpOnly(SpecModel):
    """Supernodes and nothing between them: no NICs, no network but their own."""

    kind: Literal["scale-up"]
    supernodes: Count
    vendor: Text | None = None
    mtu: FrameSize | None = None


AnyFabric: TypeAlias = (
    FatTree | RailOptimised | RailOnly | SlimFly | Dragonfly | Torus | FullMesh | ScaleUpOnly
)
Fabric: TypeAlias = Annotated[AnyFabric, Field(discriminator="kind")]
