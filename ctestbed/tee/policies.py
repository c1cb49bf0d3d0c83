"""The policy word of each platform: names of its bits, and how a debuggable guest asks for it."""

from typing import Final

from ctestbed.core.errors import InputError
from ctestbed.evidence.csv_report import POLICY_NODBG
from ctestbed.evidence.csv_report import policy_flags as csv_flags
from ctestbed.tee.firmware.realms import LIFECYCLE_DEBUG
from ctestbed.tee.firmware.snp import POLICY_DEBUG
from ctestbed.tee.firmware.tdx import ATTRIBUTE_DEBUG

_NODBG: Final = ("csv", "csv2", "csv3", "sev", "sev-es")
_SEV: Final = {0: "NODBG", 1: "NOKS", 2: "ES", 3: "NOSEND", 4: "DOMAIN", 5: "SEV"}
_SNP: Final = {
    16: "SMT",
    18: "MIGRATE_MA",
    19: "DEBUG",
    20: "SINGLE_SOCKET",
    21: "CXL",
    22: "AES-256-XTS",
    23: "RAPL_OFF",
    24: "CIPHERTEXT_HIDING",
    25: "PAGE_SWAP_OFF",
}
_TDX: Final = {0: "DEBUG", 28: "SEPT_VE_DISABLE", 29: "MIGRATABLE", 30: "PKS", 31: "KL"}


def with_debug(platform: str, policy: int) -> int:
    """Return the policy of a guest that its host may debug.

    Raises:
        InputError: the platform documents no such thing (`CTB-M083`).
    """
    if platform in _NODBG:
        return policy & ~POLICY_NODBG
    if platform == "snp":
        return policy | POLICY_DEBUG
    if platform == "tdx":
        return policy | ATTRIBUTE_DEBUG
    if platform == "cca":
        return LIFECYCLE_DEBUG
    if platform == "plain":
        return policy
    raise InputError(
        "CTB-M083",
        f"platform {platform!r} documents no launch that lets the host debug",
        hint="leave --allow-debug out",
    )


def policy_flags(platform: str, policy: int) -> list[str]:
    """Return the names of the set bits, lowest first."""
    if platform == "cca":
        return ["DEBUG" if policy == LIFECYCLE_DEBUG else "SECURED"]
    if platform in {"csv", "csv2", "csv3"}:
        return csv_flags(policy)
    names = {"snp": _SNP, "tdx": _TDX}.get(platform, _SEV)
    return [name for bit, name in names.items() if policy >> bit & 1]
