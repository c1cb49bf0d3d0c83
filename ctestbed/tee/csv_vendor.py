"""An emulated CSV vendor and one chip of it: HRK, HSK, CEK, PEK, OCA and their certificates.

Real and emulated chains have one structure and differ in the root alone. Keys are fresh, or
derive from a seed; the identity in every certificate says EMULATED, or EMULATED SEEDED, and so
does the chip's serial number.
"""

import json
from dataclasses import dataclass, field, replace
from typing import Final

from ctestbed.core.errors import CtestbedError, InputError
from ctestbed.crypto.sm2 import (
    PrivateKey,
    PublicKey,
    Signature,
    derive_private_key,
    generate_private_key,
    sign,
)
from ctestbed.crypto.sm2 import fingerprint as key_fingerprint
from ctestbed.crypto.sm3 import sm3
from ctestbed.evidence.csv_bundle import dump_bundle
from ctestbed.evidence.csv_certificate import (
    ALGORITHM_SM2_SIGN,
    CURVE_SM2,
    EMPTY_SLOT,
    Certificate,
    ChipCertificate,
    RootCertificate,
    SignatureSlot,
    Usage,
    body,
    dump_certificate,
    parse_chip_certificate,
    parse_root_certificate,
)
from ctestbed.tee.entropy import Entropy

SERIAL_SIZE: Final = 64
_VERSION: Final = 1
_ROLES: Final = ("HRK", "HSK", "CEK", "OCA", "PEK")
_NO_ID: Final = bytes(16)


@dataclass(frozen=True, slots=True)
class CSVChip:
    """A chip and its vendor. `serial` is 64 bytes, padded with zero; keys never show."""

    entropy: Entropy
    serial: bytes
    keys: dict[str, PrivateKey] = field(repr=False)
    hrk: RootCertificate
    hsk: RootCertificate
    cek: ChipCertificate
    oca: ChipCertificate
    pek: ChipCertificate

    @property
    def root_certificate(self) -> bytes:
        """The HRK certificate: 832 bytes."""
        return dump_certificate(self.hrk)

    @property
    def endorsements(self) -> bytes:
        """What a verifier needs beside a report: HRK || HSK || CEK, 3748 bytes."""
        return dump_bundle((self.hrk, self.hsk, self.cek))

    @property
    def root_fingerprint(self) -> str:
        """The fingerprint by which the root is pinned."""
        return key_fingerprint(PublicKey(self.hrk.x, self.hrk.y))

    def sign(self, role: str, message: bytes) -> Signature:
        """Sign as the holder of a role's key, under the identity of its certificate."""
        signer: Certificate = getattr(self, role.lower())
        return _sign(self.entropy, self.keys[role], message, signer.uid)


def make_chip(entropy: Entropy) -> CSVChip:
    """Make a vendor and a chip of it: fresh, or the ones that a seed names."""
    keys = {role: _make_key(entropy, role) for role in _ROLES}
    hrk = _root(entropy, keys, "HRK", signer="HRK", uid=_uid(entropy, "HRK"))
    hsk = _root(entropy, keys, "HSK", signer="HRK", uid=hrk.uid)
    cek = _chip(entropy, keys, "CEK", version=2, signer_id=hsk.key_id)
    oca = _chip(entropy, keys, "OCA")
    pek = _chip(entropy, keys, "PEK")
    return CSVChip(
        entropy=entropy,
        serial=f"EMULATED{entropy.draw('serial', 4).hex().upper()}".encode().ljust(
            SERIAL_SIZE, b"\0"
        ),
        keys=keys,
        hrk=hrk,
        hsk=hsk,
        cek=_fill(entropy, keys, cek, "HSK"),
        oca=_fill(entropy, keys, oca, "OCA"),
        pek=_fill(entropy, keys, pek, "CEK", "OCA"),
    )


def dump_chip(chip: CSVChip) -> bytes:
    """Return the chip as the state directory keeps it, private keys included."""
    certificates: tuple[Certificate, ...] = (chip.hrk, chip.hsk, chip.cek, chip.oca, chip.pek)
    return json.dumps(
        {
            "version": _VERSION,
            "seed": chip.entropy.seed,
            "serial": chip.serial.hex(),
            "keys": {role: f"{key.d:064x}" for role, key in chip.keys.items()},
            "certificates": {
                role: dump_certificate(certificate).hex()
                for role, certificate in zip(_ROLES, certificates, strict=True)
            },
        },
        indent=1,
    ).encode()


