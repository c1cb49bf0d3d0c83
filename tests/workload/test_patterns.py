"""Traffic patterns: who sends to whom, by law and by the published scenarios."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import InputError, Where
from ctestbed.topology.build import load_topology
from ctestbed.workload.flows import MAX_FLOWS
from ctestbed.workload.patterns import build_pattern
from ctestbed.workload.traffic import reachable_groups


def pairs(text: str, groups: list[int] | int, seed: int = 1) -> list[tuple[int, int]]:
    """Return the pairs of a pattern over groups of endpoints dealt out in turn, as planes are."""
    planes = groups if isinstance(groups, list) else [groups]
    dealt = [np.arange(size) * len(planes) + at for at, size in enumerate(planes)]
    source, destination = build_pattern(text, dealt, seed)
    return list(zip(source.tolist(), destination.tolist(), strict=True))


@given(st.integers(2, 300), st.integers(1, 10**9 - 1))
def test_shift_sends_everyone_by_the_same_distance(n: int, by: int) -> None:
    if by % n == 0:
        return
    assert pairs(f"shift:{by}", n) == [(i, (i + by) % n) for i in range(n)]


@given(st.integers(1, 40), st.integers(2, 5))
def test_shift_counts_over_all_planes(size: int, planes: int) -> None:
    n = size * planes
    assert pairs("shift:1", [size] * planes) == [(i, (i + 1) % n) for i in range(n)]


@given(st.integers(2, 300), st.integers(0, 2**63 - 1))
def test_permutation_is_one_cycle_through_everyone(n: int, seed: int) -> None:
    following = dict(pairs("permutation", n, seed))
    assert sorted(following) == sorted(following.values()) == list(range(n))
    visited, at = set(), 0
    while at not in visited:
        visited.add(at)
        at = following[at]
    assert len(visited) == n


def test_permutation_stays_inside_planes_and_rests_on_the_seed() -> None:
    drawn = pairs("permutation", [50, 50, 50])
    assert len(drawn) == 150
    assert all(a % 3 == b % 3 for a, b in drawn)
    shapes = [[(a // 3, b // 3) for a, b in drawn if a % 3 == plane] for plane in range(3)]
    assert shapes[0] != shapes[1] != shapes[2]
    assert pairs("permutation", [50, 50, 50]) == drawn
    assert pairs("permutation", [50, 50, 50], seed=2) != drawn


def test_permutation_leaves_out_an_endpoint_alone_in_its_plane() -> None:
    assert pairs("permutation", [1, 1]) == []


@given(st.lists(st.integers(1, 12), min_size=1, max_size=3))
def test_all_to_all_is_every_ordered_pair_of_each_plane(sizes: list[int]) -> None:
    planes = len(sizes)
    drawn = pairs("all-to-all", sizes)
    members = [[i * planes + at for i in range(size)] for at, size in enumerate(sizes)]
    assert sorted(drawn) == sorted((a, b) for own in members for a in own for b in own if a != b)


@given(st.integers(2, 300), st.data())
def test_incast_picks_distinct_senders_evenly(n: int, data: st.DataObject) -> None:
    senders = data.draw(st.integers(1, n - 1))
    drawn = pairs(f"incast:{senders}", n)
    sources = [a for a, _ in drawn]
    assert {b for _, b in drawn} == {0}
    assert sources[0] == 1
    assert len(set(sources)) == senders
    assert set(np.diff(sources).tolist()) <= {n // senders}
    assert 0 < max(sources) < n


def test_incast_32_is_the_published_scenario() -> None:
    """S1: hosts 1, 5, 9, ..., 125 to host 0."""
    assert pairs("incast:32", 128) == [(sender, 0) for sender in range(1, 126, 4)]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("star", "CTB-S010", "'star' is not a traffic pattern"),
        ("", "CTB-S010", "'' is not a traffic pattern"),
        ("Shift:1", "CTB-S010", "'Shift:1' is not a traffic pattern"),
        ("shift", "CTB-S010", "'shift' is not written as `shift:K`"),
        ("shift:", "CTB-S010", "'shift:' is not written as `shift:K`"),
        ("shift:-1", "CTB-S010", "'shift:-1' is not written as `shift:K`"),
        ("shift:1.5", "CTB-S010", "'shift:1.5' is not written as `shift:K`"),
        ("shift:9999999999", "CTB-S010", "'shift:9999999999' is not written as `shift:K`"),
        ("incast", "CTB-S010", "'incast' is not written as `incast:N`"),
        ("permutation:3", "CTB-S010", "'permutation:3' is not written as `permutation`"),
        ("all-to-all:3", "CTB-S010", "'all-to-all:3' is not written as `all-to-all`"),
        ("shift:0", "CTB-S011", "'shift:0' over 8 endpoints sends everyone to itself"),
        ("shift:16", "CTB-S011", "'shift:16' over 8 endpoints sends everyone to itself"),
        ("incast:0", "CTB-S011", "'incast:0' does not fit: 8 endpoints reach each other"),
        ("incast:8", "CTB-S011", "'incast:8' does not fit: 8 endpoints reach each other"),
    ],
)
def test_what_is_no_pattern_is_refused(text: str, code: str, message: str) -> None:
    where = Where("file.yaml", "transfers[0]", 7)
    with pytest.raises(InputError) as caught:
        build_pattern(text, [np.arange(8)], 1, where)
    assert (caught.value.code, caught.value.message) == (code, message)
    assert caught.value.where == where
    assert caught.value.hint


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        drawn = pairs(text, 8)
    except InputError:
        return
    assert drawn


def test_too_many_flows_are_refused_before_they_are_made() -> None:
    groups = [np.arange(10**6)]
    with pytest.raises(InputError) as caught:
        build_pattern("all-to-all", groups, 1)
    assert caught.value.code == "CTB-S012"
    assert f"{10**12:,} flows, and {MAX_FLOWS:,} is the most" in caught.value.message


def test_groups_are_planes_unless_nics_are_split() -> None:
    _, campus = load_topology("two-campus-150km")
    groups = reachable_groups(campus)
    assert [len(group) for group in groups] == [256] * 8
    assert all(set((group % 8).tolist()) == {at} for at, group in enumerate(groups))
    _, lab = load_topology("lab-128")
    assert [len(group) for group in reachable_groups(lab)] == [128]
