"""A sheet that marks are put on: boxes, ribbons, lines and text that is cut to its room.

Colours are Okabe and Ito's, with words beside them everywhere: colour alone tells nothing. A page's
style sheet may recolour the classes `s0`..`s7` and `text`; alone, a drawing wears its own colours.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias
from unicodedata import east_asian_width
from xml.etree import ElementTree as ET

from ctestbed.bench.report.drawing.wording import TIMES

SIZE: Final = 11.0
LINE: Final = 14.0
INK: Final = "#1b2129"
SOFT: Final = "#59636f"
COLOURS: Final = (
    "#0072b2", "#d55e00", "#009e73", "#b85c93", "#b87a00", "#3a9bd0", "#5d5d5d", "#332288",
)  # fmt: skip
_NARROW: Final = frozenset("ijlI.,:;'|!()[]{} /`-ftr")
_WIDE: Final = frozenset("mwMW@%")
_BOLD: Final = 1.09
_WIDE_SHEET: Final = 800.0
"""Sheets up to here have less room for the sums on their right."""


Words: TypeAlias = tuple[str | tuple[str, ...], str]
"""A line of text, or several wordings from full to short; then `b` bold, `s` soft or nothing."""


class Box(NamedTuple):
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.y + self.height

    @property
    def middle(self) -> float:
        """Half-way across."""
        return self.x + self.width / 2

    @property
    def centre(self) -> float:
        """Half-way down."""
        return self.y + self.height / 2


def text_width(text: str, *, size: float = SIZE, bold: bool = False) -> float:
    """Estimate how wide a text is, rather too wide than too narrow."""
    total = 0.0
    for character in text:
        if character in _NARROW:
            total += 0.38
        elif character in _WIDE:
            total += 0.98
        elif east_asian_width(character) in {"W", "F"}:
            total += 1.05
        else:
            total += 0.76 if character.isupper() or character == TIMES else 0.64
    return total * size * (_BOLD if bold else 1.0)


def fit(text: str, room: float, *, size: float = SIZE, bold: bool = False) -> str:
    """Cut a text to the room there is; of a long name the end tells most, so both ends stay."""
    if text_width(text, size=size, bold=bold) <= room:
        return text
    for kept in range(len(text) - 1, 0, -1):
        tail = kept // 2
        short = f"{text[: kept - tail]}…{text[len(text) - tail :] if tail else ''}"
        if text_width(short, size=size, bold=bold) <= room:
            return short
    return ""


def pick(words: str | tuple[str, ...], room: float, *, bold: bool = False) -> str:
    """Return the fullest of several wordings that fits, or the shortest."""
    if isinstance(words, str):
        return words
    return next((each for each in words if text_width(each, bold=bold) <= room), words[-1])


def number(value: float) -> str:
    """Write a coordinate: one decimal at most, and no minus zero."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


