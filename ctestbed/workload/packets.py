"""Flows driven over a testbed by the packet engine: what is routed, queued, paused and resent."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import process_time
from typing import Final

import numpy as np

from ctestbed.core.errors import InputError, Where
from ctestbed.core.units import PS_PER_SECOND, format_time
from ctestbed.routing.clos import Paths, route_flows
from ctestbed.routing.spread import Spread
from ctestbed.topology.graph import Topology
from ctestbed.topology.names import node_name
from ctestbed.transport.packet.computed import LONG, is_long
from ctestbed.transport.packet.kernels_layout import NUMBER
from ctestbed.transport.packet.laws import tune
from ctestbed.transport.packet.problem import (
    Column,
    LinkClassLimits,
    PacketFlows,
    PacketNetwork,
    PacketOutcome,
    PacketSettings,
    PacketWaits,
)
from ctestbed.workload.drive import turns
from ctestbed.workload.flows import Flows, Waits
from ctestbed.workload.harm import afflict, slow_down
from ctestbed.workload.packet_buffers import limits_of
from ctestbed.workload.packet_options import SEVERAL, SPREADS, PacketOptions, check_options

LOSSLESS_RETRY: Final = 67_108_864 * 1000
"""ps: InfiniBand's local ACK timeout of 14, 4.096 us times 2**14. A pause is no loss."""
LOSSY_RETRY: Final = 500 * 10**6
MAX_QUEUE_PAIRS: Final = 64
_QUEUE_PAIRS: Final = re.compile(r"qp:([0-9]{1,4})")
_ERASURE_CODE: Final = re.compile(r"ec:([0-9]{1,4}),([0-9]{1,4})")
MAX_GROUP: Final = 255
"""Packets of a group of an erasure code, as in Reed-Solomon codes over bytes."""
_SPRAYING: Final = {"spray", "random"}
FLOWLET_GAP: Final = 50 * 10**6
"""ps: longer than paths of a data centre differ by, so that nothing overtakes; ours."""
SPRAYED_PATHS: Final = 256
"""Equal-cost paths of one plane that a flow's packets go by, at most."""
SPRAYED_HOPS: Final = 2**22
"""And of all flows together, in cables: a path of 6 takes about 150 B with all its tables."""
SMALL_RUN: Final = 20_000
"""Packets times hops up to which the plain engine answers before the compiled one has loaded."""


@dataclass(frozen=True, slots=True)
class PacketTransfer:
    """Flows and what became of them as packets."""

    flows: Flows
    paths: Paths
    first: Column
    """Of each flow, the first of its paths."""
    limits: LinkClassLimits
    settings: PacketSettings
    outcome: PacketOutcome
    engine: str

    @property
    def fct(self) -> Column:
        """Completion times in ps from each flow's start, -1 where it did not finish."""
        finish = self.outcome.finish
        return np.where(finish < 0, -1, finish - self.outcome.starts)


