"""What a packet run takes is known before it is taken."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ctestbed.core.errors import EnvironmentLacksError
from ctestbed.topology.build import load_topology
from ctestbed.transport.packet import memory
from ctestbed.transport.packet.engine import simulate
from ctestbed.transport.packet.pack import State, pack
from ctestbed.transport.packet.problem import PacketSettings
from ctestbed.workload import packet_options
from ctestbed.workload.packet_options import PacketOptions
from ctestbed.workload.packets import drive_packets
from ctestbed.workload.traffic import read_traffic
from tests.transport.packet.problems import Problem, chain

pytestmark = pytest.mark.numba


def taken(state: State) -> int:
    """Bytes of the tables; of the frame store, those whose chunks were ever used."""
    tables = sum(array.nbytes for array in (*state.arguments(), state.seen, state.looks))
    return tables - state.store.nbytes + int(np.count_nonzero(state.store.any(axis=1))) * 32


@pytest.mark.parametrize(
    ("testbed", "pattern", "size"),
    [("fat-tree-128", "shift:64", "2MB"), ("fat-tree-1024", "permutation", "200kB")],
)
def test_the_estimate_is_within_a_factor_of_three_of_the_tables(
    monkeypatch: pytest.MonkeyPatch, testbed: str, pattern: str, size: str
) -> None:
    seen: list[Problem] = []

    def keep(*problem: Any) -> Any:
        seen.append(problem[:4])
        return simulate(*problem)

    monkeypatch.setattr("ctestbed.transport.packet.engine.simulate", keep)
    _, topology = load_topology(testbed)
    flows = read_traffic(pattern, size, topology, 1).flows
    drive_packets(topology, flows, PacketOptions(), "packet")
    ((network, packet_flows, limits, settings),) = seen
    guess = memory.estimate(network, packet_flows, settings)
    real = taken(pack(network, packet_flows, limits, settings))
    assert real / 3 < guess < 3 * max(real, 32 * int(packet_flows.sizes.sum()) // 4000)


def test_what_does_not_fit_is_refused_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = chain([(10**11, 10**6)] * 2, 10**9, PacketSettings())
    monkeypatch.setattr(memory, "available", lambda: 1_000)
    with pytest.raises(EnvironmentLacksError) as caught:
        simulate(*problem)
    assert caught.value.code == "CTB-S131"
    assert "1 kB are free" in caught.value.message
    monkeypatch.setattr(memory, "available", lambda: None)
    assert simulate(*chain([(10**11, 10**6)], 4000, PacketSettings())).ended


def test_selective_repeat_and_long_cables_take_more() -> None:
    network, flows, _, settings = chain([(10**11, 10**6)] * 2, 10**9, PacketSettings())
    base = memory.estimate(network, flows, settings)
    repeat = replace(settings, reliability="sr")
    assert memory.estimate(network, flows, repeat) == base + 250_000
    long = replace(network, delay=network.delay * 1000)
    assert memory.estimate(long, flows, settings) > base


def test_free_memory_is_known_or_said_not_to_be() -> None:
    there = memory.available()
    assert there is None or there > 0
    assert packet_options.MAX_PAYLOAD < 2**16
