"""Writing a testbed file: plain YAML or JSON that reads back as the same testbed."""

import json
from collections.abc import Mapping
from io import StringIO
from typing import Any, Literal, TypeAlias

FileForm: TypeAlias = Literal["yaml", "json"]


def dump_testbed(document: Mapping[str, Any], form: FileForm) -> bytes:
    """Return a testbed document (plain values, quantities as text) as a file's bytes."""
    if form == "json":
        return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode(
            errors="backslashreplace"
        )
    from ruamel.yaml import YAML

    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    writer.allow_unicode = True
    writer.width = 100
    # The same object in two places is written twice: our own reader refuses aliases.
    writer.representer.ignore_aliases = lambda *_: True
    stream = StringIO()
    writer.dump(dict(document), stream)
    return stream.getvalue().encode()
