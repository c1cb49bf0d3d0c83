"""DOT, as Graphviz draws it: switches as boxes, hosts as ellipses, tiers as ranks."""

from collections.abc import Iterator
from typing import Final

from ctestbed.core.units import format_rate
from ctestbed.topology.cabling import Cabling, DeviceKind
from ctestbed.topology.writers.common import Fabric, Memo, Notes, batched, cable_rows, many
from ctestbed.topology.writers.text import refuse_control_characters

_LEGIBLE: Final = 300


def quote(text: str) -> str:
    """Return text as a DOT string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write(fabric: Fabric, notes: Notes) -> Iterator[str]:
    """Write an undirected graph; ports stand at the ends of edges, rates in the middle.

    Raises:
        InputError: a name with a line end in it.
    """
    cabling = fabric.cabling
    refuse_control_characters(cabling, notes)
    notes.add("CTB-T312", "delays and lengths are not drawn", "see graphml or csv")
    if len(cabling.cables) > _LEGIBLE:
        notes.add(
            "CTB-T317",
            f"{many(len(cabling.cables), 'cable')} drawn one by one make no legible picture",
            "`ctestbed topology show` draws bundles",
        )
    yield f"graph {quote(cabling.name)} {{\n  graph [rankdir=BT];\n"
    yield from batched(_nodes(cabling))
    yield from batched(_edges(cabling))
    yield "}\n"


def _nodes(cabling: Cabling) -> Iterator[str]:
    for device in cabling.devices:
        shape = "box" if device.kind == DeviceKind.SWITCH else "ellipse"
        known = [f"shape={shape}", f"kind={quote(device.kind.word)}"]
        for name in ("site", "plane", "pod", "tier", "rail"):
            value = getattr(device, name)
            if value is not None:
                known.append(f"{name}={quote(str(value))}")
        yield f"  {quote(device.name)} [{', '.join(known)}];\n"


def _edges(cabling: Cabling) -> Iterator[str]:
    names = [quote(device.name) for device in cabling.devices]
    ports = [quote(name) for name in cabling.port_names]
    label = Memo(lambda rate: quote(format_rate(rate)))
    for a, b, a_port, b_port, rate, _, _ in cable_rows(cabling.cables):
        known = []
        if a_port >= 0:
            known.append(f"taillabel={ports[a_port]}")
        if b_port >= 0:
            known.append(f"headlabel={ports[b_port]}")
        if rate >= 0:
            known.append(f"label={label[rate]}")
        attributes = f" [{', '.join(known)}]" if known else ""
        yield f"  {names[a]} -- {names[b]}{attributes};\n"
