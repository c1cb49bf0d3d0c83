"""What `bench list` and `bench run` compute."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from typing_extensions import TypedDict

from ctestbed.bench.catalog import BENCHMARKS
from ctestbed.bench.run_data import BenchmarkRunData
from ctestbed.core.errors import InputError
from ctestbed.core.files import exists, is_file
from ctestbed.core.names import did_you_mean
from ctestbed.core.result import Result
from ctestbed.topology.load import builtin_testbeds, load_testbed


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """A testbed (path, built-in name or `-`) or a benchmark; `seed` None takes the testbed's."""

    name: str
    seed: int | None = None


class RunnableData(TypedDict):
    """Something that `bench run` runs."""

    name: str
    kind: Literal["testbed", "benchmark"]
    title: str


class BenchListData(TypedDict):
    """Data of `bench list`."""

    runnable: list[RunnableData]


def run_list() -> Result:
    """List benchmarks and built-in testbeds."""
    runnable = [
        RunnableData(name=name, kind="benchmark", title=entry.title)
        for name, entry in BENCHMARKS.items()
    ]
    runnable += [
        RunnableData(name=name, kind="testbed", title=load_testbed(name).testbed.title or "")
        for name in builtin_testbeds()
    ]
    return Result("ctestbed.bench.list/1", {"runnable": runnable})


def run_bench(request: BenchRequest, progress: Callable[[str], None]) -> Result:
    """Run a testbed or a benchmark; a path or a testbed's name comes first.

    Raises:
        InputError: the name is neither, or both.
    """
    name = request.name
    is_benchmark = name in BENCHMARKS
    is_testbed = name in builtin_testbeds()
    if is_benchmark and (is_testbed or is_file(Path(name))):
        raise InputError(
            "CTB-B007",
            f"{name!r} is both a testbed and a benchmark",
            hint=f"write the testbed as a path, such as `./{name}`",
        )
    if is_benchmark:
        return _run_benchmark(name, progress)
    if not (is_testbed or name == "-" or exists(Path(name)) or "/" in name or "." in name):
        known = [*BENCHMARKS, *builtin_testbeds()]
        raise InputError(
            "CTB-B006",
            f"{name!r} is neither a file, a built-in testbed nor a benchmark",
            hint=did_you_mean(name, known),
        )
    from ctestbed.bench.testbed_run import RunRequest, run_testbed

    return run_testbed(RunRequest(name, request.seed), progress)


def _run_benchmark(name: str, progress: Callable[[str], None]) -> Result:
    from ctestbed.bench.benchmarks import run_benchmark

    progress(f"benchmark {name}")
    entry = BENCHMARKS[name]
    data = BenchmarkRunData(kind="benchmark", name=name, title=entry.title, method=entry.method)
    return Result("ctestbed.bench.run/1", data, metrics=run_benchmark(name))
