"""What is inferred of real and made records without a design, and what departs from it."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.topology.asbuilt.deviations import Deviation
from ctestbed.topology.asbuilt.naming import guess_name
from ctestbed.topology.asbuilt.structure import compare_structure, judge
from ctestbed.topology.cabling import Cabling, DeviceKind, infer_roles
from ctestbed.topology.comparing import ValidateRequest, run_validate_any
from ctestbed.topology.importing import load_cabling, parse_cabling
from tests.shared import shared_data
from tests.topology.asbuilt.fabrics import (
    built,
    columns,
    notes,
    renamed,
    shuffled,
    swapped,
    with_cable,
    with_cables,
    without,
)

GB200 = "fabric/third-party/topograph/ibnetdiscover-example.out"
BAD = "fabric/third-party/topograph/ibnetdiscover-example-bad.out"
FAT = "fabric/third-party/ns3-hpcc/fat.txt"
SPECTRUM = "fabric/third-party/simai/Spectrum-X_128g_8gps_400Gbps_H100"
HPN = "fabric/third-party/simai/AlibabaHPN_128g_8gps_DualToR_DualPlane_200Gbps_H100"
CLOS = ("leaf-spine", "three-tier", "rails", "dual-tor")

few = settings(max_examples=25, deadline=None)


def judged(cabling: Cabling) -> list[Deviation]:
    inference, found = judge(cabling)
    return [*found.deviations, *inference.deviations]


def validated(path: str) -> tuple[Any, int]:
    result = run_validate_any(ValidateRequest(str(shared_data(path))))
    return result.data, int(result.exit_code)


def test_the_gb200_fabric_is_inferred_with_its_known_faults() -> None:
    data, code = validated(GB200)
    assert code == 10
    inferred = data["inferred"]
    assert [tier["switches"] for tier in inferred["tiers"]] == [31, 9]
    (layer,) = inferred["layers"]
    assert layer["cables_per_pair"] == 2
    assert (layer["cables_present"], layer["cables_expected"]) == (532, 558)
    missing = [item for item in data["deviations"] if item["kind"] == "missing"]
    assert len(missing) == 16
    assert sum(item["count"] for item in missing) == 26
    none = {item["b"] for item in missing if item["a"] == "A09-P1-IBLEAF-01-02"}
    assert none == {"A10-P1-IBSPINE-01", "A10-P1-IBSPINE-04"}


def test_the_gb200_fabric_lacks_a_leaf_and_eleven_hosts_a_rail() -> None:
    result = run_validate_any(ValidateRequest(str(shared_data(GB200))))
    (absent,) = [d for d in result.data["deviations"] if d["kind"] == "absent-node"]
    assert (absent["a"], absent["count"]) == ("A09-P1-IBLEAF-03-01", 11)
    (finding,) = [f for f in result.findings if f.code == "CTB-T207"]
    assert "3 of 4 rails" in finding.message
    assert finding.message.count("a05-p1-dgx-01-c") == 10
    assert "localhost" in finding.message


def test_the_further_fault_of_the_gb200_fabric_is_two_rails_of_a_host_exchanged() -> None:
    data, _ = validated(GB200)
    others = [d for d in data["deviations"] if d["kind"] not in {"missing", "absent-node"}]
    (swap,) = others
    assert swap["kind"] == "swapped"
    cables = swap["a"] + swap["b"]
    for part in (
        "b08-p1-dgx-08-c01 HCA-5",
        "b08-p1-dgx-08-c01 HCA-6",
        "B09-P1-IBLEAF-03-08",
        "B09-P1-IBLEAF-04-08",
    ):
        assert part in cables


def test_the_gb200_fault_stands_in_the_file_as_told() -> None:
    """An independent look at the text: each port of the two leaves, and its adapter's number."""
    text = shared_data(GB200).read_text()
    for leaf, usual in (("03-08", "HCA-5"), ("04-08", "HCA-6")):
        record = text.partition(f'"MF0;B09-P1-IBLEAF-{leaf}:')[2].partition("\n\n")[0]
        named = [line.rsplit('# "')[-1] for line in record.splitlines() if "dgx-08" in line]
        odd = [line for line in named if usual not in line]
        assert len(odd) == 1
        assert odd[0].startswith("b08-p1-dgx-08-c01 HCA-")


def test_the_order_of_the_gb200_record_changes_nothing() -> None:
    cabling = load_cabling(str(shared_data(GB200)))
    before = Counter((d.kind, d.a, d.b, d.count) for d in judged(cabling))
    for seed in range(3):
        after = Counter((d.kind, d.a, d.b, d.count) for d in judged(shuffled(cabling, seed)))
        assert after == before


