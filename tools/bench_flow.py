"""The flow engine at scale: random flows of 1 MB over fat-trees, as SimGrid was measured on them.

Each scenario is timed from endpoints drawn to completion times ready, paths included, in CPU
seconds of this process, compiled code loaded. `random sizes` draws 0.1 to 2 MB and spreads the
starts, so that flows keep coming and going at unlike rates.
"""

from collections.abc import Iterator
from statistics import median
from time import process_time
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctestbed.core.seeds import spawn_generator
from ctestbed.routing.clos import route_flows
from ctestbed.topology.build import build_topology, load_topology
from ctestbed.topology.graph import Topology
from ctestbed.topology.load import parse_testbed
from ctestbed.transport.flow import FlowEngine, solve_flows
from ctestbed.transport.problem import FlowOutcome, FlowProblem

ROUNDS: Final = 5
MEGABYTE: Final = 1_000_000

_K40: Final = b"""
ctestbed: 1
name: fat-tree-16000
fabric: {kind: fat-tree, tiers: 3, k: 40, rate: 100Gbps, delay: 1us}
"""


class Scale(NamedTuple):
    """A scenario: what must be reached, the aim, and SimGrid 3.32's figure, in CPU seconds."""

    testbed: str
    flows: int
    must: float | None
    aim: float | None
    simgrid: str
    spread: int = 0
    """ps over which the flows start, with random sizes; 0: all at once, 1 MB each."""


SCALES: Final = (
    Scale("fat-tree-1024", 4_096, 0.5, 0.15, "10.2"),
    Scale("fat-tree-1024", 16_384, 4.0, 1.0, "not finished in 280"),
    Scale("fat-tree-16000", 16_384, 0.6, 0.2, "45.9"),
    Scale("mrc-131072", 131_072, 30.0, 8.0, "not run"),
    Scale("fat-tree-1024", 4_096, None, None, "not run", 400_000_000),
    Scale("fat-tree-1024", 16_384, None, None, "not run", 1_600_000_000),
)


def topology_of(name: str) -> Topology:
    """Return a built-in fabric, or the 16,000 hosts of SimGrid's run."""
    if name == "fat-tree-16000":
        return build_topology(parse_testbed(_K40, name))
    return load_topology(name)[1]


def draw(topology: Topology, flows: int, seed: int = 1) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return random sources and destinations, never the same."""
    draws = spawn_generator(seed, "bench/flow")
    source = draws.integers(0, topology.endpoints, flows)
    destination = draws.integers(0, topology.endpoints - 1, flows)
    return source, destination + (destination >= source)


def solve(
    topology: Topology,
    ends: tuple[NDArray[Any], NDArray[Any]],
    engine: FlowEngine = "flow",
    spread: int = 0,
) -> FlowOutcome:
    """Route the flows by hash, and solve them."""
    count = len(ends[0])
    paths = route_flows(topology, *ends, spread="ecmp", seed=1)
    used, links = np.unique(paths.links, return_inverse=True)
    sizes, starts = np.full(count, MEGABYTE), np.zeros(count, np.int64)
    if spread:
        draws = spawn_generator(1, "bench/sizes")
        sizes = draws.integers(MEGABYTE // 10, 2 * MEGABYTE, count)
        starts = draws.integers(0, spread, count)
    rate = topology.links.rate[used // 2]
    return solve_flows(FlowProblem(rate, paths.offsets, links.reshape(-1), sizes, starts), engine)


def report() -> Iterator[str]:
    """Yield a line for each scenario."""
    yield f"{'scenario':40} {'CPU s':>8} {'must':>6} {'aim':>6}  SimGrid (CPU s, another day)"
    for scale in SCALES:
        topology = topology_of(scale.testbed)
        ends = draw(topology, scale.flows)
        solve(topology, ends, spread=scale.spread)  # load what is compiled, and warm the caches
        spent = []
        for _ in range(ROUNDS):
            begin = process_time()
            outcome = solve(topology, ends, spread=scale.spread)
            spent.append(process_time() - begin)
        name = f"{topology.endpoints:,} hosts x {scale.flows:,} flows"
        name += ", random sizes" * bool(scale.spread) + ", NOT EXACT" * (not outcome.exact)
        limits = [f"{'-' if limit is None else limit:>6}" for limit in (scale.must, scale.aim)]
        yield f"{name:40} {median(spent):8.3f} {' '.join(limits)}  {scale.simgrid}"
