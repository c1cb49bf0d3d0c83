"""The text of an imported file: decoded strictly, with one kind of line end, and its places."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ctestbed.core.errors import InputError, Where
from ctestbed.core.result import InputFile

_NOT_TEXT: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_SHOWN: Final = 60


@dataclass(frozen=True)
class Source:
    """An imported file: what findings call it, its digest, and its text with plain line ends."""

    name: str
    digest: InputFile
    text: str

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines, without their ends."""
        return self.text.split("\n")

    def where(self, line: int | None, pointer: str | None = None) -> Where:
        """Return a place in this file."""
        return Where(self.name, pointer, line)

    def line_at(self, position: int) -> int:
        """Return the line of a position in `text`."""
        return self.text.count("\n", 0, position) + 1

    def refuse(
        self, code: str, message: str, line: int | None, hint: str, *, pointer: str | None = None
    ) -> InputError:
        """Return the refusal of this file at a place."""
        return InputError(code, message, where=self.where(line, pointer), hint=hint)

    def bad_line(self, line: int, what: str, hint: str) -> InputError:
        """Return the refusal of a line that does not fit the format."""
        shown = shorten(self.lines[line - 1])
        return self.refuse("CTB-T101", f"{shown!r} is not {what}", line, hint)


def shorten(text: str) -> str:
    """Cut text that goes into a message."""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def read_source(content: bytes, name: str) -> Source:
    """Decode an imported file.

    Raises:
        InputError: empty, not UTF-8, with control characters, or with mixed line ends.
    """
    digest = InputFile.of(name, content)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            "CTB-T110",
            f"{name!r} is not text: byte {error.start} is not UTF-8",
            where=Where(name, None, content.count(b"\n", 0, error.start) + 1),
            hint="save it as UTF-8, or check that this is the file you meant",
        ) from None
    source = Source(name, digest, _one_line_end(text, name))
    stray = _NOT_TEXT.search(source.text)
    if stray is not None:
        raise source.refuse(
            "CTB-T110",
            f"{name!r} is not text: it holds the control character {stray.group()!r}",
            source.line_at(stray.start()),
            "check that this is the file you meant",
        )
    if not source.text.strip():
        raise source.refuse("CTB-T101", f"{name!r} is empty", None, "check how it was made")
    return source


def _one_line_end(text: str, name: str) -> str:
    if "\r" not in text:
        return text
    unix = text.replace("\r\n", "\n")
    ends = text.count("\r\n")
    if "\r" in unix or unix.count("\n") != ends:
        raise InputError(
            "CTB-T109",
            f"{name!r} mixes line ends, so two files may have been joined or cut",
            where=Where(name, None, _odd_line(text)),
            hint="convert it to one kind of line end once you have checked that it is whole",
        )
    return unix


def _odd_line(text: str) -> int:
    """Return the first line whose end differs from that of the first line."""
    ends = re.finditer("\r\n|\n|\r", text)
    first = next(ends).group()
    return next((line for line, end in enumerate(ends, 2) if end.group() != first), 1)
