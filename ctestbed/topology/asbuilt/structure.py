"""A record against a design whose names it does not share: by role and structure alone.

Regular fabrics compare as what was inferred of both; others by the number of cables of each
device and, where that hides an exchange, by what lies around devices. All of it is up to symmetry.
"""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ctestbed.core.result import Finding
from ctestbed.topology.asbuilt.compare import Comparison, compare
from ctestbed.topology.asbuilt.deviations import Deviation, Kind, in_order, many, note, some
from ctestbed.topology.asbuilt.ends import Ground
from ctestbed.topology.asbuilt.infer import Inference, Intended, infer, tier_word
from ctestbed.topology.asbuilt.single import explain, rates_alike, unlike
from ctestbed.topology.cabling import Cabling, Column, DeviceKind, degree

ROUNDS: Final = 3
PLURALS: Final = {"leaf": "leaves"}


@dataclass(frozen=True)
class StructuralComparison:
    """What was found, and what was inferred of the record."""

    deviations: tuple[Deviation, ...]
    notes: tuple[Finding, ...]
    inference: Inference
    matched_cables: int


def judge(cabling: Cabling, intended: Intended | None = None) -> tuple[Inference, Comparison]:
    """Infer the regular fabric of a record and compare the record with it."""
    inference = infer(cabling, intended)
    expected = inference.expected
    assert expected is not None  # noqa: S101 - infer always writes it
    same = np.arange(len(inference.cabling.devices))
    counts = {tier: len(inference.of_tier(tier)) for tier in range(1, inference.tiers + 1)}

    def label(device: int) -> str:
        tier = int(inference.tier[device])
        if intended is None or counts.get(tier, 0) < 2:  # noqa: PLR2004
            return ""
        word = tier_word(tier)
        return f" (one of {counts[tier]} alike {PLURALS.get(word, word + 's')})"

    found = compare(Ground(expected, inference.cabling, same, "what is usual"), label)
    return inference, found


def compare_structure(design: Cabling, built: Cabling) -> StructuralComparison:
    """Compare without names: by one fault that explains all, or by roles and what is usual."""
    found = _compare_roles(design, built)
    single = explain(design, built)
    if single is None:
        errors = any(finding.severity == "error" for finding in found.notes)
        if not found.deviations and not errors and unlike(design, built):
            return replace(found, notes=(*found.notes, _unlike()))
        return found
    kept = {"one-sided"} if rates_alike(design, built) else {"one-sided", "slow"}
    others = [deviation for deviation in found.deviations if deviation.kind in kept]
    notes = tuple(finding for finding in found.notes if finding.severity != "error")
    same = min(len(design.cables), len(built.cables)) - sum(
        deviation.count for deviation in single if deviation.kind == "swapped"
    )
    return StructuralComparison(in_order([*single, *others]), notes, found.inference, same)


def _unlike() -> Finding:
    text = "devices, cables and their numbers agree, and yet this is not the network of the design"
    hint = "cables have exchanged ends; with the design's names it can be told which"
    return note("CTB-T215", text, hint, "error")


def _compare_roles(design: Cabling, built: Cabling) -> StructuralComparison:
    meant = infer(design)
    if not meant.regular:
        return _compare_degrees(design, built)
    intended = Intended(
        switches={tier: len(meant.of_tier(tier)) for tier in range(1, meant.tiers + 1)},
        parallel={layer.tier: layer.votes()[0] for layer in meant.layers if layer.complete},
        rates={tier: rate for tier, rate in meant.rates.items() if rate >= 0},
        endpoints_per_leaf=_per_leaf(meant),
        endpoints=len(meant.of_tier(0)),
    )
    inference, found = judge(built, intended)
    deviations = [*found.deviations, *inference.deviations]
    if inference.tiers == meant.tiers and inference.regular:
        deviations += _absent_switches(inference, intended)
        deviations += _leaf_loads(inference, intended)
    else:
        text = f"the design has {many(meant.tiers, 'tier')} of switches, and the record "
        text += many(inference.tiers, "tier") if inference.regular else "no regular tiers"
        deviations += _whole(design, built)
        hint = "is this a record of this network?"
        return StructuralComparison(
            in_order(deviations),
            (*found.notes, note("CTB-T213", text, hint, "error")),
            inference,
            found.matched_cables,
        )
    return StructuralComparison(
        in_order(deviations),
        (*found.notes, *inference.notes),
        inference,
        found.matched_cables,
    )


