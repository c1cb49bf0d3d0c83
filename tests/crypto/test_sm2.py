import secrets
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import CtestbedError, ExitCode, InputError
from ctestbed.crypto import gmssl_oracle, sm2
from ctestbed.crypto.selfcheck import run_selfcheck
from ctestbed.crypto.sm2 import PrivateKey, PublicKey, Signature, SignatureInvalidError
from ctestbed.crypto.sm2_curve import G, N, P, multiply_base
from tests.crypto.helpers import IDENTITY, few, flip, many, vectors
from tests.shared import shared_data

KEY = PrivateKey(0x3945208F_7B2144B1_3F36E38A_C6D39F95_88939369_2860B51A_42FB81EF_4DF7C5B8)
MESSAGE = b"message digest"

private_keys = st.integers(1, N - 2).map(PrivateKey)


def refusal_of(call: Callable[[], object]) -> str | None:
    """Return the code a call is refused with, if it is."""
    try:
        call()
    except CtestbedError as refusal:
        return refusal.code
    return None


def verdict(key: PublicKey, message: bytes, identity: bytes, signature: Signature) -> str | None:
    return refusal_of(lambda: sm2.verify(key, message, identity, signature))


def test_signature_of_the_standard() -> None:
    """GB/T 32918.5-2017 annex A.2."""
    assert f"{KEY.public_key.x:064x}" == (
        "09f9df311e5421a150dd7d161e4bc5c672179fad1833fc076bb08ff356f35020"
    )
    assert f"{KEY.public_key.y:064x}" == (
        "ccea490ce26775a52dc6ea718cc1aa600aed05fbf35e084a6632f6072da9ad13"
    )
    digest = sm2._digest(KEY.public_key, MESSAGE, IDENTITY)
    assert digest.hex() == "f0b43e94ba45accaace692ed534382eb17e6ab5a19ce7b31f4486fdfc0d28640"
    nonce = 0x59276E27_D506861A_16680F3A_D9C02DCC_EF3CC1FA_3CDBE4CE_6D54B80D_EAC1BC21
    expected = Signature(
        r=0xF5A03B06_48D2C463_0EEAC513_E1BB81A1_5944DA38_27D5B741_43AC7EAC_EEE720B3,
        s=0xB1B6AA29_DF212FD8_763182BC_0D421CA1_BB9038FD_1F7F42D4_840B69C4_85BBC1AA,
    )
    assert sm2._sign_with_nonce(KEY, digest, nonce) == expected
    sm2.verify(KEY.public_key, MESSAGE, IDENTITY, expected)


def test_stored_signatures() -> None:
    for vector in vectors("SM2-sign", 1):
        key = PrivateKey(int(vector["d"], 16))
        assert key.public_key == PublicKey(int(vector["px"], 16), int(vector["py"], 16))
        message, identity = vector["message"].encode(), vector["id"].encode()
        digest = sm2._digest(key.public_key, message, identity)
        assert digest.hex().upper() == vector["e"]
        signature = sm2._sign_with_nonce(key, digest, int(vector["k"], 16))
        assert signature == Signature(int(vector["r"], 16), int(vector["s"], 16))
        assert sm2.dump_signature(signature).hex() == vector["der"]
        assert sm2.parse_signature(bytes.fromhex(vector["der"])) == signature


def test_stored_signatures_of_digests() -> None:
    for vector in vectors("SM2-verify-digest", 2):
        key = PublicKey(int(vector["px"], 16), int(vector["py"], 16))
        assert PrivateKey(int(vector["d"], 16)).public_key == key
        digest, der = bytes.fromhex(vector["e"]), bytes.fromhex(vector["der"])
        signature = sm2.parse_signature(der)
        assert sm2.dump_signature(signature) == der
        sm2._verify_digest(key, digest, signature)
        with pytest.raises(SignatureInvalidError) as refusal:
            sm2._verify_digest(key, flip(digest, 0), signature)
        assert refusal.value.exit_code is ExitCode.NOT_AUTHENTIC


def test_signature_made_by_silicon() -> None:
    """Hygon's own root certificate: numbers little-endian, signed as its own identity."""
    certificate = shared_data("evidence/roots/hygon_hrk.cert").read_bytes()

    def number(offset: int) -> int:
        return int.from_bytes(certificate[offset : offset + 72], "little")

    key, signature = PublicKey(number(68), number(140)), Signature(number(576), number(648))
    sm2.verify(key, certificate[:576], b"HYGON-SSD-HRK", signature)
    for identity in (b"", IDENTITY, b"HYGON-SSD-HSK"):
        assert verdict(key, certificate[:576], identity, signature) == "SIG_BAD"


