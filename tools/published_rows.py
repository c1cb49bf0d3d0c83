"""Reproduce published figures by commands of ctestbed, and make the page that shows them.

`python -m tools.published_rows docs/reference/published-rows.md` writes the page; `--check` reports
a stale one; `python -m tools.published_rows T01 ...` shows rows one by one.
"""

import ast
import json
import operator
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).with_suffix(".toml")
DESIGN_FAILS: Final = 10
"""Exit code of checks that found something: a report all the same."""

_OPERATORS: Final[dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_CLAIMS: Final[dict[str, Callable[[Fraction, Fraction], bool]]] = {
    "at least": operator.ge,
    "more than": operator.gt,
    "at most": operator.le,
    "below": operator.lt,
}


@dataclass(frozen=True)
class Recipe:
    """How to find a figure: named readings, each a command and a JSON pointer, and arithmetic."""

    reads: dict[str, tuple[str, str]]
    compute: str

    @classmethod
    def of(cls, table: dict[str, Any]) -> "Recipe":
        """Return what a table of the data file holds."""
        reads = {name: (command, pointer) for name, (command, pointer) in table["reads"].items()}
        return cls(reads, table.get("compute") or next(iter(reads)))


@dataclass(frozen=True)
class Row:
    """A published figure, how to find it again, and a case in which that gives another one."""

    id: str
    source: str
    setup: str
    quantity: str
    value: Fraction
    shown: str
    unit: str
    tolerance: str
    prepare: tuple[str, ...]
    recipe: Recipe
    assumes: tuple[str, ...]
    case: str | None
    otherwise: Recipe | None


@dataclass(frozen=True)
class Found:
    """What a recipe gave: each reading, and the figure they make."""

    readings: dict[str, Fraction]
    value: Fraction


@dataclass(frozen=True)
class Outcome:
    """A row with what was found for it, and for its other case."""

    row: Row
    found: Found
    other: Found | None

    @property
    def holds(self) -> bool:
        """Whether the figure found is within tolerance, and that of the other case is not."""
        return within(self.row, self.found.value) and (
            self.other is None or not within(self.row, self.other.value)
        )


def load_rows(path: Path = FILE) -> list[Row]:
    """Return the rows of the data file, in its order."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))["rows"]
    return [_row(table) for table in tables]


def _row(table: dict[str, Any]) -> Row:
    other = table.get("otherwise")
    return Row(
        id=table["id"],
        source=table["source"],
        setup=table["setup"],
        quantity=table["quantity"],
        value=Fraction(table["value"]),
        shown=table["value"],
        unit=table["unit"],
        tolerance=table["tolerance"],
        prepare=tuple(table.get("prepare", ())),
        recipe=Recipe.of(table),
        assumes=tuple(table.get("assumes", ())),
        case=other and other["case"],
        otherwise=other and Recipe.of(other),
    )


def within(row: Row, value: Fraction) -> bool:
    """Tell whether a figure is the published one, as far as the row's tolerance asks."""
    if row.tolerance == "exact":
        return value == row.value
    if row.tolerance in _CLAIMS:
        return _CLAIMS[row.tolerance](value, row.value)
    number, unit = row.tolerance.replace("%", " %").split()
    allowed = {"%": Fraction(number) * abs(row.value) / 100, "pp": Fraction(number)}[unit]
    return abs(value - row.value) <= allowed


class Shell:
    """A directory in which commands run, each of them once."""

    def __init__(self, directory: Path) -> None:
        """Run in `directory`, which should be empty."""
        self._directory = directory
        self._done: dict[str, str] = {}

    def run(self, command: str) -> str:
        """Return what a shell line prints.

        Raises:
            RuntimeError: it failed, and not because a check found something.
        """
        if command not in self._done:
            path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command],
                cwd=self._directory,
                env={**os.environ, "PATH": path, "PYTHONPATH": str(FILE.parent.parent)},
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode not in {0, DESIGN_FAILS}:
                raise RuntimeError(f"{command}\n{done.stderr}")
            self._done[command] = done.stdout
        return self._done[command]

    def reproduce(self, row: Row) -> Outcome:
        """Find a row's figure again."""
        for command in row.prepare:
            self.run(command)
        other = None if row.otherwise is None else self._follow(row.otherwise)
        return Outcome(row, self._follow(row.recipe), other)

    def _follow(self, recipe: Recipe) -> Found:
        readings = {
            name: read_figure(json.loads(self.run(f"{command} --format json")), pointer)
            for name, (command, pointer) in recipe.reads.items()
        }
        return Found(readings, evaluate(recipe.compute, readings))


def read_figure(document: Any, pointer: str) -> Fraction:
    """Return the number at a JSON pointer (RFC 6901); a ratio such as `16:15` is its quotient."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        document = document[int(key)] if isinstance(document, list) else document[key]
    return Fraction(str(document).replace(":", "/"))


def evaluate(text: str, names: dict[str, Fraction]) -> Fraction:
    """Return the value of arithmetic on named figures, exactly.

    Raises:
        ValueError: it is more than numbers, names, brackets and `+ - * /`.
    """

    def value(node: ast.expr) -> Fraction:
        match node:
            case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](value(left), value(right))
            case ast.Name(name) if name in names:
                return names[name]
            case ast.Constant(int() | float() as number):
                return Fraction(str(number))
        raise ValueError(f"not arithmetic on {', '.join(names)}: {ast.unparse(node)}")

    return value(ast.parse(text, mode="eval").body)


def reproduce_all(rows: Sequence[Row]) -> list[Outcome]:
    """Reproduce rows in a directory of their own."""
    with tempfile.TemporaryDirectory() as directory:
        shell = Shell(Path(directory))
        return [shell.reproduce(row) for row in rows]


_INTRO: Final = """\
<!-- Made by `make golden` from tools/published_rows.toml; do not edit. -->

