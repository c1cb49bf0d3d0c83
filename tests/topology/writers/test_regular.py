"""htsim, ASTRA-sim, SimGrid and our own form: counts that describe regular fabrics."""

from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from ruamel.yaml import YAML

from ctestbed.core.errors import InputError
from ctestbed.topology.load import builtin_testbeds, load_testbed, parse_testbed
from ctestbed.topology.writers.common import Fabric
from tests.shared import shared_data
from tests.topology.strategies import fat_tree, load_document, testbeds
from tests.topology.writers.fabrics import (
    codes,
    fabric_of,
    leaf_spine,
    supernodes,
    three_tier,
    torus,
    written,
)


def parse_topo(text: str) -> tuple[dict[str, int], list[dict[str, int]]]:
    header: dict[str, int] = {}
    tiers: list[dict[str, int]] = []
    for line in text.splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        key, value = words
        if key == "Tier":
            tiers.append({})
        elif tiers:
            tiers[-1][key] = int(value)
        else:
            header[key] = int(value)
    return header, tiers


def htsim_derives(text: str) -> tuple[int, int, int, int]:
    """Return hosts, leaves, spines and cores as htsim's own checks derive them, or fail as it."""
    header, tiers = parse_topo(text)
    leaf, spine = tiers[0], tiers[1]
    pods, left = divmod(header["Nodes"], header["Podsize"])
    assert left == 0
    leaves, left = divmod(header["Podsize"], leaf["Radix_Down"])
    assert left == 0
    assert leaf["Radix_Down"] // leaf["Radix_Up"] == leaf["Oversubscribed"]
    speed = spine["Downlink_speed_Gbps"] * leaf["Oversubscribed"]
    uplinks, left = divmod(header["Nodes"] * leaf["Downlink_speed_Gbps"], speed)
    assert left == 0
    spines, left = divmod(uplinks, pods * spine["Radix_Down"])
    assert left == 0
    assert spines * spine.get("Bundle", 1) == leaf["Radix_Up"]
    cores = 0
    if header["Tiers"] == 3:
        core = tiers[2]
        speed = core["Downlink_speed_Gbps"] * spine["Oversubscribed"]
        above, left = divmod(uplinks * spine["Downlink_speed_Gbps"], speed)
        assert left == 0
        cores, left = divmod(above, core["Radix_Down"])
        assert left == 0
        assert cores * core.get("Bundle", 1) // spines == spine["Radix_Up"]
    return header["Nodes"], pods * leaves, pods * spines, cores


@pytest.mark.parametrize(
    ("fabric", "counts"),
    [
        (leaf_spine(), (12, 3, 2, 0)),
        (leaf_spine(hosts_per_leaf=8), (24, 3, 2, 0)),
        (three_tier(), (24, 6, 6, 4)),
        (three_tier(spines=2, cores=2), (24, 6, 6, 2)),
    ],
)
def test_htsim_derives_the_same_fabric(fabric: Fabric, counts: tuple[int, ...]) -> None:
    text, notes = written(fabric, "htsim")
    assert htsim_derives(text) == counts
    assert {"CTB-T310", "CTB-T318"} == codes(notes)


def test_htsim_keys_are_those_of_its_own_samples() -> None:
    sample = Path(shared_data("fabric/third-party/htsim/leaf_spine_1024.topo")).read_text()
    header, tiers = parse_topo(sample)
    ours_header, ours = parse_topo(
        written(fabric_of(fat_tree(tiers=2, leaves=32, hosts_per_leaf=32, spines=32,
                                   rate="100Gbps")), "htsim")[0]
    )  # fmt: skip
    assert ours_header == header
    assert [
        {key: value for key, value in tier.items() if key != "Oversubscribed"} for tier in ours
    ] == tiers


@settings(max_examples=40, deadline=None)
@given(testbeds())
def test_htsim_is_right_or_refused(document: dict[str, Any]) -> None:
    fabric = fabric_of(document)
    try:
        text, _ = written(fabric, "htsim")
    except InputError as error:
        assert error.code in {"CTB-T302", "CTB-T303", "CTB-T306"}
        return
    assert fabric.topology is not None
    block = fabric.topology.blocks[0]
    wanted = (block.ports, block.leaves, block.spines, block.cores)
    assert htsim_derives(text) == wanted


