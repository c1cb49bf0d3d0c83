"""What ctestbed says about itself: codes, exit codes and schemas."""

from typing import Any, NotRequired

from typing_extensions import TypedDict

from ctestbed.core.catalogue import load_catalogue
from ctestbed.core.errors import ExitCode, InputError
from ctestbed.core.names import nearest
from ctestbed.core.result import Result


class CodeEntry(TypedDict):
    """One code and what it means."""

    code: str
    title: str
    meaning: NotRequired[str]
    remedy: NotRequired[str]


class ExitEntry(TypedDict):
    """One exit code and what it means."""

    code: int
    meaning: str


class ExplainData(TypedDict):
    """The data of `ctestbed.explain.explain/1`."""

    codes: list[CodeEntry]
    exit_codes: list[ExitEntry]


def run_explain(code: str | None) -> Result:
    """Explain one code, or list all of them.

    Raises:
        InputError: no such code.
    """
    catalogue = load_catalogue()
    exits = [ExitEntry(code=int(item), meaning=item.meaning) for item in ExitCode]
    data: ExplainData
    if code is None:
        codes = [CodeEntry(code=key, title=entry.title) for key, entry in catalogue.items()]
        data = ExplainData(codes=codes, exit_codes=exits)
        return Result("ctestbed.explain.explain/1", dict(data))
    wanted = code.strip().upper()
    if wanted.isdecimal() and wanted in {str(entry["code"]) for entry in exits}:
        chosen = [entry for entry in exits if str(entry["code"]) == wanted]
        return Result("ctestbed.explain.explain/1", {"codes": [], "exit_codes": chosen})
    if wanted not in catalogue:
        # Numbers next to each other have nothing in common; words misspelt do.
        close = None if wanted.startswith("CTB-") else nearest(wanted, catalogue)
        raise InputError(
            "CTB-U004",
            f"there is no code {code!r}",
            hint=f"did you mean `{close}`?" if close else "`ctestbed explain` lists them all",
        )
    entry = catalogue[wanted]
    full = CodeEntry(code=wanted, title=entry.title, meaning=entry.meaning, remedy=entry.remedy)
    return Result("ctestbed.explain.explain/1", {"codes": [full], "exit_codes": []})


class SchemaEntry(TypedDict):
    """One schema's name and what it describes."""

    name: str
    title: str


class SchemaListData(TypedDict):
    """The data of `ctestbed.schema.list/1`."""

    schemas: list[SchemaEntry]


class SchemaShowData(TypedDict):
    """The data of `ctestbed.schema.show/1`."""

    name: str
    schema: dict[str, Any]


def run_schema_list() -> Result:
    """List every schema that `schema show` can print."""
    from ctestbed.bench.schemas import list_schemas

    entries = [SchemaEntry(name=name, title=title) for name, title in list_schemas()]
    return Result("ctestbed.schema.list/1", {"schemas": entries})


def run_schema_show(name: str) -> tuple[Result, dict[str, Any]]:
    """Return the JSON Schema of a file kind or of a command's report.

    Raises:
        InputError: no such schema.
    """
    from ctestbed.bench.schemas import build_schema

    schema = build_schema(name)
    return Result("ctestbed.schema.show/1", {"name": name, "schema": schema}), schema