@few
@given(private_keys, st.binary(max_size=200), st.binary(max_size=40), st.booleans())
def test_what_is_signed_verifies(
    key: PrivateKey, message: bytes, identity: bytes, deterministic: bool
) -> None:
    signature = sm2.sign(key, message, identity, deterministic=deterministic)
    sm2.verify(key.public_key, message, identity, signature)
    assert sm2.parse_signature(sm2.dump_signature(signature)) == signature


@few
@given(private_keys, st.binary(max_size=100), st.sampled_from([b"", IDENTITY, b"x"]))
def test_a_prepared_key_verifies_the_same(key: PrivateKey, message: bytes, identity: bytes) -> None:
    prepared = sm2.PreparedKey(key.public_key)
    for _ in range(3):
        signature = sm2.sign(key, message, identity)
        sm2.verify(prepared, message, identity, signature)
        for wrong in (message + b"!", b"!" + message):
            with pytest.raises(SignatureInvalidError):
                sm2.verify(prepared, wrong, identity, signature)
    assert repr(prepared) == f"PreparedKey(public_key={key.public_key!r})"


@few
@given(private_keys, st.binary(max_size=100))
def test_raw_signatures(key: PrivateKey, message: bytes) -> None:
    signature = sm2.sign(key, message, b"")
    raw = sm2.dump_raw_signature(signature)
    assert len(raw) == 64
    assert sm2.parse_raw_signature(raw) == signature
    for wrong in (raw[1:], raw + b"\0", b""):
        assert refusal_of(lambda wrong=wrong: sm2.parse_raw_signature(wrong)) == "CTB-K004"  # type: ignore[misc]


@few
@given(private_keys, st.binary(max_size=100))
def test_gmssl_accepts_ours_and_we_accept_its(key: PrivateKey, message: bytes) -> None:
    ours = sm2.sign(key, message, IDENTITY)
    assert gmssl_oracle.sm2_verify(key.public_key, message, ours)
    assert not gmssl_oracle.sm2_verify(key.public_key, message + b"!", ours)
    nonce = sm2.generate_private_key().d
    theirs = gmssl_oracle.sm2_sign(key, message, nonce)
    sm2.verify(key.public_key, message, IDENTITY, theirs)
    digest = sm2._digest(key.public_key, message, IDENTITY)
    assert sm2._sign_with_nonce(key, digest, nonce) == theirs


@pytest.mark.parametrize("d", [1, 2, N - 3, N - 2])
def test_keys_at_the_ends_of_the_range_work(d: int) -> None:
    """The key 1 is G itself, so verification adds a point to its own multiple."""
    key = PrivateKey(d)
    for deterministic in (False, True):
        signature = sm2.sign(key, MESSAGE, IDENTITY, deterministic=deterministic)
        sm2.verify(key.public_key, MESSAGE, IDENTITY, signature)
        assert gmssl_oracle.sm2_verify(key.public_key, MESSAGE, signature)


@many
@given(st.integers(0, 511))
def test_one_flipped_bit_of_a_signature_never_verifies(bit: int) -> None:
    good = sm2.sign(KEY, MESSAGE, IDENTITY)
    raw = flip(good.r.to_bytes(32) + good.s.to_bytes(32), bit)
    forged = Signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
    assert verdict(KEY.public_key, MESSAGE, IDENTITY, forged) == "SIG_BAD"


@many
@given(st.integers(0, 575))
def test_one_flipped_bit_of_der_never_verifies(bit: int) -> None:
    der = flip(sm2.dump_signature(sm2.sign(KEY, MESSAGE, IDENTITY)), bit)
    refusal = refusal_of(
        lambda: sm2.verify(KEY.public_key, MESSAGE, IDENTITY, sm2.parse_signature(der))
    )
    assert refusal in {"SIG_BAD", "CTB-K004"}


@many
@given(st.integers(0, 511))
def test_one_flipped_bit_of_the_key_never_verifies(bit: int) -> None:
    signature = sm2.sign(KEY, MESSAGE, IDENTITY)
    raw = flip(KEY.public_key.encoded[1:], bit)
    x, y = int.from_bytes(raw[:32]), int.from_bytes(raw[32:])
    refusal = refusal_of(lambda: sm2.verify(PublicKey(x, y), MESSAGE, IDENTITY, signature))
    assert refusal in {"SIG_BAD", "CTB-K002"}


@few
@given(st.binary(min_size=1, max_size=60), st.binary(min_size=1, max_size=60), st.integers(0, 479))
def test_one_flipped_bit_of_message_or_identity_never_verifies(
    message: bytes, identity: bytes, bit: int
) -> None:
    signature = sm2.sign(KEY, message, identity)
    assert verdict(KEY.public_key, flip(message, bit), identity, signature) == "SIG_BAD"
    assert verdict(KEY.public_key, message, flip(identity, bit), signature) == "SIG_BAD"


