"""CSV (RFC 4180) of the one table that matters, safe to open in a spreadsheet."""

import csv
import io
import re
from typing import Any, Final

from ctestbed.bench.report.blocks import Table
from ctestbed.bench.report.common import findings_table
from ctestbed.bench.report.views import spreadsheet_of, view_of
from ctestbed.core.envelope import Envelope

_METRIC_COLUMNS: Final = ("name", "value", "unit", "better", "kind", "provenance", "source", "n")
_FORMULA_STARTS: Final = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
"""Full-width forms too, which some spreadsheets fold."""
_PLAIN: Final = re.compile(r"[+-]?[0-9][0-9_,.]*(?:[eE][+-]?[0-9]+)?(?: [A-Za-zµ/%]+)?|-")


def render_csv(envelope: Envelope) -> str:
    """Return the view's own or first table; else the metrics; the findings without either."""
    table = spreadsheet_of(envelope) or next(
        (block for block in view_of(envelope) if isinstance(block, Table)), None
    )
    if table is not None:
        return _write([column.title for column in table.columns], table.rows)
    if envelope["metrics"]:
        rows = [[m.get(column, "") for column in _METRIC_COLUMNS] for m in envelope["metrics"]]
        return _write(_METRIC_COLUMNS, rows)
    found = findings_table(envelope)
    if found is None:
        return _write(("status", "exit_code"), [[envelope["status"], envelope["exit_code"]]])
    return _write([column.title for column in found.columns], found.rows)


def _write(header: Any, rows: Any) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([_defuse(name) for name in header])
    writer.writerows([_defuse(cell) for cell in row] for row in rows)
    return stream.getvalue()


def _defuse(cell: Any) -> Any:
    """Keep a spreadsheet from running text as a formula; figures stay figures."""
    if isinstance(cell, str) and cell.lstrip().startswith(_FORMULA_STARTS):
        return cell if _PLAIN.fullmatch(cell) else f"'{cell}"
    return cell