def test_a_record_without_cables_gives_a_finding_and_no_fabric() -> None:
    data, code = validated(BAD)
    assert code == 10
    assert data["inferred"]["tiers"] == []
    assert data["deviations"] == []


def test_the_hpcc_fat_tree_is_three_tiers_without_any_deviation() -> None:
    data, code = validated(FAT)
    inferred = data["inferred"]
    assert code == 0
    assert [tier["switches"] for tier in inferred["tiers"]] == [20, 20, 16]
    assert inferred["endpoints"] == 320
    assert inferred["below"]["endpoints_per_leaf"] == 16
    assert [layer["cables_expected"] for layer in inferred["layers"]] == [80, 80]
    assert [layer["groups"] for layer in inferred["layers"]] == [5, 4]
    assert data["deviations"] == []


@pytest.mark.parametrize(
    ("path", "kind", "leaves", "spines", "planes"),
    [
        (SPECTRUM, "rail-optimised leaf-spine", 8, 64, 1),
        (HPN, "rail-optimised dual-ToR dual-plane leaf-spine", 16, 60, 2),
    ],
)
def test_simai_templates_are_recognised(
    path: str, kind: str, leaves: int, spines: int, planes: int
) -> None:
    data, code = validated(path)
    inferred = data["inferred"]
    assert (code, inferred["kind"], inferred["planes"]) == (0, kind, planes)
    assert [tier["switches"] for tier in inferred["tiers"]] == [leaves, spines]
    assert inferred["rails"]["rails"] == 8
    assert data["deviations"] == []


def edr_dump(slow: tuple[int, int, int] | None) -> bytes:
    """Write an ibnetdiscover record: 4 leaves, 2 spines, 6 cables a pair, 4 hosts a leaf."""
    records: dict[str, list[str]] = {}
    leaves, spines = [f"S-{1:015x}{n}" for n in range(4)], [f"S-{2:015x}{n}" for n in range(2)]
    for n, leaf in enumerate(leaves):
        for host in range(4):
            nic = f"H-{3:014x}{n}{host}"
            name = f"node{n}{host} HCA-1"
            ports = f'"{nic}"[1]({nic[2:]}) \t\t# "{name}" lid 1 4xEDR'
            records.setdefault(leaf, []).append(f"[{host + 1}]\t{ports}")
            back = f'[1]({nic[2:]}) \t"{leaf}"[{host + 1}]\t\t# lid 1 lmc 0 "leaf{n}" lid 2 4xEDR'
            records[nic] = [back]
        for m, spine in enumerate(spines):
            for cable in range(6):
                speed = "4xDDR" if slow == (n, m, cable) else "4xEDR"
                near, far = 10 + 6 * m + cable, 1 + 6 * n + cable
                line = f'[{near}]\t"{spine}"[{far}]\t\t# "spine{m}" lid 3 {speed}'
                records.setdefault(leaf, []).append(line)
                line = f'[{far}]\t"{leaf}"[{near}]\t\t# "leaf{n}" lid 2 {speed}'
                records.setdefault(spine, []).append(line)
    text = "#\n# Topology file: generated on Mon Jan  2 10:00:00 2023\n#\n"
    for device, lines in records.items():
        guid = device[2:]
        if device[0] == "S":
            name = f"leaf{leaves.index(device)}" if device in leaves else f"spine{device[-1]}"
            head = f'switchguid=0x{guid}({guid})\nSwitch\t36 "{device}"\t\t# "{name}" enhanced'
            head += " port 0 lid 2 lmc 0"
        else:
            name = f"node{device[-2:]} HCA-1"
            head = f'caguid=0x{guid}\nCa\t1 "{device}"\t\t# "{name}"'
        text += f"\nvendid=0x2c9\ndevid=0xcb20\nsysimgguid=0x{guid}\n{head}\n"
        text += "\n".join(lines) + "\n"
    return text.encode()


@pytest.mark.parametrize("slow", [(0, 0, 0), (3, 1, 5), None])
def test_one_ddr_cable_among_edr_is_slow(slow: tuple[int, int, int] | None) -> None:
    cabling, _ = parse_cabling(edr_dump(slow), "edr.out")
    found = judged(cabling)
    inference, _ = judge(cabling)
    assert inference.layers[0].votes() == (6, 8, 0)
    if slow is None:
        assert found == []
        return
    (deviation,) = found
    assert deviation.kind == "slow"
    assert {deviation.a.rpartition(":")[0], (deviation.b or "").rpartition(":")[0]} == {
        f"leaf{slow[0]}",
        f"spine{slow[1]}",
    }
    assert "20 Gb/s instead of 100 Gb/s" in deviation.message
    assert deviation.where is not None
    assert deviation.where.line is not None
    line = edr_dump(slow).decode().splitlines()[deviation.where.line - 1]
    assert "4xDDR" in line


