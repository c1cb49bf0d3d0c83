"""`ctestbed schema list|show`."""

import json
from typing import Annotated

import typer

from ctestbed.cli._command import Reply, command, noun_app

app = noun_app("schema", help="List and show JSON Schemas of files and results.")


def _complete_schema(incomplete: str) -> list[str]:
    from ctestbed.bench.schemas import list_schemas

    return [name for name, _ in list_schemas() if name.startswith(incomplete)]


@command(app, "list", example="ctestbed schema list")
def list_all() -> Reply:
    """List every schema: the testbed file, the envelope, and each command's report."""
    from ctestbed.bench.reference import run_schema_list

    return Reply(run_schema_list())


@command(app, "show", artefact=True, example="ctestbed schema show testbed")
def show(
    name: Annotated[
        str,
        typer.Argument(
            help="testbed, envelope, or a report's schema such as ctestbed.topology.validate/1.",
            autocompletion=_complete_schema,
        ),
    ],
) -> Reply:
    """Print a JSON Schema (draft 2020-12)."""
    from ctestbed.bench.reference import run_schema_show

    result, schema = run_schema_show(name)
    return Reply(result, artefact=(json.dumps(schema, indent=2) + "\n").encode())
