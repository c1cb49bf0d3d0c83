"""One seed per run, and from it one independent stream per named component.

A component's stream depends on the seed and its own name only, so adding a component, or
running components in another order, changes nobody else's numbers.
"""

from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def spawn_seed(seed: int, component: str) -> int:
    """Return a 64-bit seed for `component`: SHA-256 of the seed and the name."""
    digest = sha256(f"ctestbed-seed/1\0{seed}\0{component}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def spawn_generator(seed: int, component: str) -> "np.random.Generator":
    """Return a numpy generator (PCG64) for `component`. Never for keys or nonces."""
    import numpy as np

    return np.random.Generator(np.random.PCG64(spawn_seed(seed, component)))
