"""How a comparison of two networks looks: its basis, what was inferred, what departs."""

from typing import Any, Final

from ctestbed.bench.report.blocks import Block, Facts, Table, cut_rows, table
from ctestbed.bench.report.fabric import many
from ctestbed.core.units import format_rate

_ROWS: Final = 40
_BASIS: Final = {
    "names": "devices told by name",
    "structure": "devices told by role and structure, since names do not match",
    "inferred": "no design: the usual is taken for the intended",
}


def comparison_blocks(data: dict[str, Any]) -> list[Block]:
    """Return the blocks of `as-built` and `diff` data."""
    blocks: list[Block] = [Facts("Compared", tuple(_facts(data)))]
    if data["inferred"] is not None:
        blocks += _inferred(data["inferred"])
    if data["deviations"]:
        rows, note = cut_rows([list(row) for row in deviation_rows(data).rows], _ROWS)
        header = "kind | one end | other end | expected | count>"
        blocks.append(table("Deviations", header, rows, note))
    return blocks


def deviation_rows(data: dict[str, Any]) -> Table:
    """Return every deviation, for spreadsheets."""
    keys = ("kind", "a", "b", "expected", "count")
    rows = [
        ["" if item[key] is None else str(item[key]) for key in keys] for item in data["deviations"]
    ]
    return table("", " | ".join(keys), rows)


def _facts(data: dict[str, Any]) -> list[tuple[str, str]]:
    if "a" in data:
        facts = [("first", data["a"]), ("second", data["b"])]
    else:
        facts = [("design", data["design"] or "none given"), ("cabled", data["cables"])]
    facts.append(("basis", _BASIS[data["basis"]]))
    matched = data["matched"]
    if matched is not None:
        how = "ports compared too" if matched["ports"] else "ports not compared"
        text = f"{matched['by_name']:,} devices by name, {matched['by_structure']:,} by structure"
        facts.append(("matched", f"{text}; {matched['cables']:,} cables, {how}"))
    found = [f"{count:,} {kind}" for kind, count in data["counts"].items() if count]
    facts.append(("result", ", ".join(found) or "no deviation"))
    return facts


def _inferred(inferred: dict[str, Any]) -> list[Block]:
    facts = [("fabric", inferred["description"])]
    below, rails = inferred["below"], inferred["rails"]
    if below["endpoints_per_leaf"] is not None:
        votes = f"{below['leaves_for']:,} leaves for, {below['leaves_against']:,} against"
        facts.append(("endpoints per leaf", f"{below['endpoints_per_leaf']} ({votes})"))
    if rails is not None:
        votes = f"{rails['adapters_for']:,} adapters for, {rails['adapters_against']:,} against"
        text = (
            f"{many(rails['rails'], 'rail')} of {many(rails['leaves_per_rail'], 'leaf')} each in "
        )
        text += f"{many(rails['segments'], 'segment')} ({votes})"
        facts.append(("rails", text))
        if rails["other_hosts"]:
            facts.append(("hosts of another kind", ", ".join(rails["other_hosts"])))
    blocks: list[Block] = [Facts("Inferred", tuple(facts))]
    rows = [
        [
            f"{layer['lower']} - {layer['upper']}",
            str(layer["groups"]),
            _or_none(layer["cables_per_pair"]),
            f"{layer['pairs_for']:,} / {layer['pairs_against']:,}",
            f"{layer['cables_present']:,} of {layer['cables_expected']:,}",
            "unknown" if layer["rate"] is None else format_rate(layer["rate"]),
            f"{layer['rate_for']:,} / {layer['rate_against']:,}",
        ]
        for layer in inferred["layers"]
    ]
    if rows:
        header = "layer | groups> | cables a pair> | for / against> "
        header += "| present> | rate> | for / against>"
        blocks.append(table("Layers", header, rows))
    return blocks


def _or_none(value: int | None) -> str:
    return "none usual" if value is None else str(value)
