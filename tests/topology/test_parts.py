"""Parts where they are used: reach, rates, ports, power limits, and names that are listed."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.core.result import Finding
from ctestbed.core.spec import SpecError
from ctestbed.topology.bom.fit import CHECKS
from ctestbed.topology.bom.lines import bom_lines
from ctestbed.topology.plan import plan_testbed, require_plan
from ctestbed.topology.validate import validate_testbed
from tests.topology.strategies import document, fat_tree, load_document

PARTS = "CTB-T15"
NAMES = [name for name, _ in CHECKS]


def design(**fabric: Any) -> dict[str, Any]:
    """Return 4 leaves of 8 NICs and 4 spines: 12 ports of a leaf are used, 4 of a spine."""
    drawn = fat_tree(tiers=2, leaves=4, hosts_per_leaf=8, spines=4, **fabric)
    if "length" in fabric:
        del drawn["fabric"]["delay"]
    drawn["parts"] = {
        "switches": {"s": {"radix": 12, "port_rate": "400Gbps", "power": "1kW"}},
        "media": {
            "m": {
                "kind": "transceiver",
                "rate": "400Gbps",
                "reach": "100m",
                "power_per_end": "10W",
            }
        },
        "nics": {"n": {"power": "25W"}},
    }
    drawn["fabric"].setdefault("medium", "m")
    drawn["fabric"].setdefault("switch", {"model": "s"})
    drawn.setdefault("host", {"nic_model": "n"})
    return drawn


def found(drawn: dict[str, Any]) -> list[Finding]:
    findings = validate_testbed(load_document(drawn)).findings
    return [each for each in findings if each.code.startswith(PARTS)]


def outcomes(drawn: dict[str, Any]) -> list[bool | None]:
    checks = validate_testbed(load_document(drawn)).checks
    return [check.passed for check in checks if check.name in NAMES]


def test_parts_that_fit_raise_no_finding() -> None:
    assert found(design(length="100m")) == []
    assert outcomes(design(length="100m")) == [True, None]


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 200), st.integers(1, 200))
def test_a_cable_is_too_long_exactly_when_longer_than_the_reach(length: int, reach: int) -> None:
    drawn = design(length=f"{length}m")
    drawn["parts"]["media"]["m"]["reach"] = f"{reach}m"
    codes = [each.code for each in found(drawn)]
    assert codes == (["CTB-T151"] * 2 if length > reach else [])


def test_each_layer_is_held_against_its_own_medium() -> None:
    drawn = design(length="100m", host_links={"length": "5m", "medium": "short"})
    drawn["parts"]["media"]["short"] = {"kind": "dac", "rate": "400Gbps", "reach": "3m"}
    (finding,) = found(drawn)
    assert finding.code == "CTB-T151"
    assert "NIC - leaf cables are 5 m long" in finding.message
    assert finding.where is not None
    assert finding.where.pointer == "fabric.host_links.length"
    assert finding.where.line


def test_an_unknown_length_is_a_question_and_not_an_error() -> None:
    drawn = design()
    assert {(each.code, each.severity) for each in found(drawn)} == {("CTB-T152", "note")}
    assert outcomes(drawn)[0] is None


def test_an_unknown_reach_is_asked_for_once() -> None:
    drawn = design(length="10m")
    drawn["parts"]["media"]["m"]["reach"] = "unknown"
    assert found(drawn) == []
    assert outcomes(drawn)[0] is None
    asked = [
        each for each in validate_testbed(load_document(drawn)).findings if "T040" in each.code
    ]
    assert ["parts.media.m.reach" in each.message for each in asked] == [True]


@pytest.mark.parametrize(
    ("rate", "code", "severity"),
    [("200Gbps", "CTB-T153", "error"), ("800Gbps", "CTB-T154", "warning")],
)
def test_a_medium_is_as_fast_as_its_cables(rate: str, code: str, severity: str) -> None:
    drawn = design(length="10m")
    drawn["parts"]["media"]["m"]["rate"] = rate
    assert {(each.code, each.severity) for each in found(drawn)} == {(code, severity)}


def test_a_breakout_port_carries_all_its_cables() -> None:
    drawn = design(length="10m", rate="100Gbps")
    drawn["parts"]["media"]["m"]["breakout"] = 4
    assert found(drawn) == []
    drawn["parts"]["media"]["m"]["breakout"] = 8
    assert {each.code for each in found(drawn)} == {"CTB-T153"}


def test_a_split_port_carries_the_cables_of_all_planes() -> None:
    drawn = design(length="10m", rate="400Gbps")
    drawn["planes"] = {"count": 4, "form": "nic-split"}
    assert found(drawn) == []


@pytest.mark.parametrize(("radix", "codes"), [(12, []), (11, ["CTB-T155"]), (64, [])])
def test_a_model_has_the_ports_that_are_used(radix: int, codes: list[str]) -> None:
    drawn = design(length="10m")
    drawn["parts"]["switches"]["s"]["radix"] = radix
    assert [each.code for each in found(drawn)] == codes


def test_cables_broken_out_of_one_port_take_one() -> None:
    drawn = design(length="10m", rate="100Gbps")
    drawn["parts"]["media"]["m"]["breakout"] = 4
    drawn["parts"]["switches"]["s"]["radix"] = 3  # 8 down and 4 up, four in a port
    assert found(drawn) == []
    drawn["parts"]["switches"]["s"]["radix"] = 2
    assert [each.code for each in found(drawn)] == ["CTB-T155"]


def split_to_nics(**other: Any) -> dict[str, Any]:
    """Return a design whose leaves serve four NICs by one module, and each NIC has its own."""
    drawn = design(length="10m", rate="100Gbps")
    drawn["parts"]["media"]["m"] |= {"breakout": 4, "in_nics": "one"}
    one = {"kind": "transceiver", "rate": "100Gbps", "reach": "50m", "power_per_end": "3W"}
    drawn["parts"]["media"]["one"] = one | other
    return drawn


def test_nics_may_have_other_modules_than_their_switches() -> None:
    drawn = split_to_nics()
    assert found(drawn) == []
    loaded = load_document(drawn)
    ends = [line for line in bom_lines(loaded, require_plan(loaded)) if line.part == "transceiver"]
    assert [(line.place, line.model, line.count, line.power) for line in ends] == [
        ("NIC - leaf, in NIC", "one", 32, 3_000),
        ("NIC - leaf, in leaf", "m", 32 // 4, 10_000),
        ("leaf - spine, in leaf", "m", 16 // 4, 10_000),
        ("leaf - spine, in spine", "m", 16 // 4, 10_000),
    ]


@pytest.mark.parametrize(
    ("other", "code"),
    [
        ({"reach": "9m"}, "CTB-T151"),
        ({"rate": "50Gbps"}, "CTB-T153"),
        ({"rate": "200Gbps"}, "CTB-T154"),
        ({"kind": "dac"}, "CTB-T150"),
    ],
)
def test_modules_in_nics_must_fit_too(other: dict[str, str], code: str) -> None:
    assert [each.code for each in found(split_to_nics(**other))] == [code]


def test_trunks_take_ports_of_the_top_tier() -> None:
    drawn = design(length="10m", spine_switch={"model": "t"})
    drawn["parts"]["switches"]["t"] = {"radix": 5, "port_rate": "400Gbps"}
    drawn["parts"]["media"]["z"] = {"kind": "transceiver", "rate": "400Gbps", "reach": "10km"}
    drawn["sites"] = [{"name": "a"}, {"name": "b"}]
    trunk = {"between": ["a", "b"], "rate": "400Gbps", "length": "10km", "medium": "z"}
    drawn["trunks"] = [trunk]
    assert found(drawn) == []
    drawn["trunks"] = [{**trunk, "links": 2}]
    assert {each.code for each in found(drawn)} == {"CTB-T155"}


def test_a_route_with_amplifiers_is_held_against_the_amplified_reach() -> None:
    drawn = design(length="10m")
    medium = {"kind": "transceiver", "rate": "400Gbps", "reach": "40km"}
    drawn["parts"]["media"]["z"] = medium
    drawn["sites"] = [{"name": "a"}, {"name": "b"}]
    drawn["parts"]["switches"]["s"]["radix"] = 16
    line = {"spacing": "80km", "delay": "1us"}
    trunk = {"between": ["a", "b"], "rate": "400Gbps", "length": "120km", "medium": "z"}
    drawn["trunks"] = [{**trunk, "amplifiers": line}]
    assert [each.code for each in found(drawn)] == ["CTB-T152"]
    medium["amplified_reach"] = "120km"
    assert found(drawn) == []
    drawn["trunks"][0]["protection"] = {"length": "130km", "amplifiers": line}
    (finding,) = found(drawn)
    assert finding.code == "CTB-T151"
    assert "standby" in finding.message
    del drawn["trunks"][0]["amplifiers"], drawn["trunks"][0]["protection"]
    assert [each.code for each in found(drawn)] == ["CTB-T151"]


def test_a_fabric_and_its_model_name_one_radix() -> None:
    drawn = design(length="10m", radix=64)
    assert {(each.code, each.severity) for each in found(drawn)} == {("CTB-T156", "warning")}
    assert found(design(length="10m", radix=12)) == []


def test_a_switch_has_ports_as_fast_as_its_cables() -> None:
    drawn = design(length="10m")
    drawn["parts"]["switches"]["s"]["port_rate"] = "200Gbps"
    assert {each.code for each in found(drawn)} == {"CTB-T153"}


def test_a_part_that_nothing_names_is_noted() -> None:
    drawn = design(length="10m")
    drawn["parts"]["nics"]["spare"] = {"power": "25W"}
    assert [(each.code, each.severity) for each in found(drawn)] == [("CTB-T159", "note")]


HOST_DRAW = 500 + 25 + 10
SITE_DRAW = 32 * 500 + 32 * 25 + 8 * 1000 + 2 * (32 + 16) * 10


@pytest.mark.parametrize("spare", [-1, 0, 1])
def test_a_host_draws_no_more_than_it_may(spare: int) -> None:
    drawn = design(length="10m")
    limit = f"{HOST_DRAW + spare}W"
    drawn["host"] = {"nic_model": "n", "power": "500W", "power_limit": limit}
    assert [each.code for each in found(drawn)] == (["CTB-T157"] if spare < 0 else [])
    assert outcomes(drawn)[1] is (spare >= 0)


@pytest.mark.parametrize("spare", [-1, 0, 1])
def test_a_site_draws_no_more_than_it_may(spare: int) -> None:
    drawn = design(length="10m")
    drawn["host"] = {"nic_model": "n", "power": "500W"}
    drawn["sites"] = [{"name": "a", "power_limit": f"{SITE_DRAW + spare}W"}]
    findings = found(drawn)
    assert [each.code for each in findings] == (["CTB-T157"] if spare < 0 else [])
    if findings:
        assert findings[0].where is not None
        assert findings[0].where.pointer == "sites[0].power_limit"


def test_trunk_ends_draw_at_their_own_site() -> None:
    drawn = design(length="10m")
    drawn["host"] = {"nic_model": "n", "power": "500W"}
    drawn["parts"]["switches"]["s"]["radix"] = 16
    drawn["parts"]["media"]["z"] = {
        "kind": "transceiver",
        "rate": "400Gbps",
        "reach": "10km",
        "power_per_end": "20W",
    }
    drawn["sites"] = [{"name": "a", "power_limit": f"{SITE_DRAW + 4 * 20}W"}, {"name": "b"}]
    trunk = {"between": ["a", "b"], "rate": "400Gbps", "length": "10km", "medium": "z"}
    drawn["trunks"] = [trunk]
    assert found(drawn) == []
    drawn["sites"][0]["power_limit"] = f"{SITE_DRAW + 4 * 20 - 1}W"
    assert [each.code for each in found(drawn)] == ["CTB-T157"]


def test_an_unknown_power_leaves_a_limit_open_unless_it_is_passed_already() -> None:
    drawn = design(length="10m")
    drawn["host"] = {"nic_model": "n", "power_limit": "1kW"}
    (finding,) = found(drawn)
    assert (finding.code, finding.severity) == ("CTB-T158", "note")
    assert outcomes(drawn)[1] is None
    drawn["host"]["power_limit"] = "34W"
    (finding,) = found(drawn)
    assert finding.code == "CTB-T157"
    assert "at least 35 W" in finding.message


def test_one_mistake_of_a_shared_fabric_is_said_once() -> None:
    drawn = design(length="200m")
    drawn["sites"] = [{"name": "a"}, {"name": "b"}]
    trunk = {"between": ["a", "b"], "rate": "400Gbps", "length": "10km"}
    drawn["trunks"] = [trunk]
    drawn["parts"]["switches"]["s"]["radix"] = 16
    assert [each.code for each in found(drawn)] == ["CTB-T151"] * 2


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"medium": "mm"}, "fabric.medium"),
        ({"host_links": {"medium": "mm"}}, "fabric.host_links.medium"),
        ({"switch": {"model": "mm"}}, "fabric.switch.model"),
        ({"core_links": {}, "leaf_switch": {"model": "mm"}}, "fabric.leaf_switch.model"),
    ],
)
def test_a_part_that_is_not_listed_is_refused(change: dict[str, Any], pointer: str) -> None:
    drawn = design(length="10m", **{k: v for k, v in change.items() if k != "core_links"})
    loaded = load_document(drawn)
    with pytest.raises(SpecError):
        require_plan(loaded)
    _, findings = plan_testbed(loaded)
    (finding,) = [each for each in findings if each.code == "CTB-T150"]
    assert finding.where is not None
    assert finding.where.pointer == pointer


def test_a_module_in_nics_that_is_not_listed_is_refused_too() -> None:
    drawn = design(length="10m")
    drawn["parts"]["media"]["m"]["in_nics"] = "mm"
    assert [each.code for each in found(drawn)] == ["CTB-T150"]


def test_a_nic_model_that_is_not_listed_is_refused_too() -> None:
    drawn = design(length="10m")
    drawn["host"]["nic_model"] = "nn"
    assert [each.code for each in found(drawn)] == ["CTB-T150"]


@pytest.mark.parametrize("kind", ["slim-fly", "dragonfly", "torus"])
def test_networks_without_tiers_are_held_against_their_parts(kind: str) -> None:
    counts: dict[str, dict[str, Any]] = {
        "slim-fly": {"q": 5, "p": 2},
        "dragonfly": {"p": 2, "a": 4, "h": 2},
        "torus": {"dims": [4, 4]},
    }
    drawn = document(kind, length="10m", medium="m", **counts[kind])
    del drawn["fabric"]["delay"]
    drawn["parts"] = {"media": {"m": {"kind": "transceiver", "rate": "400Gbps", "reach": "5m"}}}
    if kind != "torus":
        drawn["fabric"]["switch"] = {"model": "r"}
        drawn["parts"]["switches"] = {"r": {"radix": 4}}
    codes = {each.code for each in found(drawn)}
    assert codes == ({"CTB-T151"} if kind == "torus" else {"CTB-T151", "CTB-T155"})


@pytest.mark.parametrize(
    ("part", "code"),
    [
        ({"media": {"m": {"kind": "laser"}}}, "CTB-C043"),
        ({"media": {"m": {"kind": "dac", "amplified_reach": "80km"}}}, "CTB-T001"),
        ({"media": {"m": {"kind": "dac", "in_nics": "m"}}}, "CTB-T001"),
        ({"media": {"m": {"kind": "dac", "power_per_end": "-1W"}}}, "CTB-C002"),
        ({"media": {"m": {"kind": "dac", "power_per_end": "1"}}}, "CTB-C003"),
        ({"media": {"m": {"kind": "dac", "breakout": 0}}}, "CTB-C043"),
        ({"switches": {"s": {}}}, "CTB-C042"),
        ({"switches": {"s": {"radix": 64, "watts": 1}}}, "CTB-C041"),
        ({"fans": {}}, "CTB-C041"),
    ],
)
def test_a_part_that_cannot_be_is_refused(part: dict[str, Any], code: str) -> None:
    drawn = fat_tree(tiers=2, leaves=2, hosts_per_leaf=2, spines=2)
    drawn["parts"] = part
    with pytest.raises(SpecError) as refusal:
        load_document(drawn)
    assert refusal.value.code == code
