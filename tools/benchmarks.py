"""Time the hot paths against a peer doing the same work in the same run: `make bench`.

`python -m tools.benchmarks fabric flow` runs these sections alone. Each pair is timed in
interleaved rounds of CPU time, so a busy neighbour slows both alike; the ratio of medians is what
to compare between machines and commits.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from resource import RUSAGE_CHILDREN, getrusage
from typing import Final

from tools import bench_crypto, bench_flow
from tools.bench_fabric import report
from tools.bench_pairs import Pair, print_pairs


def flow_pairs() -> Iterator[Pair]:
    """The flow engine beside its own plain reference, on hashed paths that collide."""
    from ctestbed.topology.build import load_topology
    from ctestbed.workload.drive import drive

    _, topology = load_topology("lab-128")

    def solve(engine: str) -> Callable[[], object]:
        return lambda: drive(
            topology,
            "permutation",
            2_000_000,
            "ecmp",
            seed=1,
            engine=engine,  # type: ignore[arg-type]
        )

    flows = topology.endpoints
    large = bench_flow.topology_of("fat-tree-1024")
    ends = bench_flow.draw(large, 512)
    yield Pair(
        "max-min, 512 flows",
        "flow",
        "reference",
        lambda: bench_flow.solve(large, ends),
        512,
        lambda: bench_flow.solve(large, ends, "reference"),
        512,
    )
    yield Pair(
        "max-min, 128 flows", "flow", "reference", solve("auto"), flows, solve("reference"), flows
    )
    yield Pair(
        "max-min, 128 flows", "flow", "reference", solve("flow"), flows, solve("reference"), flows
    )


def _start(arguments: list[str]) -> float:
    """Return the CPU seconds of one process, best of five."""
    spent = []
    for _ in range(5):
        before = getrusage(RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        after = getrusage(RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent)


def _print_fabric() -> None:
    for line in report():
        print(line, flush=True)


def _print_flow() -> None:
    print_pairs(flow_pairs())
    for line in bench_flow.report():
        print(line, flush=True)


def _print_packet() -> None:
    from tools import bench_packet

    for line in bench_packet.report():
        print(line, flush=True)


def _print_start() -> None:
    """Print the CPU time of a few commands, beside that of the bare interpreter."""
    bare = _start(["-c", "pass"])
    for words in (["--help"], ["topology", "--help"], ["topology", "show", "lab-128"]):
        spent = _start(["-m", "ctestbed", *words])
        print(
            f"start: ctestbed {' '.join(words)}: {spent * 1e3:.0f} ms CPU (bare {bare * 1e3:.0f})"
        )


SECTIONS: Final[dict[str, Callable[[], None]]] = {
    "crypto": lambda: print_pairs(bench_crypto.pairs()),
    "fabric": _print_fabric,
    "flow": _print_flow,
    "packet": _print_packet,
    "start": _print_start,
}


def main(names: list[str]) -> int:
    """Run the sections named, or all; 2 if there is no such section."""
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        print(f"no section {', '.join(unknown)}: there are {', '.join(SECTIONS)}")
        return 2
    print(f"load of the machine: {os.getloadavg()[0]:.1f} over {os.cpu_count()} cores")
    for name in names or SECTIONS:
        print(f"\n{name}")
        SECTIONS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
