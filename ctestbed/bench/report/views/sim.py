"""Views of `sim`."""

from typing import Any

from ctestbed.bench.report.blocks import Block, Facts, Plot, Series, Table, cut_rows, table
from ctestbed.bench.report.common import format_value
from ctestbed.bench.report.longlinks import longhaul_blocks
from ctestbed.bench.report.quantity import show_length, show_rate, show_size, show_time
from ctestbed.bench.report.sights import sight_blocks
from ctestbed.core.envelope import Envelope

SHOWN = 12
_US = 10**6


def transfer(envelope: Envelope) -> list[Block]:
    """The pattern, the slowest flows and the busiest cables."""
    data = envelope["data"]
    pairs = (
        ("testbed", data["testbed"]),
        ("pattern", _traffic(data)),
        ("spread", data["spread"]),
        ("all complete after", show_time(data["makespan"])),
    )
    blocks: list[Block] = [Facts("Transfer", pairs), _flows(data), _links(data)]
    if "packet" in data:
        blocks += _packets(data["packet"]) + sight_blocks(data["packet"])
    curve = [flow["fct"] for flow in data["flows"] if isinstance(flow["fct"], int)]
    if len(curve) == data["flow_count"]:
        blocks.append(completion_plot({data["pattern"]: sorted(curve)}))
    return blocks


def _packets(packet: dict[str, Any]) -> list[Block]:
    """The protocols, and the ports whose queues grew longest."""
    pairs = (
        ("flow control", packet["flow_control"]),
        ("congestion control", packet["congestion_control"]),
        ("reliability", packet["reliability"] + (", trimming" if packet["trim"] else "")),
        ("packets", f"{packet['payload']} B and {packet['header']} B of header"),
        ("sent again", f"{packet['resent']:,} packets"),
        ("last event", show_time(packet["ended"])),
    )
    ports = sorted(packet["ports"], key=lambda port: -max(port["queue_peak"], port["ingress_peak"]))
    rows, note = cut_rows(
        [
            [
                port["sender"],
                port["receiver"],
                show_size(port["queue_peak"]),
                show_size(port["ingress_peak"]),
                f"{show_size(port['headroom_peak'])} of {show_size(port['headroom'])}"
                if packet["flow_control"] == "pfc"
                else "-",
                f"{port['pauses']:,}",
                f"{port['drops']:,}",
            ]
            for port in ports
        ],
        SHOWN,
    )
    header = "from | to | sender's queue> | receiver's ingress> | headroom used> | pauses> | drops>"
    return [Facts("Packets", pairs), table("Fullest ports", header, rows, note)]


def _traffic(data: dict[str, Any]) -> str:
    """What is driven: how many flows, of what size, and how many of them wait for others."""
    flows = f"{data['pattern']}: {data['flow_count']:,} flows"
    if data["size"] is not None:
        flows += f" of {show_size(data['size'])}"
    else:
        flows += f", {show_size(data['bytes'])} in all"
    return flows + (f"; {data['waiting']:,} wait for others" if data.get("waiting") else "")


def completion_plot(curves: dict[str, list[int]]) -> Plot:
    """The share of flows that have completed by a time, for each transfer."""
    series = []
    for name, times in curves.items():
        step = max(1, len(times) // 200)
        picked = [*range(0, len(times) - 1, step), len(times) - 1]
        share = tuple((at + 1) / len(times) for at in picked)
        series.append(Series(name, tuple(times[at] / _US for at in picked), share))
    return Plot(
        "Flow completion",
        "ecdf",
        tuple(series),
        "flow completion time (us)",
        "share of flows",
        "simulated",
        note="flow engine: max-min fair fluid, no packets, no queues",
    )


def _flows(data: dict[str, Any]) -> Table:
    slowest = sorted(
        data["flows"], key=lambda flow: flow["fct"] if isinstance(flow["fct"], int) else -1
    )[::-1]
    rows, note = cut_rows(
        [
            [flow["source"], flow["destination"], show_size(flow["size"]), show_time(flow["fct"])]
            for flow in slowest
        ],
        SHOWN,
    )
    return table("Slowest flows", "from | to | size> | completion>", rows, note)


def _links(data: dict[str, Any]) -> Table:
    busiest = sorted(data["links"], key=_least_time, reverse=True)
    rows, note = cut_rows(
        [
            [
                link["source"],
                link["target"],
                show_rate(link["rate"]),
                f"{link['flows']:,}",
                show_size(link["bytes"]),
            ]
            for link in busiest
        ],
        SHOWN,
    )
    return table("Busiest cables", "from | to | rate> | flows> | carries>", rows, note)


def _least_time(link: dict[str, Any]) -> float:
    rate = link["rate"]
    return link["bytes"] / rate if isinstance(rate, int) and rate else 0.0


def headroom(envelope: Envelope) -> list[Block]:
    """What each kind of long-haul port needs, and how others would size it."""
    blocks: list[Block] = []
    for link in envelope["data"]["links"]:
        blocks += headroom_blocks(link)
    return blocks


def headroom_blocks(link: dict[str, Any]) -> list[Block]:
    """The facts of alike ports, and the table of variants."""
    ports = len(link["ports"])
    classes = "1 lossless class" if link["classes"] == 1 else f"{link['classes']} lossless classes"
    pairs = [
        ("rate", show_rate(link["rate"])),
        ("delay, one way", show_time(link["delay"])),
        ("length", show_length(link["length"])),
        ("needed per class (closed form)", show_size(link["closed_form"])),
        ("needed per port", f"{show_size(link['per_port'])} for {classes}"),
        ("configured per class", show_size(link["configured"])),
        ("outcome", link["outcome"]),
        ("pause frames per round trip", str(link["pause_refreshes"])),
    ]
    if "solved" in link:
        solved = link["solved"]
        to_xoff = show_size(solved["xoff"])
        pairs += [
            ("least that loses nothing (simulated)", show_size(solved["lossless"])),
            (
                "least that never starves (simulated)",
                f"{show_size(solved['no_starvation'])}: {to_xoff} to XOFF, then the headroom",
            ),
        ]
    if ports:
        pairs.insert(0, ("ports", f"{ports}: {link['ports'][0]} ... {link['ports'][-1]}"))
    rows = [[v["name"], show_size(v["size"]), v["source"]] for v in link["variants"]]
    return [
        Facts(f"Headroom of {link['name']} (modelled)", tuple(pairs)),
        table("How others would size it (modelled)", "variant | per class> | source", rows),
    ]


def longhaul(envelope: Envelope) -> list[Block]:
    """Every point's verdict, where schemes break, and share over distance."""
    return longhaul_blocks(envelope["data"])


def transfer_seeds(envelope: Envelope) -> list[Block]:
    """How the metrics of several runs spread."""
    data = envelope["data"]
    whole = sum(run["complete"] for run in data["runs"])
    pairs = (
        ("testbed", data["testbed"]),
        ("pattern", data["pattern"]),
        ("whole runs", f"{whole:,} of {len(data['seeds']):,} seeds"),
    )
    rows = [
        [row["name"], f"{row['n']:,}"]
        + [format_value(_whole(row[part], row["unit"]), row["unit"]) for part in _SPREAD]
        for row in data["spread"]
    ]
    header = "metric | runs> | mean> | sd> | min> | p50> | p90> | max>"
    return [Facts("Transfer with several seeds", pairs), table("Spread over runs", header, rows)]


_SPREAD = ("mean", "sd", "min", "p50", "p90", "max")


def _whole(value: float, unit: str) -> float:
    """Return a value as it is written: counts and quantities in whole units."""
    return value if unit in {"", "1", "ratio"} else round(value)
