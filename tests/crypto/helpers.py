"""What the crypto tests share: stored vectors, hypothesis settings, one flipped bit."""

import json
from typing import Any

from hypothesis import settings

from tests.shared import shared_data

# Elliptic-curve arithmetic on a busy machine has no deadline.
few = settings(deadline=None, max_examples=15)
many = settings(deadline=None, max_examples=60)

IDENTITY = b"1234567812345678"


def vectors(algorithm: str, count: int) -> list[dict[str, Any]]:
    """Return the data of each of the `count` stored vectors of an algorithm, or skip."""
    stored = json.loads(shared_data("sm_vectors.json").read_text(encoding="utf-8"))
    found = [each["data"] for each in stored["vectors"] if each["algorithm"] == algorithm]
    assert len(found) == count
    return found


def unhex(vector: dict[str, Any], *names: str) -> list[bytes]:
    return [bytes.fromhex(vector[name]) for name in names]


def flip(data: bytes, bit: int) -> bytes:
    """Return `data` with one bit changed, counted modulo its length."""
    changed = bytearray(data)
    changed[bit // 8 % len(data)] ^= 1 << bit % 8
    return bytes(changed)
