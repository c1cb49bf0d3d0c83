"""Blocks of what a packet run was like over time, and of who paused whom."""

from typing import Any

from ctestbed.bench.report.blocks import Block, Plot, Series, Text, table
from ctestbed.bench.report.quantity import show_time

_US = 10**6
_KB = 1000
_GBPS = 10**9
SHOWN_TREES = 8
DRAWN_PAUSES = 24


def sight_blocks(packet: dict[str, Any]) -> list[Block]:
    """Return the trees of pauses, and charts of queues, held links, goodput and open flows."""
    blocks: list[Block] = []
    if "pause_tree" in packet:
        blocks += _pauses(packet["pause_tree"])
    if "series" in packet:
        blocks += _charts(packet["series"])
    return blocks


def _pauses(told: dict[str, Any]) -> list[Block]:
    rows = [
        [
            tree["root"],
            tree["sender"],
            "storm" if tree["storm"] else "congestion",
            show_time(tree["time"]),
            f"{tree['links']:,}",
            f"{tree['hosts']:,}",
            f"{tree['depth']}",
        ]
        for tree in told["trees"][:SHOWN_TREES]
    ]
    more = told["roots"] - len(rows)
    note = f"links paused in all: {told['links']:,}, {told['hosts']:,} of them of hosts"
    note += f"; {more:,} more roots" if more else ""
    header = "root | paused first | why | from> | links paused> | of hosts> | deep>"
    blocks: list[Block] = [table("Who paused whom", header, rows, note)]
    deepest = max(tree["depth"] for tree in told["trees"])
    if deepest > 1:
        blocks.append(_drawing(told["pauses"]))
    return blocks


def _drawing(pauses: list[dict[str, Any]]) -> Text:
    """Draw first pauses below those that caused them, as far as they are among the earliest."""
    below: dict[tuple[int | None, int], list[dict[str, Any]]] = {}
    known = {(pause["link"], pause["traffic_class"]) for pause in pauses}
    for pause in pauses:
        cause = pause["cause"], pause["traffic_class"]
        below.setdefault(cause if cause in known else (None, 0), []).append(pause)
    lines: list[str] = []

    def draw(pause: dict[str, Any], indent: int) -> None:
        if len(lines) < DRAWN_PAUSES:
            time = show_time(pause["time"])
            lines.append(f"{time:>14}  {'  ' * indent}{pause['receiver']} paused {pause['sender']}")
        for each in below.get((pause["link"], pause["traffic_class"]), []):
            draw(each, indent + 1)

    for pause in below.get((None, 0), []):
        draw(pause, 0)
    if len(pauses) > len(lines):
        lines.append(f"... {len(pauses) - len(lines)} more (in --format json)")
    return Text("\n".join(lines), "First pauses, each below the one that caused it", fixed=True)


def _charts(series: dict[str, Any]) -> list[Block]:
    times = tuple((at + 1) * series["step"] / _US for at in range(len(series["queued"])))

    def line(name: str, values: list[int], unit: float = 1) -> Series:
        return Series(name, times, tuple(value / unit for value in values))

    ports = [port for port in series["ports"] if any(port["queued"])]
    queues = [line(f"{p['sender']} > {p['receiver']}", p["queued"], _KB) for p in ports]
    every = f"looked at every {show_time(series['step'])}"
    charts = (
        ("Queues over time", [line("all links", series["queued"], _KB), *queues], "waits (kB)"),
        ("Links held back over time", [line("", series["held"])], "links"),
        ("Goodput over time", [line("", series["goodput"], _GBPS)], "payload received (Gb/s)"),
        ("Unfinished flows over time", [line("", series["unfinished"])], "flows"),
    )
    return [
        Plot(title, "line", tuple(lines), "time (us)", label, "simulated", note=every)
        for title, lines, label in charts
        if any(any(each.y) for each in lines)
    ]
