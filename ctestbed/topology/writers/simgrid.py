"""SimGrid's platform XML: a FAT_TREE cluster where that says it all, else hosts, links and routes.

A cluster has one rate and one latency for all its cables. Where a fabric is not so regular, every
device is a host or a router of a zone that routes by shortest path; between two of them SimGrid
has one route, so parallel cables become one link of their summed rate.
"""

from collections.abc import Iterator
from typing import Final
from xml.sax.saxutils import quoteattr

import numpy as np

from ctestbed.topology.cabling import Cabling
from ctestbed.topology.writers.common import (
    Fabric,
    Memo,
    Notes,
    batched,
    many,
    refuse_self_loops,
    require,
    switch_mask,
)
from ctestbed.topology.writers.ns3 import delay_token, rate_token
from ctestbed.topology.writers.regular import Clos, clos_of, why_not_clos
from ctestbed.topology.writers.text import refuse_control_characters
from ctestbed.topology.writers.views import network

_HEAD: Final = (
    "<?xml version='1.0'?>\n"
    '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
    '<platform version="4.1">\n'
)
_SPEED: Final = "1Gf"


def write(fabric: Fabric, notes: Notes) -> Iterator[str]:
    """Write a platform.

    Raises:
        InputError: unknown rates or delays, or a device cabled to itself.
    """
    notes.add(
        "CTB-T318",
        f"hosts must have a speed, which a testbed does not say: {_SPEED} stands there",
        "set `speed` where computing is simulated too",
    )
    yield _HEAD
    if why_not_clos(fabric) is None and len(set(clos_of(fabric, notes).layers)) == 1:
        yield _cluster(fabric, clos_of(fabric, notes), notes)
    else:
        yield from _zone(network(fabric.cabling, notes), notes)
    yield "</platform>\n"


def _cluster(fabric: Fabric, clos: Clos, notes: Notes) -> str:
    block, figures = clos.block, clos.layers[0]
    down = [block.ports_per_leaf, block.leaves_per_pod, block.pods][: block.tiers]
    up = [1, block.spines_per_pod, block.cores_per_spine][: block.tiers]
    cables = [1, block.parallel, 1][: block.tiers]
    parts = [str(block.tiers), *(",".join(map(str, part)) for part in (down, up, cables))]
    notes.add(
        "CTB-T310",
        "hosts are numbers, and switches have no names: no ports, lengths or hosts of several NICs",
        "host i is the i-th NIC of the testbed",
    )
    name = quoteattr(fabric.cabling.name)
    return (
        '  <zone id="world" routing="Full">\n'
        f'    <cluster id={name} prefix="nic-" radical="0-{block.ports - 1}" suffix=""\n'
        f'             speed="{_SPEED}" bw="{rate_token(figures.rate)}" '
        f'lat="{delay_token(figures.delay)}"\n'
        f'             sharing_policy="SPLITDUPLEX" topology="FAT_TREE" '
        f'topo_parameters="{";".join(parts)}"/>\n'
        "  </zone>\n"
    )


def _zone(cabling: Cabling, notes: Notes) -> Iterator[str]:
    require(notes, cabling, "rate", "delay")
    refuse_self_loops(notes, cabling)
    refuse_control_characters(cabling, notes)
    names = [quoteattr(device.name) for device in cabling.devices]
    switch = switch_mask(cabling).tolist()
    a, b, rate, delay = _merged(cabling, notes)
    notes.add(
        "CTB-T317",
        "routes are shortest paths, one per pair of hosts, by Dijkstra: SimGrid neither spreads "
        "nor hashes over equal ones here",
        "a regular fabric of one rate and delay becomes a FAT_TREE cluster, which spreads",
    )
    yield '  <zone id="world" routing="Dijkstra">\n'
    yield from batched(
        f"    <router id={name}/>\n" if forwards else f'    <host id={name} speed="{_SPEED}"/>\n'
        for name, forwards in zip(names, switch, strict=True)
    )
    rate_text, delay_text = Memo(rate_token), Memo(delay_token)
    yield from batched(
        f'    <link id="link-{row}" bandwidth="{rate_text[bits]}" latency="{delay_text[ps]}" '
        'sharing_policy="SPLITDUPLEX"/>\n'
        for row, (bits, ps) in enumerate(zip(rate, delay, strict=True))
    )
    yield from batched(
        f"    <route src={names[near]} dst={names[far]}>"
        f'<link_ctn id="link-{row}" direction="UP"/></route>\n'
        for row, (near, far) in enumerate(zip(a, b, strict=True))
    )
    yield "  </zone>\n"


def _merged(cabling: Cabling, notes: Notes) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return one link per pair of devices: ends, summed rate, longest delay."""
    cables = cabling.cables
    size = max(len(cabling.devices), 1)
    low = np.minimum(cables.a, cables.b).astype(np.int64)
    keys = low * size + np.maximum(cables.a, cables.b)
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    rate = np.zeros(len(first), np.int64)
    delay = np.zeros(len(first), np.int64)
    np.add.at(rate, place, cables.rate)
    np.maximum.at(delay, place, cables.delay)
    if len(first) < len(cables):
        notes.add(
            "CTB-T313",
            f"parallel cables become one link of their summed rate: {many(len(first), 'link')} "
            f"for {many(len(cables), 'cable')}",
            "a single flow can then run faster than one cable",
        )
    notes.add(
        "CTB-T310",
        "ports, lengths, planes, pods, sites and rails are not held",
        "keep the testbed file beside it",
    )
    columns = (cables.a[first], cables.b[first], rate, delay)
    a, b, rates, delays = (column.tolist() for column in columns)
    return a, b, rates, delays
