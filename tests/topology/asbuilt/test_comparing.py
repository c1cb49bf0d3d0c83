"""`validate FILE`, `validate --as-built` and `diff`, as a user calls them."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.shell import ctestbed
from tests.shared import shared_data

BATFISH = "fabric/third-party/batfish/example_layer1_topology.json"


@pytest.fixture
def cables(tmp_path: Path) -> Path:
    path = tmp_path / "cables.csv"
    assert ctestbed("topology", "export", "lab-128", "--to", "csv", "-o", str(path)).code == 0
    return path


def test_what_was_exported_is_as_designed(cables: Path) -> None:
    outcome = ctestbed("topology", "validate", "lab-128", "--as-built", str(cables))
    assert outcome.code == 0
    assert "no deviation" in outcome.stdout


def test_a_lost_line_is_a_missing_cable_with_its_place(cables: Path) -> None:
    lines = cables.read_text().splitlines()
    gone = lines.pop(200)
    cables.write_text("\n".join(lines) + "\n")
    words = ("topology", "validate", "lab-128", "--as-built", str(cables), "--format", "json")
    outcome = ctestbed(*words)
    assert outcome.code == 10
    data = outcome.json["data"]
    assert data["counts"]["missing"] == 1
    (deviation,) = data["deviations"]
    assert deviation["kind"] == "missing"
    first, _, second = gone.split(",")[:3]
    assert {deviation["a"], deviation["b"]} == {first, second}
    for form in ("junit", "sarif"):
        rendered = ctestbed(*words[:-1], form)
        assert rendered.code == 10
        assert "CTB-T200" in rendered.stdout


def test_csv_has_a_row_for_every_deviation(cables: Path) -> None:
    kept = cables.read_text().splitlines()[:150]
    cables.write_text("\n".join(kept) + "\n")
    words = ("topology", "validate", "lab-128", "--as-built", str(cables), "--format")
    deviations = ctestbed(*words, "json").json["data"]["deviations"]
    rows = list(csv.DictReader(io.StringIO(ctestbed(*words, "csv").stdout)))
    assert len(rows) == len(deviations) > 40
    assert [row["kind"] for row in rows] == [each["kind"] for each in deviations]
    assert [row["expected"] for row in rows] == [each["expected"] or "" for each in deviations]


def test_a_record_from_standard_input_is_judged_alone(cables: Path) -> None:
    outcome = ctestbed("topology", "validate", "-", "--format", "json", stdin=cables.read_bytes())
    assert outcome.code == 0
    assert outcome.json["schema"] == "ctestbed.topology.as-built/1"
    assert outcome.json["data"]["inferred"]["kind"] == "leaf-spine"


def test_a_testbed_from_standard_input_is_still_a_testbed() -> None:
    testbed = ctestbed("topology", "build", "fat-tree", "--k", "4").stdout.encode()
    outcome = ctestbed("topology", "validate", "-", "--format", "json", stdin=testbed)
    assert outcome.code == 0
    assert outcome.json["schema"] == "ctestbed.topology.validate/1"


def test_networks_differ_or_not() -> None:
    assert ctestbed("topology", "diff", "lab-128", "lab-128").code == 0
    outcome = ctestbed("topology", "diff", "lab-128", "fat-tree-128", "--format", "json")
    assert outcome.code == 10
    assert outcome.json["data"]["deviations"]


def test_a_faster_network_differs_too(cables: Path) -> None:
    faster = cables.with_name("faster.csv")
    faster.write_text(cables.read_text().replace("100 Gb/s", "400 Gb/s"))
    outcome = ctestbed("topology", "diff", str(cables), str(faster), "--format", "json")
    assert outcome.code == 10
    assert [finding["code"] for finding in outcome.json["findings"]] == ["CTB-T216"]
    back = ctestbed("topology", "diff", str(faster), str(cables), "--format", "json")
    assert back.json["data"]["counts"]["slow"] == 256


def test_a_self_loop_of_a_real_record_is_found() -> None:
    outcome = ctestbed("topology", "validate", str(shared_data(BATFISH)), "--format", "json")
    assert outcome.code == 10
    (deviation,) = outcome.json["data"]["deviations"]
    assert (deviation["kind"], deviation["a"]) == ("self-loop", "as3core1")


def test_hosts_without_ports_compare_with_adapters(tmp_path: Path, cables: Path) -> None:
    rows = [line.split(",") for line in cables.read_text().splitlines()[1:]]
    plain = [f"{row[0].replace('/nic-0', '')},{row[2]}" for row in rows]
    path = tmp_path / "plain.csv"
    path.write_text("a,b\n" + "\n".join(plain) + "\n")
    assert ctestbed("topology", "validate", "lab-128", "--as-built", str(path)).code == 0


@pytest.mark.parametrize("words", [("diff", "-", "-"), ("validate", "-", "--as-built", "-")])
def test_standard_input_cannot_be_both(words: tuple[str, ...]) -> None:
    outcome = ctestbed("topology", *words, "--format", "json", stdin=b"x")
    assert outcome.code == 3
    assert "CTB-T217" in json.dumps(outcome.json)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"hello\n", b"a,b\nx\n", b"\x00" * 64])
def test_what_is_no_record_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "record.txt"
    path.write_bytes(content)
    for words in (("validate", str(path)), ("validate", "lab-128", "--as-built", str(path))):
        outcome = ctestbed("topology", *words)
        assert outcome.code == 3
        assert "error[" in outcome.stderr
