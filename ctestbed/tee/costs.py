"""What each memory model costs a guest on this machine: accesses, launches, exits, shared copies.

Everything is timed here, on the emulation. What papers report of hardware stands beside it, as
claims: an emulated controller's ratios say nothing of silicon, whose engines work at line rate.
"""

import hashlib
from collections.abc import Callable, Iterator
from typing import Final

from ctestbed.core.result import Metric
from ctestbed.core.timing import sample_rates
from ctestbed.crypto import bulk, sm3
from ctestbed.crypto.address_tweak import AddressTweak
from ctestbed.crypto.throughput import CLOCK, RATE_UNIT, timed_metric
from ctestbed.tee.attacks.scene import Scene
from ctestbed.tee.controller.controller import MemoryController, Parts
from ctestbed.tee.controller.engine import ByAddress, Engine, NoCipher, XTSByPage
from ctestbed.tee.controller.guest import GuestMemory
from ctestbed.tee.controller.integrity import Integrity
from ctestbed.tee.controller.keys import KeySlots
from ctestbed.tee.controller.replies import PAGE_SIZE
from ctestbed.tee.images import demo_image
from ctestbed.tee.names import PLATFORMS

BLOCKS: Final = {"64B": 64, "4KiB": 4096, "64KiB": 65536, "1MiB": 2**20}
ROUNDS: Final = 5
IMAGE: Final = 2**21
TOUCHED: Final = 2**20
_KEY: Final = bytes(range(64))
_SHARED: Final = 2**20

_Job = tuple[Callable[[], object], int]

PUBLISHED: Final = (
    ("memory.published.sev_snp.compute_loss", 8.0,
     "Microsoft and AMD brief as cited by Constellation: 2 to 8 % on Milan (secondary citation)"),
    ("memory.published.tdx.inference_loss", 10.0,
     "Chrapek et al., arXiv 2509.18886: throughput, upper bound (abstract)"),
    ("memory.published.virtcca.io_loss", 17.0,
     "Xu et al., virtCCA, arXiv 2306.11011 v1: I/O, worst case on a prototype (abstract)"),
)  # fmt: skip
"""Percent lost on hardware, as claimed; no figure of Hygon CSV was found."""


def measure_costs(rounds: int = ROUNDS) -> tuple[Metric, ...]:
    """Time accesses by block size for each model, launches, measurement, exits, shared copies."""
    bulk.prepare()
    metrics = list(_accesses(rounds))
    metrics += _rates(_launches(), RATE_UNIT, rounds)
    metrics += _rates(_acceptances(), RATE_UNIT, rounds)
    metrics += _rates(_digests(), RATE_UNIT, rounds)
    metrics += _rates(_exits(), "exits per CPU second", rounds)
    metrics += _rates(_copies(), RATE_UNIT, rounds)
    metrics += [
        Metric(name, value, "percent", "claimed", "none", source=source)
        for name, value, source in PUBLISHED
    ]
    return tuple(metrics)


def _rates(jobs: dict[str, _Job], unit: str, rounds: int) -> list[Metric]:
    rates = sample_rates(jobs, rounds)
    return [timed_metric(name, unit, "higher", samples, CLOCK) for name, samples in rates.items()]


def _models() -> Iterator[tuple[str, Engine, Integrity]]:
    """Yield each cipher and tweak without integrity, then one cipher with each integrity model."""
    tweak = AddressTweak.derive(bytes(32))
    yield "plain", NoCipher(), Integrity()
    yield "sm4_xts", XTSByPage("SM4"), Integrity()
    yield "sm4_xex", ByAddress("SM4", "XEX", tweak), Integrity()
    yield "aes_xts", XTSByPage("AES", 32, "ieee"), Integrity()
    yield "aes_xex", ByAddress("AES", "XEX", tweak), Integrity()
    yield "aes_xe", ByAddress("AES", "XE", tweak), Integrity()
    yield "aes_xts.mac", XTSByPage("AES", 32, "ieee"), Integrity(mac=True)
    yield "aes_xts.owner", XTSByPage("AES", 32, "ieee"), Integrity(owner=True)
    yield "aes_xts.mac_owner", XTSByPage("AES", 32, "ieee"), Integrity(mac=True, owner=True)
    yield "aes_xts.tree", XTSByPage("AES", 32, "ieee"), Integrity(mac=True, tree=True)


def _guest(engine: Engine, integrity: Integrity) -> GuestMemory:
    keys = KeySlots(1, engine.key_size)
    if engine.key_size:
        keys.install(1, _KEY[: engine.key_size])
    controller = MemoryController(Parts(keys, engine, integrity=integrity))
    slot = 1 if engine.key_size else 0
    return GuestMemory(controller, slot=slot, base=0, size=2 * max(BLOCKS.values()))


