"""The entry point. The first page of help needs no framework; all else does."""

import os
import sys
from typing import Final

from ctestbed.cli._nouns import help_page
from ctestbed.cli._streams import guarded_stdout, is_stream_error, open_streams

USAGE: Final = 2
"""What Typer ends with when no command is named."""


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly with its own code."""
    open_streams()
    if sys.argv[1:] in ([], ["-h"], ["--help"]) and "_CTESTBED_COMPLETE" not in os.environ:
        with guarded_stdout():
            sys.stdout.write(help_page())
        sys.exit(0 if sys.argv[1:] else USAGE)
    try:
        _run()
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:  # all but Typer's own words on usage reach stderr through `say`
        if not is_stream_error(error):
            raise
        sys.exit(USAGE)


def _run() -> None:
    """Load the framework and run a command."""
    from ctestbed.cli.app import app

    if "_CTESTBED_COMPLETE" in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
    app(prog_name="ctestbed")
