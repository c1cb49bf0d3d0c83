"""Turn `run(request) -> Result` into a command: options, timing, envelope, output, exit code.

A command function parses its own parameters and returns a `Reply`. The decorator adds the output
options that every command shares, so a verb means the same under every noun.
"""

import inspect
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

import typer

from ctestbed.cli._output import Output, output_parameters, resolve_output, split_export
from ctestbed.cli._streams import end_stdout, is_stream_error, say
from ctestbed.core.errors import CtestbedError, EnvironmentLacksError
from ctestbed.core.result import Finding, Result

_NOT_IN_REQUEST: Final = frozenset({"state_dir", "seed", "workers"})


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command hands back.

    `artefact` is the thing it made (of commands that make one); `companions` are files that go
    with it, by the suffix added to its name, such as `.certs`.
    """

    result: Result
    artefact: bytes | None = None
    companions: Mapping[str, bytes] = field(default_factory=dict)


def noun_app(name: str, *, help: str) -> typer.Typer:  # noqa: A002 - Typer's own word
    """Return the Typer of a noun, in the house manner."""
    app = typer.Typer(
        name=name,
        help=help,
        rich_markup_mode=None,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    # A callback keeps `noun verb` two words even where a noun has one verb only.
    app.callback()(lambda: None)
    return app


def single_verb(app: typer.Typer) -> None:
    """Make a noun that is its own verb, such as `doctor`, answer without a second word."""
    app.registered_callback = None


def command(
    app: typer.Typer, name: str, *, example: str, artefact: bool = False
) -> Callable[[Callable[..., Reply]], Callable[..., Reply]]:
    """Register a command function under `app`, with the shared output options added."""

    def decorate(function: Callable[..., Reply]) -> Callable[..., Reply]:
        signature = inspect.signature(function, eval_str=True)
        own = list(signature.parameters.values())
        shared = output_parameters(artefact=artefact)

        def run(**arguments: Any) -> None:
            given = {p.name.removeprefix("out_"): arguments.pop(p.name) for p in shared}
            prefix = app.info.name or ""
            words = [prefix] if prefix == name else [prefix, name]
            try:
                output = resolve_output(given)
            except CtestbedError as error:
                as_json = given.get("format") == "json"
                _fail(error, words, as_json=as_json, canonical=given["canonical"])
            _execute(function, arguments, words, output, artefact=artefact)

        run.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*own, *shared], return_annotation=None
        )
        run.__annotations__ = {p.name: p.annotation for p in [*own, *shared]}
        run.__doc__ = function.__doc__
        app.command(name, epilog=f"Example: {example}")(run)
        return function

    return decorate


def _execute(
    function: Callable[..., Reply],
    arguments: dict[str, Any],
    words: list[str],
    output: Output,
    *,
    artefact: bool,
) -> None:
    """Run, deliver, and end the process with the result's code."""
    started, clock = time.time(), time.perf_counter()
    try:
        reply = function(**_with_settings(arguments))
        elapsed = time.perf_counter() - clock
        _deliver(reply, arguments, words, output, started, elapsed, artefact=artefact)
        sys.stdout.flush()
    except CtestbedError as error:
        as_json = output.format == "json" and not artefact
        _fail(error, words, as_json=as_json, canonical=output.canonical)
    except (typer.Exit, typer.BadParameter, typer.Abort, KeyboardInterrupt):
        raise
    except Exception as error:  # noqa: BLE001 - the last line of defence: no traceback for users
        # Files explain themselves, so an OSError of this kind is of stdout.
        if isinstance(error, OSError) and is_stream_error(error):
            raise typer.Exit(int(end_stdout(error))) from None
        as_json = output.format == "json" and not artefact
        _fail(_explain(error, output), words, as_json=as_json, canonical=output.canonical)
    raise typer.Exit(int(reply.result.exit_code))


def _with_settings(arguments: dict[str, Any]) -> dict[str, Any]:
    if arguments.get("state_dir", "") is None:
        from ctestbed.cli._settings import load_settings

        return {**arguments, "state_dir": load_settings()[0].state_dir}
    return arguments


def _deliver(
    reply: Reply,
    arguments: Mapping[str, Any],
    words: list[str],
    output: Output,
    started: float,
    elapsed: float,
    *,
    artefact: bool,
) -> None:
    from ctestbed.core.envelope import build_envelope

    options = {
        name: _plain(value)
        for name, value in arguments.items()
        if name not in _NOT_IN_REQUEST and value is not None
    }
    envelope = build_envelope(
        reply.result,
        command=words,
        options=options,
        seed=arguments.get("seed"),
        run=_describe_run(started, elapsed),
        canonical=output.canonical,
    )
    named = output.output not in {None, "-"}
    files = _artefact_files(reply, output) if artefact and named else []
    reports = [(output.format, str(output.output))] if named and not artefact else []
    files += [
        (Path(path), _render(envelope, name, output).encode())
        for name, path in [*reports, *map(split_export, output.export)]
    ]
    if artefact:
        _say_notes(reply, output)
    _write_files(files, output, artefact=artefact)
    if not named:
        _print_artefact(reply) if artefact else _print_report(envelope, output)


