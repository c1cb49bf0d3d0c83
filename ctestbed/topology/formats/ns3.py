"""The topology files of ns-3 as HPCC and SimAI use it: counts, switch ids, one line per link.

HPCC's first line is nodes, switches, links; SimAI's is nodes, GPUs per server, NVSwitches, other
switches, links, GPU type. Then come the ids of all switches, and `a b rate delay errorRate` per
link. The simulator stops reading at the count of links; what follows is prose.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ctestbed.core.units import parse_rate, parse_time
from ctestbed.topology.cabling import SCALE_UP, Cabling, Device, DeviceKind
from ctestbed.topology.formats.collect import Collector
from ctestbed.topology.formats.source import Source, shorten

HPCC: Final = "ns3-hpcc"
SIMAI: Final = "simai"

HPCC_HEADER: Final = re.compile(r"\s*([0-9]{1,20})\s+([0-9]{1,20})\s+([0-9]{1,20})\s*")
SIMAI_HEADER: Final = re.compile(
    r"\s*([0-9]{1,20})\s+([0-9]{1,20})\s+([0-9]{1,20})\s+([0-9]{1,20})\s+([0-9]{1,20})\s+(\w{1,40})\s*"
)
_NUMBER: Final = re.compile(r"[0-9]{1,20}")
_ERROR_RATE: Final = re.compile(r"[0-9]*\.?[0-9]+(?:[eE]-?[0-9]{1,3})?|[0-9]+\.")
_FIELDS: Final = 5


@dataclass(frozen=True, slots=True)
class _Header:
    nodes: int
    switches: int
    links: int


def read_hpcc(source: Source) -> Cabling:
    """Read a topology of HPCC's ns-3. Nodes are called by their numbers.

    Raises:
        InputError: counts and body disagree, or a line is malformed; with its line.
    """
    match = HPCC_HEADER.fullmatch(source.lines[0])
    if match is None:
        raise source.bad_line(1, "nodes, switches and links", "such as `376 56 480`")
    header = _Header(*map(int, match.groups()))
    collector = Collector(source, HPCC)
    switches = _switch_ids(collector, header)
    for node in range(header.nodes):
        kind = DeviceKind.SWITCH if node in switches else DeviceKind.HOST
        collector.add(Device(str(node), kind, line=switches.get(node)))
    _read_links(collector, header)
    return collector.finish(source.name)


def read_simai(source: Source) -> Cabling:
    """Read a topology of SimAI: GPUs first, then NVSwitches, then the network's switches.

    Raises:
        InputError: counts and body disagree, or a line is malformed; with its line.
    """
    match = SIMAI_HEADER.fullmatch(source.lines[0])
    if match is None:
        raise source.bad_line(
            1,
            "nodes, GPUs per server, NVSwitches, switches, links and GPU type",
            "such as `216 8 16 72 768 H100`",
        )
    nodes, per_server, nvswitches, others, links = (int(match[n]) for n in range(1, 6))
    header = _Header(nodes, nvswitches + others, links)
    collector = Collector(source, SIMAI)
    switches = _switch_ids(collector, header)
    gpus = nodes - header.switches
    if per_server < 1 or gpus % per_server:
        raise source.refuse(
            "CTB-T102",
            f"{gpus} GPUs do not fill servers of {per_server}",
            1,
            "nodes less NVSwitches less switches is the number of GPUs",
        )
    stray = next((node for node in switches if node < gpus), None)
    if stray is not None:
        raise source.refuse(
            "CTB-T102",
            f"switch {stray} has the number of a GPU: GPUs are 0 to {gpus - 1}",
            2,
            "GPUs come first, then NVSwitches, then switches",
        )
    for node in range(nodes):
        if node < gpus:
            host = f"server-{node // per_server}"
            rail = node % per_server
            collector.add(Device(str(node), DeviceKind.ACCELERATOR, host=host, rail=rail))
        else:
            role = SCALE_UP if node < gpus + nvswitches else None
            collector.add(Device(str(node), DeviceKind.SWITCH, role=role, line=2))
    _read_links(collector, header)
    attributes = {"gpu_type": match[6], "gpus_per_server": match[2]}
    return collector.finish(source.name, attributes)


def _switch_ids(collector: Collector, header: _Header) -> Mapping[int, int]:
    """Return the switches' numbers with the line of each, checked against the header."""
    source = collector.source
    collector.refuse_size(header.nodes, header.links, 1)
    if header.switches > header.nodes:
        message = f"{header.switches} switches among {header.nodes} nodes"
        raise source.refuse("CTB-T102", message, 1, "check the first line")
    words = source.lines[1].split() if len(source.lines) > 1 else []
    found: dict[int, int] = {}
    for word in words:
        if _NUMBER.fullmatch(word) is None or int(word) >= header.nodes:
            message = f"{shorten(word)!r} is no node: they are 0 to {header.nodes - 1}"
            raise source.refuse("CTB-T101", message, 2, "line 2 lists the switches")
        if int(word) in found:
            message = f"switch {word} is listed twice"
            raise source.refuse("CTB-T104", message, 2, "line 2 lists each switch once")
        found[int(word)] = 2
    if len(found) != header.switches:
        raise source.refuse(
            "CTB-T102",
            f"the first line says {header.switches} switches, and line 2 lists {len(found)}",
            2,
            "check that the file is whole",
        )
    return found


def _read_links(collector: Collector, header: _Header) -> None:
    source = collector.source
    read = 0
    quantities: dict[tuple[str, str], tuple[int, int]] = {}
    for number in range(3, len(source.lines) + 1):
        line = source.lines[number - 1]
        if read == header.links:
            break
        if not line.strip():
            continue
        _read_link(collector, header, number, quantities)
        read += 1
    else:
        number = len(source.lines) + 1
    if read != header.links:
        raise source.refuse(
            "CTB-T102",
            f"the first line says {header.links} links, and the file holds {read}",
            len(source.lines),
            "check that the file is whole",
        )
    rest = [n for n in range(number, len(source.lines) + 1) if source.lines[n - 1].strip()]
    if rest:
        collector.note(
            "CTB-T124",
            "note",
            f"{len(rest)} lines after the {header.links} links were not read, "
            "as the simulator does not either",
            rest[0],
            "if they are links, correct the count in the first line",
        )


def _read_link(
    collector: Collector,
    header: _Header,
    number: int,
    quantities: dict[tuple[str, str], tuple[int, int]],
) -> None:
    source = collector.source
    words = source.lines[number - 1].split()
    if len(words) != _FIELDS or not all(map(_NUMBER.fullmatch, words[:2])):
        raise source.bad_line(
            number, "a link", f"`a b rate delay errorRate`; the first line says {header.links}"
        )
    for word in words[:2]:
        if int(word) >= header.nodes:
            message = f"there is no node {word}: they are 0 to {header.nodes - 1}"
            raise source.refuse("CTB-T105", message, number, "check the first line's count")
    key = (words[2], words[3])
    if key not in quantities:
        where = source.where(number)
        quantities[key] = (int(parse_rate(key[0], where)), int(parse_time(key[1], where)))
    rate, delay = quantities[key]
    if _ERROR_RATE.fullmatch(words[4]) is None or float(words[4]) > 1:
        message = f"{shorten(words[4])!r} is no error rate from 0 to 1"
        raise source.refuse("CTB-T113", message, number, "`0` for a link that loses nothing")
    lossy = float(words[4]) > 0
    collector.cable(
        int(words[0]),
        int(words[1]),
        rate=rate,
        delay=delay,
        line=number,
        extra={"error_rate": words[4]} if lossy else None,
    )
