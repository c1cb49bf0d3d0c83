"""What the bulk ciphers do on this machine, in CPU time and beside the libraries they stand for."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ctestbed.core.result import Better, Metric
from ctestbed.core.timing import median, median_interval, sample_rates
from ctestbed.crypto import aes_xts, bulk, sm3, sm4, sm4_xts
from ctestbed.crypto.address_tweak import AddressTweak, encrypt

PAGE_SIZE: Final = 4096
RATE_UNIT: Final = "bytes per CPU second"
CLOCK: Final = "CPU time of this process (process_time), single thread"

_KEY: Final = bytes(range(32))
_ADDRESS: Final = 0x1_2345_6000


class _Job(NamedTuple):
    """One cipher over pages: its metric, what it does, and the library's job to compare with."""

    name: str
    ours: Callable[[], object]
    library: str


def measure_ciphers(
    size: int, rounds: int, names: Sequence[str] = ("ecb", "xts", "xex", "sm3", "aes")
) -> tuple[Metric, ...]:
    """Time `rounds` passes of each cipher named over `size` bytes of whole pages.

    Each round times all, and the libraries on the same data, so that a busy neighbour slows all
    alike. `.vs_library` is the median of the rounds' ratios: SM4 in any mode to cryptography's
    SM4-ECB, SM3 of pages to hashlib's (or cryptography's where Python has none), and AES-XTS to
    cryptography's with a context for each page.
    """
    compiled = bulk.prepare()
    data = bytes(range(256)) * (max(size // PAGE_SIZE, 1) * PAGE_SIZE // 256)
    jobs = {name: job for name, job in _jobs(data).items() if name in names}
    libraries = _libraries(data)
    used = {job.library: libraries[job.library] for job in jobs.values()}
    timed = {job.name: job.ours for job in jobs.values()} | used
    rates = sample_rates({name: (work, len(data)) for name, work in timed.items()}, rounds)
    how = f"{CLOCK}; {'compiled' if compiled else 'library'}"
    metrics = []
    for job in jobs.values():
        ours, theirs = rates[job.name], rates[job.library]
        ratios = [round(a / b, 3) for a, b in zip(ours, theirs, strict=True)]
        metrics += [
            timed_metric(f"memory.{job.name}.throughput", RATE_UNIT, "higher", ours, how),
            timed_metric(
                f"memory.{job.name}.throughput.vs_library", "ratio", "higher", ratios, how
            ),
        ]
    metrics += [
        timed_metric(f"memory.{name}.throughput", RATE_UNIT, "higher", rates[name]) for name in used
    ]
    return tuple(metrics)


def timed_metric(
    name: str, unit: str, better: Better, samples: Sequence[float], source: str = CLOCK
) -> Metric:
    """Return the median of what was timed, with the interval that holds it 95 times in 100."""
    return Metric(
        name,
        median(samples),
        unit,
        provenance="measured",
        better=better,
        kind="timed",
        source=source,
        n=len(samples),
        ci95=median_interval(samples),
    )


def _jobs(data: bytes) -> dict[str, _Job]:
    tweaks = page_tweaks(len(data) // PAGE_SIZE)
    by_address = AddressTweak.derive(_KEY)
    return {
        "ecb": _Job("sm4_ecb", lambda: sm4.ecb_encrypt(_KEY[:16], data), "library_sm4"),
        "xts": _Job(
            "sm4_xts",
            lambda: sm4_xts.encrypt_units(_KEY, tweaks, data, PAGE_SIZE, "gb"),
            "library_sm4",
        ),
        "xex": _Job(
            "sm4_xex",
            lambda: encrypt("SM4", _KEY[:16], by_address, _ADDRESS, data, "XEX"),
            "library_sm4",
        ),
        "sm3": _Job("sm3_pages", lambda: sm3.digests(data, PAGE_SIZE), "library_sm3"),
        "aes": _Job(
            "aes_xts",
            lambda: aes_xts.encrypt_units(_KEY, tweaks, data, PAGE_SIZE),
            "library_aes_xts",
        ),
    }


def _libraries(data: bytes) -> dict[str, Callable[[], object]]:
    tweak, pages = bytes(16), range(0, len(data), PAGE_SIZE)
    view = memoryview(data)

    def sm4_ecb() -> None:
        Cipher(algorithms.SM4(_KEY[:16]), modes.ECB()).encryptor().update(data)  # noqa: S305

    def sm3_pages() -> None:
        for start in pages:
            hash_page(view[start : start + PAGE_SIZE])

    def aes_xts_pages() -> None:
        for start in pages:
            engine = Cipher(algorithms.AES(_KEY), modes.XTS(tweak)).encryptor()
            engine.update(view[start : start + PAGE_SIZE])

    return {"library_sm4": sm4_ecb, "library_sm3": sm3_pages, "library_aes_xts": aes_xts_pages}


def hash_page(page: memoryview) -> bytes:
    """Return the SM3 digest by hashlib, or by cryptography where this Python has none."""
    if "sm3" in hashlib.algorithms_available:
        return hashlib.new("sm3", page).digest()
    return sm3.sm3(page)


def page_tweaks(pages: int) -> bytes:
    """Return the tweaks of pages from address 0 on: their addresses, little endian."""
    return b"".join((number * PAGE_SIZE).to_bytes(16, "little") for number in range(pages))
