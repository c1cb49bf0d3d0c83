"""`sim transfer --seeds`: several runs, in order, and how they spread."""

import os
import signal
from statistics import mean, stdev
from typing import Any

import pytest

from ctestbed.core.errors import EnvironmentLacksError, ExitCode, InputError
from ctestbed.transport.packet import memory
from ctestbed.transport.packet.engine import simulate
from ctestbed.transport.packet.problem import one_cable
from ctestbed.workload.packet_runs import parse_seeds, run_seeds
from ctestbed.workload.packet_transfer import PacketTransferRequest, run_packet_transfer


def request(pattern: str = "shift:64", size: str = "40kB", **options: Any) -> PacketTransferRequest:
    options.setdefault("engine", "reference")
    return PacketTransferRequest("lab-128", pattern, size, **options)


def fct(seed: int) -> int:
    result = run_packet_transfer(request(seed=seed))
    return next(metric.value for metric in result.metrics if metric.name == "fct.max")  # type: ignore[return-value]


def test_the_spread_is_that_of_the_runs_one_by_one() -> None:
    seeds = [5, 1, 2, 9]
    result = run_seeds(request(), seeds)
    alone = [fct(seed) for seed in seeds]
    assert len(set(alone)) > 1
    assert [run["seed"] for run in result.data["runs"]] == seeds
    assert [run["metrics"]["fct.max"] for run in result.data["runs"]] == alone
    (row,) = [row for row in result.data["spread"] if row["name"] == "fct.max"]
    assert row["n"] == 4
    assert row["mean"] == pytest.approx(mean(alone))
    assert row["sd"] == pytest.approx(stdev(alone))
    assert (row["min"], row["p50"], row["p90"], row["max"]) == (
        min(alone), sorted(alone)[1], max(alone), max(alone),
    )  # fmt: skip
    (metric,) = [metric for metric in result.metrics if metric.name == "fct.max"]
    assert (metric.value, metric.n, metric.provenance) == (row["mean"], 4, "simulated")
    assert not any(metric.kind == "timed" for metric in result.metrics)
    assert result.complete
    assert result.exit_code == ExitCode.OK


@pytest.mark.numba
def test_processes_give_what_one_gives() -> None:
    apart = run_seeds(request(engine="packet"), [3, 4, 1])
    alone = run_seeds(request(engine="reference"), [3, 4, 1])
    assert apart.data == alone.data


def test_a_finding_of_several_runs_stands_once() -> None:
    result = run_seeds(request("incast:4", xoff="8kB", headroom="4kB"), [1, 2, 3])
    assert result.exit_code == ExitCode.INVARIANT_BROKEN
    (loss,) = [finding for finding in result.findings if finding.code == "CTB-S084"]
    assert loss.message.startswith("in 3 of 3 runs, first with seed 1: ")


def test_what_no_run_can_do_is_refused_as_it_is_alone() -> None:
    with pytest.raises(InputError) as caught:
        run_seeds(request(horizon="0s"), [1, 2])
    assert caught.value.code == "CTB-S081"


def test_one_refusal_among_others_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def picky(asked: PacketTransferRequest) -> Any:
        if asked.seed == 2:
            raise EnvironmentLacksError("CTB-S131", "no room", hint="less")
        return run_packet_transfer(asked)

    monkeypatch.setattr("ctestbed.workload.packet_runs.run_packet_transfer", picky)
    result = run_seeds(request(), [1, 2, 3])
    (finding,) = [found for found in result.findings if found.code == "CTB-S152"]
    assert finding.message == "the run with seed 2 was refused (CTB-S131): no room"
    assert [run["seed"] for run in result.data["runs"]] == [1, 3]
    assert result.exit_code == ExitCode.ENVIRONMENT


def test_ctrl_c_keeps_the_runs_that_are_whole() -> None:
    heard: list[str] = []

    def press(label: str) -> None:
        heard.append(label)
        if label.startswith("2 of"):
            os.kill(os.getpid(), signal.SIGINT)

    result = run_seeds(request(), [1, 2, 3, 4, 5], press)
    assert result.exit_code == ExitCode.INTERRUPTED
    assert not result.complete
    assert result.findings[0].code == "CTB-S130"
    assert {row["n"] for row in result.data["spread"]} <= {2, 3}


@pytest.mark.parametrize(
    ("text", "seeds"), [("1..3", [1, 2, 3]), ("7", [7]), ("5,1..2,5", [5, 1, 2])]
)
def test_seeds_are_ranges(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "3..1", "a", "1..", "-1", "0..1000", "1..600,700..1300"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_seeds(text)
    assert caught.value.code == "CTB-S151"


@pytest.mark.numba
def test_several_processes_need_as_much_memory_together(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = one_cable(4000)
    need = memory.estimate(*problem[:2], problem[3])
    monkeypatch.setattr(memory, "available", lambda: 3 * need)
    monkeypatch.setattr(memory, "_sharing", [1])
    assert simulate(*problem).ended
    memory.share_with(4)
    with pytest.raises(EnvironmentLacksError, match="in 4 processes"):
        simulate(*problem)
