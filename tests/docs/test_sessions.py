"""Every command that the README and the docs show runs, and prints what they show."""

from pathlib import Path

import pytest

from tests.docs.sessions import ROOT, agrees, read_page, run_page
from tests.shared import shared_data

_CSV = "evidence/csv/"
_GIVEN = {
    "report.bin": _CSV + "csv1_report_raw.bin",
    "hsk_cek.cert": _CSV + "csv1_hsk_cek.cert",
    "hrk.cert": "evidence/roots/hygon_hrk.cert",
}
"""The files of a real machine that the how-to pages work on; never part of this repository."""

_WITH_REAL_EVIDENCE = {"how-to/verify-a-csv-report.md", "how-to/pin-a-root.md"}

_PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_SESSIONS = {
    page.relative_to(ROOT).as_posix(): page
    for page in _PAGES
    if "_build" not in page.parts and read_page(page).steps
}


@pytest.mark.slow
@pytest.mark.parametrize("name", _SESSIONS)
def test_a_page_shows_what_its_commands_print(name: str, tmp_path: Path) -> None:
    real = name.removeprefix("docs/") in _WITH_REAL_EVIDENCE
    given = {file: shared_data(path) for file, path in _GIVEN.items()} if real else {}
    directory = tmp_path / "work"
    directory.mkdir()
    page = read_page(_SESSIONS[name])
    outputs = run_page(page, directory, given)
    for step, actual in zip(page.steps, outputs, strict=True):
        assert agrees(step.shown, actual), f"$ {step.command}\n{actual}"


def test_the_readme_shows_a_session() -> None:
    assert "README.md" in _SESSIONS


def test_an_ellipsis_hides_text_and_nothing_else_does() -> None:
    assert agrees("a\n...\nz", "a\nb\nc\nz\n")
    assert agrees("rate ... MB/s", "rate 81.8 MB/s")
    assert not agrees("a\nz", "a\nb\nz")
    assert not agrees("a", "a\nb")
    assert not agrees("164 us", "165 us")


def test_timed_figures_may_differ_and_others_may_not() -> None:
    shown = "  x.throughput   70.4 MB/s (CPU)  measured  here"
    assert agrees(shown, "  x.throughput  1,019.1 MB/s (CPU)  measured  here")
    assert not agrees(shown, "  x.throughput  70.4 MB/s (CPU)  simulated  here")
    assert not agrees("  fct.max  164 us  simulated  here", "  fct.max  165 us  simulated  here")
