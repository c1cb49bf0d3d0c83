"""Views of `topology`: facts, tables and drawings."""

from typing import Any, Final

from ctestbed.bench.report.bill import bill_blocks, bill_rows
from ctestbed.bench.report.blocks import Block, Facts, Table, table
from ctestbed.bench.report.comparison import comparison_blocks, deviation_rows
from ctestbed.bench.report.fabric import count_line, many, show_blocks
from ctestbed.bench.report.ports import port_blocks
from ctestbed.bench.report.structure import narrowing_blocks, structure_blocks
from ctestbed.core.envelope import Envelope
from ctestbed.core.units import format_rate, format_size

_CELLS: Final = 4
"""Switches drawn of a tier; the rest are an ellipsis."""
_KINDS: Final = ("accelerator", "host", "nic", "switch", "link")


def list_(envelope: Envelope) -> list[Block]:
    """A row per built-in testbed."""
    rows = [
        [item["name"], *(f"{item['counts'][kind]:,}" for kind in _KINDS), item["title"]]
        for item in envelope["data"]["testbeds"]
    ]
    header = "testbed | accelerators> | hosts> | NICs> | switches> | links> | what it is"
    return [table("Built-in testbeds", header, rows)]


def validate(envelope: Envelope) -> list[Block]:
    """What was checked, and how large the testbed is."""
    data = envelope["data"]
    rows = [[item["status"].upper(), item["check"]] for item in data["checks"]]
    blocks: list[Block] = [table(f"Checks of {data['testbed']}", "result | check", rows)]
    if data["counts"] is not None:
        blocks.insert(0, Facts(data["title"] or data["testbed"], (count_line(data["counts"]),)))
    blocks += narrowing_blocks(data.get("narrowing", []))
    return blocks + structure_blocks(data["structure"]) + port_blocks(data["ports"])


def as_built(envelope: Envelope) -> list[Block]:
    """What was compared and how, what was inferred, every departure, and the structure."""
    data = envelope["data"]
    return comparison_blocks(data) + structure_blocks(data["structure"])


def as_built_csv(envelope: Envelope) -> Table:
    """A row for every departure."""
    return deviation_rows(envelope["data"])


def diff(envelope: Envelope) -> list[Block]:
    """How the two were compared, and every difference."""
    return comparison_blocks(envelope["data"])


def diff_csv(envelope: Envelope) -> Table:
    """A row for every difference."""
    return deviation_rows(envelope["data"])


def build(envelope: Envelope) -> list[Block]:
    """How large the built testbed is."""
    data = envelope["data"]
    return [Facts(data["testbed"]["name"], (count_line(data["counts"]),))]


def export(envelope: Envelope) -> list[Block]:
    """What was written."""
    data = envelope["data"]
    pairs = (
        ("format", f"{data['title']} ({data['format']})"),
        ("size", f"{many(data['devices'], 'device')}, {many(data['cables'], 'cable')}"),
        ("file", format_size(data["bytes"])),
    )
    return [Facts(f"Export of {data['testbed']}", pairs)]


def bom(envelope: Envelope) -> list[Block]:
    """What one design is bought as, or several side by side."""
    return bill_blocks(envelope["data"])


def bom_csv(envelope: Envelope) -> Table:
    """A row for every line of every design, figures in base units."""
    return bill_rows(envelope["data"])


def show(envelope: Envelope) -> list[Block]:
    """The facts, the drawings, what each layer can carry, and where the figures come from."""
    return show_blocks(envelope["data"])


def import_(envelope: Envelope) -> list[Block]:
    """What was read and why so, the tiers seen in it, and what joins them."""
    data = envelope["data"]
    counts = data["counts"]
    facts = [
        ("read as", f"{data['format']}, {data['title']}: {data['because']}"),
        ("devices", _import_counts(counts)),
        ("cables", _import_cables(data)),
    ]
    if counts["named_hosts"]:
        facts.append(("hosts named", f"{counts['named_hosts']:,}"))
    facts += [(key, value) for key, value in list(data["attributes"].items())[:_CELLS]]
    tiers = [
        [row["name"], *(f"{row[key]:,}" for key in ("devices", "cables_up", "cables_down"))]
        for row in data["tiers"]
    ]
    names = {row["tier"]: row["name"] for row in data["tiers"]}
    joins = [
        [
            " - ".join(names[tier] for tier in row["between"]),
            f"{row['cables']:,}",
            f"{row['pairs']:,}",
            "-".join(dict.fromkeys((str(row["fewest"]), str(row["most"])))),
        ]
        for row in data["joins"]
    ]
    note = "told from names and cables" if data["guessed"] else "by distance from the endpoints"
    blocks: list[Block] = [Facts(data["name"], tuple(facts))]
    if tiers:
        blocks.append(table("Tiers", "tier | devices> | cables up> | cables down>", tiers, note))
    if joins:
        header = "between | cables> | pairs of devices> | cables a pair>"
        blocks.append(table("Cables", header, joins))
    return blocks


def _import_counts(counts: dict[str, int]) -> str:
    words = [("switch", "switches"), ("host", "hosts"), ("nic", "NICs")]
    words += [("accelerator", "accelerators"), ("unknown", "of unknown kind")]
    text = ", ".join(f"{counts[key]:,} {word}" for key, word in words if counts[key])
    inside = counts["aggregation"]
    return f"{text or 'none'}{f' ({inside:,} of the NICs inside switches)' if inside else ''}"


def _import_cables(data: dict[str, Any]) -> str:
    rates = ", ".join(f"{row['cables']:,} of {_import_rate(row['rate'])}" for row in data["rates"])
    return f"{data['counts']['link']:,}{f': {rates}' if rates else ''}"


def _import_rate(rate: int | None) -> str:
    return "unstated rate" if rate is None else format_rate(rate)
