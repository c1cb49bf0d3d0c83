"""Any one fault of any fabric is reported as exactly that, whatever the order of the record."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.core.units import format_rate
from ctestbed.topology.cabling import Cabling, DeviceKind
from tests.topology.asbuilt.fabrics import (
    NAMES,
    built,
    columns,
    deviations,
    ends,
    notes,
    pair_of,
    shuffled,
    swapped,
    table_of,
    with_cable,
    with_cables,
    without,
    without_ports,
)

fabrics = st.sampled_from(NAMES)
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=40, deadline=None)


def drawn_row(data: st.DataObject, cabling: Cabling) -> int:
    return data.draw(st.integers(0, len(cabling.cables) - 1))


@pytest.mark.parametrize("name", NAMES)
def test_a_fabric_cabled_as_designed_has_no_deviation(name: str) -> None:
    design = built(name)
    for record in (design, shuffled(design, 1), without_ports(design)):
        assert deviations(design, record) == ()
        assert notes(design, record) == ()


@few
@given(fabrics, seeds, st.booleans(), st.data())
def test_a_deleted_cable_is_one_missing_cable(
    name: str, seed: int, ports: bool, data: st.DataObject
) -> None:
    design = built(name)
    row = drawn_row(data, design)
    record = shuffled(without(design, [row]), seed)
    (found,) = deviations(design, record if ports else without_ports(record))
    assert (found.kind, found.count) == ("missing", 1)
    assert pair_of(found) == ends(design, row)


@few
@given(fabrics, seeds, st.booleans(), st.data())
def test_an_added_cable_is_one_extra_cable(
    name: str, seed: int, ports: bool, data: st.DataObject
) -> None:
    design = built(name)
    device = st.integers(0, len(design.devices) - 1)
    a, b = data.draw(device), data.draw(device)
    record = shuffled(with_cable(design, a, b), seed)
    (found,) = deviations(design, record if ports else without_ports(record))
    assert found.kind == ("self-loop" if a == b else "extra")
    assert found.count == 1
    names = sorted((design.devices[a].name, design.devices[b].name))
    assert pair_of(found) == tuple(names)


@few
@given(fabrics, seeds, st.data())
def test_two_cables_that_exchange_ends_are_one_swap(
    name: str, seed: int, data: st.DataObject
) -> None:
    design = built(name)
    first, second = drawn_row(data, design), drawn_row(data, design)
    if first == second:
        return
    changed = swapped(design, first, second)
    (found,) = deviations(design, shuffled(changed, seed))
    assert (found.kind, found.count) == ("swapped", 2)
    assert found.b is not None
    for row in (first, second):
        assert all(end in found.a + found.b for end in ends(changed, row))
        assert found.expected is not None
        assert all(end in found.expected for end in ends(design, row))


@few
@given(fabrics, seeds, st.data())
def test_a_swap_is_found_without_ports_unless_it_leaves_the_network_as_it_was(
    name: str, seed: int, data: st.DataObject
) -> None:
    design = built(name)
    first, second = drawn_row(data, design), drawn_row(data, design)
    changed = swapped(design, first, second)
    before = sorted(ends(design, row) for row in (first, second))
    after = sorted(ends(changed, row) for row in (first, second))
    found = deviations(design, shuffled(without_ports(changed), seed))
    kinds = [deviation.kind for deviation in found]
    assert kinds == ([] if before == after else ["swapped"])


@few
@given(fabrics, seeds, st.data())
def test_findings_do_not_depend_on_the_order_of_the_record(
    name: str, seed: int, data: st.DataObject
) -> None:
    design = built(name)
    record = without(design, [drawn_row(data, design)])
    record = swapped(record, drawn_row(data, record), drawn_row(data, record))
    record = with_cable(record, 0, drawn_row(data, record) % len(record.devices))
    expected = [(d.kind, d.a, d.b, d.count) for d in deviations(design, record)]
    again = deviations(shuffled(design, seed), shuffled(record, seed + 1))
    assert [(d.kind, d.a, d.b, d.count) for d in again] == expected


@few
@given(fabrics, st.data())
def test_renaming_both_sides_renames_the_findings(name: str, data: st.DataObject) -> None:
    design = built(name)
    record = without(design, [drawn_row(data, design)])
    record = swapped(record, drawn_row(data, record), drawn_row(data, record))

    def called(cabling: Cabling) -> Cabling:
        devices = tuple(replace(device, name=f"x.{device.name}") for device in cabling.devices)
        return replace(cabling, devices=devices)

    before = deviations(design, record)
    after = deviations(called(design), called(record))
    assert [d.kind for d in after] == [d.kind for d in before]
    for old, new in zip(before, after, strict=True):
        assert new.a.replace("x.", "") == old.a
        assert (new.b or "").replace("x.", "") == (old.b or "")


@few
@given(fabrics, st.data())
def test_a_slow_cable_is_reported_with_both_speeds(name: str, data: st.DataObject) -> None:
    design = built(name)
    row = drawn_row(data, design)
    table = columns(design)
    table["rate"][row] //= 4
    (found,) = deviations(design, with_cables(design, table))
    assert found.kind == "slow"
    assert pair_of(found) == ends(design, row)
    assert format_rate(int(design.cables.rate[row])) in found.message
    assert format_rate(int(design.cables.rate[row]) // 4) in found.message


@few
@given(fabrics, st.data())
def test_a_cable_that_one_end_states_is_one_sided_and_not_missing(
    name: str, data: st.DataObject
) -> None:
    design = built(name)
    row = drawn_row(data, design)
    lonely = table_of({key: column[[row]] for key, column in columns(design).items()})
    record = replace(without(design, [row]), one_sided=lonely)
    (found,) = deviations(design, record)
    assert found.kind == "one-sided"
    assert pair_of(found) == ends(design, row)


def test_a_nic_on_the_leaf_of_another_rail_is_on_the_wrong_rail() -> None:
    design = built("rails")
    table = columns(design)
    for row in range(len(design.cables)):
        nic, leaf = (design.devices[int(table[end][row])] for end in ("a", "b"))
        if nic.kind == DeviceKind.NIC and nic.rail == 1:
            other = next(
                at
                for at, device in enumerate(design.devices)
                if device.kind == DeviceKind.SWITCH
                and device.tier == 1
                and any(
                    design.devices[int(a)].rail == 2 and int(b) == at
                    for a, b in zip(table["a"], table["b"], strict=True)
                )
            )
            break
    table["b"][row] = other
    table["b_port"][row] = -1
    (found,) = deviations(design, with_cables(design, table))
    assert (found.kind, found.a) == ("wrong-rail", nic.name)
    assert (found.b, found.expected) == (design.devices[other].name, leaf.name)


def test_a_nic_in_another_plane_is_in_the_wrong_plane() -> None:
    design = built("planes")
    leaf = [at for at, d in enumerate(design.devices) if d.tier == 1]
    table = columns(design)
    meant = int(table["b"][0])
    other = next(at for at in leaf if design.devices[at].plane != design.devices[meant].plane)
    table["b"][0], table["b_port"][0] = other, -1
    (found,) = deviations(design, with_cables(design, table))
    assert found.kind == "wrong-rail"
    assert "plane" in found.message
    assert found.expected == design.devices[meant].name


def removed(cabling: Cabling, gone: set[int]) -> Cabling:
    keep = [at for at in range(len(cabling.devices)) if at not in gone]
    number = np.full(len(cabling.devices), -1)
    number[keep] = np.arange(len(keep))
    table = columns(cabling)
    rows = [
        row
        for row, (a, b) in enumerate(zip(table["a"], table["b"], strict=True))
        if int(a) in gone or int(b) in gone
    ]
    table = {name: np.delete(column, rows) for name, column in table.items()}
    table["a"], table["b"] = number[table["a"]], number[table["b"]]
    devices = tuple(cabling.devices[at] for at in keep)
    return with_cables(replace(cabling, devices=devices), table)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in {"torus", "full-mesh"}])
def test_an_absent_switch_is_one_absent_node(name: str) -> None:
    design = built(name)
    switch = next(at for at, d in enumerate(design.devices) if d.kind == DeviceKind.SWITCH)
    (found,) = deviations(design, removed(design, {switch}))
    assert (found.kind, found.a) == ("absent-node", design.devices[switch].name)
    ports = np.concatenate([design.cables.a, design.cables.b])
    assert found.count == int((ports == switch).sum())


def test_an_absent_host_is_one_absent_node() -> None:
    design = built("rails")
    host = design.devices[0].host
    gone = {at for at, device in enumerate(design.devices) if device.host == host}
    (found,) = deviations(design, removed(design, gone))
    assert (found.kind, found.a, found.count) == ("absent-node", host, 4)


def test_an_unexpected_switch_is_one_extra_device() -> None:
    record = built("leaf-spine")
    switch = next(at for at, d in enumerate(record.devices) if d.kind == DeviceKind.SWITCH)
    (found,) = deviations(removed(record, {switch}), record)
    assert (found.kind, found.a, found.b) == ("extra", record.devices[switch].name, None)


def test_a_renamed_switch_is_told_by_its_cables_and_said() -> None:
    design = built("three-tier")
    switch = next(at for at, d in enumerate(design.devices) if d.kind == DeviceKind.SWITCH)
    devices = list(design.devices)
    devices[switch] = replace(devices[switch], name="spare-7")
    record = replace(design, devices=tuple(devices))
    assert deviations(design, record) == ()
    assert any("another name" in finding.message for finding in notes(design, record))


def test_names_but_for_case_and_domain_match() -> None:
    design = built("leaf-spine")
    devices = tuple(replace(d, name=f"{d.name.upper()}.dc1.example") for d in design.devices)
    assert deviations(design, replace(design, devices=devices)) == ()


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_a_record_of_another_network_ends_in_bounded_time(seed: int) -> None:
    design = built("slim-fly")
    generator = np.random.default_rng(seed)
    table = columns(design)
    table["b"] = generator.permutation(table["b"])
    found = deviations(design, without_ports(with_cables(design, table)))
    accounted = sum(d.count for d in found if d.kind in {"missing", "swapped"})
    assert 0 < accounted <= len(design.cables)
