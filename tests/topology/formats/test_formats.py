"""Each format's small file: recognised by content, and read as what it says."""

import json
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.core.yamlfile import load_yaml
from ctestbed.topology.build import load_topology
from ctestbed.topology.cabling import (
    AGGREGATION,
    Cabling,
    DeviceKind,
    adjacency,
    cabling_of,
    degree,
    infer_roles,
    pair_counts,
    self_loops,
    shared_ports,
)
from ctestbed.topology.formats.infiniband import link_rate
from ctestbed.topology.formats.registry import FORMATS, recognise
from ctestbed.topology.formats.source import read_source
from ctestbed.topology.importing import ImportRequest, examine, load_cabling, run_import
from tests.topology.formats.samples import (
    CSV,
    GRAPHML,
    HTSIM,
    IBNETDISCOVER,
    LLDP,
    NETLAB_FABRIC,
    NODELINK,
    SAMPLES,
    SIMGRID,
    SWITCH,
    edges,
    lldp_neighbour,
    load,
    refusal,
)

G = 10**9


def test_every_format_has_a_sample() -> None:
    assert set(SAMPLES) == set(FORMATS)


@pytest.mark.parametrize("name", SAMPLES)
def test_recognised_by_content_and_by_name(name: str) -> None:
    source = read_source(SAMPLES[name].encode(), "f")
    assert recognise(source).format.name == name
    assert edges(load(SAMPLES[name])) == edges(load(SAMPLES[name], name))
    assert load(SAMPLES[name]).format == name


@pytest.mark.parametrize("name", [name for name in SAMPLES if FORMATS[name].family == "yaml"])
@pytest.mark.parametrize("form", [None, 1])
def test_yaml_formats_are_told_when_written_as_json(name: str, form: int | None) -> None:
    value = load_yaml(SAMPLES[name].encode(), "f").value
    text = json.dumps(value, indent=form)
    assert recognise(read_source(text.encode(), "f")).format.name == name
    assert edges(load(text)) == edges(load(text, name)) == edges(load(SAMPLES[name]))


def test_a_testbed_in_braces_is_yaml() -> None:
    fabric = "{kind: fat-tree, tiers: 2, k: 4, rate: 1Gbps, delay: 1us}"
    assert len(load(f"{{ctestbed: 1, name: x, fabric: {fabric}}}").cables) == 16


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_reports(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(SAMPLES[name])
    result = run_import(ImportRequest(str(path)))
    assert result.exit_code == 0
    assert json.loads(json.dumps(result.data)) == result.data
    counts = result.data["counts"]
    cabling = load_cabling(str(path))
    kinds = ("accelerator", "host", "nic", "switch", "unknown")
    assert sum(counts[kind] for kind in kinds) == len(cabling.devices)
    assert sum(row["cables"] for row in result.data["rates"]) == counts["link"]
    assert sum(row["cables"] for row in result.data["joins"]) == counts["link"]


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("4xSDR", 10), ("4xDDR", 20), ("4xQDR", 40), ("4xFDR10", 40), ("4xFDR", 56),
        ("4xEDR", 100), ("4xHDR", 200), ("2xHDR", 100), ("4xNDR", 400), ("2xNDR", 200),
        ("8xNDR", 800), ("4xXDR", 800), ("12xQDR", 120), ("1xEDR", 25),
        ("3xNDR", None), ("4xNDX", None), ("4x", None), ("NDR", None),
    ],
)  # fmt: skip
def test_link_rates(text: str, rate: int | None) -> None:
    assert link_rate(text) == (None if rate is None else rate * G)


def test_ibnetdiscover() -> None:
    cabling = load(IBNETDISCOVER)
    assert edges(cabling) == [
        ("LEAF-01:1", "host1 HCA-1:1"),
        ("LEAF-01:2", "host2 HCA-1:1"),
        ("LEAF-01:3", "SPINE-01:1"),
        ("LEAF-01:4", "SPINE-01:2"),
    ]
    assert sorted(cabling.cables.rate.tolist()) == [100 * G, 400 * G, 400 * G, 400 * G]
    leaf = cabling.devices[cabling.index["LEAF-01"]]
    assert (leaf.guid, leaf.model, leaf.ports) == (SWITCH, "MQM9700", 8)
    adapter = cabling.devices[cabling.index["host2 HCA-1"]]
    assert (adapter.host, adapter.rail) == ("host2", 0)
    assert cabling.attributes["generated"] == "Wed Aug  6 16:11:23 2025"


