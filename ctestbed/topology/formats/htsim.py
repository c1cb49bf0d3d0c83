"""The .topo file of htsim: a fat-tree of two or three tiers, given by counts.

`Nodes`, `Tiers`, `Podsize`, then per `Tier` (0 the leaves) its speeds, radices, bundles and
latencies. The counts follow as htsim derives them: cables up are the capacity below divided by
the speed above and by `Oversubscribed`, and each tier has as many switches as `Radix_Down` needs.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from ctestbed.topology.cabling import Cabling, Device, DeviceKind
from ctestbed.topology.formats.collect import Collector
from ctestbed.topology.formats.source import Source, shorten

FORMAT: Final = "htsim"

_HEADER: Final = ("nodes", "tiers", "podsize")
_TIER_KEYS: Final = (
    "downlink_speed_gbps",
    "radix_up",
    "radix_down",
    "queue_up",
    "queue_down",
    "oversubscribed",
    "bundle",
    "switch_latency_ns",
    "downlink_latency_ns",
)
_NEEDED: Final = ("downlink_speed_gbps", "radix_down", "downlink_latency_ns")
_MAY_BE_ZERO: Final = ("switch_latency_ns", "queue_up", "queue_down")
_TIER_NAMES: Final = ("leaf", "spine", "core")
_TOP_TIERS: Final = 3
_MAX_DIGITS: Final = 9


@dataclass(slots=True)
class _Tier:
    line: int
    values: dict[str, int] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def get(self, key: str, default: int = 1) -> int:
        return self.values.get(key, default)


@dataclass(frozen=True, slots=True)
class _Shape:
    """Counts of one fat-tree: `bundle[t]` cables join a pair of tiers t-1 and t."""

    nodes: int
    pods: int
    leaves_per_pod: int
    spines_per_pod: int
    cores: int
    tiers: tuple[_Tier, ...]


def read(source: Source) -> Cabling:
    """Read a .topo file and lay its fat-tree out.

    Raises:
        InputError: unknown keys, missing or indivisible counts; with the line.
    """
    header, tiers = _parse(source)
    collector = Collector(source, FORMAT)
    shape = _derive(source, header, tiers)
    switches = shape.pods * (shape.leaves_per_pod + shape.spines_per_pod) + shape.cores
    cables = shape.nodes + shape.pods * shape.leaves_per_pod * tiers[0].get("radix_up")
    if shape.cores:
        cables += shape.pods * shape.spines_per_pod * tiers[1].get("radix_up")
    collector.refuse_size(shape.nodes + switches, cables, 1)
    _lay_out(collector, shape)
    attributes = {"podsize": str(header["podsize"])}
    for number, tier in enumerate(tiers):
        attributes |= {f"tier{number}.{key}": str(value) for key, value in tier.values.items()}
    return collector.finish(source.name, attributes)


def _parse(source: Source) -> tuple[dict[str, int], list[_Tier]]:
    header: dict[str, int] = {}
    tiers: dict[int, _Tier] = {}
    current: _Tier | None = None
    for number, line in enumerate(source.lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        key, value = _setting(source, words, number)
        if key == "tier":
            if value in tiers or value >= _TOP_TIERS:
                what = "stands twice" if value in tiers else "is above the third"
                raise source.refuse("CTB-T104", f"tier {value} {what}", number, "tiers are 0 to 2")
            current = tiers[value] = _Tier(number)
            continue
        known = _HEADER if current is None else _TIER_KEYS
        if key not in known:
            raise source.bad_line(number, "a setting of this place", f"known: {', '.join(known)}")
        values = header if current is None else current.values
        if key in values:
            raise source.refuse("CTB-T104", f"`{words[0]}` stands twice", number, "keep one")
        values[key] = value
        if current is not None:
            current.lines[key] = number
    _require(source, header, _HEADER, 1)
    if header["tiers"] not in {2, 3} or sorted(tiers) != list(range(header["tiers"])):
        raise source.refuse(
            "CTB-T102",
            f"the header says {header['tiers']} tiers, and the file describes {len(tiers)}",
            len(source.lines),
            "two or three tiers, each described once: is the file whole?",
        )
    for number, tier in sorted(tiers.items()):
        up = ("radix_up",) if number < header["tiers"] - 1 else ()
        _require(source, tier.values, (*_NEEDED, *up), tier.line)
    return header, [tiers[number] for number in sorted(tiers)]


def _setting(source: Source, words: list[str], number: int) -> tuple[str, int]:
    """Return a line's key in small letters and its whole number."""
    key = words[0].lower()
    value = words[1] if len(words) == 2 else ""  # noqa: PLR2004 - key and value
    if not value.isascii() or not value.isdigit() or len(value) > _MAX_DIGITS:
        raise source.bad_line(number, "a key and a whole number", "such as `Radix_Down 32`")
    if int(value) == 0 and key not in {"tier", *_MAY_BE_ZERO}:
        raise source.refuse("CTB-T113", f"`{words[0]}` is 0", number, "give a count above 0")
    return key, int(value)


def _require(source: Source, given: Iterable[str], needed: Iterable[str], line: int) -> None:
    missing = [key for key in needed if key not in given]
    if missing:
        raise source.refuse(
            "CTB-T113", f"`{missing[0]}` is missing", line, "check that the file is whole"
        )


