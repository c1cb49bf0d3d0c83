"""Bills of materials: published networks, and closed forms of any."""

import csv
from math import ceil
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.core.result import UNKNOWN
from ctestbed.topology.bom.commands import BomRequest, run_bom
from ctestbed.topology.bom.lines import Line, bom_lines, length_class
from ctestbed.topology.closed_forms import plane_counts, supernode_counts
from ctestbed.topology.load import LoadedTestbed, builtin_testbeds, load_testbed
from ctestbed.topology.plan import require_plan
from tests.shared import shared_data
from tests.topology.strategies import any_fabrics, fat_tree, load_document, testbeds

DEEPSEEK = (
    "deepseek-ft2-2048",
    "deepseek-mpft-16384",
    "deepseek-ft3-65536",
    "deepseek-slim-fly-32928",
    "deepseek-dragonfly-261632",
)


def bill(*names: str, prices: str | None = None) -> list[dict[str, Any]]:
    designs: list[dict[str, Any]] = run_bom(BomRequest(names, prices)).data["designs"]
    return designs


def lines_of(loaded: LoadedTestbed) -> list[Line]:
    return bom_lines(loaded, require_plan(loaded))


def count(lines: list[Line], part: str) -> int:
    return sum(line.count for line in lines if line.part == part)


def published(row: str) -> float:
    with shared_data("paper_rows.csv").open(newline="", encoding="utf-8") as file:
        found = next(each for each in csv.reader(file) if each[0] == row)
    return float(found[5])


@pytest.mark.parametrize(
    ("row", "design", "key"),
    [
        ("T01", "deepseek-ft2-2048", "endpoints"),
        ("T02", "deepseek-ft2-2048", "switches"),
        ("T03", "deepseek-ft2-2048", "inter_switch_links"),
        ("T04", "deepseek-mpft-16384", "endpoints"),
        ("T06", "deepseek-ft3-65536", "endpoints"),
        ("T07", "deepseek-ft3-65536", "switches"),
        ("T09", "deepseek-slim-fly-32928", "endpoints"),
        ("T11", "deepseek-slim-fly-32928", "switches"),
        ("T12", "deepseek-dragonfly-261632", "endpoints"),
        ("T14", "deepseek-dragonfly-261632", "switches"),
        ("T17", "mrc-131072", "endpoints"),
    ],
)
def test_published_counts_are_exact(row: str, design: str, key: str) -> None:
    assert bill(design)[0][key] == published(row)


def test_the_published_cost_is_met() -> None:
    (design,) = bill("deepseek-ft3-65536", prices="deepseek-table-3")
    assert design["cost"]["value"] == pytest.approx(published("T15") * 10**6, rel=0.025)
    assert design["cost"]["provenance"] == "modelled"


def test_the_published_comparison_is_met_side_by_side() -> None:
    """Table 3: millions of USD, and thousands for an endpoint, as printed (fabric.md 2.1)."""
    designs = bill(*DEEPSEEK, prices="deepseek-table-3")
    costs = [design["cost"]["value"] / 10**6 for design in designs[:4]]
    assert costs == pytest.approx([9, 72, 491, 146], rel=0.025)
    each = [design["per_endpoint"]["cost"] / 10**3 for design in designs[:4]]
    assert each == pytest.approx([4.39, 4.39, 7.5, 4.4], rel=0.025)
    links = [design["inter_switch_links"] for design in designs]
    assert links == [2048, 16384, 131072, 32928, 384272]  # k^2/2, 8k^2/2, k^3/2 and fabric.md 2.1
    assert designs[1]["switches"] == 8 * designs[0]["switches"]


def test_two_split_tiers_take_two_thirds_of_the_optics_of_three() -> None:
    split, whole = bill("mrc-131072", "three-tier-65536-800g")
    ratio = split["per_endpoint"]["transceivers"] / whole["per_endpoint"]["transceivers"]
    assert ratio == pytest.approx(published("T19"), rel=0.01)
    switches = [design["switches"] / design["endpoints"] for design in (split, whole)]
    assert switches[0] / switches[1] == pytest.approx(3 / 5)  # 3k'/2 over k'^2/2 against 5/k


@settings(deadline=None, max_examples=60)
@given(testbeds())
def test_lines_are_the_closed_forms_of_any_fat_tree(document: dict[str, Any]) -> None:
    check_closed_forms(document)


@settings(deadline=None, max_examples=60)
@given(any_fabrics())
def test_lines_are_the_closed_forms_of_any_kind(document: dict[str, Any]) -> None:
    check_closed_forms(document)


