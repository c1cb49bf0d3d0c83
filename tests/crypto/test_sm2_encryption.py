"""SM2 encryption: the standard's example, gmssl both ways, every order and form, and forgeries."""

from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import CtestbedError, ExitCode, InputError
from ctestbed.crypto import gmssl_oracle, sm2_encryption
from ctestbed.crypto.sm2 import PreparedKey, PrivateKey, PublicKey, generate_private_key
from ctestbed.crypto.sm2_curve import N, P
from ctestbed.crypto.sm2_encryption import (
    Ciphertext,
    DecryptionError,
    Order,
    decrypt,
    dump_ciphertext,
    dump_der_ciphertext,
    encrypt,
    parse_ciphertext,
    parse_der_ciphertext,
)
from tests.crypto.helpers import few, flip, many, vectors

KEY = PrivateKey(0x3945208F_7B2144B1_3F36E38A_C6D39F95_88939369_2860B51A_42FB81EF_4DF7C5B8)
MESSAGE = b"encryption standard"
ORDERS: Final[tuple[Order, ...]] = ("C1C3C2", "C1C2C3")

messages = st.binary(min_size=1, max_size=200)
private_keys = st.integers(1, N - 2).map(PrivateKey)


def refusal_of(call: Callable[[], object]) -> str | None:
    try:
        call()
    except CtestbedError as refusal:
        return refusal.code
    return None


def test_stored_ciphertext() -> None:
    """GB/T 32918.5-2017 annex C."""
    for vector in vectors("SM2-encrypt", 1):
        key = PrivateKey(int(vector["d"], 16))
        assert key.public_key == PublicKey(int(vector["px"], 16), int(vector["py"], 16))
        message = vector["message"].encode()
        for public in (key.public_key, PreparedKey(key.public_key)):
            made = sm2_encryption._encrypt_with_nonce(public, message, int(vector["k"], 16))
            assert made is not None
            raw = vector["c1"] + vector["c3"] + vector["c2"]
            assert dump_ciphertext(made).hex().upper() == raw
            older = vector["c1"] + vector["c2"] + vector["c3"]
            assert dump_ciphertext(made, "C1C2C3").hex().upper() == older
            assert dump_der_ciphertext(made).hex() == vector["der"]
        for ciphertext in (
            parse_ciphertext(bytes.fromhex(raw)),
            parse_ciphertext(bytes.fromhex(raw[2:])),
            parse_ciphertext(bytes.fromhex(older), "C1C2C3"),
            parse_der_ciphertext(bytes.fromhex(vector["der"])),
        ):
            assert decrypt(key, ciphertext) == message


@few
@given(private_keys, messages, st.sampled_from(ORDERS))
def test_what_is_encrypted_decrypts(key: PrivateKey, message: bytes, order: Order) -> None:
    ciphertext = encrypt(key.public_key, message)
    raw = dump_ciphertext(ciphertext, order)
    assert len(raw) == 97 + len(message)
    for form in (raw, raw[1:]):
        assert parse_ciphertext(form, order) == ciphertext
    assert parse_der_ciphertext(dump_der_ciphertext(ciphertext)) == ciphertext
    assert decrypt(key, ciphertext) == message


@few
@given(private_keys, messages, st.sampled_from(ORDERS))
def test_gmssl_decrypts_ours_and_we_its(key: PrivateKey, message: bytes, order: Order) -> None:
    newer = order == "C1C3C2"
    ours = dump_ciphertext(encrypt(key.public_key, message), order)[1:]
    assert gmssl_oracle.sm2_decrypt(key, ours, newer=newer) == message
    theirs = gmssl_oracle.sm2_encrypt(key.public_key, message, newer=newer)
    assert decrypt(key, parse_ciphertext(theirs, order)) == message


def test_a_point_that_begins_with_04_is_read_either_way() -> None:
    """The example's own C1 does, so the prefix cannot be told by its byte alone."""
    ciphertext = sm2_encryption._encrypt_with_nonce(
        KEY.public_key, MESSAGE, 0x59276E27D506861A16680F3AD9C02DCCEF3CC1FA3CDBE4CE6D54B80DEAC1BC21
    )
    assert ciphertext is not None
    raw = dump_ciphertext(ciphertext)
    assert raw[:2] == b"\4\4"
    assert parse_ciphertext(raw) == parse_ciphertext(raw[1:]) == ciphertext


