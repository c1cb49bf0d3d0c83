"""Finding and reading a testbed file: by path, by built-in name, or from standard input."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ctestbed.core.data import data_directory
from ctestbed.core.errors import InputError, Where
from ctestbed.core.files import is_file, read_input
from ctestbed.core.names import did_you_mean
from ctestbed.core.result import InputFile
from ctestbed.core.spec import validate_model
from ctestbed.core.yamlfile import YAMLDocument, load_yaml
from ctestbed.topology.testbed import Testbed

SUFFIXES: Final = (".yaml", ".yml", ".json")
MAX_SHOWN: Final = 80
STDIN: Final = "<stdin>"
"""What findings call standard input."""


@dataclass(frozen=True, slots=True)
class LoadedTestbed:
    """A testbed, its document (for the places of findings) and its input file (for the digest)."""

    testbed: Testbed
    document: YAMLDocument
    source: InputFile


def builtin_testbeds() -> dict[str, Path]:
    """Return the built-in testbeds by name, in order of name."""
    directory = data_directory("topologies")
    return {path.stem: path for path in sorted(directory.glob("*.yaml"))}


def testbed_path(name: str) -> Path | None:
    """Return the file `name` stands for, or None for standard input (`-`).

    A name with a slash or a file suffix is a path. A bare name is a built-in testbed where one
    is so called, whatever lies in the current directory (write `./NAME` for a file), and else a
    file.

    Raises:
        InputError: neither a built-in testbed nor a file has this name.
    """
    if name == "-":
        return None
    if "/" in name or name.endswith(SUFFIXES):
        return Path(name)
    known = builtin_testbeds()
    if name in known:
        return known[name]
    if is_file(Path(name)):
        return Path(name)
    raise InputError(
        "CTB-T005",
        f"no testbed is called {name[:MAX_SHOWN]!r}",
        where=Where(file=name[:MAX_SHOWN]),
        hint=did_you_mean(name[:MAX_SHOWN], known),
    )


testbed_path.__test__ = False  # type: ignore[attr-defined]


def load_testbed(name: str) -> LoadedTestbed:
    """Read and check the testbed file that `name` stands for.

    Raises:
        InputError: no such testbed, not YAML, or (as SpecError, with all findings) wrong fields.
    """
    path = testbed_path(name)
    content = read_input("-" if path is None else str(path), what="testbed file")
    builtin = path is not None and path == builtin_testbeds().get(name)
    # A built-in file is named by where it lies in the repository, not by this machine's path.
    shown = f"topologies/{name}.yaml" if builtin else STDIN if path is None else name
    return parse_testbed(content, shown)


def parse_testbed(content: bytes, name: str) -> LoadedTestbed:
    """Read a testbed from bytes; `name` is what findings call the file."""
    document = load_yaml(content, name)
    return LoadedTestbed(validate_model(Testbed, document), document, InputFile.of(name, content))
