"""The entry point: `ctestbed NOUN VERB`."""

import os
import sys
from typing import Annotated

import typer

from ctestbed import __version__
from ctestbed.cli._lazy import LazyGroup

app = typer.Typer(
    name="ctestbed",
    cls=LazyGroup,
    help=(
        "Emulate RDMA fabrics and confidential-computing silicon on one machine, honestly.\n\n"
        "Every figure says whether it was measured, simulated, modelled or claimed."
    ),
    epilog="Start with: ctestbed bench run two-campus-150km",
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


def main() -> None:
    """Run the command line; a closed pipe and Ctrl-C end it quietly with their own codes."""
    try:
        app(prog_name="ctestbed")
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        _leave_broken_pipe()


def _leave_broken_pipe() -> None:
    """End without a complaint from the interpreter's own last flush."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(141)