@pytest.mark.parametrize("name", CLOS)
def test_sound_fabrics_show_themselves_regular_without_deviation(name: str) -> None:
    for seed in range(3):
        record = shuffled(renamed(built(name)), seed)
        inference, _ = judge(record)
        assert inference.regular
        assert judged(record) == []


@pytest.mark.parametrize("name", ["dragonfly", "slim-fly", "torus", "planes", "split"])
def test_sound_fabrics_of_other_kinds_show_no_deviation(name: str) -> None:
    assert judged(built(name)) == []


@few
@given(st.sampled_from(("leaf-spine", "rails")), st.integers(0, 2**31), st.data())
def test_a_lost_cable_between_switches_shows_without_names_and_design(
    name: str, seed: int, data: st.DataObject
) -> None:
    record = renamed(built(name))
    tier = infer_roles(record).tier
    between = np.flatnonzero((tier[record.cables.a] > 0) & (tier[record.cables.b] > 0))
    row = data.draw(st.sampled_from(between.tolist()))
    names = {record.devices[int(e[row])].name for e in (record.cables.a, record.cables.b)}
    (found,) = judged(shuffled(without(record, [row]), seed))
    assert (found.kind, found.count, {found.a, found.b}) == ("missing", 1, names)


@few
@given(st.sampled_from(("leaf-spine", "rails")), st.integers(0, 2**31), st.data())
def test_exchanged_uplinks_show_without_names_and_design(
    name: str, seed: int, data: st.DataObject
) -> None:
    record = renamed(built(name))
    tier = infer_roles(record).tier
    between = np.flatnonzero((tier[record.cables.a] > 0) & (tier[record.cables.b] > 0)).tolist()
    first, second = data.draw(st.sampled_from(between)), data.draw(st.sampled_from(between))
    a, b = record.cables.a, record.cables.b
    found = judged(shuffled(swapped(record, first, second), seed))
    if a[first] == a[second] or b[first] == b[second]:
        assert found == []
    else:
        assert [d.kind for d in found] == ["swapped"]


@few
@given(st.integers(0, 2**31), st.data())
def test_exchanged_rails_of_a_host_show_without_a_design(seed: int, data: st.DataObject) -> None:
    record = renamed(built("rails"))
    nics = [at for at, device in enumerate(record.devices) if device.kind == DeviceKind.NIC]
    host = data.draw(st.sampled_from(sorted({record.devices[at].host or "" for at in nics})))
    mine = [at for at in nics if record.devices[at].host == host]
    one, two = data.draw(st.sampled_from([(x, y) for x in mine for y in mine if x < y]))
    rows = [int(np.flatnonzero(record.cables.a == at)[0]) for at in (one, two)]
    (found,) = judged(shuffled(swapped(record, *rows), seed))
    assert found.kind == "swapped"
    for at in (one, two):
        assert record.devices[at].name in found.a + (found.b or "")


def test_an_absent_leaf_of_a_segment_shows_by_its_hosts_and_is_named() -> None:
    record = built("rails")
    leaf = next(at for at, d in enumerate(record.devices) if d.tier == 1)
    rows = np.flatnonzero((record.cables.a == leaf) | (record.cables.b == leaf))
    gone = without(record, rows.tolist())
    absent = [d for d in judged(gone) if d.kind == "absent-node"]
    assert [d.count for d in absent] == [4]


@given(st.integers(0, 9), st.integers(0, 9))
def test_a_name_is_guessed_at_the_crossing_of_row_and_column(row: int, column: int) -> None:
    grid = {(r, c): f"x{c // 5}-leaf-{r:02d}-{c:02d}" for r in range(10) for c in range(10)}
    beside = [grid[r, column] for r in range(10) if r != row]
    along = [grid[row, c] for c in range(10) if c != column]
    assert guess_name(beside, along) == grid[row, column]
    assert guess_name(beside, []) is None
    assert guess_name(["a1", "b"], ["c2"]) is None


# A design whose names the record does not share.


