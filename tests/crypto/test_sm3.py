import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import InputError
from ctestbed.crypto import gmssl_oracle
from ctestbed.crypto.sm3 import hkdf_sm3, hmac_sm3, sm3
from tests.crypto.helpers import few, unhex, vectors


def test_digest_of_abc() -> None:
    """GB/T 32905-2016 annex A.1."""
    expected = "66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0"
    assert sm3(b"abc").hex() == expected


def test_digest_of_64_bytes() -> None:
    """GB/T 32905-2016 annex A.2."""
    expected = "debe9ff92275b8a138604889c18e5a4d6fdb70e5387e5765293dcba39c0c5732"
    assert sm3(b"abcd" * 16).hex() == expected


def test_mac_of_what_do_ya_want() -> None:
    """GM/T 0042-2015 appendix D.3, fourth."""
    expected = "2e87f1d16862e6d964b50a5200bf2b10b764faa9680a296a2405f24bec39f882"
    assert hmac_sm3(b"Jefe", b"what do ya want for nothing?").hex() == expected


def test_stored_digests() -> None:
    for vector in vectors("SM3", 3):
        message, digest = unhex(vector, "message_hex", "digest")
        assert sm3(message) == digest


def test_stored_macs() -> None:
    for vector in vectors("HMAC-SM3", 4):
        key, message, mac = unhex(vector, "key", "message_hex", "mac")
        assert hmac_sm3(key, message) == mac


@few
@given(st.binary(max_size=300))
def test_digest_equals_gmssl(data: bytes) -> None:
    assert sm3(data) == gmssl_oracle.sm3(data)


@few
@given(st.binary(max_size=100), st.binary(max_size=100))
def test_mac_follows_its_definition(key: bytes, data: bytes) -> None:
    """RFC 2104: H(K ^ opad || H(K ^ ipad || data)) over gmssl's digest, blocks of 64 bytes."""
    block = (gmssl_oracle.sm3(key) if len(key) > 64 else key).ljust(64, b"\0")
    inner = gmssl_oracle.sm3(bytes(byte ^ 0x36 for byte in block) + data)
    assert hmac_sm3(key, data) == gmssl_oracle.sm3(bytes(byte ^ 0x5C for byte in block) + inner)


@few
@given(st.binary(max_size=60), st.binary(max_size=60), st.integers(1, 100))
def test_derivation_follows_its_definition(secret: bytes, label: bytes, length: int) -> None:
    """RFC 5869 sections 2.2 and 2.3."""
    pseudorandom_key = hmac_sm3(bytes(32), secret)
    output, block = b"", b""
    for index in range(1, 5):
        block = hmac_sm3(pseudorandom_key, block + label + bytes([index]))
        output += block
    assert hkdf_sm3(secret, label, length) == output[:length]


def test_derivation_equals_openssl() -> None:
    if shutil.which("openssl") is None:
        pytest.skip("the openssl command is absent")
    options = ["digest:SM3", "key:secret", "info:label"]
    command = ["openssl", "kdf", "-keylen", "42", "-binary"]
    command += [part for option in options for part in ("-kdfopt", option)]
    done = subprocess.run([*command, "HKDF"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("this openssl has no HKDF over SM3")
    assert hkdf_sm3(b"secret", b"label", 42) == done.stdout


def test_derivation_reaches_its_limit() -> None:
    assert len(hkdf_sm3(b"secret", b"", 8160)) == 8160


@pytest.mark.parametrize("length", [-1, 0, 8161])
def test_impossible_lengths_are_refused(length: int) -> None:
    with pytest.raises(InputError) as refusal:
        hkdf_sm3(b"secret", b"label", length)
    assert refusal.value.code == "CTB-K008"
