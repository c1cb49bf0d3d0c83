"""ASTRA-sim's network YAML: lists of topology, NPU count, bandwidth (GB/s) and latency (ns).

A torus or mesh of accelerators is held dimension by dimension; a switched fabric becomes a switch
that joins the accelerators of a supernode or host, and one that joins those.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from ctestbed.topology.kinds.lattice import FullMeshWiring, TorusWiring
from ctestbed.topology.shapes import Figures, SitePlan
from ctestbed.topology.writers.common import Fabric, Notes

_BITS_PER_GB: Final = 8 * 10**9
_PS_PER_NS: Final = 1000


@dataclass(frozen=True, slots=True)
class _Dimension:
    shape: str
    count: int
    rate: int
    delay: int
    name: str


def write(fabric: Fabric, notes: Notes) -> Iterator[str]:
    """Write a network file.

    Raises:
        InputError: several sites, an open grid, unknown figures, or an imported cabling.
    """
    plan = fabric.plan
    if plan is None or len(plan.sites) > 1:
        why = "an imported cabling has none" if plan is None else "trunks between sites are none"
        raise notes.refusal(
            "CTB-T303",
            f"it describes dimensions, each of one shape and rate, and {why}",
            "export one site, or choose a format of single cables",
        )
    site = plan.sites[0]
    wiring = site.shape.wiring
    if site.shape.tiers == 0 and wiring is not None:
        dimensions = _grid(site, notes)
    elif wiring is not None:
        raise notes.refusal(
            "CTB-T303",
            f"it knows rings, full meshes and switches, and no {site.kind}",
            "export to ns3-hpcc, graphml or csv",
        )
    else:
        dimensions = _switched(site, plan.split, notes)
    for dimension in dimensions:
        _require(dimension, notes)
    notes.add(
        "CTB-T316",
        "bandwidths are in GB of 10^9 bytes; ASTRA-sim's analytical model computes with 2^30",
        "divide them by 1.073741824 where its times are to be compared with others",
    )
    columns = {
        "topology": [dimension.shape for dimension in dimensions],
        "npus_count": [str(dimension.count) for dimension in dimensions],
        "bandwidth": [_decimal(dimension.rate, _BITS_PER_GB) for dimension in dimensions],
        "latency": [_decimal(dimension.delay, _PS_PER_NS) for dimension in dimensions],
    }
    units = {"topology": "", "npus_count": "", "bandwidth": "  # GB/s", "latency": "  # ns"}
    for key, items in columns.items():
        yield f"{key}: [ {', '.join(items)} ]{units[key]}\n"


def _grid(site: SitePlan, notes: Notes) -> list[_Dimension]:
    """Return a torus or mesh; ASTRA-sim counts with the first dimension fastest, we with the last.

    Raises:
        InputError: an open grid.
    """
    wiring = site.shape.wiring
    cables = site.planes[0].peer_cables
    if isinstance(wiring, TorusWiring):
        if not wiring.wrap and any(side > 2 for side in wiring.dims):  # noqa: PLR2004 - two make no ring
            raise notes.refusal(
                "CTB-T303", "its rings are closed, and this grid is open", "set `wrap: true`"
            )
        shape = "Ring"
    elif isinstance(wiring, FullMeshWiring):
        shape = "FullyConnected"
    else:
        raise notes.refusal("CTB-T303", "it knows rings, meshes and switches", "see graphml")
    rows = zip(wiring.dims, cables, strict=True)
    found = [
        _Dimension(shape, side, figures.rate, figures.delay, f"dimension {axis}")
        for axis, (side, figures) in enumerate(rows)
        if side > 1
    ]
    return found[::-1] or [_Dimension(shape, 1, cables[0].rate, cables[0].delay, "dimension 0")]


def _switched(site: SitePlan, split: bool, notes: Notes) -> list[_Dimension]:
    """Return scale-up and scale-out as one switch each."""
    supernode = site.supernode
    domain = 1 if supernode is None else supernode.accelerators
    found = []
    if supernode is not None and domain > 1:
        cable, switches = supernode.cable, max(supernode.switches, 1)
        found.append(
            _Dimension("Switch", domain, cable.rate * switches, cable.delay, "scale-up cables")
        )
    elif site.accelerators_per_host > 1:
        notes.add(
            "CTB-T317",
            "hosts have no scale-up network in the testbed, so their accelerators are joined by "
            "the network alone",
            "describe `supernode` in the testbed file",
        )
    groups = site.accelerators // domain
    if groups > 1 or not found:
        found.append(_scale_out(site, split, groups))
        notes.add(
            "CTB-T317",
            "the network is one switch per dimension that never blocks: tiers, planes, paths and "
            "oversubscription are not held",
            "use astra-sim with ns-3 (export to simai or ns3-hpcc) where they matter",
        )
    return found


def _scale_out(site: SitePlan, split: bool, groups: int) -> _Dimension:
    """Return the network as one switch: an accelerator's share of the NICs, half the longest way.

    The analytical model counts a switch as two hops of the latency given.
    """
    planes = len(site.planes) if split else 1
    cables = [plane.host_cable for plane in site.planes]
    rate = min((figures.rate for figures in cables), default=-1)
    ports = site.nics_per_host * planes
    shape = site.shape
    way: Sequence[Figures] = [
        site.host_cable,
        *([site.spine_cable] if shape.spines else []),
        *([site.core_cable] if shape.cores else []),
    ]
    known = rate >= 0 and site.accelerators_per_host > 0
    share = rate * ports // site.accelerators_per_host if known else -1
    delay = sum(figures.delay for figures in way) if all(f.delay >= 0 for f in way) else -1
    return _Dimension("Switch", groups, share, delay, "network cables")


def _require(dimension: _Dimension, notes: Notes) -> None:
    for what, value in (("rate", dimension.rate), ("delay", dimension.delay)):
        if value < 0 or (what == "rate" and value == 0):
            raise notes.refusal(
                "CTB-T302",
                f"it needs the {what} of every dimension, and {dimension.name} say none",
                f"give the {what} in the testbed file",
            )


def _decimal(value: int, scale: int) -> str:
    text = f"{Decimal(value) / scale:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
