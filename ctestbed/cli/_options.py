"""Parameters that several nouns share, with their completion."""

import os
from pathlib import Path
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


def state_path(option: str | None) -> Path:
    """Return the state directory that the option, the environment or the default names."""
    from ctestbed.tee.state import resolve_state_path

    return resolve_state_path(option, os.environ)


def complete_vm(context: typer.Context, incomplete: str) -> list[str]:
    """Complete the names of the VMs in the state directory, by its file names alone."""
    from ctestbed.cli._settings import load_settings
    from ctestbed.core.errors import CtestbedError
    from ctestbed.tee.state import StateDirectory

    try:
        named = context.params.get("state_dir") or load_settings()[0].state_dir
        names = StateDirectory(state_path(named)).vm_names()
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
