"""The packet engine on the scenarios that htsim was measured on, beside its own plain engine.

CPU seconds of this process from flows to results: paths included, compilation not. htsim's figures
are of another machine: only rates of one run compare.
"""

from collections.abc import Iterator
from statistics import median
from typing import Final, NamedTuple

from ctestbed.topology.build import load_topology
from ctestbed.workload.packet_options import PacketOptions
from ctestbed.workload.packets import PacketTransfer, drive_packets
from ctestbed.workload.traffic import build_traffic

ROUNDS: Final = 3
HEADER: Final = f"{'scenario':<36}  packet-hops  CPU s  M hops/s  plain engine  htsim, published"


class Scenario(NamedTuple):
    """One row: a testbed, a pattern, bytes of each flow, and what htsim reached, as published."""

    testbed: str
    pattern: str
    size: int
    htsim: str


SCENARIOS: Final = (
    Scenario("fat-tree-128", "incast:32", 1_000_000, "0.27 (RoCE, PFC)"),
    Scenario("fat-tree-128", "shift:64", 2_000_000, "0.31 (RoCE, PFC)"),
    Scenario("fat-tree-1024", "shift:512", 2_000_000, "0.18 (RoCE, PFC)"),
    Scenario("fat-tree-8192", "permutation", 2_000_000, "0.14 (NSCC)"),
)


def report() -> Iterator[str]:
    """Yield a line per scenario; the plain engine runs the smaller ones on a tenth of the bytes."""
    yield HEADER
    for scenario in SCENARIOS:
        rounds = 1 if scenario.testbed == "fat-tree-8192" else ROUNDS
        runs = [_run(scenario, scenario.size, "packet") for _ in range(rounds)]
        cpu = median(run.outcome.cpu for run in runs)
        hops = runs[0].outcome.data_hops
        plain = "-"
        if scenario.testbed == "fat-tree-128":
            part = _run(scenario, scenario.size // 10, "reference").outcome
            plain = f"{part.data_hops / part.cpu / 1e6:.3f}"
        name = f"{scenario.testbed} {scenario.pattern} {scenario.size / 1e6:g} MB"
        yield (
            f"{name:<36}  {hops:>11,}  {cpu:>5.2f}  {hops / cpu / 1e6:>8.2f}  {plain:>12}  "
            f"{scenario.htsim}"
        )


def _run(scenario: Scenario, size: int, engine: str) -> PacketTransfer:
    _, topology = load_topology(scenario.testbed)
    flows = build_traffic(scenario.pattern, size, topology, seed=1)
    return drive_packets(topology, flows, PacketOptions(), engine)
