"""`ctestbed cvm ...`."""

from typing import Annotated, TypeAlias

import typer

from ctestbed.cli._command import Reply, command, noun_app
from ctestbed.cli._options import StateDirOption, complete_vm, state_path

app = noun_app("cvm", help="Launch, list, show and stop confidential VMs.")


def _complete_platform(incomplete: str) -> list[str]:
    from ctestbed.tee.names import BUILT

    return [name for name in BUILT if name.startswith(incomplete)]


VMArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="NAME", help="The VM.", autocompletion=complete_vm)
]


@command(app, "launch", example="ctestbed cvm launch --platform csv --name a")
def launch(
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Name of the VM: a-z, 0-9, - and _.")
    ],
    platform: Annotated[
        str,
        typer.Option(
            "--platform",
            metavar="PLATFORM",
            help="csv, or plain for no protection.",
            autocompletion=_complete_platform,
        ),
    ] = "csv",
    memory: Annotated[
        str, typer.Option("--memory", metavar="SIZE", help="Guest memory, whole 4 KiB pages.")
    ] = "64MiB",
    image: Annotated[
        str | None,
        typer.Option("--image", metavar="FILE", help="Initial image; a built-in one otherwise."),
    ] = None,
    allow_debug: Annotated[
        bool, typer.Option("--allow-debug", help="Let the host decrypt memory (clears NODBG).")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", min=0, help="Make the emulated machine repeatable; fresh keys otherwise."
        ),
    ] = None,
    state_dir: StateDirOption = None,
) -> Reply:
    """Launch a confidential VM: load, encrypt and measure its image."""
    from ctestbed.core.errors import Where
    from ctestbed.core.units import parse_size
    from ctestbed.tee.commands import LaunchRequest, run_launch

    request = LaunchRequest(
        state_dir=state_path(state_dir),
        name=name,
        platform=platform,
        memory=parse_size(memory, Where(pointer="--memory")),
        image=image,
        allow_debug=allow_debug,
        seed=seed,
    )
    return Reply(run_launch(request))


@command(app, "list", example="ctestbed cvm list")
def list_all(state_dir: StateDirOption = None) -> Reply:
    """List the VMs of the state directory."""
    from ctestbed.tee.commands import ListRequest, run_list

    return Reply(run_list(ListRequest(state_path(state_dir))))


@command(app, "show", example="ctestbed cvm show a")
def show(name: VMArgument, state_dir: StateDirOption = None) -> Reply:
    """Show a VM: its measurement and policy, and its memory as host and guest see it."""
    from ctestbed.tee.commands import ShowRequest, run_show

    return Reply(run_show(ShowRequest(state_path(state_dir), name)))


@command(app, "stop", example="ctestbed cvm stop a")
def stop(name: VMArgument, state_dir: StateDirOption = None) -> Reply:
    """Stop a VM: destroy its memory key and its record, even a damaged one."""
    from ctestbed.tee.commands import StopRequest, run_stop

    return Reply(run_stop(StopRequest(state_path(state_dir), name)))
