"""Keys in Hygon certificates, and whether one confirms another."""

from functools import lru_cache

from ctestbed.core.errors import InputError, NotAuthenticError
from ctestbed.crypto.sm2 import (
    PublicKey,
    Signature,
    SignatureInvalidError,
    fingerprint,
    verify,
)
from ctestbed.evidence.csv_certificate import (
    ALGORITHM_SM2_SIGN,
    CURVE_SM2,
    Certificate,
    ChipCertificate,
    RootCertificate,
    body,
    usage_name,
)


def signing_key(certificate: Certificate) -> PublicKey:
    """Return the key with which a certificate's owner signs.

    Raises:
        NotAuthenticError: `KEY_BAD`: another curve or algorithm, or no point of the curve.
    """
    name = usage_name(certificate.usage)
    if certificate.curve != CURVE_SM2:
        raise NotAuthenticError("KEY_BAD", f"the {name} is on curve {certificate.curve}, not SM2")
    if isinstance(certificate, ChipCertificate) and certificate.algorithm != ALGORITHM_SM2_SIGN:
        raise NotAuthenticError(
            "KEY_BAD", f"the {name} is for algorithm {certificate.algorithm}, not SM2 signatures"
        )
    try:
        return PublicKey(certificate.x, certificate.y)
    except InputError as error:
        raise NotAuthenticError("KEY_BAD", f"the {name}: {error.message}") from None


def key_fingerprint(certificate: Certificate) -> str:
    """Return the fingerprint of a certificate's key; `KEY_BAD` as `signing_key`."""
    return fingerprint(signing_key(certificate))


def require_signature(issuer: Certificate, message: bytes, signature: Signature, what: str) -> None:
    """Return if the issuer signed `message`, under the identity its certificate states.

    Raises:
        NotAuthenticError: `SIG_BAD`, or `KEY_BAD` of the issuer.
    """
    if not _confirms(signing_key(issuer), message, issuer.uid, signature):
        signer = usage_name(issuer.usage)
        raise NotAuthenticError("SIG_BAD", f"the {signer}'s signature on the {what} does not hold")


def require_issuer(issuer: Certificate, subject: Certificate) -> None:
    """Return if `issuer` is whom `subject` names as its signer, and did sign it.

    A chip certificate names its signer by usage in a signature slot and, where a root
    certificate signs, by key id too. The PEK's signer, the CEK, has no id to name.

    Raises:
        NotAuthenticError: `ISSUER_MISMATCH`, `SIG_BAD`, or `KEY_BAD` of the issuer.
    """
    name, signer = usage_name(subject.usage), usage_name(issuer.usage)
    if isinstance(issuer, RootCertificate) and subject.signer_id != issuer.key_id:
        raise NotAuthenticError(
            "ISSUER_MISMATCH",
            f"the {name} names signer {subject.signer_id.hex()},"
            f" and the {signer} at hand is {issuer.key_id.hex()}",
        )
    if isinstance(subject, RootCertificate):
        require_signature(issuer, body(subject), Signature(subject.r, subject.s), name)
        return
    slots = [slot for slot in subject.signatures if slot.usage == issuer.usage]
    for slot in slots:
        if slot.algorithm == ALGORITHM_SM2_SIGN and _confirms(
            signing_key(issuer), body(subject), issuer.uid, Signature(slot.r, slot.s)
        ):
            return
    fact = f"the {signer}'s signature on the {name} does not hold"
    if not slots:
        fact = f"the {name} carries no signature by the {signer}"
    raise NotAuthenticError("SIG_BAD", fact)


@lru_cache(maxsize=1024)
def _confirms(key: PublicKey, message: bytes, identity: bytes, signature: Signature) -> bool:
    """Tell whether a signature holds. Remembered by all it depends on: batches share chains."""
    try:
        verify(key, message, identity, signature)
    except SignatureInvalidError:
        return False
    return True
