"""Parameters that several nouns share, with their completion."""

from typing import Annotated, Literal, TypeAlias

import typer


def complete_testbed(incomplete: str) -> list[str]:
    """Complete the names of built-in testbeds; paths are the shell's own business."""
    from ctestbed.core.data import data_directory
    from ctestbed.core.errors import CtestbedError

    try:
        names = sorted(path.stem for path in data_directory("topologies").glob("*.yaml"))
    except CtestbedError:
        return []
    return [name for name in names if name.startswith(incomplete)]


TestbedArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="TESTBED",
        help="A testbed file, the name of a built-in one, or - for stdin.",
        autocompletion=complete_testbed,
    ),
]

StateDirOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--state-dir",
        metavar="DIR",
        envvar="CTESTBED_STATE_DIR",
        help="Where confidential VMs and emulated roots are kept.",
    ),
]

SeedOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--seed", min=0, help="Seed of everything drawn; the testbed's own otherwise."),
]

SpreadOption: TypeAlias = Annotated[
    Literal["balanced", "ecmp"],
    typer.Option("--spread", help="Choose among equal paths by index, or by hash."),
]
