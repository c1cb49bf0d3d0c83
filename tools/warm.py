"""Compile every kernel at the signatures the product uses, so that no command waits for it."""

import importlib
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parent.parent / "ctestbed"


def main() -> None:
    """Import each `kernels.py` and run its `warm()`."""
    for path in sorted(PACKAGE.rglob("kernels*.py")):
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        importlib.import_module(name).warm()


if __name__ == "__main__":
    main()