def test_ibnetdiscover_one_side_only() -> None:
    lines = IBNETDISCOVER.split("\n")
    lone = next(n for n, line in enumerate(lines) if line.startswith('[1]\t"S-'))
    cabling = load("\n".join(lines[:lone] + lines[lone + 1 :]))
    assert len(cabling.cables) == 3
    assert cabling.cable_name(0, cabling.one_sided) == "LEAF-01:3 - SPINE-01:1"
    found = examine(cabling)
    assert found.deviations == [
        {"kind": "one-sided", "a": "LEAF-01:3", "b": "SPINE-01:1", "expected": None}
    ]
    assert [finding.code for finding in found.findings] == ["CTB-T120"]
    assert found.findings[0].where is not None
    assert (
        found.findings[0].where.line
        == lines.index(next(line for line in lines if line.startswith("[3]"))) + 1
    )


def test_ibnetdiscover_ends_that_disagree() -> None:
    text = IBNETDISCOVER.replace('"MF0;LEAF-01:MQM9700/U1" lid 1 2xHDR', '"x" lid 1 4xSDR')
    cabling = load(text)
    assert min(cabling.cables.rate.tolist()) == 10 * G
    assert [finding.code for finding in cabling.findings] == ["CTB-T125"]


def test_ibnetdiscover_grouping_and_full_output() -> None:
    text = IBNETDISCOVER.replace("vendid=0x2c9\n", "\nChassis 1 (guid 0x5)\nvendid=0x2c9\n", 1)
    text = text.replace("lid 2 4xNDR", "lid 2 4xNDR s=4 w=2 v=4")
    text = text.replace("[3]\t", "[3][ext 17]\t")
    text += "\nNon-Chassis Nodes\n"
    assert edges(load(text)) == edges(load(IBNETDISCOVER))


def test_ibnetdiscover_aggregation_nodes_are_no_hosts() -> None:
    text = IBNETDISCOVER.replace("host2 HCA-1", "Mellanox Technologies Aggregation Node")
    cabling = load(text)
    assert [device.role for device in cabling.devices].count(AGGREGATION) == 1
    roles = infer_roles(cabling)
    assert roles.endpoint.sum() == 1
    assert -1 in roles.tier


def test_unknown_link_speeds_stay_unknown() -> None:
    cabling = load(IBNETDISCOVER.replace("2xHDR", "4x???"))
    assert min(cabling.cables.rate.tolist()) == -1


def test_ibsim_takes_one_end_and_codes() -> None:
    cabling = load(SAMPLES["ibsim"])
    rates = dict(zip(edges(cabling), cabling.cables.rate.tolist(), strict=False))
    assert len(cabling.cables) == 3
    assert cabling.one_sided.a.size == 0
    assert sorted(rates.values()) == [-1, 40 * G, 400 * G]


def test_hpcc_parallel_links_are_many() -> None:
    # R9: four parallel links must count four times; here two.
    cabling = load(SAMPLES["ns3-hpcc"])
    assert pair_counts(cabling)[2].max() == 2
    assert cabling.cables.delay.tolist() == [1_000_000] * 4
    assert cabling.cables.extra["error_rate"] == (None, None, "0.01", None)


def test_htsim_three_tiers() -> None:
    cabling = load(HTSIM)
    roles = infer_roles(cabling)
    assert [len(roles.of_tier(tier)) for tier in range(4)] == [16, 8, 8, 4]
    assert len(cabling.cables) == 48
    assert set(degree(cabling)[16:].tolist()) == {4}
    assert sorted(set(cabling.cables.delay.tolist())) == [1_000_000, 2_000_000, 3_000_000]
    graph = graph_of(cabling)
    # A fat-tree of order 4: any two hosts of different pods are six links apart.
    assert nx.shortest_path_length(graph, "host-0", "host-15") == 6
    assert nx.shortest_path_length(graph, "host-0", "host-3") == 4


def test_htsim_bundles() -> None:
    text = (
        "Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 4\n"
        "Downlink_Latency_ns 1\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\n"
        "Bundle 2\nDownlink_Latency_ns 1\n"
    )
    assert set(pair_counts(load(text))[2].tolist()) == {1, 2}
    assert refusal(text.replace("Bundle 2\n", "")).code == "CTB-T102"


