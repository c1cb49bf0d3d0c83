"""The regular fabric that a record of cables shows, and where the record departs from it.

The expectation is itself written as cabling of the same devices, so that the very comparison that
serves a known design finds what is missing, extra, swapped, slow or on the wrong rail.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from ctestbed.core.result import Finding
from ctestbed.topology.asbuilt.deviations import Deviation, many, note, some
from ctestbed.topology.asbuilt.layers import Layer, Pair, find_layer, most_common
from ctestbed.topology.asbuilt.matching import judged_devices
from ctestbed.topology.asbuilt.rails import Rails, attachments, find_rails
from ctestbed.topology.asbuilt.tiering import explode_hosts, tiers_of
from ctestbed.topology.cabling import SCALE_UP, Cabling, Column, make_cables

CLOS: Final = 0.8
"""A fabric has tiers where so large a share of its switch cables joins neighbouring ones."""
MOST_TIERS: Final = 4
FEW_GROUPS: Final = 3
MANY: Final = 10
"""A speed that one in so many cables has is another kind, not a fault."""
USUAL_RATE: Final = 2 / 3
TIER_WORDS: Final = {0: "endpoint", 1: "leaf", 2: "spine", 3: "core"}
FORMS: Final = {0: "no switches", 1: "single-tier", 2: "leaf-spine", 3: "three-tier Clos"}


def tier_word(tier: int) -> str:
    """Return what a switch of a tier is called."""
    return TIER_WORDS.get(tier, f"tier-{tier} switch")


@dataclass(frozen=True)
class Intended:
    """What a design without matching names asks for, by tier: inferred from the design itself."""

    switches: dict[int, int]
    parallel: dict[int, int]
    rates: dict[int, int]
    endpoints_per_leaf: int | None
    endpoints: int


@dataclass
class Inference:
    """What was inferred of `cabling`. `rates` by tier of the cables' lower end, -1 if none usual.

    `expected` has the same devices and, by pair, the cables that should be there.
    """

    cabling: Cabling
    tier: Column
    layers: tuple[Layer, ...]
    rails: Rails | None
    regular: bool
    designed: bool = False
    """Whether speeds come from a design, so that every slower cable is slow."""
    rates: dict[int, int] = field(default_factory=dict)
    rate_votes: dict[int, tuple[int, int]] = field(default_factory=dict)
    expected: Cabling | None = None
    deviations: list[Deviation] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    absent: Counter[int] = field(default_factory=Counter)
    """Switches of each tier that groups or rails show to be absent."""

    def of_tier(self, tier: int) -> Column:
        """Return the devices of a tier."""
        return np.flatnonzero(self.tier == tier)

    @property
    def tiers(self) -> int:
        """Return the highest tier of switches."""
        return int(self.tier.max(initial=0))

    def endpoints_per_leaf(self) -> Counter[int]:
        """Return how many leaves have how many endpoint cables."""
        below = self.below()
        return Counter(int(below[leaf]) for leaf in self.of_tier(1))

    def below(self) -> Column:
        """Return the number of endpoint cables at each device."""
        cables, counts = self.cabling.cables, np.zeros(len(self.cabling.devices), np.int64)
        for near, far in ((cables.a, cables.b), (cables.b, cables.a)):
            np.add.at(counts, near[self.tier[far] == 0], 1)
        return counts


def infer(cabling: Cabling, intended: Intended | None = None) -> Inference:
    """Infer the regular fabric; with `intended`, its figures stand in for what is usual."""
    judged = without_scale_up(judged_devices(cabling))
    tier, endpoint = tiers_of(judged)
    exploded = explode_hosts(judged, endpoint)
    fresh = len(exploded.devices) - len(judged.devices)
    tier = np.concatenate([tier, np.zeros(fresh, np.int64)])
    split = np.flatnonzero(tier == 0)
    if fresh:
        cabled = np.concatenate([exploded.cables.a, exploded.cables.b])
        degree = np.bincount(cabled, minlength=len(tier))
        was = np.bincount(
            np.concatenate([judged.cables.a, judged.cables.b]), minlength=len(judged.devices)
        )
        hollow = np.flatnonzero((was > 0) & (degree[: len(judged.devices)] == 0))
        tier[np.intersect1d(split, hollow)] = -1
    layers, regular = _layers(exploded, tier, intended)
    rails = find_rails(exploded, tier) if regular else None
    inference = Inference(exploded, tier, layers, rails, regular, intended is not None)
    _rates(inference, intended)
    inference.expected = _expected(inference)
    if rails is not None:
        inference.deviations += rails.deviations
        inference.absent[1] += rails.absent_leaves
        _port_order(inference)
    if regular:
        _degrees(inference)
        _short_groups(inference)
    return inference


def without_scale_up(cabling: Cabling) -> Cabling:
    """Return the cabling without the cables of scale-up switches, which no tier counts."""
    inside = np.array([device.role == SCALE_UP for device in cabling.devices], bool)
    if not inside.any():
        return cabling
    cables = cabling.cables
    keep = np.flatnonzero(~inside[cables.a] & ~inside[cables.b])
    columns = {
        name: getattr(cables, name)[keep]
        for name in ("a_port", "b_port", "rate", "delay", "length", "line", "b_line")
    }
    table = make_cables(cables.a[keep].tolist(), cables.b[keep].tolist(), **columns)
    return replace(cabling, cables=table)


def _layers(
    cabling: Cabling, tier: Column, intended: Intended | None
) -> tuple[tuple[Layer, ...], bool]:
    """Return the layers between tiers of switches, and whether these are all there is."""
    pairs: dict[int, dict[Pair, int]] = defaultdict(dict)
    cables = cabling.cables
    switches = (tier[cables.a] > 0) & (tier[cables.b] > 0) & ~_trunks(cabling)
    lower_first = tier[cables.a] <= tier[cables.b]
    low = np.where(lower_first, cables.a, cables.b)[switches]
    high = np.where(lower_first, cables.b, cables.a)[switches]
    counts = Counter(zip(low.tolist(), high.tolist(), strict=True))
    climbing = 0
    for (a, b), count in counts.items():
        if tier[b] == tier[a] + 1:
            pairs[int(tier[a])][a, b] = count
            climbing += count
    regular = climbing >= CLOS * len(low) and bool((tier == 0).any())
    layers = []
    for at in range(1, int(tier.max(initial=0))):
        known = None if intended is None else intended.parallel.get(at)
        lower, upper = (np.flatnonzero(tier == level).tolist() for level in (at, at + 1))
        layers.append(find_layer(at, lower, upper, pairs[at], known))
    return tuple(layers), regular and 0 < int(tier.max(initial=0)) <= MOST_TIERS


def _trunks(cabling: Cabling) -> Column:
    """Return which cables join two sites: they lie between the fabrics, not in one."""
    names: dict[str | None, int] = {}
    site = np.array([names.setdefault(d.site, len(names)) for d in cabling.devices], np.int64)
    if len(names) < 2:  # noqa: PLR2004 - one site, or none said
        return np.zeros(len(cabling.cables), bool)
    return np.asarray(site[cabling.cables.a] != site[cabling.cables.b])


def _cable_tiers(inference: Inference) -> Column:
    """Return for each cable the tier of its lower end; -1 where it joins no neighbouring tiers."""
    cables, tier = inference.cabling.cables, inference.tier
    low, high = (choose(tier[cables.a], tier[cables.b]) for choose in (np.minimum, np.maximum))
    return np.where((high == low + 1) & (low >= 0), low, -1)


def _rates(inference: Inference, intended: Intended | None) -> None:
    layer = np.where(_trunks(inference.cabling), -1, _cable_tiers(inference))
    rates = inference.cabling.cables.rate
    for tier in range(max(inference.tiers, 1)):
        known = Counter(rates[(layer == tier) & (rates >= 0)].tolist())
        if not known:
            continue
        usual = most_common(known)
        inference.rate_votes[tier] = (known[usual], known.total() - known[usual])
        firm = known[usual] >= USUAL_RATE * known.total()
        inference.rates[tier] = usual if firm else -1
    if intended is not None:
        inference.rates.update(intended.rates)


def _other_speeds(inference: Inference) -> set[int]:
    """Return the upper switches that mostly run at another speed which many cables have."""
    cables, tier = inference.cabling.cables, inference.tier
    layer = _cable_tiers(inference)
    found: set[int] = set()
    for at, usual in inference.rates.items():
        rows = np.flatnonzero((layer == at) & (cables.rate >= 0))
        counts = Counter(cables.rate[rows].tolist())
        common = {
            rate
            for rate, count in counts.items()
            if rate != usual and count * MANY >= counts.total()
        }
        if not common or inference.designed:
            continue
        high = np.where(tier[cables.a] > tier[cables.b], cables.a, cables.b)
        speeds: dict[int, Counter[int]] = defaultdict(Counter)
        for row in rows.tolist():
            speeds[int(high[row])][int(cables.rate[row])] += 1
        found.update(up for up, own in speeds.items() if most_common(own) in common)
    return found


def _expected(inference: Inference) -> Cabling:
    """Write down the cables that the inferred fabric has, between the devices of the record."""
    cabling, tier, rails = inference.cabling, inference.tier, inference.rails
    cables = cabling.cables
    wanted: Counter[Pair] = Counter()
    if inference.regular:
        for layer in inference.layers:
            for group in layer.groups:
                wanted.update(group.expected())
    moves = {} if rails is None else rails.moves
    others = set() if rails is None else set(rails.others)
    unjudged: set[Pair] = set()
    peers = _peers(inference)
    for table in (cables, cabling.one_sided):
        trunks = _trunks(replace(cabling, cables=table)).tolist()
        for a, b, trunk in zip(table.a.tolist(), table.b.tolist(), trunks, strict=True):
            low, high = (a, b) if tier[a] <= tier[b] else (b, a)
            between = tier[low] > 0 and inference.regular and not trunk
            if a == b or (between and tier[high] == tier[low] + 1):
                continue
            if between and not peers:
                continue
            if trunk or cabling.devices[low].host in others:
                unjudged.add((low, high))
            wanted[low, moves.get((low, high), high)] += 1
    for pair in [] if rails is None else rails.additions:
        wanted[pair] += 1
    rows = [pair for pair, count in wanted.items() for _ in range(count)]
    other = _other_speeds(inference)
    rate = [
        -1
        if (low, high) in unjudged or tier[high] != tier[low] + 1 or high in other
        else inference.rates.get(int(tier[low]), -1)
        for low, high in rows
    ]
    table = make_cables([low for low, _ in rows], [high for _, high in rows], rate=rate)
    rail_of = {} if rails is None else rails.leaf_rail
    devices = tuple(
        replace(
            device,
            tier=int(at) if at >= 0 else device.tier,
            rail=rail_of.get(position, device.rail),
            plane=None,
        )
        for position, (device, at) in enumerate(zip(cabling.devices, tier, strict=True))
    )
    empty = make_cables([], [])
    return replace(cabling, devices=devices, cables=table, one_sided=empty, format="inferred")


def _peers(inference: Inference) -> bool:
    """Return whether cables between switches of one tier are usual, as between paired leaves."""
    cables, tier = inference.cabling.cables, inference.tier
    same = (tier[cables.a] == tier[cables.b]) & (tier[cables.a] > 0) & (cables.a != cables.b)
    if not same.any():
        return False
    having = np.unique(np.concatenate([cables.a[same], cables.b[same]]))
    return len(having) * 2 >= int((tier == tier[having[0]]).sum())


def _degrees(inference: Inference) -> None:
    """Where a layer is no full mesh, compare how many cables lead up from each switch."""
    names = inference.cabling.devices
    for layer in inference.layers:
        if layer.complete or not layer.groups:
            continue
        pairs = [(pair, n) for group in layer.groups for pair, n in group.pairs.items()]
        pairs += list(layer.strays.items())
        up: Counter[int] = Counter({int(low): 0 for low in inference.of_tier(layer.tier)})
        for (low, _), count in pairs:
            up[low] += count
        usual = most_common(Counter(up.values()))
        short = {low: count for low, count in up.items() if count < usual}
        if len(short) * 4 > len(up):
            continue
        for low, count in short.items():
            name = names[low].name
            text = f"{name} has {count} of {usual} cables upwards"
            where = inference.cabling.where_device(low) if inference.cabling.file else None
            inference.deviations.append(
                Deviation("missing", name, None, f"{usual} cables", text, usual - count, where)
            )


def _short_groups(inference: Inference) -> None:
    """Where most groups of a layer have as many upper switches, those with fewer lack some."""
    cabling = inference.cabling
    for layer in inference.layers:
        counts = Counter(len(group.upper) for group in layer.groups)
        if not layer.complete or counts.total() < FEW_GROUPS or counts.total() == len(counts):
            continue
        usual = most_common(counts)
        if counts[usual] < USUAL_RATE * counts.total():
            continue
        word = tier_word(layer.tier + 1)
        alike = Counter((len(group.lower), group.parallel) for group in layer.groups)
        for group in layer.groups:
            short = usual - len(group.upper)
            same = alike[len(group.lower), group.parallel] > counts.total() // 2
            if short <= 0 or not same or (short > 1 and short * FEW_GROUPS > usual):
                continue  # a group that differs in more was meant to be another
            names = sorted(cabling.devices[at].name for at in group.upper)
            place = f"a {word} beside {some(names)}"
            text = f"{many(short, word)} absent: {len(names)} where {usual} are usual "
            text += f"({counts[usual]} groups for, {counts.total() - counts[usual]} against), "
            text += f"beside {some(names)}"
            where = cabling.where_device(min(group.upper)) if cabling.file else None
            inference.absent[layer.tier + 1] += short
            inference.deviations.append(
                Deviation("absent-node", place, None, f"{usual} in a group", text, short, where)
            )


def _port_order(inference: Inference) -> None:
    """Say which adapters sit on another port of their leaf than the host's others."""
    rails, cabling = inference.rails, inference.cabling
    if rails is None:
        return
    by_host: dict[str, list[tuple[str, int]]] = defaultdict(list)
    ports = cabling.port_names
    for one in attachments(cabling, inference.tier):
        if one.host not in rails.others and one.port >= 0:
            by_host[one.host].append((cabling.devices[one.device].name, one.port))
    even, odd = 0, []
    for host in sorted(by_host):
        counts = Counter(port for _, port in by_host[host])
        usual = most_common(counts)
        if counts[usual] * 2 > counts.total():
            even += counts[usual]
            odd += [
                f"{name} on {ports[port]} instead of {ports[usual]}"
                for name, port in by_host[host]
                if port != usual
            ]
    if odd and len(odd) * 4 < even:
        text = f"{many(len(odd), 'adapter')} on another port of the right leaf than the others of "
        text += f"the host: {some(odd, limit=8)}"
        inference.notes.append(note("CTB-T212", text, "harmless, unless labels rely on it"))


def planes_of(layers: Iterable[Layer]) -> int:
    """Return how many parts without a common switch the groups of all layers form."""
    part: dict[int, int] = {}

    def find(node: int) -> int:
        while part.setdefault(node, node) != node:
            part[node] = part[part[node]]
            node = part[node]
        return node

    for layer in layers:
        for group in layer.groups:
            first = find(group.lower[0])
            for node in (*group.lower, *group.upper):
                part[find(node)] = first
    return len({find(node) for node in list(part)}) or 1
