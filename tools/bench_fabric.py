"""How building and validating grow with a fabric, and the same graph in networkx: `make bench`.

Every size runs in a process of its own, so that its peak of memory is its own. Times are CPU time,
which a busy neighbour lengthens less than the clock, the best of a few where they are short.
"""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from resource import RUSAGE_SELF, getrusage
from time import process_time
from typing import Any, Final, NamedTuple

PLANES: Final = 8
ORDERS: Final = (2, 4, 8, 16, 32, 64)
"""Whole ports of a switch, each split over the planes: 64 is the testbed mrc-131072."""
LARGE: Final = 16_000
"""Ports from which a size counts for the fitted exponent: below, fixed costs rule."""
SHORT: Final = 0.2
NEEDED: Final = 6 * 2**30
"""Free memory for all planes of the largest size in networkx; with less, one plane stands in."""

_MB: Final = 1e6


class Size(NamedTuple):
    """One fabric of the curve: CPU seconds, and peak memory in bytes."""

    ports: int
    nics: int
    cables: int
    build: float
    build_peak: int
    validate: float
    peak: int


def document(order: int) -> dict[str, Any]:
    """Return a testbed of two tiers without oversubscription, every NIC split over the planes."""
    return {
        "ctestbed": 1,
        "name": f"order-{order}",
        "planes": {"count": PLANES, "form": "nic-split"},
        "fabric": {
            "kind": "fat-tree",
            "tiers": 2,
            "k": order,
            "rate": "800Gbps",
            "delay": "unknown",
        },
    }


def _timed(action: Callable[[], object]) -> float:
    """Return the CPU seconds of an action, the best of three if it is short."""
    best = math.inf
    for _ in range(3):
        start = process_time()
        action()
        best = min(best, process_time() - start)
        if best > SHORT:
            break
    return best


def _peak() -> int:
    return getrusage(RUSAGE_SELF).ru_maxrss * 1024


def measure(order: int) -> Size:
    """Build and validate one size in this process."""
    from ctestbed.topology.build import build_topology
    from ctestbed.topology.load import parse_testbed
    from ctestbed.topology.validate import validate_testbed
    from ctestbed.topology.write import dump_testbed

    loaded = parse_testbed(dump_testbed(document(order), "yaml"), "order.yaml")
    topology = build_topology(loaded)
    nics, cables = topology.nics, topology.link_count
    del topology
    build = _timed(lambda: build_topology(loaded))
    build_peak = _peak()
    validate = _timed(lambda: validate_testbed(loaded))
    return Size(nics * PLANES, nics, cables, build, build_peak, validate, _peak())


def measure_networkx(order: int, planes: int) -> tuple[float, int, int]:
    """Build so many planes of one size in networkx: CPU seconds, peak bytes, cables.

    The plainest way that networkx has: a simple graph of integers, edges from a generator, with
    the rate and the plane of each.
    """
    import networkx as nx

    ports = order * PLANES
    half = ports // 2

    def cables() -> Iterator[tuple[int, int, dict[str, int]]]:
        nics = ports * half
        for plane in range(planes):
            leaf = nics + plane * (ports + half)
            spine = leaf + ports
            for nic in range(nics):
                yield nic, leaf + nic // half, {"rate": 100 * 10**9, "plane": plane}
            for lower in range(ports):
                for upper in range(half):
                    yield leaf + lower, spine + upper, {"rate": 100 * 10**9, "plane": plane}

    start = process_time()
    graph: nx.Graph[int] = nx.Graph()
    graph.add_edges_from(cables())
    return process_time() - start, _peak(), graph.number_of_edges()


def exponent(sizes: list[Size], time: Callable[[Size], float]) -> float:
    """Return the slope of time over ports on logarithmic axes, by least squares."""
    points = [(math.log(s.ports), math.log(time(s))) for s in sizes if s.ports > LARGE]
    x = [point[0] for point in points]
    y = [point[1] for point in points]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in points)
    return above / sum((a - mean_x) ** 2 for a in x)


def _apart(*words: object) -> Any:
    """Run a measurement of this module in a process of its own, on one core."""
    code = f"import json; from tools import bench_fabric as b; print(json.dumps(b.{words[0]}"
    code += f"({', '.join(map(str, words[1:]))})))"
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **threads},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def report() -> Iterator[str]:
    """Yield the lines of the curve, its exponents, and the ratio to networkx."""
    yield (
        f"{'ports':>10} {'NICs':>8} {'cables':>10} {'build s':>9} {'peak MB':>8} "
        f"{'validate s':>11} {'peak MB':>8}"
    )
    sizes = []
    for order in ORDERS:
        size = Size(*_apart("measure", order))
        sizes.append(size)
        yield (
            f"{size.ports:10,} {size.nics:8,} {size.cables:10,} {size.build:9.4f} "
            f"{size.build_peak / _MB:8.0f} {size.validate:11.4f} {size.peak / _MB:8.0f}"
        )
    build, validate = exponent(sizes, lambda s: s.build), exponent(sizes, lambda s: s.validate)
    yield f"CPU s ~ ports^n above {LARGE:,}: build n = {build:.2f}, validate n = {validate:.2f}"
    yield from _beside_networkx(sizes[-1])


def _beside_networkx(largest: Size) -> Iterator[str]:
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    planes = PLANES if free > NEEDED else 1
    spent, peak, cables = _apart("measure_networkx", ORDERS[-1], planes)
    rates = largest.cables / largest.build, cables / spent
    what = "all planes" if planes == PLANES else f"{planes} of {PLANES} planes: too little memory"
    yield (
        f"networkx, {what}: {cables:,} cables in {spent:.1f} CPU s, {peak / _MB:,.0f} MB; "
        f"ours {rates[0]:,.0f} cables per CPU s, networkx {rates[1]:,.0f}: "
        f"{rates[0] / rates[1]:.0f} times"
    )
