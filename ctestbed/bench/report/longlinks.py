"""Blocks of `sim longhaul`."""

from typing import Any

from ctestbed.bench.report.blocks import Block, Facts, Plot, Series, table
from ctestbed.bench.report.quantity import show_length, show_rate, show_size, show_time

NAMES = {
    "pfc": "pfc",
    "cbfc": "cbfc",
    "bifrost": "bifrost",
    "gbn": "none, go-back-N",
    "sr": "none, selective repeat",
}
_MM_PER_KM = 10**6


def longhaul_blocks(data: dict[str, Any]) -> list[Block]:
    """Return every point's verdict, where schemes break, the chips, and share over distance."""
    points = data["points"]
    pairs = (
        ("buffer per port and class", f"{show_size(points[0]['buffer'])} ({data['buffer_of']})"),
        ("largest frame", show_size(data["mtu"])),
        ("share of frames lost, for the lossy closed forms", data["loss"]),
    )
    blocks: list[Block] = [Facts("Long links", pairs), _points(points)]
    if data["breaks"]:
        blocks.append(_breaks(data["breaks"]))
    rows = [
        [c["name"], show_size(c["buffer"]), "off chip" if c["off_chip"] else "on chip", c["source"]]
        for c in data["chips"]
    ]
    blocks.append(
        table("Packet buffers of chips (claimed)", "chip | buffer> | where | source", rows)
    )
    return blocks + _plots(points)


def _points(points: list[dict[str, Any]]) -> Block:
    rows = [
        [
            NAMES[p["scheme"]],
            show_rate(p["rate"]),
            show_length(p["length"]),
            p["verdict"],
            p["provenance"],
            _share(p["share"]),
            f"{p['lost']:,}" if isinstance(p["lost"], int) else p["lost"],
            show_time(p["idle"]),
            show_size(p["peak"]),
            "-" if p["scheme"] in {"gbn", "sr"} else show_size(p["needed"]),
            p["fits"],
            "-" if p["lossy_share"] == "UNKNOWN" else _share(p["lossy_share"]),
        ]
        for p in points
    ]
    return table(
        "What each scheme does",
        "scheme | rate> | distance> | verdict | provenance | share> | frames lost> | idle> | "
        "peak buffer> | needs (modelled)> | chip that holds it (claimed) | "
        "share at that loss (modelled)>",
        rows,
        "share: of line rate, once the receiver opens after four round trips, for four more; a "
        "chip holds it if all of its buffer goes to this one port and class",
    )


def _share(share: float | str) -> str:
    return share if isinstance(share, str) else f"{100 * share:.2f} %"


def _breaks(breaks: list[dict[str, Any]]) -> Block:
    rows = [
        [
            NAMES[b["scheme"]],
            show_rate(b["rate"]),
            _km(b["full_rate"]),
            _km(b["full_rate_simulated"]),
            "any" if b["lossless"] == "UNKNOWN" else _km(b["lossless"]),
            _km(b["lossless_simulated"]),
            b["source"],
        ]
        for b in breaks
    ]
    return table(
        "Longest cable that this buffer carries",
        "scheme | rate> | full rate (modelled)> | full rate (simulated)> | "
        "no loss (modelled)> | no loss (simulated)> | source",
        rows,
    )


def _km(length: int | str) -> str:
    return length if isinstance(length, str) else f"{length / _MM_PER_KM:,.2f} km"


def _plots(points: list[dict[str, Any]]) -> list[Block]:
    blocks: list[Block] = []
    for rate in dict.fromkeys(p["rate"] for p in points):
        series = []
        for scheme in dict.fromkeys(p["scheme"] for p in points):
            mine = sorted(
                (p["length"] / _MM_PER_KM, 100 * p["share"])
                for p in points
                if (p["scheme"], p["rate"]) == (scheme, rate) and isinstance(p["share"], float)
            )
            if mine:
                series.append(
                    Series(NAMES[scheme], tuple(x for x, _ in mine), tuple(y for _, y in mine))
                )
        if series:
            title = f"Throughput over distance at {show_rate(rate)}"
            y_label = "share of line rate (%)"
            blocks.append(Plot(title, "line", tuple(series), "distance (km)", y_label, "simulated"))
    return blocks
