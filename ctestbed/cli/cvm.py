"""`ctestbed cvm ...`."""

from typing import Annotated, TypeAlias

import typer

from ctestbed.cli._command import Reply, command, noun_app
from ctestbed.cli._options import StateDirOption, complete_vm, state_path

app = noun_app("cvm", help="Launch, list, show and stop confidential VMs; attack them.")


def _complete_platform(incomplete: str) -> list[str]:
    from ctestbed.tee.names import PLATFORMS

    return [name for name in PLATFORMS if name.startswith(incomplete)]


VMArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="NAME", help="The VM.", autocompletion=complete_vm)
]


@command(app, "launch", example="ctestbed cvm launch --platform csv --name a")
def launch(  # noqa: PLR0917 - one per option
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Name of the VM: a-z, 0-9, - and _.")
    ],
    platform: Annotated[
        str,
        typer.Option(
            "--platform",
            metavar="PLATFORM",
            help="csv, csv2, csv3, sev, sev-es, snp, tdx, cca, virtcca; plain for no protection.",
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
        bool, typer.Option("--allow-debug", help="Let the host decrypt memory, by the policy.")
    ] = False,
    vcpus: Annotated[
        int, typer.Option("--vcpus", min=1, max=512, help="Virtual CPUs, measured where they are.")
    ] = 1,
    switches: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="SWITCH", help="A mitigation of the platform, repeatable."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", min=0, help="Make the emulated machine repeatable; fresh keys otherwise."
        ),
    ] = None,
    state_dir: StateDirOption = None,
) -> Reply:
    """Launch a confidential VM by its platform's own commands: load, measure, protect."""
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
        vcpus=vcpus,
        switches=tuple(switches or ()),
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


def _complete_attack(incomplete: str) -> list[str]:
    from ctestbed.tee.attacks.catalogue import ATTACKS

    return [attack.name for attack in ATTACKS if attack.name.startswith(incomplete)]


@command(app, "attack", example="ctestbed cvm attack run replay --platform sev")
def attack(
    action: Annotated[
        str,
        typer.Argument(
            help="list, run (one attack), or matrix (all, on all platforms).",
            autocompletion=lambda: ["list", "run", "matrix"],
        ),
    ] = "list",
    name: Annotated[
        str | None, typer.Argument(help="The attack to run.", autocompletion=_complete_attack)
    ] = None,
    platform: Annotated[
        str | None,
        typer.Option(
            "--platform",
            metavar="PLATFORM",
            help="On this platform alone; all if left out.",
            autocompletion=_complete_platform,
        ),
    ] = None,
    switches: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="SWITCH", help="To run: a mitigation, repeatable."),
    ] = None,
) -> Reply:
    """Run attacks on emulated machines, and set what came of them beside what papers report."""
    from ctestbed.tee.attacks.commands import AttackRequest, run_attack

    return Reply(run_attack(AttackRequest(action, name, platform, tuple(switches or ()))))
