"""Which way packets go: what spraying and adaptive routing make of fabrics and of slow cables."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ctestbed.topology.build import load_topology
from ctestbed.topology.graph import NodeKind, Topology
from ctestbed.workload.flows import Flows
from ctestbed.workload.packet_options import PacketOptions
from ctestbed.workload.packets import PacketTransfer, drive_packets
from ctestbed.workload.traffic import read_traffic

pytestmark = pytest.mark.numba


def drive(topology: Topology, pattern: str, spread: str) -> PacketTransfer:
    flows = read_traffic(pattern, "1MB", topology, 1).flows
    options = PacketOptions(
        spread=spread, reliability="gbn" if spread in {"ecmp", "balanced"} else "sr"
    )
    return drive_packets(topology, flows, options, "packet")


def fabric(name: str) -> Topology:
    return load_topology(name)[1]


def p99(run: PacketTransfer) -> int:
    assert run.outcome.ended
    assert run.outcome.lost == 0
    return int(np.sort(run.fct)[-(len(run.fct) // 100) - 1])


@pytest.mark.parametrize("testbed", ["lab-128", "fat-tree-128"])
def test_adaptive_routing_does_not_collide_as_hashing_does(testbed: str) -> None:
    topology = fabric(testbed)
    adaptive = p99(drive(topology, "permutation", "adaptive"))
    assert adaptive < 0.6 * p99(drive(topology, "permutation", "ecmp"))
    # D-mod-k gives each flow of this shift cables of its own. Adaptive flows still meet on the way
    # down, which a leaf does not see.
    assert adaptive < 1.4 * p99(drive(topology, "shift:64", "balanced"))


def test_adaptive_routing_avoids_a_slow_cable_and_spraying_does_not() -> None:
    topology = fabric("lab-128")
    links: Any = topology.links
    rate = links.rate.copy()
    switches = [topology.nodes.kind[end] == NodeKind.SWITCH for end in (links.a, links.b)]
    rate[np.flatnonzero(switches[0] & switches[1])[0]] //= 10  # the first leaf's, whose hosts send
    slow = replace(topology, links=replace(links, rate=rate))
    flows = Flows.together(np.arange(8), np.arange(64, 72), 1_000_000)
    adaptive, sprayed = (
        p99(drive_packets(slow, flows, PacketOptions(spread=spread, reliability="sr"), "packet"))
        for spread in ("adaptive", "spray")
    )
    # Of 8 x 1 MB an eighth goes by the slow cable in turn, which takes 0.8 ms.
    assert sprayed > 800 * 10**6
    # 800 Gb/s come in for 81 us, 710 go out: queues of one length grow to 114 KB each. The slow one
    # takes 91 us for its own; then there are 6 us of cables.
    assert adaptive == pytest.approx((81 + 91 + 6) * 10**6, rel=0.05)


def test_adaptive_routing_loads_alike_what_nothing_disturbs() -> None:
    run = drive(fabric("lab-128"), "shift:64", "adaptive")
    sent = run.outcome.ports.sent_bytes.sum(axis=1)
    used = sent[sent > 0]
    assert used.max() < 1.25 * used.min()


def test_more_paths_than_one_are_drawn_alike_at_random() -> None:
    run = drive(fabric("lab-128"), "shift:64", "random")
    sent = run.outcome.ports.sent_frames.sum(axis=1)
    # 250 packets of each of 8 hosts over 8 spines: 250 a cable, give or take 5 sigma.
    used = sent[sent > 0]
    assert abs(used - 250).max() < 5 * np.sqrt(250)
