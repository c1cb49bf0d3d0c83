"""containerlab's topology file: nodes by name in groups of one role, links as pairs of ends.

Interfaces are those of Linux in a container: `eth0` is the management network, so `eth1` is the
first. Images are the user's own choice, and stand once per group.
"""

from collections.abc import Iterator
from typing import Final

from ctestbed.topology.cabling import Cabling, Device, infer_roles
from ctestbed.topology.tiers import Tier
from ctestbed.topology.writers.common import (
    Fabric,
    Notes,
    batched,
    cable_rows,
    refuse_self_loops,
    safe_names,
    yaml_text,
)
from ctestbed.topology.writers.ports import interface_texts
from ctestbed.topology.writers.views import folded, network

_NAME: Final = "A-Za-z0-9_.-"
_LONGEST_NAME: Final = 60
_LONGEST_INTERFACE: Final = 15
"""Linux: IFNAMSIZ less the final zero."""
_LABELS: Final = ("site", "plane", "pod", "tier", "rail")


def write(fabric: Fabric, notes: Notes) -> Iterator[str]:
    """Write a lab; adapters are interfaces of their host.

    Raises:
        InputError: names that make no container names, or a device cabled to itself.
    """
    cabling = folded(network(fabric.cabling, notes))
    refuse_self_loops(notes, cabling)
    names = safe_names(
        notes, [device.name for device in cabling.devices], _NAME, longest=_LONGEST_NAME
    )
    (title,) = safe_names(notes, [cabling.name], _NAME, longest=_LONGEST_NAME)
    notes.add(
        "CTB-T312",
        "rates, delays and lengths are not held: virtual cables run as fast as the machine",
        "set impairments with `containerlab tools netem` where they matter",
    )
    notes.add(
        "CTB-T318",
        "all nodes are of kind linux, and their images are left to you",
        "set `image` (and `kind`) once per group, under `topology.groups`",
    )
    groups = group_names(cabling)
    yield f"name: {yaml_text(title)}\n\ntopology:\n  groups:\n"
    for group in dict.fromkeys(groups):
        yield f"    {group}:\n      kind: linux\n"
    yield "  nodes:\n" if names else "  nodes: {}\n"
    yield from batched(
        f"    {yaml_text(name)}:\n      group: {group}\n{_labels(device)}"
        for name, group, device in zip(names, groups, cabling.devices, strict=True)
    )
    yield "  links:\n" if len(cabling.cables) else "  links: []\n"
    yield from batched(_links(cabling, names, notes))


def group_names(cabling: Cabling) -> list[str]:
    """Return the role of each device: host, leaf, spine, core, or switch where it has no tier."""
    roles = infer_roles(cabling)
    found = []
    rows = zip(roles.switch.tolist(), roles.tier.tolist(), strict=True)
    for switch, tier in rows:
        if not switch:
            found.append("host")
        else:
            found.append(Tier(tier).name.lower() if 1 <= tier <= Tier.CORE else "switch")
    return found


def _labels(device: Device) -> str:
    # Labels are text: numbers are quoted, so that every reader keeps them so.
    known = [f"kind: {device.kind.word}"] if device.kind else []
    for name in _LABELS:
        value = getattr(device, name)
        if value is not None:
            known.append(f"{name}: {yaml_text(str(value))}")
    return f"      labels: {{{', '.join(known)}}}\n" if known else ""


def _links(cabling: Cabling, names: list[str], notes: Notes) -> Iterator[str]:
    a_text, b_text = interface_texts(cabling, notes, "A-Za-z0-9_.-", _LONGEST_INTERFACE)
    for row, (a, b, a_port, b_port, _, _, _) in enumerate(cable_rows(cabling.cables)):
        near, far = f"{names[a]}:{a_text(row, a_port)}", f"{names[b]}:{b_text(row, b_port)}"
        yield f'    - endpoints: ["{near}", "{far}"]\n'
