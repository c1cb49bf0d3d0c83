"""What `topology validate FILE`, `validate --as-built` and `topology diff` compute."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from typing_extensions import TypedDict

from ctestbed.core.errors import InputError, Where
from ctestbed.core.files import read_input
from ctestbed.core.result import Finding, Result, checks_exit_code
from ctestbed.topology.analysis.data import StructureData
from ctestbed.topology.analysis.design import Structure
from ctestbed.topology.analysis.record import analyse_record
from ctestbed.topology.asbuilt.compare import Comparison, compare
from ctestbed.topology.asbuilt.describe import inferred_data
from ctestbed.topology.asbuilt.deviations import (
    Deviation,
    DeviationData,
    count_kinds,
    findings_of,
    in_order,
    many,
    note,
)
from ctestbed.topology.asbuilt.ends import Ground
from ctestbed.topology.asbuilt.hosts import level
from ctestbed.topology.asbuilt.inferred import InferredData
from ctestbed.topology.asbuilt.matching import (
    Match,
    extend_by_neighbours,
    judged_devices,
    match_names,
    names_decide,
)
from ctestbed.topology.asbuilt.port_ends import differing_ends
from ctestbed.topology.asbuilt.structure import compare_structure, judge
from ctestbed.topology.cabling import Cabling
from ctestbed.topology.commands import TestbedRequest, run_validate, validate_loaded
from ctestbed.topology.formats.registry import TESTBED, read_as, recognise
from ctestbed.topology.formats.source import read_source
from ctestbed.topology.importing import load_cabling
from ctestbed.topology.load import STDIN, SUFFIXES, builtin_testbeds, parse_testbed, testbed_path

AS_BUILT_SCHEMA: Final = "ctestbed.topology.as-built/1"
DIFF_SCHEMA: Final = "ctestbed.topology.diff/1"

_TOLD_BY_ENDS: Final = "CTB-T125"
"""A reader's remark on two rates of one cable, which a comparison of its ends makes an error."""

Basis = Literal["names", "structure", "inferred"]


class MatchedData(TypedDict):
    """How devices were told: by name, or by what they are cabled to (`alike`: exchangeable)."""

    by_name: int
    by_structure: int
    alike: int
    cables: int
    ports: bool


class AsBuiltData(TypedDict):
    """Data of `topology validate` on a record of cables, alone or against a design.

    `counts` has cables (absent nodes, exchanges) by kind; `inferred` what the record itself shows,
    null where names decide. `structure` is of a record that was given without a design.
    """

    design: str | None
    cables: str
    format: str
    basis: Basis
    matched: MatchedData | None
    inferred: InferredData | None
    counts: dict[str, int]
    deviations: list[DeviationData]
    structure: StructureData | None


class DiffData(TypedDict):
    """Data of `topology diff`: how `b` departs from `a`."""

    a: str
    b: str
    basis: Basis
    matched: MatchedData | None
    inferred: InferredData | None
    counts: dict[str, int]
    deviations: list[DeviationData]


@dataclass(frozen=True, slots=True)
class ValidateRequest:
    """A testbed or a record of cables, and for a testbed what was cabled by it."""

    subject: str
    as_built: str | None = None
    from_format: str | None = None


@dataclass(frozen=True, slots=True)
class DiffRequest:
    """Two testbeds or records of cables."""

    a: str
    b: str
    from_format: str | None = None


@dataclass(frozen=True)
class _Outcome:
    basis: Basis
    matched: MatchedData | None
    inferred: InferredData | None
    deviations: tuple[Deviation, ...]
    notes: tuple[Finding, ...]


def run_validate_any(request: ValidateRequest) -> Result:
    """Check a testbed, a record of cables, or such a record against its design.

    Raises:
        InputError: a file cannot be read, or is of no known format.
    """
    if request.as_built is not None:
        return _run_as_built(request.subject, request.as_built, request.from_format)
    if request.from_format is not None:
        if request.from_format != TESTBED:
            return _run_inferred(load_cabling(request.subject, request.from_format))
        return run_validate(TestbedRequest(request.subject))
    if request.subject in builtin_testbeds():
        return run_validate(TestbedRequest(request.subject))
    path = _path_of(request.subject)
    content = read_input("-" if path is None else path, what="testbed file")
    shown = STDIN if path is None else request.subject
    cabling = _as_record(content, shown)
    if cabling is None:
        return validate_loaded(parse_testbed(content, shown))
    return _run_inferred(cabling)


def _path_of(subject: str) -> str | None:
    """Return the path of a file; None for standard input.

    Raises:
        InputError: neither a file nor a testbed has this name.
    """
    if subject == "-":
        return None
    if Path(subject).suffix:
        return subject
    return str(testbed_path(subject))


def _as_record(content: bytes, name: str) -> Cabling | None:
    """Read a file of any format but our own; None for a testbed, sound or not.

    Raises:
        InputError: it is of another format and damaged, or of none that we know.
    """
    may_be_testbed = name == STDIN or name.endswith(SUFFIXES) or not Path(name).suffix
    try:
        source = read_source(content, name)
        found = recognise(source)
    except InputError:
        if may_be_testbed:
            return None
        raise
    return None if found.format.name == TESTBED else read_as(source, None)[0]


def _run_inferred(record: Cabling) -> Result:
    outcome, structure = _judge_alone(record), analyse_record(record)
    data: AsBuiltData = {
        "design": None,
        "cables": record.file or record.name,
        "format": record.format,
        "basis": outcome.basis,
        "matched": None,
        "inferred": outcome.inferred,
        "counts": count_kinds(outcome.deviations),
        "deviations": [deviation.data for deviation in outcome.deviations],
        "structure": None if structure is None else structure.data,
    }
    return _result(AS_BUILT_SCHEMA, data, outcome, [record], structure)


