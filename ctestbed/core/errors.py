"""The error tree, and the one table of exit codes.

CtestbedError
├── InputError            3   a file, a field or a unit that cannot be read
├── EnvironmentLacksError 4   an extra, a tool, a permission, disk space
├── PeerError             5   a peer that does not answer
├── ChecksFailedError     10  checks found problems
├── NotAuthenticError     11  signature, MAC, key binding, chain, expiry, revocation
├── PolicyRefusedError    12  authentic, but policy says no
├── NotFreshError         13  nonce, time or binding does not match
├── UndecidedError        14  collateral missing or expired, unknown version or key
├── DeviceRefusedError    15  a device or session refused
├── AttackSucceededError  16  an attack was not stopped as the model says it must be
├── RegressionError       20  regression beyond the gate
├── NotComparableError    21  other machine, other parameters, no baseline
├── InvariantError        22  a simulation invariant broke
└── PartialSweepError     23  a sweep finished with failed points

An error is raised where going on makes no sense; what a check *found* is a `Finding` in a result.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """What the process ends with. `docs/reference/exit-codes.md` is generated from this table."""

    OK = 0
    BUG = 1
    USAGE = 2
    INPUT = 3
    ENVIRONMENT = 4
    PEER = 5
    CHECKS_FAILED = 10
    NOT_AUTHENTIC = 11
    POLICY_REFUSED = 12
    NOT_FRESH = 13
    UNDECIDED = 14
    DEVICE_REFUSED = 15
    ATTACK_SUCCEEDED = 16
    REGRESSION = 20
    NOT_COMPARABLE = 21
    INVARIANT_BROKEN = 22
    PARTIAL_SWEEP = 23
    INTERRUPTED = 130
    PIPE_CLOSED = 141

    @property
    def meaning(self) -> str:
        """One line of text for people."""
        return _MEANING[self]

    @property
    def status(self) -> str:
        """The envelope's status: pass, fail (a negative verdict) or error (no verdict)."""
        if self is ExitCode.OK:
            return "pass"
        verdict = ExitCode.CHECKS_FAILED <= self <= ExitCode.PARTIAL_SWEEP
        return "fail" if verdict else "error"


_MEANING = {
    ExitCode.OK: "done, verdict positive",
    ExitCode.BUG: "a bug in ctestbed (an uncaught exception), never a verdict",
    ExitCode.USAGE: "usage: an unknown command or option, or a missing argument",
    ExitCode.INPUT: "input unreadable or malformed, or a bad unit",
    ExitCode.ENVIRONMENT: (
        "the environment lacks something: an extra, a tool, a permission, disk space, "
        "a writable directory"
    ),
    ExitCode.PEER: "a peer is unreachable or timed out",
    ExitCode.CHECKS_FAILED: "checks found problems (validate, lint, diff, expectations)",
    ExitCode.NOT_AUTHENTIC: (
        "not authentic: signature, MAC, key binding, chain to a pinned root, "
        "or a certificate expired or revoked"
    ),
    ExitCode.POLICY_REFUSED: "authentic, but policy says no (debug, measurement, TCB)",
    ExitCode.NOT_FRESH: "stale or replayed: a nonce, a time or a binding does not match",
    ExitCode.UNDECIDED: (
        "cannot be decided: collateral missing or expired, unknown version or key"
    ),
    ExitCode.DEVICE_REFUSED: "a device or a session was refused (SPDM, TDISP)",
    ExitCode.ATTACK_SUCCEEDED: "an attack was not stopped as the model says it must be",
    ExitCode.REGRESSION: "a regression beyond the gate",
    ExitCode.NOT_COMPARABLE: "not comparable (machine, parameters, no baseline)",
    ExitCode.INVARIANT_BROKEN: (
        "a simulation invariant broke (loss on a lossless class, deadlock, conservation), "
        "or flows were left unfinished"
    ),
    ExitCode.PARTIAL_SWEEP: "a sweep finished with failed points",
    ExitCode.INTERRUPTED: "interrupted",
    ExitCode.PIPE_CLOSED: "the output pipe was closed",
}


@dataclass(frozen=True, slots=True)
class Where:
    """A place in an input: a file name, a pointer such as `links[12].rate`, a line from 1."""

    file: str | None = None
    pointer: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        """Render as `file:line  (pointer)`, leaving out what is not known."""
        place = self.file or ""
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        if self.pointer:
            place = f"{place}  ({self.pointer})" if place else self.pointer
        return place


class CtestbedError(Exception):
    """Any refusal that is not a bug.

    `code` is a key of the catalogue (`ctestbed explain CODE`); `hint` is one next step.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.BUG

    def __init__(
        self, code: str, message: str, *, where: Where | None = None, hint: str | None = None
    ) -> None:
        """Keep the parts apart, so that table, JSON and SARIF can each show them their way."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.where = where
        self.hint = hint


class InputError(CtestbedError):
    """A file, field or unit cannot be read."""

    exit_code = ExitCode.INPUT


class EnvironmentLacksError(CtestbedError):
    """An extra, tool, permission, disk space or writable directory is missing."""

    exit_code = ExitCode.ENVIRONMENT


class PeerError(CtestbedError):
    """A peer is unreachable or timed out."""

    exit_code = ExitCode.PEER


class ChecksFailedError(CtestbedError):
    """A check found problems."""

    exit_code = ExitCode.CHECKS_FAILED


class NotAuthenticError(CtestbedError):
    """A signature, MAC, key binding or chain does not hold."""

    exit_code = ExitCode.NOT_AUTHENTIC


class PolicyRefusedError(CtestbedError):
    """The evidence is authentic, but policy says no."""

    exit_code = ExitCode.POLICY_REFUSED


class NotFreshError(CtestbedError):
    """A nonce, time or binding does not match."""

    exit_code = ExitCode.NOT_FRESH


class UndecidedError(CtestbedError):
    """Collateral is missing or expired, or a version or key is unknown."""

    exit_code = ExitCode.UNDECIDED


class DeviceRefusedError(CtestbedError):
    """A device or a session was refused."""

    exit_code = ExitCode.DEVICE_REFUSED


class AttackSucceededError(CtestbedError):
    """An attack was not stopped as the model says it must be."""

    exit_code = ExitCode.ATTACK_SUCCEEDED


class RegressionError(CtestbedError):
    """A metric fell beyond its gate."""

    exit_code = ExitCode.REGRESSION


class NotComparableError(CtestbedError):
    """Two results cannot be compared."""

    exit_code = ExitCode.NOT_COMPARABLE


class InvariantError(CtestbedError):
    """A simulation invariant broke."""

    exit_code = ExitCode.INVARIANT_BROKEN


class PartialSweepError(CtestbedError):
    """A sweep finished with failed points."""

    exit_code = ExitCode.PARTIAL_SWEEP
