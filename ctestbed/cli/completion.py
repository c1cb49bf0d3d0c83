"""`ctestbed completion SHELL`."""

from typing import Annotated

import typer

from ctestbed.cli._command import noun_app, single_verb
from ctestbed.cli._streams import say
from ctestbed.core.errors import ExitCode

app = noun_app("completion", help="Print the completion script of a shell.")

_SHELLS = ("bash", "zsh", "fish")


@app.command("completion", epilog='Example: eval "$(ctestbed completion bash)"')
def completion(
    shell: Annotated[
        str, typer.Argument(help="bash, zsh or fish.", autocompletion=lambda: list(_SHELLS))
    ],
) -> None:
    """Print a script that completes nouns, verbs, options, testbeds and VM names."""
    from typer._completion_shared import get_completion_script

    if shell not in _SHELLS:
        say(f"error[CTB-U006]: no completion for {shell!r}\n  hint: one of {', '.join(_SHELLS)}")
        raise typer.Exit(int(ExitCode.INPUT))
    typer.echo(
        get_completion_script(prog_name="ctestbed", complete_var="_CTESTBED_COMPLETE", shell=shell)
    )


single_verb(app)
