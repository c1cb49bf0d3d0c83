"""JUnit XML, as CI systems read it: a test case for each check, expectation and finding."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias
from xml.etree import ElementTree as ET

from ctestbed.bench.report.common import format_where, verdict_line
from ctestbed.core.envelope import Envelope

_Outcome: TypeAlias = Literal["pass", "failure", "error", "skipped"]

_OUTCOMES: Final[dict[str, _Outcome]] = {
    "pass": "pass",
    "ok": "pass",
    "fail": "failure",
    "missing": "failure",
    "wrong": "failure",
    "skip": "skipped",
    "absent": "skipped",
    "unknown": "skipped",
}
"""How a check ended. What could not be or was not checked is skipped, and never a pass."""

_NAMES: Final = ("name", "id", "check", "text")
_DETAILS: Final = ("expected", "limit", "actual", "unit")


@dataclass(frozen=True, slots=True)
class _Case:
    name: str
    group: str
    outcome: _Outcome
    kind: str = ""
    text: str = ""


def render_junit(envelope: Envelope) -> str:
    """Return JUnit XML ending in a newline; it fails exactly when the envelope does."""
    cases = list(_cases(envelope))
    failed = any(case.outcome in {"failure", "error"} for case in cases)
    if not cases or (envelope["status"] != "pass" and not failed):
        outcome: dict[str, _Outcome] = {"pass": "pass", "fail": "failure", "error": "error"}
        text = verdict_line(envelope)
        cases.append(_Case("verdict", "verdict", outcome[envelope["status"]], "verdict", text))
    suite = _suite(envelope, cases)
    counts = {key: suite.attrib[key] for key in ("tests", "failures", "errors", "skipped", "time")}
    root = ET.Element("testsuites", {"name": "ctestbed", **counts})
    root.append(suite)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _cases(envelope: Envelope) -> Iterator[_Case]:
    """Yield checks, then those findings that no failed check already tells."""
    left = list(envelope["findings"])
    for group in ("checks", "expectations"):
        entries = envelope["data"].get(group)
        for entry in entries if isinstance(entries, list) else ():
            case = _check_case(entry, group, left)
            if case is not None:
                yield case
    bad: _Outcome = "error" if envelope["status"] == "error" else "failure"
    for finding in left:
        outcome = bad if finding["severity"] == "error" else "pass"
        name = f"{finding['code']}: {finding['message']}"
        yield _Case(name, "findings", outcome, finding["code"], _say(finding))


def _check_case(entry: Any, group: str, findings: list[dict[str, Any]]) -> _Case | None:
    """Return the case of a check, and take from `findings` those that tell of its failure."""
    if not isinstance(entry, dict):
        return None
    name = next((entry[key] for key in _NAMES if isinstance(entry.get(key), str)), None)
    outcome = _OUTCOMES.get(str(entry.get("status")))
    if name is None or outcome is None:
        return None
    code = entry.get("code") or ""
    own = [str(entry["detail"])] if entry.get("detail") else []
    own += [f"{key}: {entry[key]}" for key in _DETAILS if entry.get(key) not in (None, "")]
    if outcome == "failure":
        told = [item for item in findings if item["code"] == code or f"`{name}`" in item["message"]]
        findings[:] = [item for item in findings if item not in told]
        own = [_say(item) for item in told] or own
        code = code or (told[0]["code"] if told else "")
    return _Case(name, group, outcome, str(code), "\n".join(own) or str(code))


def _say(finding: dict[str, Any]) -> str:
    place = format_where(finding.get("where"))
    lines = [f"{finding['severity']}[{finding['code']}]: {finding['message']}"]
    lines += [f"  at {place}"] if place else []
    lines += [f"  hint: {finding['hint']}"] if finding.get("hint") else []
    return "\n".join(lines)


def _suite(envelope: Envelope, cases: list[_Case]) -> ET.Element:
    run = envelope.get("run", {})
    elapsed = run.get("elapsed_s")
    attributes = {
        "name": " ".join(["ctestbed", *envelope["request"]["command"]]),
        "tests": str(len(cases)),
        "failures": str(sum(case.outcome == "failure" for case in cases)),
        "errors": str(sum(case.outcome == "error" for case in cases)),
        "skipped": str(sum(case.outcome == "skipped" for case in cases)),
        "time": f"{elapsed:.3f}" if isinstance(elapsed, int | float) else "0.000",
    }
    if isinstance(run.get("start"), str):
        attributes["timestamp"] = run["start"].removesuffix("Z")
    suite = ET.Element("testsuite", attributes)
    properties = ET.SubElement(suite, "properties")
    for name in ("schema", "status", "exit_code"):
        ET.SubElement(properties, "property", {"name": name, "value": str(envelope[name])})
    for case in cases:
        suite.append(_element(case, str(envelope["schema"]).partition("/")[0]))
    return suite


def _element(case: _Case, prefix: str) -> ET.Element:
    attributes = {
        "name": case.name or "(unnamed)",
        "classname": f"{prefix}.{case.group}",
        "time": "0.000",
    }
    element = ET.Element("testcase", attributes)
    if case.outcome == "pass":
        if case.text:
            ET.SubElement(element, "system-out").text = case.text
        return element
    message = {"message": case.text.partition("\n")[0] or case.name}
    if case.outcome == "skipped":
        ET.SubElement(element, "skipped", message)
        return element
    bad = ET.SubElement(element, case.outcome, {**message, "type": case.kind or "check"})
    bad.text = case.text
    return element
