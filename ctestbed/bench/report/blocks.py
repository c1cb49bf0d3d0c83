"""What a view is made of. Plain records of text, free of any output format."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph, or with `fixed` a drawing whose spaces count."""

    text: str
    title: str = ""
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """Sentences that stand one below the other."""

    title: str
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values, one pair a line; with `wrap`, plain text breaks long ones."""

    title: str
    pairs: tuple[tuple[str, str], ...]
    wrap: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A table column; figures align right."""

    title: str
    figure: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under columns. `note` says what was cut or where figures come from."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one line, bar group or distribution, in axis units."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart for pages; text output leaves it out, since its figures stand in tables too.

    `kind` is `bar` (one bar per label, `series[i].y` along `labels`), `line` or `ecdf`
    (series drawn as x, y steps). `provenance` is shown with the chart.
    """

    title: str
    kind: Literal["bar", "line", "ecdf"]
    series: tuple[Series, ...]
    x_label: str
    y_label: str
    provenance: str
    labels: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing of a network: its scenes side by side, and closer looks folded away.

    Scenes are as `topology.picture.model.SceneData` has them. Pages draw them; text output shows
    `text`, whose spaces count, and nothing where that is empty.
    """

    title: str
    scenes: tuple[dict[str, Any], ...]
    text: str = ""
    note: str = ""
    folded: tuple["Picture", ...] = ()


Block: TypeAlias = Text | Items | Facts | Table | Plot | Picture


def table(title: str, header: str, rows: list[list[str]], note: str = "") -> Table:
    """Build a table from a header line such as `port | rate> | headroom>`.

    A column whose name ends in `>` holds figures and aligns right.
    """
    names = [name.strip() for name in header.split("|")]
    columns = tuple(Column(name.rstrip(">"), name.endswith(">")) for name in names)
    return Table(title, columns, tuple(tuple(row) for row in rows), note)


def merge_sites(rows: list[tuple[str | None, list[str]]]) -> list[list[str]]:
    """Return rows that say the same of several sites once, with these sites at the end."""
    found: dict[tuple[str, ...], list[str]] = {}
    for site, row in rows:
        names = found.setdefault(tuple(row), [])
        if site is not None and site not in names:
            names.append(site)
    return [[*row, ", ".join(names)] for row, names in found.items()]


def cut_rows(rows: list[list[str]], limit: int) -> tuple[list[list[str]], str]:
    """Keep the first `limit` rows, and say how many were left out."""
    if len(rows) <= limit:
        return rows, ""
    return rows[:limit], f"... {len(rows) - limit} more (all of them are in --format json)"
