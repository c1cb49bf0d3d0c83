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
from typing import Final, NamedTuple

from ctestbed.core.timing import median, sample_rates
from tools import bench_flow
from tools.bench_fabric import report

ROUNDS: Final = 7


class Pair(NamedTuple):
    """One comparison: what is done, how many units a call does, by us and by a peer."""

    name: str
    unit: str
    peer: str
    ours: Callable[[], object]
    our_units: int
    theirs: Callable[[], object]
    their_units: int


def crypto_pairs() -> Iterator[Pair]:
    """Our SM2, SM3 and SM4-XTS beside gmssl, pure Python too where it has the algorithm."""
    from ctestbed.crypto import gmssl_oracle, sm2, sm3, sm4, sm4_xts

    key = sm2.derive_private_key(b"benchmark", b"key")
    message = bytes(200)
    signature = sm2.sign(key, message, gmssl_oracle.IDENTITY)
    public = key.public_key
    yield Pair(
        "SM2 sign",
        "op",
        "gmssl",
        lambda: sm2.sign(key, message, gmssl_oracle.IDENTITY),
        1,
        lambda: gmssl_oracle.sm2_sign(key, message, 12345),
        1,
    )
    yield Pair(
        "SM2 verify",
        "op",
        "gmssl",
        lambda: sm2.verify(public, message, gmssl_oracle.IDENTITY, signature),
        1,
        lambda: gmssl_oracle.sm2_verify(public, message, signature),
        1,
    )
    large, small = bytes(2**20), bytes(4096)
    yield Pair(
        "SM3", "B", "gmssl", lambda: sm3.sm3(large), 2**20, lambda: gmssl_oracle.sm3(small), 4096
    )
    page, pages = 4096, 2048
    data = bytes(page * pages)
    tweaks = b"".join(number.to_bytes(16, "little") for number in range(pages))
    xts = bytes(range(32))

    def encrypt() -> bytes:
        return sm4_xts.encrypt_units(xts, tweaks, data, page, "ieee")

    yield Pair(
        "SM4-XTS, 4 KiB units",
        "B",
        "gmssl SM4-ECB",
        encrypt,
        len(data),
        lambda: gmssl_oracle.sm4_ecb_encrypt(xts[:16], small),
        page,
    )
    yield Pair(
        "SM4-XTS, 4 KiB units",
        "B",
        "cryptography SM4-ECB",
        encrypt,
        len(data),
        lambda: sm4.ecb_encrypt(xts[:16], data),
        len(data),
    )


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


def _print_pairs(pairs: Iterator[Pair]) -> None:
    """Print a line for each comparison."""
    print(f"{'what':24} {'ours per CPU s':>18} {'peer per CPU s':>18} {'ratio':>9}  peer")
    for pair in pairs:
        jobs = {"ours": (pair.ours, pair.our_units), "peer": (pair.theirs, pair.their_units)}
        rates = {name: median(samples) for name, samples in sample_rates(jobs, ROUNDS).items()}
        figures = [f"{rates[name]:,.0f} {pair.unit}" for name in ("ours", "peer")]
        ratio = rates["ours"] / rates["peer"]
        print(f"{pair.name:24} {figures[0]:>18} {figures[1]:>18} {ratio:9.2f}  {pair.peer}")


def _print_fabric() -> None:
    for line in report():
        print(line, flush=True)


def _print_flow() -> None:
    _print_pairs(flow_pairs())
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
    "crypto": lambda: _print_pairs(crypto_pairs()),
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
