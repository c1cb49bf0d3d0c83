"""Where the editable data lives: `topologies/` and `attest/`.

In the repository first (an editable install must see edits), in the wheel's copy otherwise.
"""

from pathlib import Path

from ctestbed.core.errors import EnvironmentLacksError

_PACKAGE = Path(__file__).resolve().parent.parent


def data_directory(name: str) -> Path:
    """Return the directory of `topologies` or `attest`.

    Raises:
        EnvironmentLacksError: neither place has it (a broken installation).
    """
    for candidate in (_PACKAGE.parent / name, _PACKAGE / "_data" / name):
        in_repository = candidate.parent == _PACKAGE.parent
        if in_repository and not (_PACKAGE.parent / "pyproject.toml").is_file():
            continue
        if candidate.is_dir():
            return candidate
    raise EnvironmentLacksError(
        "CTB-C020",
        f"this installation lacks its data directory {name!r}",
        hint="reinstall ctestbed, or run it from its repository",
    )
