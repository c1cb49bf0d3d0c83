"""Views of `config`."""

from ctestbed.bench.report.blocks import Block, table
from ctestbed.core.envelope import Envelope


def show(envelope: Envelope) -> list[Block]:
    """Each setting and its origin."""
    rows = [
        [entry["name"], entry["value"] or "-", entry["origin"]]
        for entry in envelope["data"]["settings"]
    ]
    return [table("Settings", "setting | value | set by", rows)]


def path(envelope: Envelope) -> list[Block]:
    """The files that are looked at."""
    rows = [
        [entry["path"], "yes" if entry["exists"] else "no"] for entry in envelope["data"]["files"]
    ]
    return [table("Configuration files, the strongest first", "file | exists", rows)]
