"""XE and XEX by address, from their definition."""

from typing import Any, Final

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import InputError
from ctestbed.crypto import sm4
from ctestbed.crypto.address_tweak import ADDRESS_BITS, AddressTweak, Form, decrypt, encrypt
from tests.crypto.helpers import few, flip, many

KEY = bytes(range(16))
TWEAK = AddressTweak.derive(b"a machine")
END = 1 << 52
FORMS: Final[tuple[Form, ...]] = ("XE", "XEX")

ciphers = st.sampled_from(["SM4", "AES"])
blocks_at = st.integers(0, END // 16 - 1).map(lambda block: 16 * block)


def xor(*values: bytes) -> bytes:
    total = 0
    for value in values:
        total ^= int.from_bytes(value)
    return total.to_bytes(16)


def block_cipher(cipher: str, key: bytes, block: bytes) -> bytes:
    if cipher == "SM4":
        return sm4.ecb_encrypt(key, block)
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)  # noqa: S305


@many
@given(blocks_at)
def test_tweak_is_the_sum_of_the_constants_of_the_bits_set(address: int) -> None:
    bits = [bit for bit in range(4, 52) if address >> bit & 1]
    assert TWEAK.of(address) == xor(bytes(16), *(TWEAK.constants[bit - 4] for bit in bits))


@many
@given(ciphers, blocks_at, st.integers(1, 600), st.binary(min_size=16, max_size=16))
def test_every_block_follows_the_definition(
    cipher: Any, address: int, blocks: int, value: bytes
) -> None:
    address = min(address, END - 16 * blocks)
    xe, xex = (encrypt(cipher, KEY, TWEAK, address, value * blocks, form) for form in FORMS)
    for block in {0, blocks // 2, blocks - 1}:
        tweak = TWEAK.of(address + 16 * block)
        inner = block_cipher(cipher, KEY, xor(value, tweak))
        assert xe[16 * block : 16 * block + 16] == inner
        assert xex[16 * block : 16 * block + 16] == xor(inner, tweak)


@few
@given(ciphers, blocks_at, st.binary(min_size=1, max_size=40), st.sampled_from(FORMS))
def test_decryption_inverts_anywhere(cipher: Any, address: int, seed: bytes, form: Form) -> None:
    data = (seed * 400)[: 16 * (len(seed) * 400 // 16)]
    address = min(address, END - len(data))
    ciphertext = encrypt(cipher, KEY, TWEAK, address, data, form)
    assert decrypt(cipher, KEY, TWEAK, address, ciphertext, form) == data
    one = encrypt(cipher, KEY, TWEAK, address, data[:16], form)
    assert ciphertext[:16] == one


def test_ciphertext_can_be_moved_by_who_knows_the_constants() -> None:
    """What the attack on such engines does: plaintext moves, changed by the tweaks' sum."""
    here, there = 0x1000, 0x7340
    difference = xor(TWEAK.of(here), TWEAK.of(there))
    secret = b"0123456789abcdef"
    xe = encrypt("AES", KEY, TWEAK, here, secret, "XE")
    assert decrypt("AES", KEY, TWEAK, there, xe, "XE") == xor(secret, difference)
    xex = encrypt("AES", KEY, TWEAK, here, secret, "XEX")
    moved = decrypt("AES", KEY, TWEAK, there, xor(xex, difference), "XEX")
    assert moved == xor(secret, difference)


def test_constants_depend_on_every_bit_of_the_key() -> None:
    seen = {AddressTweak.derive(flip(KEY, bit)).constants for bit in range(128)}
    assert len(seen | {AddressTweak.derive(KEY).constants}) == 129
    assert len(set(TWEAK.constants)) == ADDRESS_BITS


def test_constants_do_not_show() -> None:
    assert TWEAK.constants[0].hex() not in repr(TWEAK)
    assert repr(TWEAK.constants[0]) not in repr(TWEAK)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: encrypt("SM4", KEY, TWEAK, 8, bytes(16), "XEX"), "CTB-K013"),
        (lambda: encrypt("SM4", KEY, TWEAK, -16, bytes(16), "XEX"), "CTB-K013"),
        (lambda: encrypt("AES", KEY, TWEAK, END, bytes(16), "XE"), "CTB-K013"),
        (lambda: decrypt("AES", KEY, TWEAK, END - 16, bytes(32), "XE"), "CTB-K013"),
        (lambda: decrypt("AES", KEY, AddressTweak(bytes(32)), 64, bytes(16), "XE"), "CTB-K013"),
        (lambda: encrypt("AES", KEY, TWEAK, 0, bytes(17), "XE"), "CTB-K007"),
        (lambda: encrypt("AES", KEY + b"\0", TWEAK, 0, bytes(16), "XE"), "CTB-K005"),
        (lambda: encrypt("SM4", KEY * 2, TWEAK, 0, bytes(16), "XE"), "CTB-K005"),
        (lambda: AddressTweak(b""), "CTB-K012"),
        (lambda: AddressTweak(bytes(17)), "CTB-K012"),
        (lambda: AddressTweak(bytes(16 * 49)), "CTB-K012"),
    ],
)
def test_bad_input_is_refused(call: Any, code: str) -> None:
    with pytest.raises(InputError) as refusal:
        call()
    assert refusal.value.code == code
