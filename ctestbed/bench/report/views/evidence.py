"""Views of `evidence`."""

from typing import Any, Final

from ctestbed.bench.report.blocks import Block, Facts, table
from ctestbed.core.envelope import Envelope

_MASKED: Final = "* masked in the file; the value is shown plain"


def show(envelope: Envelope) -> list[Block]:
    """Each part of the file, field by field."""
    data = envelope["data"]
    pairs = [("format", data["format"]), ("size", f"{data['size']} bytes")]
    if data["padding"]:
        pairs.append(("padding", f"{data['padding']} zero bytes"))
    pairs.append(("checked", "the format only; `ctestbed attest verify` checks keys"))
    return [Facts("Evidence", tuple(pairs)), *map(_part, data["parts"])]


def make(envelope: Envelope) -> list[Block]:
    """What the evidence carries."""
    data = envelope["data"]
    pairs = (
        ("VM", data["name"]),
        ("platform", data["platform"]),
        ("format", data["format"]),
        ("report data", data["report_data"]),
        ("measurement", data["measurement"]),
        ("evidence", f"{data['evidence_bytes']} bytes"),
        ("certificates", f"{data['endorsement_bytes']} bytes"),
    )
    return [Facts("Evidence made", pairs)]


def _part(part: dict[str, Any]) -> Block:
    rows = [
        [
            str(field["offset"]),
            str(field["length"]),
            field["name"] + ("*" if field["masked"] else ""),
            field["value"],
            f"ODD: {field['odd']}" if field["odd"] else field["meaning"],
        ]
        for field in part["fields"]
        if not field["meaning"].startswith("reserved")
    ]
    title = f"{part['title']} (key {part['key_fingerprint'][:16]})"
    masked = any(field["masked"] for field in part["fields"])
    return table(
        title, "offset> | bytes> | field | value | meaning", rows, _MASKED if masked else ""
    )
