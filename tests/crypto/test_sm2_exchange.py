"""SM2 key exchange: the standard's example, both sides of any, and what must not be confirmed."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import CtestbedError, ExitCode, InputError
from ctestbed.crypto.sm2 import PrivateKey, PublicKey, generate_private_key
from ctestbed.crypto.sm2_curve import N, P
from ctestbed.crypto.sm2_exchange import ConfirmationError, Exchange, _reduced
from tests.crypto.helpers import IDENTITY, few, vectors

private_keys = st.integers(1, N - 2).map(PrivateKey)
identities = st.sampled_from([IDENTITY, b"", b"ALICE123@YAHOO.COM"])


def refusal_of(call: Callable[[], object]) -> str | None:
    try:
        call()
    except CtestbedError as refusal:
        return refusal.code
    return None


def test_stored_exchange() -> None:
    """GB/T 32918.5-2017 annex B."""
    for vector in vectors("SM2-key-exchange", 1):
        a, b, ephemeral_a, ephemeral_b = (
            PrivateKey(int(vector[name], 16)) for name in ("dA", "dB", "rA", "rB")
        )
        id_a, id_b = vector["idA"].encode(), vector["idB"].encode()
        initiator = Exchange(a, id_a, initiator=True, ephemeral=ephemeral_a)
        responder = Exchange(b, id_b, initiator=False, ephemeral=ephemeral_b)
        assert initiator.sent == PublicKey(int(vector["RAx"], 16), int(vector["RAy"], 16))
        assert responder.sent == PublicKey(int(vector["RBx"], 16), int(vector["RBy"], 16))
        shared = (int(vector["Ux"], 16), int(vector["Uy"], 16))
        assert initiator._shared(b.public_key, responder.sent) == shared
        length = vector["klen_bits"] // 8
        of_a = initiator.agree(b.public_key, id_b, responder.sent, length)
        of_b = responder.agree(a.public_key, id_a, initiator.sent, length)
        assert of_a.key.hex().upper() == of_b.key.hex().upper() == vector["K"]
        assert of_b.confirmation.hex().upper() == vector["S1_SB"]
        assert of_a.confirmation.hex().upper() == vector["S2_SA"]
        of_a.confirm(of_b.confirmation)
        of_b.confirm(of_a.confirmation)


@few
@given(private_keys, private_keys, identities, identities, st.integers(1, 100))
def test_both_sides_agree(
    a: PrivateKey, b: PrivateKey, id_a: bytes, id_b: bytes, length: int
) -> None:
    initiator, responder = Exchange(a, id_a, initiator=True), Exchange(b, id_b, initiator=False)
    of_a = initiator.agree(b.public_key, id_b, responder.sent, length)
    of_b = responder.agree(a.public_key, id_a, initiator.sent, length)
    assert of_a.key == of_b.key
    assert len(of_a.key) == length
    of_a.confirm(of_b.confirmation)
    of_b.confirm(of_a.confirmation)
    assert of_a.confirmation != of_b.confirmation
    assert refusal_of(lambda: of_a.confirm(of_a.confirmation)) == "CTB-K018"


def test_whoever_differs_is_not_confirmed() -> None:
    a, b, other = (generate_private_key() for _ in range(3))
    initiator = Exchange(a, IDENTITY, initiator=True)
    responder = Exchange(b, IDENTITY, initiator=False)
    good = initiator.agree(b.public_key, IDENTITY, responder.sent, 16)
    for wrong in (
        responder.agree(a.public_key, b"", initiator.sent, 16),
        responder.agree(other.public_key, IDENTITY, initiator.sent, 16),
        responder.agree(a.public_key, IDENTITY, other.public_key, 16),
        Exchange(b, b"", initiator=False, ephemeral=responder.ephemeral).agree(
            a.public_key, IDENTITY, initiator.sent, 16
        ),
        Exchange(b, IDENTITY, initiator=True, ephemeral=responder.ephemeral).agree(
            a.public_key, IDENTITY, initiator.sent, 16
        ),
        Exchange(other, IDENTITY, initiator=False, ephemeral=responder.ephemeral).agree(
            a.public_key, IDENTITY, initiator.sent, 16
        ),
    ):
        assert wrong.key != good.key
        with pytest.raises(ConfirmationError) as refusal:
            good.confirm(wrong.confirmation)
        assert refusal.value.exit_code is ExitCode.NOT_AUTHENTIC
    assert refusal_of(lambda: good.confirm(b"")) == "CTB-K018"


def test_a_peer_that_leads_to_infinity_is_refused() -> None:
    """Its long-term key is chosen as -x * ephemeral, so the sum vanishes whatever ours is."""
    ephemeral = generate_private_key()
    peer = PrivateKey(-_reduced(ephemeral.public_key) * ephemeral.d % N)
    ours = Exchange(generate_private_key(), IDENTITY, initiator=True)
    with pytest.raises(InputError) as refusal:
        ours.agree(peer.public_key, IDENTITY, ephemeral.public_key, 16)
    assert refusal.value.code == "CTB-K017"


@pytest.mark.parametrize(
    "encoded",
    [
        b"",
        b"\0",
        b"\4" + bytes(64),
        b"\4" + bytes(63),
        b"\2" + generate_private_key().public_key.encoded[1:33],
        generate_private_key().public_key.encoded + b"\0",
        generate_private_key().public_key.encoded[1:],
        b"\4" + P.to_bytes(32) + bytes(32),
    ],
    ids=["empty", "infinity", "zeros", "short", "compressed", "long", "no prefix", "not reduced"],
)
def test_what_is_no_point_is_not_received(encoded: bytes) -> None:
    assert refusal_of(lambda: PublicKey.decode(encoded)) == "CTB-K002"


def test_points_come_back_from_their_encoding() -> None:
    key = generate_private_key().public_key
    assert PublicKey.decode(key.encoded) == key


def test_a_key_has_a_length() -> None:
    a, b = generate_private_key(), generate_private_key()
    exchange = Exchange(a, IDENTITY, initiator=True)
    for length in (0, -1):
        with pytest.raises(InputError) as refusal:
            exchange.agree(b.public_key, IDENTITY, b.public_key, length)
        assert refusal.value.code == "CTB-K008"


def test_secrets_do_not_show() -> None:
    a, b = generate_private_key(), generate_private_key()
    exchange = Exchange(a, IDENTITY, initiator=True)
    agreement = exchange.agree(b.public_key, IDENTITY, b.public_key, 16)
    for secret in (str(a.d), str(exchange.ephemeral.d), repr(agreement.key)):
        assert secret not in f"{exchange!r} {agreement!r}"
