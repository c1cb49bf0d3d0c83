"""Every published row is found again by its commands, and the page shows what they give."""

import csv
import re
from fractions import Fraction
from pathlib import Path

import pytest

from tests.docs.sessions import ROOT
from tests.shared import shared_data
from tools.laws import evaluate_law
from tools.published_rows import (
    Row,
    Shell,
    evaluate,
    line,
    load_rows,
    read_figure,
    section,
    within,
)

PAGE = ROOT / "docs" / "reference" / "published-rows.md"
ROWS = {row.id: row for row in load_rows()}


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("rows"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_a_row_is_reproduced_and_shown(name: str, shell: Shell) -> None:
    outcome = shell.reproduce(ROWS[name])
    assert within(outcome.row, outcome.found.value)
    assert outcome.other is None or not within(outcome.row, outcome.other.value)
    page = PAGE.read_text(encoding="utf-8")
    for part in (line(outcome), section(outcome)):
        assert part in page, "run `make golden` and review the diff"


def test_the_page_has_all_rows_and_no_other() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^\| \[(\w+)\]", page, re.MULTILINE) == list(ROWS)
    assert re.findall(r"^## (\w+)", page, re.MULTILINE) == list(ROWS)


def test_the_rows_are_those_to_reproduce() -> None:
    with shared_data("paper_rows.csv").open(encoding="utf-8", newline="") as file:
        asked = {row["id"]: row for row in csv.DictReader(file) if row["id"].startswith("T")}
    ours = {name: row for name, row in ROWS.items() if name.startswith("T")}
    assert set(ours) == set(asked)
    for name, row in ours.items():
        assert row.value == Fraction(asked[name]["value"]), name
        assert (row.unit, row.tolerance) == (asked[name]["unit"], asked[name]["tolerance"]), name


def test_rows_of_links_and_congestion_keep_what_is_asked() -> None:
    """Claims stand as `at least` or `more than` alone; the others as they are."""
    with shared_data("paper_rows.csv").open(encoding="utf-8", newline="") as file:
        asked = {row["id"]: row for row in csv.DictReader(file)}
    ours = {name: row for name, row in ROWS.items() if name[0] in "LC"}
    assert ours
    for name, row in ours.items():
        assert row.value == Fraction(asked[name]["value"]), name
        assert row.tolerance == asked[name]["tolerance"].removeprefix("claim: "), name
        assert row.unit == asked[name]["unit"], name


def test_a_law_is_arithmetic_on_named_functions_and_nothing_else() -> None:
    assert evaluate_law("buffers.loop_lock_rate(40*10**9, 2, 16) / 10**9") == 5
    assert evaluate_law("reliability.selective_repeat_efficiency(0.1)") == Fraction(9, 10)
    assert evaluate_law("packet.lone_completion(10**6, [(10**11, 10**6), (10**11, 10**6)])") == (
        85_615_360
    )
    for text in ("__import__('os')", "'a'", "os.getcwd()", "buffers.__name__()", "buffers._x()"):
        with pytest.raises((ValueError, AttributeError)):
            evaluate_law(text)


@pytest.mark.parametrize(
    ("tolerance", "good", "bad"),
    [
        ("exact", ["3"], ["3.0001"]),
        ("2.5%", ["3.075", "2.925"], ["3.076", "2.924"]),
        ("0.2 pp", ["3.2", "2.8"], ["3.21"]),
        ("at least", ["3", "4"], ["2.99"]),
        ("more than", ["3.01"], ["3"]),
        ("at most", ["3"], ["3.1"]),
        ("below", ["2.9"], ["3"]),
    ],
)
def test_tolerances(tolerance: str, good: list[str], bad: list[str], tmp_path: Path) -> None:
    row = _row(tmp_path, tolerance)
    assert all(within(row, Fraction(value)) for value in good)
    assert not any(within(row, Fraction(value)) for value in bad)


def _row(directory: Path, tolerance: str) -> Row:
    file = directory / "rows.toml"
    file.write_text(
        'rows = [{id = "X", source = "", setup = "", quantity = "", value = "3", unit = "", '
        f'tolerance = "{tolerance}", reads = {{x = ["true", "/x"]}}}}]\n'
    )
    return load_rows(file)[0]


def test_figures_are_read_by_json_pointer() -> None:
    document = {"a": [{"b/c": 7}, "16:15"], "d~": 0.5}
    assert read_figure(document, "/a/0/b~1c") == 7
    assert read_figure(document, "/a/1") == Fraction(16, 15)
    assert read_figure(document, "/d~0") == Fraction(1, 2)


def test_arithmetic_is_exact_and_nothing_else() -> None:
    names = {"x": Fraction(1, 3), "y": Fraction(2)}
    assert evaluate("100 * (x + 1) / y - 0.5", names) == Fraction(397, 6)
    for text in ("z", "x ** y", "x.real", "abs(x)", "-x", "[x]"):
        with pytest.raises(ValueError, match="not arithmetic"):
            evaluate(text, names)
