"""`ctestbed topology list|show|validate|import|diff|bom|build|export`."""

from typing import Annotated, Any, TypeAlias

import typer

from ctestbed.cli._command import Reply, command, noun_app
from ctestbed.cli._options import TestbedArgument, complete_testbed

app = noun_app("topology", help="Build, show and validate fabrics.")

Count: TypeAlias = int | None

Line: TypeAlias = str | None
Flag: TypeAlias = bool | None


def _count(help: str) -> Any:  # noqa: A002 - Typer's own word
    return typer.Option(min=1, metavar="N", help=help, show_default=False)


def _text(help: str, metavar: str = "TEXT") -> Any:  # noqa: A002 - Typer's own word
    return typer.Option(metavar=metavar, help=help, show_default=False)


def _complete_kind(incomplete: str) -> list[str]:
    from ctestbed.topology.tiers import KINDS

    return [kind for kind in KINDS if kind.startswith(incomplete)]


def _complete_format(incomplete: str) -> list[str]:
    from ctestbed.topology.formats.registry import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]


_READ = (
    "astra-sim, batfish, containerlab, csv, graphml, htsim, ibnetdiscover, ibsim, lldp, netlab, "
    "netq, node-link, ns3-hpcc, simai, simgrid or testbed"
)

FromOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FORMAT",
        help="Format of the record of cables, as in `topology import -h`; told by its content "
        "otherwise.",
        autocompletion=_complete_format,
        show_default=False,
    ),
]


@command(app, "list", example="ctestbed topology list")
def list_all() -> Reply:
    """List the built-in testbeds with their sizes."""
    from ctestbed.topology.commands import run_list

    return Reply(run_list())


def _position(help: str) -> Any:  # noqa: A002 - Typer's own word
    return typer.Option(min=0, metavar="N", help=help, show_default=False)


@command(app, "show", example="ctestbed topology show kunlun-32k --format svg -o kunlun.svg")
def show(
    testbed: TestbedArgument,
    *,
    site: Annotated[Line, _text("Draw this site alone.", "NAME")] = None,
    plane: Annotated[Count, _position("Draw this plane alone.")] = None,
    pod: Annotated[Count, _position("Draw this pod (or group) by its switches.")] = None,
    leaf: Annotated[
        Count,
        _position("Draw this leaf (or router) with its neighbours; with --pod, it counts there."),
    ] = None,
) -> Reply:
    """Draw a network, and say what each layer can carry.

    The whole is drawn from far to near, in the formats html and svg; the options look closer.
    """
    from ctestbed.topology.commands import ShowRequest, run_show
    from ctestbed.topology.picture.scenes import Focus

    return Reply(run_show(ShowRequest(testbed, Focus(site, plane, pod, leaf))))


@command(app, "validate", example="ctestbed topology validate lab-128")
def validate(
    testbed: Annotated[
        str,
        typer.Argument(
            metavar="TESTBED|FILE",
            help="A testbed file, the name of a built-in one, a record of cables, or - for stdin.",
            autocompletion=complete_testbed,
        ),
    ],
    *,
    as_built: Annotated[
        str | None,
        typer.Option(
            "--as-built",
            metavar="CABLES",
            help="What was cabled, in any format that can be imported: compare it with the design.",
            show_default=False,
        ),
    ] = None,
    from_format: FromOption = None,
) -> Reply:
    """Find what is unsound in a design, or cabled wrongly. Exit 10 if anything is."""
    from ctestbed.topology.comparing import ValidateRequest, run_validate_any

    return Reply(run_validate_any(ValidateRequest(testbed, as_built, from_format)))


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
            help=f"Its format, where its content does not tell: {_READ}.",
            autocompletion=_complete_format,
            show_default=False,
        ),
    ] = None,
) -> Reply:
    """Report what a record of cables holds. Exit 10 if that is no fabric.

    To get it in another form, pass the same file to `topology export`.
    """
    from ctestbed.topology.importing import ImportRequest, run_import

    return Reply(run_import(ImportRequest(file, from_format)))


@command(app, "diff", example="ctestbed topology diff lab-128 lab-128")
def diff(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A testbed or a record of cables.",
            autocompletion=complete_testbed,
        ),
    ],
    b: Annotated[
        str,
        typer.Argument(
            metavar="B",
            help="The one to compare with it.",
            autocompletion=complete_testbed,
        ),
    ],
    *,
    from_format: FromOption = None,
) -> Reply:
    """Compare two networks, cable by cable. Exit 10 if they differ."""
    from ctestbed.topology.comparing import DiffRequest, run_diff

    return Reply(run_diff(DiffRequest(a, b, from_format)))


