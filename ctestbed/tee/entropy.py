"""Where an emulated machine's keys and nonces come from."""

import secrets
from dataclasses import dataclass, field

from ctestbed.crypto.sm3 import hkdf_sm3


@dataclass(frozen=True, slots=True)
class Entropy:
    """The operating system's generator or, for an emulated root made from a seed, the seed.

    A seeded draw depends on the seed and its label only, so a label must name one use.
    """

    seed: int | None = None
    scope: str = field(default="", compare=False)

    @property
    def seeded(self) -> bool:
        """Whether draws can be repeated."""
        return self.seed is not None

    @property
    def secret(self) -> bytes:
        """The seed as HKDF-SM3 takes it."""
        return f"ctestbed emulated machine/1 {self.seed}".encode()

    def draw(self, label: str, length: int) -> bytes:
        """Return `length` bytes for the use that `label` names."""
        if not self.seeded:
            return secrets.token_bytes(length)
        return hkdf_sm3(self.secret, f"{self.scope}/{label}".encode(), length)

    def within(self, scope: str) -> "Entropy":
        """Return the same source for the labels of one part, such as a VM."""
        return Entropy(self.seed, f"{self.scope}/{scope}")
