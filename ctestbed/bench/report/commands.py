"""`report build` and `report convert`: reports on disk made into pages and other formats."""

from dataclasses import dataclass
from typing import Literal

from typing_extensions import TypedDict

from ctestbed.bench.report.reading import read_envelope
from ctestbed.bench.report.render import render
from ctestbed.core.envelope import Envelope
from ctestbed.core.errors import InputError, Where
from ctestbed.core.files import read_input
from ctestbed.core.result import InputFile, Result


class ReportEntry(TypedDict):
    """A report that was read: its file, and what it says in a line."""

    name: str
    schema: str
    command: list[str]
    status: Literal["pass", "fail", "error"]
    exit_code: int
    complete: bool
    errors: int
    warnings: int
    metrics: int


class BuildData(TypedDict):
    """The data of `ctestbed.report.build/1`."""

    reports: list[ReportEntry]


class ConvertData(TypedDict):
    """The data of `ctestbed.report.convert/1`."""

    report: ReportEntry
    to: str


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """Reports to put on one page, in this order; `-` is standard input."""

    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConvertRequest:
    """A report to write in another of `render.FORMATS`; `-` is standard input."""

    source: str
    to: str


def run_build(request: BuildRequest) -> tuple[Result, bytes]:
    """Return one HTML page of several reports.

    Raises:
        InputError: a source cannot be read or is no report, or standard input is named twice.
    """
    from ctestbed.bench.report.html import render_page

    if request.sources.count("-") > 1:
        raise InputError(
            "CTB-B106",
            "standard input is named twice, and can be read once",
            where=Where("-"),
            hint="save the other report to a file",
        )
    read = [_read(name) for name in request.sources]
    reports = [_describe(source.name, envelope) for envelope, source in read]
    data: BuildData = {"reports": reports}
    inputs = tuple(source for _, source in read)
    page = render_page([envelope for envelope, _ in read])
    return Result("ctestbed.report.build/1", dict(data), inputs=inputs), page.encode()


def run_convert(request: ConvertRequest) -> tuple[Result, bytes]:
    """Return a report in another format.

    Raises:
        InputError: the source cannot be read or is no report.
    """
    envelope, source = _read(request.source)
    data: ConvertData = {"report": _describe(source.name, envelope), "to": request.to}
    text = render(envelope, request.to)
    return Result("ctestbed.report.convert/1", dict(data), inputs=(source,)), text.encode()


def _read(name: str) -> tuple[Envelope, InputFile]:
    content = read_input(name, what="report")
    return read_envelope(content, name), InputFile.of(name, content)


def _describe(name: str, envelope: Envelope) -> ReportEntry:
    severities = [finding["severity"] for finding in envelope["findings"]]
    return ReportEntry(
        name=name,
        schema=envelope["schema"],
        command=envelope["request"]["command"],
        status=envelope["status"],
        exit_code=envelope["exit_code"],
        complete=envelope["complete"],
        errors=severities.count("error"),
        warnings=severities.count("warning"),
        metrics=len(envelope["metrics"]),
    )
