"""The page in a real browser: it asks for nothing, complains of nothing, and its script works."""

import html as entities
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ctestbed.bench.report import html
from ctestbed.bench.report.blocks import Block, table
from ctestbed.bench.report.html import render_page
from ctestbed.bench.report.views import view_of
from tests.bench.report_samples import HOSTILE, blocks_of, passing, sample, spoil

pytestmark = pytest.mark.browser

HARNESS = """<!DOCTYPE html><title>harness</title>
<iframe src="/" width="1200" height="900"></iframe>
<pre id="out"></pre><script>
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {
  const page = frame.contentDocument, view = frame.contentWindow, out = {};
  const tables = [...page.querySelectorAll("table.data")];
  const target = tables.find((item) => item.tHead.textContent.includes("size"));
  const column = (index) => [...target.tBodies[0].rows].map((row) => row.cells[index].textContent);
  const button = target.tHead.querySelectorAll("button")[1];
  button.click(); out.up = column(1);
  button.click(); out.down = column(1);
  out.aria = target.tHead.rows[0].cells[1].getAttribute("aria-sort");
  const search = target.closest("section").querySelector("input[type=search]");
  search.value = "ROW-7"; search.dispatchEvent(new view.Event("input"));
  const shown = [...target.tBodies[0].rows].filter((row) => !row.hidden);
  out.shown = shown.map((row) => row.cells[0].textContent);
  const mark = page.querySelector(".mark"), tip = page.querySelector(".tip");
  out.before = tip.hidden;
  mark.dispatchEvent(new view.PointerEvent("pointermove", { clientX: 40, clientY: 40 }));
  out.tip = tip.hidden ? null : tip.textContent;
  mark.dispatchEvent(new view.PointerEvent("pointerleave"));
  out.after = tip.hidden;
  out.reports = JSON.parse(page.getElementById("envelopes").textContent).length;
  out.wide = page.documentElement.scrollWidth > page.documentElement.clientWidth;
  document.getElementById("out").textContent = JSON.stringify(out);
});
</script>"""


@dataclass
class Visit:
    """What a browser made of a page: its DOM, its console, and what it asked a server for."""

    dom: str
    console: list[str]
    asked: list[str] = field(default_factory=list)


def browser() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    pytest.skip("no Chromium here (Debian: apt-get install chromium)")


def visit(address: str, profile: Path) -> Visit:
    log = profile / "net.json"
    done = subprocess.run(
        [
            browser(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-extensions", "--disable-dev-shm-usage", f"--user-data-dir={profile}",
            # Nothing but the test's own server can be reached, whatever the browser itself wants.
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
            "--enable-logging=stderr", f"--log-net-log={log}", "--virtual-time-budget=3000",
            "--dump-dom", address,
        ],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return Visit(done.stdout, console, requests_of_pages(log.read_text()))


def requests_of_pages(log: str) -> list[str]:
    """Return what pages asked for; the browser's own errands have no page's origin."""
    try:
        recorded: dict[str, Any] = json.loads(log)
    except json.JSONDecodeError:  # cut off at the browser's end
        recorded = json.loads(log.rstrip().rstrip(",") + "]}")
    parameters = [event.get("params", {}) for event in recorded["events"]]
    return [
        item["url"]
        for item in parameters
        if "url" in item
        and str(item.get("initiator", "")).startswith(("http://127", "file", "null"))
    ]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a page of three reports with charts, hostile text and a long table."""
    sizes = ["75 MB", "900 kB", "1 GB", "12 B"] + [f"{n} MB" for n in range(1, 11)]
    rows = [[f"row-{index}", size] for index, size in enumerate(sizes)]
    blocks: list[Block] = [*blocks_of(HOSTILE[1]), table("Long", "name | size>", rows)]
    monkeypatch.setattr(html, "view_of", lambda e: view_of(e) if e["findings"] else blocks)
    return render_page([passing(), sample(), spoil(HOSTILE[0])])


@pytest.fixture
def server(page: str) -> Iterator[tuple[str, list[str]]]:
    """Serve the page at `/` and the harness at `/harness`; note every path asked for."""
    asked: list[str] = []
    contents = {"/": page, "/harness": HARNESS}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            found = contents.get(self.path)
            self.send_response(200 if found is not None else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write((found or "").encode())

        def log_message(self, *_: Any) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}", asked
        running.shutdown()
        thread.join()


def test_from_disk_the_page_is_quiet_and_whole(page: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    seen = visit(path.as_uri(), tmp_path / "profile")
    assert seen.console == []
    assert [url for url in seen.asked if not url.startswith(("file:", "data:"))] == []
    assert len(re.findall("<article", seen.dom)) == 3
    assert len(re.findall("<svg", seen.dom)) == 3
    assert '<th scope="col"><button>' in seen.dom, "the script ran"
    assert "Save data (JSON)" in seen.dom
    assert "<img" not in seen.dom


def test_served_the_page_asks_for_itself_alone(
    server: tuple[str, list[str]], tmp_path: Path
) -> None:
    address, asked = server
    seen = visit(f"{address}/", tmp_path / "profile")
    assert seen.console == []
    assert asked == ["/"]
    assert [url for url in seen.asked if url.rstrip("/") != address and url[:5] != "data:"] == []


def test_rows_sort_and_filter_and_marks_tell_their_figures(
    server: tuple[str, list[str]], tmp_path: Path
) -> None:
    seen = visit(f"{server[0]}/harness", tmp_path / "profile")
    (text,) = re.findall(r'<pre id="out">(.*?)</pre>', seen.dom)
    out = json.loads(entities.unescape(text))
    assert out["up"][:3] == ["12 B", "900 kB", "1 MB"]
    assert out["up"][-2:] == ["75 MB", "1 GB"]
    assert out["down"] == out["up"][::-1]
    assert out["aria"] == "descending"
    assert out["shown"] == ["row-7"]
    assert (out["before"], out["after"]) == (True, True)
    assert out["tip"].endswith(f"3 {HOSTILE[1]}")
    assert out["reports"] == 3
    assert out["wide"] is False, "the page scrolls sideways"


def test_a_page_that_were_tampered_with_would_be_noticed(page: str, tmp_path: Path) -> None:
    """Hold the test itself to account: an injected script and image must show on the console."""
    path = tmp_path / "report.html"
    injected = '<script>document.title = "owned"</script><img src="http://evil.example/x.png">'
    path.write_text(page.replace("<footer>", f"{injected}<footer>"), encoding="utf-8")
    seen = visit(path.as_uri(), tmp_path / "profile")
    assert len(seen.console) == 2
    assert "<title>owned" not in seen.dom
