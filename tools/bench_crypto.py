"""Our ciphers beside cryptography's, hashlib's and gmssl's in the same run: `make bench`."""

from collections.abc import Callable, Iterator
from threading import Thread
from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ctestbed.crypto import (
    address_tweak,
    aes_xts,
    bulk,
    gmssl_oracle,
    sm2,
    sm2_encryption,
    sm3,
    sm4,
    sm4_xts,
)
from ctestbed.crypto.throughput import PAGE_SIZE, hash_page, page_tweaks
from tools.bench_pairs import Pair

_SIZE: Final = 2**23
_DATA: Final = bytes(range(256)) * (_SIZE // 256)
_PAGE: Final = _DATA[:PAGE_SIZE]
_KEY: Final = bytes(range(32))
_CALLS: Final = 32
_TWEAKS: Final = page_tweaks(_SIZE // PAGE_SIZE)


def pairs() -> Iterator[Pair]:
    """Everything in `ctestbed.crypto` that costs time."""
    print(f"compiled ciphers: {'in use' if bulk.prepare() else 'out of reach'}")
    yield from _signatures()
    yield from _encryption()
    yield from _bulk()
    yield from _one_page()
    yield from _two_threads()


def _signatures() -> Iterator[Pair]:
    key, message = sm2.derive_private_key(b"benchmark", b"key"), bytes(200)
    public, identity = key.public_key, gmssl_oracle.IDENTITY
    signature, prepared = sm2.sign(key, message, identity), sm2.PreparedKey(public)
    theirs = _once(lambda: gmssl_oracle.sm2_verify(public, message, signature))
    yield Pair(
        "SM2 sign",
        "op",
        "gmssl",
        *_once(lambda: sm2.sign(key, message, identity)),
        *_once(lambda: gmssl_oracle.sm2_sign(key, message, 12345)),
    )
    verify = _once(lambda: sm2.verify(public, message, identity, signature))
    yield Pair("SM2 verify", "op", "gmssl", *verify, *theirs)
    verify = _once(lambda: sm2.verify(prepared, message, identity, signature))
    yield Pair("SM2 verify, key table", "op", "gmssl", *verify, *theirs)


def _encryption() -> Iterator[Pair]:
    key, message = sm2.derive_private_key(b"benchmark", b"key"), bytes(64)
    ciphertext = sm2_encryption.encrypt(key.public_key, message)
    raw = sm2_encryption.dump_ciphertext(ciphertext)[1:]
    yield Pair(
        "SM2 encrypt, 64 B",
        "op",
        "gmssl",
        *_once(lambda: sm2_encryption.encrypt(key.public_key, message)),
        *_once(lambda: gmssl_oracle.sm2_encrypt(key.public_key, message)),
    )
    yield Pair(
        "SM2 decrypt, 64 B",
        "op",
        "gmssl",
        *_once(lambda: sm2_encryption.decrypt(key, ciphertext)),
        *_once(lambda: gmssl_oracle.sm2_decrypt(key, raw)),
    )


def _bulk() -> Iterator[Pair]:
    by_address = address_tweak.AddressTweak.derive(_KEY)
    ecb = _library(modes.ECB())  # noqa: S305
    sm4_jobs: dict[str, tuple[Callable[[], object], str, Callable[[], object]]] = {
        "SM4-ECB": (lambda: sm4.ecb_encrypt(_KEY[:16], _DATA), "SM4-ECB", ecb),
        "SM4-CTR": (
            lambda: sm4.ctr_encrypt(_KEY[:16], _KEY[:16], _DATA),
            "SM4-CTR",
            _library(modes.CTR(_KEY[:16])),
        ),
        "SM4-XTS (GB), pages": (_xts("gb"), "SM4-ECB", ecb),
        "SM4-XTS (IEEE), pages": (_xts("ieee"), "SM4-ECB", ecb),
        "SM4-XEX by address": (
            lambda: address_tweak.encrypt("SM4", _KEY[:16], by_address, 0, _DATA, "XEX"),
            "SM4-ECB",
            ecb,
        ),
        "SM4-XE by address": (
            lambda: address_tweak.encrypt("SM4", _KEY[:16], by_address, 0, _DATA, "XE"),
            "SM4-ECB",
            ecb,
        ),
    }
    for name, (ours, peer, theirs) in sm4_jobs.items():
        yield Pair(name, "B", f"cryptography {peer}", ours, _SIZE, theirs, _SIZE)
    yield Pair(
        "SM4-XTS (GB), pages",
        "B",
        "gmssl SM4-ECB",
        _xts("gb"),
        _SIZE,
        lambda: gmssl_oracle.sm4_ecb_encrypt(_KEY[:16], _PAGE),
        PAGE_SIZE,
    )
    yield from _others()


def _others() -> Iterator[Pair]:
    view, starts = memoryview(_DATA), range(0, _SIZE, PAGE_SIZE)

    def contexts() -> None:
        for start in starts:
            engine = Cipher(algorithms.AES(_KEY), modes.XTS(_TWEAKS[:16])).encryptor()
            engine.update(view[start : start + PAGE_SIZE])

    def digests() -> None:
        for start in starts:
            hash_page(view[start : start + PAGE_SIZE])

    yield Pair(
        "SM3, pages",
        "B",
        "hashlib",
        lambda: sm3.digests(_DATA, PAGE_SIZE),
        _SIZE,
        digests,
        _SIZE,
    )
    yield Pair(
        "SM3, one message",
        "B",
        "gmssl",
        lambda: sm3.sm3(_DATA),
        _SIZE,
        lambda: gmssl_oracle.sm3(_PAGE),
        PAGE_SIZE,
    )
    yield Pair(
        "AES-128-XTS, pages",
        "B",
        "cryptography, a context a page",
        lambda: aes_xts.encrypt_units(_KEY, _TWEAKS, _DATA, PAGE_SIZE),
        _SIZE,
        contexts,
        _SIZE,
    )


def _one_page() -> Iterator[Pair]:
    """One page at a time, beside the same call where the library does all."""
    by_address = address_tweak.AddressTweak.derive(_KEY)
    jobs: dict[str, Callable[[], object]] = {
        "SM4-ECB, 4 KiB": lambda: sm4.ecb_encrypt(_KEY[:16], _PAGE),
        "SM4-CTR, 4 KiB": lambda: sm4.ctr_encrypt(_KEY[:16], _KEY[:16], _PAGE),
        "SM4-XTS, 4 KiB": lambda: sm4_xts.encrypt_units(_KEY, _TWEAKS[:16], _PAGE, PAGE_SIZE, "gb"),
        "SM4-XEX, 4 KiB": lambda: address_tweak.encrypt(
            "SM4", _KEY[:16], by_address, 0, _PAGE, "XEX"
        ),
        "SM3, 4 KiB": lambda: sm3.digests(_PAGE, PAGE_SIZE),
        "AES-XTS, 4 KiB": lambda: aes_xts.encrypt_units(_KEY, _TWEAKS[:16], _PAGE, PAGE_SIZE),
        "AES-XEX, 4 KiB": lambda: address_tweak.encrypt(
            "AES", _KEY[:16], by_address, 0, _PAGE, "XEX"
        ),
    }
    for name, job in jobs.items():
        units = _CALLS * PAGE_SIZE
        yield Pair(name, "B", "ours by the library", _often(job), units, _without(job), units)


def _two_threads() -> Iterator[Pair]:
    jobs: dict[str, Callable[[], object]] = {
        "SM4-XTS, two threads": _xts("gb"),
        "SM3, two threads": lambda: sm3.digests(_DATA, PAGE_SIZE),
    }
    for name, job in jobs.items():
        yield Pair(name, "B", "one thread", _twice(job), 2 * _SIZE, job, _SIZE)


def _twice(job: Callable[[], object]) -> Callable[[], object]:
    def both() -> None:
        threads = [Thread(target=job) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return both


def _often(job: Callable[[], object]) -> Callable[[], object]:
    def calls() -> None:
        for _ in range(_CALLS):
            job()

    return calls


def _without(job: Callable[[], object]) -> Callable[[], object]:
    def library() -> None:
        with bulk.library_only():
            _often(job)()

    return library


def _xts(standard: sm4_xts.Standard) -> Callable[[], object]:
    return lambda: sm4_xts.encrypt_units(_KEY, _TWEAKS, _DATA, PAGE_SIZE, standard)


def _library(mode: modes.ECB | modes.CTR) -> Callable[[], object]:
    return lambda: Cipher(algorithms.SM4(_KEY[:16]), mode).encryptor().update(_DATA)


def _once(job: Callable[[], object]) -> tuple[Callable[[], object], int]:
    return job, 1
