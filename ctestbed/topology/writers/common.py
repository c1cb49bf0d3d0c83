"""What the writers share: the fabric they are given, remarks, refusals, rows, safe text.

A writer is a generator of text pieces, so that a large fabric never stands in memory twice. It
notes what its format cannot hold, and refuses what would make a wrong file.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, TypeAlias

import numpy as np

from ctestbed.core.errors import InputError
from ctestbed.core.result import Finding
from ctestbed.topology.cabling import Cables, Cabling, Column, DeviceKind
from ctestbed.topology.graph import Topology
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.shapes import Plan

BATCH: Final = 1 << 14
"""Cables turned into text at a time."""

Row: TypeAlias = tuple[int, int, int, int, int, int, int]
"""a, b, a_port, b_port, rate, delay, length of one cable, -1 where not said."""


@dataclass(frozen=True, slots=True)
class Fabric:
    """What is written: the cabling, and where it is one of ours, how it was planned and built."""

    cabling: Cabling
    topology: Topology | None = None
    plan: Plan | None = None
    loaded: LoadedTestbed | None = None


@dataclass(slots=True)
class Notes:
    """What a writer says of its file: what the format cannot hold, or holds otherwise."""

    format: str
    findings: list[Finding] = field(default_factory=list)

    def add(self, code: str, message: str, hint: str) -> None:
        """Note one thing."""
        self.findings.append(Finding(code, "note", f"{self.format}: {message}", None, hint))

    def refusal(self, code: str, message: str, hint: str) -> InputError:
        """Return the error that says why this fabric cannot be written in this format."""
        return InputError(code, f"{self.format} cannot hold this fabric: {message}", hint=hint)


Writer: TypeAlias = Callable[[Fabric, Notes], Iterator[str]]


def cable_rows(cables: Cables) -> Iterator[Row]:
    """Yield the cables, a batch of the columns at a time."""
    names = ("a", "b", "a_port", "b_port", "rate", "delay", "length")
    columns = [getattr(cables, name) for name in names]
    for start in range(0, len(cables), BATCH):
        yield from zip(*(c[start : start + BATCH].tolist() for c in columns), strict=True)


def batched(lines: Iterable[str]) -> Iterator[str]:
    """Join lines into pieces large enough to encode cheaply."""
    rest = iter(lines)
    while piece := "".join(islice(rest, BATCH)):
        yield piece


class Memo(dict[int, str]):
    """The text of each value, made once: fabrics have few rates and delays, and many cables."""

    def __init__(self, function: Callable[[int], str]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, value: int) -> str:
        """Make the text of a value that was not asked for before."""
        text = self[value] = self._function(value)
        return text


def many(count: int, word: str) -> str:
    """Return a count with its noun."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def require(notes: Notes, cabling: Cabling, *quantities: str) -> None:
    """Refuse cables of an unknown rate or delay, by the first of them.

    Raises:
        InputError: a cable does not say it.
    """
    for name in quantities:
        unknown = np.flatnonzero(getattr(cabling.cables, name) < 0)
        if len(unknown):
            row = int(unknown[0])
            raise notes.refusal(
                "CTB-T302",
                f"it needs the {name} of every cable, and {many(len(unknown), 'cable')} say none, "
                f"the first {cabling.cable_name(row)}",
                f"give the {name}s in the testbed file, or choose a format without them",
            )


def refuse_self_loops(notes: Notes, cabling: Cabling) -> None:
    """Refuse cables that join a device to itself.

    Raises:
        InputError: there is one.
    """
    loops = np.flatnonzero(cabling.cables.a == cabling.cables.b)
    if len(loops):
        raise notes.refusal(
            "CTB-T304",
            f"cable {cabling.cable_name(int(loops[0]))} joins a device to itself",
            "take the loop out, or choose CSV or GraphML",
        )


def parallel_pairs(cabling: Cabling) -> int:
    """Return how many pairs of devices are joined by more than one cable."""
    from ctestbed.topology.cabling import pair_counts

    return int((pair_counts(cabling)[2] > 1).sum())


def switch_mask(cabling: Cabling) -> Column:
    """Return which devices forward traffic.

    Kinds decide; where a file gave none, names and degrees do.
    """
    from ctestbed.topology.cabling import infer_roles

    if (cabling.kinds == DeviceKind.UNKNOWN).any():
        return np.asarray(infer_roles(cabling).switch, bool)
    return np.asarray(cabling.kinds == DeviceKind.SWITCH, bool)


_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_YAML_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def yaml_text(text: str) -> str:
    """Return text as a YAML scalar that any YAML version reads back as that text."""
    import json

    if _PLAIN.fullmatch(text) and text.lower() not in _YAML_WORDS:
        return text
    return json.dumps(text, ensure_ascii=False)


def safe_names(
    notes: Notes, names: Collection[str], allowed: str, *, longest: int, joint: str = "-"
) -> list[str]:
    """Return the names with characters outside `allowed` (a class body) replaced, and say so.

    Raises:
        InputError: two names would become one, or one is too long or empty.
    """
    outside = re.compile(f"[^{allowed}]+")
    found: dict[str, str] = {}
    changed: tuple[str, str] | None = None
    for name in names:
        safe = outside.sub(joint, name).strip(joint)
        if not safe or len(safe) > longest:
            raise notes.refusal(
                "CTB-T305",
                f"{name[:80]!r} makes no name of 1 to {longest} characters",
                "give sites and devices shorter names",
            )
        if found.setdefault(safe, name) != name:
            raise notes.refusal(
                "CTB-T305",
                f"{name!r} and {found[safe]!r} would both be called {safe!r}",
                "give them names that differ in letters or digits",
            )
        if safe != name and changed is None:
            changed = (name, safe)
    if changed is not None:
        notes.add(
            "CTB-T315",
            f"names hold other characters here: {changed[0]} is called {changed[1]}",
            "compare by structure, or translate names the same way",
        )
    return list(found)


def device_properties(cabling: Cabling, position: int) -> Mapping[str, str | int]:
    """Return what is known of a device, by the names of `Device`; its own attributes after."""
    device = cabling.devices[position]
    known: dict[str, Any] = {"kind": device.kind.word}
    for name in PROPERTIES:
        value = getattr(device, name)
        if value is not None:
            known[name] = value
    for key, text in device.attributes.items():
        known.setdefault(key, text)
    return known


PROPERTIES: Final = (
    "ports", "host", "guid", "model", "description", "role", "site", "plane", "pod", "tier", "rail",
)  # fmt: skip
"""Properties of a device beside its kind, in the order they are written."""
