"""The one regular Clos that formats of counts can hold: a site, a plane, equal pods."""

from dataclasses import dataclass

from ctestbed.topology.graph import PlaneBlock
from ctestbed.topology.shapes import Figures
from ctestbed.topology.writers.common import Fabric, Notes


@dataclass(frozen=True, slots=True)
class Clos:
    """A plane's layout, and the figures of its cables from the hosts up."""

    block: PlaneBlock
    layers: tuple[Figures, ...]


def why_not_clos(fabric: Fabric) -> str | None:
    """Return why the fabric is no single Clos plane given by counts; None where it is one."""
    topology, plan = fabric.topology, fabric.plan
    if topology is None or plan is None:
        return "only what counts describe can be written, and an imported cabling is a list"
    reasons = [
        (len(topology.sites) > 1, f"it has {len(topology.sites)} sites"),
        (topology.planes > 1, f"it has {topology.planes} planes"),
        (not topology.arithmetic, "it is no Clos"),
        (not topology.nics, "it has no NICs"),
    ]
    found = next((text for wrong, text in reasons if wrong), None)
    if found is not None:
        return found
    block = topology.blocks[0]
    if block.rails > 1:
        return f"hosts hang under {block.rails} leaves by rail"
    if block.tiers not in {2, 3}:
        return "it has no spines"
    return None


def clos_of(fabric: Fabric, notes: Notes) -> Clos:
    """Return the plane.

    Raises:
        InputError: the fabric is not one, or the rate or delay of a layer is unknown.
    """
    why = why_not_clos(fabric)
    if why is not None or fabric.topology is None or fabric.plan is None:
        raise notes.refusal(
            "CTB-T303",
            f"it describes one fat-tree by its counts, and here {why}",
            "export to a format of single cables, such as ns3-hpcc, graphml or csv",
        )
    block = fabric.topology.blocks[0]
    planned = fabric.plan.sites[0].planes[0]
    layers = (planned.host_cable, planned.spine_cable, planned.core_cable)[: block.tiers]
    for figures, name in zip(layers, ("host", "spine", "core"), strict=False):
        if figures.rate < 0 or figures.delay < 0:
            raise notes.refusal(
                "CTB-T302",
                f"it needs the {'rate' if figures.rate < 0 else 'delay'} of every cable, and "
                f"{name} cables say none",
                "give it in the testbed file",
            )
    return Clos(block, layers)
