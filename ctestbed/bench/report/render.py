"""One envelope, any format. Each format's code is imported only when it is asked for."""

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from ctestbed.core.envelope import Envelope, canonical_form, dump_envelope

_RENDERERS: Final = {
    "table": ("text", "render_text"),
    "jsonl": ("jsonlines", "render_jsonl"),
    "csv": ("csvtext", "render_csv"),
    "md": ("markdown", "render_markdown"),
    "junit": ("junit", "render_junit"),
    "sarif": ("sarif", "render_sarif"),
    "html": ("html", "render_html"),
    "svg": ("svgfile", "render_svg"),
}

FORMATS: Final = ("table", "json", *list(_RENDERERS)[1:])
"""Every format's name, in the order help lists them."""

_KEEP_TEXT: Final = frozenset({"jsonl", "sarif", "html"})
"""Formats that escape invisible characters their own way, and keep the data as they are."""

_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
    "\ud800-\udfff\ufffe\uffff]"
)
"""What a terminal may obey, XML forbids, or a reader would not see: controls, surrogates,
direction marks."""


def render(envelope: Envelope, format: str, *, canonical: bool = False) -> str:  # noqa: A002
    r"""Return `envelope` in one of `FORMATS`, as text ending in a newline.

    Canonical output leaves out `run` and timed values. Characters that a terminal obeys or that
    a format forbids are shown as escapes such as `\x1b`; in JSON formats they stay what they
    are, written as JSON escapes.
    """
    if canonical:
        envelope = canonical_form(envelope)
    if format == "json":
        return escape_json(dump_envelope(envelope, canonical=canonical))
    module, name = _RENDERERS[format]
    renderer: Callable[[Envelope], str] = getattr(
        import_module(f"ctestbed.bench.report.{module}"), name
    )
    if format in _KEEP_TEXT:
        return escape_json(renderer(envelope))
    return renderer(make_visible(envelope))


def make_visible(value: Any) -> Any:
    """Return JSON data with the invisible characters of its texts and keys as escapes."""
    if isinstance(value, str):
        return _INVISIBLE.sub(_escape, value)
    if isinstance(value, dict):
        return {make_visible(key): make_visible(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [make_visible(item) for item in value]
    return value


def _escape(match: re.Match[str]) -> str:
    point = ord(match[0])
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}"  # noqa: PLR2004 - one byte


def escape_json(text: str) -> str:
    """Write a JSON text's invisible characters as JSON escapes, which changes no value.

    They can stand only inside its strings; line ends between values are left alone.
    """
    return _INVISIBLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
