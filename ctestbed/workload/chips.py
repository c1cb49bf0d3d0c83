"""Packet buffers of switch chips, as their makers and others claim them."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Chip:
    """A switch chip and the bytes of its whole packet buffer; `source` of that figure."""

    name: str
    buffer: int
    source: str
    off_chip: bool = False


def load_chips() -> list[Chip]:
    """Return the known chips, smallest buffer first."""
    content = files("ctestbed.workload").joinpath("chips.toml").read_text(encoding="utf-8")
    return sorted((Chip(**row) for row in tomllib.loads(content)["chips"]), key=lambda c: c.buffer)
