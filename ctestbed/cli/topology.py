"""`ctestbed topology list|show|validate|build|export`."""

from typing import Annotated, Any, TypeAlias

import typer

from ctestbed.cli._command import Reply, command, noun_app
from ctestbed.cli._options import TestbedArgument

app = noun_app("topology", help="Build, show and validate fabrics.")

Count: TypeAlias = int | None


def _count(help: str) -> Any:  # noqa: A002 - Typer's own word
    return typer.Option(min=1, metavar="N", help=help, show_default=False)


def _complete_kind(incomplete: str) -> list[str]:
    return [kind for kind in ("fat-tree",) if kind.startswith(incomplete)]


def _complete_format(incomplete: str) -> list[str]:
    from ctestbed.topology.formats.registry import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]


@command(app, "list", example="ctestbed topology list")
def list_all() -> Reply:
    """List the built-in testbeds with their sizes."""
    from ctestbed.topology.commands import run_list

    return Reply(run_list())


@command(app, "show", example="ctestbed topology show two-campus-150km")
def show(testbed: TestbedArgument) -> Reply:
    """Draw a testbed's network, and say what each layer of it can carry."""
    from ctestbed.topology.commands import TestbedRequest, run_show

    return Reply(run_show(TestbedRequest(testbed)))


@command(app, "validate", example="ctestbed topology validate lab-128")
def validate(testbed: TestbedArgument) -> Reply:
    """Check that a testbed's network can be built and is sound; exit 10 if it is not."""
    from ctestbed.topology.commands import TestbedRequest, run_validate

    return Reply(run_validate(TestbedRequest(testbed)))


@command(
    app,
    "import",
    example="ctestbed topology build fat-tree --k 4 | ctestbed topology import -",
)
def import_(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="What was cabled, in any format, or - for stdin."),
    ],
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="Its format, where its content does not tell.",
            autocompletion=_complete_format,
            show_default=False,
        ),
    ] = None,
) -> Reply:
    """Read a file of what is cabled, and report what it holds; exit 10 if that is no fabric.

    To get it in another form, pass the same file to `topology export`.
    """
    from ctestbed.topology.importing import ImportRequest, run_import

    return Reply(run_import(ImportRequest(file, from_format)))


@command(
    app,
    "build",
    artefact=True,
    example="ctestbed topology build fat-tree --k 16 | ctestbed topology validate -",
)
def build(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="fat-tree.", autocompletion=_complete_kind)
    ],
    *,
    k: Annotated[Count, _count("Ports per switch of a regular fat-tree.")] = None,
    tiers: Annotated[
        Count, typer.Option(min=2, max=3, help="2 or 3; 3 unless two-tier counts are given.")
    ] = None,
    pods: Annotated[Count, _count("Pods (three tiers).")] = None,
    leaves: Annotated[Count, _count("Leaves; per pod with three tiers.")] = None,
    hosts_per_leaf: Annotated[Count, _count("Hosts below a leaf.")] = None,
    spines: Annotated[Count, _count("Spines; per pod with three tiers.")] = None,
    cores: Annotated[Count, _count("Cores (three tiers).")] = None,
    parallel: Annotated[Count, _count("Cables between a leaf and each of its spines.")] = None,
    radix: Annotated[Count, _count("Ports that a switch has.")] = None,
    rate: Annotated[str, typer.Option(help="Rate of a port, or unknown.")] = "100Gbps",
    delay: Annotated[str, typer.Option(help="One-way delay of a cable, or unknown.")] = "1us",
    planes: Annotated[int, typer.Option(min=1, help="Independent copies of the fabric.")] = 1,
    plane_form: Annotated[
        str, typer.Option(help="nic-per-plane, or nic-split (each NIC has a port in every plane).")
    ] = "nic-per-plane",
    accelerators: Annotated[int, typer.Option(min=1, help="Accelerators per host.")] = 1,
    nics: Annotated[int, typer.Option(min=1, help="NICs per host.")] = 1,
    name: Annotated[
        str | None, typer.Option(help="Name of the testbed.", show_default=False)
    ] = None,
    file_format: Annotated[
        str, typer.Option("--format", metavar="FMT", help="Form of the file: yaml or json.")
    ] = "yaml",
) -> Reply:
    """Write a testbed file for a fabric given by its counts."""
    from ctestbed.topology.generate import BuildRequest, run_build

    if file_format not in {"yaml", "json"}:
        raise typer.BadParameter(f"{file_format!r} is not yaml or json", param_hint="--format")
    result, content = run_build(
        BuildRequest(
            kind=kind,
            name=name,
            tiers=tiers,
            k=k,
            pods=pods,
            leaves=leaves,
            hosts_per_leaf=hosts_per_leaf,
            spines=spines,
            cores=cores,
            parallel=parallel,
            radix=radix,
            rate=rate,
            delay=delay,
            planes=planes,
            plane_form=plane_form,
            accelerators=accelerators,
            nics=nics,
            form="json" if file_format == "json" else "yaml",
        )
    )
    return Reply(result, artefact=content)


def _complete_export_format(incomplete: str) -> list[str]:
    from ctestbed.topology.exporting import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]


@command(
    app,
    "export",
    artefact=True,
    example="ctestbed topology export lab-128 --to ns3-hpcc -o lab-128.txt",
)
def export(
    testbed: TestbedArgument,
    *,
    to: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help="astra-sim, batfish, containerlab, csv, dot, graphml, htsim, ibsim, netlab, netq, "
            "node-link, ns3-hpcc, simai, simgrid or yaml.",
            autocompletion=_complete_export_format,
        ),
    ],
) -> Reply:
    """Write a testbed's network as another tool's file, and say what that cannot hold."""
    from ctestbed.topology.exporting import ExportRequest, run_export

    result, content = run_export(ExportRequest(testbed, to))
    return Reply(result, artefact=content)
