"""The output options that every command shares, and what they come to."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ctestbed.core.errors import InputError, Where
from ctestbed.core.names import did_you_mean

if TYPE_CHECKING:
    from ctestbed.cli._settings import Settings

_FORMATS: Final = ("table", "json", "jsonl", "csv", "md", "junit", "sarif", "html", "svg")
_COLORS: Final = ("auto", "always", "never")


@dataclass(frozen=True, slots=True)
class Output:
    """The shared options, resolved."""

    format: str
    export: tuple[str, ...]
    output: str | None
    force: bool
    canonical: bool
    color: str
    quiet: int
    verbose: int


_EXPORT = Annotated[
    list[str] | None,
    typer.Option("--export", metavar="FMT=FILE", help="Also write the report as FMT."),
]
_FILE = Annotated[
    str | None, typer.Option("-o", "--output", metavar="FILE", help="Write here, not to stdout.")
]
_FORCE = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
_CANONICAL = Annotated[
    bool, typer.Option("--canonical", help="JSON without times: same inputs, same bytes.")
]
_COLOR = Annotated[
    str | None, typer.Option("--color", metavar="WHEN", help="auto, always or never.")
]
_QUIET = Annotated[
    int,
    typer.Option("-q", "--quiet", count=True, show_default=False, help="Say less on stderr."),
]
_VERBOSE = Annotated[
    int,
    typer.Option("-v", "--verbose", count=True, show_default=False, help="Say more on stderr."),
]
_FORMAT = Annotated[
    str | None, typer.Option("--format", metavar="FMT", help=f"{', '.join(_FORMATS)}.")
]


def output_parameters(*, artefact: bool) -> list[inspect.Parameter]:
    """Return the shared options; a command that makes a thing prints the thing, not a report."""
    options: dict[str, tuple[Any, Any]] = {} if artefact else {"out_format": (_FORMAT, None)}
    options |= {
        "out_export": (_EXPORT, None),
        "out_output": (_FILE, None),
        "out_force": (_FORCE, False),
        "out_canonical": (_CANONICAL, False),
        "out_color": (_COLOR, None),
        "out_quiet": (_QUIET, 0),
        "out_verbose": (_VERBOSE, 0),
    }
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(name, keyword, default=default, annotation=annotation)
        for name, (annotation, default) in options.items()
    ]


def resolve_output(given: dict[str, Any]) -> Output:
    """Resolve the options against the settings.

    Raises:
        CtestbedError: the settings cannot be read, or a file is taken.
        BadParameter: a value that an option does not have.
    """
    from ctestbed.cli._settings import load_settings

    settings, origins = load_settings()
    _check_settings(settings, origins)
    chosen = given.get("format") or settings.format or "table"
    if given["canonical"] and not given.get("format"):
        chosen = "json"
    output = Output(
        format=_check_format(chosen, "--format"),
        export=tuple(given["export"] or ()),
        output=given["output"],
        force=given["force"],
        canonical=given["canonical"],
        color=given["color"] or settings.color or "auto",
        quiet=given["quiet"],
        verbose=given["verbose"],
    )
    _check_color(output.color)
    _refuse_taken(output)
    return output


def _check_settings(settings: "Settings", origins: Mapping[str, str]) -> None:
    """Refuse a setting that no option could have, and name where it was set."""
    for name, value, known in (
        ("format", settings.format, _FORMATS),
        ("color", settings.color, _COLORS),
    ):
        if value is not None and value not in known:
            raise InputError(
                "CTB-U003",
                f"setting `{name}` is {value!r}, which is not one of {', '.join(known)}",
                where=Where(file=origins[name], pointer=name),
                hint=did_you_mean(value, known),
            )


def _check_format(name: str, option: str) -> str:
    if name not in _FORMATS:
        message = f"{name!r} is not one of {', '.join(_FORMATS)}"
        raise typer.BadParameter(message, param_hint=option)
    return name


def _check_color(choice: str) -> None:
    if choice not in _COLORS:
        message = f"{choice!r} is not one of {', '.join(_COLORS)}"
        raise typer.BadParameter(message, param_hint="--color")


def _refuse_taken(output: Output) -> None:
    """Refuse files that exist before the work is done, not after."""
    from ctestbed.core.files import is_file, refuse_existing, refuse_twice

    exports = [split_export(item)[1] for item in output.export]
    named = [Path(str(name)) for name in [output.output, *exports] if name not in {None, "-"}]
    refuse_twice(named)
    for path in filter(is_file, named):
        refuse_existing(path, force=output.force)


def split_export(item: str) -> tuple[str, str]:
    """Split FMT=FILE, refusing another form."""
    name, equals, path = item.partition("=")
    if not equals or not path:
        message = f"{item!r} is not FMT=FILE, such as json=report.json"
        raise typer.BadParameter(message, param_hint="--export")
    if path == "-":
        message = f"{item!r} names no file; --format and -o say what goes to standard output"
        raise typer.BadParameter(message, param_hint="--export")
    return _check_format(name, "--export"), path
