"""One module per noun, one function per verb: an envelope in, blocks out.

A view reads nothing but the envelope, so a stored JSON report renders the same as a fresh one.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

from ctestbed.bench.report.blocks import Block
from ctestbed.core.envelope import Envelope


def view_of(envelope: Envelope) -> list[Block]:
    """Return the blocks of an envelope, by its schema `ctestbed.<noun>.<verb>/1`."""
    name = str(envelope.get("schema", "")).split("/", 1)[0]
    parts = name.split(".")
    if len(parts) != 3 or not parts[1].isidentifier() or parts[1].startswith("_"):  # noqa: PLR2004 - ctestbed, noun, verb
        return []
    module = f"{__package__}.{parts[1]}"
    if find_spec(module) is None:
        return []
    verb = parts[2].replace("-", "_")
    loaded = import_module(module)
    # A verb that is also a builtin or a keyword (`list`) is spelt with a trailing underscore.
    view: Callable[[Envelope], list[Block]] | None = getattr(
        loaded, f"{verb}_", getattr(loaded, verb, None)
    )
    # The name comes from a file, so it may only call what this module defines for the purpose.
    if verb.startswith("_") or getattr(view, "__module__", None) != module or view is None:
        return []
    return view(envelope)