@pytest.mark.parametrize("identity", [b"", IDENTITY, b"TLSv1.3+GM+Cipher+Suite"])
def test_another_identity_never_verifies(identity: bytes) -> None:
    signature = sm2.sign(KEY, MESSAGE, identity)
    sm2.verify(KEY.public_key, MESSAGE, identity, signature)
    for other in {b"", IDENTITY, b"TLSv1.3+GM+Cipher+Suite", IDENTITY + b"\0"} - {identity}:
        assert verdict(KEY.public_key, MESSAGE, other, signature) == "SIG_BAD"


def test_identity_and_message_cannot_trade_bytes() -> None:
    signature = sm2.sign(KEY, b"bc", b"a")
    assert verdict(KEY.public_key, b"c", b"ab", signature) == "SIG_BAD"


def test_another_key_never_verifies() -> None:
    signature = sm2.sign(KEY, MESSAGE, IDENTITY)
    x, y = KEY.public_key.x, KEY.public_key.y
    assert verdict(PublicKey(x, P - y), MESSAGE, IDENTITY, signature) == "SIG_BAD"
    assert verdict(sm2.generate_private_key().public_key, MESSAGE, IDENTITY, signature) == "SIG_BAD"


@pytest.mark.parametrize("wrong", [0, N, N + 1, 2**256 - 1])
def test_numbers_out_of_range_never_verify(wrong: int) -> None:
    good = sm2.sign(KEY, MESSAGE, IDENTITY)
    assert verdict(KEY.public_key, MESSAGE, IDENTITY, Signature(wrong, good.s)) == "SIG_BAD"
    assert verdict(KEY.public_key, MESSAGE, IDENTITY, Signature(good.r, wrong)) == "SIG_BAD"


def test_numbers_equal_modulo_the_order_never_verify() -> None:
    """Without the range check, r + n or s + n would be a second form of the same signature."""
    x = 1 << 200  # below 2**256 - n, so that adding n still fits
    digest = bytes(32)
    for forged in (Signature(x + N, x), Signature(x, x + N)):
        with pytest.raises(SignatureInvalidError, match="outside"):
            sm2._verify_digest(KEY.public_key, digest, forged)


@few
@given(st.integers(1, N - 1))
def test_numbers_that_cancel_never_verify(r: int) -> None:
    """With r + s = n the key drops out, and anyone could sign for it."""
    assert verdict(KEY.public_key, MESSAGE, IDENTITY, Signature(r, N - r)) == "SIG_BAD"
    x, _ = multiply_base(N - r)
    digest = ((r - x) % N).to_bytes(32)
    with pytest.raises(SignatureInvalidError):
        sm2._verify_digest(KEY.public_key, digest, Signature(r, N - r))


@few
@given(st.integers(1, N - 1))
def test_infinity_never_verifies(s: int) -> None:
    """Choose r so that s*G + (r + s)*key vanishes, and the digest that an x of 0 would fit."""
    r = (-s * pow(KEY.d, -1, N) - s) % N
    with pytest.raises(SignatureInvalidError):
        sm2._verify_digest(KEY.public_key, r.to_bytes(32), Signature(r, s))


def test_nonces_that_must_not_be_used_are_not() -> None:
    nonce = 12345
    x, _ = multiply_base(nonce)
    for r in (0, N - nonce, nonce * pow(KEY.d, -1, N) % N):  # the last makes s zero
        digest = ((r - x) % N).to_bytes(32)
        assert sm2._sign_with_nonce(KEY, digest, nonce) is None


def test_fresh_signatures_differ_and_derived_ones_repeat() -> None:
    fresh = {sm2.sign(KEY, MESSAGE, IDENTITY) for _ in range(5)}
    assert len(fresh) == 5
    derived = {sm2.sign(KEY, MESSAGE, IDENTITY, deterministic=True) for _ in range(5)}
    assert len(derived) == 1
    elsewhere = {
        sm2.sign(KEY, b"other", IDENTITY, deterministic=True),
        sm2.sign(KEY, MESSAGE, b"other", deterministic=True),
        sm2.sign(PrivateKey(KEY.d + 1), MESSAGE, IDENTITY, deterministic=True),
    }
    assert len({signature.r for signature in elsewhere | derived}) == 4


def test_generated_keys_differ() -> None:
    assert len({sm2.generate_private_key().d for _ in range(10)}) == 10


@few
@given(st.binary(max_size=40), st.binary(max_size=40))
def test_derived_keys_depend_on_seed_and_label(seed: bytes, label: bytes) -> None:
    key = sm2.derive_private_key(seed, label)
    assert key == sm2.derive_private_key(seed, label)
    assert key != sm2.derive_private_key(seed, label + b"\0")
    assert key != sm2.derive_private_key(seed + b"\1", label)