def drive_packets(
    topology: Topology,
    flows: Flows,
    options: PacketOptions,
    engine: str = "auto",
    configured: Column | None = None,
    notify: Callable[[int, int, int], None] | None = None,
) -> PacketTransfer:
    """Route flows, cut them into packets and run them.

    `configured` is the headroom in bytes at each cable's ends, -1 where none is said; an option
    goes before it. `notify` is the engine's. The outcome's `cpu` counts the paths, and not what is
    compiled or loaded.

    Raises:
        InputError: a cable on the way has an unknown or zero rate or an unknown delay; or the
            thresholds contradict each other.
    """
    began = process_time()
    check_options(options)
    whole, pairs = flows, _queue_pairs(options)
    flows = _divide(flows, pairs) if pairs > 1 else flows
    paths, first, count = _route(topology, flows, options)
    network = slow_down(_network(topology, paths), options.failures)
    packet_flows = PacketFlows(
        flows.sizes, flows.starts, flows.classes.astype(np.int64), first, count, _waits(flows)
    )
    settings = _settings(options, network, int(flows.classes.max(initial=0)) + 1)
    _require_few(flows, settings)
    if options.congestion in {"nscc", "rcc"}:
        options, settings = _for_windows_of_uec(options, settings, network, packet_flows)
    _require_long(network, settings)
    limits = limits_of(network, options, settings, configured)
    if engine == "auto":
        hops = -(-flows.sizes // options.payload) * np.diff(paths.offsets)[first]
        engine = "reference" if int(hops.sum()) <= SMALL_RUN else "packet"
    horizon = _horizon(options)
    settings = afflict(settings, options.failures, horizon)
    problem = network, packet_flows, limits, settings
    if engine == "reference":
        from ctestbed.transport.packet.reference import simulate_reference

        outcome = simulate_reference(*problem, horizon)
    else:
        from ctestbed.transport.packet.engine import load_kernel, simulate

        before = process_time()
        load_kernel()
        began += process_time() - before
        outcome = simulate(*problem, horizon, notify)
    outcome = replace(outcome, cpu=process_time() - began)
    if pairs > 1:
        outcome = _together(outcome, pairs)
    return PacketTransfer(whole, paths, first[::pairs], limits, settings, outcome, engine)


def _code(reliability: str) -> tuple[int, int]:
    """Return how many packets of data and of parity make a group, (0, 0) without a code.

    Raises:
        InputError: it is no kind of reliability.
    """
    if reliability in {"gbn", "sr"}:
        return 0, 0
    match = _ERASURE_CODE.fullmatch(reliability)
    data, parity = (int(match[1]), int(match[2])) if match else (0, 0)
    if not data or not parity or data + parity > MAX_GROUP:
        raise InputError(
            "CTB-S086",
            f"{reliability[:80]!r} is no kind of reliability",
            where=Where(pointer="--reliability"),
            hint=f"gbn, sr, or ec:K,M with at least one of each, {MAX_GROUP} at most: ec:32,8",
        )
    return data, parity


def _queue_pairs(options: PacketOptions) -> int:
    """Return over how many queue pairs each flow goes.

    Raises:
        InputError: there is no such spread, or not so many queue pairs.
    """
    if options.spread in SPREADS:
        return 1
    match = _QUEUE_PAIRS.fullmatch(options.spread)
    if match is None or not 1 <= int(match[1]) <= MAX_QUEUE_PAIRS:
        raise InputError(
            "CTB-S086",
            f"{options.spread[:80]!r} is no spread of packets",
            where=Where(pointer="--spread"),
            hint=f"{', '.join(sorted(SPREADS))}, or qp:N with N from 1 to {MAX_QUEUE_PAIRS}",
        )
    return int(match[1])


def _divide(flows: Flows, pairs: int) -> Flows:
    """Divide each flow evenly over its queue pairs, the first ones a byte more.

    Raises:
        InputError: a flow has fewer bytes than queue pairs.
    """
    if int(flows.sizes.min()) < pairs:
        raise InputError(
            "CTB-S086",
            f"a flow of {int(flows.sizes.min())} B does not go over {pairs} queue pairs",
            where=Where(pointer="--spread"),
            hint="use fewer queue pairs",
        )
    turn = np.tile(np.arange(pairs), len(flows))
    sizes = np.repeat(flows.sizes, pairs)
    return Flows(
        np.repeat(flows.source, pairs),
        np.repeat(flows.destination, pairs),
        sizes // pairs + (turn < sizes % pairs),
        np.repeat(flows.starts, pairs),
        np.repeat(flows.classes, pairs),
        None if flows.after is None else _divide_waits(flows.after, pairs),
    )


def _waits(flows: Flows) -> PacketWaits | None:
    after = flows.after
    if after is None:
        return None
    return PacketWaits(after.offsets, after.flows, after.receipt.astype(np.int64), after.needs)


def _divide_waits(after: Waits, pairs: int) -> Waits:
    """Have each queue pair of a flow wait for all those of the flows that it waits for.

    Raises:
        InputError: a flow needs only some of those that it waits for.
    """
    counts = np.diff(after.offsets)
    some = np.flatnonzero((after.needs > 0) & (after.needs < counts))
    if len(some):
        raise InputError(
            "CTB-S086",
            f"flow {int(some[0])} waits for any {int(after.needs[some[0]])} of "
            f"{int(counts[some[0]])} others, which queue pairs cannot tell apart",
            where=Where(pointer="--spread"),
            hint="use --spread ecmp, or have it wait for all",
        )
    groups = np.split(np.arange(len(after.flows)), after.offsets[1:-1])
    edges = np.concatenate([np.tile(np.repeat(group, pairs), pairs) for group in groups])
    turn = np.concatenate([np.tile(np.arange(pairs), len(group) * pairs) for group in groups])
    return Waits(
        np.concatenate([[0], np.cumsum(np.repeat(counts * pairs, pairs))]).astype(np.int64),
        after.flows[edges] * pairs + turn,
        after.receipt[edges],
        np.repeat(after.needs * pairs, pairs),
    )


def _together(outcome: PacketOutcome, pairs: int) -> PacketOutcome:
    """Return the outcome of whole flows: done when the last of their queue pairs is."""

    def last(times: Column) -> Column:
        rows = times.reshape(-1, pairs)
        whole: Column = np.where((rows < 0).any(axis=1), -1, rows.max(axis=1))
        return whole

    return replace(
        outcome,
        starts=last(outcome.starts),
        finish=last(outcome.finish),
        delivered=last(outcome.delivered),
        resent=outcome.resent.reshape(-1, pairs).sum(axis=1),
    )


def _require_few(flows: Flows, settings: PacketSettings) -> None:
    """Refuse flows whose packets cannot be numbered.

    Raises:
        InputError: one has too many.
    """
    packets = -(-int(flows.sizes.max(initial=0)) // settings.payload)
    data, parity = settings.code
    packets += -(-packets // data) * parity if data else 0
    if packets > NUMBER:
        raise InputError(
            "CTB-S089",
            f"a flow of {packets:,} packets, and they are numbered up to {NUMBER:,}",
            where=Where(pointer="--payload"),
            hint="drive smaller flows, or larger packets",
        )


def _require_long(network: PacketNetwork, settings: PacketSettings) -> None:
    """Refuse computed pauses where no link in use is long.

    Raises:
        InputError: none is.
    """
    used = np.unique(network.links)
    if settings.flow_control == "bifrost" and not is_long(network, settings)[used].any():
        delay = format_time(int(network.delay[used].max(initial=0)))
        raise InputError(
            "CTB-S141",
            f"the longest cable on the way takes {delay}, and pauses are computed for those that "
            f"take {format_time(LONG * settings.pause_period)} or more",
            where=Where(pointer="--flow-control"),
            hint="use --flow-control pfc, or flows that cross a long link",
        )


def _horizon(options: PacketOptions) -> int:
    if options.horizon is None:
        # What may wait for ever is given up sooner: a computed pause is said again without end.
        endless = options.failures or options.flow_control == "bifrost"
        return (10 if endless else 3600) * PS_PER_SECOND
    if options.horizon <= 0:
        raise InputError(
            "CTB-S081",
            "a horizon of 0 leaves no time for anything to happen",
            where=Where(pointer="--horizon"),
            hint="such as `--horizon 10ms`",
        )
    return options.horizon


def _route(
    topology: Topology, flows: Flows, options: PacketOptions
) -> tuple[Paths, Column, Column]:
    """Return all paths, and of each flow the first and the number."""
    own = np.arange(len(flows))
    each = np.ones(len(flows), np.int64)
    spread: Spread = "balanced" if options.spread == "balanced" else "ecmp"
    if options.spread not in SEVERAL:
        labels = turns(flows)
        paths = route_flows(
            topology, flows.source, flows.destination, spread=spread, seed=options.seed,
            label=labels,
        )  # fmt: skip
        return paths, own, each
    copies = _copies(topology, flows, options)
    first = np.cumsum(copies) - copies
    paths = route_flows(
        topology,
        np.repeat(flows.source, copies),
        np.repeat(flows.destination, copies),
        spread="sweep",
        seed=options.seed,
        label=np.arange(int(copies.sum())) - np.repeat(first, copies),
    )
    if options.spread == "adaptive":
        paths = _sorted(paths, np.repeat(np.arange(len(flows)), copies))
    return paths, first, copies


def _sorted(paths: Paths, flow: Column) -> Paths:
    """Return paths, of one length for each flow, in order of flow and then of their links."""
    lengths = np.diff(paths.offsets)
    whole = np.zeros((len(flow), int(lengths.max(initial=0))), np.int64)
    inside = np.arange(whole.shape[1]) < lengths[:, None]
    whole[inside] = paths.links
    turn = np.lexsort((*whole.T[::-1], flow))
    return Paths(paths.offsets, whole[turn][inside[turn]], paths.candidates, paths.plane)


def _copies(topology: Topology, flows: Flows, options: PacketOptions) -> Column:
    """Return how many paths each flow's packets go by: its plane's, if there is room."""
    paths = route_flows(
        topology, flows.source, flows.destination, spread="sweep", seed=options.seed
    )
    equal = paths.candidates // (topology.planes if topology.split else 1)
    longest = int(np.diff(paths.offsets).max(initial=1))
    most = max(1, min(SPRAYED_PATHS, SPRAYED_HOPS // (longest * len(flows))))
    copies: Column = np.minimum(equal, most)
    return copies


def _network(topology: Topology, paths: Paths) -> PacketNetwork:
    links = topology.links
    used = np.unique(paths.links // 2)
    for what, column, least in (("rate", links.rate, 1), ("delay", links.delay, 0)):
        bad = used[column[used] < least]
        if len(bad):
            link = int(bad[0])
            ends = (node_name(topology, int(end[link])) for end in (links.a, links.b))
            raise InputError(
                "CTB-S082",
                f"the {what} of the cable {' - '.join(ends)} is "
                f"{'0' if column[link] == 0 else 'unknown'}, and packets cannot cross it",
                hint=f"give the testbed's cables a {what}",
            )
    tail = np.empty(2 * topology.link_count, np.int64)
    head = np.empty_like(tail)
    tail[0::2], tail[1::2] = links.a, links.b
    head[0::2], head[1::2] = links.b, links.a
    return PacketNetwork(
        tail,
        head,
        np.repeat(links.rate, 2).astype(np.int64),
        np.repeat(links.delay, 2).astype(np.int64),
        paths.offsets.astype(np.int64),
        paths.links.astype(np.int64),
    )


def _settings(options: PacketOptions, network: PacketNetwork, classes: int) -> PacketSettings:
    """Return the engine's settings; of several classes the lower number goes first."""
    lossless = options.flow_control != "none"
    retry = options.retry
    if retry is None:
        longest = int(np.add.reduceat(network.delay[network.links], network.offsets[:-1]).max())
        retry = LOSSLESS_RETRY + 6 * longest if lossless else LOSSY_RETRY + 6 * longest
    settings = PacketSettings(
        payload=options.payload,
        classes=classes,
        lossless=2**classes - 1 if lossless else 0,
        flow_control="pfc" if options.flow_control == "none" else options.flow_control,
        retry=retry,
        reliability="gbn" if options.reliability == "gbn" else "sr",
        code=_code(options.reliability),
        ack_every=options.ack_every,
        spray=options.spread in _SPRAYING,
        drawn_paths=options.spread == "random",
        adaptive=options.spread == "adaptive",
        flowlet_gap=FLOWLET_GAP if options.spread == "flowlet" else 0,
        trim=options.trim,
        congestion=options.congestion,
        seed=options.seed % 2**63,
        looks=options.looks,
        watchdog=options.watchdog,
    )
    if options.congestion == "dcqcn":
        return replace(settings, mark_from=_MARK_FROM, mark_all=_MARK_ALL, mark_share=_MARK_SHARE)
    return settings


def _for_windows_of_uec(
    options: PacketOptions, settings: PacketSettings, network: PacketNetwork, flows: PacketFlows
) -> tuple[PacketOptions, PacketSettings]:
    """Return both with the queues and marks of UEC in uet-htsim.

    A queue holds the bytes that fill the longest empty path where what does not fit is trimmed, and
    five times that where it is lost; marks begin at a fifth of them, and are certain from four
    fifths.
    """
    filled = int(tune(network, flows, settings).widest)
    if options.congestion == "nscc":
        settings = replace(
            settings, mark_from=filled // 5, mark_all=filled * 4 // 5, mark_share=2**32 - 1
        )
    if options.queue is None and options.flow_control == "none":
        queue = max(filled * (1 if options.trim else 5), settings.payload + settings.header)
        options = replace(options, queue=queue)
    return options, settings


_MARK_FROM: Final = 400_000
_MARK_ALL: Final = 1_600_000
_MARK_SHARE: Final = 2**32 // 5
"""Kmin, Kmax and Pmax of HPCC's artefact at 100 Gb/s: 400 KB, 1600 KB, 0.2."""
