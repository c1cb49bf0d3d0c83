"""Failures as they are written: read, refused with the reason, and put in order of time."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import ExitCode, InputError
from ctestbed.topology.build import build_topology, load_topology
from ctestbed.topology.graph import Topology
from ctestbed.topology.names import node_name
from ctestbed.workload.failures import (
    FORMS,
    Failure,
    failures_of,
    link_states,
    parse_failure,
    parse_failures,
)
from ctestbed.workload.files.registry import parse_flows
from tests.topology.strategies import fat_tree, load_document

US = 10**6


@pytest.fixture(scope="module")
def lab() -> Topology:
    return load_topology("lab-128")[1]


@pytest.fixture(scope="module")
def tree() -> Topology:
    return load_topology("fat-tree-128")[1]


def ends(topology: Topology, directed: int) -> tuple[str, str]:
    pair = topology.links.a[directed // 2], topology.links.b[directed // 2]
    one, other = (node_name(topology, int(end)) for end in pair)
    return (one, other) if directed % 2 == 0 else (other, one)


def test_a_cable_is_named_in_three_ways(lab: Topology) -> None:
    by_ends = parse_failure("down:leaf-02~spine-1@10us", lab)
    up, down = by_ends.links
    assert ends(lab, up) == ("leaf-02", "spine-1")
    assert ends(lab, down) == ("spine-1", "leaf-02")
    port = int(lab.links.a_port[up // 2])
    for text in (f"down:{up // 2}@10us", f"down:leaf-02:{port}@10us", "down:spine-1~leaf-02@10us"):
        assert parse_failure(text, lab).links == by_ends.links
    assert (by_ends.start, by_ends.until) == (10 * US, None)


def test_a_host_stands_for_its_nic(lab: Topology) -> None:
    assert ends(lab, parse_failure("down:h003~leaf-00", lab).links[0])[1] == "leaf-00"


def test_every_kind(lab: Topology) -> None:
    flap = parse_failure("flap:7@1ms..2ms,down=10us,up=90us", lab)
    assert (flap.start, flap.until, flap.down, flap.up) == (10**9, 2 * 10**9, 10 * US, 90 * US)
    storm = parse_failure("storm:h005@50us,class=3", lab)
    assert (storm.endpoint, storm.traffic_class) == (5, 3)
    assert [ends(lab, link)[1] for link in storm.links] == ["leaf-00"]
    assert parse_failure("storm:5", lab).traffic_class is None
    slow = parse_failure("slow:127,rate=10Gbps", lab)
    assert (slow.endpoint, slow.rate, slow.start) == (127, 10**10, 0)
    for text, share in (
        ("1e-5", Fraction(1, 10**5)),
        ("0.1%", Fraction(1, 1000)),
        ("1", Fraction(1)),
    ):
        assert parse_failure(f"loss:7,share={text}", lab).share == share
    assert parse_failure("loss:7,share=0.5,way=up", lab).links == (14,)
    assert parse_failure("loss:7,share=0.5,way=down", lab).links == (15,)
    assert len(parse_failures(["down:1", "down:2"], lab)) == 2


def test_a_nic_with_several_ports_fails_at_all_of_them() -> None:
    _, topology = load_topology("mrc-131072")
    storm = parse_failure("storm:0", topology)
    assert len(storm.links) == topology.planes
    assert {ends(topology, link)[0] for link in storm.links} == {
        node_name(topology, topology.first_endpoint)
    }


def test_parallel_cables_are_told_apart() -> None:
    document = fat_tree(tiers=2, leaves=2, spines=2, hosts_per_leaf=2, parallel=3)
    topology = build_topology(load_document(document))
    with pytest.raises(InputError, match="3 cables join leaf-0 and spine-1") as caught:
        parse_failure("down:leaf-0~spine-1", topology)
    assert caught.value.hint == "say which: `leaf-0~spine-1#1` to `#3`"
    ids = [parse_failure(f"down:leaf-0~spine-1#{n}", topology).links[0] // 2 for n in (1, 2, 3)]
    assert ids == list(range(ids[0], ids[0] + 3))


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", "CTB-S045", "'' is not a failure"),
        ("down", "CTB-S045", "'down' is not a failure"),
        ("dwn:7", "CTB-S045", "'dwn:7' is not a failure"),
        ("down:", "CTB-S045", "'' is no cable"),
        ("down:leaf-02", "CTB-S045", "'leaf-02' is no cable"),
        ("down:-1", "CTB-S045", "'-1' is no cable"),
        ("down:7@", "CTB-S045", "FROM: '' is not a time"),
        ("down:7@10", "CTB-S045", "FROM: time '10' has no unit"),
        ("down:7@10us..", "CTB-S045", "UNTIL: '' is not a time"),
        ("down:7@10us..10us", "CTB-S045", "it would end at 10us before it begins at 10us"),
        ("down:7@10us,rate=5Gbps", "CTB-S045", "'rate=5Gbps' sets nothing that it knows (nothing)"),
        ("flap:7,down=1us", "CTB-S045", "it lacks up"),
        ("flap:7", "CTB-S045", "it lacks down and up"),
        ("flap:7,down=0,up=1us", "CTB-S045", "down of 0 is no time"),
        ("flap:7,down=1us,up=1us,up=2us", "CTB-S045", "up comes twice"),
        ("storm:5,class=8", "CTB-S045", "class '8' is not 0 to 7"),
        ("slow:5", "CTB-S045", "it lacks rate"),
        ("slow:5,rate=0", "CTB-S045", "paused forever: write `storm`"),
        ("slow:5,rate=10", "CTB-S045", "rate: "),
        ("loss:7,share=0", "CTB-S045", "share '0' is not above 0"),
        ("loss:7,share=2", "CTB-S045", "share '2' is not above 0"),
        ("loss:7,share=nan", "CTB-S045", "share 'nan' is not above 0"),
        ("loss:7,share=Infinity", "CTB-S045", "share 'Infinity' is not above 0"),
        ("loss:7,share=1e-999999999", "CTB-S045", "share '1e-999999999' is not above 0"),
        ("loss:7,share=.5,way=left", "CTB-S045", "way 'left' is neither up nor down"),
        ("down:999999", "CTB-S046", "lab-128 has no cable 999999"),
        ("down:leaf-99:1", "CTB-S046", "lab-128 has no node 'leaf-99'"),
        ("down:leaf-02:99", "CTB-S046", "no cable is in port 99 of leaf-02"),
        ("down:leaf-02~leaf-03", "CTB-S046", "no cables join leaf-02 and leaf-03"),
        ("down:leaf-02~spine-1#2", "CTB-S046", "1 cables join leaf-02 and spine-1"),
        ("storm:leaf-02", "CTB-S046", "'leaf-02' is a switch"),
        ("storm:128", "CTB-S046", "there is no endpoint 128"),
    ],
)
def test_what_is_refused(lab: Topology, text: str, code: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_failures([text], lab)
    error = caught.value
    assert (error.code, says in error.message) == (code, True), error.message
    assert error.exit_code == ExitCode.INPUT
    assert str(error.where) == "(--fail)" or error.where is not None
    assert error.hint


@given(st.sampled_from([*FORMS, "x"]), st.text(max_size=40))
def test_any_text_is_a_failure_or_refused(kind: str, text: str) -> None:
    topology = load_topology("lab-128")[1]
    try:
        failure = parse_failure(f"{kind}:{text}", topology)
    except InputError as error:
        assert error.code in {"CTB-S045", "CTB-S046"}
        return
    assert failure.links


# --- in order of time


def states(failures: list[Failure], horizon: int) -> list[tuple[int, int, bool]]:
    times, links, lives = link_states(failures, horizon)
    return list(zip(times.tolist(), links.tolist(), lives.tolist(), strict=True))


def test_a_flap_dies_and_lives_until_its_end() -> None:
    flap = Failure("flap", "", (4,), start=10, until=100, down=20, up=30)
    assert states([flap], 1000) == [
        (10, 4, False), (30, 4, True), (60, 4, False), (80, 4, True),
    ]  # fmt: skip
    assert states([flap], 60) == [(10, 4, False), (30, 4, True), (60, 4, False)]


def test_a_link_lives_again_when_all_let_go() -> None:
    both = [Failure("down", "", (2, 3), 5, 50), Failure("down", "", (3,), 20, 80)]
    assert states(both, 1000) == [(5, 2, False), (5, 3, False), (50, 2, True), (80, 3, True)]
    touching = [Failure("down", "", (3,), 5, 20), Failure("down", "", (3,), 20, 30)]
    assert states(touching, 1000) == [(5, 3, False), (30, 3, True)]


def test_what_is_no_matter_of_a_link_has_no_states(lab: Topology) -> None:
    others = ["storm:1", "slow:1,rate=1Gbps", "loss:1,share=0.1"]
    assert states(list(parse_failures(others, lab)), 10**12) == []


failures = st.builds(
    Failure,
    st.just("flap"),
    st.just(""),
    st.lists(st.integers(0, 3), min_size=1, max_size=2, unique=True).map(tuple),
    st.integers(0, 60),
    st.one_of(st.none(), st.integers(61, 120)),
    down=st.integers(1, 30),
    up=st.integers(1, 30),
)


@given(st.lists(failures, max_size=4), st.integers(0, 150))
def test_states_are_what_every_failure_says_at_every_moment(
    drawn: list[Failure], horizon: int
) -> None:
    found = states(drawn, horizon)
    assert [at for at, _, _ in found] == sorted(at for at, _, _ in found)
    lives = dict.fromkeys(range(4), True)
    for time in range(horizon + 1):
        for at, link, alive in found:
            if at == time:
                assert lives[link] != alive
                lives[link] = alive
        for link in range(4):
            dead = any(
                link in f.links
                and f.start <= time < (f.until or horizon + 1)
                and (time - f.start) % (f.down + f.up) < f.down
                for f in drawn
            )
            assert lives[link] != dead


# --- of a connection matrix


def test_cuts_of_a_matrix_are_uplinks_of_spines(tree: Topology) -> None:
    text = "Nodes 128\nConnections 1\nFailures 1\n0->1 start 0 size 5\nfailure switch_type {}\n"
    file = parse_flows(text.format("AGG switch_id 5 link_id 2").encode(), "cut.cm")
    (failure,) = failures_of(file, tree)
    assert ends(tree, failure.links[0])[0] == "pod-1/spine-1"
    assert ends(tree, failure.links[0])[1].startswith("core-")
    assert (failure.kind, failure.start, failure.until) == ("down", 0, None)
    for words in ("TOR switch_id 0 link_id 0", "AGG switch_id 32 link_id 0",
                  "AGG switch_id 0 link_id 4"):  # fmt: skip
        bad = parse_flows(text.format(words).encode(), "cut.cm")
        with pytest.raises(InputError) as caught:
            failures_of(bad, tree)
        assert caught.value.code == "CTB-S046"
        assert caught.value.where is not None
        assert caught.value.where.line == 5
