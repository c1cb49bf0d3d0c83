"""A machine of a platform whose chip makes no evidence yet: a seed, or a secret of its own.

What a chip of such a platform draws at boot, such as tweak constants, derives from the secret.
"""

import json
import secrets
from dataclasses import dataclass, field
from typing import Final

from ctestbed.core.errors import InputError
from ctestbed.crypto.sm3 import hkdf_sm3
from ctestbed.tee.entropy import Entropy

SECRET_SIZE: Final = 32
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class MachineSecret:
    """`value` is 32 bytes; a seeded one can be derived again."""

    entropy: Entropy
    value: bytes = field(repr=False)


def make_secret(entropy: Entropy, platform: str) -> MachineSecret:
    """Make a machine's secret: fresh, or the one that a seed names."""
    if not entropy.seeded:
        return MachineSecret(entropy, secrets.token_bytes(SECRET_SIZE))
    label = f"machine secret {platform}".encode()
    return MachineSecret(entropy, hkdf_sm3(entropy.secret, label, SECRET_SIZE))


def dump_secret(secret: MachineSecret) -> bytes:
    """Return it as the state directory keeps it."""
    value = {"version": _VERSION, "seed": secret.entropy.seed, "secret": secret.value.hex()}
    return json.dumps(value, indent=1).encode()


def load_secret(content: bytes) -> MachineSecret:
    """Invert `dump_secret`.

    Raises:
        InputError: anything else; the message names no secret.
    """
    try:
        value = json.loads(content)
        seed, secret = value["seed"], bytes.fromhex(value["secret"])
        sound = value["version"] == _VERSION and len(secret) == SECRET_SIZE
        sound = sound and (seed is None or type(seed) is int)
    except (ValueError, KeyError, TypeError, RecursionError):
        sound = False
    if not sound:
        raise InputError("CTB-M060", "the emulated machine cannot be read: it is damaged")
    return MachineSecret(Entropy(seed), secret)
