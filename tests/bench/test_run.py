"""`bench run`: whole testbeds, held to what their files expect."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ctestbed.bench import testbed_run
from ctestbed.bench.commands import BenchRequest, run_bench, run_list
from ctestbed.core.data import data_directory
from ctestbed.core.errors import ExitCode, InputError
from ctestbed.core.result import UNKNOWN, Result
from ctestbed.topology.load import builtin_testbeds
from ctestbed.transport.problem import UNFINISHED, FlowOutcome, FlowProblem
from tests.cli.shell import process

CAMPUS = "two-campus-150km"


def run(name: str, seed: int | None = None) -> Result:
    return run_bench(BenchRequest(name, seed), lambda _label: None)


def edited(directory: Path, *changes: tuple[str, str], of: str = CAMPUS) -> str:
    """Write a built-in testbed with some of its text replaced, and little memory to encrypt."""
    text = (data_directory("topologies") / f"{of}.yaml").read_text()
    text = text.replace("size: 16MiB", "size: 64KiB")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = directory / "edited.yaml"
    path.write_text(text)
    return str(path)


def values(result: Result) -> dict[str, Any]:
    return {metric.name: metric.value for metric in result.metrics}


@pytest.fixture(scope="module")
def campus() -> Result:
    return run(CAMPUS)


def test_the_campus_runs_every_section(campus: Result) -> None:
    assert (campus.exit_code, campus.complete) == (ExitCode.OK, True)
    data = campus.data
    assert (data["verdict"], data["root_class"]) == ("affirming", "emulated")
    assert data["counts"]["accelerator"] == 2048
    assert {check["status"] for check in data["checks"]} == {"pass", "skip"}
    assert [e["status"] for e in data["expectations"]] == ["pass"] * 5
    assert not [f for f in campus.findings if f.severity == "error"]
    assert [path["destination"] for path in data["routes"]] == [
        "east/h127/nic-0",
        "west/h000/nic-0",
    ]


def test_the_campus_s_figures_and_where_they_come_from(campus: Result) -> None:
    by_name = {metric.name: metric for metric in campus.metrics}
    closed_form = by_name["headroom.closed_form"]
    assert (closed_form.value, closed_form.unit) == (75_000_000, "bytes")
    assert closed_form.provenance == "modelled"
    assert by_name["headroom.configured"].value == 75_000_000
    # 16 MB over a thirty-second of 400 Gb/s, 150 km and four cables of 1 us.
    assert by_name["fct.max"].value == 10_240_000_000 + 754_000_000
    assert by_name["fct.max"].provenance == "simulated"
    assert by_name["drops.lossless"].value == 0
    throughput = by_name["memory.sm4_xts.throughput"]
    assert (throughput.provenance, throughput.kind) == ("measured", "timed")
    assert throughput.unit == "bytes per CPU second"
    assert isinstance(throughput.value, float)
    assert throughput.value > 0


def test_the_host_sees_ciphertext_and_the_guest_plaintext(campus: Result) -> None:
    vm = campus.data["confidential"]
    assert vm["host_view"] != vm["guest_view"]
    assert len(vm["host_view"]) == len(vm["guest_view"]) == 128
    assert vm["attestation"]["verdict"] == "affirming"


def test_too_little_headroom_names_all_64_ports(tmp_path: Path) -> None:
    result = run(edited(tmp_path, ("headroom: 75MB", "headroom: 60MB")))
    assert result.exit_code == ExitCode.CHECKS_FAILED
    assert result.complete
    ports = [f.message.split()[1] for f in result.findings if f.code == "CTB-S032"]
    assert len(set(ports)) == len(ports) == 64
    (missed,) = [f for f in result.findings if f.code == "CTB-B002"]
    assert missed.message == (
        "expected `headroom.configured >= headroom.closed_form`, but headroom.configured is "
        "60 MB and headroom.closed_form is 75 MB"
    )
    assert missed.where is not None
    assert missed.where.pointer == "expect[1]"
    assert result.data["verdict"] == "affirming"


def test_an_expectation_that_fails(tmp_path: Path) -> None:
    result = run(edited(tmp_path, ("fct.max <= 250ms", "fct.max <= 1ms"), ("2048", "2047")))
    assert result.exit_code == ExitCode.CHECKS_FAILED
    assert [f.code for f in result.findings if f.severity == "error"] == ["CTB-B002"] * 2
    statuses = [e["status"] for e in result.data["expectations"]]
    assert statuses == ["fail", "pass", "pass", "fail", "pass"]


def test_an_unknown_figure_satisfies_nothing(tmp_path: Path) -> None:
    result = run(edited(tmp_path, ("headroom: 75MB", "headroom: unknown")))
    assert result.exit_code == ExitCode.CHECKS_FAILED
    assert values(result)["headroom.configured"] == UNKNOWN
    assert [f.code for f in result.findings if f.severity == "error"] == ["CTB-B003"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("fct.max <= 250ms", "fct.mux <= 250ms"), "CTB-B004"),
        (("fct.max <= 250ms", "memory.sm4_xts.throughput >= 1"), "CTB-B005"),
        (("fct.max <= 250ms", "about right"), "CTB-B001"),
        (("platform: csv", "platform: plain"), "CTB-B008"),
        (("platform: csv", "platform: csv\n  policy: 99"), "CTB-B008"),
        (("name: in-campus", "name: cross-campus"), "CTB-B009"),
        (("pattern: shift:8", "pattern: shift:1"), "CTB-R001"),
        (("pattern: shift:8", "pattern: tree"), "CTB-S010"),
        (("size: 16MB", "size: 0"), "CTB-S013"),
        (("seed: 1", "sed: 1"), "CTB-C041"),
    ],
)
def test_what_cannot_be_run_is_refused(tmp_path: Path, change: tuple[str, str], code: str) -> None:
    with pytest.raises(InputError) as caught:
        run(edited(tmp_path, change))
    assert caught.value.code == code
    assert caught.value.exit_code == ExitCode.INPUT


@pytest.mark.parametrize("platform", ["csv3", "sev", "snp", "tdx", "cca", "virtcca"])
def test_a_platform_without_evidence_yet_is_refused(tmp_path: Path, platform: str) -> None:
    with pytest.raises(InputError) as caught:
        run(edited(tmp_path, ("platform: csv", f"platform: {platform}")))
    assert caught.value.code == "CTB-B008"
    assert caught.value.exit_code == ExitCode.INPUT
    assert caught.value.where is not None
    assert caught.value.where.pointer == "confidential.platform"


def test_an_unsound_network_stops_the_run_after_validation(tmp_path: Path) -> None:
    result = run(edited(tmp_path, ("radix: 64", "radix: 32")))
    assert result.exit_code == ExitCode.CHECKS_FAILED
    assert result.complete
    assert result.data["transfers"] == []
    assert result.data["verdict"] is None
    assert "CTB-T014" in {f.code for f in result.findings}


@pytest.mark.parametrize("name", builtin_testbeds())
def test_every_built_in_testbed_runs(name: str) -> None:
    result = run(name)
    assert result.exit_code == ExitCode.OK
    assert result.complete
    assert "fail" not in {check["status"] for check in result.data["checks"]}
    if name == "kunlun-32k":  # its delays are unpublished, and notes say so
        assert {f.severity for f in result.findings} == {"note"}


def test_a_seed_changes_what_is_drawn_and_nothing_else(campus: Result) -> None:
    again, other = run(CAMPUS), run(CAMPUS, seed=7)
    assert again.data == campus.data
    assert other.data["seed"] == 7
    report = "confidential"
    assert other.data[report]["measurement"] == campus.data[report]["measurement"]
    assert other.data[report]["host_view"] != campus.data[report]["host_view"]
    assert values(other)["fct.max"] == values(campus)["fct.max"]


def test_canonical_bytes_rest_on_nothing_but_inputs_and_seed(tmp_path: Path) -> None:
    outcomes = [
        process(
            *("bench", "run", CAMPUS, "--seed", "5", "--format", "json", "--canonical"),
            cwd=place,
            env={"PYTHONHASHSEED": seed, "CTESTBED_STATE_DIR": str(place / "s"), "TZ": zone},
        )
        for place, seed, zone in (
            (tmp_path, "1", "UTC"),
            (data_directory("topologies"), "2", "Asia/Shanghai"),
        )
    ]
    assert [outcome.code for outcome in outcomes] == [0, 0]
    assert outcomes[0].stdout == outcomes[1].stdout
    envelope = outcomes[0].json
    assert "run" not in envelope
    assert envelope["request"]["seed"] == 5
    timed = [metric for metric in envelope["metrics"] if metric["kind"] == "timed"]
    assert timed
    assert not [metric for metric in timed if {"value", "n", "ci95"} & set(metric)]
    assert str(tmp_path) not in outcomes[0].stdout


@pytest.mark.parametrize(
    ("step", "done"),
    [
        ("_validate", []),
        ("_drive", ["counts", "headroom", "routes"]),
        ("_measure_memory", ["counts", "headroom", "routes", "transfers", "verdict"]),
    ],
)
def test_an_interrupt_keeps_what_is_finished(
    step: str, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_run: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(testbed_run, step, interrupt)
    result = run(CAMPUS)
    assert result.exit_code == ExitCode.INTERRUPTED
    assert not result.complete
    parts = ("counts", "headroom", "routes", "transfers", "verdict")
    assert [part for part in parts if result.data[part]] == done


def test_flows_that_never_finish_break_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """An invariant weighs more than a failed expectation: exit 22, not 10."""

    def stuck(problem: FlowProblem, _engine: str) -> FlowOutcome:
        return FlowOutcome(np.full(problem.flows, UNFINISHED))

    monkeypatch.setattr("ctestbed.workload.drive.solve_flows", stuck)
    result = run("lab-128")
    assert result.exit_code == ExitCode.INVARIANT_BROKEN
    assert values(result)["fct.max"] == UNKNOWN
    assert {f.code for f in result.findings if f.severity == "error"} >= {"CTB-S015"}


def test_progress_names_each_step(tmp_path: Path) -> None:
    seen: list[str] = []
    run_bench(BenchRequest(edited(tmp_path)), seen.append)
    assert seen == [
        "validate",
        "route",
        "headroom",
        "transfers",
        "confidential VM",
        "memory encryption",
        "expectations",
    ]


@pytest.mark.parametrize("name", ["memory", "attestation", "fabric", "transfer"])
@pytest.mark.slow
def test_benchmarks_time_and_judge_nothing(name: str) -> None:
    result = run(name)
    assert (result.exit_code, result.findings) == (ExitCode.OK, ())
    assert result.data["kind"] == "benchmark"
    assert result.metrics
    for metric in result.metrics:
        assert isinstance(metric.value, float)
        assert metric.value > 0
        assert metric.source
        if metric.name.startswith("memory.published."):  # of hardware, beside what was timed
            assert (metric.kind, metric.provenance) == ("exact", "claimed")
            continue
        assert (metric.kind, metric.provenance) == ("timed", "measured")
        assert metric.n


def test_the_list_is_what_can_be_run() -> None:
    listed = run_list().data["runnable"]
    names = [entry["name"] for entry in listed]
    assert names == ["memory", "attestation", "fabric", "transfer", *builtin_testbeds()]
    assert all(entry["title"] for entry in listed)


def test_names_are_resolved_to_testbeds_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = (data_directory("topologies") / "lab-128.yaml").read_text()
    monkeypatch.chdir(tmp_path)
    Path("memory").write_text(small)
    with pytest.raises(InputError) as caught:
        run("memory")
    assert caught.value.code == "CTB-B007"
    assert caught.value.hint == "write the testbed as a path, such as `./memory`"
    assert run("./memory").data["name"] == "lab-128"
    Path("mine.yaml").write_text(small)
    assert run("mine.yaml").data["name"] == "lab-128"
    for name in ("memmory", "lab-129"):
        with pytest.raises(InputError) as caught:
            run(name)
        assert caught.value.code == "CTB-B006"
        assert caught.value.hint in {"did you mean `memory`?", "did you mean `lab-128`?"}
    with pytest.raises(InputError) as caught:
        run("absent.yaml")
    assert caught.value.code != "CTB-B006"


def test_a_testbed_comes_by_stdin() -> None:
    text = (data_directory("topologies") / "lab-128.yaml").read_bytes()
    outcome = process("bench", "run", "-", "--format", "json", stdin=text)
    assert outcome.code == 0, outcome.stderr
    assert outcome.json["inputs"][0]["name"] in {"-", "<stdin>", "stdin"}
    assert json.dumps(outcome.json["data"]["counts"]) == json.dumps(run("lab-128").data["counts"])
