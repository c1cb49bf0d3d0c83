"""Series over time and trees of pauses, as `sim transfer` and its report show them."""

from pathlib import Path
from typing import Any

import pytest

from ctestbed.bench.report.blocks import Plot, Table, Text
from ctestbed.bench.report.sights import sight_blocks
from ctestbed.core.result import Result
from ctestbed.workload.packet_transfer import PacketTransferRequest, run_packet_transfer


def run(pattern: str, size: str, testbed: str = "lab-128", **options: Any) -> Result:
    request = PacketTransferRequest(testbed, pattern, size, engine="reference", **options)
    return run_packet_transfer(request)


def figures(result: Result) -> dict[str, Any]:
    return {metric.name: metric.value for metric in result.metrics}


def test_a_series_adds_up_to_the_run() -> None:
    result = run("incast:8", "400kB", xoff="40kB")
    packet = result.data["packet"]
    series = packet["series"]
    count = len(series["queued"])
    assert 16 <= count <= 256
    assert all(len(series[name]) == count for name in ("held", "goodput", "unfinished"))
    assert series["unfinished"] == sorted(series["unfinished"], reverse=True)
    assert series["unfinished"][0] == 8
    came = sum(rate * series["step"] for rate in series["goodput"]) / 8e12
    assert 0.9 * 8 * 400_000 < came <= 8 * 400_000
    assert max(series["goodput"]) <= 10**11
    ports = {port["link"]: port for port in packet["ports"]}
    for port in series["ports"]:
        assert len(port["queued"]) == len(port["held"]) == count
        assert max(port["queued"]) <= ports[port["link"]]["queue_peak"]
    assert 1 <= len(series["ports"]) <= 12
    # The busiest is the last port: seven of eight senders wait there.
    assert series["ports"][0]["receiver"].startswith("h000")


def test_a_storm_is_named_with_all_that_it_paused(tmp_path: Path) -> None:
    lone = tmp_path / "lone.cm"
    lone.write_text("Nodes 128\nConnections 1\n127->0 start 0 size 4000000\n")
    result = run(
        str(lone), "4MB", "fat-tree-128", xoff="40kB", fail=("storm:h000@1us..900us",)
    )  # fmt: skip
    told = result.data["packet"]["pause_tree"]
    # Six cables: the storm's, and one after the other back to the sender.
    (tree,) = told["trees"]
    assert (tree["links"], tree["hosts"], tree["depth"]) == (6, 1, 6)
    assert tree["storm"]
    assert tree["root"].startswith("h000")
    assert tree["time"] == 1_000_000
    assert [pause["depth"] for pause in told["pauses"]] == [2, 3, 4, 5, 6]
    assert told["pauses"][-1]["sender"].startswith("h127")
    (finding,) = [found for found in result.findings if found.code == "CTB-S150"]
    assert "storm of h000" in finding.message
    assert "paused 6 links, 1 of them of hosts" in finding.message
    drawn = sight_blocks(dict(result.data["packet"]))
    assert [type(block) for block in drawn[:2]] == [Table, Text]
    assert sum(isinstance(block, Plot) for block in drawn) == 4
    text = next(block.text for block in drawn if isinstance(block, Text))
    assert text.count("\n") == 4
    assert text.splitlines()[-1].endswith("paused h127/nic-0")


def test_congestion_at_the_last_switch_has_a_root_for_each_port_it_pauses(tmp_path: Path) -> None:
    near = tmp_path / "near.csv"
    lines = [f"{host},0,400kB" for host in range(1, 8)]
    near.write_text("source,destination,size\n" + "\n".join(lines) + "\n")
    result = run(str(near), "400kB", xoff="40kB")
    told = result.data["packet"]["pause_tree"]
    assert (told["roots"], told["links"], told["hosts"]) == (7, 7, 7)
    for tree in told["trees"]:
        assert not tree["storm"]
        assert (tree["root"], tree["links"], tree["depth"]) == ("leaf-00", 1, 1)
    assert all(pause["cause"] is None for pause in told["pauses"])
    assert "CTB-S150" not in {finding.code for finding in result.findings}


def test_a_run_without_pauses_has_no_tree() -> None:
    result = run("incast:1", "40kB")
    assert "pause_tree" not in result.data["packet"]


@pytest.mark.parametrize(("buffer", "stands"), [("8kB", True), ("4MB", False)])
def test_time_without_credit_is_a_figure(buffer: str, stands: bool) -> None:
    result = run("shift:64", "40kB", flow_control="cbfc", xoff=buffer, headroom="4kB")
    found = figures(result)
    assert (found["credit.stall.longest"] > 0) is stands
    assert (found["credit.stall.links"] > 0) is stands
    assert 0 <= found["credit.stall.share.max"] < 1
    assert (
        max(port["stalled"] for port in result.data["packet"]["ports"])
        == (found["credit.stall.longest"])
    )
    assert "credit.stall.longest" not in figures(run("shift:64", "4kB"))