class Canvas:
    """The marks of one drawing, in order. `identifier` makes ids unique in a page."""

    def __init__(self, identifier: str, width: float) -> None:
        """Start an empty sheet."""
        self.identifier, self.width = identifier, width
        self.height = 0.0
        self.gutter = 210.0 if width > _WIDE_SHEET else 176.0
        self.root = ET.Element("g")
        self.frames = ET.SubElement(self.root, "g", {"class": "frames"})
        self.lines = ET.SubElement(self.root, "g", {"class": "bundles"})
        self.boxes = ET.SubElement(self.root, "g", {"class": "blocks"})
        self.words = ET.SubElement(self.root, "g", {"class": "words"})
        self._marks = 0

    def mark(self, parent: ET.Element, kind: str, tip: str, data: Mapping[str, Any]) -> ET.Element:
        """Start a group that stands for something: its figures as data, its words as a title."""
        self._marks += 1
        known = {f"data-{key}": str(value) for key, value in data.items() if value is not None}
        identifier = f"{self.identifier}-{self._marks}"
        group = ET.SubElement(
            parent, "g", {"class": f"mark {kind}", "id": identifier} | dict(known)
        )
        ET.SubElement(group, "title").text = tip
        return group

    def reach(self, bottom: float) -> None:
        """Make the sheet at least so high."""
        self.height = max(self.height, bottom)

    def rect(
        self, parent: ET.Element, box: Box, tone: int, *, fill: float = 0.14, dash: str = ""
    ) -> None:
        """Draw a box in a tone; `fill` is how much of it."""
        attributes = {
            "class": f"fill stroke s{tone}",
            "x": number(box.x),
            "y": number(box.y),
            "width": number(box.width),
            "height": number(box.height),
            "rx": "4",
            "fill": COLOURS[tone],
            "fill-opacity": f"{fill:g}",
            "stroke": COLOURS[tone],
        }
        ET.SubElement(parent, "rect", attributes | ({"stroke-dasharray": dash} if dash else {}))
        self.reach(box.bottom)

    def area(
        self, parent: ET.Element, path: str, tone: int, *, fill: float = 0.25, dash: str = ""
    ) -> None:
        """Fill a path; with a dash it is an outline alone."""
        attributes = {"class": f"fill s{tone}", "d": path, "fill": COLOURS[tone]}
        attributes["fill-opacity"] = f"{fill:g}"
        if dash:
            attributes |= {
                "class": f"fill stroke s{tone}",
                "stroke": COLOURS[tone],
                "stroke-dasharray": dash,
            }
        ET.SubElement(parent, "path", attributes)

    def line(
        self, parent: ET.Element, path: str, tone: int, *, width: float = 1.0, dash: str = ""
    ) -> None:
        """Draw along a path."""
        attributes = {
            "class": f"stroke s{tone}",
            "d": path,
            "fill": "none",
            "stroke": COLOURS[tone],
            "stroke-width": number(width),
        }
        ET.SubElement(parent, "path", attributes | ({"stroke-dasharray": dash} if dash else {}))

    def circle(self, parent: ET.Element, x: float, y: float, radius: float, tone: int) -> None:
        """Draw a dot."""
        attributes = {
            "class": f"fill stroke s{tone}",
            "cx": number(x),
            "cy": number(y),
            "r": number(radius),
            "fill": COLOURS[tone],
            "fill-opacity": "0.3",
            "stroke": COLOURS[tone],
        }
        ET.SubElement(parent, "circle", attributes)
        self.reach(y + radius)

    def text(
        self,
        parent: ET.Element,
        words: str,
        x: float,
        y: float,
        *,
        room: float,
        anchor: str = "middle",
        bold: bool = False,
        soft: bool = False,
        halo: bool = False,
        turned: bool = False,
    ) -> None:
        """Write a line of text, cut to its room; with a halo it stands clear of lines."""
        shown = fit(words, room, bold=bold)
        attributes = {
            "class": "soft" if soft else "label",
            "x": number(x),
            "y": number(y),
            "text-anchor": anchor,
            "fill": SOFT if soft else INK,
            "data-room": number(room),
        }
        if bold:
            attributes["font-weight"] = "600"
        if halo:
            attributes |= {
                "class": attributes["class"] + " halo",
                "paint-order": "stroke",
                "stroke": "#fff",
                "stroke-width": "4",
                "stroke-linejoin": "round",
            }
        if turned:
            attributes["transform"] = f"rotate(-90 {number(x)} {number(y)})"
        ET.SubElement(parent, "text", attributes).text = shown
        if not turned:
            self.reach(y + 4)

    def stack(
        self, parent: ET.Element, lines: Sequence[Words], box: Box, *, left: bool = False
    ) -> None:
        """Write lines in the middle of a box, or at its left."""
        start = box.centre - LINE * len(lines) / 2 + LINE - 3.5
        for index, (words, style) in enumerate(lines):
            room = box.width - (16 if left else 6)
            self.text(
                parent,
                pick(words, room, bold=style == "b"),
                box.x + 8 if left else box.middle,
                start + index * LINE,
                room=room,
                anchor="start" if left else "middle",
                bold=style == "b",
                soft=style == "s",
            )
