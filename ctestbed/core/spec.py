"""Models of files that people write: strict fields, exact quantities, all findings at once."""

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema

from ctestbed.core.errors import CtestbedError, InputError
from ctestbed.core.names import did_you_mean
from ctestbed.core.result import Finding
from ctestbed.core.units import (
    parse_length,
    parse_power,
    parse_rate,
    parse_size,
    parse_time,
)
from ctestbed.core.yamlfile import YAMLDocument, YAMLPath, format_pointer

ModelT = TypeVar("ModelT", bound="SpecModel")

MAX_FINDINGS: Final = 50


class Unknown(Enum):
    """The value of a physical quantity that nobody has published. Never used in arithmetic."""

    UNKNOWN = "unknown"


class SpecModel(BaseModel):
    """A mapping in a file: unknown keys are errors, values never change, no silent coercion."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True
    )


class SpecError(InputError):
    """A file that does not fit its model; carries every finding, not just the first."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        """Speak for the first finding; the rest follow in `findings`."""
        first = findings[0]
        super().__init__(first.code, first.message, where=first.where, hint=first.hint)
        self.findings = findings


def _read_quantity(parse: Callable[[str], int], value: Any) -> int:
    """Parse inside pydantic; the refusal's parts ride in the message, apart by NUL."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        message = f"CTB-C001\0{value!r} is not a quantity\0write a number and a unit"
        raise ValueError(message)  # noqa: TRY004 - pydantic gathers ValueErrors
    try:
        return parse(str(value))
    except CtestbedError as error:
        raise ValueError(f"{error.code}\0{error.message}\0{error.hint or ''}") from None


def _quantity(parse: Callable[[str], int]) -> BeforeValidator:
    return BeforeValidator(partial(_read_quantity, parse))


def _text_schema(example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "examples": [example]})


Rate: TypeAlias = Annotated[int, _quantity(parse_rate), _text_schema("400Gbps")]
Size: TypeAlias = Annotated[int, _quantity(parse_size), _text_schema("64MiB")]
Time: TypeAlias = Annotated[int, _quantity(parse_time), _text_schema("750us")]
Length: TypeAlias = Annotated[int, _quantity(parse_length), _text_schema("150km")]
Power: TypeAlias = Annotated[int, _quantity(parse_power), _text_schema("3.5kW")]


def _or_unknown(parse: Callable[[str], int]) -> BeforeValidator:
    def read(value: Any) -> int | Unknown:
        if value == Unknown.UNKNOWN.value:
            return Unknown.UNKNOWN
        return _read_quantity(parse, value)

    return BeforeValidator(read)


def _maybe_schema(example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "examples": [example, "unknown"]})


RateOrUnknown: TypeAlias = Annotated[
    int | Unknown, _or_unknown(parse_rate), _maybe_schema("400Gbps")
]
SizeOrUnknown: TypeAlias = Annotated[int | Unknown, _or_unknown(parse_size), _maybe_schema("75MB")]
TimeOrUnknown: TypeAlias = Annotated[int | Unknown, _or_unknown(parse_time), _maybe_schema("1us")]
LengthOrUnknown: TypeAlias = Annotated[
    int | Unknown, _or_unknown(parse_length), _maybe_schema("150km")
]
PowerOrUnknown: TypeAlias = Annotated[int | Unknown, _or_unknown(parse_power), _maybe_schema("16W")]


def validate_model(model: type[ModelT], document: YAMLDocument) -> ModelT:
    """Fit a document to a model.

    Raises:
        SpecError: with a finding for each field that does not fit, placed by file and line.
    """
    if not isinstance(document.value, dict):
        kinds: dict[type, str] = {list: "a list", str: "text"}
        kind = kinds.get(type(document.value), "a single value")
        raise SpecError(
            (
                Finding(
                    "CTB-C040",
                    "error",
                    f"{document.name!r} is {kind}, and a mapping of keys to values is needed",
                    document.where(()),
                    "a file starts with lines such as `name: lab-128`",
                ),
            )
        )
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        found = [
            _finding(item, document, model)
            for item in error.errors(include_url=False)[:MAX_FINDINGS]
        ]
        # A misspelt key is both unknown and missing; the finding that suggests the name leads.
        found.sort(key=lambda finding: finding.code != "CTB-C041")
        raise SpecError(tuple(dict.fromkeys(found))) from None


