"""Our SM2, SM3 and SM4 against gmssl's on fresh random inputs, for `ctestbed doctor`."""

import secrets
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from ctestbed.crypto import sm2, sm3, sm4, sm4_xts

_Comparisons: TypeAlias = Iterator[tuple[str, bool]]


class SelfCheck(NamedTuple):
    """One algorithm: its name, whether all comparisons agreed, and a phrase for people."""

    name: str
    ok: bool
    detail: str


def run_selfcheck() -> list[SelfCheck]:
    """Check every algorithm. Never raises: a broken installation is what this looks for."""
    checks = {"SM2": _check_sm2, "SM3": _check_sm3, "SM4": _check_sm4, "SM4-XTS": _check_xts}
    return [_run(name, check) for name, check in checks.items()]


def _run(name: str, check: Callable[[], _Comparisons]) -> SelfCheck:
    try:
        differing = [what for what, agrees in check() if not agrees]
    except Exception as error:  # noqa: BLE001 - whatever went wrong is the answer
        return SelfCheck(name, ok=False, detail=f"{type(error).__name__}: {error}")
    if differing:
        return SelfCheck(name, ok=False, detail=f"differs from gmssl: {', '.join(differing)}")
    return SelfCheck(name, ok=True, detail="agrees with gmssl")


def _check_sm2() -> _Comparisons:
    from ctestbed.crypto import gmssl_oracle as gmssl

    key, message = sm2.generate_private_key(), secrets.token_bytes(100)
    ours = sm2.sign(key, message, gmssl.IDENTITY)
    theirs = gmssl.sm2_sign(key, message, sm2.generate_private_key().d)
    yield "our signature", gmssl.sm2_verify(key.public_key, message, ours)
    yield "its signature", _accepts(key.public_key, message, theirs)
    yield "refusal of another message", not _accepts(key.public_key, message + b"\0", theirs)


def _accepts(public_key: sm2.PublicKey, message: bytes, signature: sm2.Signature) -> bool:
    from ctestbed.crypto import gmssl_oracle as gmssl

    try:
        sm2.verify(public_key, message, gmssl.IDENTITY, signature)
    except sm2.SignatureInvalidError:
        return False
    return True


def _check_sm3() -> _Comparisons:
    from ctestbed.crypto import gmssl_oracle as gmssl

    data = secrets.token_bytes(200)
    yield "digest", sm3.sm3(data) == gmssl.sm3(data)


def _check_sm4() -> _Comparisons:
    from ctestbed.crypto import gmssl_oracle as gmssl

    key, iv, data = secrets.token_bytes(16), secrets.token_bytes(16), secrets.token_bytes(64)
    ecb, cbc = sm4.ecb_encrypt(key, data), sm4.cbc_encrypt(key, iv, data)
    yield "ECB", ecb == gmssl.sm4_ecb_encrypt(key, data)
    yield "CBC", cbc == gmssl.sm4_cbc_encrypt(key, iv, data)
    yield "decryption", sm4.ecb_decrypt(key, ecb) == sm4.cbc_decrypt(key, iv, cbc) == data


def _check_xts() -> _Comparisons:
    """Compare the first block of a data unit, where the two standards are one."""
    from ctestbed.crypto import gmssl_oracle as gmssl

    key, tweak, data = secrets.token_bytes(32), secrets.token_bytes(16), secrets.token_bytes(40)
    mask = gmssl.sm4_ecb_encrypt(key[16:], tweak)
    first = _xor(gmssl.sm4_ecb_encrypt(key[:16], _xor(data[:16], mask)), mask)
    for standard in ("gb", "ieee"):
        encrypted = sm4_xts.xts_encrypt(key, tweak, data, standard=standard)
        decrypted = sm4_xts.xts_decrypt(key, tweak, encrypted, standard=standard)
        yield f"first block ({standard})", encrypted[:16] == first
        yield f"decryption ({standard})", decrypted == data


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))
