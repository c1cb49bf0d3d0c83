"""Grids of accelerators that are their own routers: n-D tori, and n-D full meshes.

Accelerators are numbered with the last dimension fastest. Ports run dimension by dimension: in a
torus two each, onwards and back; in a full mesh one for each other position of the line.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ctestbed.topology.fabrics import FullMesh, Torus
from ctestbed.topology.kinds.context import Context, FabricPlan, no_planes, peer_figures
from ctestbed.topology.shapes import (
    UNKNOWN_FIGURE,
    Cables,
    Figures,
    PeerLayer,
    PlanePlan,
    Shape,
)

_NO_CABLE = Figures(UNKNOWN_FIGURE, UNKNOWN_FIGURE, UNKNOWN_FIGURE)
_PAIR = 2


@dataclass(frozen=True, slots=True)
class TorusWiring:
    """A torus, or an open grid where `wrap` is off. A side of 2 has one cable, wrapped or not."""

    dims: tuple[int, ...]
    wrap: bool

    @property
    def routers(self) -> int:
        """Number of accelerators."""
        return prod(self.dims)

    @property
    def degree(self) -> int:
        """Cables of an accelerator in the middle: two in each dimension, one where it is 2 long."""
        return sum(min(side - 1, _PAIR) for side in self.dims)

    def _per_line(self, side: int) -> int:
        return side if self.wrap and side > _PAIR else side - 1

    @property
    def layers(self) -> Sequence[PeerLayer]:
        """One class for each dimension."""
        return tuple(
            PeerLayer(f"dimension {axis}", self.routers // side * self._per_line(side))
            for axis, side in enumerate(self.dims)
        )

    def cables(self) -> Cables:
        """Lay out dimension by dimension, from each position to the next onwards."""
        import numpy as np

        grid = np.arange(self.routers).reshape(self.dims)
        runs = []
        port = 1
        for axis, side in enumerate(self.dims):
            lines = np.moveaxis(grid, axis, -1).reshape(-1, side)
            steps = self._per_line(side)
            a = lines[:, :steps].reshape(-1)
            b = np.roll(lines, -1, axis=1)[:, :steps].reshape(-1)
            back = port + (1 if side > _PAIR else 0)
            # At a side of 2, the one port onwards is also the one back.
            runs.append((a, b, np.full_like(a, port), np.full_like(a, back), np.full_like(a, axis)))
            port += min(side - 1, _PAIR)
        a, b, a_port, b_port, layer = (np.concatenate(column) for column in zip(*runs, strict=True))
        return a, b, a_port, b_port, layer


@dataclass(frozen=True, slots=True)
class FullMeshWiring:
    """An n-D full mesh: along every line of every dimension, all pairs are cabled."""

    dims: tuple[int, ...]

    @property
    def routers(self) -> int:
        """Number of accelerators."""
        return prod(self.dims)

    @property
    def degree(self) -> int:
        """Direct neighbours of an accelerator: the sum of (side - 1)."""
        return sum(side - 1 for side in self.dims)

    @property
    def layers(self) -> Sequence[PeerLayer]:
        """One class for each dimension."""
        return tuple(
            PeerLayer(f"dimension {axis}", self.routers * (side - 1) // 2)
            for axis, side in enumerate(self.dims)
        )

    def cables(self) -> Cables:
        """Lay out dimension by dimension, line by line, all pairs of a line."""
        import numpy as np

        grid = np.arange(self.routers).reshape(self.dims)
        runs = []
        port = 1
        for axis, side in enumerate(self.dims):
            lines = np.moveaxis(grid, axis, -1).reshape(-1, side)
            low, high = np.triu_indices(side, 1)
            a, b = lines[:, low].reshape(-1), lines[:, high].reshape(-1)
            a_port = np.tile(port + high - 1, len(lines))  # ports count the line's others in order
            b_port = np.tile(port + low, len(lines))
            runs.append((a, b, a_port, b_port, np.full_like(a, axis)))
            port += side - 1
        a, b, a_port, b_port, layer = (np.concatenate(column) for column in zip(*runs, strict=True))
        return a, b, a_port, b_port, layer


def plan_torus(fabric: Torus, context: Context) -> FabricPlan | None:
    """Plan a torus, whole cubes of it where it is made of cubes; None after a finding."""
    sides, cube = tuple(fabric.dims), fabric.cube
    if cube is not None:
        for axis, side in enumerate(sides):
            if fabric.wrap and side % cube:
                message = f"side {side} is not made of cubes of side {cube}"
                below = side // cube * cube
                hint = f"use {below or cube} or {below + cube}, or `wrap: false` inside one cube"
                context.report("CTB-T053", message, (*context.path, "dims", axis), hint)
                return None
            if not fabric.wrap and cube % side:
                message = f"a slice inside a cube of side {cube} cannot have side {side}"
                hint = f"use a divisor of {cube}, or `wrap: true` and a multiple of it"
                context.report("CTB-T053", message, (*context.path, "dims", axis), hint)
                return None
    return _plan_lattice(fabric, TorusWiring(sides, fabric.wrap), context)


def plan_full_mesh(fabric: FullMesh, context: Context) -> FabricPlan | None:
    """Plan an n-D full mesh; None after a finding."""
    return _plan_lattice(fabric, FullMeshWiring(tuple(fabric.dims)), context)


def _plan_lattice(
    fabric: Torus | FullMesh, wiring: TorusWiring | FullMeshWiring, context: Context
) -> FabricPlan | None:
    if no_planes(context, fabric.kind, "its accelerators are the routers"):
        return None
    if "nics" in context.host.model_fields_set:
        message = f"accelerators of a {fabric.kind} are cabled directly, so hosts have no NICs"
        context.report("CTB-T052", message, ("host", "nics"), "leave `host.nics` out")
        return None
    own = fabric.dim_links
    if own is not None and len(own) != len(wiring.dims):
        message = f"{len(own)} classes of cables are given for {len(wiring.dims)} dimensions"
        context.refuse("CTB-T052", message, "dim_links", "give one for each dimension, in order")
        return None
    sections = [
        (f"dim_links[{axis}]", None if own is None else own[axis])
        for axis in range(len(wiring.dims))
    ]
    peers = peer_figures(context, fabric, sections)
    if peers is None:
        return None
    shape = Shape(
        tiers=0,
        pods=1,
        leaves_per_pod=0,
        spines_per_pod=0,
        ports_per_leaf=0,
        parallel=1,
        cores_per_spine=0,
        wiring=wiring,
    )
    if fabric.radix is not None and wiring.degree > fabric.radix:
        message = f"an accelerator uses {wiring.degree} ports, and has {fabric.radix}"
        context.refuse("CTB-T014", message, "radix", "use fewer or shorter dimensions")
        return None
    plane = PlanePlan(shape, fabric.radix, _NO_CABLE, _NO_CABLE, _NO_CABLE, peers)
    return FabricPlan((plane,), split=False, endpoints=wiring.routers, direct=True)
