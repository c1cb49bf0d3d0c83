"""Dragonfly: groups of routers that all meet, and global cables spread evenly between groups.

Kim, Dally, Scott, Abts, ISCA 2008. Arrangement of global cables: circulant. Port n of a group
(router n div h) leads n mod (g-1) + 1 groups onwards, so whole rounds of g-1 ports join every
pair of groups once; r ports beyond whole rounds lead 1 ... r/2 groups onwards and backwards, and
half-way round where r is odd.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ctestbed.topology.fabrics import Dragonfly
from ctestbed.topology.kinds.context import (
    Context,
    FabricPlan,
    figures_of,
    no_split,
    peer_figures,
)
from ctestbed.topology.shapes import Cables, PeerLayer, PlanePlan, Shape
from ctestbed.topology.tiers import Tier

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class DragonflyWiring:
    """g groups of a routers with h global ports each, `ports` NICs below every router."""

    ports: int
    a: int
    h: int
    g: int

    @property
    def routers(self) -> int:
        """Number of routers."""
        return self.a * self.g

    @property
    def degree(self) -> int:
        """Peer cables of a router; a single group has no global ones."""
        return self.a - 1 + (self.h if self.g > 1 else 0)

    @property
    def layers(self) -> Sequence[PeerLayer]:
        """Local cables, and global ones: g*a(a-1)/2 and g*a*h/2."""
        return (
            PeerLayer("router - router, local", self.g * self.a * (self.a - 1) // 2),
            PeerLayer(
                "router - router, global", self.g * self.a * self.h // 2 if self.g > 1 else 0
            ),
        )

    def cables(self) -> Cables:
        """Lay out local cables group by group, then global ones; ports likewise."""
        import numpy as np

        first, second = np.triu_indices(self.a, 1)
        start = np.repeat(np.arange(self.g) * self.a, len(first))
        low, high = np.tile(first, self.g), np.tile(second, self.g)
        local = (start + low, start + high, self.ports + high, self.ports + low + 1)
        runs = [(*local, np.zeros_like(start))]
        if self.g > 1:
            forward, back = self._paired_ports()
            group = np.repeat(np.arange(self.g), len(forward))
            out, into = np.tile(forward, self.g), np.tile(back, self.g)
            half_way = out == into  # either end leads half-way round: one cable, not two
            other = (group + self._offset(out)) % self.g
            once = ~half_way | (group < other)
            group, other, out, into = group[once], other[once], out[once], into[once]
            above = self.ports + self.a
            runs.append(
                (
                    group * self.a + out // self.h,
                    other * self.a + into // self.h,
                    above + out % self.h,
                    above + into % self.h,
                    np.ones_like(group),
                )
            )
        a, b, a_port, b_port, layer = (np.concatenate(column) for column in zip(*runs, strict=True))
        return a, b, a_port, b_port, layer

    def _offset(self, port: "Column") -> "Column":
        """Return how many groups onwards a global port leads."""
        import numpy as np

        others = self.g - 1
        whole = self.a * self.h // others * others
        rest = self.a * self.h - whole
        beyond = port - whole
        # Of the rest: +1, -1, +2, -2, ... and the last, where rest is odd, half-way round.
        step = beyond // 2 + 1
        signed = np.where(beyond % 2 == 0, step, self.g - step)
        signed = np.where((rest % 2 == 1) & (beyond == rest - 1), self.g // 2, signed)
        return np.where(port < whole, port % others + 1, signed)

    def _paired_ports(self) -> "tuple[Column, Column]":
        """Return ports that lead onwards, and the port at the far group that leads back."""
        import numpy as np

        others = self.g - 1
        port = np.arange(self.a * self.h)
        whole = self.a * self.h // others * others
        offset = self._offset(port)
        in_round = port // others * others + (self.g - offset) - 1
        beyond = whole + ((port - whole) ^ 1)
        rest = self.a * self.h - whole
        alone = (rest % 2 == 1) & (port == self.a * self.h - 1)
        back = np.where(port < whole, in_round, np.where(alone, port, beyond))
        onwards = (port < back) | (back == port)
        return port[onwards], back[onwards]


def plan_dragonfly(fabric: Dragonfly, context: Context) -> FabricPlan | None:
    """Plan a dragonfly; None after a finding."""
    if no_split(context, fabric.kind):
        return None
    most = fabric.a * fabric.h + 1
    groups = most if fabric.g is None else fabric.g
    if groups > most:
        message = (
            f"{groups} groups cannot all meet: a group has a*h = {most - 1} global ports, "
            f"enough for {most}"
        )
        context.refuse("CTB-T051", message, "g", f"use at most {most} groups")
        return None
    if groups > 1 and groups * (most - 1) % 2:
        message = f"{groups} groups of {most - 1} global ports are an odd number of cable ends"
        context.refuse("CTB-T051", message, "g", "make one of g, a and h even")
        return None
    wiring = DragonflyWiring(fabric.p, fabric.a, fabric.h, groups)
    host = figures_of(context, fabric, fabric.host_links, "host_links")
    sections = [("local_links", fabric.local_links), ("global_links", fabric.global_links)]
    peers = peer_figures(context, fabric, sections)
    if host is None or peers is None:
        return None
    shape = Shape(
        tiers=Tier.LEAF,
        pods=groups,
        leaves_per_pod=fabric.a,
        spines_per_pod=0,
        ports_per_leaf=fabric.p,
        parallel=1,
        cores_per_spine=0,
        wiring=wiring,
    )
    plane = PlanePlan(shape, fabric.radix, host, host, host, peers)
    count = context.planes.count
    return FabricPlan((plane,) * count, split=False, endpoints=shape.ports * count)
