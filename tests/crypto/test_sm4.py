from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import InputError, NotAuthenticError
from ctestbed.crypto import gmssl_oracle, sm4
from tests.crypto.helpers import few, flip, many, unhex, vectors

KEY = bytes.fromhex("0123456789abcdeffedcba9876543210")
IV = bytes(range(16))
NONCE = bytes(range(12))

keys = st.binary(min_size=16, max_size=16)
blocks = st.binary(max_size=96).map(lambda data: data[: len(data) // 16 * 16])


def test_block() -> None:
    """GB/T 32907-2016 annex A.1: key and plaintext are the same."""
    expected = "681edf34d206965e86b3e94f536e4246"
    assert sm4.ecb_encrypt(KEY, KEY).hex() == expected
    assert sm4.ecb_decrypt(KEY, bytes.fromhex(expected)) == KEY


def test_block_a_million_times() -> None:
    """GB/T 32907-2016 annex A.2. CBC over zeros feeds each block's result to the next."""
    chain = sm4.cbc_encrypt(KEY, KEY, bytes(16 * 1_000_000))
    assert chain[-16:].hex() == "595298c7c6fd271f0402f804c33d3f66"


def test_authenticated() -> None:
    """RFC 8998 appendix A.1."""
    plaintext = b"".join(bytes([byte]) * 8 for byte in b"\xaa\xbb\xcc\xdd\xee\xff\xee\xaa")
    nonce = bytes.fromhex("00001234567800000000abcd")
    associated = bytes.fromhex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
    expected = bytes.fromhex(
        "17f399f08c67d5ee19d0dc9969c4bb7d5fd46fd3756489069157b282bb200735"
        "d82710ca5c22f0ccfa7cbf93d496ac15a56834cbcf98c397b4024a2691233b8d"
        "83de3541e4c2b58177e065a9bf7b62ec"
    )
    assert sm4.gcm_encrypt(KEY, nonce, plaintext, associated) == expected
    assert sm4.gcm_decrypt(KEY, nonce, expected, associated) == plaintext


def test_stored_blocks() -> None:
    for vector in vectors("SM4-block", 2):
        key, plaintext, ciphertext = unhex(vector, "key", "plaintext", "ciphertext")
        chain = sm4.cbc_encrypt(key, plaintext, bytes(16 * vector.get("iterations", 1)))
        assert chain[-16:] == ciphertext


def test_stored_cbc() -> None:
    for vector in vectors("SM4-CBC", 3):
        key, iv, plaintext, ciphertext = unhex(vector, "key", "iv", "plaintext", "ciphertext")
        padding = len(ciphertext) - len(plaintext)  # the draft's longer vectors carry PKCS #7
        padded = plaintext + bytes([padding] * padding)
        assert sm4.cbc_encrypt(key, iv, padded) == ciphertext
        assert sm4.cbc_decrypt(key, iv, ciphertext) == padded


def test_stored_ctr() -> None:
    for vector in vectors("SM4-CTR", 1):
        key, iv, plaintext, ciphertext = unhex(vector, "key", "iv", "plaintext", "ciphertext")
        assert sm4.ctr_encrypt(key, iv, plaintext) == ciphertext
        assert sm4.ctr_decrypt(key, iv, ciphertext) == plaintext


def test_stored_gcm() -> None:
    for vector in vectors("SM4-GCM", 1):
        key, iv, aad, plaintext = unhex(vector, "key", "iv", "aad", "plaintext")
        expected = b"".join(unhex(vector, "ciphertext", "tag"))
        assert sm4.gcm_encrypt(key, iv, plaintext, aad) == expected


@few
@given(keys, keys, blocks)
def test_ecb_and_cbc_equal_gmssl(key: bytes, iv: bytes, data: bytes) -> None:
    assert sm4.ecb_encrypt(key, data) == gmssl_oracle.sm4_ecb_encrypt(key, data)
    assert sm4.cbc_encrypt(key, iv, data) == gmssl_oracle.sm4_cbc_encrypt(key, iv, data)


@many
@given(keys, keys, blocks)
def test_ecb_and_cbc_round_trip(key: bytes, iv: bytes, data: bytes) -> None:
    assert sm4.ecb_decrypt(key, sm4.ecb_encrypt(key, data)) == data
    assert sm4.cbc_decrypt(key, iv, sm4.cbc_encrypt(key, iv, data)) == data


@many
@given(keys, st.integers(0, 2**128 - 1) | st.just(2**128 - 1), st.binary(max_size=80))
def test_ctr_encrypts_a_big_endian_counter(key: bytes, start: int, data: bytes) -> None:
    counters = [(start + index) % 2**128 for index in range(5)]
    stream = sm4.ecb_encrypt(key, b"".join(counter.to_bytes(16) for counter in counters))
    expected = bytes(a ^ b for a, b in zip(data, stream, strict=False))
    assert sm4.ctr_encrypt(key, start.to_bytes(16), data) == expected
    assert sm4.ctr_decrypt(key, start.to_bytes(16), expected) == data


@many
@given(keys, st.binary(max_size=80), st.binary(max_size=40))
def test_gcm_round_trips(key: bytes, data: bytes, associated: bytes) -> None:
    sealed = sm4.gcm_encrypt(key, NONCE, data, associated)
    assert len(sealed) == len(data) + sm4.TAG_SIZE
    assert sm4.gcm_decrypt(key, NONCE, memoryview(sealed), associated) == data


@many
@given(st.binary(max_size=40), st.integers(0, 8 * 56 - 1))
def test_gcm_refuses_one_flipped_bit(data: bytes, bit: int) -> None:
    sealed = sm4.gcm_encrypt(KEY, NONCE, data, b"associated")
    forgeries = [
        (KEY, NONCE, flip(sealed, bit), b"associated"),
        (KEY, flip(NONCE, bit), sealed, b"associated"),
        (flip(KEY, bit), NONCE, sealed, b"associated"),
        (KEY, NONCE, sealed, flip(b"associated", bit)),
    ]
    for forgery in forgeries:
        with pytest.raises(NotAuthenticError) as refusal:
            sm4.gcm_decrypt(*forgery)
        assert refusal.value.code == "CTB-K009"


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: sm4.ecb_encrypt(KEY[:15], IV), "CTB-K005"),
        (lambda: sm4.ecb_decrypt(KEY + b"\0", IV), "CTB-K005"),
        (lambda: sm4.gcm_encrypt(KEY * 2, NONCE, b""), "CTB-K005"),
        (lambda: sm4.cbc_encrypt(KEY, IV[:15], IV), "CTB-K006"),
        (lambda: sm4.cbc_decrypt(KEY, b"", IV), "CTB-K006"),
        (lambda: sm4.ctr_encrypt(KEY, NONCE, IV), "CTB-K006"),
        (lambda: sm4.gcm_encrypt(KEY, IV, b""), "CTB-K006"),
        (lambda: sm4.gcm_decrypt(KEY, b"", bytes(16)), "CTB-K006"),
        (lambda: sm4.ecb_encrypt(KEY, bytes(17)), "CTB-K007"),
        (lambda: sm4.ecb_decrypt(KEY, bytes(15)), "CTB-K007"),
        (lambda: sm4.cbc_encrypt(KEY, IV, bytes(31)), "CTB-K007"),
        (lambda: sm4.cbc_decrypt(KEY, IV, bytes(1)), "CTB-K007"),
        (lambda: sm4.gcm_decrypt(KEY, NONCE, bytes(15)), "CTB-K007"),
    ],
)
def test_wrong_lengths_are_refused(call: Callable[[], bytes], code: str) -> None:
    with pytest.raises(InputError) as refusal:
        call()
    assert refusal.value.code == code
