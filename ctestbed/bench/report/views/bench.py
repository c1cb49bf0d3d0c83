"""Views of `bench`."""

from typing import Any

from ctestbed.bench.report.blocks import Block, Facts, Items, Plot, Series, table
from ctestbed.bench.report.common import format_value
from ctestbed.bench.report.quantity import show_rate, show_size, show_time
from ctestbed.bench.report.views.route import hops_table
from ctestbed.bench.report.views.sim import completion_plot, headroom_blocks
from ctestbed.core.envelope import Envelope


def list_(envelope: Envelope) -> list[Block]:
    """What can be run."""
    rows = [
        [entry["name"], entry["kind"], entry["title"]] for entry in envelope["data"]["runnable"]
    ]
    return [table("What `bench run` runs", "name | kind | what it is", rows)]


def run(envelope: Envelope) -> list[Block]:
    """A whole testbed's run, or one benchmark's."""
    data = envelope["data"]
    if data["kind"] == "benchmark":
        pairs = (("measures", data["title"]), ("method", data["method"]))
        return [Facts(f"Benchmark {data['name']}", pairs), *_rate_plots(envelope)]
    blocks: list[Block] = [Facts(data["title"] or data["name"], _size(data))]
    blocks.append(
        table(
            "Checks of the fabric",
            "result | check",
            [[check["status"].upper(), check["check"]] for check in data["checks"]],
        )
    )
    blocks += [
        hops_table(route["hops"], f"Path {route['source']} to {route['destination']}")
        for route in data["routes"]
    ]
    for link in (data["headroom"] or {"links": []})["links"]:
        blocks += headroom_blocks(link)
    blocks += _transfers(data["transfers"])
    if data["confidential"]:
        blocks += _confidential(data["confidential"])
    blocks += _rate_plots(envelope)
    blocks += _expectations(data["expectations"])
    if data["assumptions"]:
        blocks.append(Items("Assumptions", tuple(data["assumptions"])))
    return blocks


def _size(data: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    counts = data["counts"]
    if counts is None:
        return (("size", "the file describes no network"),)
    names = {
        "site": ("site", "sites"),
        "accelerator": ("accelerator", "accelerators"),
        "host": ("host", "hosts"),
        "nic": ("NIC", "NICs"),
        "switch": ("switch", "switches"),
        "link": ("cable", "cables"),
    }
    parts = [
        f"{counts[key]:,} {one if counts[key] == 1 else many}" for key, (one, many) in names.items()
    ]
    return (("testbed", data["name"]), ("size", ", ".join(parts)))


def _transfers(transfers: list[dict[str, Any]]) -> list[Block]:
    if not transfers:
        return []
    rows = [
        [
            each["name"],
            each["pattern"],
            f"{each['flows']:,}",
            show_size(each["size"]),
            show_time(each["fct_min"]),
            show_time(each["fct_p50"]),
            show_time(each["fct_max"]),
            show_rate(each["goodput_total"]),
        ]
        for each in transfers
    ]
    header = "transfer | pattern | flows> | each> | first done> | median> | last done> | goodput>"
    blocks: list[Block] = [table("Transfers (simulated)", header, rows)]
    curves = {each["name"]: each["fct_curve"] for each in transfers if each["fct_curve"]}
    if curves:
        blocks.append(completion_plot(curves))
    return blocks


def _confidential(vm: dict[str, Any]) -> list[Block]:
    verdict = vm["attestation"]
    root = verdict["root"] or {"name": "none", "fingerprint": "-"}
    passed = sum(check["status"] == "pass" for check in verdict["checks"])
    pairs = (
        ("platform", vm["platform"]),
        ("memory", show_size(vm["memory"])),
        ("launch measurement", vm["measurement"]),
        ("guest reads", _text(vm["guest_view"])),
        ("host reads", vm["host_view"]),
        ("verdict", f"{verdict['verdict']} ({passed} checks passed)"),
        ("root", f"{root['name']}, class {verdict['root_class']}"),
        ("root key", root["fingerprint"]),
    )
    return [Facts("Confidential VM", pairs)]


def _text(view: str) -> str:
    """Write bytes as text where they are printable, with a dot for each that is not."""
    shown = "".join(chr(b) if 32 <= b < 127 else "." for b in bytes.fromhex(view))  # noqa: PLR2004
    return f"{shown!r}"


def _rate_plots(envelope: Envelope) -> list[Block]:
    """A bar for each timed rate, one chart per unit."""
    by_unit: dict[str, list[tuple[str, float]]] = {}
    for metric in envelope["metrics"]:
        value = metric.get("value")
        if metric["kind"] == "timed" and isinstance(value, int | float) and "per" in metric["unit"]:
            by_unit.setdefault(metric["unit"], []).append((metric["name"], float(value)))
    return [
        Plot(
            "Throughput",
            "bar",
            (Series(unit, tuple(map(float, range(len(bars)))), tuple(v for _, v in bars)),),
            "",
            unit,
            "measured",
            labels=tuple(name for name, _ in bars),
            note="CPU time of one thread on this machine",
        )
        for unit, bars in by_unit.items()
    ]


def _expectations(expectations: list[dict[str, Any]]) -> list[Block]:
    if not expectations:
        return []
    rows = [
        [item["status"].upper(), item["text"], format_value(item["actual"], item["unit"])]
        for item in expectations
    ]
    return [table("Expectations", "result | expected | actual>", rows)]
