"""Reports read back from JSON, by people we do not know: nothing in them is taken on trust."""

import json
import math
from importlib import import_module
from typing import Annotated, Any, Final, Literal, NotRequired, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from ctestbed.bench.report.views import view_of
from ctestbed.bench.schemas import DATA_TYPES
from ctestbed.core.envelope import Envelope
from ctestbed.core.errors import ExitCode, InputError, Where
from ctestbed.core.names import did_you_mean
from ctestbed.core.result import Better, Finding, MetricKind, Provenance, Severity

MAX_DEPTH: Final = 64
"""Deeper nesting than any report has; far below what would exhaust a stack."""

MAX_FINDINGS: Final = 20

_MAX_DIGITS: Final = 300

_ERROR_SCHEMA: Final = "ctestbed.error/1"
_CLOSED: Final = ConfigDict(extra="forbid", strict=True)

_Number: TypeAlias = Annotated[float, Field(ge=-1e300, le=1e300, allow_inf_nan=False)]


@with_config(_CLOSED)
class PlaceShape(TypedDict):
    """Where a finding is."""

    file: NotRequired[str]
    pointer: NotRequired[str]
    line: NotRequired[Annotated[int, Field(ge=1)]]


@with_config(_CLOSED)
class FindingShape(TypedDict):
    """A finding of an envelope."""

    code: str
    severity: Severity
    message: str
    where: NotRequired[PlaceShape]
    hint: NotRequired[str]


@with_config(_CLOSED)
class MetricShape(TypedDict):
    """A metric of an envelope; canonical envelopes leave the values of timed ones out."""

    name: str
    value: NotRequired[_Number | Literal["UNKNOWN"]]
    unit: str
    better: Better
    kind: MetricKind
    provenance: Provenance
    source: NotRequired[str]
    n: NotRequired[Annotated[int, Field(ge=1)]]
    ci95: NotRequired[Annotated[list[_Number], Field(min_length=2, max_length=2)]]


@with_config(_CLOSED)
class InputShape(TypedDict):
    """A file that a result rests on."""

    name: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


@with_config(_CLOSED)
class ToolShape(TypedDict):
    """What wrote the report."""

    name: Literal["ctestbed"]
    version: str


@with_config(_CLOSED)
class RequestShape(TypedDict):
    """What was asked for."""

    command: list[str]
    options: dict[str, Any]
    seed: NotRequired[int]


@with_config(_CLOSED)
class EnvelopeShape(TypedDict):
    """The report envelope, as `ctestbed schema show envelope` states it."""

    schema: str
    status: Literal["pass", "fail", "error"]
    exit_code: int
    complete: bool
    tool: ToolShape
    request: RequestShape
    inputs: list[InputShape]
    data: dict[str, Any]
    findings: list[FindingShape]
    metrics: list[MetricShape]
    run: NotRequired[dict[str, Any]]