def check_closed_forms(document: dict[str, Any]) -> None:
    """Sum the formulas over sites and planes; supernodes and trunks by theirs."""
    loaded = load_document(document)
    plan, testbed = require_plan(loaded), loaded.testbed
    lines = lines_of(loaded)
    ports = switches = cables = inner = bundles = 0
    assert testbed.fabric is not None
    for site in plan.sites:
        for plane in range(len(site.planes)):
            counts = plane_counts(testbed.fabric, site.nics_per_host, testbed.planes, plane)
            ports += counts.ports
            switches += counts.switches
            cables += counts.cables
        if testbed.supernode is not None:
            found = supernode_counts(testbed.supernode, site.hosts, site.accelerators_per_host)
            inner, bundles = inner + found[0], bundles + found[1]
    trunks = sum(line.count for line in lines if line.place == "trunk")
    assert count(lines, "switch") == switches
    assert count(lines, "cable") - trunks == ports + cables
    assert trunks == plan.trunk_links
    assert count(lines, "scale-up switch") == inner
    assert count(lines, "bundle") == bundles
    assert count(lines, "NIC") == plan.nics


@settings(deadline=None, max_examples=60)
@given(testbeds(), st.sampled_from([None, 1, 2, 4]))
def test_every_cable_end_is_in_a_transceiver(
    document: dict[str, Any], breakout: int | None
) -> None:
    """Without breakout 2 a cable; with it, each device's ports over `breakout`, rounded up."""
    document["parts"] = {"media": {"m": {"kind": "transceiver"}}}
    if breakout is not None:
        document["parts"]["media"]["m"]["breakout"] = breakout
    document["fabric"]["medium"] = "m"
    loaded = load_document(document)
    plan, lines = require_plan(loaded), lines_of(loaded)
    split = plan.split
    lanes = loaded.testbed.planes.count if split else 1
    each = breakout or lanes
    expected = 0
    for site in plan.sites:
        for plane in site.planes:
            shape = plane.shape
            if not split:
                expected += shape.ports  # a NIC has one port, in one module
            expected += shape.leaves * ceil(shape.ports_per_leaf / each)
            up = shape.spines_per_pod * shape.parallel
            expected += shape.leaves * ceil(up / each)
            expected += shape.spines * ceil(shape.leaves_per_pod * shape.parallel / each)
            if shape.cores:
                expected += shape.spines * ceil(shape.cores_per_spine / each)
                expected += shape.cores * ceil(shape.pods / each)
        if split:
            expected += site.nics * ceil(plan.planes / each)
    assert count(lines, "transceiver") == expected
    if each == 1:
        in_sites = count(lines, "cable") - plan.trunk_links
        assert count(lines, "transceiver") == 2 * in_sites


@settings(deadline=None, max_examples=40)
@given(any_fabrics())
def test_peers_have_a_transceiver_at_both_ends_too(document: dict[str, Any]) -> None:
    if document["fabric"]["kind"] == "scale-up":
        return
    document["parts"] = {"media": {"m": {"kind": "transceiver"}}}
    document["fabric"]["medium"] = "m"
    lines = lines_of(load_document(document))
    assert count(lines, "transceiver") == 2 * count(lines, "cable")


@pytest.mark.parametrize("name", builtin_testbeds())
def test_every_built_in_testbed_has_a_bill(name: str) -> None:
    (design,) = bill(name)
    plan = require_plan(load_testbed(name))
    links = [design[key] for key in ("endpoint_links", "inter_switch_links", "trunk_links")]
    assert sum(links) == plan.network_links
    assert sum(line["count"] for line in design["lines"] if line["part"] == "switch") == (
        plan.switches
    )


def test_copper_to_the_hosts_takes_their_optics_away() -> None:
    document = fat_tree(tiers=2, leaves=4, hosts_per_leaf=8, spines=4, medium="fibre")
    document["parts"] = {"media": {"fibre": {"kind": "transceiver"}, "copper": {"kind": "dac"}}}
    lines = lines_of(load_document(document))
    document["fabric"]["host_links"] = {"medium": "copper"}
    fewer = lines_of(load_document(document))
    assert count(lines, "transceiver") == 2 * (32 + 16)
    assert count(fewer, "transceiver") == 2 * 16
    assert count(fewer, "cable") == count(lines, "cable")


def test_a_breakout_cable_carries_several_links_and_has_an_end_for_each() -> None:
    document = fat_tree(tiers=2, leaves=2, hosts_per_leaf=8, spines=2)
    document["parts"] = {"media": {"split": {"kind": "dac", "breakout": 4, "power_per_end": "1W"}}}
    document["fabric"]["host_links"] = {"medium": "split"}
    (line,) = [each for each in lines_of(load_document(document)) if each.part == "breakout cable"]
    assert (line.count, line.links) == (4, 16)
    assert line.power == 5_000


