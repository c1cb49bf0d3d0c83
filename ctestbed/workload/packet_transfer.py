"""`sim transfer --engine packet`: what packets, queues and pauses made of the traffic."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

import numpy as np

from ctestbed.core.errors import ExitCode, Where
from ctestbed.core.result import UNKNOWN, Finding, Metric, Result
from ctestbed.core.units import (
    PS_PER_SECOND,
    format_time,
    parse_size,
    parse_time,
)
from ctestbed.routing.clos import Paths
from ctestbed.topology.build import load_topology
from ctestbed.topology.graph import Topology
from ctestbed.transport.packet.laws import CongestionControl
from ctestbed.transport.problem import FlowOutcome
from ctestbed.workload import packet_measures as measures
from ctestbed.workload.drive import Transfer
from ctestbed.workload.failures import Failure, failures_of, parse_failures
from ctestbed.workload.packet_findings import ends_of, packet_findings
from ctestbed.workload.packet_limits import configured_headroom
from ctestbed.workload.packet_options import (
    FlowControl,
    PacketOptions,
    parse_watchdog,
)
from ctestbed.workload.packet_sights import pauses_of, series_of, storm_findings, trees_of
from ctestbed.workload.packets import PacketTransfer, drive_packets
from ctestbed.workload.traffic import read_traffic
from ctestbed.workload.transfer import (
    LinkData,
    PacketData,
    PortData,
    TransferRequest,
    transfer_data,
)

SHOWN_PORTS: Final = 2_000
"""Ports listed: those with the longest queues of all that carried frames."""

_ENGINES: Final = {
    "packet": "packet engine: store-and-forward, exact to the picosecond",
    "reference": "packet engine, plain: store-and-forward, exact to the picosecond",
}


@dataclass(frozen=True, slots=True)
class PacketTransferRequest:
    """What to drive, and with which protocols; sizes and times as people write them."""

    testbed: str
    pattern: str
    size: str | None = None
    spread: str = "ecmp"
    engine: str = "packet"
    seed: int | None = None
    flows: str = "auto"
    flow_control: FlowControl = "pfc"
    cc: CongestionControl = "none"
    reliability: str = "gbn"
    trim: bool = False
    ack_every: int = 1
    mtu: str | None = None
    xoff: str | None = None
    headroom: str | None = None
    queue: str | None = None
    retry: str | None = None
    horizon: str | None = None
    fail: tuple[str, ...] = ()
    watchdog: str | None = None
    xon: str | None = None

    def options(self, seed: int, failures: tuple[Failure, ...] = ()) -> PacketOptions:
        """Read the quantities.

        Raises:
            InputError: one of them is no size or no time.
        """

        def size(text: str | None, option: str) -> int | None:
            return None if text is None else parse_size(text, Where(pointer=option))

        def time(text: str | None, option: str) -> int | None:
            return None if text is None else parse_time(text, Where(pointer=option))

        return PacketOptions(
            flow_control=self.flow_control,
            congestion=self.cc,
            reliability=self.reliability,
            spread=self.spread,
            trim=self.trim,
            ack_every=self.ack_every,
            payload=4000 if self.mtu is None else parse_size(self.mtu, Where(pointer="--payload")),
            xoff=size(self.xoff, "--xoff"),
            headroom=size(self.headroom, "--headroom"),
            queue=size(self.queue, "--queue"),
            retry=time(self.retry, "--retry"),
            horizon=time(self.horizon, "--horizon"),
            seed=seed,
            failures=failures,
            watchdog=None if self.watchdog is None else parse_watchdog(self.watchdog),
            xon=size(self.xon, "--xon"),
        )


def run_packet_transfer(
    request: PacketTransferRequest, progress: Callable[[str], None] | None = None
) -> Result:
    """Drive traffic as packets; `progress` hears now and then how far that is.

    Raises:
        InputError: the testbed, the traffic or a setting cannot be had, or no path exists.
    """
    loaded, topology = load_topology(request.testbed)
    seed = loaded.testbed.seed if request.seed is None else request.seed
    traffic = read_traffic(request.pattern, request.size, topology, seed)
    failures = parse_failures(request.fail, topology)
    if traffic.file is not None:
        failures += failures_of(traffic.file, topology)
    configured, unknown = configured_headroom(loaded, topology)
    options = request.options(seed, failures)
    notify = None if progress is None else _tell(progress, len(traffic.flows))
    run = drive_packets(topology, traffic.flows, options, request.engine, configured, notify)
    notes = [_unknown_headroom(name) for name in unknown] if _rests_on_testbed(request) else []
    found = [*packet_findings(topology, run), *storm_findings(topology, trees_of(run))]
    findings = (*found, *traffic.notes, *notes)
    broken = any(finding.severity == "error" for finding in findings)
    return Result(
        "ctestbed.sim.transfer/1",
        _data(topology, run, request),
        findings=findings,
        metrics=tuple(packet_metrics(topology, run)),
        inputs=(loaded.source, *(() if traffic.file is None else (traffic.file.source.digest,))),
        exit_code=_exit_code(run, broken=broken),
        complete=not run.outcome.interrupted,
    )


def _exit_code(run: PacketTransfer, *, broken: bool) -> ExitCode:
    if run.outcome.interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.INVARIANT_BROKEN if broken else ExitCode.OK


def _tell(progress: Callable[[str], None], flows: int) -> Callable[[int, int, int], None]:
    """Return what the engine calls to say how far it is: time, rate, and an estimate."""
    began = monotonic()

    def notify(now: int, events: int, still_open: int) -> None:
        spent = max(monotonic() - began, 1e-6)
        done = flows - still_open
        left = f", about {spent / done * still_open:.0f} s left" if 0 < done < flows else ""
        progress(
            f"{format_time(now)} simulated, {done:,} of {flows:,} flows done, "
            f"{events / spent / 1e6:.1f} M events/s{left}"
        )

    return notify


def _rests_on_testbed(request: PacketTransferRequest) -> bool:
    return request.flow_control != "none" and request.headroom is None


def _unknown_headroom(name: str) -> Finding:
    return Finding(
        "CTB-S088",
        "note",
        f"the headroom of {name} is unknown, so this run gives it what its length needs",
        None,
        "give the figure, in the testbed or by --headroom, to have it put to the test",
    )


def packet_metrics(topology: Topology, run: PacketTransfer, prefix: str = "") -> list[Metric]:
    """Return completion times, goodput, losses, pauses, queues and what the engine did."""
    source = _ENGINES[run.engine]
    outcome, ports = run.outcome, run.outcome.ports

    def metric(name: str, value: float | str, unit: str, better: Any = "lower") -> Metric:
        return Metric(prefix + name, value, unit, "simulated", better, source=source)

    fct = np.sort(run.fct[run.fct >= 0])
    metrics = [
        metric(f"fct.{name}", int(fct[_rank(len(fct), share)]) if len(fct) else UNKNOWN, "ps")
        for name, share in {"min": 0, "p50": 500, "p99": 990, "max": 1000}.items()
    ]
    mean = sum(fct.tolist()) // len(fct) if len(fct) else UNKNOWN
    metrics.append(metric("fct.mean", mean, "ps"))
    total = int(run.flows.sizes[outcome.finish >= 0].sum())
    end = int(outcome.finish.max(initial=0))
    goodput = total * 8 * PS_PER_SECOND // end if end else UNKNOWN
    lossless = outcome.lost if run.settings.lossless else 0
    rate = topology.links.rate[ports.links // 2].astype(np.float64)
    used = ports.sent_bytes.sum(axis=1) * 8.0 * PS_PER_SECOND / (rate * max(1, outcome.now))
    metrics += [
        metric("goodput.total", goodput, "bit/s", "higher"),
        metric("link.utilisation.max", round(float(used.max(initial=0)), 6), "ratio", "none"),
        metric("flows.unfinished", int((outcome.finish < 0).sum()), "flows"),
        metric("drops.lossless", lossless, "packets"),
        metric("drops.lossy", outcome.lost - lossless, "packets"),
        metric("drops.down", outcome.perished, "frames"),
        metric("drops.errors", outcome.erred, "frames"),
        metric("drops.watchdog", outcome.watched, "frames"),
        metric("drops.ttl", outcome.expired, "packets"),
        metric("packets.trimmed", outcome.trimmed, "packets"),
        *_parity(run, metric),
        metric("packets.resent", int(outcome.resent.sum()), "packets"),
        metric("pauses.count", int(ports.pauses.sum()), "pauses"),
        metric("pauses.longest", int(ports.paused.max(initial=0)), "ps"),
        *_stalls(run, metric),
        metric("queue.peak", int(ports.waiting_max.max(initial=0)), "bytes"),
        metric("headroom.peak", int(ports.headroom_max.max(initial=0)), "bytes"),
        *_shares(topology, run, metric),
        metric("ecn.marks", int(ports.marks.sum()), "packets", "none"),
        metric("packet_hops.data", outcome.data_hops, "packet-hops", "none"),
        metric("packet_hops.control", outcome.control_hops, "packet-hops", "none"),
        Metric(
            prefix + "engine.cpu_time", round(outcome.cpu, 6), "s", "measured", "lower", "timed",
            source="CPU time of this process, flows to results: paths included, compilation not",
        ),
    ]  # fmt: skip
    return metrics


def _stalls(run: PacketTransfer, metric: Callable[..., Metric]) -> list[Metric]:
    """Return for how long links stood still for want of credit, where credit is given."""
    if run.settings.flow_control != "cbfc" or not run.settings.lossless:
        return []
    stalled = run.outcome.ports.stalled
    share = float(stalled.max(initial=0)) / max(1, run.outcome.now)
    return [
        metric("credit.stall.links", int((stalled.max(axis=1) > 0).sum()), "links"),
        metric("credit.stall.longest", int(stalled.max(initial=0)), "ps"),
        metric("credit.stall.total", int(stalled.sum()), "ps"),
        metric("credit.stall.share.max", round(share, 6), "ratio"),
    ]


def _parity(run: PacketTransfer, metric: Callable[..., Metric]) -> list[Metric]:
    """Return the share of the packets that is parity, before any is repeated."""
    data, parity = run.settings.code
    if not data:
        return []
    packets = -(-run.flows.sizes // run.settings.payload)
    added = int((-(-packets // data) * parity).sum())
    return [metric("packets.parity.share", round(added / (added + int(packets.sum())), 6), "ratio")]


def _shares(topology: Topology, run: PacketTransfer, metric: Callable[..., Metric]) -> list[Metric]:
    """Return slowdowns, fairness, and shares of planes, headroom and pauses."""
    slower = measures.slowdowns(topology, run)

    def rounded(value: float | None) -> float | str:
        return UNKNOWN if value is None else round(value, 6)

    found = [
        metric(
            f"fct.slowdown.{name}",
            rounded(float(slower[_rank(len(slower), share)]) if len(slower) else None),
            "ratio",
        )
        for name, share in {"p50": 500, "p99": 990, "max": 1000}.items()
    ]
    found += [
        metric("fairness.jain", rounded(measures.fairness(run)), "ratio", "higher"),
        metric("pauses.share.max", rounded(measures.pause_share(run)), "ratio"),
        metric("headroom.share.max", rounded(measures.headroom_share(run)), "ratio", "none"),
    ]
    planes = measures.plane_shares(topology, run)
    if planes is not None:
        found += [
            metric("plane.share.min", rounded(float(planes.min())), "ratio", "none"),
            metric("plane.share.max", rounded(float(planes.max())), "ratio", "none"),
        ]
    return found


def _rank(count: int, thousandths: int) -> int:
    return max(0, -(-thousandths * count // 1000) - 1)


def _data(topology: Topology, run: PacketTransfer, request: PacketTransferRequest) -> Any:
    """Describe flows and links as the flow engine's data does, and the ports besides."""
    paths = run.paths
    if len(paths.offsets) - 1 > len(run.flows):
        starts, counts = paths.offsets[run.first], np.diff(paths.offsets)[run.first]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        rows = np.repeat(starts - offsets[:-1], counts) + np.arange(offsets[-1])
        paths = Paths(
            offsets, paths.links[rows], paths.candidates[run.first], paths.plane[run.first]
        )
    outcome = FlowOutcome(run.outcome.finish)
    whole = Transfer(run.flows, paths, outcome, run.outcome.starts, run.fct)
    flow_request = TransferRequest(
        request.testbed, request.pattern, request.size, "ecmp", "auto", request.seed,
        "all" if request.flows == "all" else "auto",
    )  # fmt: skip
    data = transfer_data(topology, whole, flow_request)
    data["engine"] = "packet"
    data["spread"] = request.spread
    data["links"] = _links(topology, run, data["links"])
    data["packet"] = _packet_data(topology, run, request)
    return data


