"""How a bill of materials looks, in every form that it is written in."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from ctestbed.bench.report.render import FORMATS, render
from ctestbed.topology.load import builtin_testbeds
from ctestbed.topology.write import dump_testbed
from tests.cli.shell import ctestbed, process
from tests.topology.strategies import fat_tree

PRICED = ("--prices", "deepseek-table-3")
DESIGNS = ("deepseek-ft2-2048", "deepseek-ft3-65536", "deepseek-slim-fly-32928")


def rows_of(*words: str) -> list[dict[str, str]]:
    outcome = ctestbed("topology", "bom", *words, "--format", "csv")
    assert outcome.code == 0
    return list(csv.DictReader(io.StringIO(outcome.stdout)))


@pytest.mark.parametrize("name", builtin_testbeds())
def test_one_design_fits_eighty_columns(name: str) -> None:
    text = ctestbed("topology", "bom", name).stdout
    assert max(map(len, text.splitlines())) <= 80


def test_designs_side_by_side_fit_eighty_columns() -> None:
    for words in ((), PRICED):
        text = ctestbed("topology", "bom", *DESIGNS, "deepseek-dragonfly-261632", *words).stdout
        assert max(map(len, text.splitlines())) <= 80


def test_the_first_screen_says_what_how_many_power_money_and_what_is_unknown() -> None:
    text = ctestbed("topology", "bom", "deepseek-ft2-2048", *PRICED).stdout
    first = "\n".join(text.splitlines()[:14])
    for said in ("2,048 NICs", "96", "8,192", "UNKNOWN", "9.02 M USD", "modelled", "unknown power"):
        assert said in first


def test_csv_has_a_row_for_every_line_in_base_units() -> None:
    rows = rows_of(*DESIGNS, *PRICED)
    envelope = ctestbed("topology", "bom", *DESIGNS, *PRICED, "--format", "json").json
    lines = [line for design in envelope["data"]["designs"] for line in design["lines"]]
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines, strict=True):
        assert row["count"] == str(line["count"])
        assert row["cost"] == ("" if line["cost"] is None else str(line["cost"]))
    switches = [row for row in rows if row["part"] == "switch"]
    assert sum(int(row["count"]) for row in switches) == 96 + 5120 + 1568
    assert {row["currency"] for row in switches} == {"USD"}
    assert rows[0]["price_provenance"] == "modelled"


def test_ports_and_their_rate_are_of_one_size_where_ports_are_split() -> None:
    switches = [row for row in rows_of("mrc-131072") if row["part"] == "switch"]
    figures = {(int(row["radix"]), int(row["rate_bit_per_s"])) for row in switches}
    assert figures == {(512, 100 * 10**9)}  # a 51.2 Tb/s switch


def test_a_spreadsheet_runs_no_part_name(tmp_path: Path) -> None:
    drawn = fat_tree(tiers=2, leaves=2, hosts_per_leaf=2, spines=2, medium="=1+1")
    drawn["parts"] = {"media": {"=1+1": {"kind": "dac"}}}
    path = tmp_path / "design.yaml"
    path.write_bytes(dump_testbed(drawn, "yaml"))
    assert {row["model"] for row in rows_of(str(path))} >= {"'=1+1"}


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_renders_from_the_stored_report(form: str) -> None:
    outcome = ctestbed("topology", "bom", *DESIGNS, *PRICED, "--format", "json", "--canonical")
    envelope: Any = json.loads(outcome.stdout)
    text = render(envelope, form, canonical=True)
    assert text.strip()
    if form in {"table", "md", "html"}:
        assert "481.28 M" in text.replace("\\", "")
        assert "modelled" in text


def test_the_same_files_give_the_same_bytes_in_any_process() -> None:
    words = ("topology", "bom", *DESIGNS, *PRICED, "--format", "json", "--canonical")
    first = process(*words, env={"PYTHONHASHSEED": "1"}).stdout
    assert first == process(*words, env={"PYTHONHASHSEED": "2"}).stdout
    assert first == ctestbed(*words).stdout


def test_metrics_carry_their_provenance() -> None:
    outcome = ctestbed("topology", "bom", "deepseek-ft2-2048", *PRICED, "--format", "json")
    found = {metric["name"]: metric for metric in outcome.json["metrics"]}
    cost = found["deepseek-ft2-2048.cost"]
    assert (cost["value"], cost["unit"], cost["provenance"]) == (9_024_000, "USD", "modelled")
    assert found["deepseek-ft2-2048.power"]["value"] == "UNKNOWN"
    assert found["deepseek-ft2-2048.switches"]["provenance"] == "modelled"


def test_no_design_and_a_bad_one_are_refused() -> None:
    assert ctestbed("topology", "bom").code == 2
    assert ctestbed("topology", "bom", "no-such-testbed").code == 3
    assert ctestbed("topology", "bom", "-", "-", stdin="ctestbed: 1\n").code == 3
