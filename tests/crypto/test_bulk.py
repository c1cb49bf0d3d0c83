"""The compiled ciphers against the library: the same bytes, whatever is asked for."""

import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import InputError
from ctestbed.crypto import bulk, sm3, sm4, sm4_xts
from ctestbed.crypto.address_tweak import AddressTweak, Form, decrypt, encrypt
from ctestbed.crypto.sm4_xts import Standard
from tests.crypto.helpers import many, unhex, vectors

pytestmark = pytest.mark.numba

KEY = bytes.fromhex("0123456789abcdeffedcba9876543210")
TWEAK = AddressTweak.derive(b"a machine")

keys = st.binary(min_size=16, max_size=16)
# Below the least request, a batch of 1,024 blocks less and more than whole, and several.
lengths = st.integers(0, 200) | st.integers(1000, 1050) | st.integers(2040, 2060)


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    assert bulk.prepare()


@contextmanager
def compiled(least: int = 0) -> Iterator[None]:
    """Use them for everything that is large enough."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "_LEAST_SM4", least)
        patch.setattr(bulk, "_LEAST_MESSAGES", 1)
        yield


def some_data(length: int, offset: int) -> memoryview:
    """Return random bytes that do not begin where words do."""
    return memoryview(secrets.token_bytes(length + offset))[offset:]


def test_circuit_is_the_s_box() -> None:
    """All 256 inputs, a bit in each of 256 lanes; the affine constants lie in the round keys."""
    from ctestbed.crypto.kernels_sm4 import S_BOX
    from ctestbed.crypto.kernels_sm4_rounds import s_box

    circuit: Any = s_box
    planes = [sum((x >> bit & 1) << x for x in range(256)) for bit in range(8)]
    out = circuit.py_func(*planes)
    for x in range(256):
        value = sum((out[bit] >> x & 1) << bit for bit in range(8))
        assert value ^ 0xD3 == S_BOX[x ^ 0x75]


def test_s_box_is_affine_inverse_affine() -> None:
    """Circulant from A7 (the lowest bit's row), constant D3, in the field of polynomial 1F5."""
    from ctestbed.crypto.kernels_sm4 import S_BOX

    def affine(x: int) -> int:
        row, result = 0xA7, 0xD3
        for bit in range(8):
            result ^= ((row & x).bit_count() & 1) << bit
            row = (row << 1 | row >> 7) & 255
        return result

    def product(a: int, b: int) -> int:
        total = 0
        for bit in range(8):
            if b >> bit & 1:
                total ^= a << bit
        for bit in range(14, 7, -1):
            if total >> bit & 1:
                total ^= 0x1F5 << (bit - 8)
        return total

    inverse = {a: b for a in range(256) for b in range(256) if product(a, b) == 1} | {0: 0}
    assert [affine(inverse[affine(x)]) for x in range(256)] == list(S_BOX)


def test_example_of_the_standard() -> None:
    """GB/T 32907-2016 A.1, in every place of a batch and of the one begun."""
    (first, *_) = vectors("SM4-block", 2)
    key, plaintext, ciphertext = unhex(first, "key", "plaintext", "ciphertext")
    with compiled():
        assert sm4.ecb_encrypt(key, plaintext * 1500) == ciphertext * 1500
        assert sm4.ecb_decrypt(key, ciphertext * 1500) == plaintext * 1500


def test_stored_vectors_of_the_modes() -> None:
    """However short, the compiled ciphers give what the standards print."""
    with compiled():
        for vector in vectors("SM4-XTS", 9):
            key, iv, plaintext, ciphertext = unhex(vector, "key", "iv", "plaintext", "ciphertext")
            standard: Standard = "ieee" if vector["xts_standard"] == "IEEE" else "gb"
            assert sm4_xts.xts_encrypt(key, iv, plaintext, standard=standard) == ciphertext
            assert sm4_xts.xts_decrypt(key, iv, ciphertext, standard=standard) == plaintext
        for vector in vectors("SM4-CTR", 1):
            key, iv, plaintext, ciphertext = unhex(vector, "key", "iv", "plaintext", "ciphertext")
            assert sm4.ctr_encrypt(key, iv, plaintext) == ciphertext
        message, digest = unhex(vectors("SM3", 3)[1], "message_hex", "digest")
        assert sm3.digests(message * 3, len(message)) == [digest] * 3


@pytest.mark.slow
def test_loops_become_vector_code() -> None:
    """Otherwise all is right and ten times slower. Compiled anew: a cache keeps no assembly."""
    import numba

    from ctestbed.crypto import kernels_sm3, kernels_sm4_rounds

    cpu = Path("/proc/cpuinfo")
    if not cpu.exists() or "avx2" not in cpu.read_text(encoding="utf-8"):
        pytest.skip("a processor without the vector registers that are looked for")
    kernels_sm4_rounds.warm()
    rounds: Any = kernels_sm4_rounds.rounds
    compress: Any = kernels_sm3.compress
    for kernel, signature in (
        (rounds, rounds.signatures[0]),
        (compress, (numba.uint32[::1],) * 3),
    ):
        anew = numba.njit(nogil=True)(kernel.py_func)
        anew.compile(signature)
        (assembly,) = anew.inspect_asm().values()
        assert len(re.findall(r"%[yz]mm", assembly)) > 500


@many
@given(keys, lengths, st.integers(0, 17))
def test_ecb_equals_the_library(key: bytes, blocks: int, offset: int) -> None:
    data = some_data(16 * blocks, offset)
    with bulk.library_only():
        expected = sm4.ecb_encrypt(key, data)
    with compiled():
        assert sm4.ecb_encrypt(key, data) == expected
        assert sm4.ecb_decrypt(key, bytearray(expected)) == data


counters = st.binary(min_size=16, max_size=16) | st.sampled_from(
    [b"\xff" * 16, bytes(8) + b"\xff" * 8, bytes(15) + b"\xfe", b"\xff" * 14 + b"\xfc\x01"]
)


@many
@given(keys, counters, st.integers(0, 17000) | st.integers(32700, 32900), st.integers(0, 9))
def test_ctr_equals_the_library(key: bytes, counter: bytes, length: int, offset: int) -> None:
    """At any length, and where the counter carries into its upper half or starts again."""
    data = some_data(length, offset)
    with bulk.library_only():
        expected = sm4.ctr_encrypt(key, counter, data)
    with compiled():
        assert sm4.ctr_encrypt(key, counter, data) == expected
        assert sm4.ctr_decrypt(key, counter, expected) == data


units_of = st.one_of(
    st.tuples(st.integers(1, 40), st.integers(1, 70)),
    st.tuples(st.sampled_from([255, 256, 257, 1023, 1024, 1025, 3000]), st.integers(1, 5)),
)


@many
@given(
    st.binary(min_size=32, max_size=32),
    units_of,
    st.integers(0, 17),
    st.sampled_from(["gb", "ieee"]),
)
def test_xts_equals_the_library(
    key: bytes, shape: tuple[int, int], offset: int, standard: Standard
) -> None:
    size, units = 16 * shape[0], shape[1]
    data, tweaks = some_data(size * units, offset), secrets.token_bytes(16 * units)
    with bulk.library_only():
        expected = sm4_xts.encrypt_units(key, tweaks, data, size, standard)
    with compiled():
        assert sm4_xts.encrypt_units(key, tweaks, data, size, standard) == expected
        assert sm4_xts.decrypt_units(key, tweaks, expected, size, standard) == data


@many
@given(
    st.binary(min_size=32, max_size=32), st.integers(2048, 9000), st.sampled_from(["gb", "ieee"])
)
def test_a_partial_block_steals_from_a_compiled_one(
    key: bytes, length: int, standard: Standard
) -> None:
    data, tweak = secrets.token_bytes(length), secrets.token_bytes(16)
    with bulk.library_only():
        expected = sm4_xts.xts_encrypt(key, tweak, data, standard=standard)
    with compiled():
        assert sm4_xts.xts_encrypt(key, tweak, data, standard=standard) == expected
        assert sm4_xts.xts_decrypt(key, tweak, expected, standard=standard) == data


def test_standards_part_after_the_first_block_of_every_unit() -> None:
    """Alpha**8 moves bytes alike in both, and what is folded back is 0 if the last byte was."""
    units = 2048
    data = bytes(units * 256)
    tweaks = b"".join(number.to_bytes(16, "little") for number in range(units))
    standards: tuple[Standard, ...] = ("gb", "ieee")
    gb, ieee = (sm4_xts.encrypt_units(KEY * 2, tweaks, data, 256, each) for each in standards)
    first = sm4.ecb_encrypt(KEY, tweaks)
    for unit in range(units):
        same = [
            gb[at : at + 16] == ieee[at : at + 16] for at in range(256 * unit, 256 * unit + 256, 16)
        ]
        folded = first[16 * unit + 15] != 0
        assert same == [place == 0 or (place == 8 and not folded) for place in range(16)]


@many
@given(
    st.sampled_from(["SM4", "AES"]),
    keys,
    st.integers(0, (1 << 48) - 4000),
    lengths,
    st.sampled_from(["XE", "XEX"]),
)
def test_address_tweaks_equal_the_library(
    cipher: Any, key: bytes, block: int, blocks: int, form: Form
) -> None:
    data = some_data(16 * blocks, block % 5)
    with bulk.library_only():
        expected = encrypt(cipher, key, TWEAK, 16 * block, data, form)
    with compiled():
        assert encrypt(cipher, key, TWEAK, 16 * block, data, form) == expected
        assert decrypt(cipher, key, TWEAK, 16 * block, expected, form) == data


@many
@given(
    st.sampled_from([1, 3, 4, 8, 52, 55, 56, 60, 64, 68, 116, 120, 124, 128, 4096]),
    st.integers(1, 70),
    st.integers(0, 5),
)
def test_digests_equal_the_library(size: int, count: int, offset: int) -> None:
    """Around the lengths where padding takes another block, and in the last lanes."""
    data = some_data(size * count, offset)
    with compiled():
        found = sm3.digests(data, size)
    assert found == [sm3.sm3(data[at : at + size]) for at in range(0, len(data), size)]


@pytest.mark.parametrize(("length", "size"), [(10, 3), (10, 0), (10, -5), (0, 0), (3, 4)])
def test_partial_messages_are_refused(length: int, size: int) -> None:
    with pytest.raises(InputError) as refusal:
        sm3.digests(bytes(length), size)
    assert refusal.value.code == "CTB-K010"


def test_kernels_are_compiled_once() -> None:
    """Whatever is passed: another type of array would mean seconds of compiling in mid-request."""
    from ctestbed.crypto import kernels_masks, kernels_sm3, kernels_sm4

    for data in (bytes(8192), bytearray(8192), memoryview(bytearray(8193))[1:]):
        sm4.ecb_encrypt(KEY, data)
        sm4.ctr_encrypt(KEY, KEY, data)
        sm4_xts.encrypt_units(KEY + KEY[::-1], bytes(32), data, 4096, "gb")
        encrypt("SM4", KEY, TWEAK, 4096, data, "XEX")
        encrypt("AES", KEY, TWEAK, 4096, data, "XEX")
        sm3.digests(data, 64)
    kernels: list[Any] = [
        kernels_sm4.run,
        kernels_sm4.round_keys,
        kernels_sm3.digest_all,
        kernels_masks.add_masks,
    ]
    assert [len(kernel.signatures) for kernel in kernels] == [1] * 4


def engine(monkeypatch: pytest.MonkeyPatch, kernels: object, *, example: bool = True) -> Any:
    monkeypatch.setattr(bulk, "import_module", lambda _: kernels)
    return bulk._Compiled("kernels_sm4", "run", lambda _: example)


JITTED = SimpleNamespace(run=SimpleNamespace(signatures=[]))


def test_loaded_when_it_would_have_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "_LOADING", 0.4)
    monkeypatch.setattr("ctestbed.core.kernel_cache.is_compiled", lambda *_: True)
    door = engine(monkeypatch, JITTED)
    assert [door.for_saving(0.3), door.for_saving(0.3)] == [None, JITTED]
    assert door.for_saving(0) is JITTED
    monkeypatch.setattr("ctestbed.core.kernel_cache.is_compiled", lambda *_: False)
    door = engine(monkeypatch, JITTED)
    assert [door.for_saving(4.0) for _ in range(3)] == [None, None, JITTED]