def _accesses(rounds: int) -> Iterator[Metric]:
    """Yield rates, latencies, and how many times as long as in plain memory each access takes."""
    jobs: dict[str, _Job] = {}
    for model, engine, integrity in _models():
        memory = _guest(engine, integrity)
        memory.write(0, bytes(2 * max(BLOCKS.values())))
        for label, size in BLOCKS.items():
            data = bytes(range(64)) * (size // 64)
            jobs[f"{model}.read.{label}"] = (lambda m=memory, n=size: m.read(0, n)), size  # type: ignore[misc]
            jobs[f"{model}.write.{label}"] = (lambda m=memory, d=data: m.write(0, d)), size  # type: ignore[misc]
    rates = sample_rates(jobs, rounds)
    for name, samples in rates.items():
        yield timed_metric(f"memory.{name}.throughput", RATE_UNIT, "higher", samples, CLOCK)
        model, access = name.rsplit(".", 2)[0], ".".join(name.rsplit(".", 2)[1:])
        size = BLOCKS[access.rsplit(".", 1)[1]]
        if size == BLOCKS["64B"]:
            spans = [round(size / rate, 12) for rate in samples]
            yield timed_metric(f"memory.{name}.latency", "s", "lower", spans, CLOCK)
        if model != "plain":
            plain = rates[f"plain.{access}"]
            ratios = [round(a / b, 3) for a, b in zip(plain, samples, strict=True)]
            yield timed_metric(f"memory.{name}.slowdown_over_plain", "ratio", "lower", ratios)


def _launches() -> dict[str, _Job]:
    image = demo_image(IMAGE)

    def launch(platform: str) -> None:
        Scene(platform).machine().launch("a", 2 * IMAGE, image)

    return {
        f"memory.launch.{_word(name)}.throughput": ((lambda p=name: launch(p)), IMAGE)  # type: ignore[misc]
        for name in PLATFORMS
    }


def _acceptances() -> dict[str, _Job]:
    """Return the first touch of pages that nobody has given to the guest yet."""

    def touch(platform: str) -> None:
        vm = Scene(platform).machine().launch("a", 2 * TOUCHED, demo_image(PAGE_SIZE))
        vm.memory.write(TOUCHED, bytes(TOUCHED))

    accepting = ("snp", "tdx", "cca", "virtcca")
    return {
        f"memory.accept.{_word(name)}.throughput": ((lambda p=name: touch(p)), TOUCHED)  # type: ignore[misc]
        for name in accepting
    }


def _digests() -> dict[str, _Job]:
    data = bytes(range(256)) * (TOUCHED // 256)
    pages = [data[start : start + PAGE_SIZE] for start in range(0, TOUCHED, PAGE_SIZE)]
    return {
        "memory.measure.sm3_stream.throughput": (lambda: sm3.sm3(data), TOUCHED),
        "memory.measure.sha384_stream.throughput": (
            lambda: hashlib.sha384(data).digest(),
            TOUCHED,
        ),
        "memory.measure.sha384_pages.throughput": (
            lambda: [hashlib.sha384(page).digest() for page in pages],
            TOUCHED,
        ),
    }


def _exits() -> dict[str, _Job]:
    """Return an exit and the entry after it: registers put away and taken back."""
    jobs: dict[str, _Job] = {}
    for name in ("plain", "sev", "sev-es", "snp", "tdx", "cca"):
        vm = Scene(name).machine().launch("a", 4 * PAGE_SIZE, demo_image(PAGE_SIZE))
        if vm.guest.vcpus:
            cpu = vm.guest.vcpus[0]
            jobs[f"memory.exit.{_word(name)}.rate"] = (lambda c=cpu: c.save(c.load())), 1  # type: ignore[misc]
    return jobs


def _copies() -> dict[str, _Job]:
    """Return copies from private memory to a page shared with the host, as of a bounce buffer."""
    jobs: dict[str, _Job] = {}
    for model, engine in (("plain", NoCipher()), ("sm4_xts", XTSByPage("SM4"))):
        memory = _guest(engine, Integrity())
        for label in ("4KiB", "64KiB"):
            size = BLOCKS[label]

            def copy(memory: GuestMemory = memory, size: int = size) -> None:
                memory.write_shared(_SHARED, memory.read(0, size))

            jobs[f"memory.shared_copy.{model}.{label}.throughput"] = copy, size
    return jobs


def _word(platform: str) -> str:
    return platform.replace("-", "_")
