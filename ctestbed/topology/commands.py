"""What `topology list`, `show` and `validate` compute."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from typing_extensions import TypedDict

from ctestbed.core.result import Result, checks_exit_code
from ctestbed.topology.analysis.data import StructureData
from ctestbed.topology.describe import Counts, counts_of, describe
from ctestbed.topology.load import LoadedTestbed, builtin_testbeds, load_testbed
from ctestbed.topology.narrowing import NarrowingData, narrowings
from ctestbed.topology.picture.scenes import EVERYTHING, Focus, picture_of
from ctestbed.topology.plan import require_plan
from ctestbed.topology.port_data import PortsData, ports_data

if TYPE_CHECKING:
    from ctestbed.topology.validate import Validation


class ListedTestbed(TypedDict):
    """One built-in testbed."""

    name: str
    title: str
    counts: Counts


class ListData(TypedDict):
    """Data of `topology list`."""

    testbeds: list[ListedTestbed]


class CheckData(TypedDict):
    """A check and its outcome; `skip` where the file describes nothing to check."""

    check: str
    status: Literal["pass", "fail", "skip"]


class ValidateData(TypedDict):
    """Data of `topology validate`; no counts where the file describes no network.

    No structure either, nor where only counts are asked for.
    """

    testbed: str
    title: str
    counts: Counts | None
    checks: list[CheckData]
    narrowing: list[NarrowingData]
    ports: PortsData
    structure: StructureData | None


@dataclass(frozen=True, slots=True)
class TestbedRequest:
    """Which testbed: a path, a built-in name, or `-`."""

    testbed: str

    __test__ = False


def run_list() -> Result:
    """List the built-in testbeds."""
    testbeds: list[ListedTestbed] = []
    for name in builtin_testbeds():
        loaded = load_testbed(name)
        title = loaded.testbed.title or ""
        counts = counts_of(require_plan(loaded))
        testbeds.append({"name": name, "title": title, "counts": counts})
    data: ListData = {"testbeds": testbeds}
    return Result("ctestbed.topology.list/1", data)


@dataclass(frozen=True, slots=True)
class ShowRequest:
    """Which testbed, and what of it the picture is to be of."""

    testbed: str
    focus: Focus = EVERYTHING


def run_show(request: ShowRequest) -> Result:
    """Describe a testbed's network.

    Raises:
        InputError: it cannot be read, or (as SpecError) describes no network; or it has no such
            site, plane, pod or leaf.
    """
    loaded = load_testbed(request.testbed)
    plan = require_plan(loaded)
    data = describe(loaded, plan)
    data["picture"] = picture_of(plan, request.focus)
    return Result("ctestbed.topology.show/1", data, inputs=(loaded.source,))


def run_validate(request: TestbedRequest) -> Result:
    """Check a testbed: exit code 10 with all findings where its network is unsound.

    Raises:
        InputError: it cannot be read, or (as SpecError) is no testbed file.
    """
    return validate_loaded(load_testbed(request.testbed))


def validate_loaded(loaded: LoadedTestbed) -> Result:
    """Check a testbed that has been read: exit code 10 with all findings."""
    from ctestbed.topology.validate import validate_testbed  # numpy: not for `list` and `show`

    validation = validate_testbed(loaded)
    return Result(
        "ctestbed.topology.validate/1",
        validation_data(loaded, validation),
        findings=validation.findings,
        metrics=() if validation.structure is None else validation.structure.metrics,
        inputs=(loaded.source,),
        exit_code=checks_exit_code(validation.findings),
    )


def validation_data(loaded: LoadedTestbed, validation: "Validation") -> ValidateData:
    """Return a validation as data."""
    return {
        "testbed": loaded.testbed.name,
        "title": loaded.testbed.title or "",
        "counts": None if validation.plan is None else counts_of(validation.plan),
        "checks": [
            {"check": check.name, "status": _status(check.passed)} for check in validation.checks
        ],
        "narrowing": [] if validation.plan is None else list(narrowings(validation.plan)),
        "structure": None if validation.structure is None else validation.structure.data,
        "ports": ports_data(loaded, validation.plan),
    }


def _status(passed: bool | None) -> Literal["pass", "fail", "skip"]:
    if passed is None:
        return "skip"
    return "pass" if passed else "fail"
