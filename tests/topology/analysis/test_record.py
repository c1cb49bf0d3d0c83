"""The structure of records: real ones, mutilated ones, and in any order of cables."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.topology.analysis.data import StructureData
from ctestbed.topology.analysis.design import Structure, analyse_design
from ctestbed.topology.analysis.record import PARTS, analyse_record
from ctestbed.topology.build import lay_out
from ctestbed.topology.cabling import Cables, Cabling, Device, DeviceKind, cabling_of, make_cables
from ctestbed.topology.comparing import ValidateRequest, run_validate_any
from ctestbed.topology.importing import parse_cabling
from ctestbed.topology.plan import require_plan
from tests.shared import shared_data
from tests.topology.asbuilt.fabrics import COLUMNS
from tests.topology.strategies import any_fabrics, fat_tree, load_document, testbeds

SWITCH, HOST = DeviceKind.SWITCH, DeviceKind.HOST


def record_of(*rows: str, hosts: str = "h", extra: tuple[str, ...] = ()) -> Cabling:
    """Make a record of cables `a-b`; names that start with one of `hosts` are hosts."""
    names = dict.fromkeys(name for row in rows for name in row.split("-"))
    names |= dict.fromkeys(extra)
    devices = tuple(Device(name, HOST if name[0] in hosts else SWITCH) for name in names)
    index = {name: number for number, name in enumerate(names)}
    ends = [[index[name] for name in row.split("-")] for row in rows]
    cables = make_cables([a for a, _ in ends], [b for _, b in ends])
    return Cabling("drawn", "csv", devices, (), cables)


def analysed(record: Cabling) -> Structure:
    found = analyse_record(record)
    assert found is not None
    return found


def codes(found: Structure) -> list[str]:
    return [finding.code for finding in found.findings]


def test_a_chain_is_parted_by_each_switch_and_cable() -> None:
    found = analysed(record_of("h1-s1", "h2-s3", "s1-s2", "s2-s3"))
    parting = [point for point in found.data["single_points"] if point["cuts"] == "part"]
    told = {point["element"]: (point["elements"], point["examples"]) for point in parting}
    assert told == {"switch": (1, ["s2"]), "cable": (2, ["s1 - s2", "s2 - s3"])}
    assert codes(found) == ["CTB-T131", "CTB-T133", "CTB-T134"]
    assert {f.severity for f in found.findings if f.code != "CTB-T131"} == {"warning"}
    doubled = analysed(record_of("h1-s1", "h2-s2", "s1-s2", "s1-s2"))
    assert codes(doubled) == ["CTB-T131"]


def test_hosts_that_cannot_reach_the_others() -> None:
    found = analysed(record_of("h1-s1", "h2-s1", "h3-s2"))
    finding = next(f for f in found.findings if f.code == "CTB-T136")
    assert "h3" in finding.message
    assert len(found.data["planes"]) == 2
    joined = analysed(record_of("h1-s1", "h1-s2", "h2-s1", "h2-s2"))
    assert "CTB-T136" not in codes(joined)


def test_a_host_with_fewer_leaves_is_named() -> None:
    rows = [f"h{n}-s{s}" for n in range(5) for s in range(2)]
    found = analysed(record_of(*rows, "h7-s0"))
    assert found.data["thin_hosts"] == [{"leaves": 1, "usual": 2, "hosts": ["h7"]}]
    finding = next(f for f in found.findings if f.code == "CTB-T135")
    assert finding.message.startswith("1 host hangs on 1 leaf, where most hang on 2: h7")


def test_odd_records_are_no_trouble() -> None:
    assert analyse_record(record_of()) is None
    assert analyse_record(record_of(extra=("h1",))) is None or True
    one = analysed(record_of("h1-s1"))
    assert one.data["planes"][0]["diameter"] == 0
    loop = analysed(record_of("s1-s1", "h1-s1"))
    assert loop.data["planes"][0]["bisection"] is None
    alone = analysed(record_of("s1-s2"))
    assert alone.data["hosts"] == 2
    direct = analysed(record_of("h1-h2", "h2-h3", "h3-h1"))
    assert direct.data["planes"][0]["diameter"] == 1
    assert direct.data["planes"][0]["disjoint_paths"] == {"fewest": 2, "typical": 2, "most": 2}


def test_records_of_many_unlike_parts_are_cut() -> None:
    rows = []
    for part in range(PARTS + 3):
        rows += [f"h{part}.{n}-s{part}" for n in range(part + 1)]
    found = analysed(record_of(*rows))
    assert len(found.data["planes"]) == PARTS
    assert codes(found).count("CTB-T139") == 1


def shuffled(record: Cabling, seed: int) -> Cabling:
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(record.cables))
    devices = rng.permutation(len(record.devices))
    place = np.argsort(devices)
    columns = {name: getattr(record.cables, name)[rows] for name in COLUMNS}
    columns["a"], columns["b"] = place[columns["a"]], place[columns["b"]]
    turned = rng.random(len(rows)) < 0.5
    for a, b in (("a", "b"), ("a_port", "b_port"), ("line", "b_line")):
        columns[a], columns[b] = (
            np.where(turned, columns[b], columns[a]),
            np.where(turned, columns[a], columns[b]),
        )
    order = tuple(record.devices[device] for device in devices.tolist())
    return replace(record, devices=order, cables=Cables(**columns))


@given(testbeds() | any_fabrics(), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_order_changes_nothing(drawn: dict[str, object], seed: int) -> None:
    plan = require_plan(load_document(drawn))
    if plan.counts_only is not None:
        return
    record = cabling_of(lay_out(plan))
    assert analyse_record(shuffled(record, seed)) == analyse_record(record)


@given(testbeds())
@settings(max_examples=30, deadline=None)
def test_a_record_of_a_design_has_its_structure(drawn: dict[str, object]) -> None:
    loaded = load_document(drawn)
    plan = require_plan(loaded)
    if plan.trunks:
        return  # a record knows no sites: trunks are cables like others
    topology = lay_out(plan)
    design = analyse_design(topology, plan, loaded).data
    found = analysed(cabling_of(topology)).data
    parts = [(part, planes) for part in found["planes"] for planes in part["planes"]]
    assert len(parts) == plan.planes
    told = sorted(_figures(plane) for plane in design["planes"] for _ in plane["planes"])
    assert sorted(_figures(part) for part, _ in parts) == told
    assert _lost(found) == _lost(design)


def _figures(plane: object) -> str:
    keys = ("leaves", "diameter", "mean_hops", "fan_out", "shortest_paths", "disjoint_paths")
    assert isinstance(plane, dict)
    bounds = plane["bisection"]
    halves = None if bounds is None else (bounds["at_least"], bounds["at_most"])
    return repr([[plane[key] for key in keys], halves])


def _lost(data: StructureData) -> dict[str, tuple[int, int]]:
    return {
        point["element"]: (point["hosts"], point["most"])
        for point in data["single_points"]
        if point["cuts"] == "network"
    }


def test_one_more_fault_in_a_design_shows() -> None:
    loaded = load_document(fat_tree(tiers=2, leaves=6, spines=2, hosts_per_leaf=4))
    record = cabling_of(lay_out(require_plan(loaded)))
    leaf = record.index["leaf-3"]
    spine = record.index["spine-1"]
    between = (record.cables.a == leaf) & (record.cables.b == spine)
    kept = {name: getattr(record.cables, name)[~between] for name in COLUMNS}
    found = analysed(replace(record, cables=Cables(**kept)))
    (part,) = found.data["planes"]
    assert part["disjoint_paths"] == {"fewest": 1, "typical": 2, "most": 2}
    assert "leaf-3" in part["weakest"]
    told = [p for p in found.data["single_points"] if p["cuts"] == "part"]
    assert [(p["element"], p["examples"], p["most"]) for p in told] == [
        ("switch", ["spine-0"], 4),
        ("cable", ["leaf-3 - spine-0"], 4),
    ]


def test_the_real_record() -> None:
    path = shared_data("fabric/third-party/topograph/ibnetdiscover-example.out")
    record, _ = parse_cabling(path.read_bytes(), path.name)
    found = analysed(record)
    (part,) = found.data["planes"]
    assert (part["leaves"], part["switches"], part["diameter"]) == (31, 40, 2)
    assert part["disjoint_paths"] == {"fewest": 14, "typical": 16, "most": 18}
    bounds = part["bisection"]
    assert bounds is not None
    assert 0.95 * bounds["at_most"] < bounds["at_least"] <= bounds["at_most"]
    thin = {group["leaves"]: group["hosts"] for group in found.data["thin_hosts"]}
    assert len(thin[3]) == 11  # one leaf is absent, so eleven hosts have 3 of 4 rails
    assert (found.data["hosts"], found.data["unnamed"]) == (122, 69)
    assert "CTB-T131" not in codes(found)


@pytest.mark.parametrize(
    ("name", "leaves", "diameter"), [("fat.txt", 20, 4), ("topology.txt", 1, 0)]
)
def test_hpcc_files(name: str, leaves: int, diameter: int) -> None:
    path = shared_data(f"fabric/third-party/ns3-hpcc/{name}")
    result = run_validate_any(ValidateRequest(str(path)))
    (part,) = result.data["structure"]["planes"]
    assert (part["leaves"], part["diameter"]) == (leaves, diameter)
    if name == "fat.txt":  # 20 ToRs of 16 hosts at 100 Gb/s each, 1:1
        assert part["bisection"]["at_least"] == part["bisection"]["at_most"] == 160 * 100 * 10**9


def test_a_record_without_cables_has_no_structure_and_no_trouble() -> None:
    path = shared_data("fabric/third-party/topograph/ibnetdiscover-example-bad.out")
    result = run_validate_any(ValidateRequest(str(path)))
    assert result.exit_code == 10
    assert result.data["structure"] is None
    assert result.metrics == ()
