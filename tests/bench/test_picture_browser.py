"""Pictures in a real browser: quiet, whole, folded open by hand, on wide and narrow screens."""

import html as entities
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ctestbed.bench.report.html import render_html
from ctestbed.bench.report.svgexport import run_export_svg
from tests.bench.report_samples import sample
from tests.bench.test_report_browser import visit
from tests.bench.test_report_drawing import shown

pytestmark = pytest.mark.browser

NAMES = ("mrc-131072", "three-vendor-sites", "uneven-planes-1024", "deepseek-dragonfly-261632")
HARNESS = """<!DOCTYPE html><title>harness</title><link rel="icon" href="data:,">
<iframe src="/page" width="%d" height="900"></iframe><pre id="out"></pre><script>
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {
  const page = frame.contentDocument, root = page.documentElement, out = {};
  out.wide = root.scrollWidth - root.clientWidth;
  out.closed = [...page.querySelectorAll(".picture details")].filter((d) => d.open).length;
  for (const folded of page.querySelectorAll("details")) folded.open = true;
  out.opened = root.scrollWidth - root.clientWidth;
  const box = (element) => element.getBoundingClientRect();
  out.drawings = [...page.querySelectorAll("svg.drawing")].map((svg) => Math.round(box(svg).width));
  out.cut = [...page.querySelectorAll("svg.drawing .block")].filter((group) => {
    const rects = group.querySelectorAll("rect");
    if (!rects.length) return false;
    const edge = box(rects[rects.length - 1]);
    return [...group.querySelectorAll(":scope > text")].some(
      (text) => box(text).left < edge.left - 1 || box(text).right > edge.right + 1);
  }).length;
  out.hidden = [...page.querySelectorAll("table.data td")].filter(
    (cell) => cell.textContent && box(cell).right > root.clientWidth).length;
  const ids = [...page.querySelectorAll("[id]")].map((element) => element.id);
  out.ids = ids.length - new Set(ids).size;
  document.getElementById("out").textContent = JSON.stringify(out);
});
</script>"""


@contextmanager
def serving(page: str) -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            harness = re.fullmatch(r"/harness(\d+)", self.path)
            content = HARNESS % int(harness[1]) if harness else page
            self.send_response(200 if harness or self.path == "/page" else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, *_: Any) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_port}", asked
        finally:
            running.shutdown()
            thread.join()


def measure(page: str, width: int, profile: Path) -> dict[str, Any]:
    with serving(page) as (address, asked):
        seen = visit(f"{address}/harness{width}", profile)
    assert seen.console == []
    assert sorted(asked) == [f"/harness{width}", "/page"]
    (text,) = re.findall(r'<pre id="out">(.*?)</pre>', seen.dom)
    found: dict[str, Any] = json.loads(entities.unescape(text))
    return found


@pytest.mark.parametrize("width", [1280, 500])
@pytest.mark.parametrize("name", NAMES)
def test_pages_with_pictures_fit_wide_and_narrow_screens(
    name: str, width: int, tmp_path: Path
) -> None:
    out = measure(render_html(shown(name)), width, tmp_path)
    assert (out["wide"], out["opened"]) == (0, 0), "the page scrolls sideways"
    assert out["closed"] == 0
    assert len(out["drawings"]) >= 2
    assert min(out["drawings"]) >= 430, "too small to read"
    assert out["cut"] == 0, "words stand outside their box"
    assert out["ids"] == 0
    assert width > 500 or out["hidden"] == 0, "a column is out of sight"


def test_the_metrics_table_keeps_its_columns_on_a_narrow_screen(tmp_path: Path) -> None:
    out = measure(render_html(sample()), 500, tmp_path)
    assert (out["wide"], out["hidden"]) == (0, 0)


@pytest.mark.parametrize("name", ["kunlun-32k", "tpu-v4-4096"])
def test_a_file_opens_by_itself(name: str, tmp_path: Path) -> None:
    path = tmp_path / "picture.svg"
    path.write_bytes(run_export_svg(name)[1])
    seen = visit(path.as_uri(), tmp_path / "profile")
    assert seen.console == []
    assert [url for url in seen.asked if not url.startswith("file:")] == []
    assert "<svg" in seen.dom
