"""Headroom against distance, exact to the byte; buffers against a recount of the laid-out ports."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ctestbed.core.result import Finding
from ctestbed.core.spec import SpecError
from ctestbed.topology.buffers import CHECKS, needs, peer_degrees, switch_loads
from ctestbed.topology.build import lay_out
from ctestbed.topology.graph import NodeKind, Tier, Topology
from ctestbed.topology.kinds.dragonfly import DragonflyWiring
from ctestbed.topology.kinds.lattice import FullMeshWiring, TorusWiring
from ctestbed.topology.kinds.slim_fly import MMSWiring
from ctestbed.topology.load import load_testbed
from ctestbed.topology.plan import plan_testbed, require_plan
from ctestbed.topology.port_data import ports_data
from ctestbed.topology.shapes import Wiring
from ctestbed.topology.validate import validate_testbed
from tests.topology.strategies import any_fabrics, document, fat_tree, load_document, testbeds

HEADROOM = "lossless ports keep the headroom that their distance takes"
BUFFERS = "the headroom of a switch's ports fits its buffer"
# Bytes per port and lossless class: one round trip of data, 2 x delay x rate at 5 us per km. As
# printed in tables of buffer against distance; 18.8 MB there is 18.75.
RATES = ("100Gbps", "200Gbps", "400Gbps", "800Gbps", "1600Gbps")
PUBLISHED = [
    (80, (10, 20, 40, 80, 160)),
    (100, (12.5, 25, 50, 100, 200)),
    (150, (18.75, 37.5, 75, 150, 300)),
    (300, (37.5, 75, 150, 300, 600)),
    (500, (62.5, 125, 250, 500, 1000)),
    (1000, (125, 250, 500, 1000, 2000)),
]


def found(drawn: dict[str, Any]) -> list[Finding]:
    loaded = load_document(drawn)
    plan = require_plan(loaded)
    return [finding for _, check in CHECKS for finding in check(loaded, plan).findings]


def codes(drawn: dict[str, Any]) -> Counter[str]:
    """The codes found, but for the note on what ports add to the distance."""
    return Counter(finding.code for finding in found(drawn) if finding.code != "CTB-T076")


def outcome(drawn: dict[str, Any], name: str) -> bool | None:
    loaded = load_document(drawn)
    return dict(CHECKS)[name](loaded, require_plan(loaded)).passed


def two_sites(headroom: str, **trunk: Any) -> dict[str, Any]:
    drawn = fat_tree(tiers=2, k=4, radix=8, switch={"buffer": "8GB"})
    drawn["sites"] = [{"name": "east"}, {"name": "west"}]
    lossless = {"classes": 1, "headroom": headroom}
    base = {"between": ["east", "west"], "length": "150km", "rate": "400Gbps", "lossless": lossless}
    drawn["trunks"] = [base | trunk]
    return drawn


@pytest.mark.parametrize(("kilometres", "megabytes"), PUBLISHED)
def test_headroom_of_published_distances(kilometres: int, megabytes: tuple[float, ...]) -> None:
    for rate, each in zip(RATES, megabytes, strict=True):
        exact = round(each * 10**6)
        assert exact == each * 10**6
        drawn = two_sites(f"{exact}B", length=f"{kilometres}km", rate=rate)
        loaded = load_document(drawn)
        ((_, need),) = needs(loaded, require_plan(loaded))
        assert (need.working, need.outcome) == (exact, "enough")
        assert codes(drawn) == {}
        drawn = two_sites(f"{exact - 1}B", length=f"{kilometres}km", rate=rate)
        assert codes(drawn) == {"CTB-T070": 1}


def test_the_campus_of_150_km_needs_75_mb() -> None:
    loaded = load_testbed("two-campus-150km")
    ((_, need),) = needs(loaded, require_plan(loaded))
    assert (need.working, need.headroom) == (75_000_000, 75_000_000)


def test_what_is_short_and_how_far_it_goes() -> None:
    (finding,) = found(two_sites("60MB"))
    assert finding.code == "CTB-T070"
    assert finding.message == (
        "trunk east - west ports keep 60 MB of headroom per lossless class, and 400 Gb/s over "
        "750 us (150 km) one way takes 75 MB"
    )
    assert finding.hint == (
        "keep at least 75 MB; 60 MB carries 600 us one way, 120 km of plain fibre"
    )
    assert finding.where is not None
    assert finding.where.pointer == "trunks[0].lossless.headroom"


LAYERS = [
    (fat_tree(tiers=2, k=4), ["NIC - leaf", "leaf - spine"]),
    (fat_tree(tiers=3, k=4), ["NIC - leaf", "leaf - spine", "spine - core"]),
    (
        document("slim-fly", q=5, p=2),
        ["NIC - router", "router - router, local", "router - router, global"],
    ),
    (
        document("dragonfly", p=2, a=4, h=2),
        ["NIC - router", "router - router, local", "router - router, global"],
    ),
    (document("torus", dims=[4, 4]), ["dimension 0", "dimension 1"]),
    (document("full-mesh", dims=[3, 3]), ["dimension 0", "dimension 1"]),
    (
        document("rail-optimised", rails=1, segments=2, hosts_per_segment=2, spines=2),
        ["NIC - leaf", "leaf - spine"],
    ),
    (document("rail-only", rails=1, domains=4), ["NIC - leaf"]),
]


@pytest.mark.parametrize(("base", "layers"), LAYERS)
@settings(deadline=None, max_examples=10)
@given(st.integers(1, 1600), st.integers(1, 10**9), st.integers(1, 8))
def test_every_layer_is_held_to_the_closed_form_to_the_byte(
    base: dict[str, Any], layers: list[str], gigabits: int, delay: int, classes: int
) -> None:
    exact = -(-2 * delay * gigabits * 10**9 // (8 * 10**12))
    figures = {"rate": f"{gigabits}Gbps", "delay": f"{delay}ps"}
    fabric = base["fabric"] | figures | {"switch": {"buffer": "4000TB"}}
    drawn = base | {"fabric": fabric}
    fabric["lossless"] = {"classes": classes, "headroom": f"{exact}B"}
    loaded = load_document(drawn)
    assert [need.joint.name for _, need in needs(loaded, require_plan(loaded))] == layers
    assert codes(drawn) == {}
    assert outcome(drawn, HEADROOM) is True
    fabric["lossless"] = {"classes": classes, "headroom": f"{exact - 1}B"}
    assert codes(drawn) == {"CTB-T070": len(layers)}
    assert outcome(drawn, HEADROOM) is False


@pytest.mark.parametrize(
    ("section", "layer"),
    [("host_links", "NIC - leaf"), ("spine_links", "leaf - spine"), ("core_links", "spine - core")],
)
def test_one_layer_alone(section: str, layer: str) -> None:
    drawn = fat_tree(tiers=3, k=4)
    drawn["fabric"][section] = {"lossless": {"classes": 1, "headroom": "1kB"}}
    short = [finding for finding in found(drawn) if finding.code == "CTB-T070"]
    assert len(short) == 1
    assert short[0].message.startswith(f"{layer} ports keep 1 kB")
    assert short[0].where is not None
    assert short[0].where.pointer == f"fabric.{section}.lossless.headroom"


def test_one_plane_alone() -> None:
    drawn = fat_tree(tiers=2, k=4) | {"host": {"nics": 2}}
    drawn["fabric"]["lossless"] = {"classes": 1, "headroom": "100kB"}
    own = {"plane": 1, "spine_links": {"delay": "2us"}}
    drawn["planes"] = {"count": 2, "overrides": [own]}
    short = [finding for finding in found(drawn) if finding.code == "CTB-T070"]
    assert [finding.message.split(" keep")[0] for finding in short] == [
        "leaf - spine ports of plane 1"
    ]


@given(st.integers(1, 500), st.integers(1, 500), st.integers(0, 10**8))
def test_the_longer_route_decides(working: int, standby: int, headroom: int) -> None:
    needed = [kilometres * 500_000 for kilometres in (working, standby)]  # 400G: 0.5 MB per km
    drawn = two_sites(f"{headroom}B", length=f"{working}km")
    drawn["trunks"][0]["protection"] = {"length": f"{standby}km"}
    expected = {}
    if headroom < needed[0]:
        expected = {"CTB-T070": 1}
    elif headroom < needed[1]:
        expected = {"CTB-T072": 1}
    assert codes(drawn) == expected
    assert outcome(drawn, HEADROOM) is not bool(expected)


def test_a_protection_route_that_does_not_fit_is_named() -> None:
    (finding,) = found(two_sites("80MB", protection={"length": "200km"}))
    assert finding.code == "CTB-T072"
    assert "1 ms (200 km) one way of the protection route takes 100 MB" in finding.message
    assert finding.hint is not None
    assert finding.hint.startswith("keep at least 100 MB; 80 MB carries 800 us one way, 160 km")


UNKNOWNS: list[dict[str, Any]] = [
    {"length": "unknown"},
    {"rate": "unknown"},
    {"protection": {"length": "unknown"}},
    {"lossless": {"classes": 1, "headroom": "unknown"}},
    {"amplifiers": {"spacing": "80km", "delay": "unknown"}},
]


@pytest.mark.parametrize("change", UNKNOWNS)
def test_unknown_is_never_enough(change: dict[str, Any]) -> None:
    drawn = two_sites("4GB", **change)
    (finding,) = [finding for finding in found(drawn) if finding.code == "CTB-T071"]
    assert finding.severity == "note"
    assert "cannot be checked" in finding.message
    assert outcome(drawn, HEADROOM) is None


def test_an_unknown_headroom_is_told_what_it_must_be() -> None:
    drawn = two_sites("unknown")
    (finding,) = [finding for finding in found(drawn) if finding.code == "CTB-T071"]
    assert finding.message.endswith("what it keeps is unknown; 75 MB per class is needed")


def test_a_short_route_is_short_whatever_the_other_is() -> None:
    assert codes(two_sites("60MB", protection={"length": "unknown"})) == {"CTB-T070": 1}


def reserved(topology: Topology, classes: dict[int, int], headroom: dict[int, int]) -> int:
    """The most that any switch keeps, by counting the cables of the laid-out network."""
    links = topology.links
    kept = np.zeros(topology.node_count, object)
    for klass, count in classes.items():
        rows = links.klass == klass
        ends = np.concatenate([links.a[rows], links.b[rows]])
        kept += np.bincount(ends, minlength=topology.node_count) * (count * headroom[klass])
    switch = topology.nodes.kind == NodeKind.SWITCH
    return int(max(kept[switch], default=0))


@settings(deadline=None, max_examples=60)
@given(st.one_of(testbeds(), any_fabrics()), st.integers(1, 8), st.integers(1, 10**9))
def test_a_switch_is_full_at_the_byte_that_its_ports_fill(
    drawn: dict[str, Any], classes: int, spare: int
) -> None:
    assume(drawn["fabric"]["kind"] not in {"scale-up", "torus", "full-mesh"})
    inside = 100_000 + spare  # 1 us of 400G takes 100 kB
    drawn["fabric"]["lossless"] = {"classes": classes, "headroom": f"{inside}B"}
    for trunk in drawn.get("trunks", []):
        trunk["lossless"] = {"classes": 1, "headroom": "75MB"}
    plan = plan_testbed(load_document(drawn))[0]
    assume(plan is not None)
    assert plan is not None
    most = reserved(
        lay_out(plan), {0: classes, 1: classes, 2: 1}, {0: inside, 1: inside, 2: 75 * 10**6}
    )
    drawn["fabric"]["switch"] = {"buffer": f"{most}B"}
    assert codes(drawn) == {}
    assert outcome(drawn, BUFFERS) is True
    drawn["fabric"]["switch"] = {"buffer": f"{most - 1}B"}
    assert set(codes(drawn)) == {"CTB-T073"}
    assert outcome(drawn, BUFFERS) is False


def test_each_tier_of_switches_is_counted_as_it_is_cabled() -> None:
    drawn = fat_tree(tiers=3, pods=3, leaves=4, hosts_per_leaf=5, spines=2, cores=6, parallel=2)
    drawn["fabric"]["lossless"] = {"classes": 2, "headroom": "100kB"}
    loaded = load_document(drawn)
    plan = require_plan(loaded)
    loads = {load.what: load for _, load in switch_loads(loaded, plan)}
    topology = lay_out(plan)
    ends = np.concatenate([topology.links.a, topology.links.b])
    ports = np.bincount(ends, minlength=topology.node_count)
    for tier in (Tier.LEAF, Tier.SPINE, Tier.CORE):
        mine = (topology.nodes.tier == tier) & (topology.nodes.kind == NodeKind.SWITCH)
        load = loads[tier.name.lower()]
        assert {load.ports} == set(ports[mine].tolist())
        assert load.reserved == load.ports * 2 * 100_000


WIRINGS: list[Wiring] = [
    TorusWiring((4, 4, 3), wrap=True),
    TorusWiring((4, 5), wrap=False),
    TorusWiring((2, 1, 3), wrap=False),
    FullMeshWiring((4, 3, 2)),
    MMSWiring(5, 2),
    MMSWiring(9, 2),
    DragonflyWiring(2, 4, 2, 9),
    DragonflyWiring(2, 4, 3, 7),
    DragonflyWiring(1, 3, 2, 4),
    DragonflyWiring(1, 3, 1, 4),
]


@pytest.mark.parametrize("wiring", WIRINGS)
def test_degrees_of_equals_are_those_of_their_cables(wiring: Wiring) -> None:
    a, b, _, _, layer = wiring.cables()
    counted = [
        int(np.bincount(np.concatenate([a[layer == row], b[layer == row]]), minlength=1).max())
        for row in range(len(wiring.layers))
    ]
    assert peer_degrees(wiring) == counted


def test_counts_without_a_graph_are_checked_too() -> None:
    drawn = document("slim-fly", q=28, p=21, counts_only=True, switch={"buffer": "64MB"})
    drawn["fabric"]["lossless"] = {"classes": 1, "headroom": "1MB"}
    assert codes(drawn) == {}
    drawn["fabric"]["lossless"]["headroom"] = "2MB"
    # 21 NICs and (3 x 28 - 0) / 2 = 42 other routers.
    (finding,) = [finding for finding in found(drawn) if finding.code == "CTB-T073"]
    assert "the 63 lossless ports of a router keep 126 MB" in finding.message


def test_a_full_spine_is_named() -> None:
    drawn = two_sites("75MB")
    drawn["fabric"]["switch"] = {"buffer": "64MB"}
    (finding,) = [finding for finding in found(drawn) if finding.code == "CTB-T073"]
    assert finding.severity == "error"
    assert finding.message == (
        "the 1 lossless port of a spine keeps 75 MB of headroom, and its buffer holds 64 MB"
    )
    assert finding.where is not None
    assert finding.where.pointer == "fabric.switch.buffer"


def test_a_buffer_of_one_tier_or_plane_wins() -> None:
    drawn = two_sites("75MB") | {"planes": {"count": 2}, "host": {"nics": 2}}
    drawn["fabric"]["switch"] = {"buffer": "1MB"}
    drawn["fabric"]["spine_switch"] = {"buffer": "80MB"}
    assert codes(drawn) == {}
    drawn["planes"]["overrides"] = [{"plane": 1, "spine_switch": {"buffer": "70MB"}}]
    (finding,) = [finding for finding in found(drawn) if finding.code == "CTB-T073"]
    assert "a spine of plane 1" in finding.message
    assert finding.where is not None
    assert finding.where.pointer == "planes.overrides[0].spine_switch.buffer"


def test_a_need_that_no_buffer_can_hold_is_a_warning() -> None:
    drawn = two_sites("unknown")
    drawn["fabric"]["switch"] = {"buffer": "64MB"}
    assert codes(drawn) == {"CTB-T071": 1, "CTB-T074": 1}
    (finding,) = [finding for finding in found(drawn) if finding.code == "CTB-T074"]
    assert finding.severity == "warning"
    assert outcome(drawn, BUFFERS) is False


@pytest.mark.parametrize("buffer", [None, "unknown"])
def test_a_buffer_nobody_tells_is_never_enough(buffer: str | None) -> None:
    drawn = two_sites("75MB")
    drawn["fabric"]["switch"] = {} if buffer is None else {"buffer": buffer}
    (finding,) = [finding for finding in found(drawn) if finding.code == "CTB-T075"]
    assert finding.severity == "note"
    word = "not given" if buffer is None else "unknown"
    assert f"the buffer of a spine is {word}" in finding.message
    assert "together 75 MB" in finding.message
    assert outcome(drawn, BUFFERS) is None


def test_what_real_ports_add_is_noted() -> None:
    # 30 m of 400G: 15 kB are in flight, two frames and the peer's response are not.
    drawn = fat_tree(tiers=2, k=4, switch={"buffer": "64MB"}, lossless={"classes": 1})
    del drawn["fabric"]["delay"]
    drawn["fabric"] |= {"length": "30m", "mtu": "9216B"}
    drawn["fabric"]["lossless"]["headroom"] = "15kB"
    assert [finding.code for finding in found(drawn)] == ["CTB-T076"] * 2
    # SONiC: 9216 + 9216 + 2 x 30 m x 400 Gb/s / (8 x 1.98e8 m/s) + 905 x 64, rounded up.
    exact = -(-(2 * 9216 * 8 * 198 + 2 * 30 * 400 * 10**3 + 905 * 64 * 8 * 198) // (8 * 198))
    assert f"SONiC's formula takes {exact / 1000:.3f} kB" in found(drawn)[0].message
    drawn["fabric"]["lossless"]["headroom"] = f"{exact}B"
    assert found(drawn) == []


def test_a_frame_size_that_nobody_gave_is_told_with_what_rests_on_it() -> None:
    drawn = fat_tree(tiers=2, k=4, lossless={"classes": 1, "headroom": "15kB"})
    del drawn["fabric"]["delay"]
    drawn["fabric"]["length"] = "30m"
    noted = [finding.message for finding in found(drawn) if finding.code == "CTB-T076"]
    assert len(noted) == 2
    assert all(text.endswith("with frames of 9,100 B") for text in noted)
    loaded = load_document(drawn)
    headroom = ports_data(loaded, validate_testbed(loaded).plan)["headroom"]
    assert {need["frame"] for need in headroom} == {9100}
    drawn["fabric"]["mtu"] = "unknown"
    assert not [finding for finding in found(drawn) if finding.code == "CTB-T076"]
    loaded = load_document(drawn)
    headroom = ports_data(loaded, validate_testbed(loaded).plan)["headroom"]
    assert {need["frame"] for need in headroom} == {"UNKNOWN"}


def test_no_lossless_class_is_nothing_to_check() -> None:
    drawn = fat_tree(tiers=2, k=4)
    assert (outcome(drawn, HEADROOM), outcome(drawn, BUFFERS)) == (None, None)
    assert found(drawn) == []


def test_validate_tells_figures_and_vendors_ways_to_size_it() -> None:
    drawn = two_sites("80MB", protection={"length": "200km"})
    loaded = load_document(drawn)
    validation = validate_testbed(loaded)
    assert {check.name: check.passed for check in validation.checks}[HEADROOM] is False
    data = ports_data(loaded, validation.plan)
    (need,) = data["headroom"]
    assert (need["needed"], need["needed_standby"]) == (75_000_000, 100_000_000)
    assert (need["carries"], need["outcome"]) == (800_000_000, "working route only")
    sizes = {variant["name"]: variant["size"] for variant in need["variants"]}
    assert sizes["BDP (the convention)"] == 100_000_000
    assert sizes["2 BDP (plain PFC)"] == 200_000_000
    assert {row["buffer"] for row in data["buffers"]} == {8 * 10**9}


@pytest.mark.parametrize(
    ("lossless", "code"),
    [
        ({"classes": 0, "headroom": "1MB"}, "CTB-C043"),
        ({"classes": 9, "headroom": "1MB"}, "CTB-C043"),
        ({"classes": True, "headroom": "1MB"}, "CTB-C043"),
        ({"classes": 1, "headroom": "64M"}, "CTB-C003"),
        ({"classes": 1, "headroom": "-1B"}, "CTB-C002"),
        ({"classes": 1, "headroom": "0.5B"}, "CTB-C004"),
        ({"classes": 1, "headroom": f"{2**63}B"}, "CTB-C005"),
        ({"classes": 1}, "CTB-C042"),
        ({"headroom": "1MB"}, "CTB-C042"),
        ([], "CTB-C043"),
    ],
)
@pytest.mark.parametrize("section", ["host_links", None])
def test_lossless_that_cannot_be_read(lossless: object, code: str, section: str | None) -> None:
    drawn = fat_tree(tiers=2, k=4)
    if section is None:
        drawn["fabric"]["lossless"] = lossless
    else:
        drawn["fabric"][section] = {"lossless": lossless}
    with pytest.raises(SpecError) as caught:
        load_document(drawn)
    assert code in {finding.code for finding in caught.value.findings}


def test_a_protection_route_has_no_classes_of_its_own() -> None:
    own = {"length": "200km", "lossless": {"classes": 1, "headroom": "1MB"}}
    with pytest.raises(SpecError, match="trunk's own ports"):
        load_document(two_sites("75MB", protection=own))


def test_the_largest_quantities_stay_exact() -> None:
    huge = 2**62
    drawn = two_sites(f"{huge}B", rate=f"{huge}bps")
    drawn["trunks"][0]["lossless"]["classes"] = 8
    drawn["fabric"]["switch"] = {"buffer": f"{huge}B"}
    assert codes(drawn) == {"CTB-T073": 1}
    del drawn["trunks"][0]["length"]
    drawn["trunks"][0]["delay"] = f"{huge}ps"
    assert codes(drawn) == {"CTB-T070": 1, "CTB-T073": 1}