def _per_leaf(inference: Inference) -> int | None:
    counts = inference.endpoints_per_leaf()
    return next(iter(counts)) if len(counts) == 1 else None


def _absent_switches(inference: Inference, intended: Intended) -> list[Deviation]:
    """Report how many switches of each tier are absent or more than designed."""
    found = []
    for tier, meant in sorted(intended.switches.items()):
        there = len(inference.of_tier(tier))
        word = tier_word(tier)
        several = PLURALS.get(word, word + "s")
        short = meant - there - inference.absent[tier]
        if short > 0:
            text = f"{there} of {meant} alike {several} are there; which {short} are absent "
            text += "cannot be told without names"
            found.append(Deviation("absent-node", word, None, f"{meant} {several}", text, short))
        elif there > meant:
            text = f"there are {there} {several}, and the design has {meant}"
            found.append(Deviation("extra", word, None, f"{meant} {several}", text, there - meant))
    return found


def _leaf_loads(inference: Inference, intended: Intended) -> list[Deviation]:
    """Report leaves with another number of endpoints than every leaf of the design."""
    meant = intended.endpoints_per_leaf
    if meant is None:
        return []
    below, devices = inference.below(), inference.cabling.devices
    leaves = inference.of_tier(1).tolist()
    explained = Counter[str]()
    if inference.rails is not None:
        rails = inference.rails
        for deviation in rails.deviations:
            explained[deviation.b or ""] += deviation.kind == "missing"
        for _, leaf in rails.additions:
            explained[devices[leaf].name] += 1
        for (_, leaf), home in rails.moves.items():
            explained[devices[leaf].name] -= 1
            explained[devices[home].name] += 1
    found = []
    alike = f"one of {len(leaves)} alike leaves"
    for leaf in leaves:
        name, there = devices[leaf].name, int(below[leaf])
        short = meant - there - explained[name]
        where = inference.cabling.where_device(leaf) if inference.cabling.file else None
        text = f"{name} ({alike}) has {there} of {meant} endpoints below it"
        if short > 0:
            expected = many(meant, "endpoint")
            found.append(Deviation("missing", name, None, expected, text, short, where))
        elif short < 0:
            text = f"{name} ({alike}) has {there} endpoints below it instead of {meant}"
            expected = many(meant, "endpoint")
            found.append(Deviation("extra", name, None, expected, text, -short, where))
    return found


def _whole(design: Cabling, built: Cabling) -> list[Deviation]:
    """Report the difference in cables of all."""
    meant, there = len(design.cables), len(built.cables)
    if meant == there:
        return []
    text = f"the design has {many(meant, 'cable')}, and the record {there:,}"
    kind: Kind = "missing" if meant > there else "extra"
    name = built.file or built.name
    return [Deviation(kind, name, None, many(meant, "cable"), text, abs(meant - there))]


def _compare_degrees(design: Cabling, built: Cabling) -> StructuralComparison:
    """Compare irregular and direct networks: devices, cables of each, what lies around them."""
    inference, found = judge(built)
    deviations = list(found.deviations)
    notes = [*found.notes, *inference.notes]
    short, over = _odd_devices(design, built)
    deviations += _degree_deviations(built, "missing", short)
    deviations += _degree_deviations(built, "extra", over)
    deviations += _device_counts(design, built)
    if not deviations:
        strange = _strange_places(design, built)
        if strange:
            text = f"devices, cables and their numbers agree, and yet {len(strange)} devices have "
            text += f"other surroundings than any of the design: {some(strange, limit=6)}"
            hint = "cables near them have exchanged ends; with the design's names it can be told"
            notes.append(note("CTB-T215", text, hint, "error"))
    return StructuralComparison(in_order(deviations), tuple(notes), inference, found.matched_cables)


