"""Text formats: well-formed by independent readers, and deaf to whatever the text in them says."""

import csv
import io
import json
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from ctestbed.bench.report import csvtext, markdown
from ctestbed.bench.report.blocks import Block, table
from ctestbed.bench.report.render import FORMATS, make_visible, render
from ctestbed.core.envelope import Envelope, dump_envelope
from tests.bench.report_samples import HOSTILE, blocks_of, hostile_text, passing, sample, spoil

SARIF_ESSENTIALS: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool"],
                "properties": {
                    "tool": {
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "required": ["name"],
                                "properties": {
                                    "rules": {
                                        "items": {
                                            "required": ["id"],
                                            "properties": {
                                                "shortDescription": {"required": ["text"]},
                                                "fullDescription": {"required": ["text"]},
                                                "help": {"required": ["text"]},
                                            },
                                        },
                                        "uniqueItems": True,
                                    }
                                },
                            }
                        },
                    },
                    "invocations": {"items": {"required": ["executionSuccessful"]}},
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {
                        "type": "array",
                        "items": {
                            "required": ["message"],
                            "properties": {
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "message": {
                                    "required": ["text"],
                                    "properties": {"text": {"type": "string"}},
                                },
                                "locations": {
                                    "items": {
                                        "properties": {
                                            "physicalLocation": {
                                                "required": ["artifactLocation"],
                                                "properties": {
                                                    "artifactLocation": {
                                                        "required": ["uri"],
                                                        "properties": {
                                                            "uri": {"pattern": r"^[!-~]*$"}
                                                        },
                                                    },
                                                    "region": {
                                                        "properties": {"startLine": {"minimum": 1}}
                                                    },
                                                },
                                            }
                                        }
                                    }
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}
"""What the specification (OASIS SARIF 2.1.0, section 3) requires of the parts we write."""


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("envelope", [sample(), passing()], ids=["failing", "passing"])
def test_every_format_ends_in_one_newline(format_name: str, envelope: Envelope) -> None:
    text = render(envelope, format_name)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("text", HOSTILE)
def test_no_format_lets_a_control_character_through(format_name: str, text: str) -> None:
    shown = render(spoil(text), format_name)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ufffe]", shown)
    shown.encode()


def test_a_lone_surrogate_from_a_file_name_can_be_written() -> None:
    for format_name in FORMATS:
        assert render(spoil("caf\udce9.yaml"), format_name).encode()
    assert json.loads(render(spoil("caf\udce9"), "json"))["inputs"][0]["name"] == "caf\udce9"


@given(hostile_text)
def test_json_formats_keep_every_text(text: str) -> None:
    envelope = spoil(text)
    assert json.loads(render(envelope, "json")) == envelope
    assert lines_of(render(envelope, "jsonl"))[0]["message"] == text
    sarif = json.loads(render(envelope, "sarif"))
    assert sarif["runs"][0]["results"][0]["message"]["text"].startswith(text)


def test_canonical_json_is_the_envelope_s_own() -> None:
    first, second = sample(), sample(run={"start": "later"})
    second["metrics"][1] |= {"value": 1.0, "n": 99, "ci95": [0, 2]}
    for format_name in FORMATS:
        assert render(first, format_name, canonical=True) == render(
            second, format_name, canonical=True
        )
    assert render(passing(), "json") == dump_envelope(passing())


def test_jsonl_tells_findings_then_metrics_then_the_verdict() -> None:
    records = lines_of(render(sample(), "jsonl"))
    assert [record["type"] for record in records] == ["finding"] * 3 + ["metric"] * 3 + ["verdict"]
    assert records[0]["where"] == sample()["findings"][0]["where"]
    assert records[-1]["exit_code"] == 10


# Markdown: markdown-it is the independent reader.


def parse_markdown(text: str) -> list[Any]:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    return [part for token in tokens for part in (token, *(token.children or []))]


@given(hostile_text)
def test_markdown_shows_text_and_never_obeys_it(text: str) -> None:
    shown = render(spoil(text), "md")
    tokens = parse_markdown(shown)
    markup = {"link_open", "image", "em_open", "s_open", "html_block", "code_inline", "hr"}
    assert not markup & {token.type for token in tokens}
    assert {t.content for t in tokens if t.type == "html_inline"} <= {"<!-- -->"}
    assert sum(token.type == "table_open" for token in tokens) == 4
    assert sum(token.type == "heading_open" for token in tokens) == 5


@given(hostile_text)
def test_markdown_cells_read_back_as_they_were(text: str) -> None:
    text = make_visible(text)
    tokens = (
        MarkdownIt("commonmark")
        .enable("table")
        .parse(f"| a | b |\n| --- | --- |\n| {markdown.escape(text)} | end |\n")
    )
    cells = [t for t in tokens if t.type == "inline"][2:]
    read = [
        "".join(c.content for c in cell.children or [] if c.type != "html_inline") for cell in cells
    ]
    assert read == [" ".join(text.split()), "end"]


@given(hostile_text)
def test_markdown_lines_read_back_as_paragraphs(text: str) -> None:
    text = make_visible(text)
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown.escape(text))
    expected = " ".join(text.split())
    assert [t.type for t in tokens] == (
        ["paragraph_open", "inline", "paragraph_close"] if expected else []
    )
    if expected:
        children = tokens[1].children or []
        assert "".join(c.content for c in children if c.type != "html_inline") == expected


@given(hostile_text)
def test_drawings_stay_inside_their_fence(text: str) -> None:
    (_, fixed, *_), patch = blocks_of(text), pytest.MonkeyPatch()
    with patch.context() as patched:
        patched.setattr("ctestbed.bench.report.common.view_of", lambda _: [fixed])
        tokens = parse_markdown(render(passing(), "md"))
    fences = [token for token in tokens if token.type == "fence"]
    assert len(fences) == 1


@pytest.mark.parametrize("text", ["@team", "a@b.cz", "#12", "GH@x #3"])
def test_markdown_splits_mentions_and_issue_numbers(text: str) -> None:
    assert not re.search(r"[@#]\w", markdown.escape(text))


# CSV


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text), strict=True))


