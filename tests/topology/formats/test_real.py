"""Real files of other tools, read in place, against the facts known of them."""

import json
from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from ctestbed.core.errors import ExitCode, InputError
from ctestbed.topology.cabling import Cabling, DeviceKind, infer_roles, pair_counts, self_loops
from ctestbed.topology.importing import ImportRequest, load_cabling, parse_cabling, run_import
from tests.shared import shared_data
from tests.topology.formats.samples import edges

THIRD = "fabric/third-party"
GB200 = f"{THIRD}/topograph/ibnetdiscover-example.out"


def _load(name: str) -> Cabling:
    return load_cabling(str(shared_data(f"{THIRD}/{name}")))


def _tiers(cabling: Cabling) -> list[int]:
    roles = infer_roles(cabling)
    return [len(roles.of_tier(tier)) for tier in range(1 + roles.tiers)]


def test_gb200_fabric() -> None:
    # R1 of the facts: 622 nodes, 31 leaves, 9 spines, 532 of 558 cables, 26 missing over 16 pairs.
    cabling = load_cabling(str(shared_data(GB200)))
    kinds = Counter(device.kind for device in cabling.devices)
    assert kinds == {DeviceKind.NIC: 582, DeviceKind.SWITCH: 40}
    roles = infer_roles(cabling)
    assert len(roles.of_tier(1)) == 31
    assert len(roles.of_tier(2)) == 9
    assert len(cabling.one_sided) == len(self_loops(cabling)) == 0
    assert set(cabling.cables.rate.tolist()) == {400_000_000_000}
    lower, higher, counts = pair_counts(cabling)
    trunk = roles.switch[lower] & roles.switch[higher]
    assert counts[trunk].sum() == 532
    short = 2 - counts[trunk]
    absent = 31 * 9 - trunk.sum()
    assert 2 * absent + short.sum() == 26
    assert absent + np.count_nonzero(short) == 16
    names = {device.name for device in cabling.devices}
    assert "A09-P1-IBLEAF-01-02" in names
    assert "A09-P1-IBLEAF-03-01" not in names


def test_gb200_hosts_and_rails() -> None:
    cabling = load_cabling(str(shared_data(GB200)))
    rails: dict[str, set[int | None]] = {}
    for device in cabling.devices:
        if device.host is not None:
            rails.setdefault(device.host, set()).add(device.rail)
    short = sorted(host for host, found in rails.items() if len(found) == 3)
    assert len(short) == 11
    assert short[-1] == "localhost"
    assert all(name.startswith("a05-p1-dgx-01-") for name in short[:-1])
    assert {rail for found in rails.values() for rail in found} == {0, 1, 2, 3}


def test_gb200_against_a_count_of_its_lines() -> None:
    # An independent reading: every port line once, joined as an undirected multigraph.
    path = shared_data(GB200)
    stated: Counter[frozenset[tuple[str, str]]] = Counter()
    node = ""
    for line in path.read_text().splitlines():
        words = line.replace("[", " ").replace("]", " ").split('"')
        if line.startswith(("Switch", "Ca")):
            node = words[1]
        elif line.startswith("["):
            port = words[0].split("(")[0].strip()
            far = words[2].split()[0].split("(")[0]
            stated[frozenset({(node, port), (words[1], far)})] += 1
    assert set(stated.values()) == {2}
    cabling = load_cabling(str(path))
    ids = [device.attributes["id"] for device in cabling.devices]
    table = cabling.cables
    read = {
        frozenset(
            {
                (ids[int(table.a[row])], str(cabling.port(int(table.a_port[row])))),
                (ids[int(table.b[row])], str(cabling.port(int(table.b_port[row])))),
            }
        )
        for row in range(len(table))
    }
    assert read == set(stated)


def test_blank_lines_and_line_ends_make_no_difference() -> None:
    content = shared_data(GB200).read_bytes()
    whole = parse_cabling(content, "f")[0]
    squeezed = b"\n".join(line for line in content.split(b"\n") if line)
    for variant in (squeezed, content.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + content):
        assert edges(parse_cabling(variant, "f")[0]) == edges(whole)


def test_a_scan_that_saw_nobody() -> None:
    # R3: one adapter and no link: a finding, no crash, no tree.
    path = shared_data(f"{THIRD}/topograph/ibnetdiscover-example-bad.out")
    result = run_import(ImportRequest(str(path)))
    assert result.exit_code == ExitCode.CHECKS_FAILED
    assert [finding.code for finding in result.findings] == ["CTB-T123"]
    assert result.findings[0].where is not None
    assert result.findings[0].where.line == 10
    assert result.data["tiers"] == []


def test_hpcc_fat_tree() -> None:
    # R6: 320 hosts, 20 ToRs x 16 at 100G with 4 x 400G up, 20 aggs with 8 links, 16 cores with 5.
    cabling = _load("ns3-hpcc/fat.txt")
    assert _tiers(cabling) == [320, 20, 20, 16]
    assert len(cabling.cables) == 480
    roles = infer_roles(cabling)
    ends = np.concatenate([cabling.cables.a, cabling.cables.b])
    degrees = np.bincount(ends)
    for tier, links in ((1, 20), (2, 8), (3, 5)):
        assert set(degrees[roles.of_tier(tier)].tolist()) == {links}
    rates = Counter(cabling.cables.rate.tolist())
    assert rates == {100_000_000_000: 320, 400_000_000_000: 160}
    assert cabling.findings == ()


