"""Scenes of what a file says is cabled: its tiers as they were read, and layers pair by pair."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from ctestbed.core.result import UNKNOWN
from ctestbed.topology.cabling import Cabling, Column, DeviceKind, Roles, infer_roles
from ctestbed.topology.importing import tier_name
from ctestbed.topology.picture.model import (
    BlockData,
    BundleData,
    PictureData,
    Quantity,
    SceneData,
    block,
)

MOST_DEVICES: Final = 40
"""Devices of a tier that are drawn one by one."""
MOST_BUNDLES: Final = 200
MAX_TIER: Final = 12
"""Tiers from here on are one row."""
MOST_CELLS: Final = 1600
"""Pairs of a layer that are drawn as a table of squares."""


@dataclass(frozen=True)
class CabledPicture:
    """A picture, and the tiers whose devices stand in it as one block each."""

    picture: PictureData
    together: tuple[str, ...]


def picture_of_cabling(cabling: Cabling) -> CabledPicture:
    """Return the scenes of a cabling, never of more single lines than one can follow."""
    roles = infer_roles(cabling)
    far = bool(roles.tier.max(initial=0) > MAX_TIER)
    roles = replace(roles, tier=np.minimum(roles.tier, MAX_TIER))
    tiers = {int(tier): np.flatnonzero(roles.tier == tier) for tier in np.unique(roles.tier)}
    whole = {tier for tier, members in tiers.items() if len(members) > MOST_DEVICES}
    while True:
        scene = _tiers_scene(cabling, roles, tiers, whole)
        single = [tier for tier in tiers if tier not in whole and len(tiers[tier]) > 1]
        if len(scene["bundles"]) <= MOST_BUNDLES or not single:
            break
        whole.add(max(single, key=lambda tier: (len(tiers[tier]), -tier)))
    if far:
        more = f"Devices {MAX_TIER} and more steps from the endpoints stand together."
        scene["note"] = f"{scene['note']} {more}".strip()
    scenes = [scene, *_layer_scenes(cabling, roles, tiers)]
    together = tuple(tier_name(tier) for tier in sorted(whole) if len(tiers[tier]) > 1)
    focus: Any = dict.fromkeys(("site", "plane", "pod", "leaf"))
    return CabledPicture({"focus": focus, "scenes": scenes}, together)


def _scene(identifier: str, title: str, view: str, note: str) -> SceneData:
    made: SceneData = {
        "id": identifier,
        "level": "cabling",
        "view": view,  # type: ignore[typeddict-item]
        "title": title,
        "sites": [],
        "planes": None,
        "alike": 1,
        "blocks": [],
        "bundles": [],
        "note": note,
    }
    return made


def _kind(cabling: Cabling, tier: int, members: Column) -> str:
    """Return what the devices of a tier are called."""
    if tier > 0:
        return tier_name(tier) if tier_name(tier) in {"leaf", "spine", "core"} else "switch"
    kinds = {cabling.devices[member].kind for member in members.tolist()}
    words = {
        DeviceKind.NIC: "NIC",
        DeviceKind.HOST: "host",
        DeviceKind.ACCELERATOR: "accelerator",
        DeviceKind.SWITCH: "switch",
    }
    only = next(iter(kinds)) if len(kinds) == 1 else DeviceKind.UNKNOWN
    return words.get(only, "endpoint" if tier == 0 else "device")


def _tiers_scene(
    cabling: Cabling, roles: Roles, tiers: dict[int, Column], whole: set[int]
) -> SceneData:
    note = "Tiers are told from names and cables." if roles.guessed else ""
    scene = _scene("tiers", "Tiers as read", "links", note)
    number = np.zeros(len(cabling.devices), np.int64)
    made: list[BlockData] = []
    for tier, members in tiers.items():
        kind = _kind(cabling, tier, members)
        if tier in whole:
            number[members] = len(made)
            made.append(block(f"b{len(made)}", kind, "", len(members), tier))
            continue
        for member in members.tolist():
            number[member] = len(made)
            name = cabling.devices[member].name
            record = block(f"b{len(made)}", kind, name, 1, tier)
            record["radix"] = cabling.devices[member].ports
            made.append(record)
    ends = np.bincount(
        np.concatenate([cabling.cables.a, cabling.cables.b]), minlength=len(cabling.devices)
    )
    for record, device in zip(made, _single(number, len(made), len(cabling.devices)), strict=True):
        if record["name"] and device is not None and record["row"] > 0:
            record["ports_used"] = int(ends[device])
        else:
            record["radix"] = None
    scene["blocks"] = made
    scene["bundles"] = list(_bundles(cabling, roles, number, [each["id"] for each in made]))
    return scene


def _single(number: Column, blocks: int, devices: int) -> list[int | None]:
    """Return the device that each block stands for; None where it is several."""
    counts = np.bincount(number, minlength=blocks)
    first = np.zeros(blocks, np.int64)
    first[number[::-1]] = np.arange(devices)[::-1]
    return [int(first[n]) if counts[n] == 1 else None for n in range(blocks)]


def _bundles(
    cabling: Cabling, roles: Roles, number: Column, identifiers: list[str]
) -> Iterator[BundleData]:
    """Yield the cables between two blocks, or inside one, the lower tier first."""
    cables = cabling.cables
    if not len(cables):
        return
    swap = roles.tier[cables.a] > roles.tier[cables.b]
    a, b = np.where(swap, cables.b, cables.a), np.where(swap, cables.a, cables.b)
    low, high = number[a], number[b]
    same = roles.tier[a] == roles.tier[b]
    low, high = (
        np.where(same, np.minimum(low, high), low),
        np.where(same, np.maximum(low, high), high),
    )
    keys = low * max(len(identifiers), 1) + high
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
        rows = order[start:end]
        first = rows[0]
        tiers = [int(roles.tier[end_]) for end_ in (a[first], b[first])]
        rate, capacity = _rates(cables.rate[rows])
        pairs = np.unique(
            np.stack([np.minimum(a[rows], b[rows]), np.maximum(a[rows], b[rows])]),
            axis=1,
            return_counts=True,
        )[1]
        yield {
            "a": identifiers[int(low[first])],
            "b": identifiers[int(high[first])],
            "layer": " - ".join(tier_name(tier) for tier in tiers),
            "cables": len(rows),
            "rate": rate,
            "capacity": capacity,
            "narrowing": None,
            "each": int(pairs[0]) if pairs.min() == pairs.max() else None,
        }


def _rates(rates: Column) -> tuple[Quantity, Quantity]:
    """Return the rate of cables, UNKNOWN where they differ or do not say, and what they sum to."""
    values = np.unique(rates)
    if values[0] < 0:
        return UNKNOWN, UNKNOWN
    return (int(values[0]) if len(values) == 1 else UNKNOWN), int(rates.sum())


def _layer_scenes(cabling: Cabling, roles: Roles, tiers: dict[int, Column]) -> Iterator[SceneData]:
    """Yield the pairs of each layer of switches, where they differ and are few enough to see."""
    cables = cabling.cables
    near, far = roles.tier[cables.a], roles.tier[cables.b]
    for lower, upper in zip(sorted(tiers), sorted(tiers)[1:], strict=False):
        if lower < 1 or len(tiers[lower]) * len(tiers[upper]) > MOST_CELLS:
            continue
        rows = np.flatnonzero(
            ((near == lower) & (far == upper)) | ((near == upper) & (far == lower))
        )
        if not len(rows) or len(tiers[lower]) + len(tiers[upper]) < 4:  # noqa: PLR2004 - no table
            continue
        words = f"{tier_name(lower)} - {tier_name(upper)}"
        scene = _scene(f"layer-{lower}", f"{words}, pair by pair", "matrix", "")
        number = np.full(len(cabling.devices), -1, np.int64)
        for tier in (lower, upper):
            for member in tiers[tier].tolist():
                number[member] = len(scene["blocks"])
                kind = _kind(cabling, tier, tiers[tier])
                name = cabling.devices[member].name
                scene["blocks"].append(block(f"b{len(scene['blocks'])}", kind, name, 1, tier))
        part = _only(cabling, rows)
        names = [each["id"] for each in scene["blocks"]]
        scene["bundles"] = list(_bundles(part, roles, number, names))
        complete = len(scene["bundles"]) == len(tiers[lower]) * len(tiers[upper])
        if not complete or len({bundle["cables"] for bundle in scene["bundles"]}) > 1:
            yield scene  # all pairs alike would be a slab that tells nothing


def _only(cabling: Cabling, rows: Column) -> Cabling:
    from ctestbed.topology.writers.views import select

    return select(cabling, np.arange(len(cabling.devices)), rows)
