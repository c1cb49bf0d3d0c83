"""`ctestbed route path`."""

from typing import Annotated

import typer

from ctestbed.cli._command import Reply, command, noun_app
from ctestbed.cli._options import SeedOption, SpreadOption, TestbedArgument

app = noun_app("route", help="Find the paths that packets take.")


@command(app, "path", example="ctestbed route path two-campus-150km 0 1024")
def path(
    testbed: TestbedArgument,
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="An endpoint's number or name, such as 0.")
    ],
    destination: Annotated[
        str, typer.Argument(metavar="DST", help="Another endpoint's number or name.")
    ],
    spread: SpreadOption = "balanced",
    seed: SeedOption = None,
    label: Annotated[
        int, typer.Option("--label", min=0, help="Tells flows of one pair apart (ecmp).")
    ] = 0,
) -> Reply:
    """Show the path from one endpoint to another, cable by cable."""
    from ctestbed.routing.commands import PathRequest, run_path

    return Reply(run_path(PathRequest(testbed, source, destination, spread, seed, label)))
