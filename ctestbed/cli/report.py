"""`ctestbed report build|convert`."""

from typing import Annotated

import typer

from ctestbed.cli._command import Reply, command, noun_app

app = noun_app("report", help="Build and convert reports.")


def _complete_format(incomplete: str) -> list[str]:
    from ctestbed.bench.report.render import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]


@command(
    app, "build", artefact=True, example="ctestbed report build run.json verify.json -o report.html"
)
def build(
    reports: Annotated[
        list[str],
        typer.Argument(metavar="REPORT...", help="Reports in JSON, or - for stdin."),
    ],
) -> Reply:
    """Put reports on one self-contained HTML page: charts, tables, findings, how to reproduce."""
    from ctestbed.bench.report.commands import BuildRequest, run_build

    result, page = run_build(BuildRequest(tuple(reports)))
    return Reply(result, artefact=page)


@command(app, "convert", artefact=True, example="ctestbed report convert run.json --to junit")
def convert(
    report: Annotated[str, typer.Argument(metavar="REPORT", help="A JSON report, or - for stdin.")],
    *,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FMT",
            help="table, json, jsonl, csv, md, junit, sarif, html or svg.",
            autocompletion=_complete_format,
        ),
    ],
) -> Reply:
    """Write a report that was saved as JSON in another format."""
    from ctestbed.bench.report.commands import ConvertRequest, run_convert
    from ctestbed.bench.report.render import FORMATS

    if to not in FORMATS:
        raise typer.BadParameter(f"{to!r} is not one of {', '.join(FORMATS)}", param_hint="--to")
    result, content = run_convert(ConvertRequest(report, to))
    return Reply(result, artefact=content)
