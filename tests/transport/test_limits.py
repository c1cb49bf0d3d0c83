"""Quantities at the edge of what 64-bit columns hold, through the layers that add them up."""

from pathlib import Path

import pytest

from ctestbed.core.errors import InputError
from ctestbed.routing.commands import PathRequest, run_path
from ctestbed.topology.commands import TestbedRequest, run_validate
from ctestbed.workload.transfer import TransferRequest, run_transfer


def testbed(folder: Path, counts: str, figures: str) -> str:
    path = folder / "edge.yaml"
    path.write_text(
        f"ctestbed: 1\nname: edge\nfabric: {{kind: fat-tree, {counts}, rate: 100Gbps, {figures}}}\n"
    )
    return str(path)


testbed.__test__ = False  # type: ignore[attr-defined]


def test_delays_that_overflow_when_added_are_refused(tmp_path: Path) -> None:
    """Six cables of 1,000 h fit 64 bits one by one; their sum once wrapped round unseen."""
    name = testbed(tmp_path, "tiers: 3, k: 4", "delay: 1000h")
    with pytest.raises(InputError) as caught:
        run_transfer(TransferRequest(name, "shift:8", "1MB"))
    assert caught.value.code == "CTB-S002"


def test_a_fibre_too_long_for_the_clock_is_refused(tmp_path: Path) -> None:
    name = testbed(tmp_path, "tiers: 2, k: 4", "length: 4_000_000_000_000km")
    with pytest.raises(InputError) as caught:
        run_validate(TestbedRequest(name))
    assert caught.value.code == "CTB-C005"


@pytest.mark.parametrize("pattern", ["permutation", "all-to-all"])
def test_a_lone_endpoint_has_nobody_to_send_to(tmp_path: Path, pattern: str) -> None:
    counts = "tiers: 2, leaves: 1, hosts_per_leaf: 1, spines: 1"
    name = testbed(tmp_path, counts, "delay: 1us")
    with pytest.raises(InputError) as caught:
        run_transfer(TransferRequest(name, pattern, "1MB"))
    assert caught.value.code == "CTB-S011"


def test_seeds_and_labels_of_more_than_64_bits_count_by_their_low_ones() -> None:
    wide = run_path(PathRequest("lab-128", "0", "9", "ecmp", 3 + 2**64, 5 + 2**70))
    assert wide.data == run_path(PathRequest("lab-128", "0", "9", "ecmp", 3, 5)).data
