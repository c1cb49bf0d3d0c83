"""How a flow chooses among equal-cost hops: by a stated hash, or balanced by index.

ecmp      Every choice of a flow draws `mix64(key ^ mix64(salt)) mod n`, where `key` chains mix64
          over seed, source, destination and label, and `salt` numbers the choice (plane 1,
          spine or core 2, cable up 3, trunk cable 4, cable down 5; over fabrics without tiers step
          n, from 0 on, is 16 + n, among the cables that come nearer, in order). Choice t of a spine
          or core is spine `t mod S` of the pod and its core `t div S`. `mix64` is SplitMix64's
          output function, so paths are the same on every machine.
balanced  Every choice takes a digit of the destination's port number (D-mod-k). Ports under one
          leaf differ in their digits, so a shift loads every cable alike.
sweep     Paths of one flow in turn: the first is hashed as in ecmp, but for the label, and path t
          is the one t choices on, so that any run of paths is spread as evenly as can be. All
          paths of a flow lie in one plane.
"""

from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctestbed.core.mix import mix64

Spread: TypeAlias = Literal["balanced", "ecmp", "sweep"]
Column: TypeAlias = NDArray[Any]

PLANE: Final = 1
TOP: Final = 2
UP: Final = 3
TRUNK: Final = 4
DOWN: Final = 5
STEP: Final = 16


def flow_keys(source: Column, destination: Column, label: Column, seed: int) -> Column:
    """Return each flow's 64-bit hash key; of a wider seed the low 64 bits count."""
    key = mix64(np.full(len(source), np.uint64(seed % 2**64)))
    for part in (source, destination, label):
        key = mix64(key ^ part.astype(np.uint64))
    return key


def hashed_choice(keys: Column, salt: int, count: int | Column) -> Column:
    """Return each flow's choice among `count`, or its own of that, by hash."""
    own = mix64(np.array([salt], np.uint64))
    most = np.asarray(count).astype(np.uint64)
    return (mix64(keys ^ own) % most).astype(np.int64)