@pytest.mark.parametrize(
    ("fabric", "code", "word"),
    [
        (torus(), "CTB-T303", "no Clos"),
        (supernodes(), "CTB-T303", "rail"),
        (leaf_spine(hosts_per_leaf=6), "CTB-T303", "whole multiple"),
        (leaf_spine(hosts_per_leaf=2), "CTB-T303", "whole multiple"),
        (leaf_spine(rate="unknown"), "CTB-T302", "rate"),
        (leaf_spine(rate="106.25Gbps"), "CTB-T306", "whole Gb/s"),
        (leaf_spine(delay="1.5ns"), "CTB-T306", "nanoseconds"),
        (Fabric(leaf_spine().cabling), "CTB-T303", "imported"),
    ],
)
def test_htsim_refuses_with_the_reason(fabric: Fabric, code: str, word: str) -> None:
    with pytest.raises(InputError, match=word) as caught:
        written(fabric, "htsim")
    assert caught.value.code == code


def astra(fabric: Fabric) -> dict[str, list[Any]]:
    loaded: dict[str, list[Any]] = YAML(typ="safe").load(written(fabric, "astra-sim")[0])
    return loaded


def test_astra_sim_holds_a_torus_dimension_by_dimension() -> None:
    # Its first dimension counts fastest, ours the last: sides 4, 3, 2 stand as 2, 3, 4.
    assert astra(torus()) == {
        "topology": ["Ring"] * 3,
        "npus_count": [2, 3, 4],
        "bandwidth": [50, 50, 50],
        "latency": [100, 100, 100],
    }


def test_astra_sim_holds_supernodes_and_the_network_between_them() -> None:
    sample = YAML(typ="safe").load(
        Path(shared_data("fabric/third-party/astra-sim/hgx_h100_16gpu.yml")).read_text()
    )
    found = astra(supernodes())
    assert list(found) == list(sample)
    assert found["topology"] == ["Switch", "Switch"]
    assert found["npus_count"] == [8, 8]
    assert found["bandwidth"] == [450, 50]  # 3,600 and 400 Gb/s
    assert found["latency"] == [25, 1000]  # host and spine cable: half of the way there


def test_astra_sim_refuses_sites_and_grids_without_rings() -> None:
    document = fat_tree(tiers=2, leaves=2, hosts_per_leaf=2, spines=2)
    document["sites"] = [{"name": "east"}, {"name": "west"}]
    document["trunks"] = [{"between": ["east", "west"], "length": "1km", "rate": "400Gbps"}]
    for fabric in (fabric_of(document), torus(wrap=False), Fabric(torus().cabling)):
        with pytest.raises(InputError) as caught:
            written(fabric, "astra-sim")
        assert caught.value.code == "CTB-T303"


def test_simgrid_writes_a_cluster_where_one_rate_holds() -> None:
    root = ET.fromstring(written(three_tier(), "simgrid")[0])  # noqa: S314 - our own text
    sample = ET.fromstring(  # noqa: S314 - a saved sample
        Path(shared_data("fabric/third-party/simgrid/cluster_fat_tree.xml")).read_text()
    )
    ours, theirs = root.find("zone/cluster"), sample.find("zone/cluster")
    assert ours is not None
    assert theirs is not None
    assert set(ours.attrib) - {"sharing_policy"} <= set(theirs.attrib)
    assert ours.attrib["topo_parameters"] == "3;4,2,3;1,2,2;1,1,1"
    assert ours.attrib["radical"] == "0-23"
    assert (ours.attrib["bw"], ours.attrib["lat"]) == ("400Gbps", "1000ns")


def test_simgrid_lists_links_and_routes_elsewhere() -> None:
    fabric = leaf_spine(spine_links={"rate": "800Gbps"})
    text, notes = written(fabric, "simgrid")
    zone = ET.fromstring(text).find("zone")  # noqa: S314 - our own text
    assert zone is not None
    assert len(zone.findall("host")) == 12
    assert len(zone.findall("router")) == 5
    links = {link.attrib["id"]: link.attrib["bandwidth"] for link in zone.findall("link")}
    # 12 host cables; 3 x 2 pairs of leaf and spine, each of two cables of 800 Gb/s.
    assert Counter(links.values()) == {"400Gbps": 12, "1600Gbps": 6}
    routes = zone.findall("route")
    assert len(routes) == len(links) == 18
    assert {"CTB-T313", "CTB-T317"} <= codes(notes)


@pytest.mark.parametrize("name", sorted(builtin_testbeds()))
def test_our_own_form_reads_back_as_the_same_testbed(name: str) -> None:
    loaded = load_testbed(name)
    text, _ = written(Fabric(leaf_spine().cabling, loaded=loaded), "yaml")
    assert parse_testbed(text.encode(), "again.yaml").testbed == loaded.testbed


@settings(max_examples=25, deadline=None)
@given(testbeds())
def test_our_own_form_is_idempotent(document: dict[str, Any]) -> None:
    loaded = load_document(document)
    text, _ = written(Fabric(leaf_spine().cabling, loaded=loaded), "yaml")
    again, _ = written(
        Fabric(leaf_spine().cabling, loaded=parse_testbed(text.encode(), "x.yaml")), "yaml"
    )
    assert again == text
