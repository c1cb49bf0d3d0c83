"""`ctestbed sim transfer|headroom`."""

from typing import Annotated, Literal

import typer

from ctestbed.cli._command import Reply, command, noun_app
from ctestbed.cli._options import SeedOption, SpreadOption, TestbedArgument, complete_testbed

app = noun_app("sim", help="Move traffic over a fabric; size long-haul headroom.")

_PATTERNS = (
    "shift:1",
    "incast:8",
    "permutation",
    "all-to-all",
    "ring",
    "all-reduce:1",
    "poisson:websearch:50%:1000",
    "on-off:10:100us",
)


@command(app, "transfer", example="ctestbed sim transfer lab-128 --pattern shift:64 --size 2MB")
def transfer(
    testbed: TestbedArgument,
    pattern: Annotated[
        str,
        typer.Option(
            "--pattern",
            metavar="PATTERN|FILE",
            help="shift:K, incast:N, permutation, all-to-all, ring, all-reduce:G, "
            "poisson:SIZES:LOAD:FLOWS, on-off:BURSTS:PAUSE; or a file: htsim .cm, HPCC, CSV.",
            autocompletion=lambda: list(_PATTERNS),
        ),
    ],
    size: Annotated[
        str | None,
        typer.Option("--size", metavar="SIZE", help="Bytes of each flow of a pattern: 2MB."),
    ] = None,
    spread: SpreadOption = "balanced",
    engine: Annotated[
        Literal["auto", "flow", "reference"],
        typer.Option("--engine", help="auto chooses; flow is compiled; reference is plain."),
    ] = "auto",
    seed: SeedOption = None,
    flows: Annotated[
        Literal["auto", "all"],
        typer.Option("--flows", help="List every flow, or of many the slowest."),
    ] = "auto",
) -> Reply:
    """Drive a traffic pattern over a fabric, and tell when each flow completes."""
    from ctestbed.workload.transfer import TransferRequest, run_transfer

    request = TransferRequest(testbed, pattern, size, spread, engine, seed, flows)
    return Reply(run_transfer(request))


@command(app, "headroom", example="ctestbed sim headroom --rate 400Gbps --length 150km")
def headroom(
    testbed: Annotated[
        str | None,
        typer.Argument(
            metavar="[TESTBED]",
            help="Check every long-haul port of this testbed.",
            autocompletion=complete_testbed,
        ),
    ] = None,
    rate: Annotated[
        str | None, typer.Option("--rate", metavar="RATE", help="Of one link, such as 400Gbps.")
    ] = None,
    length: Annotated[
        str | None, typer.Option("--length", metavar="LENGTH", help="Of its fibre: 150km.")
    ] = None,
    delay: Annotated[
        str | None, typer.Option("--delay", metavar="TIME", help="One way, instead of a length.")
    ] = None,
    refractive_index: Annotated[
        float | None,
        typer.Option("--refractive-index", help="Of its fibre; 5 us per km if left out."),
    ] = None,
    mtu: Annotated[
        str | None, typer.Option("--mtu", metavar="SIZE", help="Largest frame; 9100B.")
    ] = None,
    classes: Annotated[
        int, typer.Option("--classes", min=1, max=8, help="Lossless classes on the port.")
    ] = 1,
    configured: Annotated[
        str | None,
        typer.Option("--configured", metavar="SIZE", help="Headroom to check, per class."),
    ] = None,
) -> Reply:
    """Tell how much headroom long-haul lossless ports need, and whether they have it."""
    from ctestbed.workload.headroom import HeadroomRequest, run_headroom

    request = HeadroomRequest(
        testbed, rate, length, delay, refractive_index, mtu, classes, configured
    )
    return Reply(run_headroom(request))
