"""`ctestbed sim transfer|headroom|longhaul`."""

from typing import Annotated, Any, Literal

import typer

from ctestbed.cli._command import Reply, command, noun_app
from ctestbed.cli._options import SeedOption, TestbedArgument, complete_testbed

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
    *,
    size: Annotated[
        str | None,
        typer.Option("--size", metavar="SIZE", help="Bytes of each flow of a pattern: 2MB."),
    ] = None,
    spread: Annotated[
        str | None,
        typer.Option(
            "--spread",
            metavar="SPREAD",
            help="How flows choose among equal paths: balanced or ecmp; packets also spray (by "
            "every path in turn), random (each packet draws one), adaptive (each switch takes its "
            "shortest queue), flowlet (another path after 50 us without a packet), or qp:N, over N "
            "queue pairs hashed apart. balanced if left out, ecmp for packets.",
            autocompletion=lambda: [
                "balanced",
                "ecmp",
                "spray",
                "random",
                "adaptive",
                "flowlet",
                "qp:4",
            ],
            show_default=False,
        ),
    ] = None,
    engine: Annotated[
        Literal["auto", "flow", "packet", "reference"],
        typer.Option(
            "--engine",
            help="flow is fluid, packet has frames and queues; auto is flow, or packet where an "
            "option needs packets; reference is the plain form of either.",
        ),
    ] = "auto",
    seed: SeedOption = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds",
            metavar="SEEDS",
            help="Packets: a run for each of 1..8 or 1,5,9..12, on all processors, and how they "
            "spread.",
        ),
    ] = None,
    flows: Annotated[
        Literal["auto", "all"],
        typer.Option("--flows", help="List every flow, or of many the slowest."),
    ] = "auto",
    flow_control: Annotated[
        Literal["pfc", "cbfc", "bifrost", "none"] | None,
        typer.Option(
            "--flow-control",
            help="Packets: pfc pauses, cbfc gives credit for what --xoff and --headroom hold, "
            "bifrost pauses long links by computing ahead; none drops. pfc if left out.",
            show_default=False,
        ),
    ] = None,
    cc: Annotated[
        Literal["none", "dcqcn", "hpcc", "swift", "nscc", "rcc"] | None,
        typer.Option(
            "--cc",
            help="Packets: congestion control; none if left out. nscc is like UEC's; with rcc "
            "receivers give credit, as in EQDS and RCCC.",
            show_default=False,
        ),
    ] = None,
    reliability: Annotated[
        str | None,
        typer.Option(
            "--reliability",
            metavar="gbn|sr|ec:K,M",
            help="Packets: go-back-N, selective repeat, or an erasure code with M packets of "
            "parity after K of data; gbn if left out, sr with spray or rcc.",
            autocompletion=lambda: ["gbn", "sr", "ec:32,8"],
            show_default=False,
        ),
    ] = None,
    trim: Annotated[
        bool | None,
        typer.Option(
            "--trim",
            help="Packets: cut what finds no room down to its header, and send that on.",
            show_default=False,
        ),
    ] = None,
    ack_every: Annotated[
        int | None,
        typer.Option(
            "--ack-every",
            min=1,
            max=2**20,
            metavar="N",
            help="Packets: acknowledge N together; at once a flow's last, the last that its "
            "window lets go, and those by which one is seen to be missing. 1 if left out.",
            show_default=False,
        ),
    ] = None,
    payload: Annotated[
        str | None, typer.Option("--payload", metavar="SIZE", help="Packets: bytes of one; 4000B.")
    ] = None,
    xoff: Annotated[
        str | None,
        typer.Option(
            "--xoff", metavar="SIZE", help="Packets: ingress bytes above which a peer must pause."
        ),
    ] = None,
    xon: Annotated[
        str | None,
        typer.Option(
            "--xon", metavar="SIZE", help="Packets: ingress bytes at which it may send again."
        ),
    ] = None,
    headroom: Annotated[
        str | None,
        typer.Option(
            "--headroom",
            metavar="SIZE",
            help="Packets: room beyond that; if left out, what each cable needs.",
        ),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option("--queue", metavar="SIZE", help="Packets: what may wait for a lossy port."),
    ] = None,
    retry: Annotated[
        str | None,
        typer.Option(
            "--retry", metavar="TIME", help="Packets: send again what is not acknowledged by then."
        ),
    ] = None,
    horizon: Annotated[
        str | None, typer.Option("--horizon", metavar="TIME", help="Packets: end here; 1h.")
    ] = None,
    watchdog: Annotated[
        str | None,
        typer.Option(
            "--watchdog",
            metavar="TIME[,ACTION]",
            help="Packets: a port paused for so long without a break drops the class's frames "
            "(or `,forward`: sends on) until no pause has held for as long (`,restore=TIME`).",
        ),
    ] = None,
    fail: Annotated[
        list[str] | None,
        typer.Option(
            "--fail",
            metavar="SPEC",
            help="Packets, again for more: down:LINK@FROM..UNTIL, flap, storm, slow or loss; "
            "such as down:pod-0/leaf-0~pod-0/spine-1@1ms..2ms.",
        ),
    ] = None,
) -> Reply:
    """Drive traffic over a fabric, as fluid or as packets, and tell when each flow completes."""
    options: dict[str, Any] = {
        "flow_control": flow_control,
        "cc": cc,
        "reliability": reliability,
        "trim": trim,
        "ack_every": ack_every,
        "mtu": payload,
        "xoff": xoff,
        "xon": xon,
        "headroom": headroom,
        "queue": queue,
        "retry": retry,
        "horizon": horizon,
        "watchdog": watchdog,
        "fail": tuple(fail) if fail else None,
    }
    given = {name: value for name, value in options.items() if value is not None}
    if seeds is not None and seed is not None:
        raise typer.BadParameter("--seed is one of several, or alone", param_hint="--seeds")
    several = seeds is not None
    if engine == "packet" or spread not in {None, "balanced", "ecmp"} or given or several:
        if engine == "flow":
            raise typer.BadParameter("the flow engine has no packets", param_hint="--engine")
        from ctestbed.workload.packet_transfer import PacketTransferRequest, run_packet_transfer

        if spread in {"spray", "random", "adaptive"} or cc == "rcc":
            given.setdefault("reliability", "sr")
        packets = PacketTransferRequest(
            testbed, pattern, size, spread or "ecmp", engine, seed, flows, **given
        )
        from ctestbed.cli._progress import progress_line

        with progress_line() as progress:
            if seeds is not None:
                from ctestbed.workload.packet_runs import parse_seeds, run_seeds

                return Reply(run_seeds(packets, parse_seeds(seeds), progress))
            return Reply(run_packet_transfer(packets, progress))
    from ctestbed.workload.transfer import TransferRequest, run_transfer

    fluid: Literal["balanced", "ecmp"] = "ecmp" if spread == "ecmp" else "balanced"
    request = TransferRequest(testbed, pattern, size, fluid, engine, seed, flows)
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
    *,
    rate: Annotated[
        str | None, typer.Option("--rate", metavar="RATE", help="Of one link, such as 400Gbps.")
    ] = None,
    length: Annotated[
        str | None,
        typer.Option("--length", "--distance", metavar="LENGTH", help="Of its fibre: 150km."),
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
    solve: Annotated[
        bool,
        typer.Option(
            "--solve",
            help="Find by simulation what one link needs to lose nothing, and never to fall idle.",
        ),
    ] = False,
) -> Reply:
    """Tell how much headroom long-haul lossless ports need, and whether they have it."""
    from ctestbed.workload.headroom import HeadroomRequest, run_headroom

    request = HeadroomRequest(
        testbed, rate, length, delay, refractive_index, mtu, classes, configured, solve
    )
    return Reply(run_headroom(request))


