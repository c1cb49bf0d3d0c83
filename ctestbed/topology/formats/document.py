"""Walking JSON and YAML values with the place of each: wrong shapes are refused where they are."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn, Protocol

from ctestbed.core.errors import InputError, Where
from ctestbed.core.yamlfile import YAMLPath, format_pointer
from ctestbed.topology.formats.source import Source, shorten

_SPACE: Final = re.compile(r"[ \t\n]*")
_DECODER: Final = json.JSONDecoder()


class Document(Protocol):
    """A parsed file: its value, and the place of each path into it."""

    @property
    def value(self) -> Any:
        """The whole value."""

    def where(self, path: YAMLPath) -> Where:
        """Return the place of a path."""


@dataclass(frozen=True)
class JSONDocument:
    """A parsed JSON file. Places are found by scanning anew, so they cost only when asked for."""

    source: Source
    value: Any

    def where(self, path: YAMLPath) -> Where:
        """Return the place of a path, or of the nearest enclosing value."""
        return Where(
            self.source.name,
            format_pointer(path) or None,
            self.source.line_at(_locate(self.source.text, path)),
        )

    def item_lines(self, path: YAMLPath) -> list[int]:
        """Return the line of each item of the list at `path`, in one pass."""
        text = self.source.text
        position = _skip(text, _locate(text, path) + 1)
        lines: list[int] = []
        line, counted = 1, 0
        while text[position] != "]":
            line += text.count("\n", counted, position)
            counted = position
            lines.append(line)
            _, position = _DECODER.raw_decode(text, position)
            position = _skip(text, position)
            if text[position] == ",":
                position = _skip(text, position + 1)
        return lines


def load_json(source: Source) -> JSONDocument:
    """Parse JSON, refusing keys that stand twice, NaN, and nesting too deep.

    Raises:
        InputError: not JSON, with its line.
    """
    try:
        value = json.loads(source.text, object_pairs_hook=_no_twins, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise source.refuse(
            "CTB-T112",
            f"{source.name!r} is not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}",
            error.lineno,
            "check that the file is whole",
        ) from None
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        raise source.refuse(
            "CTB-T112",
            f"{source.name!r} is refused: {reason.splitlines()[0]}",
            _line_of_twin(source, error),
            "write it in plain JSON",
        ) from None
    return JSONDocument(source, value)


class _TwinError(ValueError):
    """A key that stands twice in one object."""

    def __init__(self, key: str) -> None:
        super().__init__(f"key {shorten(key)!r} stands twice in one object")
        self.key = key


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        seen: set[str] = set()
        raise _TwinError(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return mapping


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _line_of_twin(source: Source, error: Exception) -> int | None:
    """Return the last line that spells the key; None where the fault has no one place."""
    if not isinstance(error, _TwinError):
        return None
    position = source.text.rfind(json.dumps(error.key))
    return source.line_at(position) if position >= 0 else None


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _locate(text: str, path: YAMLPath) -> int:
    """Return where the value at `path` starts in text that is known to parse."""
    position = _skip(text, 0)
    for step in path:
        found = _step_into(text, position, step)
        if found is None:
            break
        position = found
    return position


def _step_into(text: str, position: int, step: str | int) -> int | None:
    closing = {"{": "}", "[": "]"}.get(text[position])
    if closing is None or (closing == "}") != isinstance(step, str):
        return None
    position = _skip(text, position + 1)
    item = 0
    while text[position] != closing:
        here: str | int = item
        if closing == "}":
            here, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        if here == step:
            return position
        _, position = _DECODER.raw_decode(text, position)
        position = _skip(text, position)
        if text[position] == ",":
            position = _skip(text, position + 1)
        item += 1
    return None


@dataclass(frozen=True, slots=True)
class Cursor:
    """A value and where it stands; each accessor refuses what is not of its kind."""

    document: Document
    value: Any
    path: YAMLPath = ()

    @property
    def pointer(self) -> str:
        """The path, as findings write it."""
        return format_pointer(self.path)

    @property
    def line(self) -> int | None:
        """The line where the value, or what holds it, starts."""
        return self.document.where(self.path).line

    def refuse(self, message: str, hint: str, code: str = "CTB-T113") -> InputError:
        """Return the refusal of this value."""
        return InputError(code, message, where=self.document.where(self.path), hint=hint)

    def wrong(self, wanted: str) -> InputError:
        """Return the refusal of a value that is not of the wanted kind."""
        name = self.pointer or "the file"
        return self.refuse(
            f"`{name}` is {_kind(self.value)}, and {wanted} is needed",
            "compare it with the format's documentation",
        )

    def at(self, step: str | int) -> "Cursor":
        """Return the value of a key or item that is there."""
        return Cursor(self.document, self.value[step], (*self.path, step))

    def mapping(self) -> dict[str, Any]:
        """Return the value as a mapping."""
        if not isinstance(self.value, dict):
            raise self.wrong("a mapping")
        return self.value

    def items(self) -> Iterator[tuple[str, "Cursor"]]:
        """Yield the keys and values of a mapping."""
        for key in self.mapping():
            yield key, self.at(key)

    def list(self) -> Iterator["Cursor"]:
        """Yield the items of a list."""
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        for position in range(len(self.value)):
            yield self.at(position)

    def get(self, key: str) -> "Cursor | None":
        """Return the value of a key; None where it is absent or null."""
        return None if self.mapping().get(key) is None else self.at(key)

    def need(self, key: str) -> "Cursor":
        """Return the value of a key that must be there."""
        found = self.get(key)
        if found is None:
            name = f"{self.pointer}.{key}" if self.path else key
            raise self.refuse(f"`{name}` is missing", f"add the key `{key}`")
        return found

    def text(self) -> str:
        """Return the value as text that is not empty; numbers are taken as written."""
        if isinstance(self.value, bool) or not isinstance(self.value, str | int | float):
            raise self.wrong("text")
        text = str(self.value)
        if not text.strip():
            raise self.wrong("a name")
        return text

    def integer(self, lowest: int = 0, highest: int = 2**31 - 1) -> int:
        """Return the value as an integer in a range."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.wrong("a whole number")
        if not lowest <= self.value <= highest:
            raise self.refuse(
                f"`{self.pointer}` is {self.value}, and must lie between {lowest} and {highest}",
                "check the figure",
            )
        return self.value


def _kind(value: Any) -> str:
    if value is None:
        return "empty"
    words = {dict: "a mapping", list: "a list", bool: "true or false", int: "a number"}
    return words.get(type(value), "a number" if isinstance(value, float) else "text")
