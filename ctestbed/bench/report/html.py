"""One self-contained page: no request leaves it, nothing in a report can run in it.

All text is escaped by Jinja2; the content policy allows the one style sheet and the one script
below, by their hashes, and nothing else. Without JavaScript the page shows all there is.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ctestbed.bench.report.blocks import Block, Column, Facts, Items, Picture, Plot, Table, Text
from ctestbed.bench.report.common import format_value, format_where, reproduce_facts
from ctestbed.bench.report.drawing.draw import HALF, WIDTH, scene_svg
from ctestbed.bench.report.drawing.wording import scene_heading
from ctestbed.bench.report.render import escape_json, make_visible
from ctestbed.bench.report.svg import draw_plot
from ctestbed.bench.report.views import view_of
from ctestbed.core.catalogue import Explanation, load_catalogue
from ctestbed.core.envelope import Envelope
from ctestbed.core.errors import CtestbedError, ExitCode
from ctestbed.core.units import parse_length, parse_rate, parse_size, parse_time

MAX_FINDINGS: Final = 400
"""More findings than this are counted, not shown; all are in the page's data."""

_SHOWN_ALIKE: Final = 3
"""Of findings with one code, so many are shown in full, and the rest folded away."""

_BADGE_COLUMNS: Final = {"provenance", "status", "severity", "verdict", "result", "outcome"}
_TICKED: Final = re.compile(r"`([^`\n]+)`")
_SEVERITIES: Final = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class _Finding:
    severity: str
    code: str
    message: str
    where: str
    hint: str
    explanation: Explanation | None


@dataclass(frozen=True, slots=True)
class _Section:
    """A report of the page."""

    anchor: str
    command: str
    subject: str
    status: str
    exit_code: int
    meaning: str
    complete: bool
    facts: tuple[tuple[str, str], ...]
    counts: tuple[tuple[str, int], ...]
    findings: tuple[tuple[_Finding, ...], ...]
    more_findings: int
    blocks: tuple[tuple[str, Any], ...]
    metrics: tuple[dict[str, Any], ...]
    reproduce: Facts


def render_html(envelope: Envelope) -> str:
    """Return the page of one report."""
    return render_page([envelope])


