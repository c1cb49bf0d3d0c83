"""Congestion control over whole fabrics: published bounds, saved runs of htsim, fixed points."""

import csv
from statistics import median
from typing import Any

import numpy as np
import pytest

from ctestbed.topology.build import load_topology
from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.engine import load_kernel, simulate
from ctestbed.transport.packet.laws import Swift
from ctestbed.transport.packet.pack import grow, pack
from ctestbed.transport.packet.problem import PacketFlows, PacketNetwork, PacketSettings
from ctestbed.workload.packet_options import PacketOptions
from ctestbed.workload.packets import PacketTransfer, drive_packets
from ctestbed.workload.traffic import read_traffic
from tests.shared import shared_data
from tests.transport.packet.problems import NEVER, Problem, column, every_link

pytestmark = pytest.mark.numba

FLOOR = 2_600_960_000  # ps: 8,000 packets on the receiver's link, facts/fabric-peers.md 1.1
TRIMMED: dict[str, Any] = {
    "flow_control": "none", "trim": True, "reliability": "sr", "spread": "spray",
}  # fmt: skip


def drive(pattern: str, size: str, testbed: str = "fat-tree-128", **options: Any) -> PacketTransfer:
    _, topology = load_topology(testbed)
    flows = read_traffic(pattern, size, topology, 1).flows
    return drive_packets(topology, flows, PacketOptions(**options), "packet")


@pytest.mark.parametrize(
    ("options", "latest"),
    [
        ({"congestion": "nscc", **TRIMMED}, 2650.4e6 * 1.01),  # htsim's maximum plus 1 %
        ({"congestion": "rcc", **TRIMMED}, 2640.8e6 * 1.01),  # of RCCC, likewise
        ({"congestion": "hpcc"}, 2750e6),
        ({}, 2627e6),
    ],
)
def test_the_last_flow_of_an_incast_ends_in_its_bounds(
    options: dict[str, Any], latest: float
) -> None:
    run = drive("incast:32", "1MB", **options)
    assert run.outcome.ended
    assert run.outcome.lost == 0
    assert FLOOR <= int(run.fct.max()) <= latest


def saved(run: str) -> list[float]:
    """Completion times of a saved run of htsim, in ps."""
    with shared_data("fabric/measured/htsim_fct.csv").open() as file:
        return [float(row["finish_us"]) * 1e6 for row in csv.DictReader(file) if row["run"] == run]


@pytest.mark.parametrize(
    ("testbed", "pattern", "spread", "run"),
    [
        ("fat-tree-128", "shift:64", "spray", "ndp_ft3_shift128"),
        ("fat-tree-128", "shift:64", "random", "eqds_ft3_shift128"),
        ("fat-tree-128", "permutation", "random", "eqds_ft3_perm128"),
        ("fat-tree-128", "permutation", "spray", "ndp_ft3_perm128"),
        ("fat-tree-1024", "shift:512", "spray", "ndp_ft3_shift1024"),
        ("fat-tree-128", "shift:64", "random", "uec_nscc_ft3_shift128"),
        ("fat-tree-128", "permutation", "random", "uec_nscc_ft3_perm128"),
        ("fat-tree-1024", "shift:512", "random", "uec_nscc_ft3_shift1024"),
    ],
)
def test_sprayed_flows_end_as_htsims_do(testbed: str, pattern: str, spread: str, run: str) -> None:
    # htsim's NDP takes equal paths in turn; its NSCC draws them, so its packets meet: 7 % later.
    law = "rcc" if run.startswith("eqds") else "nscc"
    choices = {**TRIMMED, "congestion": law, "spread": spread}
    middle = median(drive(pattern, "2MB", testbed, **choices).fct.tolist())
    assert middle > 176_216_320  # alone over six links
    assert middle == pytest.approx(median(saved(run)), rel=0.05)


def test_nscc_shares_an_incast_as_htsims_does() -> None:
    run = drive("incast:32", "1MB", congestion="nscc", **TRIMMED)
    assert median(run.fct.tolist()) == pytest.approx(
        median(saved("uec_nscc_ft3_incast32")), rel=0.05
    )


