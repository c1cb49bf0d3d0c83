"""Run a whole testbed: build, validate, route, drive, attest, measure, and hold it to `expect`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ctestbed.bench.expectations import check_expectation, collect_known
from ctestbed.bench.run_data import ConfidentialData, TestbedRunData, TransferSummary
from ctestbed.core.errors import ExitCode, InputError
from ctestbed.core.result import UNKNOWN, Finding, Metric, Result
from ctestbed.core.seeds import spawn_seed
from ctestbed.topology.commands import validation_data
from ctestbed.topology.load import LoadedTestbed, load_testbed

if TYPE_CHECKING:
    from ctestbed.topology.graph import Topology
    from ctestbed.topology.testbed import Transfer
    from ctestbed.workload.drive import Transfer as Driven

SCHEMA: Final = "ctestbed.bench.run/1"
VIEW_BYTES: Final = 64
CURVE_POINTS: Final = 20

_WORST_FIRST: Final = (
    ExitCode.INVARIANT_BROKEN,
    ExitCode.INPUT,
    ExitCode.NOT_AUTHENTIC,
    ExitCode.NOT_FRESH,
    ExitCode.UNDECIDED,
    ExitCode.POLICY_REFUSED,
    ExitCode.CHECKS_FAILED,
)
"""Which code a run with several failures ends with."""

_BUFFER_CODES: Final = {"CTB-T070", "CTB-T072", "CTB-T073"}
"""Errors of validation about buffers, which change neither routes nor rates."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Run a testbed, by path, built-in name or `-`. `seed` None takes the testbed's own."""

    testbed: str
    seed: int | None = None


@dataclass
class _Run:
    """What has come of a run so far; a step adds to it, so an interrupt loses no finished step."""

    loaded: LoadedTestbed
    seed: int
    data: TestbedRunData
    findings: list[Finding] = field(default_factory=list)
    metrics: list[Metric] = field(default_factory=list)
    codes: set[ExitCode] = field(default_factory=set)
    sound: bool = True
    """Whether the network is one to route and drive traffic on, short as its headroom may be."""

    @cached_property
    def topology(self) -> "Topology":
        """Return the fabric as arrays, built once."""
        from ctestbed.topology.build import build_topology

        return build_topology(self.loaded)

    def add(self, findings: list[Finding]) -> None:
        """Keep what a part of the run found; an error among it fails the checks."""
        self.findings += findings
        if any(finding.severity == "error" for finding in findings):
            self.codes.add(ExitCode.CHECKS_FAILED)

    def result(self, *, complete: bool) -> Result:
        """Return the envelope's content as it stands."""
        code = next((code for code in _WORST_FIRST if code in self.codes), ExitCode.OK)
        return Result(
            SCHEMA,
            self.data,
            tuple(dict.fromkeys(self.findings)),
            tuple(self.metrics),
            (self.loaded.source,),
            code if complete else ExitCode.INTERRUPTED,
            complete,
        )


def run_testbed(request: RunRequest, progress: Progress) -> Result:
    """Run every section that the testbed file has, in order.

    An interrupt ends the run with what is done so far, marked incomplete.

    Raises:
        InputError: the testbed cannot be read, or asks for something that cannot be had.
    """
    loaded = load_testbed(request.testbed)
    testbed = loaded.testbed
    seed = testbed.seed if request.seed is None else request.seed
    data = TestbedRunData(
        kind="testbed",
        name=testbed.name,
        title=testbed.title or "",
        seed=seed,
        assumptions=list(testbed.assumptions),
        sources=list(testbed.sources),
        counts=None,
        checks=[],
        routes=[],
        headroom=None,
        transfers=[],
        confidential=None,
        verdict=None,
        root_class=None,
        expectations=[],
    )
    run = _Run(loaded, seed, data)
    try:
        for label, step in _steps(run):
            progress(label)
            step(run)
            if label == "validate" and not run.sound:
                break
    except KeyboardInterrupt:
        return run.result(complete=False)
    return run.result(complete=True)


def _steps(run: _Run) -> Iterator[tuple[str, Callable[[_Run], None]]]:
    testbed = run.loaded.testbed
    yield "validate", _validate
    yield "route", _route
    if testbed.trunks:
        yield "headroom", _check_headroom
    if testbed.transfers:
        yield "transfers", _drive
    if testbed.confidential is not None:
        yield "confidential VM", _attest
    if testbed.memory is not None:
        yield "memory encryption", _measure_memory
    if testbed.expect:
        yield "expectations", _expect


def _validate(run: _Run) -> None:
    from ctestbed.topology.validate import validate_testbed

    validation = validate_testbed(run.loaded)
    data = validation_data(run.loaded, validation)
    run.data["counts"], run.data["checks"] = data["counts"], data["checks"]
    errors = {finding.code for finding in validation.findings if finding.severity == "error"}
    run.sound = errors <= _BUFFER_CODES
    run.add([finding for finding in validation.findings if not _told_by_port(finding)])


def _told_by_port(finding: Finding) -> bool:
    """Whether the headroom step says the same of each port of a trunk."""
    pointer = finding.where.pointer if finding.where else None
    return finding.code in {"CTB-T070", "CTB-T071"} and (pointer or "").startswith("trunks[")


def _route(run: _Run) -> None:
    """Show a path within a site, and one to each other site, balanced; none without tiers."""
    from ctestbed.routing.commands import path_between
    from ctestbed.topology.plan import require_plan

    if require_plan(run.loaded).counts_only is not None or not run.topology.arithmetic:
        return
    topology = run.topology
    step = 1 if topology.split else topology.planes
    first = topology.sites[0]
    targets = [first.nics - step] + [site.first_nic for site in topology.sites[1:]]
    joined = {frozenset((trunk.site_a, trunk.site_b)) for trunk in topology.trunks}
    for position, target in enumerate(targets):
        reachable = position == 0 or frozenset((0, position)) in joined
        if target > 0 and reachable:
            run.data["routes"].append(path_between(topology, 0, target, "balanced", run.seed))


