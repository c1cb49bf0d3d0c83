"""Patterns in time: published sizes at random times, bursts, collectives; and what is refused."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import CtestbedError, InputError
from ctestbed.topology.build import load_topology
from ctestbed.topology.graph import Topology
from ctestbed.workload.arrivals import Load, Senders, burst_flows, poisson_flows
from ctestbed.workload.collectives import all_reduce_flows
from ctestbed.workload.flows import Flows, never_started
from ctestbed.workload.sizes import size_distributions
from ctestbed.workload.traffic import build_traffic, port_rates, reachable_groups, read_traffic

GIGABIT = 10**9
SECOND = 10**12


@pytest.fixture(scope="module")
def lab() -> Topology:
    return load_topology("lab-128")[1]


def senders(*sizes: int, rate: int = 100 * GIGABIT) -> Senders:
    """Return groups dealt out in turn, as planes are."""
    planes = len(sizes)
    groups = [np.arange(size) * planes + at for at, size in enumerate(sizes)]
    return Senders(groups, np.full(planes * max(sizes), rate))


# --- distributions


@pytest.mark.parametrize(
    ("name", "points", "mean"),
    [
        ("websearch", 12, 1_711_250),  # summed by hand
        ("fb-hadoop", 20, None),
        ("alistorage", 9, None),
    ],
)
def test_published_sizes(name: str, points: int, mean: int | None) -> None:
    """The mean is the area above the published curve."""
    sizes = size_distributions()[name]
    assert len(sizes.sizes) == len(sizes.shares) == points
    assert list(sizes.sizes) == sorted(set(sizes.sizes))
    assert list(sizes.shares) == sorted(sizes.shares)
    assert (sizes.shares[0], sizes.shares[-1]) == (Fraction(0), Fraction(1))
    assert sizes.source
    area = sum(
        (large - small) * (1 - (low + high) / 2)
        for small, large, low, high in zip(
            sizes.sizes, sizes.sizes[1:], sizes.shares, sizes.shares[1:], strict=False
        )
    )
    assert sizes.mean == area
    assert mean is None or sizes.mean == mean


@pytest.mark.parametrize("name", ["websearch", "fb-hadoop", "alistorage"])
def test_draws_follow_the_published_curve(name: str) -> None:
    sizes = size_distributions()[name]
    drawn = sizes.draw(200_000, np.random.default_rng(3))
    for size, share in zip(sizes.sizes, sizes.shares, strict=True):
        assert np.mean(drawn <= size) == pytest.approx(float(share), abs=0.006)
    assert drawn.min() >= 1
    assert drawn.mean() == pytest.approx(float(sizes.mean), rel=0.05)


# --- arrivals


def test_poisson_arrivals_carry_the_load_that_was_asked_for() -> None:
    sizes = size_distributions()["websearch"]
    flows = poisson_flows(senders(64), sizes, Load(Fraction(3, 10), flows=50_000), seed=1)
    span = int(flows.starts[-1])
    assert flows.total * 8 * SECOND / span == pytest.approx(0.3 * 64 * 100 * GIGABIT, rel=0.03)
    gaps = np.diff(flows.starts)
    assert gaps.min() >= 0
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.03)
    assert flows.fault(64) is None
    counts = np.bincount(flows.source, minlength=64)
    assert abs(counts - 50_000 / 64).max() < 6 * np.sqrt(50_000 / 64)


def test_poisson_arrivals_end_with_the_time() -> None:
    sizes = size_distributions()["alistorage"]
    flows = poisson_flows(senders(16), sizes, Load(Fraction(1, 2), time=10**10), seed=4)
    expected = 16 * 100 * GIGABIT / 2 / 8 / float(sizes.mean) / 100
    assert len(flows) == pytest.approx(expected, abs=6 * expected**0.5)
    assert int(flows.starts[-1]) < 10**10


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(0, 2**63 - 1))
def test_poisson_flows_stay_in_their_group(sizes: list[int], seed: int) -> None:
    if max(sizes) < 2:
        return
    who = senders(*sizes)
    flows = poisson_flows(who, size_distributions()["websearch"], Load(Fraction(1), 40), seed)
    member = {int(end): at for at, group in enumerate(who.groups) for end in group}
    ends = zip(flows.source.tolist(), flows.destination.tolist(), strict=True)
    assert all(member[a] == member[b] and a != b for a, b in ends)
    again = poisson_flows(who, size_distributions()["websearch"], Load(Fraction(1), 40), seed)
    np.testing.assert_array_equal(flows.starts, again.starts)
    np.testing.assert_array_equal(flows.sizes, again.sizes)


def test_faster_ports_send_more() -> None:
    who = senders(4)
    who.rates[:] = [100 * GIGABIT, 300 * GIGABIT, 0, 400 * GIGABIT]
    flows = poisson_flows(who, size_distributions()["websearch"], Load(Fraction(1), 8000), 1)
    counts = np.bincount(flows.source, minlength=4) / 8000
    assert counts == pytest.approx([1 / 8, 3 / 8, 0, 4 / 8], abs=0.02)


def test_bursts_leave_the_port_off_in_between() -> None:
    flows = burst_flows(senders(8), 200, 10**7, 10**6, seed=2)
    on = 8 * 10**6 * SECOND // (100 * GIGABIT)
    assert len(flows) == 1600
    assert flows.common_size == 10**6
    assert list(flows.starts) == sorted(flows.starts)
    offs = []
    for source in range(8):
        mine = flows.source == source
        assert len(set(flows.destination[mine].tolist())) == 1
        offs.append(np.diff(flows.starts[mine]) - on)
    every = np.concatenate(offs)
    assert every.min() >= 0
    assert every.mean() == pytest.approx(10**7, rel=0.1)


# --- all-reduce


def replay(flows: Flows, endpoints: int, members: int) -> None:
    """Follow what each endpoint knows: every flow sends only what has arrived by its waits."""
    assert flows.after is not None
    got: dict[int, set[int]] = {}  # flow -> endpoints whose data have reached its receiver by it
    for flow in order_of(flows):
        ahead = flows.after.of(flow)
        source = int(flows.source[flow])
        assert all(int(flows.destination[before]) == source for before in ahead)
        got[flow] = {source}.union(*(got[before] for before in ahead))
    final = [set[int]() for _ in range(endpoints)]
    for flow, known in got.items():
        final[int(flows.destination[flow])] |= known
    assert all(known | {at} == set(range(endpoints)) for at, known in enumerate(final))
    assert members >= 1


def order_of(flows: Flows) -> list[int]:
    assert flows.after is not None
    done: list[int] = []
    seen = set[int]()
    while len(done) < len(flows):
        ready = [
            flow
            for flow in range(len(flows))
            if flow not in seen and set(flows.after.of(flow)) <= seen
        ]
        assert ready
        done += ready
        seen |= set(ready)
    return done


@pytest.mark.parametrize(
    ("count", "members"), [(2, 1), (5, 1), (4, 2), (6, 3), (12, 3), (12, 4), (8, 8), (16, 2)]
)
def test_all_reduce_brings_everything_to_everyone(count: int, members: int) -> None:
    size = 10_007
    flows = all_reduce_flows([np.arange(count)], members, size)
    replay(flows, count, members)
    assert never_started(flows) == []
    assert flows.fault(count) is None
    nodes = count // members
    inside = count * (members - 1)
    assert len(flows) == 2 * inside + 2 * (nodes - 1) * count
    # A ring moves 2 (n - 1) / n of the array per rank; inside, each member's share goes twice.
    assert flows.total == 2 * (members - 1) * nodes * size + 2 * (nodes - 1) * size


def test_all_reduce_runs_in_every_plane_by_itself() -> None:
    groups = [np.arange(4) * 2, np.arange(4) * 2 + 1]
    flows = all_reduce_flows(groups, 2, 1000)
    assert len(flows) == 2 * len(all_reduce_flows(groups[:1], 2, 1000))
    ends = zip(flows.source.tolist(), flows.destination.tolist(), strict=True)
    assert all(a % 2 == b % 2 for a, b in ends)
    assert never_started(flows) == []


# --- by name


def test_patterns_of_a_testbed(lab: Topology) -> None:
    assert port_rates(lab).tolist() == [100 * GIGABIT] * 128
    assert len(build_traffic("ring", 5, lab, 1)) == 128
    assert len(build_traffic("poisson:websearch:50%:77", None, lab, 1)) == 77
    assert len(build_traffic("poisson:fb-hadoop:0.5:1ms", None, lab, 1)) > 1000
    assert len(build_traffic("on-off:3:10us", 5, lab, 1)) == 3 * 128
    assert len(build_traffic("all-reduce:8", 2 * 10**6, lab, 1)) == 2 * 128 * 7 + 30 * 128


def test_split_ports_count_together() -> None:
    _, topology = load_topology("mrc-131072")
    assert topology.split
    rates = port_rates(topology)
    assert set(rates.tolist()) == {800 * GIGABIT}
    assert len(reachable_groups(topology)) == 1


@pytest.mark.parametrize(
    ("text", "size", "code", "says"),
    [
        ("poisson", None, "CTB-S010", "is not written as `poisson:SIZES:LOAD:FLOWS`"),
        ("poisson:websearch:50%", None, "CTB-S010", "is not written as"),
        ("poisson:websearch:0%:5", None, "CTB-S010", "is not written as"),
        ("poisson:websearch:101%:5", None, "CTB-S010", "is not written as"),
        ("poisson:websearch:x:5", None, "CTB-S010", "is not written as"),
        ("poisson:websearch:50%:0", None, "CTB-S010", "is not written as"),
        ("poisson:websearch:50%:-1", None, "CTB-S010", "is not written as"),
        ("poisson:websearch:50%:5km", None, "CTB-S010", "is not written as"),
        ("poisson:websearch:50%:1ps", None, "CTB-S011", "no flow arrives in that time"),
        ("poisson:websearch:50%:1h", None, "CTB-S012", "flows would arrive"),
        ("poisson:websearch:50%:999999999", None, "CTB-S012", "flows would arrive"),
        ("poisson:web:50%:5", None, "CTB-S049", "no distribution of flow sizes is called 'web'"),
        ("on-off:5", 5, "CTB-S010", "is not written as `on-off:BURSTS:PAUSE`"),
        ("on-off:0:1us", 5, "CTB-S010", "is not written as"),
        ("on-off:999999999:1us", 5, "CTB-S012", "more than 4,194,304 flows"),
        ("on-off:30000:24h", 5, "CTB-S002", "later than the clock"),
        ("all-reduce", 5, "CTB-S010", "is not written as `all-reduce:G`"),
        ("all-reduce:0", 5, "CTB-S010", "is not written as"),
        ("all-reduce:3", 10**6, "CTB-S011", "128 endpoints that reach each other do not make"),
        ("all-reduce:1", 100, "CTB-S013", "100 bytes cannot be cut into 128 chunks"),
        ("shift:1", None, "CTB-S048", "says who sends, and not how much"),
        ("shift:1", 0, "CTB-S013", "a flow of 0 bytes moves nothing"),
        ("shft:1", None, "CTB-S010", "'shft:1' is not a traffic pattern"),
        ("ring:2", 5, "CTB-S010", "is not written as `ring`"),
    ],
)
def test_what_is_refused(lab: Topology, text: str, size: int | None, code: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        build_traffic(text, size, lab, 1)
    assert (caught.value.code, says in caught.value.message) == (code, True), caught.value.message
    assert caught.value.hint


def test_a_ring_too_large_is_refused_before_it_is_made() -> None:
    with pytest.raises(InputError) as caught:
        all_reduce_flows([np.arange(10**5)], 1, 10**9)
    assert caught.value.code == "CTB-S012"


@given(st.text(max_size=20), st.sampled_from(["poisson:", "on-off:", "all-reduce:", ""]))
def test_any_text_is_traffic_or_refused(text: str, head: str) -> None:
    topology = load_topology("lab-128")[1]
    try:
        flows = build_traffic(head + text, 4096, topology, 1)
    except CtestbedError:
        return
    assert flows.fault(128) is None


def test_a_file_is_told_from_a_pattern(
    lab: Topology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = "source,destination,bytes\nh000,127,5\n"
    for name in ("flows.csv", "flows"):
        Path(name).write_text(content)
        traffic = read_traffic(name, None, lab, 1)
        assert traffic.file is not None
        assert traffic.flows.destination.tolist() == [127]
    Path("ring").write_text(content)
    assert read_traffic("ring", "5B", lab, 1).file is None
    assert read_traffic("./ring", None, lab, 1).file is not None
    for text, size, code in (
        ("absent.cm", None, "CTB-C011"),
        ("flows.csv", "5", "CTB-C003"),
        ("ring", "0", "CTB-S013"),
    ):
        with pytest.raises(InputError) as caught:
            read_traffic(text, size, lab, 1)
        assert caught.value.code == code
    for text in ("flows.csv", "poisson:websearch:50%:5"):
        (note,) = read_traffic(text, "7B", lab, 1).notes
        assert (note.code, note.severity) == ("CTB-S048", "note")
        assert note.message == f"--size 7B is not used: {text!r} brings the sizes of its flows"
    Path("big.csv").write_text("source,destination,bytes\n0,128,5\n")
    with pytest.raises(InputError, match="is no endpoint of lab-128, which has 128"):
        read_traffic("big.csv", None, lab, 1)
    Path("name.csv").write_text("source,destination,bytes\n0,h999,5\n")
    with pytest.raises(InputError, match=r"lab-128 has no node 'h999'") as named:
        read_traffic("name.csv", None, lab, 1)
    assert (named.value.code, named.value.where.line) == ("CTB-S037", 2)  # type: ignore[union-attr]