@few
@given(st.sampled_from(CLOS), st.integers(0, 2**31))
def test_a_sound_record_under_other_names_fits_its_design(name: str, seed: int) -> None:
    design = built(name)
    record = shuffled(renamed(design), seed)
    assert compare_structure(design, record).deviations == ()
    assert any("up to exchange" in finding.message for finding in notes(design, record))


@few
@given(st.sampled_from(CLOS), st.integers(0, 2**31), st.data())
def test_a_deleted_cable_is_one_missing_cable_up_to_symmetry(
    name: str, seed: int, data: st.DataObject
) -> None:
    design = built(name)
    row = data.draw(st.integers(0, len(design.cables) - 1))
    record = renamed(design)
    names = {record.devices[int(e[row])].name for e in (record.cables.a, record.cables.b)}
    found = compare_structure(design, shuffled(without(record, [row]), seed)).deviations
    assert [(d.kind, d.count) for d in found] == [("missing", 1)]
    assert found[0].a in names
    assert found[0].b is None or found[0].b in names


@few
@given(st.sampled_from(("dragonfly", "slim-fly", "torus")), st.integers(0, 2**31), st.data())
def test_direct_networks_compare_by_structure_too(
    name: str, seed: int, data: st.DataObject
) -> None:
    design = built(name)
    record = renamed(design)
    tier = np.array([d.kind != DeviceKind.NIC for d in record.devices])
    peers = np.flatnonzero(tier[record.cables.a] & tier[record.cables.b]).tolist()
    row = data.draw(st.sampled_from(peers))
    names = {record.devices[int(e[row])].name for e in (record.cables.a, record.cables.b)}
    assert compare_structure(design, shuffled(record, seed)).deviations == ()
    (lost,) = compare_structure(design, shuffled(without(record, [row]), seed)).deviations
    assert (lost.kind, {lost.a, lost.b}) == ("missing", names)
    a, b = (int(e[row]) for e in (record.cables.a, record.cables.b))
    (found,) = compare_structure(design, shuffled(with_cable(record, a, b), seed)).deviations
    assert (found.kind, {found.a, found.b}) == ("extra", names)


def test_a_slower_network_than_designed_is_slow_everywhere() -> None:
    design = built("leaf-spine")
    table = columns(design)
    table["rate"] //= 2
    found = compare_structure(design, renamed(with_cables(design, table))).deviations
    assert {d.kind for d in found} == {"slow"}
    assert sum(d.count for d in found) == len(design.cables)


def test_a_record_of_another_kind_of_fabric_says_so() -> None:
    design = built("three-tier")
    found = compare_structure(design, renamed(built("leaf-spine")))
    assert any(finding.code == "CTB-T213" for finding in found.notes)


def test_an_absent_spine_is_counted_without_names() -> None:
    design = built("leaf-spine")
    record = renamed(design)
    spine = next(at for at, d in enumerate(design.devices) if d.tier == 2)
    rows = np.flatnonzero((record.cables.a == spine) | (record.cables.b == spine))
    devices = tuple(d for at, d in enumerate(record.devices) if at != spine)
    table = columns(without(record, rows.tolist()))
    for end in ("a", "b"):
        table[end] = table[end] - (table[end] > spine)
    gone = with_cables(replace(record, devices=devices), table)
    found = compare_structure(design, gone).deviations
    assert [(d.kind, d.count) for d in found] == [("absent-node", 1)]


@pytest.mark.parametrize("tier", [2, 3])
def test_a_switch_absent_from_one_group_of_several_shows_without_names(tier: int) -> None:
    design = built("three-tier")
    record = renamed(design)
    gone = next(at for at, d in enumerate(design.devices) if d.tier == tier)
    rows = np.flatnonzero((record.cables.a == gone) | (record.cables.b == gone))
    devices = tuple(d for at, d in enumerate(record.devices) if at != gone)
    table = columns(without(record, rows.tolist()))
    for end in ("a", "b"):
        table[end] = table[end] - (table[end] > gone)
    lacking = with_cables(replace(record, devices=devices), table)
    found = compare_structure(design, lacking).deviations
    assert [(d.kind, d.count) for d in found] == [("absent-node", 1)]
    if tier == 2:
        alone = [d for d in judged(lacking) if d.kind == "absent-node"]
        assert [d.count for d in alone] == [1]


@pytest.mark.parametrize(
    "name", ["three-vendor-sites", "uneven-planes-1024", "two-campus-150km", "lab-128-wide"]
)
def test_sound_testbeds_of_unlike_parts_show_no_deviation(name: str) -> None:
    assert judged(load_cabling(name)) == []