@pytest.mark.parametrize(
    ("kernels", "example"),
    [(JITTED, False), (SimpleNamespace(run=print), True), (None, True)],
    ids=["wrong result", "no compiler", "no kernel"],
)
def test_what_does_not_work_is_not_used(
    kernels: object, example: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = engine(monkeypatch, kernels, example=example)
    assert door.load() is None
    assert door.for_saving(1e9) is None


def test_numba_that_does_not_load_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: str) -> None:
        raise ImportError

    monkeypatch.setattr(bulk, "import_module", broken)
    door = bulk._Compiled("kernels_sm4", "run", lambda _: True)
    assert door.for_saving(1e9) is None


def test_the_library_alone_is_used_meanwhile() -> None:
    with bulk.library_only():
        assert bulk.ecb(KEY, bytes(2**20), decrypt=False) is None
        assert not bulk.prepare()
    assert bulk.ecb(KEY, bytes(2**20), decrypt=False) is not None
    assert bulk.prepare()


def test_small_requests_load_no_numba() -> None:
    program = (
        "import sys\n"
        "from ctestbed.crypto import sm3, sm4, sm4_xts\n"
        "data = bytes(2**20)\n"
        "sm4.ecb_encrypt(data[:16], data)\n"
        "sm4_xts.encrypt_units(data[:32], data[:4096], data, 4096, 'gb')\n"
        "sm3.digests(data, 4096)\n"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert done.stdout == "False\n"
