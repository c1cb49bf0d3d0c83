"""Write the reference pages of the docs from the code they describe.

`python -m tools.reference docs/reference` writes; with `--check` it reports pages that are stale.
"""

import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from ctestbed.bench.schemas import build_schema, list_schemas
from ctestbed.cli._nouns import NOUNS
from ctestbed.cli.app import app
from ctestbed.core.catalogue import load_catalogue
from ctestbed.core.errors import ExitCode
from ctestbed.core.units import format_size

_MEANINGS: dict[str, str] = tomllib.loads(
    (Path(__file__).parent / "testbed_keys.toml").read_text(encoding="utf-8")
)

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


def testbed_page() -> str:
    """Return the page of every key of a testbed file."""
    intro = (
        "A YAML 1.2 mapping. Quantities carry units (`400Gbps`, `75MB`, `750us`, `150km`); those "
        "that allow it may be `unknown`, and then whatever depends on them is UNKNOWN. "
        "`ctestbed schema show testbed` prints the JSON Schema, and "
        "[how to write one](../how-to/write-a-testbed.md) shows two."
    )
    parts = [f"{_MADE}# Testbed file\n\n{intro}\n"]
    for name, part in schema_models().items():
        title = f"## {name}\n\n{_prose(part)}\n\n" if name else ""
        parts.append(title + _keys_table(name, part))
    return "\n".join(parts)


def schema_models() -> dict[str, dict[str, Any]]:
    """Return the schema of each mapping in a testbed file, the file's own first, as ``."""
    schema = build_schema("testbed")
    models = {name: part for name, part in schema.get("$defs", {}).items() if "properties" in part}
    return {"": schema, **models}


def explain_key(model: str, key: str) -> str:
    """Return what a key means, or nothing if nobody has written it down."""
    return _MEANINGS.get(f"{model}.{key}", _MEANINGS.get(key, ""))


def _prose(part: dict[str, Any]) -> str:
    return " ".join(str(part.get("description", "")).split())


def _keys_table(model: str, part: dict[str, Any]) -> str:
    required = part.get("required", [])
    rows = ["| key | means | holds | if left out |", "| --- | --- | --- | --- |"]
    for key, value in part["properties"].items():
        default = "(required)" if key in required else _default(value)
        rows.append(f"| `{key}` | {explain_key(model, key)} | {_kind(value)} | {default} |")
    return "\n".join(rows) + "\n"


def _default(value: dict[str, Any]) -> str:
    default = value.get("default")
    if default is None or isinstance(default, dict):
        return "-"
    if value.get("type") == "string" and isinstance(default, int):
        return f"`{format_size(default)}`"
    return f"`{json.dumps(default)}`"


def _kind(value: dict[str, Any]) -> str:
    """Say in a few words what a key may hold."""
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in value:
        kinds = [_kind(option) for option in value["anyOf"] if option.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "const" in value or "enum" in value:
        options = value.get("enum", [value.get("const")])
        return ", ".join(f"`{option}`" for option in options)
    if value.get("type") == "array":
        return f"list of {_kind(value['items'])}"
    if value.get("type") == "object" and isinstance(value.get("additionalProperties"), dict):
        return f"by name: {_kind(value['additionalProperties'])}"
    kind = {"string": "text", "integer": "whole number"}.get(value.get("type", ""), "number")
    examples = [f"`{example}`" for example in value.get("examples", [])]
    bounds = [
        f"{word} {value[key]}"
        for key, word in (("minimum", "from"), ("maximum", "to"))
        if key in value
    ]
    shown = " ".join([kind, *bounds])
    return f"{shown}, such as {' or '.join(examples)}" if examples else shown


PAGES = {
    "testbed-file.md": testbed_page,
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
