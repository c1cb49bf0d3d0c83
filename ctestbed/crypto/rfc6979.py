"""Deterministic nonces for signatures (RFC 6979 section 3.2), for 256-bit orders and hashes."""

from collections.abc import Callable, Iterator

HMAC = Callable[[bytes, bytes], bytes]


def deterministic_nonces(hmac: HMAC, order: int, key: int, digest: bytes) -> Iterator[int]:
    """Yield nonces in 1..order-1 drawn from `key` and the 32-byte `digest` of the message.

    A signer takes the first one that gives a valid signature.
    """
    reduced = int.from_bytes(digest) % order  # bits2octets: order and digest are equally long
    seed = key.to_bytes(32) + reduced.to_bytes(32)
    state, mac_key = b"\1" * 32, b"\0" * 32
    for separator in (b"\0", b"\1"):  # steps d to g
        mac_key = hmac(mac_key, state + separator + seed)
        state = hmac(mac_key, state)
    while True:  # step h
        state = hmac(mac_key, state)
        nonce = int.from_bytes(state)
        if 0 < nonce < order:
            yield nonce
        mac_key = hmac(mac_key, state + b"\0")
        state = hmac(mac_key, state)
