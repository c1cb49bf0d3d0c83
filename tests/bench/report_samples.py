"""Envelopes for the report tests: a sound one, and strategies for text meant to do harm."""

import json
from typing import Any

from hypothesis import strategies as st

from ctestbed.bench.report.blocks import Block, Facts, Plot, Series, Text, table
from ctestbed.core.envelope import Envelope

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=http://evil.example/x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "]]><!--",
    "a | b \\| c\n| --- |\n# heading",
    "[x](javascript:alert(1)) ![y](http://evil.example) `code` @team #12",
    "https://evil.example www.evil.example mailto:a@evil.example",
    '=HYPERLINK("http://evil.example")',
    "-2+3+cmd|' /C calc'!A0",
    "\x1b[31mred\x1b[0m \x9b31m \x00 \u202egnp.exe \ufffe",
    "{{ 7 * 7 }} {% raw %} &amp; &#60;",
    "```\nfence\n````",
    "1. list\n- item\n===\n---",
)

hostile_text = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.lists(
        st.sampled_from(list("<>&\"'`|\\*_[]()#!@:/~$=+-.\n\r\t\x0b wax1;{}%")), max_size=24
    ).map("".join),
)


def sample(**changes: Any) -> Envelope:
    """Return a sound envelope of `doctor`, with top-level parts replaced."""
    envelope: Envelope = {
        "schema": "ctestbed.doctor.doctor/1",
        "status": "fail",
        "exit_code": 10,
        "complete": True,
        "tool": {"name": "ctestbed", "version": "0.1.0"},
        "request": {"command": ["doctor"], "options": {"target": "lab-128", "n": 3}, "seed": 7},
        "inputs": [{"name": "lab-128.yaml", "sha256": "ab" * 32}],
        "data": {
            "checks": [
                {"name": "python", "status": "ok", "detail": "3.11"},
                {"name": "kernel cache", "status": "wrong", "detail": "read-only"},
                {"name": "openssl", "status": "absent", "detail": "not found"},
            ]
        },
        "findings": [
            {
                "code": "CTB-C003",
                "severity": "error",
                "message": "size '64M' is ambiguous",
                "where": {"file": "dir/a b.yaml", "pointer": "links[1].size", "line": 4},
                "hint": "`64MB` or `64MiB`?",
            },
            {"code": "CTB-C010", "severity": "warning", "message": "large", "where": {"file": "-"}},
            {"code": "NOT_IN_CATALOGUE", "severity": "note", "message": "seeded root"},
        ],
        "metrics": [
            {
                "name": "headroom.closed_form",
                "value": 75000000,
                "unit": "bytes",
                "better": "none",
                "kind": "exact",
                "provenance": "modelled",
                "source": "BDP",
            },
            {
                "name": "memory.sm4_xts.throughput",
                "value": 4.125e8,
                "unit": "bytes per CPU second",
                "better": "higher",
                "kind": "timed",
                "provenance": "measured",
                "n": 12,
                "ci95": [4.0e8, 4.2e8],
            },
            {
                "name": "link.rate",
                "value": "UNKNOWN",
                "unit": "bit/s",
                "better": "higher",
                "kind": "exact",
                "provenance": "claimed",
            },
        ],
        "run": {"start": "2025-01-02T03:04:05Z", "elapsed_s": 1.25, "host": {"cpus": 2}},
    }
    return envelope | changes


def passing(**changes: Any) -> Envelope:
    """Return a sound envelope with a positive verdict and nothing found."""
    parts: dict[str, Any] = {"status": "pass", "exit_code": 0, "findings": [], "metrics": []}
    return sample(**{**parts, "data": {"checks": []}, **changes})


def spoil(text: str) -> Envelope:
    """Return an envelope that holds `text` wherever text may stand."""
    envelope = sample()
    envelope["tool"]["version"] = text
    envelope["request"] = {"command": ["doctor", text], "options": {text: text}}
    envelope["inputs"] = [{"name": text, "sha256": "00" * 32}]
    envelope["data"] = {"checks": [{"name": text, "status": "ok", "detail": text}]}
    for finding in envelope["findings"]:
        finding |= {"message": text, "hint": text, "where": {"file": text, "pointer": text}}
    envelope["findings"][2]["code"] = text
    for metric in envelope["metrics"]:
        metric |= {"name": text, "source": text}
    envelope["metrics"][0]["unit"] = text
    envelope["run"] = {"start": text, "elapsed_s": 1, "host": {"name": text}}
    return envelope


def dump(envelope: Any) -> bytes:
    """Return JSON bytes."""
    return json.dumps(envelope).encode()


def blocks_of(text: str, value: float = 3.0) -> list[Block]:
    """Return one block of every kind, with `text` in each of its texts."""
    bars = (Series(text, (), (value, 1.0)), Series("other", (), (2.0,)))
    lines = (Series(text, (1.0, 2.0), (value, 1.0)),)
    return [
        Text(text, text),
        Text(text, text, fixed=True),
        Facts(text, ((text, text),)),
        table(text, "status | figure>", [[text, text], ["pass", "75 MB"]], text),
        Plot(text, "bar", bars, text, text, "modelled", (text, "b"), text),
        Plot(text, "line", lines, text, text, "measured"),
        Plot(text, "ecdf", (Series(text, (value, 1.0, 2.0), ()),), text, text, "simulated"),
    ]