def test_hpcc_over_hashed_paths_ends_about_when_htsims_does() -> None:
    # The hash differs, so the paths that collide do: the middle moves with the seed.
    ours = [
        median(drive("shift:64", "2MB", congestion="hpcc", spread="ecmp", seed=seed).fct.tolist())
        for seed in (1, 2, 3)
    ]
    assert np.mean(ours) == pytest.approx(median(saved("hpcc_ft3_shift128")), rel=0.05)


def funnel(
    senders: int, rate: int, delays: list[int], size: int, settings: PacketSettings
) -> Problem:
    """`senders` hosts, each over a cable of its own delay, into one switch and one receiver."""
    tail, head, links, offsets = [], [], [], [0]
    for sender in range(senders):
        tail += [sender, 1000]
        head += [1000, sender]
        links += [2 * sender, 2 * senders]
        offsets.append(len(links))
    network = PacketNetwork(
        column(*tail, 1000, 1001), column(*head, 1001, 1000),
        np.full(2 * senders + 2, rate, np.int64),
        np.repeat(column(*delays, delays[0]), 2), column(*offsets), column(*links),
    )  # fmt: skip
    zeros = np.zeros(senders, np.int64)
    sizes = np.full(senders, size, np.int64)
    flows = PacketFlows(sizes, zeros, zeros, np.arange(senders), np.ones(senders, np.int64))
    return network, flows, every_link(2 * senders + 2), settings


def waiting(problem: Problem, begin: int, end: int, samples: int) -> tuple[float, float]:
    """Return the mean bytes that wait for the receiver's link in a span, and its use in it."""
    loop = load_kernel()
    state = pack(*problem)
    row = int(np.flatnonzero(state.link_of_port == len(problem[0].tail) - 2)[0])
    seen, sent = [], []
    for when in np.linspace(begin, end, samples).astype(np.int64).tolist():
        while True:
            code = loop(state, when, 10**9)
            if code != at.FULL:
                break
            grow(state, len(state.chain))
        seen.append(int(state.queues[row, at.Q_BYTES]))
        sent.append(int(state.queues[row, at.Q_SENT]))
    rate = int(problem[0].rate[-1])
    return float(np.mean(seen)), (sent[-1] - sent[0]) * 8e12 / (rate * (end - begin))


def test_hpcc_keeps_the_queue_near_zero_at_95_per_cent() -> None:
    choices = PacketSettings(congestion="hpcc", retry=NEVER)
    problem = funnel(2, 10**11, [10**6, 10**6], 10**9, choices)
    mean, used = waiting(problem, 2 * 10**9, 12 * 10**9, 4000)
    assert mean < 2 * 4064
    assert used == pytest.approx(0.95, abs=0.03)


def test_swift_holds_its_target_delay() -> None:
    choices = PacketSettings(congestion="swift", retry=NEVER)
    problem = funnel(4, 10**11, [10**6] * 4, 10**9, choices)
    mean, used = waiting(problem, 2 * 10**9, 12 * 10**9, 4000)
    # By the paper's formula: what waits at the bottleneck makes up what the target adds to the
    # empty round trip, for the packets that each of four flows then has in flight.
    law = Swift()
    held = mean * 8e12 / 1e11
    packets = (2 * 2e6 + held) / (4 * 325_120)
    low, high = law.scaling_to**-0.5, law.scaling_from**-0.5
    target = law.queueing + law.per_hop + law.scaling * (packets**-0.5 - low) / (high - low)
    assert held == pytest.approx(target, rel=0.10)
    assert used > 0.99


def test_dcqcns_mean_queue_of_two_flows_is_near_the_fixed_point() -> None:
    # facts/fabric.md 5.1: 20.2 KB at 40 Gb/s with packets of 1000 B. Of more flows the queue
    # swings, as docs/explanation/models.md says, and a test below holds.
    choices = PacketSettings(
        payload=936, congestion="dcqcn", mark_from=5_000, mark_all=200_000,
        mark_share=2**32 // 100, retry=NEVER,
    )  # fmt: skip
    problem = funnel(2, 4 * 10**10, [10**6] * 2, 10**10, choices)
    mean, used = waiting(problem, 100 * 10**9, 400 * 10**9, 8000)
    assert used > 0.99
    assert mean == pytest.approx(20_200, rel=0.25)


