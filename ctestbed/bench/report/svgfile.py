"""A report's pictures as one SVG file; of a report without, its charts, or its verdict."""

from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from ctestbed.bench.report.blocks import Block, Picture, Plot
from ctestbed.bench.report.common import verdict_line
from ctestbed.bench.report.drawing.canvas import fit
from ctestbed.bench.report.drawing.draw import document
from ctestbed.bench.report.svg import WIDTH, draw_plot
from ctestbed.bench.report.views import view_of
from ctestbed.core.envelope import Envelope


def render_svg(envelope: Envelope) -> str:
    """Return the pictures of a report below each other, or else its charts, or its verdict."""
    blocks = view_of(envelope)
    command = " ".join(envelope["request"]["command"])
    groups = [group for block in blocks for group in scene_groups(block)]
    if groups:
        facts = envelope["data"]
        title = str(facts.get("testbed") or command)
        return document(title, str(facts.get("title") or ""), groups).decode()
    plots = [block for block in blocks if isinstance(block, Plot)]
    if plots:
        return _stack(command, plots)
    return _card(command, verdict_line(envelope))


def scene_groups(block: Block | Picture) -> Iterator[Sequence[dict[str, Any]]]:
    """Yield the scenes of a picture, and then those folded away in it."""
    if isinstance(block, Picture):
        yield block.scenes
        for inner in block.folded:
            yield from scene_groups(inner)


def _stack(title: str, plots: Sequence[Plot]) -> str:
    ET.register_namespace("", "http://www.w3.org/2000/svg")
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "group"})
    ET.SubElement(root, "title").text = title
    ET.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#fff"})
    y = 20.0
    for number, plot in enumerate(plots, 1):
        ET.SubElement(root, "text", _heading(y)).text = plot.title
        drawn = ET.fromstring(draw_plot(plot, f"p{number}"))  # noqa: S314 - our own
        height = float(drawn.attrib["viewBox"].split()[3])
        drawn = _without_namespace(drawn)
        drawn.attrib |= {"y": f"{y + 10:.0f}", "width": str(WIDTH), "height": f"{height:.0f}"}
        root.append(drawn)
        y += height + 46
    root.set("viewBox", f"0 0 {WIDTH} {y:.0f}")
    return ET.tostring(root, encoding="unicode") + "\n"


def _card(command: str, verdict: str) -> str:
    """Return what is left to draw of a report that holds no picture: its verdict."""
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img"})
    ET.SubElement(root, "title").text = f"{command}: {verdict}"
    ET.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#fff"})
    for y, words in ((24.0, command), (46.0, verdict), (68.0, "This report holds no picture.")):
        ET.SubElement(root, "text", _heading(y)).text = fit(words, WIDTH - 8, size=13, bold=True)
    root.set("viewBox", f"0 0 {WIDTH} 84")
    return ET.tostring(root, encoding="unicode") + "\n"


def _heading(y: float) -> dict[str, str]:
    font = {"font-family": "system-ui, sans-serif", "font-size": "13", "font-weight": "600"}
    return {"x": "4", "y": f"{y:.0f}", "fill": "#1b2129"} | font


def _without_namespace(element: ET.Element) -> ET.Element:
    for each in element.iter():
        each.tag = each.tag.rpartition("}")[2]
    return element