def with_view(blocks: list[Block]) -> Callable[[Envelope], list[Block]]:
    return lambda _: blocks


def test_csv_is_the_first_table_then_metrics_then_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rows_of(render(sample(), "csv"))[0] == ["check", "status", "detail"]
    monkeypatch.setattr(csvtext, "view_of", with_view([]))
    metrics = rows_of(render(sample(), "csv"))
    assert metrics[1][:3] == ["headroom.closed_form", "75000000", "bytes"]
    assert metrics[3][1] == "UNKNOWN"
    assert rows_of(render(sample(metrics=[]), "csv"))[1][1] == "CTB-C003"
    assert rows_of(render(passing(), "csv")) == [["status", "exit_code"], ["pass", "0"]]


@given(hostile_text)
def test_csv_holds_no_formula(text: str) -> None:
    text, patch = make_visible(text), pytest.MonkeyPatch()
    with patch.context() as patched:
        blocks: list[Block] = [table(text, "a | b", [[text, "end"]])]
        patched.setattr(csvtext, "view_of", with_view(blocks))
        header, (cell, end) = rows_of(render(passing(), "csv"))
    assert (header, end) == (["a", "b"], "end")
    assert cell.removeprefix("'") == text.removeprefix("'")
    if cell.strip()[:1] in set("=+-@") - {""}:
        assert re.fullmatch(r"[+-]?[\d_,.]+([eE][+-]?\d+)?( [A-Za-zµ/%]+)?|-", cell)


@pytest.mark.parametrize("cell", ["-3", "-2.5e-3", "+1,000", "-75 MB", "-"])
def test_csv_leaves_figures_alone(cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csvtext, "view_of", with_view([table("", "a", [[cell]])]))
    assert rows_of(render(passing(), "csv"))[1] == [cell]


# JUnit


def check_suite(text: str) -> ET.Element:
    """Hold the common JUnit shape: counts agree, each case has at most one outcome."""
    root = ET.fromstring(text)  # noqa: S314 - our own output
    assert root.tag == "testsuites"
    (suite,) = root
    assert [child.tag for child in suite] == ["properties"] + ["testcase"] * (len(suite) - 1)
    cases = suite.findall("testcase")
    assert int(suite.attrib["tests"]) == len(cases) > 0
    for tag, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        counted = sum(case.find(tag) is not None for case in cases)
        assert int(suite.attrib[attribute]) == int(root.attrib[attribute]) == counted
    for case in cases:
        assert case.attrib["name"]
        assert case.attrib["classname"].startswith("ctestbed.")
        assert len(case) <= 1
    float(suite.attrib["time"])
    return suite


