"""How ports look: what their two ends are set to, lossless headroom, and the buffers it fills."""

from typing import Any, Final

from ctestbed.bench.report.blocks import Block, cut_rows, merge_sites, table
from ctestbed.bench.report.quantity import show_length, show_rate, show_size, show_time
from ctestbed.core.names import numbered
from ctestbed.core.result import UNKNOWN

_ROWS: Final = 24


def port_blocks(ports: dict[str, Any]) -> list[Block]:
    """Return the blocks of the `ports` of `topology validate`; none where nothing is said."""
    blocks: list[Block] = []
    for title, columns, found in (
        ("Both ends", "cables | rate> | lower end | upper end | sites", _ends(ports["ends"])),
        (
            "Lossless headroom, per port and class",
            "cables | rate> | distance> | kept> | needed> | outcome | sites",
            _headroom(ports["headroom"]),
        ),
        (
            "Packet buffers",
            "switch | lossless ports> | their headroom> | buffer> | sites",
            _buffers(ports["buffers"]),
        ),
    ):
        header, rows = columns, found
        if not any(row[-1] for row in rows):  # one site without a name
            header, rows = columns.removesuffix(" | sites"), [row[:-1] for row in found]
        if rows:
            shown, note = cut_rows(rows, _ROWS)
            blocks.append(table(title, header, shown, note))
    return blocks


def _name(name: str, planes: list[int] | None) -> str:
    if planes is None:
        return name
    return f"{name}, {numbered('plane', planes)}"


def _ends(items: list[dict[str, Any]]) -> list[list[str]]:
    rows = []
    for item in items:
        ends = [_end(end) for end in item["ends"]]
        name = _name(item["cables"], item["planes"])
        rows.append((item["site"], [name, show_rate(item["rate"]), *ends]))
    return merge_sites(rows)


def _end(end: dict[str, Any]) -> str:
    rate = "" if end["rate"] is None else show_rate(end["rate"])
    mtu = end["mtu"]
    frame = "" if mtu is None else "MTU UNKNOWN" if mtu == UNKNOWN else f"MTU {mtu:,} B"
    return f"{end['what']}: {', '.join(part for part in (rate, frame) if part) or 'not said'}"


def _headroom(items: list[dict[str, Any]]) -> list[list[str]]:
    rows = []
    for item in items:
        distance = show_time(item["delay"])
        distance += "" if item["length"] == UNKNOWN else f", {show_length(item['length'])}"
        needed = show_size(item["needed"])
        if item["needed_standby"] is not None:
            needed += f" (protection {show_size(item['needed_standby'])})"
        kept = show_size(item["headroom"])
        kept += f" x {item['classes']}" if item["classes"] > 1 else ""
        name = _name(item["cables"], item["planes"])
        row = [name, show_rate(item["rate"]), distance, kept, needed, item["outcome"]]
        rows.append((item["site"], row))
    return merge_sites(rows)


def _buffers(items: list[dict[str, Any]]) -> list[list[str]]:
    rows = []
    for item in items:
        buffer = "not given" if item["buffer"] is None else show_size(item["buffer"])
        headroom = show_size(item["headroom"]) + (" (needed)" if item["assumed"] else "")
        name = _name(item["switch"], item["planes"])
        rows.append((item["site"], [name, f"{item['lossless_ports']:,}", headroom, buffer]))
    return merge_sites(rows)
