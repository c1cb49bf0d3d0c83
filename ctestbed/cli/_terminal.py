"""Reports on a screen: Rich on a terminal, plain ASCII everywhere else."""

import os
import sys
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from ctestbed.bench.report.blocks import Block, Facts, Table


def wants_color(choice: str) -> bool:
    """Decide by --color, then FORCE_COLOR, then NO_COLOR, TERM and the stream itself."""
    if choice not in {"auto", "always", "never"}:
        raise typer.BadParameter(f"--color {choice!r} is not auto, always or never")
    if choice != "auto":
        return choice == "always"
    if os.environ.get("FORCE_COLOR"):
        return True
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def show(envelope: dict[str, Any], *, color: str) -> None:
    """Print a report to stdout."""
    from ctestbed.bench.report.render import make_visible, render

    colored = wants_color(color)
    if not colored and not sys.stdout.isatty():
        sys.stdout.write(render(envelope, "table"))
        return
    _show_rich(make_visible(envelope), colored=colored)


def _show_rich(envelope: dict[str, Any], *, colored: bool) -> None:
    from rich.console import Console
    from rich.text import Text as RichText

    from ctestbed.bench.report.common import metrics_table, verdict_line
    from ctestbed.bench.report.text import render_findings
    from ctestbed.bench.report.views import view_of

    console = Console(no_color=not colored, force_terminal=colored or None, highlight=False)
    blocks = list(view_of(envelope))
    metrics = metrics_table(envelope)
    for block in [*blocks, metrics] if metrics is not None else blocks:
        _print_block(console, block)
    styles = {"error": "bold red", "warning": "yellow", "note": "cyan"}
    for text in render_findings(envelope["findings"]):
        head, *rest = text.splitlines()
        severity = head.partition("[")[0].split()[-1]
        console.print(RichText(head, style=styles.get(severity, "")))
        console.print(RichText("\n".join(rest))) if rest else None
        console.print()
    verdict = {"pass": "bold green", "fail": "bold red"}.get(envelope["status"], "bold yellow")
    console.print(RichText(verdict_line(envelope), style=verdict))


def _print_block(console: "Console", block: "Block") -> None:
    from rich.text import Text as RichText

    from ctestbed.bench.report.blocks import Facts, Picture, Plot, Table, Text

    if isinstance(block, Plot) or (isinstance(block, Picture) and not block.text):
        return
    if block.title and not isinstance(block, Table):
        console.print(RichText(block.title, style="bold"))
    match block:
        case Text():
            _print_drawing(console, block.text) if block.fixed else console.print(
                RichText(block.text)
            )
        case Picture():
            _print_drawing(console, block.text)
        case Facts():
            _print_facts(console, block)
        case Table():
            _print_table(console, block)
    console.print()


def _print_drawing(console: "Console", text: str) -> None:
    """Print lines whose spaces count, cut to the width there is rather than wrapped."""
    from rich.text import Text as RichText

    room = console.width
    lines = [
        line if len(line) <= room else f"{line[: room - 1]}\u2026" for line in text.split("\n")
    ]
    console.print(RichText("\n".join(lines), no_wrap=True, overflow="crop"))


def _print_facts(console: "Console", block: "Facts") -> None:
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

    grid = RichTable.grid(padding=(0, 2))
    for name, value in block.pairs:
        grid.add_row(RichText(f"  {name}", style="dim"), RichText(value))
    console.print(grid)


def _print_table(console: "Console", block: "Table") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

    shown = RichTable(box=SIMPLE_HEAD, title_justify="left", title_style="bold")
    shown.title = block.title or None
    for column in block.columns:
        shown.add_column(
            column.title, justify="right" if column.figure else "left", overflow="fold"
        )
    for row in block.rows:
        shown.add_row(*(RichText(cell) for cell in row))
    console.print(shown)
    if block.note:
        console.print(RichText(f"  {block.note}", style="dim"))
