"""A network's fingerprint: what each of its devices sees around it, whatever the names.

Networks that differ by renaming alone have the same fingerprint. Others have different ones but
for pairs that this cannot tell apart: colour refinement (Weisfeiler and Leman, 1968) from the
walks of two cables, where these are few enough to be followed, and from the number of parallel
cables everywhere. Hosts count as places that their adapters share.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ctestbed.topology.cabling import Cabling, Column, DeviceKind

ROUNDS: Final = 24
MAX_WALKS: Final = 2_000_000
"""Walks of two cables that are followed; denser networks are told by refinement alone."""

_SWITCH: Final = 1
_HOST: Final = 2
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True)
class Network:
    """A network without names: `kind` of each place, and the ends `a`, `b` of each cable.

    Places beyond the devices are hosts; `shared` holds the (host, adapter) rows.
    """

    kind: Column
    a: Column
    b: Column
    shared: tuple[Column, Column]

    def without(self, rows: Any) -> "Network":
        """Return the network without some of its cables."""
        keep = np.ones(len(self.a), bool)
        keep[rows] = False
        return Network(self.kind, self.a[keep], self.b[keep], self.shared)

    def having(self, pairs: list[tuple[int, int]]) -> "Network":
        """Return the network with more cables."""
        ends = np.array(pairs, np.int64).reshape(-1, 2)
        a, b = np.concatenate([self.a, ends[:, 0]]), np.concatenate([self.b, ends[:, 1]])
        return Network(self.kind, a, b, self.shared)

    @property
    def degree(self) -> Column:
        """Return the cable ends at each place."""
        ends = np.concatenate([self.a, self.b])
        return np.bincount(ends, minlength=len(self.kind))


def networks_of(design: Cabling, built: Cabling) -> tuple[Network, Network]:
    """Return both networks; hosts count where as many adapters of both name theirs."""
    named = [sum(device.host is not None for device in c.devices) for c in (design, built)]
    hosts = named[0] == named[1]
    return _network(design, hosts=hosts), _network(built, hosts=hosts)


def _network(cabling: Cabling, *, hosts: bool) -> Network:
    kind = (cabling.kinds == DeviceKind.SWITCH).astype(np.int64) * _SWITCH
    first: dict[str, int] = {}
    rows = [
        (first.setdefault(device.host, len(kind) + len(first)), at)
        for at, device in enumerate(cabling.devices)
        if hosts and device.host is not None
    ]
    shared = np.array(rows, np.int64).reshape(-1, 2)
    whole = np.concatenate([kind, np.full(len(first), _HOST, np.int64)])
    cables = cabling.cables
    ends = cables.a.astype(np.int64), cables.b.astype(np.int64)
    return Network(whole, *ends, (shared[:, 0], shared[:, 1]))


def _mixed(value: Column) -> Column:
    """Return well-spread 64-bit numbers (the finaliser of SplitMix64)."""
    value = value.astype(np.uint64) + _ODD
    value = (value ^ (value >> np.uint64(30))) * _MIX[0]
    value = (value ^ (value >> np.uint64(27))) * _MIX[1]
    mixed: Column = value ^ (value >> np.uint64(31))
    return mixed


def colours(network: Network, rounds: int) -> Column:
    """Return a number for each place, equal where `rounds` of refinement see no difference."""
    near, far, label = _steps(network)
    colour = _mixed(network.kind) + _walks(network, near, far, label)
    weight = _mixed(label)
    for _ in range(rounds):
        seen = np.zeros_like(colour)
        np.add.at(seen, near, _mixed(colour[far] ^ weight))
        colour = _mixed(colour * _MIX[1] + seen)
    return colour


def rounds_needed(network: Network) -> int:
    """Return the rounds after which refinement tells no more places of a network apart."""
    told = 0
    for rounds in range(1, ROUNDS):
        count = len(np.unique(colours(network, rounds)))
        if count == told:
            return rounds
        told = count
    return ROUNDS


def fingerprint(network: Network, rounds: int) -> Column:
    """Return the sorted colours of a network."""
    return np.sort(colours(network, rounds))


def _steps(network: Network) -> tuple[Column, Column, Column]:
    """Return each pair of neighbours both ways, labelled by how many cables join them; 0 a host."""
    size = len(network.kind)
    lower, higher = np.minimum(network.a, network.b), np.maximum(network.a, network.b)
    keys, count = np.unique(lower * size + higher, return_counts=True)
    ends = keys // size, keys % size
    host, adapter = network.shared
    near = np.concatenate([ends[0], ends[1], host, adapter])
    far = np.concatenate([ends[1], ends[0], adapter, host])
    none = np.zeros(len(host), np.int64)
    return near, far, np.concatenate([count, count, none, none])


def _walks(network: Network, near: Column, far: Column, label: Column) -> Column:
    """Return for each place what its walks of two steps tell; zeros where they are too many."""
    size = len(network.kind)
    found = np.zeros(size, np.uint64)
    walks = _two_steps(size, near, far, label)
    if walks is None:
        return found
    ends, weight = walks
    direct = np.zeros(len(ends), np.int64)
    at = np.minimum(np.searchsorted(ends, near * size + far), len(ends) - 1)
    hit = ends[at] == near * size + far
    direct[at[hit]] = label[hit] + 1
    seen = weight * 64 + np.minimum(direct, 15) * 4 + network.kind[ends % size]
    np.add.at(found, ends // size, _mixed(seen))
    return found


def _two_steps(size: int, near: Column, far: Column, label: Column) -> tuple[Column, Column] | None:
    """Return the ends of all walks of two steps, as sorted keys, and the weight of each pair."""
    order = np.argsort(near, kind="stable")
    near, far, label = near[order], far[order], label[order]
    start = np.searchsorted(near, np.arange(size + 1))
    fan = np.diff(start)[far]
    if not len(near) or int(fan.sum()) > MAX_WALKS:
        return None
    first = np.repeat(np.arange(len(near)), fan)
    second = np.arange(len(first)) - np.repeat(np.cumsum(fan) - fan, fan) + start[far[first]]
    ends, inverse = np.unique(near[first] * size + far[second], return_inverse=True)
    weight = np.bincount(inverse, (label[first] + 1) * (label[second] + 1))
    return ends, weight.astype(np.int64)


def support(network: Network) -> Column:
    """Return for each cable the weight of the walks of three steps between its ends.

    A cable in the place of another one closes other short cycles than those around it do. Zeros
    where walks are too many to be followed.
    """
    size = len(network.kind)
    near, far, label = _steps(network)
    walks = _two_steps(size, near, far, label)
    if walks is None:
        return np.zeros(len(network.a), np.int64)
    ends, weight = walks
    order = np.argsort(near, kind="stable")
    near, far, label = near[order], far[order], label[order]
    start = np.searchsorted(near, np.arange(size + 1))
    fan = np.diff(start)[network.a]
    cable = np.repeat(np.arange(len(network.a)), fan)
    step = np.arange(len(cable)) - np.repeat(np.cumsum(fan) - fan, fan) + start[network.a[cable]]
    key = far[step] * size + network.b[cable]
    at = np.minimum(np.searchsorted(ends, key), len(ends) - 1)
    carried = np.where(ends[at] == key, weight[at], 0) * (label[step] + 1)
    return np.bincount(cable, carried, len(network.a)).astype(np.int64)
