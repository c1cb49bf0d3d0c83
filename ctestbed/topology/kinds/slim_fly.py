"""Slim Fly: McKay-Miller-Siran graphs, the densest known of diameter 2 for many sizes.

Two sets of routers, (0, x, y) and (1, m, c), over the field of q = 4w + delta elements: those of
one x join where y differs by an element of X, those of one m where c differs by one of X', and
(0, x, y) joins (1, m, c) where y = m*x + c. Besta and Hoefler, SC 2014; Hafner 2004 for q = 4w.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ctestbed.topology.fabrics import SlimFly
from ctestbed.topology.kinds.context import (
    Context,
    FabricPlan,
    figures_of,
    no_split,
    peer_figures,
)
from ctestbed.topology.kinds.primes import nearest_prime_powers, prime_power
from ctestbed.topology.shapes import Cables, PeerLayer, PlanePlan, Shape
from ctestbed.topology.tiers import Tier

_DELTA = {0: 0, 1: 1, 3: -1}


@dataclass(frozen=True, slots=True)
class MMSWiring:
    """The MMS graph of order q; a router's cables inside its own x (or m) are local."""

    q: int
    ports: int

    @property
    def delta(self) -> int:
        """Return q - 4w: -1, 0 or 1."""
        return _DELTA[self.q % 4]

    @property
    def routers(self) -> int:
        """Number of routers, 2q^2."""
        return 2 * self.q**2

    @property
    def local(self) -> int:
        """Local neighbours of a router: (q - delta) / 2."""
        return (self.q - self.delta) // 2

    @property
    def degree(self) -> int:
        """Cables of a router: (3q - delta) / 2."""
        return self.q + self.local

    @property
    def layers(self) -> Sequence[PeerLayer]:
        """Local and global cables."""
        return (
            PeerLayer("router - router, local", self.q**2 * self.local),
            PeerLayer("router - router, global", self.q**3),
        )

    def generators(self) -> tuple[list[int], list[int]]:
        """Return X and X', by the residue of q modulo 4."""
        from ctestbed.topology.kinds.galois import field

        powers = field(self.q).powers.tolist()
        if self.delta >= 0:
            exponents = [2 * i for i in range(self.local)]
        else:  # q = 4w - 1: even powers up to 2w-2, then odd ones from 2w-1
            w = (self.q + 1) // 4
            exponents = [*range(0, 2 * w - 1, 2), *range(2 * w - 1, 4 * w - 2, 2)]
        around = self.q - 1
        return [powers[e] for e in exponents], [powers[(e + 1) % around] for e in exponents]

    def cables(self) -> Cables:
        """Lay out local cables, then global ones; ports by neighbour: local first."""
        import numpy as np

        from ctestbed.topology.kinds.galois import field

        q, tables = self.q, field(self.q)
        runs = []
        element = np.arange(q)
        for half, steps in enumerate(self.generators()):
            y = np.repeat(element, len(steps))
            rank = np.tile(np.arange(len(steps)), q)
            other = tables.add[y, np.array(steps)[rank]]
            back = np.zeros((q, q), np.int64)
            back[y, other] = rank
            once = y < other
            y, other, rank = y[once], other[once], rank[once]
            first = half * q**2 + np.repeat(element * q, len(y))
            a, b = first + np.tile(y, q), first + np.tile(other, q)
            port = np.tile(rank, q), np.tile(back[other, y], q)
            runs.append((a, b, *(self.ports + 1 + side for side in port), np.zeros_like(a)))
        x, m, c = (axis.reshape(-1) for axis in np.meshgrid(element, element, element))
        y = tables.add[tables.multiply[m, x], c]
        above = self.ports + self.local + 1
        a, b = x * q + y, q**2 + m * q + c
        runs.append((a, b, above + m, above + x, np.ones_like(a)))
        a, b, a_port, b_port, layer = (np.concatenate(column) for column in zip(*runs, strict=True))
        return a, b, a_port, b_port, layer


def plan_slim_fly(fabric: SlimFly, context: Context) -> FabricPlan | None:
    """Plan an MMS graph, or its counts alone where the file asks for these; None if refused."""
    if no_split(context, fabric.kind):
        return None
    q, missing = fabric.q, None
    if q % 4 == 2:  # noqa: PLR2004 - q = 4w + delta
        message = f"q = {q} is not 4w - 1, 4w or 4w + 1, so no Slim Fly has it"
        context.refuse("CTB-T050", message, "q", nearest_prime_powers(q))
        return None
    wiring = MMSWiring(q, fabric.p)
    if prime_power(q) is None:
        missing = f"no field has {q} elements (not a prime power), so there is no MMS graph of it"
    if missing and not fabric.counts_only:
        total = f"{wiring.routers:,} routers and {wiring.routers * fabric.p:,} endpoints"
        message = f"{missing}; its closed form alone would say {total}"
        hint = f"{nearest_prime_powers(q)}, or set `counts_only: true` for the closed form"
        context.refuse("CTB-T050", message, "q", hint)
        return None
    host = figures_of(context, fabric, fabric.host_links, "host_links")
    peers = peer_figures(context, fabric, [("router_links", fabric.router_links)] * 2)
    if host is None or peers is None:
        return None
    shape = Shape(
        tiers=Tier.LEAF,
        pods=2 * q,
        leaves_per_pod=q,
        spines_per_pod=0,
        ports_per_leaf=fabric.p,
        parallel=1,
        cores_per_spine=0,
        wiring=wiring,
    )
    plane = PlanePlan(shape, fabric.radix, host, host, host, peers)
    count = context.planes.count
    reason = (missing or "the file asks for counts only") if fabric.counts_only else None
    return FabricPlan(
        (plane,) * count, split=False, endpoints=shape.ports * count, counts_only=reason
    )