def test_astra_sim() -> None:
    cabling = load(SAMPLES["astra-sim"])
    # 24 NPUs: a switch per pair, rings of three, full meshes of four.
    assert sum(device.kind == DeviceKind.SWITCH for device in cabling.devices) == 12
    assert len(cabling.cables) == 24 + 24 + 6 * 6
    assert set(cabling.cables.rate.tolist()) == {3200 * G, 400 * G, 100 * G}
    assert set(cabling.cables.delay.tolist()) == {936_250, 1_000_000, 500_000}
    assert degree(cabling)[:24].tolist() == [1 + 2 + 3] * 24


def test_containerlab() -> None:
    cabling = load(SAMPLES["containerlab"])
    assert edges(cabling) == [("client1:eth1", "leaf1:e1-2"), ("leaf1:e1-1", "spine1:e1-1")]
    assert [finding.code for finding in cabling.findings] == ["CTB-T126", "CTB-T126"]
    spine = cabling.devices[cabling.index["spine1"]]
    assert (spine.tier, spine.attributes["label.rack"]) == (2, "r1")


def test_netlab() -> None:
    cabling = load(SAMPLES["netlab"])
    assert edges(cabling) == [("h1", "r2"), ("h1:eth1", "r1"), ("r1", "r2")]
    assert cabling.devices[cabling.index["h1"]].kind == DeviceKind.HOST
    fabric = load(NETLAB_FABRIC)
    assert [device.name for device in fabric.devices] == [
        "leaf-01", "leaf-02", "leaf-03", "S1", "S2",
    ]  # fmt: skip
    assert len(fabric.cables) == 6


@pytest.mark.parametrize(
    ("topology", "parameters", "hosts", "switches", "cables"),
    [
        ("DRAGONFLY", "3,4;3,2;3,1;2", 54, 27, 54 + 27 * 1 + 27 * 2 + 3 * 4),
        ("TORUS", "4,3,2", 24, 0, 24 * 3),
        ("TORUS", "6,1", 6, 0, 6),
        ("FAT_TREE", "3;2,2,2;1,2,2;1,1,2", 8, 4 + 4 + 4, 8 + 8 + 16),
        ("FLAT", "", 9, 1, 9),
    ],
)
def test_simgrid_clusters(
    topology: str, parameters: str, hosts: int, switches: int, cables: int
) -> None:
    text = SIMGRID.replace("FAT_TREE", topology).replace("2;4,4;1,2;1,2", parameters)
    cabling = load(text.replace("0-15", f"0-{hosts - 1}"))
    kinds = [device.kind for device in cabling.devices]
    assert (kinds.count(DeviceKind.HOST), kinds.count(DeviceKind.SWITCH)) == (hosts, switches)
    assert len(cabling.cables) == cables
    assert nx.is_connected(graph_of(cabling))


def test_simgrid_torus_against_networkx() -> None:
    text = SIMGRID.replace("FAT_TREE", "TORUS").replace("2;4,4;1,2;1,2", "4,3,5")
    ours = nx.Graph(graph_of(load(text.replace("0-15", "0-59"))))
    grid = nx.grid_graph([4, 3, 5], periodic=True)
    assert nx.is_isomorphic(ours, grid)


def graph_of(cabling: Cabling) -> "nx.MultiGraph[str]":
    """Return a cabling as a networkx graph."""
    graph: nx.MultiGraph[str] = nx.MultiGraph()
    graph.add_nodes_from(device.name for device in cabling.devices)
    for a, b in zip(cabling.cables.a.tolist(), cabling.cables.b.tolist(), strict=True):
        graph.add_edge(cabling.devices[a].name, cabling.devices[b].name)
    return graph


def test_batfish_takes_one_direction_or_both() -> None:
    cabling = load(SAMPLES["batfish"])
    assert len(cabling.cables) == 2
    assert infer_roles(cabling).guessed
    assert len(infer_roles(cabling).of_tier(0)) == 1


def test_netq() -> None:
    cabling = load(SAMPLES["netq"])
    assert edges(cabling) == [("dgx-1:eth1", "leaf-1:swp1"), ("dgx-1:eth2", "leaf-1:swp2")]
    assert [device.kind for device in cabling.devices] == [DeviceKind.SWITCH, DeviceKind.HOST]


