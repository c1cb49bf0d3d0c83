"""SimGrid's platform XML: its clusters, laid out as SimGrid lays them out.

FAT_TREE, DRAGONFLY and TORUS clusters, and FLAT ones (all hosts on one backbone). Platforms that
list hosts, links and routes one by one give routes rather than cables, and are refused.
"""

import re
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import Final

from ctestbed.core.errors import InputError
from ctestbed.core.units import parse_rate, parse_time
from ctestbed.topology.cabling import Cabling, Device, DeviceKind
from ctestbed.topology.formats.collect import Collector
from ctestbed.topology.formats.source import Source, shorten
from ctestbed.topology.formats.xmltext import Element

FORMAT: Final = "simgrid"

_TOPOLOGIES: Final = ("FAT_TREE", "DRAGONFLY", "TORUS", "FLAT")
_RADICAL: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_NUMBER: Final = re.compile(r"[0-9]{1,7}")
_BYTES: Final = re.compile(r"(.*?)(Bps)")
_MAX_LEVELS: Final = 8
_COORDINATES: Final = 4


@dataclass(frozen=True, slots=True)
class _Cluster:
    source: Source
    element: Element
    hosts: list[int]
    rate: int | None
    delay: int | None

    def refuse(self, code: str, message: str, hint: str) -> InputError:
        return self.source.refuse(code, message, self.element.line, hint)

    def attribute(self, name: str) -> str:
        value = self.element.attributes.get(name, "")
        if not value:
            raise self.refuse("CTB-T113", f"<cluster> has no `{name}`", f'write `{name}="..."`')
        return value

    def numbers(self, text: str, count: int | None = None) -> list[int]:
        """Return whole numbers above 0, parted by commas."""
        words = [word.strip() for word in text.split(",")]
        if not all(_NUMBER.fullmatch(word) and int(word) > 0 for word in words) or (
            count is not None and len(words) != count
        ):
            what = "whole numbers above 0" if count is None else f"{count} of them"
            message = f"{shorten(text)!r} in `topo_parameters` is not {what}"
            raise self.refuse("CTB-T113", message, "see SimGrid's manual of cluster topologies")
        return [int(word) for word in words]


def read(source: Source, root: Element) -> Cabling:
    """Read the clusters of a platform.

    Raises:
        InputError: no cluster, or one whose counts do not fit; with its line.
    """
    clusters = _clusters(root)
    if not clusters:
        raise source.refuse(
            "CTB-T114",
            "the platform has no <cluster>; hosts with routes give no cables",
            root.line,
            "import one whose clusters say FAT_TREE, DRAGONFLY, TORUS or FLAT",
        )
    collector = Collector(source, FORMAT)
    attributes: dict[str, str] = {}
    for element in clusters:
        _read_cluster(collector, element, len(clusters) > 1)
        prefix = f"{element.attributes.get('id', '')}." if len(clusters) > 1 else ""
        attributes |= {f"{prefix}{key}": value for key, value in element.attributes.items()}
    return collector.finish(clusters[0].attributes.get("id") or source.name, attributes)


def _clusters(element: Element) -> list[Element]:
    found = [element] if element.tag == "cluster" else []
    return found + [cluster for child in element.children for cluster in _clusters(child)]


def _read_cluster(collector: Collector, element: Element, several: bool) -> None:
    source = collector.source
    topology = element.attributes.get("topology", "FLAT").upper()
    if topology not in _TOPOLOGIES:
        raise source.refuse(
            "CTB-T106",
            f"{shorten(topology)!r} is no topology of a cluster",
            element.line,
            f"known: {', '.join(_TOPOLOGIES)}",
        )
    cluster = _Cluster(source, element, [], *_figures(source, element))
    numbers = _radical(cluster)
    collector.refuse_size(len(collector.devices) + len(numbers), len(numbers), element.line)
    prefix, suffix = (element.attributes.get(key, "") for key in ("prefix", "suffix"))
    for number in numbers:
        name = f"{prefix}{number}{suffix}"
        device = Device(name, DeviceKind.HOST, tier=0, line=element.line)
        cluster.hosts.append(collector.add(device))
    own = f"{element.attributes.get('id', 'cluster')}/" if several else ""
    lay_out = {
        "FAT_TREE": _fat_tree,
        "DRAGONFLY": _dragonfly,
        "TORUS": _torus,
        "FLAT": _flat,
    }
    lay_out[topology](collector, cluster, own)


