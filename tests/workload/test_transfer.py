"""`sim transfer`: closed forms, published figures, and an independent solver on what it prints."""

from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.core.errors import ExitCode, InputError
from ctestbed.core.result import UNKNOWN, Result
from ctestbed.topology.build import build_topology, load_topology
from ctestbed.transport.flow import FlowEngine
from ctestbed.transport.problem import UNFINISHED, FlowOutcome
from ctestbed.workload.drive import drive
from ctestbed.workload.transfer import (
    TransferRequest,
    run_transfer,
    transfer_findings,
    transfer_metrics,
)
from tests.topology.strategies import fat_tree, load_document, testbeds
from tests.transport.oracle import ends

US = 10**6


def run(testbed: str, pattern: str, size: str, **options: Any) -> Result:
    return run_transfer(TransferRequest(testbed, pattern, size, **options))


def figures(result: Result) -> dict[str, Any]:
    return {metric.name: metric.value for metric in result.metrics}


def solve_again(data: Any) -> list[int]:
    """Solve what was printed by an independent solver: round the last byte up, add the delays."""
    links = {link["id"]: link for link in data["links"]}
    number = {directed: at for at, directed in enumerate(links)}
    flows = data["flows"]
    exact = ends(
        [link["rate"] for link in links.values()],
        [[number[directed] for directed in flow["path"]] for flow in flows],
        [flow["size"] for flow in flows],
        [flow["start"] for flow in flows],
    )
    return [
        ceil(end) + sum(links[directed]["delay"] for directed in flow["path"])
        for end, flow in zip(exact, flows, strict=True)
        if end is not None
    ]


def test_shift_on_lab_128_takes_164_us_exactly() -> None:
    """2 MB at 100 Gb/s is 160 us, and four cables of 1 us."""
    result = run("lab-128", "shift:64", "2MB")
    assert {flow["fct"] for flow in result.data["flows"]} == {164 * US}
    assert figures(result)["fct.max"] == 164_000_000
    assert figures(result)["link.utilisation.max"] == 1.0
    assert result.exit_code == ExitCode.OK
    assert {metric.provenance for metric in result.metrics} == {"simulated", "modelled"}


@pytest.mark.parametrize(("testbed", "by"), [("fat-tree-128", 64), ("fat-tree-1024", 512)])
def test_shift_on_fat_trees_takes_what_simgrid_says(testbed: str, by: int) -> None:
    """S2: SimGrid 3.32 ends all flows at 166 us under non-blocking static routing."""
    result = run(testbed, f"shift:{by}", "2MB")
    assert {flow["fct"] for flow in result.data["flows"]} == {166 * US}


def test_incast_is_shared_equally_at_the_receiver() -> None:
    """S1: 32 MB through one 100G port is 2,560 us; then 2, 4 or 6 cables of 1 us."""
    result = run("fat-tree-128", "incast:32", "1MB")
    by_sender = {flow["src"]: flow["fct"] for flow in result.data["flows"]}
    assert list(by_sender) == list(range(1, 126, 4))
    assert by_sender[1] == 2562 * US
    assert {by_sender[sender] for sender in (5, 9, 13)} == {2564 * US}
    assert {fct for sender, fct in by_sender.items() if sender > 15} == {2566 * US}
    assert figures(result)["goodput.total"] == 32 * 8 * 10**6 * 10**12 // (2566 * US)


