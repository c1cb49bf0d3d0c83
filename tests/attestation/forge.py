"""A small vendor of CSV chips for tests, in which every part can be made wrong."""

from dataclasses import dataclass, replace

from ctestbed.crypto.sm2 import PrivateKey, derive_private_key, sign
from ctestbed.crypto.sm3 import hmac_sm3
from ctestbed.evidence.csv_bundle import dump_bundle
from ctestbed.evidence.csv_certificate import (
    EMPTY_SLOT,
    Certificate,
    ChipCertificate,
    RootCertificate,
    SignatureSlot,
    Usage,
    body,
)
from ctestbed.evidence.csv_report import CSVReport, dump_report, mac_input, signed_bytes

DATA = b"nonce of this request".ljust(64, b"\0")
MEASURE = bytes(range(32))


def key(name: str) -> PrivateKey:
    return derive_private_key(b"tests/attestation", name.encode())


def root_certificate(
    usage: int, owner: str, issuer: str, *, uid: str = "", signer_id: bytes | None = None
) -> RootCertificate:
    """Make `owner`'s certificate (HRK or HSK) and have `issuer` sign it."""
    point = key(owner).public_key
    unsigned = RootCertificate(
        version=1,
        key_id=owner.encode().ljust(16, b"\0"),
        signer_id=issuer.encode().ljust(16, b"\0") if signer_id is None else signer_id,
        usage=usage,
        curve=3,
        x=point.x,
        y=point.y,
        uid=(uid or f"UID-{owner}").encode(),
        r=0,
        s=0,
    )
    own = uid if owner == issuer else ""
    signature = sign(
        key(issuer), body(unsigned), (own or f"UID-{issuer}").encode(), deterministic=True
    )
    return replace(unsigned, r=signature.r, s=signature.s)


def chip_certificate(
    usage: int, owner: str, issuer: str, signer: int, *, signer_id: bytes = bytes(16)
) -> ChipCertificate:
    """Make `owner`'s certificate (CEK or PEK) and have `issuer`, of usage `signer`, sign it."""
    point = key(owner).public_key
    unsigned = ChipCertificate(
        version=1,
        firmware_major=1,
        firmware_minor=3,
        usage=usage,
        algorithm=4,
        curve=3,
        x=point.x,
        y=point.y,
        uid=f"UID-{owner}".encode(),
        signer_id=signer_id,
        signature_0=EMPTY_SLOT,
        signature_1=EMPTY_SLOT,
    )
    signature = sign(key(issuer), body(unsigned), f"UID-{issuer}".encode(), deterministic=True)
    return replace(unsigned, signature_0=SignatureSlot(signer, 4, signature.r, signature.s))


@dataclass(frozen=True)
class Machine:
    """Certificates of one chip."""

    hrk: RootCertificate
    hsk: RootCertificate
    cek: ChipCertificate
    pek: ChipCertificate

    @property
    def bundle(self) -> tuple[Certificate, ...]:
        return self.hrk, self.hsk, self.cek

    @property
    def certs(self) -> bytes:
        return dump_bundle(self.bundle)


def machine(tag: str = "", *, hrk: str = "", uid: str = "UID-HRK-NAME") -> Machine:
    """Make a whole chain; `tag` names its keys, `hrk` another root key, `uid` the root's name."""
    root, hsk, cek, pek = hrk or f"HRK{tag}", f"HSK{tag}", f"CEK{tag}", f"PEK{tag}"
    top = root_certificate(Usage.HRK, root, root, uid=uid)
    middle = replace(root_certificate(Usage.HSK, hsk, root), r=0, s=0)
    signature = sign(key(root), body(middle), uid.encode(), deterministic=True)
    middle = replace(middle, r=signature.r, s=signature.s)
    return Machine(
        top,
        middle,
        chip_certificate(Usage.CEK, cek, hsk, Usage.HSK, signer_id=hsk.encode().ljust(16, b"\0")),
        chip_certificate(Usage.PEK, pek, cek, Usage.CEK),
    )


def report(chip: Machine, tag: str = "", **changes: object) -> CSVReport:
    """Have a chip sign a report, with any plain field changed before it is signed."""
    plain = CSVReport(
        user_pubkey_digest=bytes(32),
        vm_id=bytes(16),
        vm_version=bytes(16),
        report_data=DATA,
        mnonce=b"a fresh mnonce!!",
        measure=MEASURE,
        policy=1,
        signature_usage=Usage.PEK,
        signature_algorithm=4,
        anonce=0xA1B2C3D4,
        r=0,
        s=0,
        pek=chip.pek,
        serial=b"SERIAL".ljust(64, b"\0"),
        reserved=bytes(range(32)),
        mac=bytes(32),
    )
    return resign(replace(plain, **changes), tag)  # type: ignore[arg-type]


def resign(plain: CSVReport, tag: str = "") -> CSVReport:
    identity = f"UID-PEK{tag}".encode()
    signature = sign(key(f"PEK{tag}"), signed_bytes(plain), identity, deterministic=True)
    return remac(replace(plain, r=signature.r, s=signature.s))


def remac(plain: CSVReport) -> CSVReport:
    """Compute the MAC anew, as anybody can."""
    return replace(plain, mac=hmac_sm3(plain.mnonce, mac_input(plain)))


def remask(content: bytes, anonce: bytes) -> bytes:
    """Attack: put another anonce into a report, over the same signed bytes, with a fresh MAC.

    Written from the facts' description over raw bytes, without the product's codec.
    """
    old = content[188:192]
    delta = bytes(a ^ b for a, b in zip(old, anonce, strict=True))
    result = bytearray(content)
    for index in (*range(180, 188), *range(336, 2516)):
        result[index] ^= delta[index % 4]
    result[188:192] = anonce
    mnonce = bytes(content[128 + i] ^ anonce[i % 4] for i in range(16))
    result[2516:2548] = hmac_sm3(mnonce, bytes(result[336:2516]))
    return bytes(result)


def wire(plain: CSVReport) -> bytes:
    return dump_report(plain)