def test_ports_that_cables_are_broken_out_of_count_as_one() -> None:
    drawn = fat_tree(tiers=2, leaves=2, hosts_per_leaf=8, spines=2, parallel=2, rate="100Gbps")
    drawn["parts"] = {
        "switches": {"s": {"radix": 8, "port_rate": "400Gbps"}},
        "media": {"split": {"kind": "dac", "breakout": 4}, "whole": {"kind": "dac"}},
    }
    drawn["fabric"] |= {"medium": "whole", "switch": {"model": "s"}}
    drawn["fabric"]["host_links"] = {"medium": "split"}
    lines = [line for line in lines_of(load_document(drawn)) if line.part == "switch"]
    assert [(line.place, line.ports_used, line.radix) for line in lines] == [
        ("leaf", 8 // 4 + 2 * 2, 8),
        ("spine", 2 * 2, 8),
    ]


def test_planes_that_differ_share_the_transceiver_of_a_split_nic() -> None:
    document = fat_tree(tiers=2, leaves=4, hosts_per_leaf=4, spines=4, rate="800Gbps", medium="m")
    document["parts"] = {"media": {"m": {"kind": "transceiver"}}}
    document["planes"] = {"count": 4, "form": "nic-split", "overrides": [{"plane": 3, "spines": 2}]}
    lines = lines_of(load_document(document))
    in_nics = [line for line in lines if line.place.endswith("in NIC")]
    assert [line.count for line in in_nics] == [16]
    assert in_nics[0].planes == (0, 1, 2, 3)


def test_power_is_a_sum_or_a_lower_bound_that_names_what_it_lacks() -> None:
    document = fat_tree(tiers=2, leaves=4, hosts_per_leaf=8, spines=2, medium="m")
    document["fabric"]["switch"] = {"model": "s"}
    document["host"] = {"nic_model": "n"}
    document["parts"] = {
        "switches": {"s": {"radix": 64, "power": "1kW"}},
        "media": {"m": {"kind": "transceiver", "power_per_end": "10W"}},
        "nics": {"n": {"power": "25W"}},
    }
    whole = design_of(document)
    ends = 2 * (4 * 8 + 4 * 2)
    assert whole["power"]["value"] == 6 * 1_000_000 + ends * 10_000
    assert whole["nic_power"]["value"] == 32 * 25_000
    assert whole["per_endpoint"]["power"] == whole["power"]["value"] / 32
    document["parts"]["media"]["m"]["power_per_end"] = "unknown"
    partly = design_of(document)
    assert partly["power"]["value"] == UNKNOWN
    assert partly["power"]["at_least"] == 6 * 1_000_000
    assert partly["power"]["unknown"] == ["transceiver m"]
    assert partly["per_endpoint"]["power"] == UNKNOWN


def design_of(document: dict[str, Any]) -> dict[str, Any]:
    from ctestbed.topology.bom.commands import Bill, _design

    loaded = load_document(document)
    plan = require_plan(loaded)
    return dict(_design(Bill("drawn", loaded, plan, tuple(bom_lines(loaded, plan)), None)))


def test_trunks_show_their_standby_routes_and_amplifiers() -> None:
    lines = lines_of(load_testbed("three-vendor-sites"))
    between = {line.site for line in lines if line.place.startswith("trunk")}
    assert between == {"north - middle", "middle - south", "north - south"}
    places = {
        (line.site, line.place): line.count for line in lines if line.part == "amplifier place"
    }
    # One after every full 80 km, none at the end: 300 km has 3, 420 km 5, 120 km 1, 240 km 2.
    assert places == {
        ("north - middle", "trunk, standby"): 1,
        ("middle - south", "trunk, route"): 3,
        ("middle - south", "trunk, standby"): 5,
        ("north - south", "trunk, route"): 2,
    }
    standby = [line.length for line in lines if line.part == "standby route"]
    assert standby == [120_000_000, 420_000_000]


@pytest.mark.parametrize(
    ("length", "name"),
    [
        (-1, "UNKNOWN"),
        (0, "up to 3 m"),
        (3_000, "up to 3 m"),
        (3_001, "up to 100 m"),
        (500_000, "up to 500 m"),
        (80_000_000, "up to 80 km"),
        (80_000_001, "over 80 km"),
    ],
)
def test_lengths_fall_into_classes(length: int, name: str) -> None:
    assert length_class(length) == name


def test_designs_of_one_name_are_told_apart() -> None:
    names = [design["design"] for design in bill("lab-128", "lab-128")]
    assert len(set(names)) == 2
    metrics = [metric.name for metric in run_bom(BomRequest(("lab-128", "lab-128"))).metrics]
    assert len(set(metrics)) == len(metrics)


def test_lines_say_how_many_are_in_each_plane() -> None:
    (design,) = bill("deepseek-mpft-16384")
    switches = {line["place"]: line for line in design["lines"] if line["part"] == "switch"}
    assert (switches["leaf"]["per_plane"], switches["leaf"]["count"]) == (64, 8 * 64)
    assert (switches["spine"]["per_plane"], switches["spine"]["count"]) == (32, 8 * 32)
    (uneven,) = bill("uneven-planes-1024")
    leaves = {
        tuple(line["planes"]): line["per_plane"]
        for line in uneven["lines"]
        if (line["part"], line["place"]) == ("switch", "leaf")
    }
    assert leaves == {(0, 1): 16, (2,): 16, (3,): 8}
