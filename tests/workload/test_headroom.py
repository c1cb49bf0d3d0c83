"""`sim headroom`: one link by figures, a testbed's ports against the closed form."""

from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ctestbed.core.data import data_directory
from ctestbed.core.errors import ExitCode, InputError
from ctestbed.core.result import UNKNOWN, Result
from ctestbed.topology.write import dump_testbed
from ctestbed.workload.headroom import HeadroomRequest, run_headroom
from tests.topology.strategies import fat_tree

TRUNK = {"between": ["east", "west"], "length": "150km", "rate": "400Gbps"}


def figures(result: Result) -> dict[str, Any]:
    return {metric.name: metric.value for metric in result.metrics}


def link(**given: Any) -> Any:
    (described,) = run_headroom(HeadroomRequest(**given)).data["links"]
    return described


def testbed(directory: Path, *trunks: dict[str, Any], **fabric: Any) -> str:
    """Write a testbed of two sites of two spines each."""
    document = fat_tree(tiers=2, leaves=2, spines=2, hosts_per_leaf=2, **fabric)
    document["sites"] = [{"name": "east"}, {"name": "west"}]
    if trunks:
        document["trunks"] = [deepcopy(trunk) for trunk in trunks]  # no YAML aliases
    path = directory / "two.yaml"
    path.write_bytes(dump_testbed(document, "yaml"))
    return str(path)


testbed.__test__ = False  # type: ignore[attr-defined]


def lossless(headroom: str, classes: int = 1, **more: Any) -> dict[str, Any]:
    return {**TRUNK, "lossless": {"headroom": headroom, "classes": classes}, **more}


# `facts`: MB per port and class for one round trip, at 5 us per km each way.
@pytest.mark.parametrize(
    ("length", "rate", "size"),
    [
        ("80km", "100Gbps", 10_000_000),
        ("100km", "100Gbps", 12_500_000),
        ("150km", "100Gbps", 18_750_000),
        ("150km", "400Gbps", 75_000_000),
        ("150km", "800Gbps", 150_000_000),
        ("300km", "200Gbps", 75_000_000),
        ("1000km", "1.6Tbps", 2_000_000_000),
    ],
)
def test_one_link_needs_one_round_trip(length: str, rate: str, size: int) -> None:
    result = run_headroom(HeadroomRequest(rate=rate, length=length))
    assert figures(result) == {"headroom.closed_form": size}
    (described,) = result.data["links"]
    assert (described["closed_form"], described["per_port"]) == (size, size)
    assert described["outcome"] == "not checked"
    assert described["configured"] == UNKNOWN
    assert result.metrics[0].provenance == "modelled"


def test_classes_multiply_the_port_and_not_the_class() -> None:
    described = link(rate="400Gbps", length="150km", classes=3)
    assert (described["closed_form"], described["per_port"]) == (75_000_000, 225_000_000)


