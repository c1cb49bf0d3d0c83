"""Fabrics to cable wrongly, and the ways to do so, apart from the code that must notice."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ctestbed.core.result import Finding
from ctestbed.topology.asbuilt.deviations import Deviation
from ctestbed.topology.build import build_topology
from ctestbed.topology.cabling import Cables, Cabling, Column, cabling_of
from ctestbed.topology.comparing import _against
from tests.topology.strategies import fat_tree, load_document

COLUMNS = ("a", "b", "a_port", "b_port", "rate", "delay", "length", "line", "b_line")

_CABLE = {"rate": "400Gbps", "delay": "1us"}
_FABRICS: dict[str, dict[str, Any]] = {
    "leaf-spine": fat_tree(tiers=2, leaves=4, spines=3, hosts_per_leaf=3, parallel=2),
    "three-tier": fat_tree(tiers=3, pods=3, leaves=2, spines=2, cores=4, hosts_per_leaf=2),
    "planes": {
        **fat_tree(tiers=2, leaves=3, spines=2, hosts_per_leaf=4),
        "planes": {"count": 2, "form": "nic-per-plane"},
        "host": {"accelerators": 4, "nics": 4},
    },
    "split": {
        **fat_tree(tiers=2, leaves=3, spines=2, hosts_per_leaf=2),
        "planes": {"count": 4, "form": "nic-split"},
        "host": {"accelerators": 1, "nics": 1},
    },
    "rails": {
        "ctestbed": 1,
        "name": "rails",
        "host": {"accelerators": 4, "nics": 4},
        "fabric": {
            "kind": "rail-optimised",
            "rails": 4,
            "segments": 3,
            "hosts_per_segment": 4,
            "spines": 3,
            "parallel": 2,
            **_CABLE,
        },
    },
    "dual-tor": {
        "ctestbed": 1,
        "name": "dual",
        "host": {"accelerators": 2, "nics": 2},
        "fabric": {
            "kind": "rail-optimised",
            "rails": 2,
            "tors_per_rail": 2,
            "segments": 2,
            "hosts_per_segment": 3,
            "spines": 2,
            **_CABLE,
        },
    },
    "dragonfly": {
        "ctestbed": 1,
        "name": "df",
        "host": {"accelerators": 1, "nics": 1},
        "fabric": {"kind": "dragonfly", "p": 2, "a": 4, "h": 2, **_CABLE},
    },
    "slim-fly": {
        "ctestbed": 1,
        "name": "sf",
        "host": {"accelerators": 1, "nics": 1},
        "fabric": {"kind": "slim-fly", "q": 5, "p": 2, **_CABLE},
    },
    "torus": {
        "ctestbed": 1,
        "name": "torus",
        "host": {"accelerators": 4},
        "fabric": {"kind": "torus", "dims": [4, 4, 3], **_CABLE},
    },
    "full-mesh": {
        "ctestbed": 1,
        "name": "mesh",
        "host": {"accelerators": 4},
        "fabric": {"kind": "full-mesh", "dims": [4, 3, 2], **_CABLE},
    },
    "rail-only": {
        "ctestbed": 1,
        "name": "rail-only",
        "host": {"accelerators": 2, "nics": 2},
        "fabric": {
            "kind": "rail-only",
            "rails": 4,
            "domains": 6,
            "leaves": 3,
            "spines": 2,
            **_CABLE,
        },
    },
    "scale-up": {
        "ctestbed": 1,
        "name": "scale-up",
        "host": {"accelerators": 4},
        "fabric": {"kind": "scale-up", "supernodes": 2},
        "supernode": {
            "accelerators": 12,
            "cpus": {"per_host": 1, "rate": "400Gbps"},
            "scale_up": {
                "rate": "800Gbps",
                "delay": "1us",
                "switches": 2,
                "upper": {"switches": 3, "rate": "1200Gbps"},
            },
        },
    },
    "sites": {
        **fat_tree(tiers=2, leaves=3, spines=2, hosts_per_leaf=2),
        "sites": [{"name": "east"}, {"name": "west"}],
        "trunks": [{"between": ["east", "west"], "length": "150km", "rate": "400Gbps", "links": 2}],
    },
    "unlike-planes": {
        **fat_tree(tiers=2, leaves=4, spines=4, hosts_per_leaf=2),
        "planes": {
            "count": 4,
            "form": "nic-split",
            "overrides": [{"plane": 2, "spines": 2}],
        },
    },
}
NAMES = tuple(_FABRICS)


@cache
def built(name: str) -> Cabling:
    return cabling_of(build_topology(load_document(_FABRICS[name])))


def columns(cabling: Cabling) -> dict[str, Column]:
    return {name: getattr(cabling.cables, name).copy() for name in COLUMNS}


def with_cables(cabling: Cabling, table: dict[str, Column]) -> Cabling:
    return replace(cabling, cables=table_of(table))


def table_of(table: dict[str, Column]) -> Cables:
    return Cables(
        a=table["a"].astype(np.int32),
        b=table["b"].astype(np.int32),
        a_port=table["a_port"],
        b_port=table["b_port"],
        rate=table["rate"],
        delay=table["delay"],
        length=table["length"],
        line=table["line"],
        b_line=table["b_line"],
    )


def without(cabling: Cabling, rows: Sequence[int]) -> Cabling:
    table = columns(cabling)
    return with_cables(cabling, {name: np.delete(v, list(rows)) for name, v in table.items()})


def with_cable(cabling: Cabling, a: int, b: int) -> Cabling:
    """Add a cable on ports of its own."""
    table = {name: np.append(v, v[0]) for name, v in columns(cabling).items()}
    ports = len(cabling.port_names)
    for name, value in (("a", a), ("b", b), ("a_port", ports), ("b_port", ports + 1)):
        table[name][-1] = value
    grown = replace(cabling, port_names=(*cabling.port_names, "new-a", "new-b"))
    return with_cables(grown, table)


def swapped(cabling: Cabling, first: int, second: int) -> Cabling:
    table = columns(cabling)
    for name in ("b", "b_port", "b_line"):
        column = table[name]
        column[first], column[second] = column[second], column[first]
    return with_cables(cabling, table)


def without_ports(cabling: Cabling) -> Cabling:
    table = columns(cabling)
    table["a_port"][:] = table["b_port"][:] = -1
    return with_cables(cabling, table)


def shuffled(cabling: Cabling, seed: int) -> Cabling:
    """Return the same cabling in another order of devices, cables and ends."""
    generator = np.random.default_rng(seed)
    places = generator.permutation(len(cabling.devices))
    devices = [cabling.devices[0]] * len(places)
    for old, new in enumerate(places.tolist()):
        devices[new] = cabling.devices[old]
    rows = generator.permutation(len(cabling.cables))
    table = {name: column[rows] for name, column in columns(cabling).items()}
    table["a"], table["b"] = places[table["a"]], places[table["b"]]
    turn = generator.random(len(rows)) < 0.5
    for one, two in (("a", "b"), ("a_port", "b_port"), ("line", "b_line")):
        table[one], table[two] = (
            np.where(turn, table[two], table[one]),
            np.where(turn, table[one], table[two]),
        )
    return with_cables(replace(cabling, devices=tuple(devices)), table)


def renamed(cabling: Cabling, prefix: str = "zz-") -> Cabling:
    """Return the same cabling under names that no design has, in another order."""
    count = len(cabling.devices)

    def name(at: int) -> str:
        return f"{prefix}{(at * 7919) % count:05d}"

    hosts = {device.host: f"{prefix}host-{at}" for at, device in enumerate(cabling.devices)}
    devices = tuple(
        replace(device, name=name(at), host=device.host and hosts[device.host])
        for at, device in enumerate(cabling.devices)
    )
    assert len({device.name for device in devices}) == count
    return replace(cabling, devices=devices)


def deviations(design: Cabling, record: Cabling) -> tuple[Deviation, ...]:
    return _against(design, record, "the design").deviations


def notes(design: Cabling, record: Cabling) -> tuple[Finding, ...]:
    return _against(design, record, "the design").notes


def ends(cabling: Cabling, row: int) -> tuple[str, str]:
    cables = cabling.cables
    first, second = (cabling.devices[int(end[row])].name for end in (cables.a, cables.b))
    return min(first, second), max(first, second)


def pair_of(deviation: Deviation) -> tuple[str, str]:
    assert deviation.b is not None
    a, b = (text.rpartition(":")[0] if ":" in text else text for text in (deviation.a, deviation.b))
    return min(a, b), max(a, b)
