"""Views of `attest`."""

from typing import Any, Final

from ctestbed.bench.report.blocks import Block, Facts, table
from ctestbed.core.envelope import Envelope

_NOTE: Final = "only a bound claim is held to its value by what was verified"


def verify(envelope: Envelope) -> list[Block]:
    """The verdict and its root, the checks in their order, and the claims."""
    data = envelope["data"]
    root = data["root"]
    pairs = [("verdict", str(data["verdict"]).upper())]
    if root:
        trust = data["root_class"] or _pinning(data["checks"])
        pairs += [
            ("root", f"{root['name']} ({trust})"),
            ("root key", root["fingerprint"]),
        ]
    if data["format"]:
        padding = f", and {data['padding']} zero bytes" if data["padding"] else ""
        pairs.append(("evidence", f"{data['format']}{padding}"))
    if data["trust_vector"]:
        vector = ", ".join(f"{name} {tier}" for name, tier in data["trust_vector"].items() if tier)
        pairs.append(("trust vector", vector))
    blocks: list[Block] = [Facts("Attestation", tuple(pairs)), _checks(data["checks"])]
    if data["claims"]:
        rows = [
            [
                name,
                _claim_text(claim["value"]),
                f"by {claim['held_by']}" if claim["bound"] else "no",
            ]
            for name, claim in data["claims"].items()
        ]
        blocks.append(table("Claims", "claim | value | bound", rows, _NOTE))
    return blocks


def _pinning(checks: list[dict[str, Any]]) -> str:
    """Say of a root without a verdict whether it was pinned, or never asked about."""
    status = next((check["status"] for check in checks if check["id"] == "root.pinned"), "unknown")
    return {"pass": "pinned", "fail": "not pinned"}.get(status, "not judged")


def roots(envelope: Envelope) -> list[Block]:
    """What was changed, and every trusted root."""
    data = envelope["data"]
    blocks: list[Block] = []
    if data["action"] != "list":
        done = {"pin": "Pinned", "unpin": "Unpinned"}[data["action"]]
        blocks.append(_roots(done, data["changed"]))
    blocks.append(_roots("Trust anchors", data["roots"]))
    return blocks


def _roots(title: str, entries: list[dict[str, Any]]) -> Block:
    rows = [
        [entry["root_class"], entry["platform"], entry["name"], entry["fingerprint"]]
        for entry in entries
    ]
    return table(title, "class | platform | name | key fingerprint", rows)


def _checks(checks: list[dict[str, Any]]) -> Block:
    rows = [
        [
            check["id"],
            check["status"],
            check["field"] or "",
            check["range"] or "",
            check["code"] or "",
        ]
        for check in checks
    ]
    return table("Checks", "check | status | field | bytes | because", rows)


def _claim_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    text = str(value)
    if text and not text.strip("0"):
        return "zero"
    short = text.rstrip("0")
    odd = len(short) % 2
    zeros = (len(text) - len(short) - odd) // 2
    if zeros > 16:  # noqa: PLR2004 - longer than any tail of a digest
        return f"{short}{'0' * odd} and {zeros} zero bytes"
    return text
