"""Where cabling departs from its design: records, findings, and the form they take in data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from typing_extensions import TypedDict

from ctestbed.core.errors import Where
from ctestbed.core.result import Finding, Severity

Kind: TypeAlias = Literal[
    "missing", "extra", "swapped", "wrong-rail", "one-sided", "slow", "self-loop", "absent-node"
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
MAX_FINDINGS: Final = 1000
"""Findings shown of one kind; `deviations` in the data is always complete."""

CODES: Final[Mapping[Kind, str]] = {
    "missing": "CTB-T200",
    "extra": "CTB-T201",
    "swapped": "CTB-T202",
    "wrong-rail": "CTB-T203",
    "one-sided": "CTB-T204",
    "slow": "CTB-T205",
    "self-loop": "CTB-T206",
    "absent-node": "CTB-T207",
}
HINTS: Final[Mapping[Kind, str]] = {
    "missing": "look for an unplugged, broken or disabled cable",
    "extra": "unplug it, or add it to the design",
    "swapped": "exchange the two cables at one end",
    "wrong-rail": "move the cable to the switch it was meant for",
    "one-sided": "look at the end that does not answer: cable, optics, or a port that is down",
    "slow": "look at cable, optics and the port's settings",
    "self-loop": "unplug it: it joins a device to itself",
    "absent-node": "is it switched off, not installed, or left out of the record?",
}


class DeviationData(TypedDict):
    """One departure. `count` is how many cables it stands for; `expected` what belongs there."""

    kind: Kind
    a: str
    b: str | None
    expected: str | None
    count: int


@dataclass(frozen=True, slots=True)
class Deviation:
    """One departure from what was meant, with the sentence that says so."""

    kind: Kind
    a: str
    b: str | None
    expected: str | None
    message: str
    count: int = 1
    where: Where | None = None
    hint: str | None = None

    @property
    def data(self) -> DeviationData:
        """Return the form it takes in data."""
        return {
            "kind": self.kind,
            "a": self.a,
            "b": self.b,
            "expected": self.expected,
            "count": self.count,
        }

    @property
    def finding(self) -> Finding:
        """Return the finding that reports it."""
        hint = HINTS[self.kind] if self.hint is None else self.hint
        return Finding(CODES[self.kind], "error", self.message, self.where, hint)


def in_order(deviations: Iterable[Deviation]) -> tuple[Deviation, ...]:
    """Sort by kind and name, so that the order of the input changes nothing."""
    return tuple(sorted(deviations, key=lambda d: (KINDS.index(d.kind), d.a, d.b or "", d.message)))


def count_kinds(deviations: Iterable[Deviation]) -> dict[str, int]:
    """Return how many cables (or nodes) each kind stands for; kinds without any are 0."""
    counts: dict[str, int] = dict.fromkeys(KINDS, 0)
    for deviation in deviations:
        counts[deviation.kind] += (
            1 if deviation.kind in {"absent-node", "swapped"} else max(deviation.count, 1)
        )
    return counts


def findings_of(deviations: Iterable[Deviation]) -> list[Finding]:
    """Return a finding each; of a kind with very many, the first thousand and how many follow."""
    found: list[Finding] = []
    shown: dict[Kind, int] = {}
    for deviation in deviations:
        shown[deviation.kind] = shown.get(deviation.kind, 0) + 1
        if shown[deviation.kind] <= MAX_FINDINGS:
            found.append(deviation.finding)
    for kind, count in shown.items():
        if count > MAX_FINDINGS:
            message = f"{count - MAX_FINDINGS:,} more of this kind ({kind}) are in the data alone"
            found.append(Finding(CODES[kind], "error", message, None, "see `--format json`"))
    return found


def note(code: str, message: str, hint: str, severity: Severity = "note") -> Finding:
    """Return a remark that is no deviation."""
    return Finding(code, severity, message, None, hint)


def some(names: Iterable[str], total: int | None = None, limit: int = 3) -> str:
    """Return the first few of many names, and how many more there are."""
    listed = list(names)
    total = len(listed) if total is None else total
    text = ", ".join(listed[:limit])
    return text if total <= limit else f"{text} and {total - limit:,} more"


def many(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