def _odd_devices(design: Cabling, built: Cabling) -> tuple[dict[int, int], dict[int, int]]:
    """Return built devices with fewer, and with more, cables than any alike of the design has."""
    short: dict[int, int] = {}
    over: dict[int, int] = {}
    meant, there = degree(design), degree(built)
    for switch in (True, False):
        ours = np.flatnonzero((design.kinds == DeviceKind.SWITCH) == switch)
        theirs = np.flatnonzero((built.kinds == DeviceKind.SWITCH) == switch)
        if not len(ours):
            continue
        fewest, most = int(meant[ours].min()), int(meant[ours].max())
        for device in theirs.tolist():
            if there[device] < fewest:
                short[device] = fewest - int(there[device])
            elif there[device] > most:
                over[device] = int(there[device]) - most
    return short, over


def _degree_deviations(built: Cabling, kind: Kind, odd: dict[int, int]) -> list[Deviation]:
    missing = kind == "missing"
    tail = "that all alike of the design have" if missing else "more than any alike of the design"
    expected = "1 cable" if missing else None
    found = []
    if len(odd) == 2 and set(odd.values()) == {1}:  # noqa: PLR2004 - the ends of one cable
        a, b = sorted(built.devices[device].name for device in odd)
        text = f"{a} and {b} each {'lack' if missing else 'have'} a cable {tail}: "
        text += "the one between them"
        where = built.where_device(min(odd)) if built.file else None
        return [Deviation(kind, a, b, expected, text, 1, where)]
    for device, count in odd.items():
        name = built.devices[device].name
        text = f"{name} {'lacks' if missing else 'has'} {many(count, 'cable')} {tail}"
        where = built.where_device(device) if built.file else None
        found.append(Deviation(kind, name, None, expected, text, count, where))
    return found


def _device_counts(design: Cabling, built: Cabling) -> list[Deviation]:
    """Report a difference in the number of switches or of other devices."""
    found = []
    for word, switch in (("switch", True), ("endpoint", False)):
        meant, there = (
            int(((cabling.kinds == DeviceKind.SWITCH) == switch).sum())
            for cabling in (design, built)
        )
        several = "switches" if switch else "endpoints"
        text = f"{there:,} of {meant:,} {several} are there"
        if there < meant:
            expected = f"{meant} {several}"
            found.append(Deviation("absent-node", word, None, expected, text, meant - there))
        elif there > meant:
            text = f"there are {there:,} {several}, and the design has {meant:,}"
            found.append(Deviation("extra", word, None, f"{meant} {several}", text, there - meant))
    return found


def _strange_places(design: Cabling, built: Cabling) -> list[str]:
    """Return built devices whose surroundings no device of the design has (colour refinement)."""
    table: dict[tuple[int, tuple[int, ...]], int] = {}
    colours = [(cabling.kinds == DeviceKind.SWITCH).astype(np.int64) for cabling in (design, built)]
    for _ in range(ROUNDS):
        colours = [
            _refine(cabling, colour, table)
            for cabling, colour in zip((design, built), colours, strict=True)
        ]
        strange = np.flatnonzero(~np.isin(colours[1], colours[0]))
        if len(strange):
            return sorted(built.devices[device].name for device in strange.tolist())
    surplus = Counter(colours[1].tolist()) - Counter(colours[0].tolist())
    odd = np.flatnonzero(np.isin(colours[1], list(surplus))).tolist() if surplus else []
    return sorted(built.devices[device].name for device in odd)


def _refine(
    cabling: Cabling, colour: Column, table: dict[tuple[int, tuple[int, ...]], int]
) -> Column:
    """Return each device's colour refined by the sorted colours of its neighbours."""
    cables = cabling.cables
    near = np.concatenate([cables.a, cables.b])
    seen = colour[np.concatenate([cables.b, cables.a])]
    order = np.lexsort((seen, near))
    bounds = np.searchsorted(near[order], np.arange(len(colour) + 1))
    sorted_seen = seen[order].tolist()
    return np.array(
        [
            table.setdefault((own, tuple(sorted_seen[start:end])), len(table) + 2)
            for own, start, end in zip(
                colour.tolist(), bounds[:-1].tolist(), bounds[1:].tolist(), strict=True
            )
        ],
        np.int64,
    )
