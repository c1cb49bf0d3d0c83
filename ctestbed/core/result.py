"""What every `run(request)` returns: data, findings with a place, metrics with provenance."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, Literal, TypeAlias

from ctestbed.core.errors import CtestbedError, ExitCode, Where

Severity: TypeAlias = Literal["error", "warning", "note"]
Provenance: TypeAlias = Literal["measured", "simulated", "modelled", "claimed"]
Better: TypeAlias = Literal["higher", "lower", "none"]
MetricKind: TypeAlias = Literal["exact", "timed"]

UNKNOWN: Final = "UNKNOWN"
"""The value of a metric or field that depends on an input nobody has published."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a check found: what, where, and what to do about it."""

    code: str
    severity: Severity
    message: str
    where: Where | None = None
    hint: str | None = None

    @classmethod
    def of_error(cls, error: CtestbedError) -> "Finding":
        """Turn a refusal into the finding that reports it."""
        return cls(error.code, "error", error.message, error.where, error.hint)

    def to_dict(self) -> dict[str, Any]:
        """Return the envelope's form; absent parts are left out."""
        found: dict[str, Any] = {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
        }
        if self.where is not None:
            place = {
                "file": self.where.file,
                "pointer": self.where.pointer,
                "line": self.where.line,
            }
            found["where"] = {key: value for key, value in place.items() if value is not None}
        if self.hint is not None:
            found["hint"] = self.hint
        return found


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure. `value` is a number in `unit`, or UNKNOWN; `source` is what a model cites.

    `kind` is `timed` for whatever a clock decided, and `exact` for all else: only exact values
    stand in canonical output.
    """

    name: str
    value: int | float | str
    unit: str
    provenance: Provenance
    better: Better = "none"
    kind: MetricKind = "exact"
    source: str | None = None
    n: int | None = None
    ci95: tuple[float, float] | None = None

    def to_dict(self, *, canonical: bool = False) -> dict[str, Any]:
        """Return the envelope's form; canonical form drops what a clock decided."""
        shown: dict[str, Any] = {
            "name": self.name,
            "unit": self.unit,
            "better": self.better,
            "kind": self.kind,
            "provenance": self.provenance,
        }
        if self.source is not None:
            shown["source"] = self.source
        if canonical and self.kind == "timed":
            return shown
        shown["value"] = self.value
        if self.n is not None:
            shown["n"] = self.n
        if self.ci95 is not None:
            shown["ci95"] = list(self.ci95)
        return shown


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file or stream that the result rests on, named as the user named it."""

    name: str
    sha256: str

    @classmethod
    def of(cls, name: str, content: bytes) -> "InputFile":
        """Digest `content`."""
        return cls(name, sha256(content).hexdigest())


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one `run(request)`.

    `schema` names the JSON Schema of `data`: `ctestbed.<noun>.<verb>/1`. `run` holds what may
    differ between two identical runs (a defaulted clock, a fresh key's digest, elapsed times).
    """

    schema: str
    data: Mapping[str, Any]
    findings: tuple[Finding, ...] = ()
    metrics: tuple[Metric, ...] = ()
    inputs: tuple[InputFile, ...] = ()
    exit_code: ExitCode = ExitCode.OK
    complete: bool = True
    run: Mapping[str, Any] = field(default_factory=dict)


def checks_exit_code(findings: Iterable[Finding]) -> ExitCode:
    """Return 10 if any finding is an error, else 0."""
    failed = any(finding.severity == "error" for finding in findings)
    return ExitCode.CHECKS_FAILED if failed else ExitCode.OK
