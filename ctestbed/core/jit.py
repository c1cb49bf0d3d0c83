"""The one door to numba: a compile cache that cannot be stale.

The cache lies where `kernel_cache` says. Importing this module loads numba (0.3 s), so import it
from `kernels.py` only.
"""

import os
from collections.abc import Callable
from typing import Any, Final

import numba
from llvmlite import ir
from numba import types
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic
from numba.np import arrayobj

from ctestbed.core.kernel_cache import cache_directory

CACHE_DIRECTORY = cache_directory()

if CACHE_DIRECTORY is not None:
    os.environ["NUMBA_CACHE_DIR"] = str(CACHE_DIRECTORY)
    setattr(numba.config, "CACHE_DIR", str(CACHE_DIRECTORY))  # noqa: B010 - numba has no types

_UNCOUNTED: Final[dict[str, Any]] = {"nogil": True, "fastmath": False, "_nrt": False}
"""Without counting references to arrays: an atomic operation wherever one gets another name."""
_NO_WRAPPERS: Final[dict[str, Any]] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` on first use: cached, without the GIL, with IEEE arithmetic as written."""
    compiled: Callable[..., Any] = numba.njit(
        cache=CACHE_DIRECTORY is not None, nogil=True, fastmath=False
    )(function)
    return compiled


def engine(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel that allocates nothing, with its `part`s inside it.

    References to its arrays are not counted: its caller holds them, and counting is an atomic
    operation at every place where an array gets another name.
    """
    compiled: Callable[..., Any] = numba.njit(**_UNCOUNTED, cache=CACHE_DIRECTORY is not None)(
        function
    )
    return compiled


def indexed_from_zero(compiled: Any) -> Callable[..., Any]:
    """Compile a `kernel`, `engine` or `inner` without the handling of indices from the end.

    That is five instructions wherever a row is found by a number that was read from a table, and a
    fifth to a third of the packet engine's time. A kernel so compiled must use no such index: it
    would read before the table.
    """
    function: Callable[..., Any] = compiled
    if not hasattr(compiled, "compile"):  # plain Python: NUMBA_DISABLE_JIT
        return function
    usual = compiled.compile

    def compile_so(signature: Any) -> Any:
        # The compiler's own lock: what another thread compiles must not be compiled so.
        with global_compiler_lock:
            before = arrayobj.fix_integer_index
            arrayobj.fix_integer_index = _index_as_it_is
            try:
                return usual(signature)
            finally:
                arrayobj.fix_integer_index = before

    compiled.compile = compile_so
    return function


def _index_as_it_is(context: Any, builder: Any, kind: Any, index: Any, _size: Any) -> Any:
    """Return an index in the machine's width; stands in for numba's function of this signature."""
    return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` into each of its callers.

    A call passes every array as seven words, which costs more than a short function's work.
    """
    inside: Callable[..., Any] = numba.njit(**_UNCOUNTED, inline="always")(function)
    return inside


def _hint(typing_context: Any, rows: Any, row: Any, column: Any) -> Any:  # noqa: ARG001
    """Return the signature and the maker of one prefetch instruction."""

    def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        table = context.make_array(rows)(context, builder, values[0])
        width = builder.extract_value(table.shape, 1)
        index = builder.add(builder.mul(values[1], width), values[2])
        place = builder.bitcast(builder.gep(table.data, [index]), ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, word, word, word])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        # Read, keep in all levels, data.
        builder.call(hint, [place, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.none(rows, types.int64, types.int64), generate


def _no_hint(rows: Any, row: Any, column: Any) -> None:
    """Do nothing: kernels that run as plain Python (NUMBA_DISABLE_JIT) have no use for it."""


prefetch: Final[Any] = (
    _no_hint if getattr(numba.config, "DISABLE_JIT") else intrinsic(_hint)  # noqa: B009 - no types
)
"""Ask for the cache line of `rows[row, column]`, which nobody waits for. Indices from 0 on."""


def _hint_of_word(typing_context: Any, words: Any, place: Any) -> Any:  # noqa: ARG001
    """Return the signature and the maker of one prefetch instruction."""

    def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        row = context.make_array(words)(context, builder, values[0])
        at = builder.bitcast(builder.gep(row.data, [values[1]]), ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [at.type, word, word, word])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [at.type], kind)
        builder.call(hint, [at, word(int(words.mutable)), word(2), word(1)])
        return context.get_dummy_value()

    return types.none(words, types.int64), generate


def _no_hint_of_word(words: Any, place: Any) -> None:
    """Do nothing: see `_no_hint`."""


prefetch_word: Final[Any] = (
    _no_hint_of_word if getattr(numba.config, "DISABLE_JIT") else intrinsic(_hint_of_word)  # noqa: B009 - no types
)
"""Ask for the cache line of `words[place]`, to write it where words may be written. The place may
lie past the end: nothing is read."""


def inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function once, for calls from other kernels only; it allocates nothing."""
    compiled: Callable[..., Any] = numba.njit(
        **_UNCOUNTED, **_NO_WRAPPERS, cache=CACHE_DIRECTORY is not None
    )(function)
    return compiled