def _describe_run(started: float, elapsed: float) -> dict[str, Any]:
    import platform
    import shlex

    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started))
    host = {
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "cpus": os.cpu_count() or 1,
    }
    return {
        "start": moment,
        "elapsed_s": round(elapsed, 6),
        "host": host,
        "command_line": shlex.join(["ctestbed", *sys.argv[1:]]),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def _print_report(envelope: dict[str, Any], output: Output) -> None:
    if output.format == "table":
        from ctestbed.cli._terminal import show

        show(envelope, color=output.color)
        return
    sys.stdout.write(_render(envelope, output.format, output))


def _render(envelope: dict[str, Any], name: str, output: Output) -> str:
    from ctestbed.bench.report.render import render

    return render(envelope, name, canonical=output.canonical)


def _artefact_files(reply: Reply, output: Output) -> list[tuple[Path, bytes]]:
    if reply.artefact is None:
        return []
    path = Path(str(output.output))
    companions = reply.companions.items()
    beside = [(path.with_name(path.name + suffix), content) for suffix, content in companions]
    return [(path, reply.artefact), *beside]


def _say_notes(reply: Reply, output: Output) -> None:
    for finding in reply.result.findings:
        if not output.quiet or finding.severity != "note":
            _say_finding(finding)


def _write_files(files: list[tuple[Path, bytes]], output: Output, *, artefact: bool) -> None:
    """Write all files or none of the new ones, before anything goes to stdout."""
    from ctestbed.core.files import write_together

    write_together(files, force=output.force)
    if artefact and files and not output.quiet:
        say(f"wrote {', '.join(str(name) for name, _ in files)}")


def _print_artefact(reply: Reply) -> None:
    if reply.artefact is None:
        return
    artefact = reply.artefact
    if sys.stdout.isatty() and b"\0" in artefact:
        raise typer.BadParameter("this is binary; name a file with -o FILE, or pipe it")
    sys.stdout.flush()
    sys.stdout.buffer.write(artefact)
    if reply.companions:
        names = ", ".join(reply.companions)
        say(f"note: the files {names} are written only with -o FILE")


def _fail(error: CtestbedError, words: list[str], *, as_json: bool, canonical: bool) -> NoReturn:
    """Say what is wrong on stderr, and in the asked-for format too where a script reads it."""
    findings = getattr(error, "findings", None) or (Finding.of_error(error),)
    for finding in findings:
        _say_finding(finding)
    if as_json:
        from ctestbed.bench.report.render import escape_json
        from ctestbed.core.envelope import dump_envelope, error_envelope

        envelope = error_envelope(
            findings, int(error.exit_code), error.exit_code.status, command=words
        )
        sys.stdout.write(escape_json(dump_envelope(envelope, canonical=canonical)))
        sys.stdout.flush()
    raise typer.Exit(int(error.exit_code))


def _say_finding(finding: Finding) -> None:
    from ctestbed.bench.report.render import make_visible
    from ctestbed.bench.report.text import render_finding

    say(render_finding(make_visible(finding.to_dict())))


def _explain(error: Exception, output: Output) -> CtestbedError:
    """Turn what nothing else caught into a refusal: out of memory, a missing library, or a bug."""
    if isinstance(error, MemoryError):
        return EnvironmentLacksError(
            "CTB-U010",
            "there is not enough memory for this request",
            hint="ask for fewer or smaller things",
        )
    if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("ctestbed"):
        return EnvironmentLacksError(
            "CTB-U011",
            f"the library {error.name!r} is not installed",
            hint="`ctestbed doctor` says what is missing; `make setup` installs it",
        )
    return CtestbedError(
        "CTB-U012",
        f"internal error: {type(error).__name__}: {error}",
        hint=_keep_traceback(error, output),
    )


def _keep_traceback(error: Exception, output: Output) -> str:
    """Keep the traceback for whoever mends it, out of the user's way; return where it is."""
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(error))
    if output.verbose > 1:
        say(text)
    try:
        with tempfile.NamedTemporaryFile(
            "w",
            prefix="ctestbed-crash-",
            suffix=".txt",
            delete=False,
            encoding="utf-8",
            errors="backslashreplace",
        ) as crash:
            crash.write(text)
    except OSError:
        return "run it again with -vv for the details"
    return f"this is a bug; the details are in {crash.name}"
