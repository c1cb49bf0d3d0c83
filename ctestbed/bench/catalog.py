"""The benchmarks that exist, by name. Light to import: completion reads it."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark: its title, and how its figures come about."""

    title: str
    method: str


BENCHMARKS: Final[dict[str, Benchmark]] = {
    "memory": Benchmark(
        "Bulk ciphers over pages, and the cost of encrypting guest memory",
        "SM4-ECB, XTS and XEX, SM3 and AES-XTS over 8 MiB of pages beside the libraries; guest "
        "writes of as much, encrypted and in clear, beside a plain copy; all in interleaved "
        "rounds; gmssl on 16 KiB as a baseline; then reads and writes by block size under each "
        "cipher, tweak and integrity model, launches, acceptance, measurement, exits and shared "
        "copies",
    ),
    "attestation": Benchmark(
        "CSV reports made, and verified from bytes to verdict",
        "launch once, then report and verify with five SM2 signatures and one HMAC each",
    ),
    "fabric": Benchmark(
        "Building and validating a fabric",
        "the built-in kunlun-32k: parse, lay out and check every invariant, per cable",
    ),
    "transfer": Benchmark(
        "Routing and solving a traffic pattern",
        "permutation of 1,024 endpoints of fat-tree-1024: paths, then max-min fair rates",
    ),
}
