"""AES-XTS of many units: the sample inputs of IEEE 1619, and the library unit by unit."""

import secrets
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import InputError
from ctestbed.crypto import aes_xts, bulk
from ctestbed.crypto.aes_xts import decrypt_units, encrypt_units
from tests.crypto.helpers import many

pytestmark = pytest.mark.numba

KEY = bytes(range(32))


@pytest.fixture(params=["compiled masks", "library"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bulk.prepare()
    monkeypatch.setattr(aes_xts, "_LEAST", 0 if request.param == "compiled masks" else 1 << 60)


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize(
    ("key", "ciphertext"),
    [
        (
            "11" * 16 + "22" * 16,
            "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0",
        ),
        (
            "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0" + "22" * 16,
            "af85336b597afc1a900b2eb21ec949d292df4c047e0b21532186a5971a227a89",
        ),
    ],
)
def test_sample_inputs_of_the_standard(key: str, ciphertext: str) -> None:
    """IEEE 1619-2018 annex B, vectors 2 and 3: a data unit of 32 bytes, number 3333333333."""
    tweak = (0x3333333333).to_bytes(16, "little")
    done = encrypt_units(bytes.fromhex(key), tweak * 3, b"\x44" * 96, 32)
    assert done.hex() == ciphertext * 3
    assert decrypt_units(bytes.fromhex(key), tweak * 3, done, 32) == b"\x44" * 96


@many
@given(
    st.binary(min_size=32, max_size=32).filter(lambda key: key[:16] != key[16:])
    | st.binary(min_size=64, max_size=64).filter(lambda key: key[:32] != key[32:]),
    st.sampled_from([1, 2, 33, 256, 257, 1024, 17000]),
    st.integers(0, 4),
    st.integers(0, 3),
)
def test_units_equal_the_library_one_by_one(
    key: bytes, blocks: int, units: int, offset: int
) -> None:
    """Also units that are larger than what is done at a time."""
    size = 16 * blocks
    data = memoryview(secrets.token_bytes(units * size + offset))[offset:]
    tweaks = secrets.token_bytes(units * 16)
    expected = b"".join(
        Cipher(algorithms.AES(key), modes.XTS(tweaks[16 * unit : 16 * unit + 16]))
        .encryptor()
        .update(data[size * unit : size * (unit + 1)])
        for unit in range(units)
    )
    assert bulk.prepare()
    with pytest.MonkeyPatch.context() as patch:
        for least in (0, 1 << 60):
            patch.setattr(aes_xts, "_LEAST", least)
            assert encrypt_units(key, tweaks, data, size) == expected
            assert decrypt_units(key, tweaks, expected, size) == data


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: encrypt_units(KEY[:16], bytes(16), bytes(16), 16), "CTB-K005"),
        (lambda: encrypt_units(KEY + KEY[:16], bytes(16), bytes(16), 16), "CTB-K005"),
        (lambda: encrypt_units(KEY, bytes(15), bytes(16), 16), "CTB-K006"),
        (lambda: decrypt_units(KEY, bytes(16), bytes(17), 17), "CTB-K007"),
        (lambda: decrypt_units(KEY, bytes(16), bytes(48), 32), "CTB-K007"),
        (lambda: decrypt_units(KEY, b"", b"", 0), "CTB-K007"),
        (lambda: encrypt_units(bytes(32), bytes(16), bytes(16), 16), "CTB-K011"),
        (lambda: encrypt_units(KEY * 2, bytes(16), bytes(16), 16), "CTB-K011"),
    ],
)
def test_bad_input_is_refused(call: Callable[[], bytes], code: str) -> None:
    with pytest.raises(InputError) as refusal:
        call()
    assert refusal.value.code == code
