"""`ctestbed explain [CODE]`."""

from typing import Annotated

import typer

from ctestbed.cli._command import Reply, command, noun_app, single_verb

app = noun_app("explain", help="Explain an error, finding or exit code.")


def _complete_code(incomplete: str) -> list[str]:
    from ctestbed.core.catalogue import load_catalogue

    return [code for code in load_catalogue() if code.startswith(incomplete.upper())]


@command(app, "explain", example="ctestbed explain CTB-C003")
def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            help="A code such as CTB-C003, or an exit code such as 14. All, if left out.",
            autocompletion=_complete_code,
        ),
    ] = None,
) -> Reply:
    """Explain what a code means and what to do about it."""
    from ctestbed.bench.reference import run_explain

    return Reply(run_explain(code))


single_verb(app)