def sketch_of_dcqcn(flows: int, begin: float, end: float) -> float:
    """Return the mean queue in bytes by the published rules over bytes as a fluid.

    Another way to the same: steps of time, rates and a queue, marks drawn for each flow, and Zhu et
    al.'s (SIGCOMM 2015) notification point, reaction point and defaults. No frames, and nothing
    of the engine's.
    """
    step, capacity, g = 2e-6, 40e9, 1 / 256
    rate, target, alpha = [capacity / flows] * flows, [capacity / flows] * flows, [0.1] * flows
    draws = np.random.default_rng(1)
    decay = (draws.random(flows) * 55e-6).tolist()
    rise = (draws.random(flows) * 55e-6).tolist()
    quiet, news, rises = [0.0] * flows, [1e9] * flows, [0] * flows
    queue, total = 0.0, 0.0
    for count, chance in enumerate(draws.random((round(end / step), flows)).tolist()):
        now = count * step
        queue = max(0.0, queue + (sum(rate) - capacity) * step / 8)
        marked = max(0.0, min(1.0, (queue - 5e3) / 195e3 * 0.01 if queue < 200e3 else 1.0))
        for f in range(flows):
            if quiet[f] <= now and chance[f] < marked * rate[f] * step / 8000:
                quiet[f] = now + 50e-6
                news[f] = min(news[f], now + 3e-6 + queue * 8 / capacity)
            if decay[f] <= now:
                alpha[f], decay[f] = alpha[f] * (1 - g), decay[f] + 55e-6
            if rise[f] <= now:
                rises[f], rise[f] = rises[f] + 1, rise[f] + 55e-6
                target[f] = min(capacity, target[f] + 40e6 * (rises[f] > 5))
                rate[f] = (rate[f] + target[f]) / 2
            if news[f] <= now:
                target[f], rate[f] = rate[f], rate[f] * (1 - alpha[f] / 2)
                alpha[f] = (1 - g) * alpha[f] + g
                decay[f] = rise[f] = now + 55e-6
                news[f], rises[f] = 1e9, 0
        total += queue * (now >= begin)
    return total / round((end - begin) / step)


@pytest.mark.parametrize("flows", [2, 4, 8, 10])
def test_dcqcns_queue_is_that_of_the_published_rules_taken_one_by_one(flows: int) -> None:
    # The fluid's fixed point is 20.2, 41.8, 93.8 and 122.6 KB; a single cut moves as many bytes as
    # wait there, so the rules themselves do not hold it. docs/explanation/models.md has the rest.
    choices = PacketSettings(
        payload=936, congestion="dcqcn", mark_from=5_000, mark_all=200_000,
        mark_share=2**32 // 100, retry=NEVER,
    )  # fmt: skip
    problem = funnel(flows, 4 * 10**10, [10**6] * flows, 10**10, choices)
    mean, _ = waiting(problem, 100 * 10**9, 400 * 10**9, 8000)
    assert mean == pytest.approx(sketch_of_dcqcn(flows, 0.1, 0.5), rel=0.15)


def test_dcqcn_shares_alike_over_2_us_and_over_1770_us() -> None:
    # Row L12 of the published rows: 40 Gb/s, Kmin 1 MB, Kmax 2 MB, Pmax 5 %, about 17 Gb/s each;
    # the increase and timers of that deployment are not published, these are DCQCN's own.
    choices = PacketSettings(
        payload=1024, congestion="dcqcn", mark_from=10**6, mark_all=2 * 10**6,
        mark_share=2**32 // 20, retry=NEVER,
    )  # fmt: skip
    problem = funnel(2, 4 * 10**10, [500_000, 884 * 10**6], 10**10, choices)
    horizon = 10**12
    outcome = simulate(*problem, horizon)
    ports = outcome.ports
    both = [int(ports.sent_bytes[ports.links.tolist().index(2 * s), 0]) for s in (0, 1)]
    goodput = [sent * 1024 / 1088 * 8e12 / horizon / 1e9 for sent in both]
    middle = sum(goodput) / 2
    assert goodput == pytest.approx([middle, middle], rel=0.10)
    assert middle == pytest.approx(17, rel=0.15)