@given(st.integers(1, 127), st.integers(1, 10**7))
def test_incast_closed_form(senders: int, size: int) -> None:
    _, topology = load_topology("lab-128")
    driven = drive(topology, f"incast:{senders}", size, "balanced", seed=1)
    last_byte = -(-senders * size * 8 * 10**12 // 10**11)
    expected = [last_byte + (2 if sender < 8 else 4) * US for sender in driven.source.tolist()]
    assert driven.fct.tolist() == expected


def test_shift_across_campuses_shares_each_trunk_by_32() -> None:
    result = run("two-campus-150km", "shift:1024", "16MB")
    at_rate = 16 * 10**6 * 8 * 10**12 // (400 * 10**9 // 32)
    assert {flow["fct"] for flow in result.data["flows"]} == {at_rate + 754 * US}
    trunks = [link for link in result.data["links"] if link["delay"] == 750 * US]
    assert [link["flows"] for link in trunks] == [32] * 64
    assert {link["bytes"] for link in trunks} == {32 * 16 * 10**6}


@pytest.mark.parametrize(
    ("testbed", "pattern", "spread", "seed"),
    [
        ("lab-128", "shift:64", "ecmp", None),
        ("lab-128", "permutation", "ecmp", 3),
        ("lab-128-wide", "permutation", "balanced", 4),
        ("fat-tree-128", "shift:64", "ecmp", 11),
    ],
)
def test_printed_paths_solved_again(
    testbed: str, pattern: str, spread: Any, seed: int | None
) -> None:
    result = run(testbed, pattern, "2MB", spread=spread, seed=seed)
    fct = [flow["fct"] for flow in result.data["flows"]]
    assert solve_again(result.data) == fct
    assert figures(result)["fct.max"] == max(fct) == result.data["makespan"]
    assert result.data["exact"]


@settings(max_examples=25)
@given(testbeds(), st.data())
def test_any_small_testbed_solved_again(document: dict[str, Any], data: Any) -> None:
    topology = build_topology(load_document(document))
    pattern = data.draw(st.sampled_from(["permutation", "all-to-all", "incast:1", "incast:3"]))
    spread = data.draw(st.sampled_from(["balanced", "ecmp"]))
    size = data.draw(st.integers(1, 10**6))
    try:
        driven = drive(topology, pattern, size, spread, seed=data.draw(st.integers(0, 9)))
    except InputError as error:
        assert error.code == "CTB-S011"
        return
    flows = len(driven.fct)
    if not 0 < flows <= 40:
        return
    used = np.unique(driven.paths.links).tolist()
    paths = [driven.paths.path(flow).tolist() for flow in range(flows)]
    exact = ends(
        [int(topology.links.rate[directed // 2]) for directed in used],
        [[used.index(directed) for directed in path] for path in paths],
        [size] * flows,
        [0] * flows,
    )
    assert driven.fct.tolist() == [
        ceil(end or 0) + sum(int(topology.links.delay[directed // 2]) for directed in path)
        for end, path in zip(exact, paths, strict=True)
    ]


@pytest.mark.numba
@settings(max_examples=20)
@given(testbeds(), st.data())
def test_engines_agree(document: dict[str, Any], data: Any) -> None:
    topology = build_topology(load_document(document))
    pattern = data.draw(st.sampled_from(["permutation", "incast:1", "incast:3"]))
    size, seed = data.draw(st.integers(1, 10**9)), data.draw(st.integers(0, 9))

    def fct(engine: FlowEngine) -> list[int]:
        driven = drive(topology, pattern, size, "ecmp", seed=seed, engine=engine)
        return [int(time) for time in driven.fct]

    try:
        expected = fct("reference")
    except InputError as error:
        assert error.code == "CTB-S011"
        return
    if expected:
        assert fct("auto") == fct("flow") == expected


def unknown(**cables: str) -> dict[str, Any]:
    document = fat_tree(tiers=2, leaves=2, hosts_per_leaf=2, spines=1)
    document["fabric"]["spine_links"] = cables
    return document


@pytest.mark.parametrize("what", ["rate", "delay"])
def test_an_unknown_quantity_makes_unknown_times(what: str) -> None:
    topology = build_topology(load_document(unknown(**{what: "unknown"})))
    driven = drive(topology, "shift:2", 10**6, "balanced", seed=1)
    assert not driven.known
    assert driven.fct.tolist() == [-1] * 4
    assert driven.curve(4) == []
    shown = {metric.name: metric.value for metric in transfer_metrics(topology, driven)}
    for name in ("fct.min", "fct.p50", "fct.p99", "fct.max", "goodput.total"):
        assert shown[name] == UNKNOWN
    assert shown["link.utilisation.max"] == UNKNOWN
    assert shown["flows.unfinished"] == (UNKNOWN if what == "rate" else 0)
    (finding,) = transfer_findings(driven)
    assert (finding.code, finding.severity) == ("CTB-S014", "note")
    assert finding.message.startswith(f"the {what} of a cable on the way is unknown")


def test_a_delay_that_stops_waiting_flows_is_called_a_delay() -> None:
    topology = build_topology(load_document(unknown(delay="unknown")))
    transfer = drive(topology, f"all-reduce:{topology.endpoints}", 10**6, "ecmp", seed=1)
    assert transfer.outcome is None
    (finding,) = transfer_findings(transfer)
    assert finding.message.startswith("the delay of a cable on the way is unknown")


def test_flows_that_miss_the_unknown_cable_are_known() -> None:
    """Under one leaf nothing crosses the spine, so its unknown rate concerns nobody."""
    topology = build_topology(load_document(unknown(rate="unknown")))
    driven = drive(topology, "incast:1", 10**6, "balanced", seed=1)
    assert driven.fct.tolist() == [-(-(8 * 10**6 * 10**12) // (400 * 10**9)) + 2 * US]
    mixed = build_topology(load_document(unknown(delay="unknown")))
    driven = drive(mixed, "incast:3", 10**6, "balanced", seed=1)
    assert driven.fct.tolist() == [62 * US, -1, -1]
    assert not driven.known


def test_kunlun_s_unpublished_delays_stay_unknown() -> None:
    result = run("kunlun-32k", "shift:4", "1MB")
    assert result.exit_code == ExitCode.OK
    assert figures(result)["fct.max"] == UNKNOWN
    assert [finding.code for finding in result.findings] == ["CTB-S014"]
    assert result.data["makespan"] == UNKNOWN
    assert {flow["fct"] for flow in result.data["flows"]} == {UNKNOWN}
    assert len(result.data["flows"]) == 20_000 < result.data["flow_count"] == 32_768
    assert "--flows all" in result.data["note"]


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=300))
def test_percentiles_are_nearest_rank(times: list[int]) -> None:
    """The p-th percentile is the least of the values that p % of the values do not exceed."""
    _, topology = load_topology("lab-128")
    driven = drive(topology, "shift:1", 1000, "balanced", seed=1)
    changed = replace(
        driven, fct=np.array(times, np.int64) + 1, starts=np.zeros(len(times), np.int64)
    )
    shown = {metric.name: metric.value for metric in transfer_metrics(topology, changed)}
    for name, share in (("p50", Fraction(1, 2)), ("p99", Fraction(99, 100))):
        least = min(
            value for value in times if sum(t <= value for t in times) >= share * len(times)
        )
        assert shown[f"fct.{name}"] == least + 1
    assert shown["fct.min"] == min(times) + 1
    assert shown["fct.max"] == max(times) + 1


def test_goodput_and_utilisation_by_hand() -> None:
    """Three senders of 1 MB into 400G: 60 us and 4 cables; a sender's port is a third busy."""
    topology = build_topology(
        load_document(fat_tree(tiers=2, leaves=2, hosts_per_leaf=2, spines=2))
    )
    driven = drive(topology, "incast:3", 10**6, "balanced", seed=1)
    shown = {metric.name: metric.value for metric in transfer_metrics(topology, driven)}
    assert shown["fct.max"] == 64 * US
    assert shown["goodput.total"] == 3 * 8 * 10**6 * 10**12 // (64 * US)
    assert shown["link.utilisation.max"] == 1.0
    assert shown["drops.lossless"] == 0
    lone = drive(topology, "shift:1", 10**6, "balanced", seed=1)
    assert lone.curve(2)[0] == lone.fct.min()
    assert lone.curve(2)[-1] == lone.fct.max()


@pytest.mark.parametrize(
    ("size", "code"),
    [
        ("0", "CTB-S013"),
        ("0B", "CTB-S013"),
        ("2", None),
        ("2Mb", None),
        ("-1MB", None),
        ("4000PiB", "CTB-S002"),
        ("5000PiB", None),
    ],
)
def test_sizes_that_cannot_be_sent(size: str, code: str | None) -> None:
    with pytest.raises(InputError) as caught:
        run("lab-128", "shift:64", size)
    assert code is None or caught.value.code == code
    assert caught.value.exit_code == ExitCode.INPUT
    if caught.value.code != "CTB-S002":
        assert str(caught.value.where) == "--size"


def test_a_huge_size_that_the_clock_still_holds() -> None:
    """1 PB at 100 Gb/s is 80,000 seconds."""
    result = run("lab-128", "shift:64", "1PB")
    assert figures(result)["fct.max"] == 80_000 * 10**12 + 4 * US


def test_too_many_flows_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        run("fat-tree-8192", "all-to-all", "1MB")
    assert caught.value.code == "CTB-S012"
    assert "67,108,864 flows" in caught.value.message


def test_patterns_across_planes_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        run("two-campus-150km", "shift:1", "1MB")
    assert caught.value.code == "CTB-R001"
    assert caught.value.hint == "keep to one plane: shift by a multiple of 8, for instance"


def test_unfinished_and_doubtful_outcomes_are_told() -> None:
    _, topology = load_topology("lab-128")
    driven = drive(topology, "shift:64", 1000, "balanced", seed=1)
    stuck = driven.fct.copy()
    stuck[3] = UNFINISHED
    changed = replace(driven, fct=stuck, outcome=FlowOutcome(stuck, exact=False))
    assert changed.unfinished == 1
    found = transfer_findings(changed)
    assert [(f.code, f.severity) for f in found] == [
        ("CTB-S015", "error"),
        ("CTB-S016", "warning"),
    ]
    assert found[0].message == "1 of 128 flows never finish"
    shown = {metric.name: metric.value for metric in transfer_metrics(topology, changed)}
    assert shown["flows.unfinished"] == 1
    assert shown["fct.max"] == UNKNOWN
