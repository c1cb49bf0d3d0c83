"""The root of the command line: `ctestbed NOUN VERB`."""

import os
from typing import Annotated

import typer

from ctestbed import __version__
from ctestbed.cli._lazy import LazyGroup
from ctestbed.cli._nouns import PROMISE, START, SUMMARY

app = typer.Typer(
    name="ctestbed",
    cls=LazyGroup,
    help=f"{SUMMARY}\n\n{PROMISE}",
    epilog=START,
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"ctestbed {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[  # noqa: ARG001 - the callback acts on it
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
    config: Annotated[
        str | None,
        typer.Option(
            "--config", metavar="FILE", envvar="CTESTBED_CONFIG", help="Read settings from FILE."
        ),
    ] = None,
) -> None:
    """Emulate RDMA fabrics and confidential-computing silicon on one machine, honestly."""
    if config is not None:
        os.environ["CTESTBED_CONFIG"] = config
