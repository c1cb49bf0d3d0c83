"""The nouns and the first page of help, free of imports so that `--help` answers at once."""

from collections.abc import Mapping
from typing import Final

NOUNS: Final[Mapping[str, tuple[str, str]]] = {
    "topology": ("ctestbed.cli.topology", "Build, show and validate fabrics."),
    "route": ("ctestbed.cli.route", "Find the paths that packets take."),
    "sim": ("ctestbed.cli.sim", "Move traffic over a fabric; size long-haul headroom."),
    "cvm": ("ctestbed.cli.cvm", "Launch, list, show and stop confidential VMs; attack them."),
    "evidence": ("ctestbed.cli.evidence", "Make and show attestation evidence."),
    "attest": ("ctestbed.cli.attest", "Verify evidence; list and pin trust anchors."),
    "bench": ("ctestbed.cli.bench", "Run testbeds and benchmarks end to end."),
    "report": ("ctestbed.cli.report", "Build and convert reports."),
    "doctor": ("ctestbed.cli.doctor", "Check this machine and installation."),
    "explain": ("ctestbed.cli.explain", "Explain an error, finding or exit code."),
    "schema": ("ctestbed.cli.schema", "List and show JSON Schemas of files and results."),
    "config": ("ctestbed.cli.config", "Show settings and where they come from."),
    "completion": ("ctestbed.cli.completion", "Print the completion script of a shell."),
}
"""Each noun's module, which holds its Typer as `app`, and its line of help."""

SUMMARY: Final = "Emulate RDMA fabrics and confidential-computing silicon on one machine, honestly."
PROMISE: Final = "Every figure says whether it was measured, simulated, modelled or claimed."
START: Final = "Start with: ctestbed bench run two-campus-150km"

_OPTIONS: Final = {
    "--version": "Print the version and stop.",
    "--config FILE": "Read settings from FILE.  [env var: CTESTBED_CONFIG]",
    "-h, --help": "Show this message and exit.",
}
_WIDTH: Final = 78
"""What Typer fills on a terminal of 80 columns; a test holds this page and Typer's together."""


def help_page() -> str:
    """Return what `ctestbed --help` prints, as Typer would."""
    commands = {name: text for name, (_, text) in NOUNS.items()}
    parts = [
        "Usage: ctestbed [OPTIONS] COMMAND [ARGS]...",
        _fill(SUMMARY),
        _fill(PROMISE),
        f"Options:\n{_columns(_OPTIONS)}",
        f"Commands:\n{_columns(commands)}",
        f"  {START}",
    ]
    return "\n\n".join(parts) + "\n"


def _columns(rows: Mapping[str, str]) -> str:
    width = max(map(len, rows))
    return "\n".join(f"  {name.ljust(width)}  {text}" for name, text in rows.items())


def _fill(text: str) -> str:
    lines = ["  "]
    for word in text.split():
        if len(lines[-1]) + len(word) > _WIDTH:
            lines.append("  ")
        lines[-1] += f"{word} "
    return "\n".join(line.rstrip() for line in lines)
