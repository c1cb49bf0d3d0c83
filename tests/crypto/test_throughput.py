"""The measure of the bulk ciphers: names and forms that others rely on, never speed."""

import pytest

from ctestbed.crypto.throughput import PAGE_SIZE, hash_page, measure_ciphers, page_tweaks
from tests.crypto.helpers import vectors

pytestmark = pytest.mark.numba


def test_every_cipher_and_its_ratio() -> None:
    metrics = {metric.name: metric for metric in measure_ciphers(64 * 1024, 6)}
    ciphers = ["sm4_ecb", "sm4_xts", "sm4_xex", "sm3_pages", "aes_xts"]
    throughputs = [f"memory.{name}.throughput" for name in ciphers]
    libraries = [f"memory.library_{name}.throughput" for name in ("sm4", "sm3", "aes_xts")]
    ratios = [f"{name}.vs_library" for name in throughputs]
    assert set(metrics) == {*throughputs, *ratios, *libraries}
    for name, metric in metrics.items():
        assert (metric.provenance, metric.kind, metric.n) == ("measured", "timed", 6)
        assert metric.unit == ("ratio" if name in ratios else "bytes per CPU second")
        assert metric.better == "higher"
        assert metric.ci95 is not None
        assert not isinstance(metric.value, str)
        assert 0 < metric.ci95[0] <= metric.value <= metric.ci95[1]
        canonical = metric.to_dict(canonical=True)
        assert not {"value", "n", "ci95"} & set(canonical)


def test_one_cipher_alone() -> None:
    names = [metric.name for metric in measure_ciphers(1, 1, ["xts"])]
    assert names == [
        "memory.sm4_xts.throughput",
        "memory.sm4_xts.throughput.vs_library",
        "memory.library_sm4.throughput",
    ]


def test_the_library_s_digest_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    message, digest = (
        bytes.fromhex(vectors("SM3", 3)[1][key]) for key in ("message_hex", "digest")
    )
    assert hash_page(memoryview(message)) == digest
    monkeypatch.setattr("hashlib.algorithms_available", set())
    assert hash_page(memoryview(message)) == digest


def test_tweaks_are_addresses() -> None:
    assert page_tweaks(3)[32:] == (2 * PAGE_SIZE).to_bytes(16, "little")