def _derive(source: Source, header: dict[str, int], tiers: list[_Tier]) -> _Shape:
    nodes, podsize = header["nodes"], header["podsize"]
    leaf, spine = tiers[0], tiers[1]
    pods = _whole(source, nodes, podsize, "nodes fill pods", 1)
    leaves = _whole(
        source, podsize, leaf.get("radix_down"), "hosts of a pod fill leaves", leaf.line
    )
    up = Fraction(leaf.get("downlink_speed_gbps"), spine.get("downlink_speed_gbps"))
    uplinks = nodes * up / leaf.get("oversubscribed")
    _agree(source, uplinks, pods * leaves * leaf.get("radix_up"), leaf)
    spines = _whole(
        source,
        pods * leaves * leaf.get("radix_up"),
        pods * spine.get("radix_down"),
        "uplinks of the leaves fill spines",
        spine.line,
    )
    _bundles(source, leaf, spine, spines)
    cores = 0
    if len(tiers) == _TOP_TIERS:
        core = tiers[2]
        ratio = Fraction(spine.get("downlink_speed_gbps"), core.get("downlink_speed_gbps"))
        above = uplinks * ratio / spine.get("oversubscribed")
        _agree(source, above, pods * spines * spine.get("radix_up"), spine)
        cores = _whole(
            source,
            pods * spines * spine.get("radix_up"),
            core.get("radix_down"),
            "uplinks of the spines fill cores",
            core.line,
        )
        per_spine = Fraction(cores, spines)
        _bundles(source, spine, core, per_spine)
        if core.get("radix_down") != pods * core.get("bundle"):
            raise source.refuse(
                "CTB-T102",
                f"a core has {core.get('radix_down')} ports down for {pods} pods in bundles of "
                f"{core.get('bundle')}",
                core.line,
                "every core reaches every pod once, by one bundle",
            )
    elif pods != 1:
        raise source.refuse(
            "CTB-T102",
            f"{pods} pods of two tiers have no cores to join them",
            1,
            "set Podsize to Nodes, or describe tier 2",
        )
    return _Shape(nodes, pods, leaves, spines, cores, tuple(tiers))


def _whole(source: Source, total: int, part: int, what: str, line: int) -> int:
    if total % part or total < part:
        message = f"{total} {what} of {part} only in part"
        raise source.refuse("CTB-T102", message, line, "the counts must divide")
    return total // part


def _agree(source: Source, derived: Fraction, given: int, tier: _Tier) -> None:
    if derived != given:
        raise source.refuse(
            "CTB-T102",
            f"speeds and oversubscription call for {shorten(str(derived))} cables up, and "
            f"`Radix_Up` makes {given}",
            tier.lines["radix_up"],
            "`Oversubscribed` is the capacity below over the capacity above",
        )


def _bundles(source: Source, lower: _Tier, upper: _Tier, peers: int | Fraction) -> None:
    if peers * upper.get("bundle") != lower.get("radix_up"):
        raise source.refuse(
            "CTB-T102",
            f"{lower.get('radix_up')} cables up in bundles of {upper.get('bundle')} do not reach "
            f"{shorten(str(peers))} switches once each",
            lower.lines["radix_up"],
            "set `Bundle` to the cables that join two switches",
        )


def _lay_out(collector: Collector, shape: _Shape) -> None:
    leaf, spine = shape.tiers[0], shape.tiers[1]
    for host in range(shape.nodes):
        collector.add(Device(f"host-{host}", DeviceKind.HOST, tier=0))
    firsts = []
    counts = (shape.pods * shape.leaves_per_pod, shape.pods * shape.spines_per_pod, shape.cores)
    for number, (count, tier) in enumerate(zip(counts, shape.tiers, strict=False)):
        firsts.append(len(collector.devices))
        ports = tier.get("radix_down") + (tier.get("radix_up", 0) if number < 2 else 0)  # noqa: PLR2004 - cores have no way up
        per_pod = (shape.leaves_per_pod, shape.spines_per_pod, 0)[number]
        for index in range(count):
            collector.add(
                Device(
                    f"{_TIER_NAMES[number]}-{index}",
                    DeviceKind.SWITCH,
                    ports=ports,
                    role=_TIER_NAMES[number],
                    pod=index // per_pod if per_pod and shape.pods > 1 else None,
                    tier=number + 1,
                    line=tier.line,
                )
            )
    down, up = leaf.get("radix_down"), leaf.get("radix_up")
    for host in range(shape.nodes):
        _join(collector, (host, firsts[0] + host // down), (1, 1 + host % down), leaf)
    for index in range(shape.pods * shape.leaves_per_pod):
        pod, place = divmod(index, shape.leaves_per_pod)
        for cable in range(up):
            peer = firsts[1] + pod * shape.spines_per_pod + cable // spine.get("bundle")
            far = 1 + place * spine.get("bundle") + cable % spine.get("bundle")
            _join(collector, (firsts[0] + index, peer), (1 + down + cable, far), spine)
    if shape.cores:
        _lay_out_cores(collector, shape, firsts)


def _lay_out_cores(collector: Collector, shape: _Shape, firsts: list[int]) -> None:
    spine, core = shape.tiers[1], shape.tiers[2]
    bundle, per_spine = core.get("bundle"), shape.cores // shape.spines_per_pod
    for index in range(shape.pods * shape.spines_per_pod):
        pod, place = divmod(index, shape.spines_per_pod)
        for cable in range(spine.get("radix_up")):
            peer = firsts[2] + place * per_spine + cable // bundle
            far = 1 + pod * bundle + cable % bundle
            near = 1 + spine.get("radix_down") + cable
            _join(collector, (firsts[1] + index, peer), (near, far), core)


def _join(
    collector: Collector, ends: tuple[int, int], ports: tuple[int, int], upper: _Tier
) -> None:
    """Add a cable; its speed and delay are those of the upper tier's way down."""
    collector.cable(
        ends[0],
        ends[1],
        str(ports[0]),
        str(ports[1]),
        rate=upper.get("downlink_speed_gbps") * 10**9,
        delay=upper.get("downlink_latency_ns") * 1000,
        line=upper.line,
    )
