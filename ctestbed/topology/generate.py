"""`topology build KIND`: a testbed file from a handful of numbers."""

from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import TypedDict

from ctestbed.core.errors import InputError, Where
from ctestbed.core.names import did_you_mean
from ctestbed.core.result import Finding, Result
from ctestbed.core.spec import SpecError
from ctestbed.core.units import parse_rate, parse_time
from ctestbed.topology.describe import Counts, counts_of
from ctestbed.topology.load import parse_testbed
from ctestbed.topology.plan import require_plan
from ctestbed.topology.write import FileForm, dump_testbed

KINDS: Final = ("fat-tree",)


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """The numbers of a fabric; None where the form does not need one or a default will do.

    With neither `tiers` nor counts that need three, `k` alone means three tiers.
    """

    kind: str
    name: str | None = None
    tiers: int | None = None
    k: int | None = None
    pods: int | None = None
    leaves: int | None = None
    hosts_per_leaf: int | None = None
    spines: int | None = None
    cores: int | None = None
    parallel: int | None = None
    radix: int | None = None
    rate: str = "100Gbps"
    delay: str = "1us"
    planes: int = 1
    plane_form: str = "nic-per-plane"
    accelerators: int = 1
    nics: int = 1
    form: FileForm = "yaml"


class BuildData(TypedDict):
    """Data of `topology build`: the file as a document, and what it describes."""

    kind: str
    testbed: dict[str, Any]
    counts: Counts


def run_build(request: BuildRequest) -> tuple[Result, bytes]:
    """Return the result and the testbed file, checked by reading it back and planning it.

    Raises:
        InputError: an unknown kind, or (as SpecError, by option) numbers that make no fabric.
    """
    if request.kind not in KINDS:
        raise InputError(
            "CTB-T022",
            f"{request.kind!r} is not a kind of fabric",
            hint=did_you_mean(request.kind, KINDS),
        )
    document = _document(request)
    content = dump_testbed(document, request.form)
    try:
        plan = require_plan(parse_testbed(content, "-"))
    except SpecError as error:
        raise SpecError(tuple(_by_option(finding) for finding in error.findings)) from None
    data: BuildData = {"kind": request.kind, "testbed": document, "counts": counts_of(plan)}
    return Result("ctestbed.topology.build/1", data), content


def _document(request: BuildRequest) -> dict[str, Any]:
    fabric: dict[str, Any] = {"kind": request.kind, "tiers": _tiers(request)}
    for key in ("k", "pods", "leaves", "hosts_per_leaf", "spines", "cores", "parallel", "radix"):
        value = getattr(request, key)
        if value is not None:
            fabric[key] = value
    fabric["rate"] = _kept(request.rate, parse_rate, "--rate")
    fabric["delay"] = _kept(request.delay, parse_time, "--delay")
    order = f"-k{request.k}" if request.k is not None else ""
    document: dict[str, Any] = {"ctestbed": 1, "name": request.name or f"{request.kind}{order}"}
    if (request.accelerators, request.nics) != (1, 1):
        document["host"] = {"accelerators": request.accelerators, "nics": request.nics}
    if request.planes != 1:
        document["planes"] = {"count": request.planes, "form": request.plane_form}
    document["fabric"] = fabric
    return document


def _tiers(request: BuildRequest) -> int:
    if request.tiers is not None:
        return request.tiers
    by_two_counts = request.leaves is not None and request.pods is None and request.cores is None
    return 2 if by_two_counts else 3


def _kept(text: str, parse: Any, option: str) -> str:
    """Refuse a bad quantity by its option's name; keep the user's own way of writing it."""
    if text != "unknown":
        parse(text, Where(pointer=option))
    return text


_OPTIONS: Final[dict[str, str]] = {
    "name": "--name",
    "planes.count": "--planes",
    "planes.form": "--plane-form",
    "host.accelerators": "--accelerators",
    "host.nics": "--nics",
}


def _by_option(finding: Finding) -> Finding:
    """Say which option is meant, since the user wrote no file."""
    pointer = finding.where.pointer if finding.where else None
    if pointer is None:
        return Finding(finding.code, finding.severity, finding.message, None, finding.hint)
    option = _OPTIONS.get(pointer)
    if option is None and pointer.startswith("fabric."):
        option = f"--{pointer.removeprefix('fabric.').replace('_', '-')}"
    where = Where(pointer=option or pointer)
    return Finding(finding.code, finding.severity, finding.message, where, finding.hint)
