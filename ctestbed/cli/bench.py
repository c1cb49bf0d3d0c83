"""`ctestbed bench list|run`."""

from typing import Annotated

import typer

from ctestbed.cli._command import Reply, command, noun_app
from ctestbed.cli._options import SeedOption
from ctestbed.cli._progress import progress_line

app = noun_app("bench", help="Run testbeds and benchmarks end to end.")


def _complete_name(incomplete: str) -> list[str]:
    from ctestbed.bench.catalog import BENCHMARKS
    from ctestbed.cli._options import complete_testbed

    names = [name for name in BENCHMARKS if name.startswith(incomplete)]
    return names + complete_testbed(incomplete)


@command(app, "list", example="ctestbed bench list")
def list_all() -> Reply:
    """List the testbeds and benchmarks that can be run."""
    from ctestbed.bench.commands import run_list

    return Reply(run_list())


@command(app, "run", example="ctestbed bench run two-campus-150km")
def run(
    name: Annotated[
        str,
        typer.Argument(
            metavar="TESTBED|BENCHMARK",
            help="A testbed file or name, - for stdin, or a benchmark's name.",
            autocompletion=_complete_name,
        ),
    ],
    seed: SeedOption = None,
) -> Reply:
    """Run a whole testbed against its expectations, or one benchmark."""
    from ctestbed.bench.commands import BenchRequest, run_bench

    with progress_line() as progress:
        return Reply(run_bench(BenchRequest(name, seed), progress))
