"""The one door to numba: a compile cache that cannot be stale.

Numba's cache key covers only the file of the function itself, so a kernel kept calling an old
callee after another file changed. Here the cache lies in a directory named by a digest of all
kernel sources. Importing this module loads numba (0.3 s), so import it from `kernels.py` only.
"""

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba

from ctestbed.core.files import under_home

_PACKAGE = Path(__file__).resolve().parent.parent


def _sources_digest() -> str:
    digest = sha256()
    for path in sorted(_PACKAGE.rglob("kernels*.py")):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0")
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_directory() -> Path | None:
    """Return a writable cache directory, or None where the user's cache cannot be written."""
    root = os.environ.get("XDG_CACHE_HOME") or under_home(".cache")
    path = Path(root) / "ctestbed" / f"kernels-{_sources_digest()}"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return path if os.access(path, os.W_OK) else None


CACHE_DIRECTORY = _cache_directory()

if CACHE_DIRECTORY is not None:
    os.environ["NUMBA_CACHE_DIR"] = str(CACHE_DIRECTORY)
    setattr(numba.config, "CACHE_DIR", str(CACHE_DIRECTORY))  # noqa: B010 - numba has no types


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` on first use: cached, without the GIL, with IEEE arithmetic as written."""
    compiled: Callable[..., Any] = numba.njit(
        cache=CACHE_DIRECTORY is not None, nogil=True, fastmath=False
    )(function)
    return compiled