def test_lldp_of_many_hosts() -> None:
    cabling = load(LLDP)
    assert edges(cabling) == [("host1:eth0", "leaf1:swp2"), ("leaf1:swp1", "spine1:swp7")]
    kinds = {device.name: device.kind for device in cabling.devices}
    assert kinds == {
        "leaf1": DeviceKind.SWITCH,
        "spine1": DeviceKind.SWITCH,
        "host1": DeviceKind.HOST,
    }


def test_lldp_of_one_host_is_called_as_the_file() -> None:
    report = {"lldp": {"interface": {"eth0": lldp_neighbour("leaf1", "swp1", "Bridge")}}}
    cabling = load(json.dumps(report), name="scans/host7.json")
    assert edges(cabling) == [("host7:eth0", "leaf1:swp1")]
    chassis = {"chassis": {"h9": {"id": {"type": "mac", "value": "00:00"}}}}
    cabling = load(json.dumps({**report, "local-chassis": chassis}))
    assert edges(cabling) == [("h9:eth0", "leaf1:swp1")]


def test_lldp_json0() -> None:
    neighbour = {
        "name": "eth0",
        "via": "LLDP",
        "chassis": [
            {
                "id": [{"type": "mac", "value": "00:00:00:00:00:02"}],
                "name": [{"value": "leaf1"}],
                "capability": [{"type": "Bridge", "enabled": True}],
            }
        ],
        "port": [
            {"id": [{"type": "mac", "value": "00:00:00:00:00:02"}], "descr": [{"value": "swp1"}]}
        ],
    }
    report = [{"hostname": "h1", "lldp": [{"interface": [neighbour]}]}, {"host": "x", "lldp": [{}]}]
    assert edges(load(json.dumps(report))) == [("h1:eth0", "leaf1:swp1")]


def test_lldp_one_sided_and_crowded() -> None:
    report = {
        "a": {
            "lldp": {
                "interface": [
                    {"e1": lldp_neighbour("b", "e1", "Bridge")},
                    {"e2": lldp_neighbour("c", "e1")},
                    {"e2": lldp_neighbour("d", "e1")},
                ]
            }
        },
        "b": {"lldp": {}},
    }
    found = examine(load(json.dumps(report)))
    assert [row["kind"] for row in found.deviations] == ["one-sided"]
    assert {finding.code for finding in found.findings} >= {"CTB-T120", "CTB-T128"}


def graph_like(graph: "nx.MultiGraph[str]") -> "nx.MultiGraph[str]":
    """Return a graph without its attributes."""
    plain: nx.MultiGraph[str] = nx.MultiGraph()
    plain.add_nodes_from(graph)
    plain.add_edges_from(graph.edges())
    return plain


def test_graphml_agrees_with_networkx() -> None:
    cabling = load(GRAPHML)
    graph: nx.MultiGraph[str] = nx.MultiGraph(nx.parse_graphml(GRAPHML, force_multigraph=True))
    ours = graph_of(cabling)
    assert nx.utils.graphs_equal(nx.Graph(ours), nx.Graph(graph_like(graph)))
    kinds = {device.name: device.kind.word for device in cabling.devices}
    default = graph.graph["node_default"]["kind"]
    assert kinds == {name: kind or default for name, kind in graph.nodes(data="kind")}
    assert cabling.cables.rate.tolist() == [400 * G, 200 * G]
    assert edges(cabling) == [("h1", "leaf-1"), ("h1:1", "leaf-1:swp1")]


def test_nodelink_properties() -> None:
    cabling = load(NODELINK)
    assert cabling.name == "g"
    assert cabling.devices[1].rail == 3
    assert cabling.cables.rate.tolist() == [100 * G] * 2
    assert cabling.cables.length.tolist() == [-1, 2000]
    assert pair_counts(cabling)[2].tolist() == [2]


@st.composite
def graphs(draw: st.DrawFn) -> "nx.MultiGraph[str]":
    """Draw a small multigraph, self-loops and parallel edges included."""
    count = draw(st.integers(1, 6))
    node = st.integers(0, count - 1)
    graph: nx.MultiGraph[str] = nx.MultiGraph()
    graph.add_nodes_from((f"n{i}", {"kind": "switch"}) for i in range(count))
    for a, b in draw(st.lists(st.tuples(node, node), max_size=12)):
        graph.add_edge(f"n{a}", f"n{b}")
    return graph


