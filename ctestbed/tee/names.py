"""The platforms by name. Light enough for shell completion."""

from typing import Final

PLATFORMS: Final = (
    "csv",
    "csv2",
    "csv3",
    "sev",
    "sev-es",
    "snp",
    "tdx",
    "cca",
    "virtcca",
    "plain",
)
