"""GitHub-flavoured Markdown, for comments on a pull request. Text never becomes markup."""

import re
from typing import Final

from ctestbed.bench.report.blocks import Block, Facts, Items, Picture, Table, Text
from ctestbed.bench.report.common import all_blocks, reproduce_facts, verdict_line
from ctestbed.core.envelope import Envelope

_SPECIAL: Final = re.compile(
    r"[\\`*_\[\]|~$#]|^[+=-]|:(?=//)|(?<=mailto):|(?<=xmpp):|(?<=www)\.", re.IGNORECASE
)
"""Markup anywhere; list, rule and heading marks at a line's start; what GitHub makes links of."""

_NUMBERED: Final = re.compile(r"^(\d+)([.)])")
_REFERENCE: Final = re.compile(r"[@#](?=\S)")
_SPACE: Final = re.compile(r"\s+")
_RUN_OF_TICKS: Final = re.compile(r"`{3,}")


def render_markdown(envelope: Envelope) -> str:
    """Return the whole report as Markdown ending in a newline."""
    command = " ".join(["ctestbed", *envelope["request"]["command"]])
    blocks = [*all_blocks(envelope), reproduce_facts(envelope)]
    parts = [f"## {escape(command)}", f"**{escape(verdict_line(envelope))}**"]
    parts += [text for text in map(_render_block, blocks) if text]
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Return one line of text that Markdown shows as it is: no markup, link or mention."""
    line = _SPACE.sub(" ", text).strip()
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = _NUMBERED.sub(r"\1\\\2", _SPECIAL.sub(r"\\\g<0>", line))
    # GitHub looks for mentions, addresses and issue numbers after all escapes; a comment
    # splits them.
    return _REFERENCE.sub(r"\g<0><!-- -->", line)


def _render_block(block: Block) -> str:  # noqa: PLR0911 - one line for each kind
    match block:
        case Text(text, title, True):
            ticks = max(map(len, _RUN_OF_TICKS.findall(text)), default=2)
            fence = "`" * (ticks + 1)
            return _titled(title, f"{fence}text\n{text}\n{fence}")
        case Text(text, title, _):
            paragraphs = (escape(part) for part in text.split("\n\n"))
            return _titled(title, "\n\n".join(part for part in paragraphs if part))
        case Items(title, items):
            return _titled(title, "\n".join(f"- {escape(item)}" for item in items))
        case Facts(title, pairs):
            if not pairs:
                return ""
            return _titled(title, _table(("", ""), pairs, (False, False)))
        case Table(title, columns, rows, note):
            names = tuple(column.title for column in columns)
            shown = _table(names, rows, tuple(column.figure for column in columns))
            return _titled(title, f"{shown}\n\n{escape(note)}" if note else shown)
        case Picture():
            return _render_picture(block)
        case _:
            return ""


def _render_picture(picture: Picture) -> str:
    """Return the drawing in text, and where it is drawn."""
    where = escape("Drawn as a picture in the report's html and svg forms.")
    if not picture.text:
        return _titled(picture.title, where)
    return f"{_render_block(Text(picture.text, picture.title, fixed=True))}\n\n{where}"


def _titled(title: str, body: str) -> str:
    return f"### {escape(title)}\n\n{body}" if title else body


def _table(
    header: tuple[str, ...], rows: tuple[tuple[str, ...], ...], figures: tuple[bool, ...]
) -> str:
    lines = [
        _row(header),
        "| " + " | ".join("---:" if figure else "---" for figure in figures) + " |",
        *(_row(row) for row in rows),
    ]
    return "\n".join(lines)


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(escape(cell) for cell in cells) + " |"