def _finding(item: Any, document: YAMLDocument, model: type[BaseModel]) -> Finding:
    kind: str = item["type"]
    path = _real_path(item["loc"], document.value, absent=kind == "missing")
    where = document.where(path)
    name = format_pointer(path)
    if kind == "extra_forbidden":
        known = _known_keys(model, item["loc"][:-1])
        hint = did_you_mean(str(path[-1]), known) if known else None
        return Finding("CTB-C041", "error", f"unknown key `{name}`", where, hint)
    if kind == "missing":
        return Finding(
            "CTB-C042", "error", f"`{name}` is missing", where, f"add the key `{path[-1]}`"
        )
    if kind.startswith("union_tag"):
        return _tag_finding(item, path, document)
    text = str(item.get("ctx", {}).get("error", ""))
    if "\0" in text:
        code, message, hint = text.split("\0")
        return Finding(code, "error", f"`{name}`: {message}", where, hint or None)
    message = text or item["msg"][:1].lower() + item["msg"][1:]
    message = message.replace(" after validation", "")
    shown = repr(item["input"])
    counted = kind in {"too_short", "too_long"}  # pydantic says how many there are
    if not text and not counted and len(shown) < 60:  # noqa: PLR2004 - long values only blur the message
        message += f", not {shown}"
    return Finding("CTB-C043", "error", f"`{name}`: {message}" if name else message, where, None)


def _tag_finding(item: Any, path: YAMLPath, document: YAMLDocument) -> Finding:
    """Say which key tells the members of a union apart, and what it may be."""
    context = item["ctx"]
    key = str(context["discriminator"]).strip("'")
    name, where = format_pointer((*path, key)), document.where((*path, key))
    if "tag" not in context:
        hint = f"add the key `{key}`"
        return Finding("CTB-C042", "error", f"`{name}` is missing", document.where(path), hint)
    known = [tag.strip("' ") for tag in str(context["expected_tags"]).split(",")]
    message = f"`{name}`: {context['tag']!r} is none of {', '.join(known)}"
    return Finding("CTB-C043", "error", message, where, did_you_mean(str(context["tag"]), known))


def _real_path(loc: tuple[str | int, ...], value: Any, *, absent: bool) -> YAMLPath:
    """Keep the steps that exist in the file: pydantic adds names of union members.

    The last step of a key that is `absent` stays, though the file lacks it.
    """
    path: list[str | int] = []
    for position, step in enumerate(loc):
        last = position == len(loc) - 1
        if (
            isinstance(value, dict)
            and isinstance(step, str)
            and (step in value or (last and absent))
        ):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            continue
        path.append(step)
    return tuple(path)


def _known_keys(model: type[BaseModel], loc: tuple[str | int, ...]) -> list[str]:
    """List the keys that the mapping at `loc` may have, by walking the JSON Schema."""
    schema = model.model_json_schema(by_alias=True)
    definitions = schema.get("$defs", {})
    keys: set[str] = set()
    frontier = [schema]
    for step in loc:
        children = [
            child for node in frontier for child in _children(_resolve(node, definitions), step)
        ]
        # A step without children is pydantic's name for a member of a union, not a key.
        frontier = children or [_member(_resolve(node, definitions), step) for node in frontier]
    for node in frontier:
        for variant in _variants(_resolve(node, definitions), definitions):
            keys.update(variant.get("properties", {}))
    return sorted(keys)


def _member(node: dict[str, Any], step: str | int) -> dict[str, Any]:
    """Return the member of a union that a discriminating value names, or the union itself."""
    for union in (node, *node.get("anyOf", []), *node.get("oneOf", [])):
        mapping = union.get("discriminator", {}).get("mapping", {})
        if step in mapping:
            return {"$ref": mapping[step]}
    return node


def _resolve(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        node = definitions[node["$ref"].rsplit("/", 1)[1]]
    return node


def _variants(node: dict[str, Any], definitions: dict[str, Any]) -> list[dict[str, Any]]:
    options = [*node.get("anyOf", []), *node.get("oneOf", [])]
    found = [node]
    for option in options:
        found += _variants(_resolve(option, definitions), definitions)
    return found


def _children(node: dict[str, Any], step: str | int) -> list[dict[str, Any]]:
    nodes = [node, *node.get("anyOf", []), *node.get("oneOf", [])]
    for candidate in nodes:  # the step that pydantic adds for a member of a tagged union
        chosen = candidate.get("discriminator", {}).get("mapping", {}).get(step)
        if chosen is not None:
            return [{"$ref": chosen}]
    found = []
    for candidate in nodes:
        if isinstance(step, int):
            found += [candidate["items"]] if "items" in candidate else []
        elif step in candidate.get("properties", {}):
            found.append(candidate["properties"][step])
        elif isinstance(candidate.get("additionalProperties"), dict):
            found.append(candidate["additionalProperties"])
        elif "$ref" in candidate or candidate is node:
            found += [candidate] if "$ref" in candidate else []
    return found
