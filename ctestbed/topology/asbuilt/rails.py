"""Which leaf each adapter of a host belongs to, told from what most hosts do.

Where the i-th adapters of hosts meet at leaves of their own, those leaves are rail i; the hosts
below the same leaves are a segment, and each rail of a segment has as many leaves as is usual.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from ctestbed.topology.asbuilt.deviations import Deviation, some
from ctestbed.topology.asbuilt.layers import cluster, most_common
from ctestbed.topology.asbuilt.naming import guess_name
from ctestbed.topology.cabling import Cabling, Column

ALIGNED: Final = 0.8
"""Rails are there where so large a share of adapters sits on a leaf of their own kind."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A cable from an adapter of a known host to a leaf."""

    device: int
    host: str
    rail: int
    leaf: int
    port: int


@dataclass(frozen=True)
class Segment:
    """Hosts below the same leaves, and those leaves by rail."""

    hosts: tuple[str, ...]
    leaves: dict[int, tuple[int, ...]]


@dataclass
class Rails:
    """What was found of rails. `moves`: (adapter, leaf it is on) -> leaf it belongs on."""

    rails: tuple[int, ...]
    tors: int
    aligned: int
    astray: int
    leaf_rail: dict[int, int]
    segments: tuple[Segment, ...]
    others: tuple[str, ...]
    """Hosts of another kind: fewer adapters, none of them on the leaf of its rail."""
    moves: dict[tuple[int, int], int] = field(default_factory=dict)
    additions: list[tuple[int, int]] = field(default_factory=list)
    """Adapters without a cable, each with the leaf it belongs on."""
    deviations: list[Deviation] = field(default_factory=list)
    absent_leaves: int = 0


def attachments(cabling: Cabling, tier: Column) -> list[Attachment]:
    """Return every cable between an adapter with a host and a rail, and a leaf."""
    cables = cabling.cables
    found = []
    columns = (cables.a, cables.b, cables.a_port, cables.b_port)
    for a, b, a_port, b_port in zip(*(column.tolist() for column in columns), strict=True):
        near, far, port = (a, b, b_port) if tier[a] == 0 else (b, a, a_port)
        device = cabling.devices[near]
        if tier[near] == 0 and tier[far] == 1 and device.host and device.rail is not None:
            found.append(Attachment(near, device.host, device.rail, far, port))
    return found


def find_rails(cabling: Cabling, tier: Column) -> Rails | None:
    """Find rails, and what departs from them; None where hosts are not cabled in rails."""
    found = attachments(cabling, tier)
    by_host: dict[str, list[Attachment]] = defaultdict(list)
    for one in found:
        by_host[one.host].append(one)
    leaf_rail = _leaf_rails(found)
    aligned = sum(1 for one in found if leaf_rail[one.leaf] == one.rail)
    if len(set(leaf_rail.values())) < 2 or aligned < ALIGNED * len(found):  # noqa: PLR2004
        return None
    usual = _usual_rails(by_host)
    if len(usual) < 2:  # noqa: PLR2004 - one rail is none
        return None
    size = most_common(Counter(len(ones) for ones in by_host.values()))
    others = {
        host
        for host, ones in by_host.items()
        if len(ones) < size and all(leaf_rail[one.leaf] != one.rail for one in ones)
    }
    regular = {host: ones for host, ones in by_host.items() if host not in others}
    segments = _segments(regular, leaf_rail)
    tors = most_common(
        Counter(len(leaves) for segment in segments for leaves in segment.leaves.values())
    )
    kept = [one for ones in regular.values() for one in ones]
    aligned = sum(1 for one in kept if leaf_rail[one.leaf] == one.rail)
    rails = Rails(
        tuple(sorted(usual)),
        tors,
        aligned,
        len(kept) - aligned,
        leaf_rail,
        segments,
        tuple(sorted(others)),
    )
    _Check(cabling, rails, regular, tier).run()
    return rails


def _leaf_rails(found: Iterable[Attachment]) -> dict[int, int]:
    counts: dict[int, Counter[int]] = defaultdict(Counter)
    for one in found:
        counts[one.leaf][one.rail] += 1
    return {
        leaf: min(rails, key=lambda rail: (-rails[rail], rail)) for leaf, rails in counts.items()
    }


def _usual_rails(by_host: dict[str, list[Attachment]]) -> frozenset[int]:
    """Return the rails that most hosts with many of them have."""
    sets = Counter(frozenset(one.rail for one in ones) for ones in by_host.values())
    return max(sets, key=lambda rails: (sets[rails], len(rails), sorted(rails)))


def _segments(
    by_host: dict[str, list[Attachment]], leaf_rail: dict[int, int]
) -> tuple[Segment, ...]:
    hosts = sorted(by_host)
    number = {host: -1 - at for at, host in enumerate(hosts)}
    leaves = sorted({one.leaf for ones in by_host.values() for one in ones})
    pairs = Counter((number[host], one.leaf) for host in hosts for one in by_host[host])
    group = cluster([number[host] for host in hosts], leaves, dict(pairs))
    members: dict[int, list[str]] = defaultdict(list)
    below: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for host in hosts:
        members[group[number[host]]].append(host)
    for leaf in leaves:
        below[group[leaf]][leaf_rail[leaf]].append(leaf)
    return tuple(
        Segment(tuple(found), {rail: tuple(ones) for rail, ones in sorted(below[at].items())})
        for at, found in sorted(members.items())
    )


