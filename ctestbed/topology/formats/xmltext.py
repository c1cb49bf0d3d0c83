"""XML as plain elements with their lines, hardened: no entities, bounded in depth and number.

A document type that merely names an external file is let pass and never fetched; one that
declares anything of its own, which is how a small file unfolds into gigabytes, is refused.
"""

from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from ctestbed.topology.formats.source import Source, shorten

MAX_ELEMENTS: Final = 2**23
MAX_DEPTH: Final = 60


@dataclass(slots=True)
class Element:
    """An element: its name without a namespace, attributes, line, children and text."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list["Element"] = field(default_factory=list)
    text: str = ""

    def named(self, tag: str) -> list["Element"]:
        """Return the children of this name."""
        return [child for child in self.children if child.tag == tag]


class _Builder:
    """Collects elements as the parser meets them."""

    def __init__(self, source: Source, parser: expat.XMLParserType) -> None:
        self.source = source
        self.parser = parser
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.entity

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self.parser.CurrentLineNumber
        self.count += 1
        if self.count > MAX_ELEMENTS or len(self.open) >= MAX_DEPTH:
            raise self.source.refuse(
                "CTB-T111",
                f"more than {MAX_ELEMENTS:,} elements, or nested deeper than {MAX_DEPTH}",
                line,
                "check that this is the file you meant",
            )
        element = Element(tag.rpartition(" ")[2], attributes, line)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, _tag: str) -> None:
        self.open.pop()

    def characters(self, text: str) -> None:
        if self.open:
            self.open[-1].text += text

    def doctype(
        self, _name: str, _system: str | None, _public: str | None, has_internal_subset: int
    ) -> None:
        if has_internal_subset:
            raise self._declared()

    def entity(self, *_parts: object) -> None:
        raise self._declared()

    def _declared(self) -> Exception:
        return self.source.refuse(
            "CTB-T111",
            "the document type declares entities or elements of its own",
            self.parser.CurrentLineNumber,
            "write the text out, and drop what stands between [ and ] in DOCTYPE",
        )


def load_xml(source: Source) -> Element:
    """Parse XML.

    Raises:
        InputError: not XML, or something this reader refuses; with its line.
    """
    # The text is decoded already, so whatever encoding it declares no longer matters.
    parser = expat.ParserCreate("utf-8", " ")
    parser.buffer_text = True
    builder = _Builder(source, parser)
    text = source.text.encode()
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise source.refuse(
            "CTB-T111",
            f"{shorten(source.name)!r} is not valid XML: {expat.ErrorString(error.code)}",
            error.lineno,
            "check that the file is whole",
        ) from None
    if builder.root is None:  # pragma: no cover - expat refuses a file without an element
        raise source.refuse("CTB-T111", "the file has no element", None, "check the file")
    return builder.root
