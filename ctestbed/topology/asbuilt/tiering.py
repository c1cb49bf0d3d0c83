"""Tiers of switches, told so that one stray cable or one empty leaf does not turn them over."""

import re
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Final

import numpy as np

from ctestbed.topology.cabling import (
    Cabling,
    Column,
    Device,
    DeviceKind,
    infer_roles,
    pair_counts,
)

FEW: Final = 4
"""A switch with this many times fewer endpoints than the median leaf may be no leaf."""
_DIGITS: Final = re.compile(r"[0-9]+")


def tiers_of(cabling: Cabling) -> tuple[Column, Column]:
    """Return tier (0 endpoint, 1 leaf, ..., -1 none) and endpoint mask of every device.

    Distance from endpoints decides, after endpoints at odd places (on a spine) are set aside and
    switches cut off from endpoints are put with those of like names.
    """
    roles = infer_roles(cabling)
    tier = roles.tier.copy()
    lower, higher, counts = pair_counts(cabling)
    endpoint = roles.endpoint
    below = np.zeros(len(tier), np.int64)
    for near, far in ((lower, higher), (higher, lower)):
        np.add.at(below, near, np.where(endpoint[far], counts, 0))
    leaves = np.flatnonzero((tier == 1) & (below > 0))
    if len(leaves):
        few = leaves[below[leaves] * FEW < np.median(below[leaves])]
        firm = np.setdiff1d(leaves, few)
        if len(few) and len(firm):
            distances = _climb(lower, higher, firm, roles.switch & (tier >= 0))
            moved = few[(distances[few] > 1) & _apart(lower, higher, firm, few)]
            if len(moved):
                again = _climb(lower, higher, np.setdiff1d(leaves, moved), roles.switch)
                tier = np.where(roles.switch & (again >= 0), again, tier)
    return _like_names(cabling, tier, roles.switch), endpoint


def _climb(lower: Column, higher: Column, leaves: Column, through: Column) -> Column:
    """Return distance + 1 from the nearest of the leaves over switches; -1 where none."""
    distance = np.full(len(through), -1, np.int64)
    distance[leaves] = 1
    near, far = np.concatenate([lower, higher]), np.concatenate([higher, lower])
    step = 1
    while True:
        reached = far[(distance[near] == step) & (distance[far] < 0) & through[far]]
        if not len(reached):
            return distance
        step += 1
        distance[reached] = step


def _apart(lower: Column, higher: Column, firm: Column, few: Column) -> Column:
    """Return which of `few` have mostly firm leaves for neighbours among switches, as spines do."""
    is_firm = np.zeros(int(max(higher.max(initial=0), lower.max(initial=0))) + 1, bool)
    is_firm[firm] = True
    found = []
    for switch in few.tolist():
        near = np.concatenate([higher[lower == switch], lower[higher == switch]])
        found.append(int(is_firm[near].sum()) > 1)
    return np.array(found, bool)


def skeleton(name: str) -> str:
    """Return a name with every run of digits replaced by `#`."""
    return _DIGITS.sub("#", name)


def _like_names(cabling: Cabling, tier: Column, switch: Column) -> Column:
    """Put a switch that stands alone in its place with the tier of those of like names."""
    named: dict[str, list[int]] = defaultdict(list)
    for position in np.flatnonzero(switch).tolist():
        if cabling.devices[position].role is None or tier[position] >= 0:
            named[skeleton(cabling.devices[position].name)].append(position)
    result = tier.copy()
    words = [key for key in named if key.strip("#") and len(named[key]) > FEW - 1]
    if len(words) < 2:  # noqa: PLR2004 - one pattern for all tells nothing
        return result
    for key in words:
        usual, count = Counter(tier[named[key]].tolist()).most_common(1)[0]
        if usual > 0 and count * FEW >= 3 * len(named[key]):
            result[named[key]] = usual
    return result


def explode_hosts(cabling: Cabling, endpoint: Column) -> Cabling:
    """Turn each port of a host that has several into an adapter of its own, called HOST:PORT.

    The rail is the place of the port's name among the names of all such ports.
    """
    cables = cabling.cables
    ends = np.concatenate([cables.a, cables.b])
    several = np.bincount(ends, minlength=len(cabling.devices)) > 1
    kinds = (cabling.kinds == DeviceKind.HOST) | (cabling.kinds == DeviceKind.UNKNOWN)
    split = endpoint & several & kinds
    rows = [
        (end, np.flatnonzero(split[getattr(cables, end)] & (getattr(cables, f"{end}_port") >= 0)))
        for end in ("a", "b")
    ]
    if not any(len(found) for _, found in rows):
        return cabling
    names = {
        cabling.port_names[int(port)]
        for end, found in rows
        for port in getattr(cables, f"{end}_port")[found]
    }
    rails = {name: rail for rail, name in enumerate(sorted(names, key=natural))}
    devices = list(cabling.devices)
    columns = {name: getattr(cables, name).copy() for name in ("a", "b", "a_port", "b_port")}
    for end, found in rows:
        for row in found.tolist():
            host = cabling.devices[int(columns[end][row])]
            port = cabling.port_names[int(columns[f"{end}_port"][row])]
            columns[end][row] = len(devices)
            columns[f"{end}_port"][row] = -1
            devices.append(
                Device(
                    f"{host.name}:{port}",
                    DeviceKind.NIC,
                    host=host.name,
                    rail=rails[port],
                    line=host.line,
                    pointer=host.pointer,
                )
            )
    table = replace(
        cables,
        a=columns["a"],
        b=columns["b"],
        a_port=columns["a_port"],
        b_port=columns["b_port"],
    )
    return replace(cabling, devices=tuple(devices), cables=table)


def natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """Return a sort key in which numbers inside a name count as numbers."""
    parts = re.split(r"([0-9]{1,18})", name)
    return tuple(
        (part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts if part
    )