def _radical(cluster: _Cluster) -> list[int]:
    """Return the numbers of the hosts: `0-15`, `0,2,4-7`."""
    numbers: list[int] = []
    for part in cluster.attribute("radical").split(","):
        match = _RADICAL.fullmatch(part.strip())
        first = int(match[1]) if match else 0
        last = int(match[2] or match[1]) if match else -1
        if match is None or last < first:
            message = f"{shorten(part)!r} in `radical` is no range"
            raise cluster.refuse("CTB-T113", message, "write it like `0-15`")
        if last - first > 2**21:
            message = f"`radical` counts {last - first + 1} hosts"
            raise cluster.refuse("CTB-T108", message, "check the range")
        numbers += range(first, last + 1)
    return numbers


def _figures(source: Source, element: Element) -> tuple[int | None, int | None]:
    where = source.where(element.line)
    bandwidth, latency = element.attributes.get("bw"), element.attributes.get("lat")
    rate = None
    if bandwidth:
        # SimGrid writes bytes per second as Bps; a bare number is in bytes per second.
        text = bandwidth if not bandwidth.strip()[-1:].isdigit() else f"{bandwidth}Bps"
        match = _BYTES.fullmatch(text.strip())
        rate = int(parse_rate(f"{match[1]}B/s" if match else text, where))
    delay = None
    if latency:
        text = latency if not latency.strip()[-1:].isdigit() else f"{latency}s"
        delay = int(parse_time(text, where))
    return rate, delay


def _add(collector: Collector, cluster: _Cluster, name: str, *, tier: int | None, role: str) -> int:
    return collector.add(
        Device(name, DeviceKind.SWITCH, tier=tier, role=role, line=cluster.element.line)
    )


def _join(collector: Collector, cluster: _Cluster, a: int, b: int, cables: int = 1) -> None:
    for _ in range(cables):
        collector.cable(a, b, rate=cluster.rate, delay=cluster.delay, line=cluster.element.line)


def _expect_hosts(cluster: _Cluster, wanted: int) -> None:
    if len(cluster.hosts) != wanted:
        raise cluster.refuse(
            "CTB-T102",
            f"`topo_parameters` make {wanted} hosts, and `radical` counts {len(cluster.hosts)}",
            "make the two agree",
        )


def _fat_tree(collector: Collector, cluster: _Cluster, own: str) -> None:
    """Lay out `levels; children per level; parents per level; parallel cables per level`.

    An element of level l has one digit per level: the first l below `parents`, the rest below
    `children`. It hangs under those of the next level whose other digits are the same.
    """
    parts = cluster.attribute("topo_parameters").split(";")
    levels = cluster.numbers(parts[0], 1)[0]
    if len(parts) != _COORDINATES or levels > _MAX_LEVELS:
        message = "a fat-tree has `levels; down; up; cables`, of at most 8 levels"
        raise cluster.refuse("CTB-T113", message, "such as `2;4,4;1,2;1,2`")
    down, up, cables = (cluster.numbers(part, levels) for part in parts[1:])
    _expect_hosts(cluster, prod(down))
    sizes = [[*up[:level], *down[level:]] for level in range(levels + 1)]
    total = sum(prod(sizes[level]) * up[level] * cables[level] for level in range(levels))
    collector.refuse_size(sum(map(prod, sizes)), total, cluster.element.line)
    below = {_digits(number, sizes[0]): host for number, host in enumerate(cluster.hosts)}
    for level in range(levels):
        above: dict[tuple[int, ...], int] = {}
        for number in range(prod(sizes[level + 1])):
            name = f"{own}switch-{level + 1}-{number}"
            role = "leaf" if level == 0 else "spine" if level == 1 else "core"
            switch = _add(collector, cluster, name, tier=level + 1, role=role)
            above[_digits(number, sizes[level + 1])] = switch
        for digits, lower in below.items():
            for parent in range(up[level]):
                peer = above[*digits[:level], parent, *digits[level + 1 :]]
                _join(collector, cluster, lower, peer, cables[level])
        below = above