def _complete_prices(incomplete: str) -> list[str]:
    from ctestbed.topology.bom.prices import builtin_prices

    return [name for name in builtin_prices() if name.startswith(incomplete)]


@command(
    app,
    "bom",
    example="ctestbed topology bom deepseek-ft2-2048 deepseek-ft3-65536 --prices deepseek-table-3",
)
def bom(
    testbeds: Annotated[
        list[str],
        typer.Argument(
            metavar="TESTBED...",
            help="Testbed files, names of built-in ones, or - for stdin: several stand side by "
            "side.",
            autocompletion=complete_testbed,
            show_default=False,
        ),
    ],
    *,
    prices: Annotated[
        str | None,
        typer.Option(
            "--prices",
            metavar="FILE",
            help="What the parts cost: a price list, the name of a built-in one, or - for stdin.",
            autocompletion=_complete_prices,
            show_default=False,
        ),
    ] = None,
) -> Reply:
    """Count the parts of networks, with power and cost. Several stand side by side."""
    from ctestbed.topology.bom.commands import BomRequest, run_bom

    return Reply(run_bom(BomRequest(tuple(testbeds), prices)))


@command(
    app,
    "build",
    artefact=True,
    example="ctestbed topology build fat-tree --k 16 | ctestbed topology validate -",
)
def build(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="fat-tree, rail-optimised, rail-only, slim-fly, dragonfly, torus, full-mesh or "
            "scale-up.",
            autocompletion=_complete_kind,
        ),
    ],
    *,
    k: Annotated[Count, _count("Ports per switch of a regular fat-tree.")] = None,
    tiers: Annotated[
        Count,
        typer.Option(
            min=2, max=3, help="2 or 3; 3 unless two-tier counts are given.", show_default=False
        ),
    ] = None,
    pods: Annotated[Count, _count("Pods (three tiers).")] = None,
    leaves: Annotated[
        Count, _count("Leaves; per pod with three tiers, per rail of rail-only.")
    ] = None,
    hosts_per_leaf: Annotated[Count, _count("Hosts below a leaf.")] = None,
    spines: Annotated[
        Count, _count("Spines; per pod with three tiers, per plane or rail of rail fabrics.")
    ] = None,
    cores: Annotated[Count, _count("Cores (three tiers).")] = None,
    parallel: Annotated[Count, _count("Cables between a leaf and each of its spines.")] = None,
    radix: Annotated[Count, _count("Ports that a switch has.")] = None,
    rails: Annotated[Count, _count("Rails, each of one NIC of every host or domain.")] = None,
    tors_per_rail: Annotated[
        Count, _count("ToRs of a rail, each a plane: 2 is dual-ToR (rail-optimised).")
    ] = None,
    segments: Annotated[
        Count, _count("Segments; per pod with three tiers (rail-optimised).")
    ] = None,
    hosts_per_segment: Annotated[Count, _count("Hosts of a segment (rail-optimised).")] = None,
    domains: Annotated[Count, _count("Scale-up domains (rail-only).")] = None,
    q: Annotated[Count, _count("Order of the field, a prime power (slim-fly).")] = None,
    counts_only: Annotated[
        Flag,
        typer.Option(
            "--counts-only",
            help="Count by the closed form, where no graph exists (slim-fly).",
            show_default=False,
        ),
    ] = None,
    p: Annotated[Count, _count("NICs at each router (slim-fly, dragonfly).")] = None,
    a: Annotated[Count, _count("Routers of a group (dragonfly).")] = None,
    h: Annotated[Count, _count("Global cables of each router (dragonfly).")] = None,
    g: Annotated[Count, _count("Groups (dragonfly); a*h + 1 if left out.")] = None,
    dims: Annotated[
        Line, _text("Sides of the grid, such as 16x16x16 (torus, full-mesh).", "SIDES")
    ] = None,
    wrap: Annotated[
        Flag, typer.Option(help="Close the lines to rings, or not (torus).", show_default=False)
    ] = None,
    cube: Annotated[Count, _count("Side of the blocks that slices are made of (torus).")] = None,
    supernodes: Annotated[Count, _count("Supernodes (scale-up).")] = None,
    rate: Annotated[str, typer.Option(help="Rate of a port, or unknown.")] = "100Gbps",
    host_rate: Annotated[Line, _text("Rate of a NIC's cable, where it differs.", "RATE")] = None,
    spine_rate: Annotated[
        Line, _text("Rate of a leaf-spine cable, where it differs.", "RATE")
    ] = None,
    core_rate: Annotated[
        Line, _text("Rate of a spine-core cable, where it differs.", "RATE")
    ] = None,
    delay: Annotated[str, typer.Option(help="One-way delay of a cable, or unknown.")] = "1us",
    planes: Annotated[Count, _count("Independent copies of the fabric; 1 if left out.")] = None,
    plane_form: Annotated[
        Line,
        _text(
            "nic-per-plane (the usual), or nic-split: each NIC has a port in every plane.", "FORM"
        ),
    ] = None,
    override: Annotated[
        list[str] | None,
        _text("What one plane of a fat-tree has otherwise, such as 7:spines=4.", "PLANE:KEY=N"),
    ] = None,
    accelerators: Annotated[
        Count, _count("Accelerators per host; 1 if left out, in rail fabrics one for each NIC.")
    ] = None,
    nics: Annotated[
        Count, _count("NICs per host; 1 if left out, in rail fabrics one for each rail.")
    ] = None,
    supernode: Annotated[Count, _count("Accelerators of a supernode.")] = None,
    scale_up_rate: Annotated[
        Line, _text("Rate of an accelerator inside its supernode; unknown if left out.", "RATE")
    ] = None,
    scale_up_delay: Annotated[
        Line, _text("Delay of a hop inside a supernode; unknown if left out.", "TIME")
    ] = None,
    scale_up_switches: Annotated[
        Count, _count("Switches of a supernode, or of each host below upper ones.")
    ] = None,
    upper_switches: Annotated[Count, _count("Upper scale-up switches of each sub-plane.")] = None,
    upper_rate: Annotated[
        Line, _text("What a switch below sends up in all; unknown if left out.", "RATE")
    ] = None,
    memory: Annotated[
        Line, _text("Memory of an accelerator, for the pool of its supernode.", "SIZE")
    ] = None,
    cpus: Annotated[
        Count, _count("Host processors of each host that are members of its supernode.")
    ] = None,
    cpu_rate: Annotated[
        Line,
        _text("Rate of a processor on the scale-up switches, if it is cabled to them.", "RATE"),
    ] = None,
    cpu_memory: Annotated[Line, _text("Memory behind a host processor.", "SIZE")] = None,
    sites: Annotated[Count, _count("Sites of this fabric, all joined by trunks.")] = None,
    trunk_length: Annotated[
        Line, _text("Length of a trunk; unknown if left out.", "LENGTH")
    ] = None,
    trunk_rate: Annotated[
        Line, _text("Rate of a trunk cable; the port's if left out.", "RATE")
    ] = None,
    trunk_links: Annotated[
        Count, _count("Trunk cables of each top switch to each other site.")
    ] = None,
    trunk_switches: Annotated[
        Count, _count("Top switches that trunks start from; all if left out.")
    ] = None,
    trunk_protection: Annotated[
        Line, _text("Length of the standby route of a trunk.", "LENGTH")
    ] = None,
    refractive_index: Annotated[
        float | None,
        typer.Option(
            min=1, max=4, help="Of the trunks' fibre; 5 us per km if left out.", show_default=False
        ),
    ] = None,
    amplifier_spacing: Annotated[
        Line, _text("Fibre between two in-line amplifiers.", "LENGTH")
    ] = None,
    amplifier_delay: Annotated[Line, _text("Delay that each amplifier adds.", "TIME")] = None,
    name: Annotated[Line, _text("Name of the testbed.")] = None,
    file_format: Annotated[
        str, typer.Option("--format", metavar="FMT", help="Form of the file: yaml or json.")
    ] = "yaml",
) -> Reply:
    """Write a testbed file from counts. Each kind takes its own options only."""
    options = dict(locals())
    from ctestbed.topology.generate import BuildRequest, run_build

    if file_format not in {"yaml", "json"}:
        raise typer.BadParameter(f"{file_format!r} is not yaml or json", param_hint="--format")
    form, overrides = options.pop("file_format"), options.pop("override")
    options["overrides"] = tuple(overrides) if overrides else None
    result, content = run_build(BuildRequest(**options, form=form))
    return Reply(result, artefact=content)


def _complete_export_format(incomplete: str) -> list[str]:
    from ctestbed.topology.exporting import FORMATS

    return [name for name in sorted([*FORMATS, "svg"]) if name.startswith(incomplete)]


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
            "node-link, ns3-hpcc, simai, simgrid, svg or yaml.",
            autocompletion=_complete_export_format,
        ),
    ],
) -> Reply:
    """Write a network as another tool's file. Notes say what that cannot hold."""
    if to == "svg":
        from ctestbed.bench.report.svgexport import run_export_svg

        return Reply(*run_export_svg(testbed))
    from ctestbed.topology.exporting import ExportRequest, run_export

    result, content = run_export(ExportRequest(testbed, to))
    return Reply(result, artefact=content)
