"""ns-3 HPCC and SimAI topologies, read back by a parser of this test's own."""

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings

from ctestbed.core.errors import InputError
from ctestbed.topology.writers.common import Fabric
from tests.shared import shared_data
from tests.topology.strategies import testbeds
from tests.topology.writers.fabrics import (
    codes,
    fabric_of,
    leaf_spine,
    pair_multiset,
    supernodes,
    three_tier,
    torus,
    written,
)


class Parsed(NamedTuple):
    header: list[str]
    switches: list[int]
    links: list[list[str]]

    @property
    def pairs(self) -> Counter[frozenset[int]]:
        return Counter(frozenset(map(int, link[:2])) for link in self.links)


def parse(text: str) -> Parsed:
    lines = text.splitlines()
    return Parsed(
        lines[0].split(), [int(word) for word in lines[1].split()], [x.split() for x in lines[2:]]
    )


def check_hpcc(fabric: Fabric) -> Parsed:
    parsed = parse(written(fabric, "ns3-hpcc")[0])
    cabling = fabric.cabling
    nodes, switches, links = map(int, parsed.header)
    assert nodes == len(cabling.devices)
    assert links == len(parsed.links) == len(cabling.cables)
    assert switches == len(parsed.switches) == len(set(parsed.switches))
    # Endpoints first, in the cabling's order, then switches: our nodes are in that order already.
    names = [device.name for device in cabling.devices]
    named = Counter(frozenset(names[number] for number in pair) for pair in parsed.pairs.elements())
    assert named == pair_multiset(cabling)
    return parsed


def test_a_three_tier_fabric_is_written_whole() -> None:
    parsed = check_hpcc(three_tier())
    assert parsed.header == ["40", "16", "48"]
    assert parsed.switches == list(range(24, 40))
    assert {tuple(link[2:]) for link in parsed.links} == {("400Gbps", "1000ns", "0")}


@settings(max_examples=25, deadline=None)
@given(testbeds())
def test_header_counts_and_adjacency_hold_for_any_fabric(document: dict[str, object]) -> None:
    fabric = fabric_of(document)
    if (fabric.cabling.cables.rate >= 0).all() and (fabric.cabling.cables.delay >= 0).all():
        check_hpcc(fabric)


def test_the_shape_is_that_of_the_simulators_own_sample() -> None:
    sample = Path(shared_data("fabric/third-party/ns3-hpcc/fat.txt")).read_text()
    theirs, ours = parse(sample), parse(written(three_tier(), "ns3-hpcc")[0])
    assert len(ours.header) == len(theirs.header) == 3
    tokens = [r"\d+", r"\d+", r"\d+Gbps", r"\d+ns", r"\d+(\.\d+)?"]
    for link in (*theirs.links[:480], *ours.links):
        assert all(re.fullmatch(form, word) for form, word in zip(tokens, link, strict=True))


def test_the_simai_shape_is_that_of_its_own_generator() -> None:
    name = "fabric/third-party/simai/Spectrum-X_128g_8gps_400Gbps_H100"
    theirs = parse(Path(shared_data(name)).read_text())
    ours = parse(written(supernodes(), "simai")[0])
    assert len(ours.header) == len(theirs.header) == 6
    for parsed in (theirs, ours):
        nodes, _, inner, outer, links = map(int, parsed.header[:5])
        assert links == len(parsed.links)
        assert parsed.switches == list(range(nodes - inner - outer, nodes))
        assert {len(link) for link in parsed.links} == {5}


def test_simai_gpus_own_their_network_ports_and_reach_their_nvswitches() -> None:
    parsed = parse(written(supernodes(), "simai")[0])
    # 8 hosts of 8 GPUs; 4 scale-up switches per host; 16 leaves and 4 spines.
    assert parsed.header == ["116", "8", "32", "20", str(64 + 64 + 256), "NONE"]
    for gpu in range(64):
        peers = sorted(max(pair) for pair in parsed.pairs if min(pair) == gpu)
        server = gpu // 8
        assert peers[:4] == list(range(64 + server * 4, 64 + server * 4 + 4))
        # Rail r of segment s is leaf 8 s + r.
        assert peers[4:] == [96 + 8 * (server // 4) + gpu % 8]


def test_hpcc_leaves_the_insides_of_supernodes_out_and_says_so() -> None:
    text, notes = written(supernodes(), "ns3-hpcc")
    assert parse(text).header == ["84", "20", "128"]
    assert {"CTB-T310", "CTB-T314", "CTB-T317"} <= codes(notes)


def test_parallel_cables_are_all_written_and_noted() -> None:
    text, notes = written(leaf_spine(), "ns3-hpcc")
    assert max(parse(text).pairs.values()) == 2
    assert "CTB-T313" in codes(notes)
    assert "CTB-T313" not in codes(written(leaf_spine(parallel=1), "ns3-hpcc")[1])


def test_figures_keep_their_value_in_whole_units() -> None:
    text, notes = written(leaf_spine(rate="106.25Gbps", delay="1.5ns"), "ns3-hpcc")
    assert {tuple(link[2:4]) for link in parse(text).links} == {("106250Mbps", "1500ps")}
    assert "CTB-T316" in codes(notes)


@pytest.mark.parametrize(
    ("fabric", "name", "code"),
    [
        (leaf_spine(rate="unknown"), "ns3-hpcc", "CTB-T302"),
        (leaf_spine(delay="unknown"), "simai", "CTB-T302"),
        (torus(), "ns3-hpcc", "CTB-T304"),
        (torus(), "simai", "CTB-T304"),
    ],
)
def test_what_would_be_a_wrong_file_is_refused(fabric: Fabric, name: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        written(fabric, name)
    assert caught.value.code == code


def test_gpus_that_share_a_nic_are_refused() -> None:
    document = {
        "ctestbed": 1,
        "name": "shared",
        "host": {"accelerators": 8, "nics": 4},
        "fabric": {"kind": "fat-tree", "tiers": 2, "leaves": 2, "hosts_per_leaf": 2, "spines": 2,
                   "rate": "400Gbps", "delay": "1us"},
    }  # fmt: skip
    with pytest.raises(InputError, match="8 accelerators and 4 NICs"):
        written(fabric_of(document), "simai")
