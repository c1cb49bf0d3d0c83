import secrets
from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import InputError
from ctestbed.crypto import sm4
from ctestbed.crypto.sm4_xts import (
    Standard,
    decrypt_units,
    encrypt_units,
    xts_decrypt,
    xts_encrypt,
)
from tests.crypto.helpers import few, flip, many, unhex, vectors

STANDARDS: Final[tuple[Standard, ...]] = ("gb", "ieee")
KEY = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c000102030405060708090a0b0c0d0e0f")
TWEAK = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")

both = pytest.mark.parametrize("standard", STANDARDS)
keys = st.binary(min_size=32, max_size=32)
tweaks_ = st.binary(min_size=16, max_size=16)


def reference_tweaks(key: bytes, tweak: bytes, blocks: int, standard: Standard) -> list[bytes]:
    """Return the tweak of every block: one multiplication by alpha at a time, on integers."""
    result = [sm4.ecb_encrypt(key[16:], tweak)]
    while len(result) < blocks:
        if standard == "ieee":  # IEEE 1619-2018 section 5.2
            number = int.from_bytes(result[-1], "little") << 1
            if number >> 128:
                number ^= 1 << 128 | 0x87
            result.append(number.to_bytes(16, "little"))
        else:  # GB/T 17964-2021: the polynomial's lowest term is the first bit
            number = int.from_bytes(result[-1])
            number = number >> 1 ^ (0xE1 << 120 if number & 1 else 0)
            result.append(number.to_bytes(16))
    return result


