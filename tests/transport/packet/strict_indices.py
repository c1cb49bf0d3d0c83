"""Run as a program with NUMBA_DISABLE_JIT=1: problems over tables that refuse bad indices."""

import sys
import warnings
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, seed, settings

from ctestbed.transport.packet.kernels import run_windows
from ctestbed.transport.packet.kernels_layout import FULL, RUNNING, Z_AT
from ctestbed.transport.packet.kernels_sight import look
from ctestbed.transport.packet.pack import grow, pack
from tests.transport.packet.problems import Problem, problems


class Strict(np.ndarray[Any, Any]):
    """A table whose indices must lie in it: the compiled kernels do not count from the end."""

    def _check(self, index: Any) -> None:
        each = index if isinstance(index, tuple) else (index,)
        for number, size in zip(each, self.shape, strict=False):
            if not 0 <= number < size:
                raise IndexError(f"index {index} of a table of {self.shape}")

    def __getitem__(self, index: Any) -> Any:
        self._check(index)
        return np.ndarray.__getitem__(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._check(index)
        np.ndarray.__setitem__(self, index, value)


@seed(20261201)
@settings(
    max_examples=int(sys.argv[1]), deadline=None, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(problems())
def stay_inside(problem: Problem) -> None:
    """Run one problem to its end, or for 3 ms."""
    state = pack(*problem)
    horizon = 3 * 10**9
    while True:
        tables = [table.view(Strict) for table in state.arguments()]
        until = min(horizon, int(state.watch[Z_AT]))
        code = run_windows(*tables, until, 10**9)
        look(*(table.view(Strict) for table in state.looked_at()), horizon)
        if code == FULL:
            grow(state, len(state.chain))
        elif code != RUNNING or until == horizon:
            return


warnings.simplefilter("ignore")
np.seterr(all="ignore")
stay_inside()
sys.stdout.write("inside\n")
