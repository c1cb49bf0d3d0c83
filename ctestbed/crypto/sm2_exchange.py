"""SM2 key exchange (GB/T 32918.3-2016) on sm2p256v1 with SM3. Variable-time, as `sm2`.

Each side sends the public half of an ephemeral key and works out the same secret from its own two
private keys and the other's two public ones. Confirmation values, one from each side, show that
both got there. Who began matters: identities and ephemeral keys enter in the initiator's order.
"""

from dataclasses import dataclass, field
from hmac import compare_digest
from typing import Final

from ctestbed.core.errors import InputError, NotAuthenticError
from ctestbed.crypto import sm2_curve as curve
from ctestbed.crypto.sm2 import PrivateKey, PublicKey, generate_private_key, identity_digest
from ctestbed.crypto.sm3 import kdf_sm3, sm3

_HALF: Final = 1 << 127
"""2**w, w half of the order's bits, rounded down: section 6.1."""
_FROM_RESPONDER, _FROM_INITIATOR = b"\2", b"\3"


class ConfirmationError(NotAuthenticError):
    """The other side did not work out the same secret."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The key, and the value to send that confirms it."""

    key: bytes = field(repr=False)
    confirmation: bytes
    _expected: bytes = field(repr=False)

    def confirm(self, received: bytes) -> None:
        """Return if the other side's value is right; raise `ConfirmationError` otherwise."""
        if not compare_digest(received, self._expected):
            raise ConfirmationError("CTB-K018", "the other side agreed on another SM2 key")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One side of one exchange: its long-term key and identity, and an ephemeral key."""

    private_key: PrivateKey
    identity: bytes
    initiator: bool
    ephemeral: PrivateKey = field(default_factory=generate_private_key)

    @property
    def sent(self) -> PublicKey:
        """What to send to the other side."""
        return self.ephemeral.public_key

    def agree(
        self, peer: PublicKey, peer_identity: bytes, received: PublicKey, length: int
    ) -> Agreement:
        """Return the agreement on a key of `length` bytes with the peer that sent `received`."""
        if length < 1:
            raise InputError("CTB-K008", f"an SM2 key exchange has no key of {length} bytes")
        shared = self._shared(peer, received)
        own = identity_digest(self.private_key.public_key, self.identity)
        other = identity_digest(peer, peer_identity)
        digests = own + other if self.initiator else other + own
        ephemeral = (self.sent, received) if self.initiator else (received, self.sent)
        x, y = (number.to_bytes(32) for number in shared)
        inner = sm3(x + digests + b"".join(key.encoded[1:] for key in ephemeral))
        by_initiator, by_responder = (
            sm3(side + y + inner) for side in (_FROM_INITIATOR, _FROM_RESPONDER)
        )
        key = kdf_sm3(x + y + digests, length)
        if self.initiator:
            return Agreement(key, by_initiator, by_responder)
        return Agreement(key, by_responder, by_initiator)

    def _shared(self, peer: PublicKey, received: PublicKey) -> curve.Affine:
        """Return t * (peer + x * received), t of our own two keys (section 6.1 A4 to A7)."""
        t = self.private_key.d + _reduced(self.sent) * self.ephemeral.d
        point = curve.multiply(t * _reduced(received), received.point)
        total = curve.add(point, curve.multiply(t, peer.point))
        if total is None:
            raise InputError("CTB-K017", "the peer's SM2 keys lead to the point at infinity")
        return total


def _reduced(key: PublicKey) -> int:
    """Return 2**127 and the lower 127 bits of the x coordinate."""
    return _HALF + key.x % _HALF
