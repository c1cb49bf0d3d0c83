"""From scenes to SVG: one element for a page, or a whole file of all scenes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final
from xml.etree import ElementTree as ET

from ctestbed.bench.report.drawing.canvas import Canvas, number
from ctestbed.bench.report.drawing.common import Record
from ctestbed.bench.report.drawing.grid import draw_grid
from ctestbed.bench.report.drawing.matrix import draw_matrix
from ctestbed.bench.report.drawing.places import draw_sites
from ctestbed.bench.report.drawing.ring import draw_ring
from ctestbed.bench.report.drawing.rows import draw_rows
from ctestbed.bench.report.drawing.tiers import draw_tiers
from ctestbed.bench.report.drawing.wording import KEY, many, scene_heading

WIDTH: Final = 1100.0
_LAYOUTS: Final[Mapping[str, Callable[[Canvas, Record], None]]] = {
    "tiers": draw_tiers,
    "links": draw_rows,
    "ring": draw_ring,
    "grid": draw_grid,
    "sites": draw_sites,
    "matrix": draw_matrix,
}
_MARGIN: Final = 24.0
_HEAD: Final = 40.0
"""Room for a scene's heading and note in a file."""
FONT: Final = "system-ui, 'DejaVu Sans', sans-serif"
HALF: Final = (WIDTH - _MARGIN) / 2
"""Width of scenes that stand side by side."""


def draw_scene(scene: Record, identifier: str, width: float = WIDTH) -> Canvas:
    """Lay one scene out; a view that is not known leaves the sheet empty."""
    canvas = Canvas(identifier, width)
    layout = _LAYOUTS.get(scene["view"])
    if layout is not None and scene["blocks"]:
        layout(canvas, scene)
    return canvas


def scene_svg(scene: Record, identifier: str, width: float = WIDTH) -> str:
    """Return one scene as an `<svg>` element with a title and a description."""
    canvas = draw_scene(scene, identifier, width)
    root = _root(width, canvas.height + 4, identifier, scene_heading(scene), describe(scene))
    root.append(canvas.root)
    return ET.tostring(root, encoding="unicode")


def describe(scene: Record) -> str:
    """Say in words what a scene shows: its blocks, and the cables of each layer."""
    layers: dict[str, int] = {}
    for bundle in scene["bundles"]:
        layers[bundle["layer"]] = layers.get(bundle["layer"], 0) + bundle["cables"]
    cables = "; ".join(f"{name}: {many(count, 'cable')}" for name, count in layers.items())
    kinds: dict[str, int] = {}
    for record in scene["blocks"]:
        if record["kind"] not in {"pod", "rail", "host", "group"}:
            kinds[record["kind"]] = kinds.get(record["kind"], 0) + record["count"]
    blocks = ", ".join(many(count, kind) for kind, count in kinds.items())
    sentences = [f"{part}." for part in (blocks, cables) if part]
    return " ".join([*sentences, str(scene["note"])]).strip()


def document(title: str, subtitle: str, groups: Sequence[Sequence[Record]]) -> bytes:
    """Return a file of all scenes, one group below the other; those of a group side by side."""
    sheet = ET.Element("g")
    y = 78.0
    number_of = 0
    for group in groups:
        width = WIDTH if len(group) == 1 else HALF
        for start in range(0, len(group), 1 if len(group) == 1 else 2):
            lowest = 0.0
            head = _HEAD if any(scene["note"] for scene in group) else _HEAD / 2
            for column, scene in enumerate(group[start : start + 2]):
                number_of += 1
                canvas = draw_scene(scene, f"d{number_of}", width)
                x = _MARGIN + column * (HALF + _MARGIN)
                _heading(sheet, scene, x, y, width)
                place = {"transform": f"translate({number(x)} {number(y + head)})"}
                ET.SubElement(sheet, "g", place).append(canvas.root)
                lowest = max(lowest, canvas.height)
                if len(group) == 1:
                    break
            y += head + lowest + 34
    foot = Canvas("h", WIDTH)
    foot.text(foot.words, KEY, _MARGIN, y + 2, room=WIDTH, anchor="start", soft=True)
    sheet.append(foot.words)
    y += 24
    words = "; ".join(f"{scene_heading(each)}: {describe(each)}" for g in groups for each in g)
    root = _root(WIDTH + 2 * _MARGIN, y, "d", title, words)
    size = {"width": number(WIDTH + 2 * _MARGIN), "height": number(y)}
    ET.SubElement(root, "rect", {"class": "paper", **size, "fill": "#fff"})
    sheet.set("class", "scenes")
    root.append(sheet)
    top = Canvas("h", WIDTH)
    top.text(top.words, title, _MARGIN, 34, room=WIDTH, anchor="start", bold=True)
    top.words[0].set("font-size", "18")
    top.text(top.words, subtitle, _MARGIN, 54, room=WIDTH, anchor="start", soft=True)
    root.append(top.words)
    text: bytes = ET.tostring(root, encoding="utf-8")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + text + b"\n"


def _heading(sheet: ET.Element, scene: Record, x: float, y: float, width: float) -> None:
    canvas = Canvas("h", width)
    canvas.text(
        canvas.words, scene_heading(scene), x, y + 8, room=width / 1.2, anchor="start", bold=True
    )
    canvas.words[0].set("font-size", "13")
    if scene["note"]:
        canvas.text(
            canvas.words, str(scene["note"]), x, y + 25, room=width, anchor="start", soft=True
        )
    sheet.append(canvas.words)


def _root(width: float, height: float, identifier: str, title: str, words: str) -> ET.Element:
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": "chart drawing",
            "role": "img",
            "aria-labelledby": f"{identifier}-title {identifier}-desc",
            "viewBox": f"0 0 {number(width)} {number(height)}",
            "font-family": FONT,
            "font-size": "11",
        },
    )
    ET.SubElement(root, "title", {"id": f"{identifier}-title"}).text = title
    ET.SubElement(root, "desc", {"id": f"{identifier}-desc"}).text = words
    return root
