"""Switches that a platform can have on top of its profile: each stops some attacks."""

from enum import StrEnum
from typing import Final

from ctestbed.core.errors import InputError
from ctestbed.core.names import did_you_mean


class Mitigation(StrEnum):
    """A switch by the name that `cvm launch --with` takes."""

    CIPHERTEXT_HIDING = "ciphertext-hiding"
    ALIAS_CHECK = "alias-check"
    RESTRICTED_INJECTION = "restricted-injection"
    COUNTER_TREE = "counter-tree"
    FRESHNESS = "freshness"
    FIXED_FIRMWARE = "fixed-firmware"
    FIXED_INVD = "fixed-invd"
    FIXED_KERNEL = "fixed-kernel"
    MEC = "mec"
    LOGICAL_INTEGRITY = "logical-integrity"


MEANING: Final = {
    Mitigation.CIPHERTEXT_HIDING: "the host reads a fixed pattern in place of ciphertext",
    Mitigation.ALIAS_CHECK: "firmware looks for masked address lines at boot",
    Mitigation.RESTRICTED_INJECTION: "the host can inject the doorbell #HV alone",
    Mitigation.COUNTER_TREE: "a MAC and a counter per line, whose last value the chip knows",
    Mitigation.FRESHNESS: "a counter per line joins the tweak of the cipher",
    Mitigation.FIXED_FIRMWARE: "firmware keeps the host out of the reverse map table at set-up",
    Mitigation.FIXED_INVD: "microcode turns INVD into WBINVD",
    Mitigation.FIXED_KERNEL: "the guest's kernel handles no external interrupt as a system call",
    Mitigation.MEC: "a memory encryption key for each realm, not one for their world",
    Mitigation.LOGICAL_INTEGRITY: "the owner bit alone, without a MAC",
}


def parse_mitigations(names: list[str], available: list[str], platform: str) -> list[Mitigation]:
    """Return switches by name, each once, sorted.

    Raises:
        InputError: an unknown switch, or one that the platform does not have (`CTB-M079`).
    """
    for name in names:
        if name not in available:
            known = ", ".join(available) or "none"
            raise InputError(
                "CTB-M079",
                f"platform {platform!r} has no switch {name!r}",
                hint=did_you_mean(name, available) if available else f"it has {known}",
            )
    return sorted(Mitigation(name) for name in set(names))