@pytest.mark.parametrize("d", [-1, 0, N - 1, N, 2**256])
def test_bad_private_keys_are_refused(d: int) -> None:
    with pytest.raises(InputError) as refusal:
        PrivateKey(d)
    assert refusal.value.code == "CTB-K001"


@pytest.mark.parametrize("point", [(0, 0), (G[0], G[1] + 1), (G[0] + P, G[1]), (G[0], -G[1])])
def test_bad_public_keys_are_refused(point: tuple[int, int]) -> None:
    with pytest.raises(InputError) as refusal:
        PublicKey(*point)
    assert refusal.value.code == "CTB-K002"


def test_long_identities_are_refused() -> None:
    longest = bytes(8191)
    sm2.verify(KEY.public_key, MESSAGE, longest, sm2.sign(KEY, MESSAGE, longest))
    with pytest.raises(InputError) as refusal:
        sm2.sign(KEY, MESSAGE, longest + b"\0")
    assert refusal.value.code == "CTB-K003"


@pytest.mark.parametrize(
    "der",
    [
        "",
        "30",
        "3000",
        "3003020101",  # one number
        "3009020101020101020101",  # three
        "300602010102010100",  # a byte after the end
        "30070202000102010100",  # not the shortest form
        "3007020200010201 01",
        "30060201ff020101",  # negative
        "3080020101020101" + "0000",  # indefinite length
        "308106020101020101",  # a long length where a short one fits
        "3106020101020101",  # a SET
        "3006020101040101",  # an OCTET STRING
        "300602010102020101",  # runs past its end
        "302602010102" + "21" + "01" + "00" * 32,  # 33 bytes of value
        "30060201010201",  # cut
        "3084ffffffff0201",  # a length of 4 GiB
    ],
)
def test_malformed_der_is_refused(der: str) -> None:
    with pytest.raises(InputError) as refusal:
        sm2.parse_signature(bytes.fromhex(der))
    assert refusal.value.code == "CTB-K004"


@many
@given(st.binary(max_size=80))
def test_any_bytes_as_der_are_read_exactly_or_refused(der: bytes) -> None:
    try:
        signature = sm2.parse_signature(der)
    except InputError:
        return
    assert sm2.dump_signature(signature) == der


@pytest.mark.parametrize(("r", "s"), [(-1, 1), (1, -1), (2**256, 1), (1, 2**256)])
def test_numbers_of_more_than_32_bytes_are_refused(r: int, s: int) -> None:
    with pytest.raises(InputError) as refusal:
        Signature(r, s)
    assert refusal.value.code == "CTB-K004"


def test_encoding_and_fingerprint_of_the_base_point() -> None:
    """The encoding starts with 04; the fingerprint is what coreutils' sha256sum prints for it."""
    point = PrivateKey(1).public_key
    assert point.encoded == b"\4" + G[0].to_bytes(32) + G[1].to_bytes(32)
    done = subprocess.run(["sha256sum"], input=point.encoded, capture_output=True, check=True)
    assert sm2.fingerprint(point) == done.stdout.split()[0].decode()


def test_a_private_key_does_not_show_itself() -> None:
    key = PrivateKey(secrets.randbelow(N - 2) + 1)
    assert str(key.d) not in f"{key!r} {key}"
    assert f"{key.d:x}" not in f"{key!r} {key}"


def test_selfcheck_agrees() -> None:
    checks = run_selfcheck()
    assert [check.name for check in checks] == ["SM2", "SM3", "SM4", "SM4-XTS"]
    assert all(check.ok for check in checks), checks


def test_selfcheck_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gmssl_oracle, "sm3", lambda *_: bytes(32))
    monkeypatch.setattr(gmssl_oracle, "sm4_ecb_encrypt", lambda *_: 1 // 0)
    monkeypatch.setattr(gmssl_oracle, "sm2_verify", lambda *_: False)
    checks = {check.name: check for check in run_selfcheck()}
    assert not any(check.ok for check in checks.values())
    assert checks["SM2"].detail == "differs from gmssl: our signature"
    assert checks["SM3"].detail == "differs from gmssl: digest"
    assert "ZeroDivisionError" in checks["SM4"].detail


def test_signing_loads_no_numpy_and_no_gmssl() -> None:
    program = (
        "import sys, ctestbed.crypto.sm2, ctestbed.crypto.sm4, ctestbed.crypto.sm4_xts\n"
        "import ctestbed.crypto.selfcheck\n"
        "ctestbed.crypto.sm2.generate_private_key()\n"
        "print({'numpy', 'gmssl', 'pydantic'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert done.stdout == "set()\n"
