"""YAML 1.2 with places: every value knows its file, line and pointer.

Only what a testbed file needs is accepted: one document of mappings, sequences and the scalars of
the core schema, so `no` and `1:30` stay strings. Anchors, tags and duplicate keys are refused:
an alias can unfold a small file into gigabytes, and the rest have more than one reading.
"""

import re
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ctestbed.core.errors import InputError, Where

YAMLPath: TypeAlias = tuple[str | int, ...]

MAX_YAML_BYTES: Final = 4 * 2**20
MAX_DEPTH: Final = 40
_MAX_INT_DIGITS: Final = 40
_BRACKETS: Final = re.compile(r"[\[\]{}]")


@dataclass(frozen=True, slots=True)
class YAMLDocument:
    """A parsed document: plain values, and the line of each of their paths."""

    name: str
    value: Any
    lines: dict[YAMLPath, int]

    def where(self, path: YAMLPath) -> Where:
        """Return the place of `path`, or of the nearest enclosing value that the file has."""
        known = path
        while known not in self.lines and known:
            known = known[:-1]
        return Where(self.name, format_pointer(path) or None, self.lines.get(known))


def format_pointer(path: YAMLPath) -> str:
    """Write a path the way our messages do: `links[12].rate`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def load_yaml(content: bytes, name: str) -> YAMLDocument:
    """Parse one YAML 1.2 document.

    Raises:
        InputError: not UTF-8, not YAML, or something this reader refuses; with its line.
    """
    if len(content) > MAX_YAML_BYTES:
        raise InputError(
            "CTB-C010",
            f"{name!r} is larger than {MAX_YAML_BYTES} bytes",
            where=Where(file=name),
            hint="check that this is the file you meant",
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            "CTB-C030",
            f"{name!r} is not text: byte {error.start} is not UTF-8",
            where=Where(file=name, line=content.count(b"\n", 0, error.start) + 1),
            hint="a testbed file is YAML text; is this the right file?",
        ) from None
    _refuse_depth(text, name)
    root = _compose(text, name)
    reader = _Reader(name)
    return YAMLDocument(name, reader.read(root, (), 0), reader.lines)


def _refuse_depth(text: str, name: str) -> None:
    """Refuse brackets nested too deeply before they are scanned, which takes ever longer.

    Quoting is not minded: no sound file leaves so many brackets open, in quotes or out of them.
    """
    depth = 0
    for match in _BRACKETS.finditer(text):
        depth = max(depth + (1 if match.group() in "[{" else -1), 0)
        if depth > MAX_DEPTH:
            raise InputError(
                "CTB-C033",
                f"nesting is deeper than {MAX_DEPTH} levels",
                where=Where(file=name, line=text.count("\n", 0, match.start()) + 1),
                hint="write the value out in plain YAML",
            )


def _compose(text: str, name: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        root = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        problem = " ".join(str(error.problem or error.context or "unreadable").split())
        raise InputError(
            "CTB-C031",
            f"{name!r} is not valid YAML: {problem}",
            where=Where(file=name, line=line),
            hint="check the indentation and quoting at this line",
        ) from None
    except RecursionError:
        raise InputError(
            "CTB-C033",
            f"nesting is deeper than {MAX_DEPTH} levels",
            where=Where(file=name),
            hint="write the value out in plain YAML",
        ) from None
    except (YAMLError, ValueError) as error:
        problem = str(error).splitlines()[0] if str(error) else "unreadable"
        raise InputError(
            "CTB-C031", f"{name!r} is not valid YAML: {problem}", where=Where(file=name)
        ) from None
    if root is None:
        raise InputError("CTB-C032", f"{name!r} is empty", where=Where(file=name))
    return root


class _Reader:
    """Walks ruamel's node tree into plain values, noting lines."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[YAMLPath, int] = {}
        self.seen: set[int] = set()

    def read(self, node: Any, path: YAMLPath, depth: int) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        if id(node) in self.seen or node.anchor is not None:
            raise self.refuse("anchors and aliases are not accepted", path, line)
        self.seen.add(id(node))
        if depth > MAX_DEPTH:
            raise self.refuse(f"nesting is deeper than {MAX_DEPTH} levels", path, line)
        if node.id == "mapping":
            return self.read_mapping(node, path, depth)
        if node.id == "sequence":
            return [
                self.read(item, (*path, index), depth + 1) for index, item in enumerate(node.value)
            ]
        return self.read_scalar(node, path, line)

    def read_mapping(self, node: Any, path: YAMLPath, depth: int) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.id != "scalar" or key_node.tag == "tag:yaml.org,2002:merge":
                raise self.refuse("a key must be plain text", path, line)
            key = key_node.value
            if key in mapping:
                raise self.refuse(f"key {key!r} stands twice", (*path, key), line)
            self.lines[(*path, key)] = line
            mapping[key] = self.read(value_node, (*path, key), depth + 1)
        return mapping

    def read_scalar(self, node: Any, path: YAMLPath, line: int) -> Any:
        kind = str(node.tag).removeprefix("tag:yaml.org,2002:")
        text: str = node.value
        try:
            match kind:
                case "str":
                    return text
                case "null":
                    return None
                case "bool":
                    return text.lower() == "true"
                case "int":
                    return _parse_int(text)
                case "float":
                    return _parse_float(text)
        except ValueError as error:
            raise self.refuse(str(error), path, line) from None
        if kind == "timestamp":
            return text
        raise self.refuse(f"the tag {node.tag} is not accepted", path, line)

    def refuse(self, problem: str, path: YAMLPath, line: int) -> InputError:
        return InputError(
            "CTB-C033",
            f"{problem}",
            where=Where(self.name, format_pointer(path) or None, line),
            hint="write the value out in plain YAML",
        )


def _parse_int(text: str) -> int:
    if len(text) > _MAX_INT_DIGITS:
        raise ValueError(f"a number of {len(text)} digits is too long")
    return int(text, 0 if text.lstrip("+-").startswith(("0o", "0x")) else 10)


def _parse_float(text: str) -> float:
    special = {".inf": "inf", "-.inf": "-inf", "+.inf": "inf", ".nan": "nan"}
    return float(special.get(text.lower(), text))
