"""`sim transfer` of files, and of flows that start late or wait for others."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ctestbed.core.errors import ExitCode, InputError
from ctestbed.core.result import Result
from ctestbed.topology.build import load_topology
from ctestbed.workload.collectives import all_reduce_flows
from ctestbed.workload.drive import drive, drive_flows
from ctestbed.workload.files.registry import dump_flows
from ctestbed.workload.flows import Flows
from ctestbed.workload.traffic import build_traffic
from ctestbed.workload.transfer import TransferRequest, run_transfer
from tests.shared import shared_data

US = 10**6


def run(testbed: str, file: Path | str, **options: Any) -> Result:
    return run_transfer(TransferRequest(testbed, str(file), **options))


def figures(result: Result) -> dict[str, Any]:
    return {metric.name: metric.value for metric in result.metrics}


def test_the_published_incast_from_its_file_is_the_pattern() -> None:
    file = shared_data("fabric/measured/incast32_128.cm")
    from_file = run("fat-tree-128", file)
    from_name = run_transfer(TransferRequest("fat-tree-128", "incast:32", "1MB"))
    assert from_file.data["flows"] == from_name.data["flows"]
    assert from_file.findings == ()
    assert [source.name for source in from_file.inputs][1:] == [str(file)]
    assert from_file.data["size"] == 10**6


def test_a_published_permutation_keeps_every_law() -> None:
    result = run(
        "fat-tree-128", shared_data("fabric/third-party/htsim/perm_128n_128c_2MB.cm"), seed=1
    )
    assert result.exit_code == ExitCode.OK
    assert result.data["bytes"] == 128 * 2 * 10**6
    # Alone, 2 MB take 160 us and up to 6 cables of 1 us.
    assert figures(result)["fct.min"] >= 162 * US


def test_starts_count_and_completions_count_from_them(tmp_path: Path) -> None:
    """Two flows share a receiver's port from 40 us on: 500 kB are left of the first."""
    path = tmp_path / "two.csv"
    path.write_text("source,destination,size,start\n1,0,1MB,0\n2,0,1MB,40us\n")
    result = run("lab-128", path)
    flows = result.data["flows"]
    assert [flow["start"] for flow in flows] == [0, 40 * US]
    assert [flow["fct"] for flow in flows] == [122 * US, 122 * US]
    assert result.data["makespan"] == 162 * US
    assert figures(result)["fct.max"] == 122 * US
    assert figures(result)["goodput.total"] == 2 * 8 * 10**6 * 10**12 // (162 * US)


MATRIX = """Nodes 128
Connections 3
Triggers 2
1->0 id 1 start 5000000 size 1000000 {end}_done_trigger 1
0->64 id 2 trigger 1 size 1000000 recv_done_trigger 2
64->1 id 3 trigger 2 size 500000
trigger id 1 oneshot
trigger id 2 oneshot
"""


@pytest.mark.parametrize(("end", "back"), [("recv", 0), ("send", 2)])
def test_triggers_start_flows_when_the_ones_before_are_done(
    tmp_path: Path, end: str, back: int
) -> None:
    """1 MB at 100 Gb/s is 80 us; 2 cables of 1 us inside a leaf, 4 across. A sender knows of the
    end when the last acknowledgement is back."""
    path = tmp_path / "chain.cm"
    path.write_text(MATRIX.format(end=end))
    flows = run("lab-128", path).data["flows"]
    assert [flow["start"] for flow in flows] == [at * US for at in (5, 87 + back, 87 + back + 84)]
    assert [flow["fct"] for flow in flows] == [82 * US, 84 * US, 44 * US]


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_a_ring_all_reduce_takes_its_closed_form(engine: Any) -> None:
    """2 (n - 1) steps of 1 us and 2 cables each; on its way round twice, less two hops, every
    piece crosses 32 times from leaf to leaf, which takes two cables more."""
    _, topology = load_topology("lab-128")
    driven = drive(topology, "all-reduce:1", 128 * 12_500, "balanced", seed=1, engine=engine)
    assert driven.makespan == 254 * (12_500 * 80 + 2 * US) + 32 * 2 * US
    assert driven.unfinished == 0


def test_one_group_reduces_in_two_phases() -> None:
    """8 endpoints of one leaf: each port carries 7 shares of S/8 twice, 2 cables each time."""
    _, topology = load_topology("lab-128")
    flows = all_reduce_flows([np.arange(8)], 8, 8_000_000)
    assert len(flows) == 2 * 8 * 7
    driven = drive_flows(topology, flows, "balanced", seed=1)
    assert driven.makespan == 2 * (7 * 10**6 * 80 + 2 * US)


def test_flows_of_one_pair_take_paths_of_their_own() -> None:
    """Like the queue pairs of a host: ECMP tells them apart by their number."""
    _, topology = load_topology("lab-128")
    flows = Flows.together(np.zeros(32, np.int64), np.full(32, 64), 1000)
    driven = drive_flows(topology, flows, "ecmp", seed=1)
    spines = {int(driven.paths.path(flow)[1]) for flow in range(32)}
    assert len(spines) > 4
    first = drive_flows(
        topology, Flows.together(np.array([0]), np.array([64]), 1000), "ecmp", seed=1
    )
    assert driven.paths.path(0).tolist() == first.paths.path(0).tolist()


def test_a_file_for_fewer_hosts_is_noted_and_one_for_more_refused(tmp_path: Path) -> None:
    _, topology = load_topology("lab-128")
    path = tmp_path / "small.cm"
    path.write_text(dump_flows(build_traffic("shift:1", 5, topology, 1), "htsim-cm", nodes=128))
    (note,) = run("fat-tree-1024", path).findings
    assert (note.code, note.severity) == ("CTB-S050", "note")
    assert "written for 128 hosts, and fat-tree-1024 has 1,024" in note.message
    other = tmp_path / "large.cm"
    other.write_text("Nodes 1024\nConnections 1\n0->1023 start 0 size 5\n")
    with pytest.raises(InputError) as caught:
        run("lab-128", other)
    assert (caught.value.code, caught.value.exit_code) == ("CTB-S037", ExitCode.INPUT)


def test_cut_cables_need_another_engine(tmp_path: Path) -> None:
    path = tmp_path / "cut.cm"
    path.write_text(
        "Nodes 128\nConnections 1\nFailures 1\n0->1 start 0 size 5\n"
        "failure switch_type AGG switch_id 0 link_id 0\n"
    )
    with pytest.raises(InputError) as caught:
        run("fat-tree-128", path)
    assert caught.value.code == "CTB-S047"
    assert caught.value.where is not None
    assert caught.value.where.line == 5
