"""`sim transfer --seeds`: one transfer with several seeds, on all cores, and how runs spread."""

import multiprocessing
import os
import re
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from math import sqrt
from types import FrameType
from typing import Final

from typing_extensions import TypedDict

from ctestbed.core.errors import CtestbedError, ExitCode, InputError, Where
from ctestbed.core.interrupt import Wish, wish_to_stop
from ctestbed.core.result import UNKNOWN, Finding, Metric, Result
from ctestbed.transport.packet.memory import share_with
from ctestbed.workload.packet_transfer import PacketTransferRequest, run_packet_transfer

MAX_RUNS: Final = 1_000
_RANGE: Final = re.compile(r"([0-9]{1,18})(?:\.\.([0-9]{1,18}))?")
_LOOK_S: Final = 0.2
"""Between two looks at the keyboard while processes work."""


class RunData(TypedDict):
    """One run: its seed, whether it was whole, its exit code, and its exact metrics by name."""

    seed: int
    complete: bool
    exit_code: int
    metrics: dict[str, int | float | str]


class SpreadData(TypedDict):
    """How a metric spread over `n` runs in which it is known; quantiles are of nearest rank.

    `sd` is the standard deviation of the sample, 0 for a single run.
    """

    name: str
    unit: str
    n: int
    mean: float
    sd: float
    min: int | float
    p50: int | float
    p90: int | float
    max: int | float


class SeedsData(TypedDict):
    """Data of `sim transfer --seeds`: the runs that came to an end, and the spread of metrics."""

    testbed: str
    pattern: str
    seeds: list[int]
    runs: list[RunData]
    spread: list[SpreadData]


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of one seed: a report without its data, or why there is none."""

    seed: int
    result: Result | None = None
    error: "Refusal | None" = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """The parts of an error, which cross from one process to another."""

    kind: type[CtestbedError]
    code: str
    message: str
    where: Where | None
    hint: str | None

    def error(self) -> CtestbedError:
        """Return it as it was raised."""
        return self.kind(self.code, self.message, where=self.where, hint=self.hint)


def parse_seeds(text: str) -> list[int]:
    """Read seeds such as `1..8` or `1,5,9..12`, each once.

    Raises:
        InputError: it is not written so, names none, or too many.
    """
    seeds: dict[int, None] = {}
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not 0 <= last - first < MAX_RUNS or len(seeds) + last - first >= MAX_RUNS:
            raise InputError(
                "CTB-S151",
                f"{part[:80]!r} is no range of seeds",
                where=Where(pointer="--seeds"),
                hint=f"write `1..8` or `1,5,9..12`, of at most {MAX_RUNS:,} seeds",
            )
        seeds |= dict.fromkeys(range(first, last + 1))
    return list(seeds)


def run_seeds(
    request: PacketTransferRequest,
    seeds: Sequence[int],
    progress: Callable[[str], None] | None = None,
) -> Result:
    """Drive the same traffic once with each seed.

    Raises:
        CtestbedError: every run was refused; of the first seed, why.
    """
    with wish_to_stop() as wish:
        ran = _run_all([replace(request, seed=seed) for seed in seeds], wish, progress)
    results = [(each.seed, each.result) for each in ran if each.result is not None]
    refused = [each.error for each in ran if each.error is not None]
    if refused and not results:
        raise refused[0].error()
    whole = [(seed, result) for seed, result in results if result.complete]
    stopped = wish.stop or len(whole) < len(results)
    spread = [_spread(metrics) for metrics in _by_name([result for _, result in whole])]
    data: SeedsData = {
        "testbed": request.testbed,
        "pattern": request.pattern,
        "seeds": list(seeds),
        "runs": [_run_data(seed, result) for seed, result in results],
        "spread": [row for row, _ in spread],
    }
    codes = {result.exit_code for _, result in results} - {ExitCode.OK, ExitCode.INTERRUPTED}
    code = max([*codes, *(each.kind.exit_code for each in refused)], default=ExitCode.OK)
    return Result(
        "ctestbed.sim.transfer-seeds/1",
        data,
        findings=tuple(_findings(seeds, ran, stopped=stopped)),
        metrics=tuple(metric for _, metric in spread),
        inputs=results[0][1].inputs if results else (),
        exit_code=ExitCode.INTERRUPTED if stopped else ExitCode(code),
        complete=not stopped,
    )


def _run(request: PacketTransferRequest) -> Ran:
    """Run one seed; its flows and series stay behind."""
    seed = request.seed or 0
    try:
        result = run_packet_transfer(request)
    except CtestbedError as error:
        told = Refusal(type(error), error.code, error.message, error.where, error.hint)
        return Ran(seed, error=told)
    return Ran(seed, replace(result, data={}))


def _start_worker(processes: int) -> None:
    """Share the memory with the other processes, and hear of Ctrl-C from the parent alone."""
    share_with(processes)
    signal.signal(signal.SIGINT, _pass)
    if hasattr(os, "setsid"):
        os.setsid()


def _pass(number: int, frame: FrameType | None) -> None:
    """Have a process that waits for work go on waiting: its parent ends it."""


def _run_apart(request: PacketTransferRequest) -> Ran:
    """Run one seed in a process of its own, where a wish to stop before it has begun ends it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return _run(request)
    except KeyboardInterrupt:
        return Ran(request.seed or 0)
    finally:
        signal.signal(signal.SIGINT, before)


