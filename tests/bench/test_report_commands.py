"""`report build` and `report convert`, as functions and as commands."""

import io
import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ctestbed.bench.report.commands import (
    BuildRequest,
    ConvertRequest,
    run_build,
    run_convert,
)
from ctestbed.bench.report.render import FORMATS, render
from ctestbed.core.envelope import build_envelope
from ctestbed.core.errors import ExitCode, InputError
from ctestbed.core.result import InputFile
from tests.bench.report_samples import dump, passing, sample


@pytest.fixture
def reports(tmp_path: Path) -> tuple[str, str]:
    """Write two sound reports and return their names."""
    bad, good = tmp_path / "bad.json", tmp_path / "good.json"
    bad.write_bytes(dump(sample()))
    good.write_bytes(dump(passing()))
    return str(bad), str(good)


def cli(*words: str, stdin: bytes | None = None) -> tuple[int, bytes, str]:
    from ctestbed.cli.report import app

    result = CliRunner().invoke(app, list(words), input=stdin)
    return result.exit_code, result.stdout_bytes, result.stderr


def test_build_describes_what_is_on_the_page(reports: tuple[str, str]) -> None:
    result, page = run_build(BuildRequest(reports))
    assert [entry["status"] for entry in result.data["reports"]] == ["fail", "pass"]
    assert result.data["reports"][0]["errors"] == result.data["reports"][0]["warnings"] == 1
    assert result.inputs == tuple(InputFile.of(n, Path(n).read_bytes()) for n in reports)
    assert result.exit_code == ExitCode.OK
    assert page.startswith(b"<!DOCTYPE html>")
    assert page.count(b"<article") == 2


@pytest.mark.parametrize("to", FORMATS)
def test_convert_writes_what_the_command_itself_would(reports: tuple[str, str], to: str) -> None:
    result, content = run_convert(ConvertRequest(reports[0], to))
    assert content.decode() == render(sample(), to)
    assert result.data["to"] == to


def test_their_own_reports_can_be_shown(reports: tuple[str, str]) -> None:
    built, converted = (
        run_build(BuildRequest(reports))[0],
        run_convert(ConvertRequest(reports[0], "md"))[0],
    )
    for result, words in ((built, "2 reports"), (converted, "md")):
        envelope = build_envelope(result, command=["report", words], options={})
        assert reports[0] in render(envelope, "table")


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(dump(passing()))))
    result, _ = run_build(BuildRequest(("-",)))
    assert result.data["reports"][0]["name"] == "-"
    with pytest.raises(InputError) as caught:
        run_build(BuildRequest(("-", "-")))
    assert caught.value.code == "CTB-B106"


def test_build_on_the_command_line(reports: tuple[str, str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    code, out, err = cli("build", *reports, "-o", str(page))
    assert (code, out) == (0, b"")
    assert str(page) in err
    assert page.read_bytes() == run_build(BuildRequest(reports))[1]
    code, _, err = cli("build", *reports, "-o", str(page))
    assert code == ExitCode.INPUT
    assert "exists already" in err
    assert cli("build", *reports, "-o", str(page), "--force")[0] == 0


def test_convert_reads_standard_input() -> None:
    code, out, _ = cli("convert", "-", "--to", "jsonl", stdin=dump(sample()))
    assert code == 0
    assert json.loads(out.splitlines()[-1])["type"] == "verdict"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "CTB-B101"),
        (b"\0\1\2\xff", "CTB-B101"),
        (b"[" * 100_000, "CTB-B101"),
        (b"{}", "CTB-B102"),
        (dump(sample(schema="a")), "CTB-B103"),
        (dump(sample(exit_code=99)), "CTB-B104"),
        (dump(sample(data={"checks": 1})), "CTB-B105"),
    ],
)
@pytest.mark.parametrize("words", [("build",), ("convert", "--to", "md")])
def test_bad_input_is_one_clear_error(words: tuple[str, ...], content: bytes, code: str) -> None:
    status, out, err = cli(*words, "-", stdin=content)
    assert status == ExitCode.INPUT
    assert out == b""
    assert f"error[{code}]: " in err
    assert "hint: " in err or "at -" in err


def test_a_missing_file_and_an_unknown_format_are_refused(tmp_path: Path) -> None:
    assert cli("build", str(tmp_path / "none.json"))[0] == ExitCode.INPUT
    assert cli("build", str(tmp_path))[0] == ExitCode.INPUT
    status, _, err = cli("convert", "x.json", "--to", "pdf")
    assert status == ExitCode.USAGE
    assert "pdf" in err
    assert cli("build")[0] == ExitCode.USAGE


def test_a_huge_file_is_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as stream:
        stream.truncate(2**30)
    status, _, err = cli("convert", str(path), "--to", "md")
    assert status == ExitCode.INPUT
    assert "larger than" in err
