"""Every code a finding or an error can carry: what it means and what to do.

One TOML file per family. A test holds the catalogue and the code's own uses together.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Explanation:
    """A catalogue entry: a title, why it happens, and what to do."""

    code: str
    title: str
    meaning: str
    remedy: str


@cache
def load_catalogue() -> dict[str, Explanation]:
    """Return all entries by code, in the order of their families."""
    entries: dict[str, Explanation] = {}
    for path in sorted(files(__package__).iterdir(), key=lambda item: item.name):
        if not path.name.endswith(".toml"):
            continue
        for code, entry in tomllib.loads(path.read_text(encoding="utf-8")).items():
            entries[code] = Explanation(code, entry["title"], entry["meaning"], entry["remedy"])
    return entries
