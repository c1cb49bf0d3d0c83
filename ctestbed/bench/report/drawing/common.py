"""What all layouts share: the marks of blocks and bundles, and the sums beside them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias
from xml.etree import ElementTree as ET

from ctestbed.bench.report.drawing.canvas import LINE, Box, Canvas, Words
from ctestbed.bench.report.drawing.wording import (
    block_name,
    block_tip,
    bundle_tip,
    count_words,
    ports_words,
    total_lines,
)

Record: TypeAlias = Mapping[str, Any]

_TONES: Final = {
    "core": 3,
    "spine": 1,
    "leaf": 0,
    "router": 0,
    "NIC port": 2,
    "accelerator": 2,
    "CPU": 4,
    "scale-up switch": 7,
    "host": 2,
    "NIC": 2,
    "endpoint": 2,
}
PLAIN: Final = 6
"""The tone of frames, and of what has no tone of its own."""


def tone_of(kind: str) -> int:
    """Return the tone of a kind of block."""
    return _TONES.get(kind, PLAIN)


def start_block(canvas: Canvas, record: Record, parent: ET.Element | None = None) -> ET.Element:
    """Start the mark of a block."""
    data = {"kind": record["kind"], "count": record["count"], "block": record["id"]}
    return canvas.mark(canvas.boxes if parent is None else parent, "block", block_tip(record), data)


def start_bundle(canvas: Canvas, bundle: Record, names: Mapping[str, str]) -> ET.Element:
    """Start the mark of a bundle."""
    data = {"layer": bundle["layer"], "cables": bundle["cables"]}
    return canvas.mark(canvas.lines, "bundle", bundle_tip(bundle, names), data)


def block_lines(record: Record) -> list[Words]:
    """Return the lines that a block's box holds."""
    name, last = record["name"], record["last"]
    if last:
        return [(name, "b"), ((f"to {last}", last), "b"), (count_words(record), "s")]
    lines: list[Words] = [(name or count_words(record), "b")]
    if name and record["count"] > 1:
        lines.append((count_words(record), "s"))
    if record["ports_used"] is not None:
        lines.append((ports_words(record), "s"))
    return lines


def draw_block(canvas: Canvas, record: Record, box: Box) -> None:
    """Draw a block as a box with its lines; a run has others behind it."""
    group = start_block(canvas, record)
    tone = tone_of(record["kind"])
    if record["last"]:
        behind = Box(box.x + 4, box.y - 4, box.width, box.height)
        canvas.rect(group, behind, tone, fill=0.04)
    paper(canvas, group, box)
    canvas.rect(group, box, tone)
    canvas.stack(group, block_lines(record), box)


def paper(canvas: Canvas, parent: ET.Element, box: Box) -> None:
    """Cover what lies below a box."""
    ET.SubElement(
        parent,
        "rect",
        {
            "class": "paper",
            "x": f"{box.x:.1f}",
            "y": f"{box.y:.1f}",
            "width": f"{box.width:.1f}",
            "height": f"{box.height:.1f}",
            "rx": "4",
            "fill": "#fff",
        },
    )
    canvas.reach(box.bottom)


def draw_totals(canvas: Canvas, bundles: Sequence[Record], x: float, centre: float) -> float:
    """Write the sums of one layer beside it; return where they end."""
    width = canvas.gutter
    lines = total_lines(bundles)
    top = centre - LINE * len(lines) / 2
    box = Box(x, top, width, LINE * len(lines))
    canvas.stack(canvas.words, lines, Box(x - 8, top, width + 16, box.height), left=True)
    return box.bottom


def names_of(scene: Record) -> dict[str, str]:
    """Return the name of each block."""
    return {record["id"]: block_name(record) for record in scene["blocks"]}


def by_layer(scene: Record) -> dict[str, list[Record]]:
    """Return the bundles of each layer, in order."""
    layers: dict[str, list[Record]] = {}
    for bundle in scene["bundles"]:
        layers.setdefault(bundle["layer"], []).append(bundle)
    return layers


def share_of(bundle: Record, most: int) -> float | None:
    """Return a bundle's capacity next to the most there is; None where it is unknown."""
    capacity = bundle["capacity"]
    return capacity / most if isinstance(capacity, int) and most else None
