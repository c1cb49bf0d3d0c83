"""Topology files of ns-3 as HPCC and SimAI read them: counts, switch ids, `a b rate delay error`.

Endpoints come first, then switches. Nodes are numbers; a pair of nodes has one link in the
simulator, whatever the file says, so parallel cables are noted.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from ctestbed.topology.cabling import SCALE_UP, Cabling, Column, DeviceKind
from ctestbed.topology.writers.common import (
    Fabric,
    Memo,
    Notes,
    batched,
    cable_rows,
    many,
    parallel_pairs,
    refuse_self_loops,
    require,
    switch_mask,
)
from ctestbed.topology.writers.servers import Servers, merge_servers
from ctestbed.topology.writers.views import network

_PS_PER_NS: Final = 1000
_RATES: Final = ((10**9, "Gbps"), (10**6, "Mbps"), (10**3, "kbps"), (1, "bps"))


def rate_token(rate: int) -> str:
    """Return a rate as ns-3 reads it, a whole number of the largest unit: `400Gbps`."""
    return next(f"{rate // scale}{unit}" for scale, unit in _RATES if rate % scale == 0)


def delay_token(delay: int) -> str:
    """Return a time as ns-3 reads it: whole nanoseconds, or else picoseconds."""
    whole = delay % _PS_PER_NS == 0
    return f"{delay // _PS_PER_NS}ns" if whole else f"{delay}ps"


def write_hpcc(fabric: Fabric, notes: Notes) -> Iterator[str]:
    """Write a topology for HPCC's ns-3.

    Raises:
        InputError: unknown rates or delays, or endpoints cabled to each other.
    """
    cabling = network(fabric.cabling, notes)
    switch = switch_mask(cabling)
    _check(cabling, switch, notes)
    _note_adapters(cabling, notes)
    order = np.concatenate([np.flatnonzero(~switch), np.flatnonzero(switch)])
    switches = int(switch.sum())
    first = len(order) - switches
    yield f"{len(order)} {switches} {len(cabling.cables)}\n"
    yield from _body(cabling, order, range(first, len(order)))


def write_simai(fabric: Fabric, notes: Notes) -> Iterator[str]:
    """Write a topology for SimAI: GPUs server by server, NVSwitches, then the network's switches.

    Raises:
        InputError: unknown rates or delays, servers that differ, or GPUs that share an adapter.
    """
    servers = merge_servers(fabric, notes)
    cabling = servers.cabling
    switch = switch_mask(cabling)
    _check(cabling, switch, notes)
    inside = np.array([device.role == SCALE_UP for device in cabling.devices], bool)
    groups = [servers.gpus, np.flatnonzero(inside), np.flatnonzero(switch & ~inside)]
    order = np.concatenate(groups)
    gpus, inner, outer = (len(group) for group in groups)
    gpu_type = _gpu_type(servers, notes)
    if not inner and servers.per_server > 1:
        notes.add(
            "CTB-T317",
            "it has no NVSwitch, so traffic between the GPUs of a server takes the network",
            "lay out the supernodes in the testbed file",
        )
    header = (len(order), servers.per_server, inner, outer, len(cabling.cables))
    yield f"{' '.join(map(str, header))} {gpu_type}\n"
    yield from _body(cabling, order, range(gpus, len(order)))


def _gpu_type(servers: Servers, notes: Notes) -> str:
    given = servers.cabling.attributes.get("gpu_type", "")
    if given.isalnum():
        return given
    notes.add(
        "CTB-T318",
        "the kind of GPU is not known here and stands as NONE",
        "write H100, H800, A100 or A800 as the last word of the first line",
    )
    return "NONE"


def _body(cabling: Cabling, order: Column, switches: range) -> Iterator[str]:
    """Yield the line of switch ids and the links, in the numbers that `order` gives."""
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    numbers = number.tolist()
    yield " ".join(map(str, switches)) + "\n"
    rate_text, delay_text = Memo(rate_token), Memo(delay_token)
    errors = cabling.cables.extra.get("error_rate")
    rows = cable_rows(cabling.cables)
    yield from batched(
        f"{numbers[a]} {numbers[b]} {rate_text[rate]} {delay_text[delay]} "
        f"{(errors[row] or '0') if errors else '0'}\n"
        for row, (a, b, _, _, rate, delay, _) in enumerate(rows)
    )


def _check(cabling: Cabling, switch: Column, notes: Notes) -> None:
    """Refuse what would be a wrong file; say what the format has no place for.

    Raises:
        InputError: unknown rates or delays, loops, endpoints cabled to each other.
    """
    cables = cabling.cables
    require(notes, cabling, "rate", "delay")
    refuse_self_loops(notes, cabling)
    direct = np.flatnonzero(~(switch[cables.a] | switch[cables.b]))
    if len(direct):
        raise notes.refusal(
            "CTB-T304",
            f"{many(len(direct), 'cable')} join endpoints to each other, the first "
            f"{cabling.cable_name(int(direct[0]))}, and endpoints do not forward here",
            "export to graphml, node-link, csv or astra-sim",
        )
    notes.add(
        "CTB-T310",
        "nodes are numbers, endpoints first: no names, ports, planes, sites or lengths",
        "keep the testbed file beside it: numbers follow its order",
    )
    pairs = parallel_pairs(cabling)
    if pairs:
        notes.add(
            "CTB-T313",
            f"{many(pairs, 'pair')} of nodes have parallel cables, all written; the simulator "
            "keeps one link per pair, so they carry less there",
            "use one cable of the summed rate if the simulator is to have all the capacity",
        )
    odd = int((cables.delay % _PS_PER_NS != 0).sum())
    if odd:
        notes.add(
            "CTB-T316",
            f"{many(odd, 'delay')} are no whole nanoseconds, which is what ns-3 counts in by "
            "default",
            "set ns-3's time resolution to ps, or round the delays",
        )


def _note_adapters(cabling: Cabling, notes: Notes) -> None:
    hosts: dict[str, int] = {}
    for device in cabling.devices:
        if device.kind == DeviceKind.NIC and device.host is not None:
            hosts[device.host] = hosts.get(device.host, 0) + 1
    if hosts and max(hosts.values()) > 1:
        notes.add(
            "CTB-T317",
            "every NIC is a host of its own: which NICs share a host is not held",
            "NICs of a host are next to each other in number",
        )
