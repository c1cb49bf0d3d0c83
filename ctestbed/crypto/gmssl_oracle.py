"""The pure-Python package gmssl as an independent second opinion. Never signs for real.

Its nonces come from `random`, so `sm2_sign` takes one. What it does under the hood is worked
around here: SM2's identity is fixed, ECB and CBC always append a block of padding, SM3 eats
the list it is given, and a public key whose hex begins with 04 loses leading digits.
"""

from gmssl import sm2 as _sm2
from gmssl import sm3 as _sm3
from gmssl import sm4 as _sm4

from ctestbed.crypto.sm2 import PrivateKey, PublicKey, Signature
from ctestbed.crypto.sm4 import BLOCK_SIZE

IDENTITY = b"1234567812345678"


def sm3(data: bytes) -> bytes:
    """Return the SM3 digest."""
    return bytes.fromhex(_sm3.sm3_hash(list(data)))


def sm4_ecb_encrypt(key: bytes, data: bytes) -> bytes:
    """Encrypt whole blocks."""
    return bytes(_encryptor(key).crypt_ecb(data)[:-BLOCK_SIZE])


def sm4_cbc_encrypt(key: bytes, iv: bytes, data: bytes) -> bytes:
    """Encrypt whole blocks, chained."""
    return bytes(_encryptor(key).crypt_cbc(iv, data)[:-BLOCK_SIZE])


def sm2_sign(private_key: PrivateKey, message: bytes, nonce: int) -> Signature:
    """Sign as `IDENTITY` with a nonce in 1..n-1."""
    signer = _party(private_key.public_key)
    signer.private_key = f"{private_key.d:064x}"
    signature = signer.sign_with_sm3(message, f"{nonce:064x}")
    return Signature(int(signature[:64], 16), int(signature[64:], 16))


def sm2_verify(public_key: PublicKey, message: bytes, signature: Signature) -> bool:
    """Tell whether a signature made as `IDENTITY` holds."""
    encoded = f"{signature.r:064x}{signature.s:064x}"
    return bool(_party(public_key).verify_with_sm3(encoded, message))


def sm2_encrypt(public_key: PublicKey, message: bytes, *, newer: bool = True) -> bytes:
    """Encrypt to C1C3C2, or C1C2C3 if not `newer`, without 04 in front."""
    party = _party(public_key)
    party.mode = int(newer)
    while True:
        if (ciphertext := party.encrypt(message)) is not None:
            return bytes(ciphertext)


def sm2_decrypt(private_key: PrivateKey, ciphertext: bytes, *, newer: bool = True) -> bytes:
    """Decrypt what `sm2_encrypt` gives. It does not check the digest."""
    party = _party(private_key.public_key)
    party.private_key, party.mode = f"{private_key.d:064x}", int(newer)
    return bytes(party.decrypt(ciphertext))


def _encryptor(key: bytes) -> _sm4.CryptSM4:
    cipher = _sm4.CryptSM4()
    cipher.set_key(key, _sm4.SM4_ENCRYPT)
    return cipher


def _party(public_key: PublicKey) -> _sm2.CryptSM2:
    party = _sm2.CryptSM2(private_key="", public_key="")
    party.public_key = public_key.encoded[1:].hex()
    return party
