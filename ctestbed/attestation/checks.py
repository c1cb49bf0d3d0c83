"""The record of what was checked: every check of a format, in order, with how it went.

A check ends as `pass`, `fail`, `skip` (nobody asked for it) or `unknown` (it could not be made:
something is missing, or an earlier check failed). Only `pass` counts as passed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal, NoReturn, TypeAlias

from ctestbed.core.errors import CtestbedError, ExitCode, Where

Status: TypeAlias = Literal["pass", "fail", "skip", "unknown"]

PRECEDENCE: Final = (
    ExitCode.INPUT,
    ExitCode.NOT_AUTHENTIC,
    ExitCode.NOT_FRESH,
    ExitCode.UNDECIDED,
    ExitCode.POLICY_REFUSED,
)
"""Of several failures the first of these decides."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check. `decides` is the exit code of its failure; `span` the bytes it is about."""

    id: str
    decides: ExitCode
    field: str
    span: str
    reference: str
    status: Status = "unknown"
    code: str | None = "CHECK_NOT_REACHED"
    expected: str | None = None
    actual: str | None = None


class CheckFailedError(CtestbedError):
    """A check failed, so that those after it are not made."""

    def __init__(self, check: Check, message: str, hint: str | None = None) -> None:
        """Carry the failed check, and name it."""
        super().__init__(
            check.code or "",
            f"{check.id}: {message}",
            where=Where(pointer=check.field or None),
            hint=hint,
        )
        self.check = check


class CheckLog:
    """The checks of one appraisal, in order, each `unknown` until it is made."""

    def __init__(self, checks: Iterable[Check]) -> None:
        """Start with every check unmade."""
        self._checks = {check.id: check for check in checks}

    @property
    def checks(self) -> tuple[Check, ...]:
        """All checks, in the order stated by their table."""
        return tuple(self._checks.values())

    def __getitem__(self, check: str) -> Check:
        """Return a check as it stands."""
        return self._checks[check]

    def passed(self, check: str, expected: str | None = None, actual: str | None = None) -> None:
        """Record that a check held."""
        self._set(check, "pass", None, expected, actual)

    def skipped(self, check: str, code: str | None = None) -> None:
        """Record that nobody asked for a check."""
        self._set(check, "skip", code)

    def unknown(self, check: str, code: str, actual: str | None = None) -> None:
        """Record that a check cannot be made, and why."""
        self._set(check, "unknown", code, None, actual)

    def failed(
        self, check: str, code: str, expected: str | None = None, actual: str | None = None
    ) -> Check:
        """Record that a check did not hold, and return it."""
        return self._set(check, "fail", code, expected, actual)

    def refuse(
        self,
        check: str,
        code: str,
        message: str,
        *,
        expected: str | None = None,
        actual: str | None = None,
        hint: str | None = None,
    ) -> NoReturn:
        """Record that a check did not hold, and stop."""
        raise CheckFailedError(self.failed(check, code, expected, actual), message, hint)

    def _set(
        self,
        check: str,
        status: Status,
        code: str | None,
        expected: str | None = None,
        actual: str | None = None,
    ) -> Check:
        made = replace(
            self._checks[check], status=status, code=code, expected=expected, actual=actual
        )
        self._checks[check] = made
        return made


def decide(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the code that decides among failures, or OK without any."""
    failures = set(codes)
    return next((code for code in PRECEDENCE if code in failures), ExitCode.OK)