# Published figures

Figures that others have published, and what the commands below make of them. A figure is exact, or
within the tolerance that stands beside it; CI runs every command and compares. Where a figure holds
under assumptions only, they are given, and a case in which it comes out otherwise.

`python -m tools.published_rows T01` runs the commands of one row and shows what it read in their
reports. A place such as `/data/counts/nic` is a JSON pointer into the report that `--format json`
prints.

"""


def page(outcomes: Sequence[Outcome]) -> str:
    """Return the page of all rows: a table, then how each is reproduced."""
    lines = [
        "| row | quantity | published | tolerance | found | error | verdict |",
        "| --- | --- | ---: | --- | ---: | ---: | --- |",
        *(line(outcome) for outcome in outcomes),
    ]
    sections = [section(outcome) for outcome in outcomes]
    return _INTRO + "\n".join(lines) + "\n\n" + "\n".join(sections)


def line(outcome: Outcome) -> str:
    """Return a row's line of the table."""
    row = outcome.row
    cells = [
        f"[{row.id}](#{row.id.lower()})",
        row.quantity,
        f"{row.shown} {_unit(row)}".strip(),
        row.tolerance,
        format_figure(outcome.found.value),
        format_error(row, outcome.found.value),
        "reproduced" if outcome.holds else "NOT REPRODUCED",
    ]
    return f"| {' | '.join(cells)} |"


def section(outcome: Outcome) -> str:
    """Return how a row is reproduced, under which assumptions, and when it is not."""
    row = outcome.row
    parts = [f"## {row.id}\n\n{row.quantity.capitalize()}: {row.setup}.\n{row.source}.\n"]
    parts += [f"Assumes: {text}\n" for text in row.assumes]
    if row.prepare:
        parts.append("```sh\n" + "\n".join(row.prepare) + "\n```\n")
    parts.append(_recipe(row.recipe, outcome.found))
    if outcome.other is not None and row.otherwise is not None:
        error = format_error(row, outcome.other.value)
        parts.append(f"Not so with {row.case}: {error}.\n")
        parts.append(_recipe(row.otherwise, outcome.other))
    return "\n".join(parts)


def _recipe(recipe: Recipe, found: Found) -> str:
    rows = "".join(
        f"| `{name}` | `{_cell(command)}` | `{pointer}` | {format_figure(found.readings[name])} |\n"
        for name, (command, pointer) in recipe.reads.items()
    )
    made = f"`{recipe.compute}` = **{format_figure(found.value)}**\n"
    return f"| figure | command | place | value |\n| --- | --- | --- | ---: |\n{rows}\n{made}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _unit(row: Row) -> str:
    return {"count": "", "ratio": "", "percent": "%"}.get(row.unit, row.unit)


def format_figure(value: Fraction) -> str:
    """Write a whole number in full, another with six significant digits."""
    return f"{value.numerator:,}" if value.denominator == 1 else f"{float(value):.6g}"


def format_error(row: Row, value: Fraction) -> str:
    """Write how far a figure is from the published one: in points of a percentage, else in %."""
    off = value - row.value
    if not off:
        return "0"
    if row.unit == "percent":
        return f"{float(off):+.3f} pp"
    return f"{float(100 * off / row.value):+.2f}%"


def _show(outcome: Outcome) -> Iterator[str]:
    row = outcome.row
    yield f"{row.id}: {row.quantity} of {row.setup}"
    yield f"  {row.source}"
    yield from (f"  $ {command}" for command in row.prepare)
    for name, (command, pointer) in row.recipe.reads.items():
        yield f"  $ {command} --format json"
        yield f"    {name} = {format_figure(outcome.found.readings[name])} at {pointer}"
    verdict = "reproduced" if outcome.holds else "NOT REPRODUCED"
    error = format_error(row, outcome.found.value)
    yield (
        f"  {row.recipe.compute} = {format_figure(outcome.found.value)}; published {row.shown} "
        f"{row.unit} ({row.tolerance}); error {error}: {verdict}"
    )
    if outcome.other is not None:
        yield f"  not so with {row.case}: {format_figure(outcome.other.value)}"


def main(arguments: list[str]) -> int:
    """Write or check the page, or show rows; 1 if a row is not reproduced or the page is stale."""
    named = {argument for argument in arguments if not argument.startswith("-")}
    rows = load_rows()
    chosen = [row for row in rows if row.id in named]
    outcomes = reproduce_all(chosen or rows)
    lost = [outcome.row.id for outcome in outcomes if not outcome.holds]
    if chosen:
        print("\n".join(text for outcome in outcomes for text in _show(outcome)))
        return int(bool(lost))
    path, made = Path(named.pop()), page(outcomes)
    if "--check" not in arguments:
        path.write_text(made, encoding="utf-8")
    elif not path.is_file() or path.read_text(encoding="utf-8") != made:
        print(f"stale: {path}; run `make golden` and review the diff")
        return 1
    if lost:
        print(f"not reproduced: {', '.join(lost)}")
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
