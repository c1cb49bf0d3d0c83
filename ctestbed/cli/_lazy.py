"""Groups that import a noun's module only when that noun is used.

Help and completion rows come from the map in `_nouns`, so `--help` loads no domain code. The one
file that leans on Typer's own classes.
"""

from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperGroup

from ctestbed.cli._nouns import NOUNS
from ctestbed.cli._streams import guarded_stdout


class LazyGroup(TyperGroup):
    """A group whose commands are imported on first use."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Parse, with help and version written under guard."""
        with guarded_stdout():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the noun; what no command explains about stdout is said here."""
        with guarded_stdout():
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the nouns in the order people meet them."""
        del ctx
        return list(NOUNS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import the noun's module, and hand out its command."""
        del ctx
        if cmd_name not in NOUNS:
            return None
        module = import_module(NOUNS[cmd_name][0])
        command = typer.main.get_command(module.app)
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Let Typer report an unknown noun with its nearest neighbour, without importing any."""
        self.commands = cast("Any", dict.fromkeys(NOUNS))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the nouns' help from the map."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in NOUNS.items()])

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete nouns from the map, and options as Typer does."""
        from typer._click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=text)
            for name, (_, text) in NOUNS.items()
            if name.startswith(incomplete)
        ]
