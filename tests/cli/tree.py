"""The command tree, walked: every command, its help, its example."""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module

import typer

from ctestbed.cli._nouns import NOUNS
from tests.cli.shell import ctestbed


@cache
def commands() -> tuple[tuple[str, ...], ...]:
    """Return the words of every command."""
    return tuple(_walk())


def _walk() -> Iterator[tuple[str, ...]]:
    for noun, (module, _) in NOUNS.items():
        group = typer.main.get_command(import_module(module).app)
        verbs = getattr(group, "commands", None)
        if verbs is None:
            yield (noun,)
        else:
            yield from ((noun, verb) for verb in verbs)


def example(words: tuple[str, ...]) -> str:
    """Return the command line that a command's help ends with."""
    text = " ".join(ctestbed(*words, "--help").stdout.split())
    found = re.search(r"Example: (.*)$", text)
    assert found, f"no example in the help of {words}"
    return found.group(1)