def _check_headroom(run: _Run) -> None:
    from ctestbed.workload.headroom import check_headroom

    data, findings, metrics = check_headroom(run.loaded, run.topology)
    run.data["headroom"] = data
    run.metrics += metrics
    run.add(findings)


def _drive(run: _Run) -> None:
    """Run every transfer by itself; `fct.max` and `drops.lossless` speak for the worst of them."""
    from ctestbed.workload.drive import drive
    from ctestbed.workload.transfer import SOURCE, transfer_findings, transfer_metrics

    worst: list[int | str] = []
    names: set[str] = set()
    for index, transfer in enumerate(run.loaded.testbed.transfers):
        where = run.loaded.document.where(("transfers", index))
        if transfer.name in names:
            raise InputError(
                "CTB-B009",
                f"two transfers are called {transfer.name!r}",
                where=where,
                hint="metrics go by the transfer's name; rename one of them",
            )
        names.add(transfer.name)
        driven = drive(
            run.topology,
            transfer.pattern,
            transfer.size,
            transfer.spread,
            seed=run.seed,
            where=where,
        )
        figures = transfer_metrics(run.topology, driven, f"{transfer.name}.")
        run.metrics += figures
        run.add(transfer_findings(driven, where))
        if driven.unfinished:
            run.codes.add(ExitCode.INVARIANT_BROKEN)
        summary = _summarise(transfer, driven, {m.name: m.value for m in figures})
        run.data["transfers"].append(summary)
        worst.append(summary["fct_max"])
    known = [value for value in worst if isinstance(value, int)]
    value = max(known) if len(known) == len(worst) else UNKNOWN
    run.metrics.append(Metric("fct.max", value, "ps", "simulated", "lower", source=SOURCE))
    lost = next(m for m in run.metrics if m.name.endswith(".drops.lossless"))
    run.metrics.append(replace(lost, name="drops.lossless"))


def _summarise(
    transfer: "Transfer", driven: "Driven", figures: dict[str, int | float | str]
) -> TransferSummary:
    def figure(name: str) -> int | str:
        value = figures[f"{transfer.name}.{name}"]
        return value if isinstance(value, str) else int(value)

    return TransferSummary(
        name=transfer.name,
        pattern=transfer.pattern,
        spread=transfer.spread,
        size=transfer.size,
        flows=len(driven.fct),
        unfinished=driven.unfinished,
        fct_min=figure("fct.min"),
        fct_p50=figure("fct.p50"),
        fct_p99=figure("fct.p99"),
        fct_max=figure("fct.max"),
        goodput_total=figure("goodput.total"),
        fct_curve=driven.curve(CURVE_POINTS),
    )


def _expect(run: _Run) -> None:
    outcomes: dict[str, str] = {}
    if run.data["verdict"] is not None:
        outcomes["attest.verdict"] = run.data["verdict"]
        outcomes["attest.root_class"] = str(run.data["root_class"])
    counts: dict[str, int] = dict(run.data["counts"] or {})  # type: ignore[arg-type]
    known = collect_known(tuple(run.metrics), counts, outcomes)
    for index, text in enumerate(run.loaded.testbed.expect):
        where = run.loaded.document.where(("expect", index))
        expectation, finding = check_expectation(text, known, where)
        run.data["expectations"].append(expectation)
        if finding is not None:
            run.findings.append(finding)
            run.codes.add(ExitCode.CHECKS_FAILED)


def _attest(run: _Run) -> None:
    from ctestbed.bench.trust import attest_demonstration
    from ctestbed.tee.platforms import require_platform

    section = run.loaded.testbed.confidential
    assert section is not None  # noqa: S101 - the step exists only where the section does
    where = run.loaded.document.where(("confidential", "platform"))
    require_platform(section.platform, where)
    if section.platform != "csv":
        raise InputError(
            "CTB-B008",
            f"a VM of platform {section.platform!r} has no evidence in this version, so it cannot"
            " be attested",
            where=where,
            hint="`platform: csv` can",
        )
    outcome = attest_demonstration(
        spawn_seed(run.seed, "confidential"),
        memory=section.memory,
        image_size=section.image_size,
    )
    vm = outcome.vm
    if section.policy not in {None, vm.policy}:
        raise InputError(
            "CTB-B008",
            f"a confidential VM of policy {section.policy} cannot be run yet",
            where=run.loaded.document.where(("confidential", "policy")),
            hint=f"`policy: {vm.policy}` can, and is what a VM has without the key",
        )
    run.data["confidential"] = ConfidentialData(
        platform=section.platform,
        memory=section.memory,
        image_size=len(vm.image),
        measurement=vm.measurement.hex(),
        policy=vm.policy,
        host_view=vm.host_view[:VIEW_BYTES].hex(),
        guest_view=vm.guest_view[:VIEW_BYTES].hex(),
        attestation=outcome.verdict,
    )
    run.data["verdict"] = outcome.verdict["verdict"]
    run.data["root_class"] = outcome.verdict["root_class"]
    run.findings += outcome.findings
    run.codes.add(outcome.exit_code)


def _measure_memory(run: _Run) -> None:
    from ctestbed.crypto.throughput import measure_ciphers
    from ctestbed.tee.throughput import DEFAULT_ROUNDS, measure_throughput

    section = run.loaded.testbed.memory
    assert section is not None  # noqa: S101 - the step exists only where the section does
    run.metrics += measure_ciphers(section.size, DEFAULT_ROUNDS, ["xts"])
    run.metrics += measure_throughput(section.size)
