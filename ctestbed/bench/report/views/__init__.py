"""One module per noun, one function per verb: an envelope in, blocks out.

A view reads nothing but the envelope, so a stored JSON report renders the same as a fresh one.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from ctestbed.bench.report.blocks import Block, Table
from ctestbed.core.envelope import Envelope

_TELLING: Final = frozenset({"ctestbed.topology.bom/1"})
"""Schemas whose views show every metric already, with its provenance and source."""


def tells_metrics(envelope: Envelope) -> bool:
    """Whether a table of metrics would only repeat what the view shows."""
    return envelope.get("schema") in _TELLING


def view_of(envelope: Envelope) -> list[Block]:
    """Return the blocks of an envelope, by its schema `ctestbed.<noun>.<verb>/1`."""
    view = _function_of(envelope, "")
    blocks: list[Block] = [] if view is None else view(envelope)
    return blocks


def spreadsheet_of(envelope: Envelope) -> Table | None:
    """Return the table that CSV is to hold, of views that keep one apart for it (`bom_csv`)."""
    view = _function_of(envelope, "_csv")
    return None if view is None else view(envelope)


def _function_of(envelope: Envelope, suffix: str) -> Callable[[Envelope], Any] | None:
    name = str(envelope.get("schema", "")).split("/", 1)[0]
    parts = name.split(".")
    if len(parts) != 3 or not parts[1].isidentifier() or parts[1].startswith("_"):  # noqa: PLR2004 - ctestbed, noun, verb
        return None
    module = f"{__package__}.{parts[1]}"
    if find_spec(module) is None:
        return None
    verb = parts[2].replace("-", "_") + suffix
    loaded = import_module(module)
    # A verb that is also a builtin or a keyword (`list`) is spelt with a trailing underscore.
    view: Callable[[Envelope], Any] | None = getattr(
        loaded, f"{verb}_", getattr(loaded, verb, None)
    )
    # The name comes from a file, so it may only call what this module defines for the purpose.
    if verb.startswith("_") or getattr(view, "__module__", None) != module or view is None:
        return None
    return view
