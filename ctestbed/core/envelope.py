"""The report envelope: the one shape every command's result is written in.

All that may differ between two identical runs lives under `run`. The canonical form drops it and
every timed value, and sorts keys, so that the same inputs and seed give the same bytes.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ctestbed import __version__
from ctestbed.core.result import Finding, Result

Envelope: TypeAlias = dict[str, Any]


def build_envelope(
    result: Result,
    *,
    command: Sequence[str],
    options: Mapping[str, Any],
    seed: int | None = None,
    run: Mapping[str, Any] | None = None,
    canonical: bool = False,
) -> Envelope:
    """Wrap `result`.

    `options` are those that change the result; where output goes, in what form, and where state
    lies belong to no request. `run` adds start, elapsed time and host to what the result noted.
    """
    request: dict[str, Any] = {"command": list(command), "options": dict(options)}
    if seed is not None:
        request["seed"] = seed
    envelope: Envelope = {
        "schema": result.schema,
        "status": result.exit_code.status,
        "exit_code": int(result.exit_code),
        "complete": result.complete,
        "tool": {"name": "ctestbed", "version": __version__},
        "request": request,
        "inputs": [{"name": item.name, "sha256": item.sha256} for item in result.inputs],
        "data": dict(result.data),
        "findings": [finding.to_dict() for finding in result.findings],
        "metrics": [metric.to_dict(canonical=canonical) for metric in result.metrics],
    }
    if not canonical:
        envelope["run"] = {**(run or {}), **result.run}
    return envelope


def error_envelope(
    findings: Sequence[Finding], exit_code: int, status: str, *, command: Sequence[str]
) -> Envelope:
    """Wrap a refusal, so that a script that asked for JSON reads JSON in every case."""
    return {
        "schema": "ctestbed.error/1",
        "status": status,
        "exit_code": int(exit_code),
        "complete": False,
        "tool": {"name": "ctestbed", "version": __version__},
        "request": {"command": list(command), "options": {}},
        "inputs": [],
        "data": {},
        "findings": [finding.to_dict() for finding in findings],
        "metrics": [],
    }


def canonical_form(envelope: Envelope) -> Envelope:
    """Drop `run` and timed values from an envelope that was written without `--canonical`."""
    kept = {key: value for key, value in envelope.items() if key != "run"}
    timed_only = {"value", "n", "ci95"}
    kept["metrics"] = [
        {k: v for k, v in metric.items() if k not in timed_only}
        if metric["kind"] == "timed"
        else metric
        for metric in envelope["metrics"]
    ]
    return kept


def dump_envelope(envelope: Envelope, *, canonical: bool = False) -> str:
    """Return JSON text ending in a newline; canonical text has sorted keys and no spaces."""
    if canonical:
        return (
            json.dumps(
                envelope,
                sort_keys=True,
                separators=(",", ":"),
                ensure_ascii=False,
                allow_nan=False,
            )
            + "\n"
        )
    return json.dumps(envelope, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