class UnfitReportError(InputError):
    """A report whose parts do not fit; carries every finding."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        """Speak for the first finding; the rest follow in `findings`."""
        first = findings[0]
        super().__init__(first.code, first.message, where=first.where, hint=first.hint)
        self.findings = findings


def read_envelope(content: bytes, name: str) -> Envelope:
    """Return the envelope that `content` holds; `name` is the file's, for messages.

    Raises:
        InputError: not JSON, not an envelope, of an unknown schema, contradicting itself, or
            with data that its schema or its view cannot take.
    """
    value = _read_json(content, name)
    if not isinstance(value, dict):
        raise _not_envelope(name, f"{name!r} is JSON, but not a report: an object is needed")
    _fit(TypeAdapter(EnvelopeShape), value, name, "CTB-B102", ())
    _check_verdict(value, name)
    _check_data(value, name)
    return value


def _read_json(content: bytes, name: str) -> Any:
    try:
        value = json.loads(
            content.decode("utf-8-sig"),
            object_pairs_hook=_unique_keys,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_whole,
        )
    except UnicodeDecodeError as error:
        raise _not_json(name, f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise _not_json(name, f"{error.msg} at column {error.colno}", error.lineno) from None
    except RecursionError:
        raise _not_json(name, f"its values are nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise _not_json(name, str(error)) from None
    _check_values(value, name)
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        message = f"the key {twice!r} is given twice in one object"
        raise ValueError(message)
    return made


def _refuse_constant(text: str) -> float:
    message = f"{text} is not a JSON number"
    raise ValueError(message)


def _whole(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        message = f"the number {text[:40]}... is too large"
        raise ValueError(message)
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        message = f"the number {text[:40]} is too large"
        raise ValueError(message)
    return value


def _check_values(value: Any, name: str) -> None:
    """Refuse deep nesting and half surrogate pairs, without recursion."""
    level, depth = [value], 0
    while level:
        if depth > MAX_DEPTH:
            raise _not_json(name, f"its values are nested deeper than {MAX_DEPTH} levels")
        following: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                following += item.keys()
                following += item.values()
            elif isinstance(item, list):
                following += item
            elif isinstance(item, str) and not _is_text(item):
                raise _not_json(name, f"half a surrogate pair in {item[:40]!r}")
        level, depth = following, depth + 1


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _not_json(name: str, reason: str, line: int | None = None) -> InputError:
    return InputError(
        "CTB-B101",
        f"{name!r} is not a JSON report: {reason}",
        where=Where(name, line=line),
        hint="name a file that `--format json` or `--export json=FILE` wrote",
    )


def _not_envelope(name: str, message: str, pointer: str | None = None) -> InputError:
    return InputError(
        "CTB-B102",
        message,
        where=Where(name, pointer),
        hint="name a file that `--format json` or `--export json=FILE` wrote",
    )


def _fit(
    adapter: TypeAdapter[Any], value: Any, name: str, code: str, prefix: tuple[str, ...]
) -> None:
    """Check `value` against a type, and report every part that does not fit."""
    try:
        # Strict JSON rules: an array may fill a tuple, but no text is taken for a number.
        adapter.validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        places: dict[str, Any] = {}
        for item in error.errors(include_url=False):
            places.setdefault(_pointer((*prefix, *_real_path(item["loc"], value))), item)
        found = [
            Finding(code, "error", _say_misfit(item, pointer), Where(name, pointer or None))
            for pointer, item in list(places.items())[:MAX_FINDINGS]
        ]
        raise UnfitReportError(tuple(found)) from None


def _real_path(loc: tuple[str | int, ...], value: Any) -> list[str | int]:
    """Keep the steps that are in the report: pydantic adds the names of a union's members."""
    path: list[str | int] = []
    for step in loc:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step]
        else:
            continue
        path.append(step)
    return path


def _say_misfit(item: Any, pointer: str) -> str:
    kind: str = item["type"]
    if kind == "missing":
        return f"not a whole report: `{pointer}` is missing"
    if kind == "extra_forbidden":
        return f"a report has no `{pointer}`"
    shown = repr(item["input"])
    given = f", not {shown}" if len(shown) < 60 else ""  # noqa: PLR2004 - longer only blurs it
    return f"`{pointer}`: {item['msg'][:1].lower()}{item['msg'][1:]}{given}"


def _pointer(loc: tuple[str | int, ...]) -> str:
    parts = [f"[{step}]" if isinstance(step, int) else f".{step[:80]}" for step in loc]
    return "".join(parts).removeprefix(".")


def _check_verdict(envelope: Envelope, name: str) -> None:
    code, status = envelope["exit_code"], envelope["status"]
    known = set(ExitCode)
    if code not in known:
        message, pointer = f"exit code {code} is none of ctestbed's", "exit_code"
    elif ExitCode(code).status != status:
        pointer = "status"
        message = f"status {status!r} contradicts exit code {code} ({ExitCode(code).meaning})"
    else:
        return
    raise InputError(
        "CTB-B104",
        message,
        where=Where(name, pointer),
        hint="run the command again; an edited report proves nothing",
    )


def _check_data(envelope: Envelope, name: str) -> None:
    schema = envelope["schema"]
    if schema == _ERROR_SCHEMA:
        return
    if schema not in DATA_TYPES:
        raise InputError(
            "CTB-B103",
            f"no report of this version has the schema {schema!r}",
            where=Where(name, "schema"),
            hint=did_you_mean(schema, DATA_TYPES),
        )
    module, attribute = DATA_TYPES[schema]
    data_type = getattr(import_module(module), attribute)
    _fit(TypeAdapter(data_type), envelope["data"], name, "CTB-B105", ("data",))
    try:
        view_of(envelope)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            "CTB-B105",
            f"the data cannot be shown as {schema}: {type(error).__name__}: {error}",
            where=Where(name, "data"),
            hint="run the command again to get a sound report",
        ) from None
