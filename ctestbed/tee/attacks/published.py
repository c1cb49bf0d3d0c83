"""What papers report of attacks on platforms: `attest/attacks/published.toml`."""

import tomllib
from functools import cache
from typing import Final

from ctestbed.core.data import data_directory
from ctestbed.tee.attacks.scene import Outcome

Cell = tuple[str, str, tuple[str, ...]]
"""Attack, platform, mitigations."""
FILE: Final = "published.toml"


@cache
def published() -> dict[Cell, tuple[Outcome, str]]:
    """Return each published outcome, and the paper that reports it."""
    text = (data_directory("attest") / "attacks" / FILE).read_text(encoding="utf-8")
    table = tomllib.loads(text)
    found: dict[Cell, tuple[Outcome, str]] = {}
    for attack, cells in table["cells"].items():
        for cell in cells:
            switches = (cell["with"],) if "with" in cell else ()
            source = table["sources"][cell["source"]]
            found[attack, cell["on"], switches] = Outcome(cell["outcome"]), source
    return found
