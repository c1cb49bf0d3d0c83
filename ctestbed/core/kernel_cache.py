"""Where compiled kernels are kept, told without loading numba.

Numba's cache key covers only the file of the function itself, so a kernel kept calling an old
callee after another file changed. Here the cache lies in a directory named by a digest of all
kernel sources.
"""

import os
from functools import cache
from hashlib import sha256
from pathlib import Path

from ctestbed.core.files import under_home

_PACKAGE = Path(__file__).resolve().parent.parent


def sources_digest() -> str:
    """Return what names the cache: it differs when any kernel's source does."""
    digest = sha256()
    for path in sorted(_PACKAGE.rglob("kernels*.py")):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0")
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def find_cache_directory() -> Path | None:
    """Return a writable cache directory, or None where the user's cache cannot be written."""
    root = os.environ.get("XDG_CACHE_HOME") or under_home(".cache")
    path = Path(root) / "ctestbed" / f"kernels-{sources_digest()}"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return path if os.access(path, os.W_OK) else None


@cache
def cache_directory() -> Path | None:
    """Return the cache directory of this process."""
    return find_cache_directory()


def is_compiled(module: str, kernel: str) -> bool:
    """Tell whether a kernel of a file `module`.py lies in the cache, for some machine."""
    directory = cache_directory()
    return directory is not None and any(directory.glob(f"*/{module}.{kernel}-*.nbi"))
