"""`expect:` lines of a testbed file: `NAME OP VALUE`, each of them a check.

NAME is a metric (`fct.max`), a count (`counts.accelerator`) or an outcome (`attest.verdict`).
VALUE is another NAME, a quantity in the unit of NAME, a number or a word. A timed figure cannot be
expected of: no verdict rests on a clock. What is UNKNOWN satisfies nothing.
"""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Literal

from typing_extensions import TypedDict

from ctestbed.core.errors import InputError, Where
from ctestbed.core.names import nearest
from ctestbed.core.result import UNKNOWN, Finding, Metric
from ctestbed.core.units import parse_rate, parse_size, parse_time

_LINE: Final = re.compile(r"\s*([a-z0-9][\w.\-]*)\s*(==|!=|<=|>=|<|>)\s*([^\s=<>].*?)\s*")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,2})?")
_DOTTED: Final = re.compile(r"[a-z][\w\-]*(?:\.[\w\-]+)+")
_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_PARSE: Final[Mapping[str, Callable[[str, Where | None], int]]] = {
    "bytes": parse_size,
    "ps": parse_time,
    "bit/s": parse_rate,
}


@dataclass(frozen=True, slots=True)
class Known:
    """A value that can be expected of: a number in `unit`, a word, or UNKNOWN."""

    value: int | float | str
    unit: str = ""
    timed: bool = False


class Expectation(TypedDict):
    """One expectation and its outcome; `actual` and `limit` are in the unit of the name."""

    text: str
    status: Literal["pass", "fail", "unknown"]
    actual: int | float | str
    limit: int | float | str
    unit: str


def collect_known(
    metrics: tuple[Metric, ...], counts: Mapping[str, int], outcomes: Mapping[str, str]
) -> dict[str, Known]:
    """Gather what a run produced under the names that expectations use."""
    known = {m.name: Known(m.value, m.unit, m.kind == "timed") for m in metrics}
    known.update({f"counts.{name}": Known(value) for name, value in counts.items()})
    known.update({name: Known(value) for name, value in outcomes.items()})
    return known


def check_expectation(
    text: str, known: Mapping[str, Known], where: Where
) -> tuple[Expectation, Finding | None]:
    """Judge one line.

    Raises:
        InputError: the line cannot be read, or names something the run does not produce.
    """
    name, symbol, operand = parse_expectation(text, where)
    left = _look_up(name, known, where)
    right = known.get(operand)
    limit = right.value if right is not None else _read_operand(operand, left, known, where)
    if right is not None and right.timed:
        raise _refuse_timed(operand, where)
    if right is not None and left.unit != right.unit and {left.unit, right.unit} & set(_PARSE):
        raise InputError(
            "CTB-B001",
            f"`{text}` compares {left.unit or 'a number'} with {right.unit or 'a number'}",
            where=where,
            hint="compare quantities of one kind",
        )
    outcome = Expectation(text=text, status="pass", actual=left.value, limit=limit, unit=left.unit)
    if UNKNOWN in {left.value, limit}:
        outcome["status"] = "unknown"
        missing = name if left.value == UNKNOWN else operand
        return outcome, Finding(
            "CTB-B003",
            "error",
            f"expected `{text}`, which cannot be decided: {missing} is UNKNOWN",
            where,
            "give the testbed the quantity that is `unknown`, or drop the expectation",
        )
    if isinstance(left.value, str) != isinstance(limit, str) or (
        isinstance(limit, str) and symbol not in {"==", "!="}
    ):
        raise InputError(
            "CTB-B001",
            f"`{text}` compares {left.value!r} with {limit!r}, which have no such order",
            where=where,
            hint="compare numbers with numbers, and words with == or !=",
        )
    if _COMPARE[symbol](_exact(left.value), _exact(limit)):
        return outcome, None
    outcome["status"] = "fail"
    return outcome, Finding(
        "CTB-B002",
        "error",
        f"expected `{text}`, but {name} is {_show(left.value, left.unit)}"
        + (f" and {operand} is {_show(limit, left.unit)}" if right is not None else ""),
        where,
        "change the testbed until it holds, or correct the expectation",
    )


def parse_expectation(text: str, where: Where) -> tuple[str, str, str]:
    """Split a line into name, comparison and operand.

    Raises:
        InputError: the line has another form.
    """
    match = _LINE.fullmatch(text)
    if match is None:
        raise InputError(
            "CTB-B001",
            f"`{text}` is not an expectation",
            where=where,
            hint="write `NAME OP VALUE`, such as `fct.max <= 250ms`",
        )
    name, symbol, operand = match.groups()
    return name, symbol, operand


def _look_up(name: str, known: Mapping[str, Known], where: Where) -> Known:
    if name not in known:
        usable = sorted(key for key, value in known.items() if not value.timed)
        close = nearest(name, usable)
        raise InputError(
            "CTB-B004",
            f"this run produces no `{name}` to expect anything of",
            where=where,
            hint=f"did you mean `{close}`?" if close else f"it produces: {', '.join(usable)}",
        )
    if known[name].timed:
        raise _refuse_timed(name, where)
    return known[name]


def _refuse_timed(name: str, where: Where) -> InputError:
    return InputError(
        "CTB-B005",
        f"`{name}` is timed, and an expectation may not rest on a clock",
        where=where,
        hint="compare timed figures between runs instead",
    )


def _read_operand(
    operand: str, left: Known, known: Mapping[str, Known], where: Where
) -> int | float | str:
    """Read a quantity in the unit of `left`, a number, or a word."""
    if isinstance(left.value, str) and left.value != UNKNOWN:
        return operand.strip("\"'")
    if _DOTTED.fullmatch(operand):
        _look_up(operand, known, where)  # a misspelt name: this refuses it with the nearest
    if left.unit in _PARSE:
        return _PARSE[left.unit](operand, where)
    if _NUMBER.fullmatch(operand) is None:
        return operand
    number = Decimal(operand)
    return int(number) if number == number.to_integral_value() else float(number)


def _exact(value: float | str) -> Fraction | str:
    return value if isinstance(value, str) else Fraction(value)


def _show(value: float | str, unit: str) -> str:
    from ctestbed.bench.report.common import format_value

    return format_value(value, unit)