@command(
    app,
    "longhaul",
    example="ctestbed sim longhaul --distance 10km,150km --rate 400Gbps --scheme pfc",
)
def longhaul(
    *,
    distance: Annotated[
        str, typer.Option("--distance", metavar="LENGTHS", help="Of fibre: 1km,80km,150km.")
    ],
    rate: Annotated[
        str, typer.Option("--rate", metavar="RATES", help="Of the link: 100Gbps,400Gbps.")
    ],
    scheme: Annotated[
        str,
        typer.Option(
            "--scheme",
            metavar="SCHEMES",
            help="pfc, cbfc (credits), bifrost (computed pauses); gbn and sr (lossy, with "
            "go-back-N or selective repeat), none for both.",
        ),
    ] = "pfc,cbfc,bifrost,none",
    buffer: Annotated[
        str | None,
        typer.Option(
            "--buffer",
            metavar="SIZE",
            help="Per port and class; if left out, all of the largest on-chip one known.",
            show_default=False,
        ),
    ] = None,
    mtu: Annotated[
        str | None, typer.Option("--mtu", metavar="SIZE", help="Largest frame; 9100B.")
    ] = None,
    loss: Annotated[
        str, typer.Option("--loss", metavar="SHARE", help="Of frames, for the lossy closed forms.")
    ] = "0.00000001",
    search: Annotated[
        bool, typer.Option("--search/--no-search", help="Find by simulation where they break.")
    ] = True,
) -> Reply:
    """Sweep a long link's distance, rate and flow control, and show where each scheme breaks."""
    from ctestbed.workload.longhaul import LongHaulRequest, run_longhaul

    return Reply(run_longhaul(LongHaulRequest(distance, rate, scheme, buffer, mtu, loss, search)))
