"""The structure of a fabric as people see it."""

from typing import Any

from ctestbed.bench.report.blocks import Table
from ctestbed.bench.report.structure import narrowing_blocks, paths_line, structure_blocks
from ctestbed.topology.commands import ShowRequest, TestbedRequest, run_show, run_validate


def tables(name: str) -> dict[str, Table]:
    blocks = structure_blocks(run_validate(TestbedRequest(name)).data["structure"])
    return {block.title: block for block in blocks if isinstance(block, Table)}


def test_sites_and_planes_that_are_alike_share_a_row() -> None:
    found = tables("two-campus-150km")
    (row,) = found["Structure"].rows
    assert row[-2:] == ("0-7", "east, west")
    assert found["Between sites"].rows == (("1", "0", "0", "1"),)


def test_every_tier_of_every_site_says_how_far_it_narrows() -> None:
    (block,) = narrowing_blocks(
        run_validate(TestbedRequest("three-vendor-sites")).data["narrowing"]
    )
    assert isinstance(block, Table)
    narrow = {(row[0], row[-1]): row[-2] for row in block.rows}
    assert narrow["leaf - spine", "middle"] == "2:1"
    assert narrow["spine - core", "south"] == "4:1"
    assert narrow["trunk", "middle"] == "32:3"  # 204.8 Tb/s of NICs, 48 trunk cables of 400 Gb/s
    assert narrow["accelerator - scale-up", "middle"] == "UNKNOWN"


def test_networks_of_equals_narrow_nowhere() -> None:
    assert narrowing_blocks(run_validate(TestbedRequest("slim-fly-6498")).data["narrowing"]) == []


def test_bounds_that_do_not_meet_are_both_shown() -> None:
    (row,) = tables("dragonfly-1056")["Structure"].rows
    assert "26.9 Tb/s to 27.2 Tb/s" in row


def test_unknown_rates_count_cables() -> None:
    (row,) = tables("tpu-v4-4096")["Structure"].rows
    assert "512 cables" in row


def test_nothing_to_tell() -> None:
    assert structure_blocks(None) == []
    assert "Single points of failure" not in tables("hpn-15360")


def test_show_tells_paths_in_a_line() -> None:
    site: dict[str, Any] = run_show(ShowRequest("hpn-two-pods")).data["sites"][0]
    line = paths_line(site["paths"][0])
    assert line.startswith("at most 4 hops between leaves, 60-480 shortest and 60 disjoint paths")
