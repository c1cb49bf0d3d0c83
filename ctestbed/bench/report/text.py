"""Plain text: ASCII only, no width tricks, so that a log or a pipe reads it as well as a person."""

import textwrap
from collections import Counter
from typing import Any, Final

from ctestbed.bench.report.blocks import Block, Facts, Items, Picture, Plot, Table, Text
from ctestbed.bench.report.common import format_where, metrics_table, verdict_line
from ctestbed.bench.report.views import view_of
from ctestbed.core.envelope import Envelope

WIDTH: Final = 80
"""Columns that text is broken to, where a block asks for it."""

ALIKE_SHOWN: Final = 5
"""Findings of one code that are shown in full."""


def render_text(envelope: Envelope) -> str:
    """Return the whole report as text ending in a newline."""
    blocks: list[Block] = list(view_of(envelope))
    metrics = metrics_table(envelope)
    if metrics is not None:
        blocks.append(metrics)
    parts = [text for text in map(render_block, blocks) if text]
    parts += render_findings(envelope.get("findings", []))
    parts.append(verdict_line(envelope))
    return "\n\n".join(parts) + "\n"


def render_block(block: Block) -> str:
    """Return one block as text, or nothing for a chart."""
    match block:
        case Text():
            return f"{block.title}\n{block.text}" if block.title else block.text
        case Items():
            return "\n".join([block.title, *(one_line(f"  - {item}") for item in block.items)])
        case Facts():
            return _render_facts(block)
        case Table():
            return _render_table(block)
        case Picture():
            return f"{block.title}\n{block.text}" if block.text else ""
        case Plot():
            return ""


def _render_facts(block: Facts) -> str:
    width = max((len(name) for name, _ in block.pairs), default=0)
    lines = [block.title] if block.title else []
    for name, value in block.pairs:
        start, text = one_line(f"  {name.ljust(width)}  "), one_line(value)
        pieces = [text]
        if block.wrap:
            pieces = textwrap.wrap(text, WIDTH - len(start), break_long_words=False) or [""]
        lines.append(start + pieces[0])
        lines += [" " * len(start) + piece for piece in pieces[1:]]
    return "\n".join(lines)


def _render_table(block: Table) -> str:
    widths = [
        max(len(column.title), *(len(row[index]) for row in block.rows), 0)
        if block.rows
        else len(column.title)
        for index, column in enumerate(block.columns)
    ]

    def line(cells: tuple[str, ...]) -> str:
        padded = [
            cell.rjust(width) if column.figure else cell.ljust(width)
            for cell, width, column in zip(cells, widths, block.columns, strict=True)
        ]
        return one_line(f"  {'  '.join(padded)}").rstrip()

    lines = [block.title] if block.title else []
    lines.append(line(tuple(column.title for column in block.columns)))
    lines.append(f"  {'  '.join('-' * width for width in widths)}")
    lines += [line(row) for row in block.rows]
    if block.note:
        lines.append(f"  {block.note}")
    return "\n".join(lines)


def render_findings(findings: list[dict[str, Any]]) -> list[str]:
    """Return each finding as text; of many with one code the first few, and how many more."""
    shown: list[str] = []
    seen: Counter[str] = Counter(finding["code"] for finding in findings)
    left = dict.fromkeys(seen, ALIKE_SHOWN)
    for finding in findings:
        code = finding["code"]
        left[code] -= 1
        if left[code] >= 0:
            shown.append(render_finding(finding))
        elif left[code] == -1:
            more = seen[code] - ALIKE_SHOWN
            shown.append(f"... {more} more {finding['severity']}[{code}] (all in --format json)")
    return shown


def render_finding(finding: dict[str, object]) -> str:
    """Return a finding the way errors are shown: fact, place, next step."""
    lines = [one_line(f"{finding['severity']}[{finding['code']}]: {finding['message']}")]
    where = finding.get("where")
    place = format_where(where if isinstance(where, dict) else None)
    if place:
        lines.append(one_line(f"  at {place}"))
    if finding.get("hint"):
        lines.append(one_line(f"  hint: {finding['hint']}"))
    return "\n".join(lines)


def one_line(text: str) -> str:
    """Keep text that came from a file from forging lines of its own."""
    return text.replace("\n", "\\n")
