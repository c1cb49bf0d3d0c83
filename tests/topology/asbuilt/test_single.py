"""Any one fault of any fabric, where no name tells devices apart: that fault, up to symmetry."""

from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.topology.asbuilt.fingerprint import fingerprint, networks_of, rounds_needed
from ctestbed.topology.asbuilt.single import explain
from ctestbed.topology.asbuilt.structure import compare_structure
from ctestbed.topology.build import build_topology
from ctestbed.topology.cabling import Cabling, cabling_of
from tests.topology.asbuilt.fabrics import (
    NAMES,
    built,
    columns,
    deviations,
    ends,
    notes,
    pair_of,
    renamed,
    shuffled,
    swapped,
    with_cable,
    with_cables,
    without,
)
from tests.topology.strategies import any_fabrics, load_document, testbeds

fabrics = st.sampled_from(NAMES)
seeds = st.integers(0, 2**31)
few = settings(max_examples=30, deadline=None)


def repaired(record: Cabling, kind: str, pair: tuple[str, str]) -> Cabling:
    """Do to a record what a deviation asks for."""
    a, b = (record.index[name] for name in pair)
    if kind == "missing":
        return with_cable(record, a, b)
    cables = record.cables
    rows = np.flatnonzero(((cables.a == a) & (cables.b == b)) | ((cables.a == b) & (cables.b == a)))
    return without(record, [int(rows[0])])


def same_but_for_names(one: Cabling, other: Cabling) -> bool:
    graphs = []
    for cabling in (one, other):
        graph: nx.Graph[int] = nx.Graph()
        for at, device in enumerate(cabling.devices):
            graph.add_node(at, kind=int(device.kind))
        pairs = zip(cabling.cables.a.tolist(), cabling.cables.b.tolist(), strict=True)
        for a, b in pairs:
            count = graph.get_edge_data(a, b, {"count": 0})["count"]
            graph.add_edge(a, b, count=count + 1)
        graphs.append(graph)
    hashes = [
        nx.weisfeiler_lehman_graph_hash(graph, edge_attr="count", node_attr="kind", iterations=4)
        for graph in graphs
    ]
    return hashes[0] == hashes[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_sound_record_of_any_fabric_fits_its_design(name: str) -> None:
    design = built(name)
    record = shuffled(renamed(design), 3)
    assert deviations(design, record) == ()
    assert not [finding for finding in notes(design, record) if finding.severity == "error"]


@few
@given(fabrics, seeds, st.data())
def test_a_deleted_cable_is_one_missing_cable_whose_return_restores_the_design(
    name: str, seed: int, data: st.DataObject
) -> None:
    design = built(name)
    row = data.draw(st.integers(0, len(design.cables) - 1))
    record = shuffled(renamed(without(design, [row])), seed)
    (found,) = deviations(design, record)
    assert (found.kind, found.count) == ("missing", 1)
    assert "alike" in found.message
    assert same_but_for_names(repaired(record, "missing", pair_of(found)), design)
    assert any(finding.code == "CTB-T214" for finding in notes(design, record))


@few
@given(fabrics, seeds, st.data())
def test_an_added_cable_is_one_extra_cable_whose_loss_restores_the_design(
    name: str, seed: int, data: st.DataObject
) -> None:
    design = built(name)
    device = st.integers(0, len(design.devices) - 1)
    a, b = data.draw(device), data.draw(device)
    record = shuffled(renamed(with_cable(design, a, b)), seed)
    (found,) = deviations(design, record)
    assert (found.kind, found.count) == ("self-loop" if a == b else "extra", 1)
    assert same_but_for_names(repaired(record, "extra", pair_of(found)), design)


@few
@given(fabrics, seeds, st.data())
def test_exchanged_ends_are_one_swap_unless_the_network_is_as_before(
    name: str, seed: int, data: st.DataObject
) -> None:
    design = built(name)
    cable = st.integers(0, len(design.cables) - 1)
    changed = swapped(design, data.draw(cable), data.draw(cable))
    record = shuffled(renamed(changed), seed)
    ours, theirs = networks_of(design, record)
    rounds = rounds_needed(ours)
    alike = np.array_equal(fingerprint(ours, rounds), fingerprint(theirs, rounds))
    assert [found.kind for found in deviations(design, record)] == ([] if alike else ["swapped"])
    if alike:
        assert same_but_for_names(design, changed)


@few
@given(fabrics, seeds, seeds, st.data())
def test_findings_are_of_the_same_kinds_under_any_names(
    name: str, one: int, two: int, data: st.DataObject
) -> None:
    design = built(name)
    row = data.draw(st.integers(0, len(design.cables) - 1))
    changed = without(design, [row])
    first, second = (
        explain(design, shuffled(renamed(changed, prefix), seed))
        for prefix, seed in (("zz-", one), ("y", two))
    )
    assert first is not None
    assert second is not None
    assert [found.kind for found in first] == [found.kind for found in second] == ["missing"]


@settings(max_examples=40, deadline=None)
@given(st.one_of(testbeds(), any_fabrics()), st.data())
def test_any_fault_of_fabrics_drawn_at_random(drawn: dict[str, Any], data: st.DataObject) -> None:
    topology = build_topology(load_document(drawn))
    if not 1 < topology.link_count < 500:
        return
    design = cabling_of(topology)
    row = data.draw(st.integers(0, len(design.cables) - 1))
    lost = without(design, [row])
    (found,) = deviations(design, lost)
    assert (found.kind, pair_of(found)) == ("missing", ends(design, row))
    (found,) = explain(design, renamed(lost)) or ()
    assert found.kind == "missing"
    grown = with_cable(design, row % len(design.devices), 0)
    (found,) = deviations(design, grown)
    assert found.kind in {"extra", "self-loop"}
    (found,) = explain(design, renamed(grown)) or ()
    assert found.kind in {"extra", "self-loop"}


def test_two_faults_are_not_explained_by_one() -> None:
    design = built("three-tier")
    assert explain(design, renamed(without(design, [1, 20]))) is None
    both = with_cable(without(design, [1]), 0, 9)
    assert explain(design, renamed(both)) is None


def test_a_slow_cable_shows_beside_a_missing_one() -> None:
    design = built("leaf-spine")
    table = columns(without(design, [30]))
    table["rate"][:10] //= 2
    found = compare_structure(design, renamed(with_cables(design, table))).deviations
    assert sorted({deviation.kind for deviation in found}) == ["missing", "slow"]


def test_other_devices_are_left_to_roles() -> None:
    design = built("leaf-spine")
    fewer = replace(design, devices=design.devices[:-1])
    assert explain(design, with_cables(fewer, columns(without(design, [0])))) is None
