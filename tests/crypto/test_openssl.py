"""SM2 and SM4 against the OpenSSL command line, both directions, identities spelt out."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from ctestbed.crypto import sm2, sm4
from ctestbed.crypto.sm2 import PrivateKey, PublicKey, SignatureInvalidError
from ctestbed.crypto.sm2_encryption import (
    DecryptionError,
    decrypt,
    dump_der_ciphertext,
    encrypt,
    parse_der_ciphertext,
)
from tests.crypto.helpers import IDENTITY, flip

MESSAGE = b"signed here, checked there"
IDENTITIES = [IDENTITY, b"ALICE123@YAHOO.COM", b"TLSv1.3+GM+Cipher+Suite"]

# RFC 5915 and RFC 5480 around a raw key, curve 1.2.156.10197.1.301.
_PRIVATE = "30770201010420{d:064x}a00a06082a811ccf5501822da144034200{point}"
_PUBLIC = "3059301306072a8648ce3d020106082a811ccf5501822d034200{point}"


@cache
def _lacks_sm2() -> str | None:
    if shutil.which("openssl") is None:
        return "the openssl command is absent"
    curves = subprocess.run(["openssl", "ecparam", "-list_curves"], capture_output=True, check=True)
    return None if b"SM2" in curves.stdout else "this openssl has no SM2"


@pytest.fixture(autouse=True)
def openssl_with_sm2() -> None:
    if reason := _lacks_sm2():
        pytest.skip(reason)


def sign(folder: Path, key: PrivateKey, *options: str) -> bytes:
    der = _PRIVATE.format(d=key.d, point=key.public_key.encoded.hex())
    (folder / "key").write_bytes(bytes.fromhex(der))
    command = ["openssl", "pkeyutl", "-sign", "-rawin", "-digest", "sm3", "-inkey", "key"]
    command += ["-keyform", "DER", "-in", "message", *options]
    (folder / "message").write_bytes(MESSAGE)
    return subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout


def verify(folder: Path, key: PublicKey, signature: bytes, *options: str) -> bool:
    (folder / "pub").write_bytes(bytes.fromhex(_PUBLIC.format(point=key.encoded.hex())))
    (folder / "message").write_bytes(MESSAGE)
    (folder / "signature").write_bytes(signature)
    command = ["openssl", "pkeyutl", "-verify", "-rawin", "-digest", "sm3", "-pubin"]
    command += ["-inkey", "pub", "-keyform", "DER", "-in", "message", "-sigfile", "signature"]
    done = subprocess.run([*command, *options], cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0 or b"Signature Verification Failure" in done.stdout + done.stderr
    return done.returncode == 0


def write_keys(folder: Path, key: PrivateKey) -> None:
    point = key.public_key.encoded.hex()
    (folder / "key").write_bytes(bytes.fromhex(_PRIVATE.format(d=key.d, point=point)))
    (folder / "pub").write_bytes(bytes.fromhex(_PUBLIC.format(point=point)))


def pkeyutl(folder: Path, data: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    (folder / "data").write_bytes(data)
    command = ["openssl", "pkeyutl", *options, "-keyform", "DER", "-in", "data"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False)


@pytest.mark.parametrize("length", [1, 19, 32, 33, 200])
def test_openssl_decrypts_ours_and_we_its(length: int, tmp_path: Path) -> None:
    key, message = sm2.generate_private_key(), bytes(range(length))
    write_keys(tmp_path, key)
    ours = dump_der_ciphertext(encrypt(key.public_key, message))
    done = pkeyutl(tmp_path, ours, "-decrypt", "-inkey", "key")
    assert (done.returncode, done.stdout) == (0, message)
    theirs = pkeyutl(tmp_path, message, "-encrypt", "-pubin", "-inkey", "pub")
    assert decrypt(key, parse_der_ciphertext(theirs.stdout)) == message


def test_openssl_refuses_what_we_refuse(tmp_path: Path) -> None:
    key = sm2.generate_private_key()
    write_keys(tmp_path, key)
    ciphertext = dump_der_ciphertext(encrypt(key.public_key, MESSAGE))
    for bit in (8 * len(ciphertext) - 1, 8 * (len(ciphertext) - len(MESSAGE) - 10)):
        changed = flip(ciphertext, bit)
        with pytest.raises(DecryptionError):
            decrypt(key, parse_der_ciphertext(changed))
        assert pkeyutl(tmp_path, changed, "-decrypt", "-inkey", "key").returncode != 0


def distid(identity: bytes) -> tuple[str, str]:
    return "-pkeyopt", f"distid:{identity.decode()}"


@pytest.mark.parametrize("identity", IDENTITIES)
def test_openssl_accepts_our_signature(identity: bytes, tmp_path: Path) -> None:
    key = sm2.generate_private_key()
    for deterministic in (False, True):
        signature = sm2.sign(key, MESSAGE, identity, deterministic=deterministic)
        der = sm2.dump_signature(signature)
        assert verify(tmp_path, key.public_key, der, *distid(identity))
        assert not verify(tmp_path, key.public_key, der, *distid(identity + b"x"))


@pytest.mark.parametrize("identity", IDENTITIES)
def test_we_accept_its_signature(identity: bytes, tmp_path: Path) -> None:
    key = sm2.generate_private_key()
    signature = sm2.parse_signature(sign(tmp_path, key, *distid(identity)))
    sm2.verify(key.public_key, MESSAGE, identity, signature)
    for other in (b"", identity + b"x"):
        with pytest.raises(SignatureInvalidError):
            sm2.verify(key.public_key, MESSAGE, other, signature)


def test_its_default_identity_is_one_of_the_two_known(tmp_path: Path) -> None:
    """Empty in OpenSSL 3.0, `1234567812345678` in some descendants: never both."""
    key = sm2.generate_private_key()
    signature = sm2.parse_signature(sign(tmp_path, key))
    accepted = []
    for identity in (b"", IDENTITY):
        try:
            sm2.verify(key.public_key, MESSAGE, identity, signature)
        except SignatureInvalidError:
            continue
        accepted.append(identity)
    assert len(accepted) == 1
    ours = sm2.dump_signature(sm2.sign(key, MESSAGE, accepted[0]))
    assert verify(tmp_path, key.public_key, ours)


@pytest.mark.parametrize("mode", ["ecb", "cbc", "ctr"])
def test_sm4_modes_equal_openssl(mode: str) -> None:
    key, iv, data = bytes(range(16)), bytes(range(16, 32)), bytes(range(160))
    command = ["openssl", "enc", f"-sm4-{mode}", "-nopad", "-K", key.hex()]
    command += [] if mode == "ecb" else ["-iv", iv.hex()]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"this openssl has no SM4-{mode.upper()}")
    ours = {
        "ecb": lambda: sm4.ecb_encrypt(key, data),
        "cbc": lambda: sm4.cbc_encrypt(key, iv, data),
        "ctr": lambda: sm4.ctr_encrypt(key, iv, data),
    }
    assert ours[mode]() == done.stdout
