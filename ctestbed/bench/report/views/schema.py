"""Views of `schema`."""

from ctestbed.bench.report.blocks import Block, table
from ctestbed.core.envelope import Envelope


def list_(envelope: Envelope) -> list[Block]:
    """Every schema's name and subject."""
    rows = [[entry["name"], entry["title"]] for entry in envelope["data"]["schemas"]]
    return [table("Schemas", "name | describes", rows)]