def test_a_refractive_index_replaces_five_us_per_km() -> None:
    """Light in glass of index n takes n / c; 150 km at 1.468 take 734.5 us."""
    described = link(rate="400Gbps", length="150km", refractive_index=1.468)
    exact = Fraction(150_000) * Fraction(1468, 1000) / 299_792_458 * 10**12
    assert abs(described["delay"] - exact) <= 1
    assert described["closed_form"] == -(-2 * described["delay"] * 400 * 10**9 // (8 * 10**12))
    assert 73_400_000 < described["closed_form"] < 73_500_000


def test_a_delay_gives_no_metres_to_the_variants_that_count_them() -> None:
    described = link(rate="400Gbps", delay="750us")
    sizes = {variant["name"]: variant["size"] for variant in described["variants"]}
    assert described["length"] == UNKNOWN
    assert sizes.pop("BDP (the convention)") == 75_000_000
    assert sizes.pop("2 BDP (plain PFC)") == 150_000_000
    assert sizes.pop("BDP + 2RT (paced pause)") == 76_000_000
    assert set(sizes.values()) == {UNKNOWN}
    with_length = link(rate="400Gbps", length="150km")["variants"]
    assert all(isinstance(variant["size"], int) for variant in with_length)
    small, large = (
        {v["name"]: v["size"] for v in link(rate="100Gbps", length="1km", mtu=mtu)["variants"]}
        for mtu in ("1500B", "9100B")
    )
    assert large["operator's rule"] - small["operator's rule"] == 2 * 7600
    assert large["SONiC"] - small["SONiC"] == 2 * 7600
    assert large["BDP (the convention)"] == small["BDP (the convention)"]


@pytest.mark.parametrize(
    ("configured", "outcome", "code"),
    [
        ("75MB", "enough", ExitCode.OK),
        ("74999999B", "too small", ExitCode.CHECKS_FAILED),
        ("1GB", "enough", ExitCode.OK),
        ("0", "too small", ExitCode.CHECKS_FAILED),
    ],
)
def test_one_link_s_configured_headroom(configured: str, outcome: str, code: ExitCode) -> None:
    result = run_headroom(HeadroomRequest(rate="400Gbps", length="150km", configured=configured))
    assert result.data["links"][0]["outcome"] == outcome
    assert result.exit_code == code
    assert [f.code for f in result.findings] == ["CTB-S032"] * (code != ExitCode.OK)


@pytest.mark.parametrize(
    "request_",
    [
        HeadroomRequest(),
        HeadroomRequest(rate="400Gbps"),
        HeadroomRequest(length="150km"),
        HeadroomRequest(rate="400Gbps", length="150km", delay="750us"),
        HeadroomRequest(rate="400Gbps", delay="750us", refractive_index=1.4),
        HeadroomRequest(rate="400Gbps", length="150km", refractive_index=0.9),
        HeadroomRequest(rate="400Gbps", length="150km", refractive_index=float("nan")),
        HeadroomRequest(rate="0", length="150km"),
        HeadroomRequest("two-campus-150km", rate="400Gbps"),
        HeadroomRequest("two-campus-150km", length="150km"),
        HeadroomRequest("two-campus-150km", configured="75MB"),
        HeadroomRequest("two-campus-150km", mtu="1500B"),
        HeadroomRequest("two-campus-150km", refractive_index=1.4),
        HeadroomRequest("two-campus-150km", classes=2),
    ],
)
def test_neither_both_nor_half_a_question(request_: HeadroomRequest) -> None:
    with pytest.raises(InputError) as caught:
        run_headroom(request_)
    assert caught.value.code == "CTB-S030"
    assert caught.value.hint


def test_two_campus_has_what_it_needs() -> None:
    result = run_headroom(HeadroomRequest("two-campus-150km"))
    assert figures(result) == {
        "headroom.closed_form": 75_000_000,
        "headroom.configured": 75_000_000,
        "headroom.short_ports": 0,
    }
    (described,) = result.data["links"]
    assert len(set(described["ports"])) == 64
    assert described["outcome"] == "enough"
    assert described["pause_refreshes"] == 18
    assert result.exit_code == ExitCode.OK
    # The operator's rule counts two frames of this fabric's 4,096 B.
    sizes = {variant["name"]: variant["size"] for variant in described["variants"]}
    assert sizes["operator's rule"] == 130 * 1500 * 400 + 2 * 4096 + 3840


def test_60_mb_is_too_small_at_each_of_64_ports(tmp_path: Path) -> None:
    text = (data_directory("topologies") / "two-campus-150km.yaml").read_text()
    path = tmp_path / "small.yaml"
    path.write_text(text.replace("headroom: 75MB", "headroom: 60MB"))
    result = run_headroom(HeadroomRequest(str(path)))
    assert result.exit_code == ExitCode.CHECKS_FAILED
    assert figures(result)["headroom.short_ports"] == 64
    assert [f.code for f in result.findings] == ["CTB-S032"] * 64
    line = 1 + text.split("headroom: 75MB")[0].count("\n")
    assert {f.where.line for f in result.findings if f.where} == {line}
    named = [f.message.split()[1] for f in result.findings]
    # A spine of 4 leaves x 8 cables has ports 1 to 32; the trunk is in port 33.
    expected = {
        f"{site}/p{plane}/spine-{spine}:33"
        for site in ("east", "west")
        for plane in range(8)
        for spine in range(4)
    }
    assert set(named) == expected
    assert result.findings[0].message == (
        "port east/p0/spine-0:33 keeps 60 MB of headroom per lossless class, "
        "and 400 Gb/s over 750 us one way takes 75 MB"
    )


@pytest.mark.parametrize(
    ("trunk", "known"),
    [
        (lossless("unknown"), True),
        (lossless("75MB", rate="unknown"), False),
        ({**lossless("75MB"), "length": "unknown"}, False),
    ],
)
def test_unknown_quantities_are_a_question(
    tmp_path: Path, trunk: dict[str, Any], known: bool
) -> None:
    result = run_headroom(HeadroomRequest(testbed(tmp_path, trunk)))
    assert result.exit_code == ExitCode.OK
    (finding,) = result.findings
    assert (finding.code, finding.severity) == ("CTB-S033", "note")
    (described,) = result.data["links"]
    assert described["outcome"] == "unknown"
    assert described["closed_form"] == (75_000_000 if known else UNKNOWN)
    assert figures(result)["headroom.closed_form"] == (75_000_000 if known else UNKNOWN)
    assert figures(result)["headroom.configured"] == (UNKNOWN if known else 75_000_000)
    assert bool(described["variants"]) == known


def test_a_trunk_without_lossless_classes_is_sized_and_not_checked(tmp_path: Path) -> None:
    result = run_headroom(HeadroomRequest(testbed(tmp_path, TRUNK)))
    assert result.data["links"][0]["outcome"] == "not checked"
    assert "headroom.configured" not in figures(result)
    assert result.findings == ()


def test_the_worst_of_several_trunks_speaks(tmp_path: Path) -> None:
    long = lossless("100MB", length="300km")
    result = run_headroom(HeadroomRequest(testbed(tmp_path, lossless("80MB"), long)))
    assert figures(result) == {
        "headroom.closed_form": 150_000_000,
        "headroom.configured": 100_000_000,
        "headroom.short_ports": 4,
    }
    assert [d["outcome"] for d in result.data["links"]] == ["enough", "too small"]
    # The first trunk took port 3 of each spine (two leaves, one cable each), so this is port 4.
    assert {f.message.split()[1] for f in result.findings} == {
        f"{site}/spine-{spine}:4" for site in ("east", "west") for spine in range(2)
    }


def test_two_trunks_that_each_have_enough_compare_as_enough(tmp_path: Path) -> None:
    near = lossless("40MB", length="80km")
    result = run_headroom(HeadroomRequest(testbed(tmp_path, near, lossless("75MB"))))
    shown = figures(result)
    assert result.exit_code == ExitCode.OK
    assert shown["headroom.configured"] >= shown["headroom.closed_form"]


def test_one_unknown_trunk_makes_the_worst_unknown(tmp_path: Path) -> None:
    path = testbed(tmp_path, lossless("80MB"), lossless("80MB", rate="unknown"))
    assert figures(run_headroom(HeadroomRequest(path)))["headroom.closed_form"] == UNKNOWN


def test_an_unknown_mtu_leaves_the_variants_that_count_frames_unknown(tmp_path: Path) -> None:
    result = run_headroom(HeadroomRequest(testbed(tmp_path, lossless("75MB"), mtu="unknown")))
    sizes = {v["name"]: v["size"] for v in result.data["links"][0]["variants"]}
    assert sizes["BDP (the convention)"] == 75_000_000
    assert {sizes[name] for name in ("SONiC", "mlx5e", "operator's rule")} == {UNKNOWN}
    assert result.data["links"][0]["outcome"] == "enough"


def test_no_trunks_no_headroom(tmp_path: Path) -> None:
    for name in ("lab-128", testbed(tmp_path)):
        with pytest.raises(InputError) as caught:
            run_headroom(HeadroomRequest(name))
        assert caught.value.code == "CTB-S031"
        assert caught.value.hint == "add `trunks:`, or give --rate and --length for one link"


def test_the_ports_of_a_trunk_decide_its_largest_frame(tmp_path: Path) -> None:
    small = {name: {"mtu": "1500B"} for name in ("east", "west")}
    sizes = []
    for trunk in (lossless("75MB"), lossless("75MB", ports=small)):
        result = run_headroom(HeadroomRequest(testbed(tmp_path, trunk, mtu="9100B")))
        variants = result.data["links"][0]["variants"]
        sizes.append({variant["name"]: variant["size"] for variant in variants})
    assert sizes[0]["SONiC"] - sizes[1]["SONiC"] == 2 * 7600


@pytest.mark.numba
@pytest.mark.parametrize(
    ("rate", "delay", "bdp"),
    [("400Gbps", 750 * 10**6, 75_000_000), ("100Gbps", 125 * 10**6, 3_125_000)],
)
def test_solving_meets_the_round_trip_and_twice_that(rate: str, delay: int, bdp: int) -> None:
    # facts: fabric.md 1.2, fabric-peers.md 1.3 (125 us hops need 3.125 MB), Bifrost's 2 BDP.
    result = run_headroom(HeadroomRequest(rate=rate, delay=f"{delay}ps", mtu="4064B", solve=True))
    found = {metric.name: int(metric.value) for metric in result.metrics}
    assert found["headroom.closed_form"] == bdp
    assert bdp < found["headroom.lossless"] < bdp + max(0.002 * bdp, 3 * 4064)
    simulated = [metric.name for metric in result.metrics if metric.provenance == "simulated"]
    assert simulated == ["headroom.lossless", "headroom.no_starvation"]
    assert 2 * bdp < found["headroom.no_starvation"] < 2 * bdp + max(0.002 * bdp, 6 * 4064)


@pytest.mark.parametrize(
    "request_",
    [
        HeadroomRequest(rate="1600Gbps", length="100000km", solve=True),
        HeadroomRequest(rate="400Gbps", length="1km", mtu="64B", solve=True),
        HeadroomRequest(rate="400Gbps", length="1km", mtu="100kB", solve=True),
    ],
)
def test_what_cannot_be_solved_is_refused(request_: HeadroomRequest) -> None:
    with pytest.raises(InputError) as refusal:
        run_headroom(request_)
    assert refusal.value.code == "CTB-S087"


def test_a_testbed_is_not_solved() -> None:
    with pytest.raises(InputError, match="either answers alone"):
        run_headroom(HeadroomRequest("two-campus-150km", solve=True))
