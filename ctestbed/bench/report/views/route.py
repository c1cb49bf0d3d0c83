"""Views of `route`."""

from typing import Any

from ctestbed.bench.report.blocks import Block, Facts, Table, table
from ctestbed.bench.report.quantity import show_rate, show_time
from ctestbed.core.envelope import Envelope


def path(envelope: Envelope) -> list[Block]:
    """The path, cable by cable."""
    data = envelope["data"]
    pairs = (
        ("from", data["source"]),
        ("to", data["destination"]),
        ("plane", str(data["plane"])),
        ("chosen", f"{data['spread']}, {_among(data['candidates'])}"),
        ("delay, one way", show_time(data["delay"])),
    )
    return [Facts(f"Path in {data['testbed']}", pairs), hops_table(data["hops"])]


def _among(candidates: int) -> str:
    return "the only path" if candidates == 1 else f"among {candidates:,} equal-cost paths"


def hops_table(hops: list[dict[str, Any]], title: str = "") -> Table:
    """One row per cable."""
    rows = [
        [str(at), hop["source"], hop["target"], show_rate(hop["rate"]), show_time(hop["delay"])]
        for at, hop in enumerate(hops, 1)
    ]
    return table(title, "hop> | from | to | rate> | delay>", rows)
