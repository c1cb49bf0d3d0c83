import hmac
from hashlib import sha256
from itertools import islice

import pytest

from ctestbed.crypto.rfc6979 import deterministic_nonces

P256_ORDER = 0xFFFFFFFF_00000000_FFFFFFFF_FFFFFFFF_BCE6FAAD_A7179E84_F3B9CAC2_FC632551
P256_KEY = 0xC9AFA9D8_45BA7516_6B5C2157_67B1D693_4E50C3DB_36E89B12_7B8A622B_120F6721


def hmac_sha256(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")


@pytest.mark.parametrize(
    ("message", "nonce"),
    [
        (b"sample", "a6e3c57dd01abe90086538398355dd4c3b17aa873382b0f24d6129493d8aad60"),
        (b"test", "d16b6ae827f17175e040871a1c7ec3500192c4c92677336ec2537acaee0008e0"),
    ],
)
def test_nonces_of_the_standard(message: bytes, nonce: str) -> None:
    """RFC 6979 appendix A.2.5, P-256 with SHA-256."""
    digest = sha256(message).digest()
    nonces = deterministic_nonces(hmac_sha256, P256_ORDER, P256_KEY, digest)
    assert f"{next(nonces):064x}" == nonce


def test_later_nonces_differ_and_stay_in_range() -> None:
    """A small order makes most draws too large, so the loop of step h runs."""
    order = 2**254 + 1
    nonces = list(islice(deterministic_nonces(hmac_sha256, order, 7, bytes(32)), 20))
    assert len(set(nonces)) == 20
    assert all(0 < nonce < order for nonce in nonces)