def test_a_long_message() -> None:
    message = bytes(range(256)) * 300
    assert decrypt(KEY, encrypt(KEY.public_key, message)) == message


def test_two_encryptions_differ() -> None:
    assert encrypt(KEY.public_key, MESSAGE) != encrypt(KEY.public_key, MESSAGE)


@many
@given(st.integers(0, 8 * (64 + 32 + len(MESSAGE)) - 1))
def test_one_flipped_bit_yields_nothing(bit: int) -> None:
    raw = flip(dump_ciphertext(encrypt(KEY.public_key, MESSAGE))[1:], bit)
    refusal = refusal_of(lambda: decrypt(KEY, parse_ciphertext(raw)))
    assert refusal == ("CTB-K015" if bit < 512 else "CTB-K016")


@many
@given(st.integers(0, 983))
def test_one_flipped_bit_of_der_yields_nothing(bit: int) -> None:
    der = flip(dump_der_ciphertext(encrypt(KEY.public_key, MESSAGE)), bit)
    refusal = refusal_of(lambda: decrypt(KEY, parse_der_ciphertext(der)))
    assert refusal in {"CTB-K015", "CTB-K016"}


def test_another_key_and_another_order_yield_nothing() -> None:
    ciphertext = encrypt(KEY.public_key, MESSAGE)
    other = generate_private_key()
    with pytest.raises(DecryptionError) as refusal:
        decrypt(other, ciphertext)
    assert refusal.value.exit_code is ExitCode.NOT_AUTHENTIC
    wrong = parse_ciphertext(dump_ciphertext(ciphertext), "C1C2C3")
    assert refusal_of(lambda: decrypt(KEY, wrong)) == "CTB-K016"


@many
@given(st.binary(max_size=300))
def test_garbage_is_refused(data: bytes) -> None:
    for parse in (parse_ciphertext, parse_der_ciphertext):
        with pytest.raises(InputError) as refusal:
            parse(data)
        assert refusal.value.code == "CTB-K015"


RAW = dump_ciphertext(encrypt(KEY.public_key, MESSAGE))
DER = dump_der_ciphertext(encrypt(KEY.public_key, MESSAGE))
POINT = KEY.public_key.point


@pytest.mark.parametrize(
    "call",
    [
        lambda: parse_ciphertext(b""),
        lambda: parse_ciphertext(b"\0"),  # the point at infinity, encoded
        lambda: parse_ciphertext(bytes(120)),
        lambda: parse_ciphertext(b"\2" + RAW[1:]),
        lambda: parse_ciphertext(RAW[:97]),
        lambda: parse_ciphertext(RAW[1:97]),
        lambda: parse_ciphertext(RAW[:60]),
        lambda: parse_der_ciphertext(DER + b"\0"),
        lambda: parse_der_ciphertext(DER[:-1]),
        lambda: parse_der_ciphertext(b"\x30\x81" + DER[1:]),
        lambda: parse_der_ciphertext(RAW),
        lambda: Ciphertext((POINT[0] + P, POINT[1]), bytes(32), b"m"),
        lambda: Ciphertext((0, 0), bytes(32), b"m"),
        lambda: Ciphertext(POINT, bytes(31), b"m"),
        lambda: Ciphertext(POINT, bytes(33), b"m"),
        lambda: Ciphertext(POINT, bytes(32), b""),
    ],
)
def test_malformed_ciphertexts_are_refused(call: Callable[[], object]) -> None:
    assert refusal_of(call) == "CTB-K015"


def test_an_empty_message_is_refused() -> None:
    assert refusal_of(lambda: encrypt(KEY.public_key, b"")) == "CTB-K014"


def test_a_mask_of_zeros_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """GB/T 32918.4 section 6.1 A5; and section 7.1 B4 refuses a ciphertext made with one."""
    masks = iter([bytes(19), b"\1" * 19])
    monkeypatch.setattr(sm2_encryption, "kdf_sm3", lambda *_: next(masks))
    ciphertext = encrypt(KEY.public_key, MESSAGE)
    assert ciphertext.body == bytes(byte ^ 1 for byte in MESSAGE)
    monkeypatch.setattr(sm2_encryption, "kdf_sm3", lambda *_: bytes(19))
    assert refusal_of(lambda: decrypt(KEY, ciphertext)) == "CTB-K016"
