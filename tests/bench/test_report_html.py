"""The page and its charts: nothing loads, nothing runs that is not ours, all of it well-formed."""

import json
import math
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.bench.report import html
from ctestbed.bench.report.axes import build_axis, format_figure, thin_out
from ctestbed.bench.report.blocks import Block, Column, Plot, Series
from ctestbed.bench.report.html import render_html, render_page, sort_key
from ctestbed.bench.report.render import make_visible
from ctestbed.bench.report.svg import WIDTH, draw_plot
from ctestbed.core.catalogue import load_catalogue
from ctestbed.core.envelope import Envelope
from tests.bench.report_samples import HOSTILE, blocks_of, hostile_text, passing, sample, spoil

VOID = {"meta", "link", "input", "br", "img", "hr"}
LOADERS = {"src", "href", "srcset", "action", "data", "poster", "formaction", "background", "ping"}


class Page(HTMLParser):
    """Elements, attributes and texts of a page, read by the standard library's parser."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)

    def count(self, tag: str, **attributes: str) -> int:
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return sum(name == tag and wanted.items() <= found.items() for name, found in self.elements)

    def all_text(self) -> str:
        return "".join(
            text for tag, parts in self.texts.items() if tag != "script" for text in parts
        )


def check_page(text: str) -> Page:
    """Hold what every page must: balanced, self-contained, no handlers, policy matching hashes."""
    page = Page(text)
    assert page.open == []
    for tag, attributes in page.elements:
        assert tag not in {"iframe", "object", "embed", "base", "form", "img"}
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name != "style", tag
            if name in LOADERS:
                assert value.startswith(("#", "data:image/svg+xml,")), (tag, name, value)
    assert page.count("script") == 2
    assert page.count("style") == 1
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    (policy,) = [
        found["content"]
        for _, found in page.elements
        if found.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["connect-src"] == rules["base-uri"] == "'none'"
    for name, content in (("script-src", script), ("style-src", style)):
        digest = b64encode(sha256(content.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert not re.search(r"url\(|@import|@font-face", style)
    assert not re.search(r"innerHTML|eval|fetch|XMLHttp|document\.write|import\(", script)
    return page


def data_of(text: str) -> Any:
    (block,) = re.findall(
        r'<script type="application/json" id="envelopes">(.*?)</script>', text, re.DOTALL
    )
    assert not re.search("[<>&]", block)
    return json.loads(block)


def test_the_page_of_a_report_shows_all_of_it() -> None:
    text = render_html(sample())
    page = check_page(text)
    assert data_of(text) == [sample()]
    assert page.texts["title"] == ["FAIL: doctor lab-128"]
    shown = page.all_text()
    for part in ("FAIL", "exit 10", "CTB-C003", "size '64M' is ambiguous", "dir/a b.yaml:4",
                 "75 MB", "read-only", "ab" * 32, "n = 12", "412.5 MB/s (CPU)"):  # fmt: skip
        assert part in shown
    assert page.count("article") == 1
    assert page.count("span", class_="badge modelled") == 2
    assert page.count("tr") == 1 + 3 + 1 + 3


def test_the_page_of_several_sums_them_up_and_links_to_each() -> None:
    page = check_page(render_page([sample(), passing(), passing(status="error", exit_code=3)]))
    assert page.count("article") == 3
    assert [found["href"] for tag, found in page.elements if tag == "a"] == ["#r1", "#r2", "#r3"]
    assert page.texts["title"][0].startswith("ERROR: ")
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))


# A code that the catalogue knows is rightly shown with its explanation, so it is no plain text.
@given(hostile_text.filter(lambda text: text and text not in load_catalogue()))
def test_text_of_a_report_stays_text(text: str) -> None:
    page, plain = check_page(render_html(spoil(text))), check_page(render_html(spoil("plain")))
    tags = [tag for tag, _ in page.elements if tag != "code"]
    assert tags == [tag for tag, _ in plain.elements if tag != "code"]
    assert data_of(render_html(spoil(text))) == [spoil(text)]


@pytest.mark.parametrize("text", [*HOSTILE, "plain"])
def test_text_of_a_view_stays_text(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks: list[Block] = blocks_of(make_visible(text))
    monkeypatch.setattr(html, "view_of", lambda _: blocks)
    page = check_page(render_html(passing()))
    assert page.count("svg") == page.count("figure") == 3
    assert page.count("desc") == 3
    assert "pass" in page.texts["span"]


def test_findings_past_the_limit_are_counted() -> None:
    finding = {"code": "CTB-C001", "severity": "error", "message": "bad"}
    text = render_html(sample(findings=[finding] * (html.MAX_FINDINGS + 7)))
    assert "... 7 more" in text
    assert len(data_of(text)[0]["findings"]) == html.MAX_FINDINGS + 7


def test_findings_of_one_code_are_folded_and_none_is_lost() -> None:
    findings = [
        {"code": code, "severity": "error", "message": f"port {code} {index}", "hint": "widen it"}
        for index in range(9)
        for code in ("CTB-C001", "CTB-C002")
    ]
    page = check_page(render_html(sample(findings=findings)))
    shown = page.all_text()
    assert all(finding["message"] in shown for finding in findings)
    assert shown.count("6 more of CTB-C00") == 2
    assert shown.count("widen it") == 2


def test_an_unfinished_run_says_so() -> None:
    assert "the run was cut short" in render_html(sample(complete=False))


@pytest.mark.parametrize(
    ("cell", "key"),
    [("75 MB", "75000000"), ("400 Gb/s", "400000000000"), ("1.5 us", "1500000"),
     ("2 km", "2000000"), ("1,024", "1024"), ("12.5%", "12.5"), ("-3", "-3"), ("3 dB", "3"),
     ("UNKNOWN", ""), ("NaN", ""), ("", "")],
)  # fmt: skip
def test_figures_sort_by_their_value(cell: str, key: str) -> None:
    assert sort_key(cell, Column("x", figure=True)) == key
    assert sort_key(cell, Column("x")) == ""


# Charts

finite = st.floats(allow_nan=False, allow_infinity=False)
anything = st.floats()


@st.composite
def plots(draw: st.DrawFn) -> Plot:
    count = draw(st.integers(0, 4))
    numbers = st.lists(anything, max_size=9).map(tuple)
    series = tuple(
        Series(draw(hostile_text.map(make_visible)), draw(numbers), draw(numbers))
        for _ in range(count)
    )
    labels = draw(st.lists(st.sampled_from(["a", "leaf-03:eth7", "x" * 90, "<&>"]), max_size=9))
    kind: Any = draw(st.sampled_from(["bar", "line", "ecdf"]))
    return Plot("t", kind, series, "x (us)", "y (MB)", "simulated", tuple(labels))


@given(plots())
def test_charts_are_well_formed_and_stay_in_their_box(plot: Plot) -> None:
    root = ET.fromstring(draw_plot(plot, "p1"))  # noqa: S314 - our own output
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    assert width == WIDTH
    assert root.attrib["aria-labelledby"] == "p1-title p1-desc"
    for element in root.iter():
        for name, limit in (("x", width), ("cx", width), ("y", height), ("cy", height)):
            if name in element.attrib and not element.tag.endswith("text"):
                assert 0 <= float(element.attrib[name]) <= limit
        for name in ("width", "height", "r"):
            assert float(element.attrib.get(name, 1)) > 0
        for number in re.findall(r"-?\d+(?:\.\d+)?|nan|inf", element.attrib.get("d", "")):
            assert math.isfinite(float(number))
        assert "nan" not in element.attrib.get("d", "")


def marks(plot: Plot) -> list[ET.Element]:
    root = ET.fromstring(draw_plot(plot, "p"))  # noqa: S314 - our own output
    return [item for item in root.iter() if "mark" in item.attrib.get("class", "").split()]


def test_bars_are_as_long_as_their_figures() -> None:
    bars = marks(
        Plot("t", "bar", (Series("s", (), (10, 20, -10)),), "x", "MB", "modelled", ("a", "b", "c"))
    )
    lengths = [float(bar.attrib["width"]) for bar in bars]
    assert lengths[1] == pytest.approx(2 * lengths[0], abs=0.2)
    assert lengths[2] == pytest.approx(lengths[0], abs=0.2)
    titles = [item.text for bar in bars for item in bar]
    assert titles == ["s, a: 10 MB", "s, b: 20 MB", "s, c: -10 MB"]


def test_a_distribution_is_counted_from_its_values() -> None:
    plot = Plot("t", "ecdf", (Series("s", (3, 1, math.nan, 2, 4), ()),), "us", "share", "simulated")
    titles = [item.text for mark in marks(plot) for item in mark]
    assert titles == [f"s, {x} us: {y} share" for x, y in ((1, 0.25), (2, 0.5), (3, 0.75), (4, 1))]


def test_crowded_bars_are_cut_and_said_so() -> None:
    plot = Plot("t", "bar", (Series("s", (), tuple(range(5000))),), "x", "y", "measured")
    assert "more, not drawn" in draw_plot(plot, "p")
    assert len(marks(plot)) < 200


@given(st.lists(finite.filter(lambda v: abs(v) <= 1e300), max_size=8), st.booleans())
def test_axes_cover_their_values_with_few_round_ticks(values: list[float], with_zero: bool) -> None:
    axis = build_axis(values, 0, 100, with_zero=with_zero)
    assert 2 <= len(axis.ticks) <= 12
    assert list(axis.ticks) == sorted(set(axis.ticks))
    span = axis.high - axis.low
    assert all(axis.low - 1e-6 * span <= value <= axis.high + 1e-6 * span for value in values)
    assert not with_zero or axis.low <= 0 <= axis.high
    assert all(0 <= axis.place(value) <= 100 for value in values)


@given(finite.filter(lambda v: abs(v) <= 1e300))
def test_figures_on_axes_are_short_and_close(value: float) -> None:
    text = format_figure(value)
    assert len(text) <= 10
    scales = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
    number = text.replace(",", "")
    scale = scales.get(number[-1], 1)
    read = float(number.rstrip("kMGTPE")) * scale
    assert read == pytest.approx(value, rel=0.06)


@given(st.integers(0, 5000))
def test_thinning_keeps_the_extremes(count: int) -> None:
    points = [(float(i), float(i * 7919 % 1009)) for i in range(count)]
    kept = thin_out(points)
    assert len(kept) <= 1204
    assert kept == sorted(set(kept))
    assert set(kept) <= set(points)
    if points:
        heights = [y for _, y in points]
        assert {min(heights), max(heights)} <= {y for _, y in kept}


def test_the_envelope_is_left_as_it_was() -> None:
    envelope: Envelope = spoil(HOSTILE[9])
    before = json.dumps(envelope)
    render_html(envelope)
    assert json.dumps(envelope) == before
