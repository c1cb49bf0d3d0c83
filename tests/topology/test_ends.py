"""Both ends of cables: any one end that is altered is reported as exactly that; rails; sharing."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ctestbed.core.result import Finding
from ctestbed.core.spec import SpecError
from ctestbed.topology.buffers import CHECKS as BUFFER_CHECKS
from ctestbed.topology.build import lay_out
from ctestbed.topology.cabling import cabling_of
from ctestbed.topology.ends import CHECKS
from ctestbed.topology.frames import with_frame_sizes
from ctestbed.topology.graph import LinkClass, NodeKind
from ctestbed.topology.invariants import check_rails
from ctestbed.topology.plan import plan_testbed, require_plan
from ctestbed.topology.port_data import ports_data
from ctestbed.topology.sharing import sharing_notes
from ctestbed.topology.validate import validate_testbed
from tests.topology.strategies import any_fabrics, document, fat_tree, load_document, testbeds

RATES = "both ends of every cable run at one rate"
FRAMES = "both ends carry one frame size, and nothing on the way less than NICs send"
COMPARED = {"CTB-T060", "CTB-T061", "CTB-T062", "CTB-T063"}
BASE = {"rate": "800Gbps", "mtu": "9216B"}
OTHER = {"rate": ["400Gbps", "1600Gbps"], "mtu": ["1500B", "4096B", "9000B", "16384B"]}


def found(drawn: dict[str, Any], codes: set[str] = COMPARED) -> list[Finding]:
    """What is said of the ends, without laying the network out."""
    loaded = load_document(drawn)
    plan = require_plan(loaded)
    findings = [finding for _, check in CHECKS for finding in check(loaded, plan).findings]
    findings += sharing_notes(loaded, plan)
    return [finding for finding in findings if finding.code in codes]


def outcome(drawn: dict[str, Any], name: str) -> bool | None:
    loaded = load_document(drawn)
    return dict(CHECKS)[name](loaded, require_plan(loaded)).passed


def test_validate_asks_all_this() -> None:
    validation = validate_testbed(load_document(said(fat_tree(tiers=2, k=4))))
    checks = {check.name: check.passed for check in validation.checks}
    assert checks[RATES] is checks[FRAMES] is True
    drawn = said(fat_tree(tiers=2, k=4))
    drawn["host"]["port"]["rate"] = "400Gbps"
    validation = validate_testbed(load_document(drawn))
    assert {check.name: check.passed for check in validation.checks}[RATES] is False
    assert "CTB-T060" in {finding.code for finding in validation.findings}


def said(drawn: dict[str, Any]) -> dict[str, Any]:
    """Say of every port of a drawn testbed what it is set to, and the same of all."""
    drawn["fabric"] |= {"rate": BASE["rate"], "mtu": BASE["mtu"], "switch": {"rate": BASE["rate"]}}
    drawn["host"] = {**drawn.get("host", {}), "port": dict(BASE)}
    for trunk in drawn.get("trunks", []):
        trunk |= {"rate": BASE["rate"], "ports": {name: dict(BASE) for name in trunk["between"]}}
    return drawn


def joined(drawn: dict[str, Any]) -> dict[tuple[str, ...], tuple[str, str]]:
    """The keys of all ends that cables join, with the words for their own and their other end."""
    fabric = drawn["fabric"]
    kind = fabric["kind"]
    ends: dict[tuple[str, ...], tuple[str, str]] = {}
    if kind in {"slim-fly", "dragonfly"}:
        ends[("host", "port")] = ("NIC", "router")
        ends[("fabric", "switch", "downlinks")] = ("router", "NIC")
    elif kind in {"fat-tree", "rail-optimised", "rail-only"}:
        ends[("host", "port")] = ("NIC", "leaf")
        ends[("fabric", "leaf_switch", "downlinks")] = ("leaf", "NIC")
        ends[("fabric", "leaf_switch", "uplinks")] = ("leaf", "spine")
        ends[("fabric", "spine_switch", "downlinks")] = ("spine", "leaf")
        if "cores" in fabric:
            ends[("fabric", "spine_switch", "uplinks")] = ("spine", "core")
            ends[("fabric", "core_switch", "downlinks")] = ("core", "spine")
    if "trunks" in drawn:
        ends[("trunks", "0", "ports", "east")] = ("east", "west")
        ends[("trunks", "0", "ports", "west")] = ("west", "east")
    return ends


def put(drawn: dict[str, Any], path: tuple[str, ...], value: str) -> None:
    at: Any = drawn
    for step in path[:-1]:
        at = at[int(step)] if step.isdigit() else at.setdefault(step, {})
    at[path[-1]] = value


@settings(deadline=None, max_examples=80)
@given(st.one_of(testbeds(), any_fabrics()), st.data())
def test_any_altered_end_is_reported_as_exactly_that(
    drawn: dict[str, Any], data: st.DataObject
) -> None:
    assume(drawn["fabric"]["kind"] != "scale-up")
    said(drawn)
    assume(plan_testbed(load_document(drawn))[0] is not None)
    assert found(drawn) == []
    ends = joined(drawn)
    assume(ends)
    path, (own, other) = data.draw(st.sampled_from(sorted(ends.items())))
    key = data.draw(st.sampled_from(["rate", "mtu"]))
    put(drawn, (*path, key), data.draw(st.sampled_from(OTHER[key])))
    (finding,) = found(drawn)
    assert finding.code == ("CTB-T060" if key == "rate" else "CTB-T061")
    assert finding.severity == "error"
    assert f"at the {own} end" in finding.message
    assert f"at the {other} end" in finding.message
    assert finding.where is not None
    pointer = ".".join((*path, key)).replace("trunks.0", "trunks[0]")
    assert finding.where.pointer == pointer
    assert finding.where.line is not None
    assert finding.hint is not None
    assert outcome(drawn, RATES if key == "rate" else FRAMES) is False
    assert outcome(drawn, FRAMES if key == "rate" else RATES) is True


@pytest.mark.parametrize("plane", range(4))
@pytest.mark.parametrize("key", ["rate", "mtu"])
@pytest.mark.parametrize("form", ["nic-split", "nic-per-plane"])
def test_an_end_of_one_plane(plane: int, key: str, form: str) -> None:
    drawn = said(fat_tree(tiers=2, k=4) | {"host": {"nics": 4}})
    drawn["fabric"] = {**drawn["fabric"], "k": 16}
    own = {"plane": plane, "spine_switch": {"downlinks": {key: OTHER[key][0]}}}
    drawn["planes"] = {"count": 4, "form": form, "overrides": [own]}
    (finding,) = found(drawn)
    assert f"leaf - spine cables of plane {plane} " in finding.message
    assert finding.where is not None
    assert finding.where.pointer == f"planes.overrides[0].spine_switch.downlinks.{key}"


TIERS = {"NIC": 0, "leaf": 1, "router": 1, "spine": 2, "core": 3}


@settings(deadline=None, max_examples=40)
@given(st.one_of(testbeds(), any_fabrics()), st.data())
def test_each_cable_has_the_frame_sizes_of_its_class(
    drawn: dict[str, Any], data: st.DataObject
) -> None:
    ends = joined(said(drawn)) if drawn["fabric"]["kind"] != "scale-up" else {}
    assume(ends)
    assume(plan_testbed(load_document(drawn))[0] is not None)
    path, words = data.draw(st.sampled_from(sorted(ends.items())))
    put(drawn, (*path, "mtu"), "1500B")
    loaded = load_document(drawn)
    plan = require_plan(loaded)
    topology = lay_out(plan)
    extra = with_frame_sizes(cabling_of(topology), topology, plan, loaded).cables.extra
    nodes, links = topology.nodes, topology.links
    network = links.klass != LinkClass.SCALE_UP
    sizes = np.array([[int(size or 0) for size in extra[key]] for key in ("a_mtu", "b_mtu")])
    assert set(sizes[:, network].ravel().tolist()) <= {9216, 1500}
    assert not sizes[:, ~network].any()
    differs = sizes[0] != sizes[1]
    if "trunks" in path:
        expected = links.klass == LinkClass.TRUNK
    else:
        tiers = sorted(TIERS[word] for word in words)
        expected = (nodes.tier[links.a] == tiers[0]) & (nodes.tier[links.b] == tiers[1])
        expected &= network & (links.klass != LinkClass.TRUNK)
    assert differs.tolist() == expected.tolist()


def test_a_split_port_is_compared_part_by_part() -> None:
    drawn = said(fat_tree(tiers=2, k=8))
    drawn["planes"] = {"count": 4, "form": "nic-split"}
    assert found(drawn) == []
    drawn["host"]["port"]["rate"] = "400Gbps"
    (finding,) = found(drawn)
    assert finding.message == (
        "NIC - leaf cables run at 100 Gb/s at the NIC end and at 200 Gb/s at the leaf end"
    )


def test_ports_that_agree_on_another_rate_than_their_cables() -> None:
    drawn = said(fat_tree(tiers=2, k=4))
    drawn["fabric"]["spine_links"] = {"rate": "400Gbps"}
    (finding,) = found(drawn)
    assert finding.message == (
        "leaf - spine cables run at 400 Gb/s, and their leaf and spine ports are set to 800 Gb/s"
    )


def test_frames_that_vanish_upstairs() -> None:
    drawn = said(fat_tree(tiers=3, k=4))
    drawn["fabric"]["spine_switch"] = {"uplinks": {"mtu": "1500B"}}
    drawn["fabric"]["core_switch"] = {"mtu": "1500B"}
    (finding,) = found(drawn)
    assert finding.code == "CTB-T062"
    assert finding.message == (
        "spine - core cables carry frames of up to 1,500 B, and NICs send up to 9,216 B"
    )
    assert finding.where is not None
    assert finding.where.pointer == "fabric.spine_switch.uplinks.mtu"


def two_sites(mtu_of_west: str) -> dict[str, Any]:
    east = {"kind": "fat-tree", "tiers": 2, "k": 4, "radix": 8, "rate": "400Gbps", "delay": "1us"}
    west = {**east, "mtu": mtu_of_west}
    return {
        "ctestbed": 1,
        "name": "drawn",
        "fabrics": {"e": {**east, "mtu": "9216B"}, "w": west},
        "sites": [{"name": "east", "fabric": "e"}, {"name": "west", "fabric": "w"}],
        "trunks": [{"between": ["east", "west"], "length": "80km", "rate": "400Gbps"}],
    }


def test_sites_of_different_frame_sizes() -> None:
    assert found(two_sites("9216B")) == []
    (finding,) = found(two_sites("4096B"))
    assert finding.code == "CTB-T061"
    assert finding.message == (
        "trunk east - west cables carry frames of 9,216 B at the east end and of 4,096 B at the "
        "west end"
    )


def test_a_trunk_that_hides_the_smaller_site() -> None:
    drawn = two_sites("4096B")
    drawn["trunks"][0]["ports"] = {"west": {"mtu": "9216B"}}
    (finding,) = found(drawn)
    assert finding.code == "CTB-T062"
    assert "NICs of east send up to 9,216 B" in finding.message
    assert "(site west)" in finding.message
    drawn["trunks"][0]["ports"] = {name: {"mtu": "1500B"} for name in ("east", "west")}
    (finding,) = found(drawn)
    assert finding.message.startswith("trunk east - west cables carry frames of up to 1,500 B")


def test_planes_may_end_a_trunk_otherwise() -> None:
    drawn = fat_tree(tiers=2, k=4, radix=8, mtu="9216B") | {"sites": [{"name": "a"}, {"name": "b"}]}
    drawn["trunks"] = [{"between": ["a", "b"], "length": "80km", "rate": "400Gbps"}]
    drawn["trunks"][0]["ports"] = {"a": {"mtu": "9216B"}}
    own = {"plane": 1, "spine_switch": {"uplinks": {"mtu": "1500B"}}}
    drawn["planes"] = {"count": 2, "overrides": [own]}
    (finding,) = found(drawn)
    assert finding.message.startswith("trunk a - b cables of plane 1 carry frames of 9,216 B")


@pytest.mark.parametrize("key", ["rate", "mtu"])
def test_unknown_is_never_alike(key: str) -> None:
    drawn = said(fat_tree(tiers=2, k=4))
    drawn["host"]["port"][key] = "unknown"
    (finding,) = found(drawn)
    assert (finding.code, finding.severity) == ("CTB-T063", "note")
    assert finding.message == (
        f"the two ends of NIC - leaf cables cannot be compared: `host.port.{key}` is not known"
    )
    assert outcome(drawn, RATES if key == "rate" else FRAMES) is None


def test_an_unknown_cable_and_one_known_end() -> None:
    drawn = fat_tree(tiers=2, k=4)
    drawn["fabric"]["rate"] = "unknown"
    drawn["host"] = {"port": {"rate": "400Gbps"}}
    assert [finding.code for finding in found(drawn)] == ["CTB-T063"]
    drawn["fabric"]["leaf_switch"] = {"downlinks": {"rate": "400Gbps"}}
    assert found(drawn) == []
    drawn["fabric"]["leaf_switch"] = {"downlinks": {"rate": "200Gbps"}}
    assert [finding.code for finding in found(drawn)] == ["CTB-T060"]


def test_what_is_not_said_is_not_compared() -> None:
    drawn = fat_tree(tiers=2, k=4)
    assert (outcome(drawn, RATES), outcome(drawn, FRAMES)) == (None, None)


@pytest.mark.parametrize(
    ("changes", "pointer", "code"),
    [
        ({"host": {"port": {"mtu": "9216"}}}, "host.port.mtu", "CTB-C003"),
        ({"host": {"port": {"mtu": -1}}}, "host.port.mtu", "CTB-C002"),
        ({"host": {"port": {"mtu": ["9216B"]}}}, "host.port.mtu", "CTB-C001"),
        ({"host": {"port": {"rate": "400G"}}}, "host.port.rate", "CTB-C003"),
        ({"host": {"port": {"speed": "400Gbps"}}}, "host.port.speed", "CTB-C041"),
        ({"host": {"port": "400Gbps"}}, "host.port", "CTB-C043"),
        ({"host": {"port": {"mtu": f"{10**30}B"}}}, "host.port.mtu", "CTB-C005"),
        ({"host": {"port": {"mtu": 0}}}, "host.port.mtu", "CTB-T011"),
        ({"host": {"port": {"rate": "0bps"}}}, "host.port.rate", "CTB-T011"),
        ({"sites": [{"name": "a"}], "trunks": [{}]}, "trunks[0].between", "CTB-C042"),
    ],
)
def test_ports_that_cannot_be_read(changes: dict[str, Any], pointer: str, code: str) -> None:
    with pytest.raises(SpecError) as caught:
        load_document(fat_tree(tiers=2, k=4) | changes)
    places = {
        (finding.code, finding.where.pointer) for finding in caught.value.findings if finding.where
    }
    assert (code, pointer) in places


HUGE = 2**62
SIZES = st.sampled_from(["unknown", "1B", "1500B", "9216B", f"{HUGE}B"])
SPEEDS = st.sampled_from(["unknown", "1bps", "400Gbps", f"{HUGE}bps"])
PORTS = st.fixed_dictionaries({}, optional={"rate": SPEEDS, "mtu": SIZES})
SWITCHES = st.fixed_dictionaries(
    {},
    optional={"mtu": SIZES, "buffer": SIZES, "rate": SPEEDS, "downlinks": PORTS, "uplinks": PORTS},
)
LOSSLESS = st.fixed_dictionaries({"classes": st.integers(1, 8), "headroom": SIZES})


@settings(deadline=None, max_examples=100)
@given(st.one_of(testbeds(), any_fabrics()), st.data())
def test_whatever_is_said_of_ports_is_judged_or_refused(
    drawn: dict[str, Any], data: st.DataObject
) -> None:
    draw = data.draw
    keys = ["switch"]
    keys += ["leaf_switch"] if drawn["fabric"]["kind"] in {"fat-tree", "rail-optimised"} else []
    if drawn["fabric"]["kind"] != "scale-up":
        drawn["fabric"] |= draw(st.dictionaries(st.sampled_from(keys), SWITCHES))
        drawn["fabric"] |= draw(st.fixed_dictionaries({}, optional={"lossless": LOSSLESS}))
    port = st.fixed_dictionaries({}, optional={"port": PORTS})
    drawn["host"] = drawn.get("host", {}) | draw(port)
    ends = st.dictionaries(st.sampled_from(["east", "west"]), PORTS)
    for trunk in drawn.get("trunks", []):
        said_of_it = st.fixed_dictionaries({}, optional={"ports": ends, "lossless": LOSSLESS})
        trunk.update(draw(said_of_it))
    try:
        loaded = load_document(drawn)
        plan = require_plan(loaded)
    except SpecError:
        return
    answers = [check(loaded, plan) for _, check in (*CHECKS, *BUFFER_CHECKS)]
    for answer in answers:
        wrong = [finding for finding in answer.findings if finding.severity != "note"]
        assert (answer.passed is False) == bool(wrong)
        assert all(finding.hint and finding.where for finding in answer.findings)
    ports_data(loaded, plan)


def test_trunk_ports_are_of_its_ends() -> None:
    drawn = two_sites("9216B")
    drawn["trunks"][0]["ports"] = {"north": {"mtu": "9216B"}}
    with pytest.raises(SpecError, match="no end of this trunk"):
        load_document(drawn)


@settings(deadline=None)
@given(st.data())
def test_any_two_nic_cables_exchanged_are_on_the_wrong_rail_or_segment(data: st.DataObject) -> None:
    drawn = document("rail-optimised", rails=4, tors_per_rail=2, segments=2)
    drawn["fabric"] |= {"hosts_per_segment": 2, "spines": 2}
    drawn["host"] = {"accelerators": 4, "nics": 4}
    plan = require_plan(load_document(drawn))
    topology = lay_out(plan)
    assert check_rails(topology, plan) == []
    nodes, links = topology.nodes, topology.links
    host = st.integers(0, int((links.klass == LinkClass.HOST).sum()) - 1)
    one, two = data.draw(host), data.draw(host)
    assume(links.plane[one] == links.plane[two])
    leaves = [int(links.b[row]) for row in (one, two)]
    assume(leaves[0] != leaves[1])
    links.b[one], links.b[two] = leaves[1], leaves[0]
    wrong = check_rails(topology, plan)
    assert wrong
    other_rail = nodes.rail[leaves[0]] != nodes.rail[leaves[1]]
    assert ("NIC of rail" in wrong[0]) == other_rail
    assert ("leaves the segment" in wrong[-1]) == (
        nodes.index[leaves[0]] // 4 != nodes.index[leaves[1]] // 4
    )


def test_rails_that_nothing_joins() -> None:
    drawn = document("rail-only", rails=4, domains=4)
    drawn["host"] = {"accelerators": 2, "nics": 2}
    plan = require_plan(load_document(drawn))
    topology = lay_out(plan)
    assert check_rails(topology, plan) == []
    first = topology.first[NodeKind.NIC]
    assert topology.links.a[1] == first + 1
    topology.links.b[[0, 1]] = topology.links.b[[1, 0]]
    wrong = check_rails(topology, plan)
    assert wrong is not None
    assert ["rail 0 to a ToR of rail 1" in wrong[0], "rail 1 to a ToR of rail 0" in wrong[1]] == [
        True,
        True,
    ]


def test_a_fabric_without_rails_is_not_asked_for_them() -> None:
    plan = require_plan(load_document(fat_tree(tiers=2, k=4)))
    assert check_rails(lay_out(plan), plan) is None


def test_planes_that_share_a_route() -> None:
    drawn = two_sites("9216B") | {"planes": {"count": 2}, "host": {"nics": 2}}
    (finding,) = found(drawn, {"CTB-T065"})
    assert finding.message == (
        "all 2 planes between east and west share one fibre route: one cut stops them all"
    )
    drawn["trunks"][0]["protection"] = {"length": "90km"}
    (finding,) = found(drawn, {"CTB-T065"})
    assert "cuts of both" in finding.message
    drawn["trunks"].append({"between": ["west", "east"], "length": "99km", "rate": "400Gbps"})
    assert found(drawn, {"CTB-T065"}) == []
    drawn["planes"] = {"count": 1}
    assert found(drawn, {"CTB-T065"}) == []


def test_nics_split_over_planes_that_differ() -> None:
    drawn = fat_tree(tiers=2, leaves=4, hosts_per_leaf=4, spines=4)
    drawn["planes"] = {"count": 4, "form": "nic-split", "overrides": [{"plane": 2, "spines": 2}]}
    (finding,) = found(drawn, {"CTB-T066"})
    assert "(planes 0-1, 3; plane 2)" in finding.message
    drawn["planes"]["form"] = "nic-per-plane"
    drawn["host"] = {"nics": 4}
    assert found(drawn, {"CTB-T066"}) == []
