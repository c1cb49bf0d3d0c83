"""The .topo file of htsim: counts of a fat-tree, held to the checks that htsim makes of them.

htsim takes `Radix_Down / Radix_Up` of a leaf, rounded down, for its oversubscription, and derives
the cables up from speeds and that figure; where the two disagree it exits.
"""

from collections.abc import Iterator
from typing import Final

from ctestbed.core.units import format_rate
from ctestbed.topology.writers.common import Fabric, Notes
from ctestbed.topology.writers.regular import Clos, clos_of

_GBPS: Final = 10**9
_PS_PER_NS: Final = 1000


def write(fabric: Fabric, notes: Notes) -> Iterator[str]:
    """Write a .topo file.

    Raises:
        InputError: not one regular fat-tree, or one that htsim's own checks refuse.
    """
    clos = clos_of(fabric, notes)
    _check_units(clos, notes)
    block = clos.block
    oversubscribed = _oversubscription(clos, notes)
    podsize = block.leaves_per_pod * block.ports_per_leaf
    radices = [
        (block.ports_per_leaf, block.spines_per_pod * block.parallel, 1),
        (block.leaves_per_pod * block.parallel, block.cores_per_spine, block.parallel),
        (block.pods, 0, 1),
    ][: block.tiers]
    lines = [f"Nodes {block.ports}", f"Tiers {block.tiers}", f"Podsize {podsize}"]
    for tier, ((down, up, bundle), figures) in enumerate(zip(radices, clos.layers, strict=True)):
        lines += [
            "",
            f"Tier {tier}",
            f"Downlink_speed_Gbps {figures.rate // _GBPS}",
            f"Radix_Down {down}",
        ]
        if tier < block.tiers - 1:
            lines.append(f"Radix_Up {up}")
        lines.append(f"Downlink_Latency_ns {figures.delay // _PS_PER_NS}")
        if tier < block.tiers - 1:
            lines.append(f"Oversubscribed {oversubscribed[tier]}")
        if bundle > 1:
            lines.append(f"Bundle {bundle}")
        lines.append("Switch_Latency_ns 0")
    notes.add(
        "CTB-T310",
        "hosts and switches are numbers: no names, ports, lengths or hosts of several NICs",
        "host i is the i-th NIC of the testbed",
    )
    notes.add(
        "CTB-T318",
        "switches have no latency of their own in a testbed, so `Switch_Latency_ns` is 0; queue "
        "sizes are left to htsim's command line",
        "set them by hand where they matter",
    )
    yield "\n".join(lines) + "\n"


def _check_units(clos: Clos, notes: Notes) -> None:
    for figures in clos.layers:
        if figures.rate % _GBPS:
            raise notes.refusal(
                "CTB-T306",
                f"speeds are whole Gb/s, and a cable has {format_rate(figures.rate)}",
                "round it in the testbed file",
            )
        if figures.delay % _PS_PER_NS:
            raise notes.refusal(
                "CTB-T306",
                f"latencies are whole nanoseconds, and a cable has {figures.delay} ps",
                "round it in the testbed file",
            )


def _oversubscription(clos: Clos, notes: Notes) -> list[int]:
    """Return what `Oversubscribed` must be at leaves and spines.

    Raises:
        InputError: no whole number makes htsim derive this fabric.
    """
    block, rates = clos.block, [figures.rate for figures in clos.layers]
    up = block.spines_per_pod * block.parallel
    found = [block.ports_per_leaf // up]
    below = [block.ports_per_leaf * rates[0]]
    above = [up * rates[1]]
    if block.cores_per_spine:
        below.append(block.leaves_per_pod * block.parallel * rates[1])
        above.append(block.cores_per_spine * rates[2])
        found.append(below[1] // above[1])
    for tier, ratio in enumerate(found):
        if ratio < 1 or below[tier] != ratio * above[tier]:
            name = ("leaf", "spine")[tier]
            raise notes.refusal(
                "CTB-T303",
                f"a {name} has {format_rate(below[tier])} down and {format_rate(above[tier])} up, "
                "and htsim wants the one to be a whole multiple of the other, by ports as by rate",
                "export to ns3-hpcc, which lists single cables",
            )
    return found