def load_chip(content: bytes) -> CSVChip:
    """Invert `dump_chip`.

    Raises:
        InputError: anything else; the message names no key.
    """
    try:
        value = json.loads(content)
        if value["version"] != _VERSION:
            raise InputError("CTB-M060", f"its version is not {_VERSION}")
        seed = value["seed"]
        if seed is not None and type(seed) is not int:
            raise InputError("CTB-M060", "its seed is not a number")
        certificates = {role: bytes.fromhex(value["certificates"][role]) for role in _ROLES}
        chip = CSVChip(
            entropy=Entropy(seed),
            serial=bytes.fromhex(value["serial"]),
            keys={role: PrivateKey(int(value["keys"][role], 16)) for role in _ROLES},
            hrk=parse_root_certificate(certificates["HRK"]),
            hsk=parse_root_certificate(certificates["HSK"]),
            cek=parse_chip_certificate(certificates["CEK"]),
            oca=parse_chip_certificate(certificates["OCA"]),
            pek=parse_chip_certificate(certificates["PEK"]),
        )
    except CtestbedError as error:
        raise InputError("CTB-M060", f"the emulated chip cannot be read: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError("CTB-M060", "the emulated chip cannot be read: it is damaged") from None
    for role, key in chip.keys.items():
        certificate: Certificate = getattr(chip, role.lower())
        if key.public_key != PublicKey(certificate.x, certificate.y):
            raise InputError("CTB-M060", f"the emulated chip's {role} key is not its certificate's")
    return chip


def _uid(entropy: Entropy, role: str) -> bytes:
    seeded = "SEEDED-" if entropy.seeded else ""
    return f"CTESTBED-EMULATED-{seeded}{role}".encode()


def _make_key(entropy: Entropy, role: str) -> PrivateKey:
    if entropy.seeded:
        return derive_private_key(entropy.secret, f"csv/{role}".encode())
    return generate_private_key()


def _key_id(key: PrivateKey) -> bytes:
    """Name a key by its digest: how the vendor makes its 16-byte ids is not public."""
    return sm3(key.public_key.encoded)[:16]


def _sign(entropy: Entropy, key: PrivateKey, message: bytes, identity: bytes) -> Signature:
    return sign(key, message, identity, deterministic=entropy.seeded)


def _root(
    entropy: Entropy, keys: dict[str, PrivateKey], role: str, *, signer: str, uid: bytes
) -> RootCertificate:
    """Make an HRK or HSK certificate; `uid` is the identity that its signer signs under."""
    public = keys[role].public_key
    unsigned = RootCertificate(
        version=1,
        key_id=_key_id(keys[role]),
        signer_id=_key_id(keys[signer]),
        usage=Usage[role],
        curve=CURVE_SM2,
        x=public.x,
        y=public.y,
        uid=_uid(entropy, role),
        r=0,
        s=0,
    )
    signature = _sign(entropy, keys[signer], body(unsigned), uid)
    return replace(unsigned, r=signature.r, s=signature.s)


def _chip(
    entropy: Entropy,
    keys: dict[str, PrivateKey],
    role: str,
    *,
    version: int = 1,
    signer_id: bytes = _NO_ID,
) -> ChipCertificate:
    """Make a chip's certificate without signatures; versions are those of the real ones."""
    public = keys[role].public_key
    return ChipCertificate(
        version=version,
        firmware_major=1,
        firmware_minor=1 if role == "CEK" else 3,
        usage=Usage[role],
        algorithm=ALGORITHM_SM2_SIGN,
        curve=CURVE_SM2,
        x=public.x,
        y=public.y,
        uid=_uid(entropy, role),
        signer_id=signer_id,
        signature_0=EMPTY_SLOT,
        signature_1=EMPTY_SLOT,
    )


def _fill(
    entropy: Entropy, keys: dict[str, PrivateKey], certificate: ChipCertificate, *signers: str
) -> ChipCertificate:
    """Have the signers' keys fill a certificate's two slots in order, each as its own identity."""
    slots = [EMPTY_SLOT, EMPTY_SLOT]
    for index, role in enumerate(signers):
        signature = _sign(entropy, keys[role], body(certificate), _uid(entropy, role))
        slots[index] = SignatureSlot(Usage[role], ALGORITHM_SM2_SIGN, signature.r, signature.s)
    return replace(certificate, signature_0=slots[0], signature_1=slots[1])