def test_junit_projects_checks_and_findings() -> None:
    suite = check_suite(render(sample(), "junit"))
    outcome = {
        case.attrib["name"]: case[0].tag if len(case) else "" for case in suite.iter("testcase")
    }
    assert outcome == {
        "python": "system-out",
        "kernel cache": "failure",
        "openssl": "skipped",
        "CTB-C003: size '64M' is ambiguous": "failure",
        "CTB-C010: large": "system-out",
        "NOT_IN_CATALOGUE: seeded root": "system-out",
    }
    assert suite.attrib["timestamp"] == "2025-01-02T03:04:05"


def test_junit_tells_a_failed_check_and_its_finding_once() -> None:
    checks = [{"id": "mac", "status": "fail", "code": "MAC_BAD", "detail": None}]
    finding = {"code": "MAC_BAD", "severity": "error", "message": "the MAC does not match"}
    envelope = sample(schema="x.y.z/1", data={"checks": checks}, findings=[finding])
    suite = check_suite(render(envelope, "junit").replace("x.y.z", "ctestbed.y.z"))
    assert suite.attrib["tests"] == suite.attrib["failures"] == "1"
    (failure,) = suite.iter("failure")
    assert failure.attrib["type"] == "MAC_BAD"
    assert "the MAC does not match" in (failure.text or "")


def test_junit_tells_a_failed_expectation_and_its_finding_once() -> None:
    met = {"text": "a == 1", "status": "pass", "actual": 1, "limit": 1, "unit": ""}
    missed = {"text": "b <= 2", "status": "fail", "actual": 3, "limit": 2, "unit": "ps"}
    message = "expected `b <= 2`, but b is 3 ps"
    findings = [
        {"code": "CTB-B002", "severity": "error", "message": message},
        {"code": "CTB-B002", "severity": "error", "message": "expected `c`, but it is unknown"},
    ]
    envelope = sample(data={"expectations": [met, missed]}, findings=findings)
    suite = check_suite(render(envelope, "junit"))
    names = [case.attrib["name"] for case in suite.iter("testcase")]
    assert names == ["a == 1", "b <= 2", "CTB-B002: expected `c`, but it is unknown"]
    failures = [failure.attrib["message"] for failure in suite.iter("failure")]
    assert message in failures[0]
    assert len(failures) == 2


@pytest.mark.parametrize(
    ("status", "exit_code", "failures", "errors"),
    [("pass", 0, "0", "0"), ("fail", 10, "1", "0"), ("error", 3, "0", "1")],
)
def test_junit_fails_exactly_when_the_envelope_does(
    status: str, exit_code: int, failures: str, errors: str
) -> None:
    suite = check_suite(render(passing(status=status, exit_code=exit_code), "junit"))
    assert (suite.attrib["failures"], suite.attrib["errors"]) == (failures, errors)


@given(hostile_text)
def test_junit_is_well_formed_whatever_the_text(text: str) -> None:
    envelope = spoil(text)
    assert int(check_suite(render(envelope, "junit")).attrib["tests"]) == 4


@pytest.mark.parametrize("checks", [3, "x", [1, None], [{"status": "ok"}], [{"name": "a"}], {}])
def test_junit_passes_over_checks_of_another_shape(checks: Any) -> None:
    check_suite(render(passing(schema="ctestbed.x.y/1", data={"checks": checks}), "junit"))


# SARIF


@given(hostile_text)
def test_sarif_has_what_the_specification_requires(text: str) -> None:
    log = json.loads(render(spoil(text), "sarif"))
    jsonschema.validate(log, SARIF_ESSENTIALS)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_sarif_places_findings() -> None:
    (run,) = json.loads(render(sample(), "sarif"))["runs"]
    first, second, third = run["results"]
    assert first["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "dir/a%20b.yaml"},
                "region": {"startLine": 4},
            },
            "logicalLocations": [{"fullyQualifiedName": "links[1].size"}],
        }
    ]
    assert second["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "stdin"
    assert "locations" not in third
    assert [result["level"] for result in run["results"]] == ["error", "warning", "note"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]][-1] == "NOT_IN_CATALOGUE"
    assert run["invocations"][0]["exitCode"] == 10
    assert run["invocations"][0]["executionSuccessful"] is True


def test_sarif_writes_absolute_and_odd_names_as_uris() -> None:
    names = {"/data/x y.bin": "file:///data/x%20y.bin", "a:b.yaml": "a%3Ab.yaml", "é": "%C3%A9"}
    for name, uri in names.items():
        finding = {"code": "CTB-C011", "severity": "error", "message": "m", "where": {"file": name}}
        (run,) = json.loads(render(sample(findings=[finding]), "sarif"))["runs"]
        place = run["results"][0]["locations"][0]["physicalLocation"]
        assert place == {"artifactLocation": {"uri": uri}}
