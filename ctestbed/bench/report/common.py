"""Blocks that every report ends with: its findings, its metrics and its verdict."""

from collections.abc import Callable
from typing import Any, Final

from ctestbed.bench.report.blocks import Block, Facts, Table, table
from ctestbed.bench.report.quantity import show_power, show_rate
from ctestbed.bench.report.views import tells_metrics, view_of
from ctestbed.core.envelope import Envelope
from ctestbed.core.errors import ExitCode, Where
from ctestbed.core.units import format_length, format_size, format_time

_WRITERS: Final[dict[str, Callable[[int], str]]] = {
    "ps": format_time,
    "bytes": format_size,
    "mm": format_length,
    "bit/s": show_rate,
    "mW": show_power,
}


def format_value(value: Any, unit: str) -> str:
    """Write a metric for people: quantities with a fitting prefix, the rest as they are."""
    if isinstance(value, str) or value is None:
        return "-" if value is None else value
    if unit in _WRITERS:
        return _WRITERS[unit](int(value))
    if unit in {"bytes/s", "bytes per CPU second"}:
        return f"{value / 1e6:,.1f} MB/s" + (" (CPU)" if "CPU" in unit else "")
    shown = f"{value:.4g}" if isinstance(value, float) else f"{value:,}"
    return shown if unit in {"", "1", "ratio"} else f"{shown} {unit}"


def format_where(where: dict[str, Any] | None) -> str:
    """Write a finding's place."""
    if not where:
        return ""
    return str(Where(where.get("file"), where.get("pointer"), where.get("line")))


def metrics_table(envelope: Envelope) -> Table | None:
    """Return the metrics with their provenance and source; None without any, or if told above."""
    if tells_metrics(envelope):
        return None
    rows = [
        [
            metric["name"],
            format_value(metric.get("value"), metric["unit"]),
            metric["provenance"],
            metric.get("source", ""),
        ]
        for metric in envelope.get("metrics", [])
    ]
    return table("Metrics", "metric | value> | provenance | source", rows) if rows else None


def findings_table(envelope: Envelope) -> Table | None:
    """Return the findings, or None without any."""
    rows = [
        [
            finding["severity"],
            finding["code"],
            finding["message"],
            format_where(finding.get("where")),
            finding.get("hint", ""),
        ]
        for finding in envelope.get("findings", [])
    ]
    header = "severity | code | message | where | what to do"
    return table("Findings", header, rows) if rows else None


def verdict_line(envelope: Envelope) -> str:
    """Return PASS, FAIL or ERROR with the exit code's meaning."""
    code = ExitCode(envelope["exit_code"])
    state = str(envelope["status"]).upper()
    warnings = sum(item["severity"] == "warning" for item in envelope.get("findings", []))
    if warnings and envelope["status"] == "pass":
        state += f" WITH {warnings} WARNING{'S' if warnings > 1 else ''}"
    partial = "" if envelope.get("complete", True) else " (incomplete: the run was cut short)"
    return f"{state}: {code.meaning} (exit {int(code)}){partial}"


def all_blocks(envelope: Envelope) -> list[Block]:
    """Return a view followed by metrics and findings."""
    blocks: list[Block] = list(view_of(envelope))
    tail = [metrics_table(envelope), findings_table(envelope)]
    return blocks + [block for block in tail if block is not None]


def reproduce_facts(envelope: Envelope) -> Facts:
    """Return how to run it again: the command line as typed, the seed, digests of the inputs."""
    request = envelope["request"]
    typed = envelope.get("run", {}).get("command_line")
    pairs = [("command", str(typed or " ".join(["ctestbed", *request["command"]])))]
    if not typed:
        pairs += [(name, _plain(value)) for name, value in request["options"].items()]
    if "seed" in request:
        pairs.append(("seed", str(request["seed"])))
    pairs += [(f"input {item['name']}", f"sha256 {item['sha256']}") for item in envelope["inputs"]]
    return Facts("How to reproduce", tuple(pairs))


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
