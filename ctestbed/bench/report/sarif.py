"""SARIF 2.1.0 (OASIS): findings where code hosts show them, beside the line they are about."""

import json
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

from ctestbed.core.catalogue import load_catalogue
from ctestbed.core.envelope import Envelope

_STDIN: Final = ("-", "<stdin>")


def render_sarif(envelope: Envelope) -> str:
    """Return a SARIF log of the findings, ending in a newline."""
    codes = list(dict.fromkeys(finding["code"] for finding in envelope["findings"]))
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "ctestbed",
                "semanticVersion": envelope["tool"]["version"],
                "rules": [_rule(code) for code in codes],
            }
        },
        "automationDetails": {"id": "/".join(["ctestbed", *envelope["request"]["command"], ""])},
        "invocations": [_invocation(envelope)],
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, codes) for finding in envelope["findings"]],
    }
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(log, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _rule(code: str) -> dict[str, Any]:
    entry = load_catalogue().get(code)
    if entry is None:
        return {"id": code}
    return {
        "id": code,
        "shortDescription": {"text": entry.title},
        "fullDescription": {"text": entry.meaning},
        "help": {"text": entry.remedy},
    }


def _invocation(envelope: Envelope) -> dict[str, Any]:
    made: dict[str, Any] = {
        "executionSuccessful": envelope["status"] != "error",
        "exitCode": envelope["exit_code"],
    }
    start = envelope.get("run", {}).get("start")
    if isinstance(start, str):
        made["startTimeUtc"] = start
    return made


def _result(finding: dict[str, Any], codes: list[str]) -> dict[str, Any]:
    hint = finding.get("hint")
    text = f"{finding['message']}\nHint: {hint}" if hint else finding["message"]
    result: dict[str, Any] = {
        "ruleId": finding["code"],
        "ruleIndex": codes.index(finding["code"]),
        "level": finding["severity"],
        "message": {"text": text},
    }
    location = _location(finding.get("where") or {})
    if location:
        result["locations"] = [location]
    return result


def _location(where: dict[str, Any]) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if where.get("file"):
        physical: dict[str, Any] = {"artifactLocation": _artifact(where["file"])}
        if "line" in where:
            physical["region"] = {"startLine": where["line"]}
        location["physicalLocation"] = physical
    if where.get("pointer"):
        location["logicalLocations"] = [{"fullyQualifiedName": where["pointer"]}]
    return location


def _artifact(name: str) -> dict[str, Any]:
    """Return a file as a URI: relative where the user named it so, a label for standard input."""
    if name in _STDIN:
        return {"uri": "stdin", "description": {"text": "standard input"}}
    path = PurePath(name)
    uri = quote(path.as_posix(), errors="surrogatepass")
    return {"uri": f"file://{uri}" if path.is_absolute() else uri}