def _links(topology: Topology, run: PacketTransfer, known: list[LinkData]) -> list[LinkData]:
    """Return the links with the bytes that they carried, headers and repetitions included."""
    flows = {link["id"]: link["flows"] for link in known}
    ports, links = run.outcome.ports, topology.links
    described: list[LinkData] = []
    for row in np.flatnonzero(ports.sent_bytes.sum(axis=1)).tolist():
        directed = int(ports.links[row])
        link = directed // 2
        source, target = ends_of(topology, directed)
        described.append(
            {
                "id": directed,
                "source": source,
                "target": target,
                "rate": int(links.rate[link]),
                "delay": int(links.delay[link]),
                "flows": flows.get(directed, 0),
                "bytes": int(ports.sent_bytes[row].sum()),
            }
        )
    return described


def _packet_data(
    topology: Topology, run: PacketTransfer, request: PacketTransferRequest
) -> PacketData:
    settings, ports = run.settings, run.outcome.ports
    busy = np.maximum(ports.waiting_max.max(axis=1), ports.entered_max.max(axis=1))
    rows = np.argsort(-busy, kind="stable")[:SHOWN_PORTS]
    rows = np.sort(rows[busy[rows] > 0])
    described: list[PortData] = []
    for row in rows.tolist():
        link = int(ports.links[row])
        sender, receiver = ends_of(topology, link)
        described.append(
            {
                "link": link,
                "sender": sender,
                "receiver": receiver,
                "queue_peak": int(ports.waiting_max[row].max()),
                "ingress_peak": int(ports.entered_max[row].max()),
                "xoff": int(run.limits.xoff[link]),
                "headroom": int(run.limits.headroom[link]),
                "headroom_peak": int(ports.headroom_max[row].max()),
                "pauses": int(ports.pauses[row].sum()),
                "paused": int(ports.paused[row].sum()),
                "stalled": int(ports.stalled[row].sum()),
                "drops": int(ports.drops[row].sum()),
                "watchdog_drops": int(ports.watchdog_drops[row].sum()),
                "marks": int(ports.marks[row].sum()),
            }
        )
    data: PacketData = {
        "flow_control": request.flow_control,
        "congestion_control": request.cc,
        "reliability": request.reliability,
        "trim": request.trim,
        "payload": settings.payload,
        "header": settings.header,
        "retry": settings.retry,
        "resent": int(run.outcome.resent.sum()),
        "ended": run.outcome.now,
        "ports": described,
    }
    series, pauses = series_of(topology, run), pauses_of(topology, trees_of(run))
    if series is not None:
        data["series"] = series
    if pauses is not None:
        data["pause_tree"] = pauses
    return data