@given(graphs())
@settings(max_examples=30)
def test_networkx_writes_what_we_read(graph: "nx.MultiGraph[str]") -> None:
    # networkx is the independent writer of both graph formats.
    texts = {
        "graphml": "\n".join(nx.generate_graphml(graph)),
        "node-link": json.dumps(nx.node_link_data(graph, edges="links")),
    }
    wanted = sorted((min(a, b), max(a, b)) for a, b in graph.edges())
    for name, text in texts.items():
        cabling = load(text, name)
        assert edges(cabling) == wanted
        assert len(self_loops(cabling)) == nx.number_of_selfloops(graph)
        assert dict(
            zip((d.name for d in cabling.devices), degree(cabling).tolist(), strict=True)
        ) == dict(graph.degree())


@given(graphs())
@settings(max_examples=30)
def test_directed_pairs_are_one_cable(graph: "nx.MultiGraph[str]") -> None:
    plain: nx.MultiGraph[str] = nx.MultiGraph((a, b) for a, b in graph.edges() if a != b)
    text = json.dumps(nx.node_link_data(plain.to_directed(), edges="edges"))
    if plain:
        assert edges(load(text, "node-link")) == sorted(
            (min(a, b), max(a, b)) for a, b in plain.edges()
        )


@pytest.mark.parametrize(
    "header",
    [
        "source,source_port,target,target_port",
        "Source Device;Source Interface;Dest Device;Dest Interface",
        "from\tfrom port\tto\tto port",
        "Side A Device,Side A Name,Side B Device,Side B Name",
        "a_end,a_end_port,z_end,z_end_port",
        "Local Hostname,Local Intf,Remote Hostname,Remote Intf",
        "node1,node1_interface,node2,node2_interface",
        "a_host,a_port,b_host,b_port",
        "A,APort,B,BPort",
    ],
)
def test_csv_headers_of_other_lists(header: str) -> None:
    delimiter = next(mark for mark in ("\t", ";", ",") if mark in header)
    row = delimiter.join(["leaf-1", "swp1", "h1", "eth0"])
    assert edges(load(f"{header}\n{row}\n")) == [("h1:eth0", "leaf-1:swp1")]


def test_csv_properties() -> None:
    cabling = load(CSV)
    assert cabling.cables.length.tolist() == [2000, 2000, 30_000]
    assert cabling.cables.extra["cable"] == ("DAC", "DAC", "AOC")
    kinds = {device.name: device.kind.word for device in cabling.devices}
    assert kinds == {"h1": "host", "leaf-1": "switch", "h2": "unknown", "spine-1": "unknown"}
    # The unsaid kinds are told from what is known: a name, or where the cables lead.
    assert infer_roles(cabling).tier.tolist() == [0, 1, 0, 2]


def test_csv_netbox_length_unit() -> None:
    text = "a,a_port,b,b_port,length,length_unit\nx,1,y,1,2.5,m\n"
    assert load(text).cables.length.tolist() == [2500]


@pytest.mark.parametrize("name", ["lab-128", "lab-128-wide", "two-campus-150km"])
def test_our_own_fabrics(name: str) -> None:
    cabling = load_cabling(name)
    _, topology = load_topology(name)
    assert edges(cabling) == edges(cabling_of(topology))
    assert len(cabling.cables) == topology.link_count
    assert shared_ports(cabling) == []
    # Distances from the adapters are the tiers that the builder gave.
    tiers = [device.tier for device in cabling.devices]
    assert infer_roles(cabling).tier.tolist() == tiers


@given(graphs())
@settings(max_examples=30)
def test_adjacency_and_counts_agree_with_networkx(graph: "nx.MultiGraph[str]") -> None:
    cabling = load(json.dumps(nx.node_link_data(graph, edges="links")), "node-link")
    table = adjacency(cabling)
    names = [device.name for device in cabling.devices]
    for position, name in enumerate(names):
        found = sorted(names[other] for other in table.at(position).tolist())
        wanted = [b for a, b in graph.edges(name)] + [name] * graph.number_of_edges(name, name)
        assert found == sorted(wanted)
    lower, higher, counts = pair_counts(cabling)
    for a, b, count in zip(lower.tolist(), higher.tolist(), counts.tolist(), strict=True):
        assert graph.number_of_edges(names[a], names[b]) == count
    assert counts.sum() == graph.number_of_edges()
