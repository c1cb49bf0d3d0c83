"""Views of `report`."""

from typing import Any

from ctestbed.bench.report.blocks import Block, Table, table
from ctestbed.core.envelope import Envelope


def build(envelope: Envelope) -> list[Block]:
    """Each report of the page, in a line."""
    return [_lines("Reports on the page", envelope["data"]["reports"])]


def convert(envelope: Envelope) -> list[Block]:
    """The report that was converted."""
    data = envelope["data"]
    return [_lines(f"Converted to {data['to']}", [data["report"]])]


def _lines(title: str, reports: list[dict[str, Any]]) -> Table:
    rows = [
        [
            report["name"],
            " ".join(report["command"]),
            report["status"],
            str(report["errors"]),
            str(report["warnings"]),
            str(report["metrics"]),
        ]
        for report in reports
    ]
    return table(title, "file | command | status | errors> | warnings> | metrics>", rows)