def render_page(envelopes: Sequence[Envelope]) -> str:
    """Return a page with a section for each report, and a summary on top of several.

    The page's data block holds the envelopes unchanged, as a JSON array.
    """
    sections = [_section(make_visible(item), f"r{n}") for n, item in enumerate(envelopes, 1)]
    states = {section.status for section in sections}
    worst = next((state for state in ("error", "fail") if state in states), "pass")
    style, script = _asset("style.css"), _asset("script.js")
    page = _environment().get_template("page.html.j2")
    return page.render(
        sections=sections,
        status=worst,
        title=" + ".join(f"{section.command} {section.subject}".strip() for section in sections),
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        style_hash=_hash(style),
        script_hash=_hash(script),
        data=Markup(_data_block(envelopes)),  # noqa: S704 - escaped for its place
        version=envelopes[0]["tool"]["version"],
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("ctestbed.bench.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["badge_columns"] = _BADGE_COLUMNS
    environment.globals["shown_alike"] = _SHOWN_ALIKE
    environment.filters["sort_key"] = sort_key
    environment.filters["ticked"] = _ticked
    return environment


@cache
def _asset(name: str) -> str:
    return (files(__package__) / "templates" / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"


def _ticked(text: str) -> Markup:
    """Escape a sentence, and set what stands between backticks as code."""
    return Markup(_TICKED.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped


def _data_block(envelopes: Sequence[Envelope]) -> str:
    """Return JSON that no HTML parser can take for markup, whatever its texts hold."""
    text = json.dumps(list(envelopes), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return escape_json(text)


def _section(envelope: Envelope, anchor: str) -> _Section:
    request, run = envelope["request"], envelope.get("run", {})
    found = sorted(envelope["findings"], key=lambda item: _SEVERITIES.index(item["severity"]))
    code = ExitCode(envelope["exit_code"])
    facts = [("ctestbed", envelope["tool"]["version"])]
    facts += [("seed", str(request["seed"]))] if "seed" in request else []
    facts += [("started", str(run["start"]))] if "start" in run else []
    if isinstance(run.get("elapsed_s"), int | float):
        facts.append(("took", f"{run['elapsed_s']:.3g} s"))
    counts = [(name, sum(item["severity"] == name for item in found)) for name in _SEVERITIES]
    return _Section(
        anchor=anchor,
        command=" ".join(request["command"]),
        subject=_subject(request["options"]),
        status=envelope["status"],
        exit_code=int(code),
        meaning=code.meaning,
        complete=envelope["complete"],
        facts=tuple(facts),
        counts=(*counts, ("metric", len(envelope["metrics"]))),
        findings=_group(found[:MAX_FINDINGS]),
        more_findings=max(0, len(found) - MAX_FINDINGS),
        blocks=tuple(_prepare(view_of(envelope), anchor)),
        metrics=tuple(_metric(item) for item in envelope["metrics"]),
        reproduce=reproduce_facts(envelope),
    )


def _subject(options: dict[str, Any]) -> str:
    """Return what was acted on: a command's first parameter is its positional one."""
    first = next(iter(options.values()), "")
    return first if isinstance(first, str) else ""


def _group(found: Sequence[dict[str, Any]]) -> tuple[tuple[_Finding, ...], ...]:
    """Put findings of one severity and code together, in the order of their first."""
    groups: dict[tuple[str, str], list[_Finding]] = {}
    for item in found:
        groups.setdefault((item["severity"], item["code"]), []).append(_finding(item))
    return tuple(tuple(group) for group in groups.values())


def _finding(item: dict[str, Any]) -> _Finding:
    return _Finding(
        severity=item["severity"],
        code=item["code"],
        message=item["message"],
        where=format_where(item.get("where")),
        hint=item.get("hint", ""),
        explanation=load_catalogue().get(item["code"]),
    )


def _metric(item: dict[str, Any]) -> dict[str, Any]:
    value, interval = item.get("value"), item.get("ci95")
    spread = f"n = {item['n']}" if "n" in item else ""
    if interval:
        low, high = (format_value(bound, item["unit"]) for bound in interval)
        spread = f"{spread}{', ' if spread else ''}95%: {low} to {high}"
    return {
        "name": item["name"],
        "shown": format_value(value, item["unit"]),
        "exact": "" if value is None else f"{value} {item['unit']}".strip(),
        "key": value if isinstance(value, int | float) else "",
        "unit": item["unit"],
        "better": item["better"],
        "provenance": item["provenance"],
        "source": item.get("source", ""),
        "spread": spread,
    }


def _prepare(blocks: Sequence[Block], anchor: str) -> Iterator[tuple[str, Any]]:
    """Yield each block with the name of its template part; neighbouring charts share a row."""
    charts: list[dict[str, Any]] = []
    for number, block in enumerate(blocks, 1):
        if isinstance(block, Plot):
            drawn = Markup(draw_plot(block, f"{anchor}-p{number}"))  # noqa: S704 - ElementTree's
            charts.append({"plot": block, "svg": drawn})
            continue
        if charts:
            yield "charts", charts
            charts = []
        if isinstance(block, Picture):
            yield "picture", _draw_picture(block, f"{anchor}-d{number}")
            continue
        yield _part(block), block
    if charts:
        yield "charts", charts


def _draw_picture(block: Picture, identifier: str) -> dict[str, Any]:
    """Return a picture's figures, drawn, and those of the pictures folded away in it."""
    alone = len(block.scenes) == 1
    figures = []
    for number, scene in enumerate(block.scenes, 1):
        drawn = scene_svg(scene, f"{identifier}-{number}", WIDTH if alone else HALF)
        figures.append(
            {
                "heading": scene_heading(scene),
                "svg": Markup(drawn),  # noqa: S704 - ElementTree's
            }
        )
    folded = [
        _draw_picture(inner, f"{identifier}-f{number}")
        for number, inner in enumerate(block.folded, 1)
    ]
    return {"title": block.title, "note": block.note, "figures": figures, "folded": folded}


def _part(block: Text | Items | Facts | Table) -> str:
    return {Text: "text", Items: "items", Facts: "facts", Table: "table"}[type(block)]


def sort_key(cell: str, column: Column) -> str:
    """Return what a figure sorts by: its number in base units. Text sorts by itself."""
    if not column.figure:
        return ""
    text = cell.replace(",", "").strip()
    for parse in (parse_time, parse_size, parse_rate, parse_length):
        try:
            return str(parse(text))
        except CtestbedError:
            continue
    number, _, _ = text.partition(" ")
    try:
        value = Decimal(number.rstrip("%"))
    except ArithmeticError:
        return ""
    return str(value) if value.is_finite() else ""
