"""Firmware versions of a machine, and whether it can be made to run an older one.

A key derived per version (VCEK) signs as what it was derived for, so firmware that is rolled
back cannot sign as the newer one. Without it, old firmware signs with the same key.
"""

from dataclasses import dataclass, field

from ctestbed.core.errors import InputError
from ctestbed.crypto.sm3 import hkdf_sm3


@dataclass(slots=True)
class FirmwareVersion:
    """The version that runs, and the lowest that can be loaded again.

    `versioned_keys`: the attestation key depends on the version. `anti_rollback`: a version
    below `committed` is refused.
    """

    current: int
    secret: bytes = field(repr=False)
    committed: int = 0
    versioned_keys: bool = False
    anti_rollback: bool = False

    def load(self, version: int) -> None:
        """Load firmware of a version, older or newer.

        Raises:
            InputError: older than what was committed, where that is held (`CTB-M082`).
        """
        if self.anti_rollback and version < self.committed:
            raise InputError(
                "CTB-M082",
                f"loading firmware returns BAD_SVN: version {version} is older than"
                f" {self.committed}, which was committed",
            )
        self.current = version

    def commit(self) -> None:
        """Make the running version the lowest that can be loaded."""
        self.committed = self.current

    def signing_secret(self, version: int | None = None) -> bytes:
        """Return what the running firmware derives its attestation key from: 32 bytes.

        Raises:
            InputError: for a version above the running one: it cannot know that key.
        """
        wanted = self.current if version is None else version
        if not self.versioned_keys:
            return hkdf_sm3(self.secret, b"attestation key", 32)
        if wanted > self.current:
            raise InputError(
                "CTB-M082",
                f"firmware of version {self.current} cannot derive the key of version {wanted}",
            )
        return hkdf_sm3(self.secret, b"attestation key %d" % wanted, 32)