def test_hpcc_topology_stops_at_its_count() -> None:
    # R8: 66 nodes, 65 links, 196 lines after them that are not links.
    cabling = _load("ns3-hpcc/topology.txt")
    assert (len(cabling.devices), len(cabling.cables)) == (66, 65)
    assert [finding.code for finding in cabling.findings] == ["CTB-T124"]
    assert "196 lines" in cabling.findings[0].message


@pytest.mark.parametrize(
    ("name", "tiers", "links"),
    [
        ("simai/AlibabaHPN_128g_8gps_DualToR_DualPlane_200Gbps_H100", [128, 16, 60], 864),
        ("simai/Spectrum-X_128g_8gps_400Gbps_H100", [128, 8, 64], 768),
        ("htsim/leaf_spine_1024.topo", [1024, 32, 32], 2048),
        ("htsim/leaf_spine_8192_800g.topo", [8192, 128, 64], 16384),
        ("simgrid/cluster_fat_tree.xml", [16, 4, 2], 32),
        ("astra-sim/hgx_h100_16gpu.yml", [16, 2], 24),
        ("containerlab/clos01.clab.yml", [2, 2, 1], 4),
        ("netlab/fabric-ebgp.yml", [0, 4, 2], 8),
        ("topograph/netq-topologyGraph.json", [8, 2, 1], 79),
    ],
)
def test_counts_and_tiers(name: str, tiers: list[int], links: int) -> None:
    cabling = _load(name)
    assert _tiers(cabling) == tiers
    assert len(cabling.cables) == links


def test_simai_servers_and_scale_up() -> None:
    cabling = _load("simai/Spectrum-X_128g_8gps_400Gbps_H100")
    gpus = [device for device in cabling.devices if device.kind == DeviceKind.ACCELERATOR]
    assert len({gpu.host for gpu in gpus}) == 16
    assert Counter(gpu.rail for gpu in gpus) == dict.fromkeys(range(8), 16)
    assert sum(device.role == "scale-up" for device in cabling.devices) == 16
    assert cabling.attributes["gpu_type"] == "H100"


def test_batfish_example_against_its_json() -> None:
    path = shared_data(f"{THIRD}/batfish/example_layer1_topology.json")
    listed = {
        frozenset((end["hostname"], end["interfaceName"]) for end in (edge["node1"], edge["node2"]))
        for edge in json.loads(path.read_text())["edges"]
    }
    cabling = load_cabling(str(path))
    assert len(cabling.cables) == len(listed)
    loops = self_loops(cabling)
    names = [cabling.cable_name(int(row)) for row in loops]
    assert names == ["as3core1:GigabitEthernet2/0 - as3core1:GigabitEthernet3/0"]


@pytest.mark.parametrize(
    ("name", "devices", "links"), [("ls128", 152, 256), ("ft1024", 1344, 3072)]
)
def test_ibsim_nets(name: str, devices: int, links: int) -> None:
    cabling = load_cabling(str(shared_data(f"fabric/measured/{name}.net")))
    assert (len(cabling.devices), len(cabling.cables)) == (devices, links)


def test_simgrid_fat_tree_is_the_one_of_the_paper() -> None:
    # Figure 1(b): 4 leaves of 4 nodes; 2 cores, two cables to each leaf.
    cabling = _load("simgrid/cluster_fat_tree.xml")
    graph: nx.MultiGraph[str] = nx.MultiGraph(
        (cabling.devices[a].name, cabling.devices[b].name)
        for a, b in zip(cabling.cables.a.tolist(), cabling.cables.b.tolist(), strict=True)
    )
    switches = [name for name in graph if str(name).startswith("switch")]
    assert sorted(dict(graph.degree(switches)).values()) == [8, 8, 8, 8, 8, 8]
    for leaf in (name for name in switches if str(name).startswith("switch-1")):
        above = Counter(n for n in graph[leaf] for _ in graph[leaf][n] if "switch" in str(n))
        assert set(above.values()) == {2}
    assert set(cabling.cables.rate.tolist()) == {1_000_000_000}
    assert set(cabling.cables.delay.tolist()) == {50_000_000}


@pytest.mark.parametrize(
    "name",
    [
        "third-party/goal/binary_tree_32.goal",
        "third-party/htsim/incast_128.cm",
        "third-party/ns3-hpcc/config.txt",
        "third-party/ns3-hpcc/flow.txt",
        "third-party/simai/microAllReduce.txt",
        "third-party/simai/workload_analytical.txt",
        "third-party/astra-sim/all_reduce.0.et",
        "third-party/astra-sim/Ring_4chunks.json",
        "third-party/topograph/model-nvl72.yaml",
        "measured/ls128_ftree.lfts",
        "measured/htsim_fct.csv",
        "SOURCES.md",
    ],
)
def test_other_files_are_refused(name: str) -> None:
    path: Path = shared_data(f"fabric/{name}")
    with pytest.raises(InputError):
        parse_cabling(path.read_bytes(), path.name)
