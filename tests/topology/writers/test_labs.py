"""Files for labs and for checks of cabling: containerlab, netlab, Batfish, NetQ, ibsim."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from ctestbed.core.errors import InputError
from ctestbed.topology.cabling import Cabling, Device, DeviceKind, make_cables
from ctestbed.topology.writers.common import Fabric
from tests.shared import shared_data
from tests.topology.strategies import fat_tree
from tests.topology.writers.fabrics import (
    codes,
    fabric_of,
    leaf_spine,
    pair_multiset,
    supernodes,
    three_tier,
    written,
)


def yaml_of(text: str) -> Any:
    return YAML(typ="safe").load(text)


def two_nics() -> Fabric:
    document = fat_tree(tiers=2, leaves=2, hosts_per_leaf=4, spines=2, parallel=2)
    document["host"] = {"accelerators": 2, "nics": 2}
    return fabric_of(document)


def by_host(fabric: Fabric) -> Counter[frozenset[str]]:
    """Return the joined pairs, with adapters counted as their hosts."""
    host = {device.name: device.host or device.name for device in fabric.cabling.devices}
    pairs = pair_multiset(fabric.cabling)
    return Counter(frozenset(host[name] for name in pair) for pair in pairs.elements())


def distinct_ends(ends: list[str]) -> bool:
    return max(Counter(ends).values()) == 1


def test_containerlab_holds_every_cable_between_interfaces_of_their_own() -> None:
    fabric = two_nics()
    text, notes = written(fabric, "containerlab")
    lab = yaml_of(text)
    sample = yaml_of(
        Path(shared_data("fabric/third-party/containerlab/clos01.clab.yml")).read_text()
    )
    assert set(lab) == set(sample)
    assert set(lab["topology"]["links"][0]) == set(sample["topology"]["links"][0])
    ends = [end for link in lab["topology"]["links"] for end in link["endpoints"]]
    assert distinct_ends(ends)
    assert all(re.fullmatch(r"[\w.-]+:[a-z][\w.-]{0,14}", end) for end in ends)
    found = Counter(
        frozenset(end.split(":")[0] for end in link["endpoints"])
        for link in lab["topology"]["links"]
    )
    assert found == by_host(fabric)
    nodes = lab["topology"]["nodes"]
    assert {node["group"] for node in nodes.values()} == set(lab["topology"]["groups"])
    assert Counter(node["group"] for node in nodes.values()) == {"host": 8, "leaf": 2, "spine": 2}
    assert {"CTB-T312", "CTB-T318"} == codes(notes)


def test_containerlab_names_hold_no_slash_and_the_change_is_said() -> None:
    text, notes = written(three_tier(), "containerlab")
    assert all("/" not in name for name in yaml_of(text)["topology"]["nodes"])
    assert "CTB-T315" in codes(notes)


def test_containerlab_refuses_names_that_would_become_one() -> None:
    devices = (Device("a/b", DeviceKind.SWITCH), Device("a-b", DeviceKind.SWITCH))
    fabric = Fabric(Cabling("clash", "csv", devices, ("1",), make_cables([0], [1])))
    with pytest.raises(InputError, match="would both be called") as caught:
        written(fabric, "containerlab")
    assert caught.value.code == "CTB-T305"


def test_netlab_holds_nodes_links_and_bandwidth() -> None:
    fabric = two_nics()
    text, notes = written(fabric, "netlab")
    lab = yaml_of(text)
    assert lab["defaults.device"] == "frr"
    found = Counter(frozenset(set(link) - {"bandwidth"}) for link in lab["links"])
    assert found == by_host(fabric)
    assert {link["bandwidth"] for link in lab["links"]} == {400_000_000}  # kb/s
    ends = [
        f"{name}:{end['ifname']}"
        for link in lab["links"]
        for name, end in link.items()
        if name != "bandwidth"
    ]
    assert distinct_ends(ends)
    hosts = [name for name, node in lab["nodes"].items() if (node or {}).get("role") == "host"]
    assert len(hosts) == 8
    assert {"CTB-T312", "CTB-T318"} == codes(notes)


def test_netlab_numbers_devices_whose_names_are_too_long() -> None:
    document = fat_tree(tiers=2, leaves=2, hosts_per_leaf=2, spines=2)
    document["sites"] = [{"name": "a-site-of-a-long-name"}]
    text, notes = written(fabric_of(document), "netlab")
    names = list(yaml_of(text)["nodes"])
    assert all(re.fullmatch(r"[A-Za-z_][\w-]{0,15}", name) for name in names)
    assert len(names) == 8
    assert "CTB-T315" in codes(notes)


def test_batfish_edges_are_shaped_like_its_own() -> None:
    fabric = two_nics()
    edges = json.loads(written(fabric, "batfish")[0])["edges"]
    sample = json.loads(
        Path(shared_data("fabric/third-party/batfish/example_layer1_topology.json")).read_text()
    )["edges"]
    for edge in (*edges, sample[0]):
        assert set(edge) == {"node1", "node2"}
        assert set(edge["node1"]) == set(edge["node2"]) == {"hostname", "interfaceName"}
    found = Counter(frozenset(end["hostname"] for end in edge.values()) for edge in edges)
    assert found == by_host(fabric)
    assert distinct_ends(
        [f"{end['hostname']}:{end['interfaceName']}" for edge in edges for end in edge.values()]
    )
    assert {"nic-0", "nic-1"} <= {edge["node1"]["interfaceName"] for edge in edges}


def test_netq_bundles_are_shaped_like_its_own() -> None:
    fabric = two_nics()
    (graph,) = json.loads(written(fabric, "netq")[0])
    sample = json.loads(
        Path(shared_data("fabric/third-party/topograph/netq-topologyGraph.json")).read_text()
    )[0]
    assert set(graph) == set(sample)
    assert set(graph["links"][0]) == set(sample["links"][0])
    assert set(graph["nodes"][0]) <= set(sample["nodes"][0])
    node, theirs = (g["nodes"][0]["compounded_nodes"][0] for g in (graph, sample))
    assert set(node) <= set(theirs)
    found: Counter[frozenset[str]] = Counter()
    for link in graph["links"]:
        assert link["size"] == len(link["compounded_links"])
        for cable in link["compounded_links"]:
            assert {end["node"] for end in cable["interfaces"]} == {link["src"], link["target"]}
        found[frozenset([link["src"], link["target"]])] += link["size"]
    assert found == by_host(fabric)
    tiers = {group["tier"]: group["size"] for group in graph["nodes"]}
    assert tiers == {-1: 8, 1: 2, 2: 2}
    assert all(group["size"] == len(group["compounded_nodes"]) for group in graph["nodes"])


def parse_net(text: str) -> dict[str, tuple[str, int, dict[int, tuple[str, int, str]]]]:
    """Read a net file: id -> (kind, ports, port -> (peer, peer's port, options))."""
    nodes: dict[str, tuple[str, int, dict[int, tuple[str, int, str]]]] = {}
    for record in re.split(r"\n\s*\n", text.strip()):
        head, *lines = record.splitlines()
        kind, ports, name = re.fullmatch(r'(\w+)\s+(\d+)\s+"([^"]+)"', head).groups()  # type: ignore[union-attr]
        joined = {}
        for line in lines:
            found = re.fullmatch(r'\[(\d+)\]\s+"([^"]+)"\[(\d+)\](.*)', line)
            assert found is not None
            joined[int(found[1])] = (found[2], int(found[3]), found[4].strip())
        nodes[name] = (kind, int(ports), joined)
    return nodes


@pytest.mark.parametrize("fabric", [leaf_spine(), three_tier(), supernodes()])
def test_ibsim_states_both_ends_of_every_cable(fabric: Fabric) -> None:
    nodes = parse_net(written(fabric, "ibsim")[0])
    found: Counter[frozenset[str]] = Counter()
    for name, (kind, ports, joined) in nodes.items():
        assert (kind == "Hca") == ("/nic-" in name)
        assert all(1 <= port <= ports for port in joined)
        for port, (peer, far, options) in joined.items():
            assert nodes[peer][2][far][:2] == (name, port)
            assert options == "w=4 e=4"  # eight lanes of 50 Gb/s: ibsim knows no lane of 100
            found[frozenset([name, peer])] += 1
    network = {
        pair: count
        for pair, count in pair_multiset(fabric.cabling).items()
        if not any("acc-" in name for name in pair)
    }
    assert found == {pair: 2 * count for pair, count in network.items()}


def test_ibsim_measured_sample_has_the_same_form() -> None:
    sample = parse_net(Path(shared_data("fabric/measured/ls128.net")).read_text())
    ours = parse_net(
        written(fabric_of(fat_tree(tiers=2, leaves=8, hosts_per_leaf=16, spines=16)), "ibsim")[0]
    )
    for nodes in (sample, ours):
        counts = Counter((kind, len(joined)) for kind, _, joined in nodes.values())
        assert counts == {("Hca", 1): 128, ("Switch", 32): 8, ("Switch", 8): 16}


def test_ibsim_refuses_what_infiniband_cannot_number() -> None:
    fabric = fabric_of(fat_tree(tiers=2, leaves=2, hosts_per_leaf=300, spines=2))
    with pytest.raises(InputError, match="has 302 ports") as caught:
        written(fabric, "ibsim")
    assert caught.value.code == "CTB-T304"


def test_rates_without_a_code_are_left_out_of_ibsim_and_said() -> None:
    text, notes = written(leaf_spine(rate="340Gbps"), "ibsim")
    assert "w=" not in text
    (note,) = (finding for finding in notes if finding.code == "CTB-T312")
    assert "340000000000 bit/s" in note.message
