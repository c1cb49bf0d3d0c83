"""GraphML, node-link, CSV, DOT: networkx and the standard library read them back whole."""

import csv
import io
import json
import re
from collections import Counter
from typing import Any
from xml.etree import ElementTree as ET

import networkx as nx
import pytest
from hypothesis import given, settings

from ctestbed.core.errors import InputError
from ctestbed.core.units import parse_rate, parse_time
from ctestbed.topology.cabling import Cabling, Device, DeviceKind, make_cables
from ctestbed.topology.writers.common import Fabric
from tests.topology.strategies import testbeds
from tests.topology.writers.fabrics import (
    cable_multiset,
    codes,
    fabric_of,
    leaf_spine,
    pair_multiset,
    supernodes,
    torus,
    written,
)

FABRICS = [leaf_spine(), supernodes(), torus()]


def node_link_graph(text: str) -> Any:
    return nx.node_link_graph(json.loads(text), edges="edges")


def pairs_of(graph: Any, name: Any) -> Counter[frozenset[str]]:
    return Counter(frozenset([name(a), name(b)]) for a, b in graph.edges())


@pytest.mark.parametrize("fabric", FABRICS)
def test_networkx_reads_graphml_back(fabric: Fabric) -> None:
    text, notes = written(fabric, "graphml")
    graph = nx.read_graphml(io.BytesIO(text.encode()), force_multigraph=True)
    assert notes == ()
    assert not graph.is_directed()
    assert pairs_of(graph, lambda n: graph.nodes[n]["name"]) == pair_multiset(fabric.cabling)
    cables = fabric.cabling.cables
    rates = Counter(data.get("rate", -1) for *_, data in graph.edges(data=True))
    assert rates == Counter(cables.rate.tolist())
    for _, data in graph.nodes(data=True):
        device = fabric.cabling.devices[fabric.cabling.index[data["name"]]]
        assert data["kind"] == device.kind.word
        assert data.get("rail") == device.rail
        assert data.get("plane") == device.plane


@pytest.mark.parametrize("fabric", FABRICS)
def test_networkx_reads_node_link_back(fabric: Fabric) -> None:
    text, notes = written(fabric, "node-link")
    graph = node_link_graph(text)
    assert notes == ()
    assert graph.is_multigraph()
    assert not graph.is_directed()
    assert pairs_of(graph, str) == pair_multiset(fabric.cabling)
    ends = Counter(
        frozenset([(a, data["a_port"]), (b, data["b_port"])])
        if graph.edges[a, b, key]["a_port"] is not None
        else frozenset()
        for a, b, key, data in graph.edges(keys=True, data=True)
    )
    assert sum(ends.values()) == len(fabric.cabling.cables)


@settings(max_examples=20, deadline=None)
@given(testbeds())
def test_both_graph_forms_are_isomorphic_to_the_fabric(document: dict[str, Any]) -> None:
    fabric = fabric_of(document)
    drawn: Any = nx.MultiGraph()
    drawn.add_nodes_from(device.name for device in fabric.cabling.devices)
    for pair in pair_multiset(fabric.cabling).elements():
        drawn.add_edge(*pair)
    for graph in (
        node_link_graph(written(fabric, "node-link")[0]),
        nx.read_graphml(io.BytesIO(written(fabric, "graphml")[0].encode()), force_multigraph=True),
    ):
        assert Counter(dict(graph.degree()).values()) == Counter(dict(drawn.degree()).values())
        assert nx.faster_could_be_isomorphic(graph, drawn)
        assert graph.number_of_edges() == drawn.number_of_edges()


@pytest.mark.parametrize("fabric", FABRICS)
def test_every_cable_is_a_row_of_the_csv(fabric: Fabric) -> None:
    text, _ = written(fabric, "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    found = Counter(
        frozenset([(row["a"], row["a_port"]), (row["b"], row["b_port"])]) for row in rows
    )
    assert found == cable_multiset(fabric.cabling)
    assert [parse_rate(row["rate"]) for row in rows] == fabric.cabling.cables.rate.tolist()
    assert [parse_time(row["delay"]) for row in rows] == fabric.cabling.cables.delay.tolist()
    kinds = {row["a"]: row["a_kind"] for row in rows}
    assert all(
        fabric.cabling.devices[fabric.cabling.index[name]].kind.word == kind
        for name, kind in kinds.items()
    )


def test_unknown_figures_are_absent_everywhere() -> None:
    fabric = leaf_spine(rate="unknown", delay="unknown")
    rows = list(csv.DictReader(io.StringIO(written(fabric, "csv")[0])))
    assert {(row["rate"], row["delay"]) for row in rows} == {("", "")}
    for name in ("graphml", "node-link"):
        text, _ = written(fabric, name)
        assert '"rate":' not in text
        assert '<data key="e2">' not in text


@pytest.mark.parametrize("fabric", FABRICS)
def test_dot_names_every_device_and_cable(fabric: Fabric) -> None:
    text, notes = written(fabric, "dot")
    edges = re.findall(r'^  "([^"]+)" -- "([^"]+)" \[', text, re.MULTILINE)
    assert Counter(map(frozenset, edges)) == pair_multiset(fabric.cabling)
    nodes = re.findall(r'^  "([^"]+)" \[shape=', text, re.MULTILINE)
    assert nodes == [device.name for device in fabric.cabling.devices]
    assert "CTB-T312" in codes(notes)


def awkward(name: str, port: str = "1") -> Fabric:
    devices = (Device(name, DeviceKind.SWITCH), Device("b", DeviceKind.HOST))
    cables = make_cables([0], [1], a_port=[0], b_port=[-1], extra={"colour": ["blue & red"]})
    return Fabric(Cabling("awkward", "csv", devices, (port,), cables))


@pytest.mark.parametrize(
    "name", ['quo"te', "amp&<lt>", "comma, semi;", "back\\slash", "é 漢", "a'b"]
)
def test_awkward_names_come_back_as_they_were(name: str) -> None:
    fabric = awkward(name, name)
    graph = ET.fromstring(written(fabric, "graphml")[0])  # noqa: S314 - our own text
    texts = {data.text for data in graph.iter("{http://graphml.graphdrawing.org/xmlns}data")}
    assert {name, "blue & red"} <= texts
    assert name in node_link_graph(written(fabric, "node-link")[0])
    (row,) = csv.DictReader(io.StringIO(written(fabric, "csv")[0]))
    assert (row["a"], row["a_port"], row["b_port"], row["colour"]) == (name, name, "", "blue & red")
    assert nx.__name__  # DOT has no reader here: its escapes are the two of its manual
    assert name.replace("\\", "\\\\").replace('"', '\\"') in written(fabric, "dot")[0]


@pytest.mark.parametrize("form", ["graphml", "csv", "dot", "simgrid"])
def test_control_characters_are_refused(form: str) -> None:
    with pytest.raises(InputError) as caught:
        written(awkward("line\nend"), form)
    assert caught.value.code in {"CTB-T305", "CTB-T302"}


def test_devices_without_a_cable_are_noted_where_they_go_missing() -> None:
    fabric = awkward("a")
    lone = (*fabric.cabling.devices, Device("lone", DeviceKind.HOST))
    cabling = Cabling("lone", "csv", lone, fabric.cabling.port_names, fabric.cabling.cables)
    assert "CTB-T314" in codes(written(Fabric(cabling), "csv")[1])
    assert "lone" in written(Fabric(cabling), "graphml")[0]
