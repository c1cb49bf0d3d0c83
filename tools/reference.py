"""Write the reference pages of the docs from the code they describe.

`python -m tools.reference docs/reference` writes; with `--check` it reports pages that are stale.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from ctestbed.bench.schemas import list_schemas
from ctestbed.cli._nouns import NOUNS
from ctestbed.cli.app import app
from ctestbed.core.catalogue import load_catalogue
from ctestbed.core.errors import ExitCode

_MADE = "<!-- Made by `make golden` from the code; do not edit. -->\n\n"


def exit_codes_page() -> str:
    """Return the page of exit codes."""
    rows = [f"| {int(code)} | {code.status} | {code.meaning} |" for code in ExitCode]
    table = "\n".join(["| code | status | meaning |", "| ---: | --- | --- |", *rows])
    order = (
        "For one evidence the first of 3, 11, 13, 14, 12 decides; over several files the same "
        "order gives the worst.\n"
    )
    return f"{_MADE}# Exit codes\n\n{table}\n\n{order}"


def codes_page() -> str:
    """Return the page of error and finding codes."""
    parts = [f"{_MADE}# Errors and findings\n\n`ctestbed explain CODE` says the same.\n"]
    parts += [
        f"## {entry.code}\n\n**{entry.title}**\n\n{entry.meaning}\n\n{entry.remedy}\n"
        for entry in load_catalogue().values()
    ]
    return "\n".join(parts)


def schemas_page() -> str:
    """Return the page that lists the JSON Schemas."""
    rows = [f"| `{name}` | {title} |" for name, title in list_schemas()]
    table = "\n".join(["| name | describes |", "| --- | --- |", *rows])
    return f"{_MADE}# Schemas\n\nPrint one with `ctestbed schema show NAME`.\n\n{table}\n"


def _help_of(words: list[str]) -> str:
    result = CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}).invoke(
        app, [*words, "--help"], prog_name="ctestbed"
    )
    return result.output.rstrip()


def _commands() -> Iterator[list[str]]:
    root: Any = typer.main.get_command(app)
    for noun in NOUNS:
        yield [noun]
        group: Any = root.get_command(None, noun)
        for verb in getattr(group, "commands", {}):
            yield [noun, verb]
            inner = group.commands[verb]
            for word in getattr(inner, "commands", {}):
                yield [noun, verb, word]


def cli_page() -> str:
    """Return the page of every command's help."""
    parts = [f"{_MADE}# Command line\n\n```text\n{_help_of([])}\n```\n"]
    for words in _commands():
        mark = "#" * (1 + len(words))
        parts.append(f"{mark} ctestbed {' '.join(words)}\n\n```text\n{_help_of(words)}\n```\n")
    return "\n".join(parts)


PAGES = {
    "exit-codes.md": exit_codes_page,
    "findings.md": codes_page,
    "schemas.md": schemas_page,
    "cli.md": cli_page,
}


def main(arguments: list[str]) -> int:
    """Write the pages, or with --check list those that differ and return 1."""
    check = "--check" in arguments
    target = Path(next(item for item in arguments if not item.startswith("-")))
    stale = []
    for name, build in PAGES.items():
        page, path = build(), target / name
        if check and (not path.is_file() or path.read_text(encoding="utf-8") != page):
            stale.append(name)
        elif not check:
            path.write_text(page, encoding="utf-8")
    if stale:
        print(f"stale: {', '.join(stale)}; run `make golden` and review the diff")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