def reference(key: bytes, tweak: bytes, data: bytes, standard: Standard) -> bytes:
    """Encrypt whole blocks by the definition."""
    mask = int.from_bytes(b"".join(reference_tweaks(key, tweak, len(data) // 16, standard)))
    masked = (int.from_bytes(data) ^ mask).to_bytes(len(data))
    return (int.from_bytes(sm4.ecb_encrypt(key[:16], masked)) ^ mask).to_bytes(len(data))


@pytest.mark.parametrize(
    ("standard", "expected"),
    [
        (
            "gb",  # GB/T 17964-2021 B.7
            (
                "e9538251c71d7b80bbe4483fef497bd12c5c581bd6242fc51e08964fb4f60fdb"
                "0ba42f63499279213d318d2c11f6886e903be7f93a1b3479"
            ),
        ),
        (
            "ieee",  # the same input in OpenSSL's test data, xts_standard=IEEE
            (
                "e9538251c71d7b80bbe4483fef497bd1b3db1a3e60408c575d63ff7db39f8326"
                "0869f9e2585fec9f0b863bf8fd784b8627d16c0db6d2cfc7"
            ),
        ),
    ],
)
def test_published_unit_with_a_partial_block(standard: Standard, expected: str) -> None:
    plaintext = bytes.fromhex(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
        "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17"
    )
    ciphertext = xts_encrypt(KEY, TWEAK, plaintext, standard=standard)
    assert ciphertext.hex() == expected
    assert xts_decrypt(KEY, TWEAK, ciphertext, standard=standard) == plaintext


def test_stored_units() -> None:
    for vector in vectors("SM4-XTS", 9):
        key, iv, plaintext, ciphertext = unhex(vector, "key", "iv", "plaintext", "ciphertext")
        standard: Standard = "ieee" if vector["xts_standard"] == "IEEE" else "gb"
        assert xts_encrypt(key, iv, plaintext, standard=standard) == ciphertext
        assert xts_decrypt(key, iv, ciphertext, standard=standard) == plaintext


@many
@given(keys, tweaks_, st.integers(1, 100), st.sampled_from(STANDARDS))
def test_whole_blocks_follow_the_definition(
    key: bytes, tweak: bytes, blocks: int, standard: Standard
) -> None:
    data = secrets.token_bytes(16 * blocks)
    expected = reference(key, tweak, data, standard)
    assert xts_encrypt(key, tweak, data, standard=standard) == expected


@both
@pytest.mark.parametrize("length", range(16, 81))
def test_stealing_at_every_length(length: int, standard: Standard) -> None:
    """IEEE 1619-2018 section 5.3.2: the partial block borrows from the one before it."""
    data = secrets.token_bytes(length)
    ciphertext = xts_encrypt(KEY, TWEAK, data, standard=standard)
    assert len(ciphertext) == length
    assert xts_decrypt(KEY, TWEAK, ciphertext, standard=standard) == data
    blocks, rest = divmod(length, 16)
    if not rest:
        return
    whole = reference(KEY, TWEAK, data[: 16 * blocks], standard)
    last_tweak = reference_tweaks(KEY, TWEAK, blocks + 1, standard)[-1]
    borrowed = data[16 * blocks :] + whole[-16 + rest :]
    masked = bytes(a ^ b for a, b in zip(borrowed, last_tweak, strict=True))
    encrypted = sm4.ecb_encrypt(KEY[:16], masked)
    final = bytes(a ^ b for a, b in zip(encrypted, last_tweak, strict=True))
    assert ciphertext == whole[:-16] + final + whole[-16:][:rest]


@many
@given(keys, tweaks_, st.binary(min_size=48, max_size=80))
def test_standards_agree_on_the_first_block_only(key: bytes, tweak: bytes, data: bytes) -> None:
    """Only the tweak 0 has the same successor in both: their difference has full rank."""
    gb, ieee = (xts_encrypt(key, tweak, data, standard=standard) for standard in STANDARDS)
    assert gb[:16] == ieee[:16]
    assert gb[16:32] != ieee[16:32]


@many
@given(st.binary(min_size=16, max_size=80), st.integers(0, 639), st.sampled_from(STANDARDS))
def test_every_bit_of_key_tweak_and_data_matters(data: bytes, bit: int, standard: Standard) -> None:
    ciphertext = xts_encrypt(KEY, TWEAK, data, standard=standard)
    assert xts_encrypt(flip(KEY, bit), TWEAK, data, standard=standard) != ciphertext
    assert xts_encrypt(KEY, flip(TWEAK, bit), data, standard=standard) != ciphertext
    assert xts_encrypt(KEY, TWEAK, flip(data, bit), standard=standard) != ciphertext


@few
@given(st.integers(0, 9), st.integers(1, 70), st.sampled_from(STANDARDS))
def test_many_units_equal_each_alone(units: int, blocks: int, standard: Standard) -> None:
    size = 16 * blocks
    data, tweaks = secrets.token_bytes(units * size), secrets.token_bytes(units * 16)
    alone = [
        xts_encrypt(
            KEY,
            tweaks[16 * unit : 16 * (unit + 1)],
            data[size * unit : size * (unit + 1)],
            standard=standard,
        )
        for unit in range(units)
    ]
    ciphertext = encrypt_units(KEY, tweaks, data, size, standard)
    assert ciphertext == b"".join(alone)
    assert decrypt_units(KEY, tweaks, ciphertext, size, standard) == data


@both
@pytest.mark.parametrize(("size", "units"), [(4096, 600), (3 << 18, 3)])
def test_units_beyond_one_batch(size: int, units: int, standard: Standard) -> None:
    """2.3 MiB either way: several batches of small units, and units near a batch each."""
    data, tweaks = secrets.token_bytes(units * size), secrets.token_bytes(units * 16)
    ciphertext = encrypt_units(KEY, tweaks, memoryview(data), size, standard)
    for unit in (0, units // 2, units - 1):
        part = slice(size * unit, size * (unit + 1))
        tweak = tweaks[16 * unit : 16 * (unit + 1)]
        assert ciphertext[part] == reference(KEY, tweak, data[part], standard)
    assert decrypt_units(KEY, tweaks, bytearray(ciphertext), size, standard) == data


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: xts_encrypt(KEY[:16], TWEAK, bytes(16), standard="gb"), "CTB-K005"),
        (lambda: xts_decrypt(KEY + b"\0", TWEAK, bytes(16), standard="gb"), "CTB-K005"),
        (lambda: encrypt_units(b"", TWEAK, bytes(16), 16, "gb"), "CTB-K005"),
        (lambda: xts_encrypt(KEY, TWEAK[:15], bytes(16), standard="gb"), "CTB-K006"),
        (lambda: encrypt_units(KEY, TWEAK, bytes(32), 16, "gb"), "CTB-K006"),
        (lambda: decrypt_units(KEY, TWEAK * 2, bytes(32), 32, "gb"), "CTB-K006"),
        (lambda: xts_encrypt(KEY, TWEAK, bytes(15), standard="gb"), "CTB-K007"),
        (lambda: xts_decrypt(KEY, TWEAK, b"", standard="ieee"), "CTB-K007"),
        (lambda: xts_encrypt(KEY, TWEAK, bytes((16 << 20) + 1), standard="gb"), "CTB-K007"),
        (lambda: encrypt_units(KEY, TWEAK, bytes(24), 24, "gb"), "CTB-K007"),
        (lambda: encrypt_units(KEY, TWEAK, bytes(40), 32, "gb"), "CTB-K007"),
        (lambda: encrypt_units(KEY, b"", b"", 0, "gb"), "CTB-K007"),
        (lambda: encrypt_units(KEY, b"", b"", -16, "gb"), "CTB-K007"),
    ],
)
def test_wrong_lengths_are_refused(call: Callable[[], bytes], code: str) -> None:
    with pytest.raises(InputError) as refusal:
        call()
    assert refusal.value.code == code
