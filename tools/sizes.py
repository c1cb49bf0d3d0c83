"""Report long files and functions, and fail on those over the caps without a stated reason."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
FILE_AIM: Final = 400
FILE_CAP: Final = 600
FUNCTION_AIM: Final = 50
KERNEL_CAP: Final = 120


def long_files() -> Iterator[tuple[int, Path]]:
    """Yield (lines, path) of each file over the aim."""
    for path in sorted(ROOT.glob("*/**/*.py")):
        if any(part.startswith(".") for part in path.relative_to(ROOT).parts):
            continue
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > FILE_AIM:
            yield lines, path


def long_functions() -> Iterator[tuple[int, int, Path, str]]:
    """Yield (lines, cap, path, name) of each function of the product over the aim.

    Lines are counted from the body's first: a command's options, one parameter each, are no code.
    """
    for path in sorted((ROOT / "ctestbed").rglob("*.py")):
        cap = KERNEL_CAP if path.name.startswith("kernels") else FUNCTION_AIM
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
                lines = node.end_lineno - node.body[0].lineno + 1
                if lines > FUNCTION_AIM:
                    yield lines, cap, path, node.name


def main() -> int:
    """Print what is long; return 1 if anything is over its cap."""
    failed = False
    for lines, path in long_files():
        over = lines > FILE_CAP
        failed |= over
        print(f"{'over cap' if over else 'long'}: {path.relative_to(ROOT)}: {lines} lines")
    for lines, cap, path, name in long_functions():
        over = lines > cap
        failed |= over
        place = path.relative_to(ROOT)
        print(f"{'over cap' if over else 'long'}: {place}: {name}: {lines} lines")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
