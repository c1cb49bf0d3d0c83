"""An SVG read back: its marks, its texts and where they stand."""

import re
from collections import Counter
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from ctestbed.bench.report.drawing.canvas import text_width

SVG = "{http://www.w3.org/2000/svg}"
INVALID = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


@dataclass(frozen=True)
class Text:
    """A line of text that is not turned: what it says, and the rectangle it takes."""

    words: str
    left: float
    right: float
    y: float
    room: float


def parse(svg: str | bytes) -> ET.Element:
    """Parse strictly, and check what every drawing must be."""
    text = svg.decode() if isinstance(svg, bytes) else svg
    assert not INVALID.search(text)
    root = ET.fromstring(text)  # noqa: S314 - of our own drawing
    assert root.tag == f"{SVG}svg"
    assert root.get("viewBox")
    title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert desc is not None
    assert title.text
    assert desc.text
    assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert [name for name, count in Counter(ids).items() if count > 1] == []
    allowed = {"svg", "g", "rect", "path", "text", "title", "desc", "circle"}
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= allowed
    return root


def cables(root: ET.Element) -> int:
    """Sum the cables of all bundles drawn."""
    return sum(int(each.get("data-cables", 0)) for each in root.iter(f"{SVG}g"))


def bundles(root: ET.Element) -> int:
    """Count the bundles drawn."""
    return sum(each.get("data-cables") is not None for each in root.iter(f"{SVG}g"))


def counts(root: ET.Element) -> Counter[str]:
    """Sum what the blocks stand for, by kind."""
    found: Counter[str] = Counter()
    for each in root.iter(f"{SVG}g"):
        if each.get("data-count"):
            found[str(each.get("data-kind"))] += int(each.get("data-count", 0))
    return found


def texts(root: ET.Element) -> list[Text]:
    """Return the level texts of one scene."""
    found = []
    for each in root.iter(f"{SVG}text"):
        if each.get("transform") or not each.text:
            continue
        x, y = float(each.get("x", 0)), float(each.get("y", 0))
        width = text_width(each.text, bold=each.get("font-weight") == "600")
        left = {"start": x, "middle": x - width / 2, "end": x - width}[each.get("text-anchor", "")]
        found.append(Text(each.text, left, left + width, y, float(each.get("data-room", 0))))
    return found


def overlaps(found: list[Text]) -> list[tuple[str, str]]:
    """Return texts that run into each other, by an estimate of their widths."""
    ordered = sorted(found, key=lambda text: text.y)
    wrong = []
    for index, one in enumerate(ordered):
        for other in ordered[index + 1 :]:
            if other.y - one.y > 9:
                break
            if one.left < other.right - 1 and other.left < one.right - 1:
                wrong.append((one.words, other.words))
    return wrong


def outside(root: ET.Element) -> list[str]:
    """Return words in a block that do not fit inside its box."""
    wrong = []
    for group in root.iter(f"{SVG}g"):
        boxes = group.findall(f"{SVG}rect")
        if "block" not in group.get("class", "").split() or not boxes:
            continue
        box = boxes[-1]
        left, width = float(box.get("x", 0)), float(box.get("width", 0))
        top, height = float(box.get("y", 0)), float(box.get("height", 0))
        for text in texts_of(group):
            if text.left < left - 0.5 or text.right > left + width + 0.5:
                wrong.append(text.words)
            if text.y < top or text.y > top + height:
                wrong.append(text.words)
    return wrong


def texts_of(group: ET.Element) -> list[Text]:
    """Return the texts that are a group's own."""
    own = ET.Element("g")
    own.extend(group.findall(f"{SVG}text"))
    return texts(own)