def _run_as_built(design_name: str, record_name: str, from_format: str | None) -> Result:
    if design_name == record_name == "-":
        raise InputError(
            "CTB-T217",
            "standard input cannot be the design and the record at once",
            where=Where(STDIN),
            hint="name a file for one of them",
        )
    design, record = load_cabling(design_name), load_cabling(record_name, from_format)
    outcome = _against(design, record, "the design")
    data: AsBuiltData = {
        "design": design.file or design.name,
        "cables": record.file or record.name,
        "format": record.format,
        "basis": outcome.basis,
        "matched": outcome.matched,
        "inferred": outcome.inferred,
        "counts": count_kinds(outcome.deviations),
        "deviations": [deviation.data for deviation in outcome.deviations],
        "structure": None,
    }
    return _result(AS_BUILT_SCHEMA, data, outcome, [design, record])


def run_diff(request: DiffRequest) -> Result:
    """Compare two testbeds or records of cables; exit code 10 where they differ.

    Raises:
        InputError: a file cannot be read, or is of no known format.
    """
    if request.a == request.b == "-":
        raise InputError(
            "CTB-T217",
            "standard input cannot be both sides of a comparison",
            where=Where(STDIN),
            hint="name a file for one of them",
        )
    a = load_cabling(request.a, request.from_format)
    b = a if request.b == request.a else load_cabling(request.b, request.from_format)
    outcome = _against(a, b, request.a, faster=True)
    data: DiffData = {
        "a": a.file or a.name,
        "b": b.file or b.name,
        "basis": outcome.basis,
        "matched": outcome.matched,
        "inferred": outcome.inferred,
        "counts": count_kinds(outcome.deviations),
        "deviations": [deviation.data for deviation in outcome.deviations],
    }
    return _result(DIFF_SCHEMA, data, outcome, [a] if b is a else [a, b])


def _result(
    schema: str,
    data: AsBuiltData | DiffData,
    outcome: _Outcome,
    files: list[Cabling],
    structure: Structure | None = None,
) -> Result:
    remarks = [finding for cabling in files for finding in cabling.findings]
    ends: list[Finding] = []
    if schema == AS_BUILT_SCHEMA:
        ends = differing_ends(files[-1])
        remarks = [remark for remark in remarks if remark.code != _TOLD_BY_ENDS]
    findings = [*findings_of(outcome.deviations), *ends, *outcome.notes, *dict.fromkeys(remarks)]
    findings += () if structure is None else structure.findings
    return Result(
        schema,
        data,
        findings=tuple(findings),
        metrics=() if structure is None else structure.metrics,
        inputs=tuple(c.source for c in files if c.source is not None),
        exit_code=checks_exit_code(findings),
    )


def _judge_alone(record: Cabling) -> _Outcome:
    inference, found = judge(record)
    deviations = in_order([*found.deviations, *inference.deviations])
    data = inferred_data(inference)
    notes = [note("CTB-T218", f"inferred: {data['description']}", "compare with the design")]
    if not len(record.cables) and not len(record.one_sided):
        text = f"{many(len(record.devices), 'device')} and no cable: there is no fabric to judge"
        hint = "was it recorded where the network is reached, and while it was up?"
        notes = [Finding("CTB-T219", "error", text, Where(record.file), hint)]
    return _Outcome("inferred", None, data, deviations, (*notes, *found.notes, *inference.notes))


def _against(design: Cabling, record: Cabling, called: str, *, faster: bool = False) -> _Outcome:
    """Compare by names where enough of them match, and else by structure."""
    ours, theirs = level(judged_devices(design), judged_devices(record))
    match = match_names(ours, theirs)
    if not names_decide(ours, theirs, match):
        return _by_structure(ours, theirs)
    if match.by_name < min(len(ours.devices), len(theirs.devices)):
        match = extend_by_neighbours(ours, theirs, match)
    ground = Ground(ours, theirs, match.mapping, called)
    found = compare(ground)
    notes = [*found.notes, *_match_notes(match)]
    if faster:
        notes += _faster(ground, found)
    return _Outcome("names", _matched(match, found), None, found.deviations, tuple(notes))


def _matched(match: Match, found: Comparison) -> MatchedData:
    return {
        "by_name": match.by_name,
        "by_structure": match.by_structure,
        "alike": match.alike,
        "cables": found.matched_cables,
        "ports": found.by_ports,
    }


def _match_notes(match: Match) -> list[Finding]:
    if not match.by_structure:
        return []
    text = f"{many(match.by_structure, 'device')} under another name than designed, told by what "
    text += "they are cabled to"
    text += f"; {match.alike} of them up to exchange among alike ones" if match.alike else ""
    return [note("CTB-T214", text, "give them the design's names to have each told apart")]


def _faster(ground: Ground, found: Comparison) -> list[Finding]:
    count = found.faster
    if not count:
        return []
    text = f"{many(count, 'cable')} faster than in {ground.called}"
    hint = "only slower ones are deviations; this is a difference all the same"
    return [note("CTB-T216", text, hint, "error")]


def _by_structure(design: Cabling, record: Cabling) -> _Outcome:
    found = compare_structure(design, record)
    text = "names do not match, so roles and structure are compared: what differs is told up to "
    text += "exchange of devices that are alike"
    notes = (
        note("CTB-T214", text, "give devices the design's names to have each told apart"),
        *found.notes,
    )
    matched: MatchedData = {
        "by_name": 0,
        "by_structure": min(len(design.devices), len(record.devices)),
        "alike": min(len(design.devices), len(record.devices)),
        "cables": found.matched_cables,
        "ports": False,
    }
    data = inferred_data(found.inference)
    return _Outcome("structure", matched, data, found.deviations, notes)