def _run_all(
    tasks: Sequence[PacketTransferRequest], wish: Wish, progress: Callable[[str], None] | None
) -> list[Ran]:
    """Return what came of the tasks that were begun, in their order."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    processes = min(cores or 1, len(tasks))
    if processes == 1 or tasks[0].engine == "reference":
        return _run_in_turn(tasks, wish, progress)
    from ctestbed.transport.packet.engine import load_kernel

    load_kernel()  # compiled once, before many would each compile it
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, _start_worker, (processes,)) as pool:
        futures = [pool.submit(_run_apart, task) for task in tasks]
        _await(futures, wish, progress)
        return [future.result() for future in futures if not future.cancelled()]


def _run_in_turn(
    tasks: Sequence[PacketTransferRequest], wish: Wish, progress: Callable[[str], None] | None
) -> list[Ran]:
    ran: list[Ran] = []
    for task in tasks:
        if progress is not None:
            progress(f"{len(ran):,} of {len(tasks):,} runs done")
        ran.append(_run(task))
        result = ran[-1].result
        if wish.stop or (result is not None and not result.complete):
            break
    return ran


def _await(futures: list[Future[Ran]], wish: Wish, progress: Callable[[str], None] | None) -> None:
    """Wait until all are done; once somebody wishes to stop, begin none and stop the others."""
    told, still = False, set(futures)
    while still:
        done, still = wait(still, _LOOK_S, FIRST_COMPLETED)
        if done and progress is not None:
            progress(f"{len(futures) - len(still):,} of {len(futures):,} runs done")
        if wish.stop and not told:
            told = True
            still = {future for future in still if not future.cancel()}
            for process in multiprocessing.active_children():
                if process.pid is not None:
                    os.kill(process.pid, signal.SIGINT)


def _findings(seeds: Sequence[int], ran: list[Ran], *, stopped: bool) -> list[Finding]:
    """Report a stop and refusals, then the findings of the runs: alike ones once, with seeds."""
    found = []
    if stopped:
        whole = sum(each.result is not None and each.result.complete for each in ran)
        found.append(
            Finding(
                "CTB-S130",
                "warning",
                f"stopped by Ctrl-C with {whole:,} of {len(seeds):,} runs whole",
                None,
                "the figures are of the whole runs; run it again for all",
            )
        )
    found += [
        Finding(
            "CTB-S152",
            "error",
            f"the run with seed {each.seed} was refused ({each.error.code}): {each.error.message}",
            each.error.where,
            each.error.hint,
        )
        for each in ran
        if each.error is not None
    ]
    first: dict[tuple[str, str], Finding] = {}
    alike: dict[tuple[str, str], list[int]] = {}
    for each in ran:
        findings = each.result.findings if each.result is not None else ()
        for finding in findings:
            if finding.code != "CTB-S130":
                key = finding.code, finding.severity
                first.setdefault(key, finding)
                mine = alike.setdefault(key, [])
                if each.seed not in mine:
                    mine.append(each.seed)
    for which, finding in first.items():
        count, seed = len(alike[which]), alike[which][0]
        where = f"in {count:,} of {len(ran):,} runs, first with seed {seed}"
        found.append(replace(finding, message=f"{where}: {finding.message}"))
    return found


def _run_data(seed: int, result: Result) -> RunData:
    exact = {metric.name: metric.value for metric in result.metrics if metric.kind == "exact"}
    return {
        "seed": seed,
        "complete": result.complete,
        "exit_code": int(result.exit_code),
        "metrics": exact,
    }


def _by_name(results: list[Result]) -> list[list[Metric]]:
    """Return the exact metrics of all runs, those of one name together."""
    names: dict[str, list[Metric]] = {}
    for result in results:
        for metric in result.metrics:
            if metric.kind == "exact" and metric.value != UNKNOWN:
                names.setdefault(metric.name, []).append(metric)
    return list(names.values())


def _spread(metrics: list[Metric]) -> tuple[SpreadData, Metric]:
    """Return how a metric spread, and its mean as a metric."""
    values = sorted(metric.value for metric in metrics if not isinstance(metric.value, str))
    count = len(values)
    mean = sum(values) / count
    square = sum((value - mean) ** 2 for value in values)

    def rank(percent: int) -> int | float:
        return values[max(0, -(-percent * count // 100) - 1)]

    row: SpreadData = {
        "name": metrics[0].name,
        "unit": metrics[0].unit,
        "n": count,
        "mean": _short(mean),
        "sd": _short(sqrt(square / (count - 1)) if count > 1 else 0.0),
        "min": values[0],
        "p50": rank(50),
        "p90": rank(90),
        "max": values[-1],
    }
    source = f"mean of {count:,} runs that differ in their seed; {metrics[0].source}"
    return row, replace(metrics[0], value=row["mean"], n=count, source=source)


def _short(value: float) -> float:
    return round(value, 6)
