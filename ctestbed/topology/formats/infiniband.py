"""Words of InfiniBand that several formats share: link rates, and what names of nodes tell."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from ctestbed.topology.cabling import AGGREGATION, Device, DeviceKind

LANE_RATES: Final[Mapping[str, int]] = {
    "SDR": 2_500_000_000,
    "DDR": 5_000_000_000,
    "QDR": 10_000_000_000,
    "FDR10": 10_000_000_000,
    "FDR": 14_000_000_000,
    "EDR": 25_000_000_000,
    "HDR": 50_000_000_000,
    "NDR": 100_000_000_000,
    "XDR": 200_000_000_000,
}
"""Nominal bit/s of one lane, as links are called: 4xFDR is 56 Gb/s, 4xNDR 400 Gb/s."""

WIDTHS: Final = (1, 2, 4, 8, 12)
_WIDTH_SPEED: Final = re.compile(r"([0-9]{1,2})x([A-Z]{3}(?:10)?)")
_SWITCH_NAME: Final = re.compile(r"[^;]{1,16};([^:;]+):([^/:;]+)/\S+")
_ADAPTER_NAME: Final = re.compile(r"(\S+)\s+((HCA-|[a-z][a-z0-9]*_)([0-9]{1,4})|ib[a-z]\w*)")


def link_rate(text: str) -> int | None:
    """Return bit/s of a width and speed such as `4xNDR`; None where it is none."""
    match = _WIDTH_SPEED.fullmatch(text)
    if match is None or int(match[1]) not in WIDTHS or match[2] not in LANE_RATES:
        return None
    return int(match[1]) * LANE_RATES[match[2]]


def name_switch(device: Device) -> Device:
    """Fill in name and model from a description such as `MF0;LEAF-01:MQM9700/U1`."""
    match = _SWITCH_NAME.fullmatch(device.description or "")
    return device if match is None else replace(device, name=match[1], model=match[2])


def name_adapters(devices: Iterable[Device]) -> list[Device]:
    """Fill in host and rail of adapters described as `host HCA-n` or `host mlx5_n`.

    HCA-n is the same position as mlx5_(n-1). Rails are numbered from 0 in order of the positions
    that the file has. An adapter that calls itself an aggregation node sits inside a switch.
    """
    found: list[Device] = []
    position: dict[int, int] = {}
    for device in devices:
        description = device.description or ""
        if "aggregation node" in description.lower():
            found.append(replace(device, role=AGGREGATION))
            continue
        match = _ADAPTER_NAME.fullmatch(description)
        if match is None:
            found.append(device)
            continue
        if match[4] is not None:
            position[len(found)] = int(match[4]) - (match[3] == "HCA-")
        attributes = {**device.attributes, "hca": match[2]}
        found.append(replace(device, host=match[1], attributes=attributes))
    rails = {slot: rail for rail, slot in enumerate(sorted(set(position.values())))}
    for row, slot in position.items():
        found[row] = replace(found[row], rail=rails[slot])
    return found


def unique_names(devices: list[Device], ids: list[str]) -> list[Device]:
    """Call each device by its description where that is its alone, and else by its id."""
    counts: dict[str, int] = {}
    for device in devices:
        counts[device.name] = counts.get(device.name, 0) + 1
    taken = set(ids)
    return [
        device if counts[device.name] == 1 and device.name not in taken else replace(device, name=i)
        for device, i in zip(devices, ids, strict=True)
    ]


def kind_of(word: str) -> DeviceKind | None:
    """Return the kind that a record starts with: Switch, Ca, Hca, Rt; None for other words."""
    words = {
        "switch": DeviceKind.SWITCH,
        "ca": DeviceKind.NIC,
        "hca": DeviceKind.NIC,
        "rt": DeviceKind.SWITCH,
        "router": DeviceKind.SWITCH,
    }
    return words.get(word.lower())