def _digits(number: int, sizes: list[int]) -> tuple[int, ...]:
    """Return a number's digits in mixed radix, the first counting fastest."""
    digits = []
    for size in sizes:
        number, digit = divmod(number, size)
        digits.append(digit)
    return tuple(digits)


def _dragonfly(collector: Collector, cluster: _Cluster, own: str) -> None:
    """Lay out `groups,cables; chassis,cables; routers,cables; hosts`.

    Routers of a chassis are joined all to all, as are those of one place in all chassis of a
    group; router j of group i is joined to router i of group j.
    """
    parts = cluster.attribute("topo_parameters").split(";")
    if len(parts) != _COORDINATES:
        message = "a dragonfly has `groups,cables; chassis,cables; routers,cables; hosts`"
        raise cluster.refuse("CTB-T113", message, "such as `3,4;3,2;3,1;2`")
    (groups, blue), (chassis, black), (blades, green) = (
        cluster.numbers(part, 2) for part in parts[:3]
    )
    per_router = cluster.numbers(parts[3], 1)[0]
    per_group = chassis * blades
    _expect_hosts(cluster, groups * per_group * per_router)
    if groups > per_group:
        message = f"{groups} groups, and {per_group} routers in each to reach the others"
        raise cluster.refuse("CTB-T102", message, "router j of a group leads to group j")
    pairs = (
        groups * chassis * blades * (blades - 1) // 2 * green
        + groups * blades * chassis * (chassis - 1) // 2 * black
        + groups * (groups - 1) // 2 * blue
    )
    count = len(cluster.hosts)
    collector.refuse_size(count + groups * per_group, count + pairs, cluster.element.line)
    routers = [
        _add(collector, cluster, f"{own}router-{group}-{c}-{blade}", tier=1, role="router")
        for group, c, blade in product(range(groups), range(chassis), range(blades))
    ]
    for number, host in enumerate(cluster.hosts):
        _join(collector, cluster, host, routers[number // per_router])
    for first in range(0, len(routers), blades):
        for one, two in combinations(range(first, first + blades), 2):
            _join(collector, cluster, routers[one], routers[two], green)
    for group, blade in product(range(groups), range(blades)):
        column = [group * per_group + c * blades + blade for c in range(chassis)]
        for one, two in combinations(column, 2):
            _join(collector, cluster, routers[one], routers[two], black)
    for one, two in combinations(range(groups), 2):
        ends = (routers[one * per_group + two], routers[two * per_group + one])
        _join(collector, cluster, *ends, blue)


def _torus(collector: Collector, cluster: _Cluster, _own: str) -> None:
    """Lay out the sizes of the dimensions, the first counting fastest; hosts are joined directly.

    As in SimGrid, a dimension of two joins its pairs by two cables, there and back.
    """
    sizes = cluster.numbers(cluster.attribute("topo_parameters"))
    _expect_hosts(cluster, prod(sizes))
    cables = len(cluster.hosts) * sum(size > 1 for size in sizes)
    collector.refuse_size(len(cluster.hosts), cables, cluster.element.line)
    for number, host in enumerate(cluster.hosts):
        stride = 1
        for size in sizes:
            place = number // stride % size
            if size > 1:
                peer = number + ((place + 1) % size - place) * stride
                _join(collector, cluster, host, cluster.hosts[peer])
            stride *= size


def _flat(collector: Collector, cluster: _Cluster, own: str) -> None:
    backbone = _add(collector, cluster, f"{own}backbone", tier=1, role="backbone")
    for host in cluster.hosts:
        _join(collector, cluster, host, backbone)
