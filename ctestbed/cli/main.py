"""The entry point. The first page of help needs no framework; all else does."""

import os
import sys
from typing import Final

from ctestbed.cli._nouns import help_page

USAGE: Final = 2
"""What Typer ends with when no command is named."""


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly with its own code."""
    if sys.argv[1:] in ([], ["-h"], ["--help"]) and "_CTESTBED_COMPLETE" not in os.environ:
        sys.stdout.write(help_page())
        sys.exit(0 if sys.argv[1:] else USAGE)
    from ctestbed.cli.app import app

    if "_CTESTBED_COMPLETE" in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
    try:
        app(prog_name="ctestbed")
    except KeyboardInterrupt:
        sys.exit(130)