class _Check:
    """Where each regular host departs from one adapter on each rail of its segment."""

    def __init__(
        self,
        cabling: Cabling,
        rails: Rails,
        by_host: dict[str, list[Attachment]],
        tier: Column,
    ) -> None:
        self.cabling = cabling
        self.rails = rails
        self.by_host = by_host
        self.idle = self._idle(tier)
        self.unnamed = self._unnamed(tier)

    def _idle(self, tier: Column) -> dict[tuple[str, int], int]:
        """Return the adapters without any cable to a leaf, by host and rail."""
        cabled = {one.device for ones in self.by_host.values() for one in ones}
        return {
            (device.host, device.rail): position
            for position, device in enumerate(self.cabling.devices)
            if device.host
            and device.rail is not None
            and position not in cabled
            and tier[position] == 0
        }

    def _unnamed(self, tier: Column) -> set[tuple[int, int]]:
        """Return (leaf, port) of adapters that do not say whose they are."""
        cables, devices = self.cabling.cables, self.cabling.devices
        found = set()
        columns = (cables.a, cables.b, cables.a_port, cables.b_port)
        for a, b, a_port, b_port in zip(*(column.tolist() for column in columns), strict=True):
            near, far, port = (a, b, b_port) if tier[a] == 0 else (b, a, a_port)
            if tier[near] == 0 and tier[far] == 1 and devices[near].host is None:
                found.add((far, port))
        return found

    def run(self) -> None:
        """Check every segment."""
        for segment in self.rails.segments:
            lacking: dict[int, list[str]] = defaultdict(list)
            for host in segment.hosts:
                self._host(segment, host, lacking)
            self._absent_leaves(segment, lacking)

    def _host(self, segment: Segment, host: str, lacking: dict[int, list[str]]) -> None:
        on: dict[int, list[Attachment]] = defaultdict(list)
        for one in self.by_host[host]:
            on[one.rail].append(one)
        for rail in self.rails.rails:
            meant = segment.leaves.get(rail, ())
            if len(meant) < self.rails.tors and len(on[rail]) < self.rails.tors:
                lacking[rail].append(host)
            if not meant or len(meant) > self.rails.tors:
                continue
            free = [leaf for leaf in meant if leaf not in {one.leaf for one in on[rail]}]
            wrong = [one for one in on[rail] if one.leaf not in meant]
            for one, leaf in zip(wrong, free, strict=False):
                self.rails.moves[one.device, one.leaf] = leaf
            for leaf in free[len(wrong) :]:
                self._uncabled(host, rail, leaf, on[rail])

    def _uncabled(self, host: str, rail: int, leaf: int, same: list[Attachment]) -> None:
        ports = Counter(one.port for one in self.by_host[host])
        if (leaf, most_common(ports)) in self.unnamed:
            return  # an adapter that does not name its host sits in this host's place
        device = same[0].device if same else self.idle.get((host, rail))
        if device is not None:
            self.rails.additions.append((device, leaf))
            return
        name = self.cabling.devices[leaf].name
        text = f"host {host} has no adapter on rail {rail}: none is cabled to {name}"
        have = len({one.rail for one in self.by_host[host]})
        text += f" ({have} of {len(self.rails.rails)} rails)"
        where = self.cabling.where_device(leaf) if self.cabling.file else None
        self.rails.deviations.append(Deviation("missing", host, name, "1 cable", text, 1, where))

    def _absent_leaves(self, segment: Segment, lacking: dict[int, list[str]]) -> None:
        devices = self.cabling.devices
        for rail, hosts in sorted(lacking.items()):
            if len(hosts) < 2 and len(segment.hosts) > 1:  # noqa: PLR2004 - one host is no leaf
                continue
            short = self.rails.tors - len(segment.leaves.get(rail, ()))
            beside = [devices[leaf].name for ones in segment.leaves.values() for leaf in ones]
            along = [
                devices[leaf].name
                for other in self.rails.segments
                for leaf in other.leaves.get(rail, ())
                if other is not segment
            ]
            known = {device.name for device in devices}
            name = guess_name(beside, along) if short == 1 else None
            name = None if name in known else name
            place = f"a leaf of rail {rail} beside {some(sorted(beside))}"
            rails = len(self.rails.rails)
            text = f"{name or 'a leaf'} is absent: {place}, so that {len(hosts)} "
            text += f"{'host has' if len(hosts) == 1 else 'hosts have'} {rails - 1} of {rails} "
            text += f"rails ({some(hosts, limit=12)})"
            where = self.cabling.where_device(self._any_leaf(segment)) if beside else None
            self.rails.absent_leaves += max(short, 1)
            self.rails.deviations.append(
                Deviation("absent-node", name or place, None, place, text, len(hosts), where)
            )

    @staticmethod
    def _any_leaf(segment: Segment) -> int:
        return min(leaf for ones in segment.leaves.values() for leaf in ones)
