"""`sim transfer --engine packet`: published scenarios, findings, and refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ctestbed.core.errors import ExitCode, InputError
from ctestbed.core.result import Result
from ctestbed.workload.packet_measures import jain
from ctestbed.workload.packet_transfer import PacketTransferRequest, run_packet_transfer
from ctestbed.workload.transfer import TransferRequest, run_transfer

US = 10**6
FLOOR = 2_600_960_000
"""ps: 8,000 packets of 4,064 B on the receiver's cable of 100 Gb/s (fabric-peers 1.1)."""


def run(testbed: str, pattern: str, size: str | None, **options: Any) -> Result:
    options.setdefault("engine", "reference")
    return run_packet_transfer(PacketTransferRequest(testbed, pattern, size, **options))


def figures(result: Result) -> dict[str, Any]:
    return {metric.name: metric.value for metric in result.metrics}


@pytest.mark.numba
def test_incast_of_32_ends_between_the_floor_and_what_htsim_took() -> None:
    result = run("fat-tree-128", "incast:32", "1MB", engine="packet")
    found = figures(result)
    assert result.exit_code == ExitCode.OK
    # The floor, and 2 us of cable twice and the last acknowledgement; htsim's RoCE took 2,619.1 us.
    assert FLOOR + 4 * US < found["fct.max"] <= 2_627 * US
    assert found["packet_hops.data"] == 45_500
    assert found["drops.lossless"] == found["flows.unfinished"] == found["packets.resent"] == 0
    assert found["pauses.count"] > 0


@pytest.mark.numba
def test_shift_of_128_moves_every_packet_over_six_cables() -> None:
    found = figures(run("fat-tree-128", "shift:64", "2MB", engine="packet", spread="balanced"))
    assert found["packet_hops.data"] == 384_000
    # No two flows share a cable in one direction, but acknowledgements share them with data.
    assert 176_216_320 < found["fct.min"] <= found["fct.max"] < 1.02 * 176_216_320


@pytest.mark.parametrize(
    ("size", "host", "fct"), [("1MB", "incast:1", 85_615_360), ("4kB", "incast:1", None)]
)
def test_a_lone_flow_within_a_leaf(size: str, host: str, fct: int | None) -> None:
    found = figures(run("fat-tree-128", host, size))
    assert found["fct.max"] == (fct or 2 * 325_120 + 4 * US + 2 * 5_120)


def test_too_little_headroom_names_the_first_port_that_lost() -> None:
    result = run("lab-128", "incast:4", "40kB", xoff="8kB", headroom="4kB")
    assert result.exit_code == ExitCode.INVARIANT_BROKEN
    (finding,) = result.findings
    assert finding.code == "CTB-S084"
    assert "leaf-00" in finding.message
    assert figures(result)["drops.lossless"] > 0
    drops = {port["receiver"]: port["drops"] for port in result.data["packet"]["ports"]}
    assert drops["leaf-00"] > 0


def test_the_default_headroom_is_enough_and_is_used() -> None:
    result = run("lab-128", "incast:16", "400kB", xoff="8kB")
    assert result.exit_code == ExitCode.OK
    ports = [port for port in result.data["packet"]["ports"] if port["headroom_peak"]]
    assert ports
    assert all(port["headroom_peak"] <= port["headroom"] for port in ports)
    assert all(port["ingress_peak"] <= port["xoff"] + port["headroom"] for port in ports)


def two_sites(headroom: str) -> str:
    """Two small sites 100 km apart, joined at 100 Gb/s, which needs 12.5 MB."""
    return f"""
ctestbed: 1
name: two
sites: [{{name: east}}, {{name: west}}]
fabric:
  {{kind: fat-tree, tiers: 2, leaves: 2, hosts_per_leaf: 8, spines: 1, rate: 100Gbps, delay: 1us}}
trunks:
  - between: [east, west]
    rate: 100Gbps
    length: 100km
    lossless: {{classes: 1, headroom: {headroom}}}
"""


@pytest.mark.numba
@pytest.mark.parametrize(
    ("headroom", "codes"),
    [("12600kB", []), ("6MB", ["CTB-S084"]), ("unknown", ["CTB-S088"])],
)
def test_the_testbeds_own_headroom_is_put_to_the_test(
    headroom: str, codes: list[str], tmp_path: Path
) -> None:
    testbed = tmp_path / "two.yaml"
    testbed.write_text(two_sites(headroom))
    flows = tmp_path / "flows.csv"
    # Fifteen of the far side to one host here, which a local flow keeps half busy.
    lines = [f"{16 + host},0,4MB" for host in range(15)] + ["1,0,20MB"]
    flows.write_text("source,destination,size\n" + "\n".join(lines) + "\n")
    result = run_packet_transfer(
        PacketTransferRequest(str(testbed), str(flows), engine="packet", xoff="100kB")
    )
    assert [finding.code for finding in result.findings] == codes
    trunk = [port for port in result.data["packet"]["ports"] if "spine" in port["sender"]]
    trunk = [port for port in trunk if "spine" in port["receiver"]]
    rooms = {port["headroom"] for port in trunk}
    assert len(rooms) == 1
    assert rooms != {0}


def test_a_horizon_too_short_says_who_is_unfinished() -> None:
    result = run("lab-128", "incast:4", "400kB", horizon="50us")
    assert result.exit_code == ExitCode.INVARIANT_BROKEN
    assert [finding.code for finding in result.findings] == ["CTB-S085"]
    assert figures(result)["flows.unfinished"] == 4


@pytest.mark.parametrize("reliability", ["gbn", "sr"])
@pytest.mark.parametrize("trim", [False, True])
def test_a_lossy_class_loses_and_repairs(reliability: Any, trim: bool) -> None:
    result = run(
        "lab-128", "incast:8", "200kB", flow_control="none", reliability=reliability, trim=trim,
        queue="40kB",
    )  # fmt: skip
    found = figures(result)
    assert result.exit_code == ExitCode.OK
    assert found["flows.unfinished"] == 0
    assert found["packets.resent"] > 0
    assert (found["packets.trimmed"] > 0) is trim
    assert (found["drops.lossy"] > 0) is not trim


def test_dcqcn_ends_and_marks() -> None:
    found = figures(run("lab-128", "incast:8", "400kB", cc="dcqcn"))
    assert found["flows.unfinished"] == 0
    assert found["ecn.marks"] > 0


def test_spraying_uses_more_spines_than_one_path() -> None:
    result = run("lab-128", "shift:64", "40kB", spread="spray", reliability="sr")
    spines = {link["target"] for link in result.data["links"] if link["source"] == "leaf-00"} - {
        f"h{host:03d}/nic-0" for host in range(8)
    }
    assert len(spines) == 8
    assert figures(result)["flows.unfinished"] == 0


def test_queue_pairs_share_a_flow_and_its_end_is_the_last_of_theirs() -> None:
    one = run("lab-128", "shift:64", "40kB", seed=3)
    four = run("lab-128", "shift:64", "40kB", spread="qp:4", seed=3)
    assert four.data["flow_count"] == one.data["flow_count"] == 128
    assert four.data["bytes"] == one.data["bytes"]
    sent = {
        name: figures(result)["packet_hops.data"] for name, result in (("one", one), ("four", four))
    }
    # 10 packets either way: 40 kB in packets of 4 kB, or four times 10 kB in 2.5 of them.
    assert sent["four"] == sent["one"] * 12 // 10
    busiest = [figures(result)["link.utilisation.max"] for result in (one, four)]
    assert figures(four)["fct.max"] < figures(one)["fct.max"]
    assert busiest[0] > 0


def test_a_class_goes_before_the_next(tmp_path: Path) -> None:
    file = tmp_path / "two.csv"
    file.write_text("source,destination,size,class\n1,0,200kB,1\n2,0,200kB,0\n")
    result = run_packet_transfer(
        PacketTransferRequest("lab-128", str(file), engine="reference", xoff="8kB")
    )
    first, second = (flow["fct"] for flow in sorted(result.data["flows"], key=lambda f: -f["src"]))
    # 50 packets of 325.12 ns, alone but for one that had begun; the other after all 100 of them.
    alone = 50 * 325_120 + 325_120 + 4 * US + 2 * 5_120
    assert alone <= first <= alone + 325_120
    assert second >= 100 * 325_120
    assert not result.findings


def test_the_same_run_gives_the_same_data() -> None:
    one, other = (run("lab-128", "incast:8", "40kB", cc="dcqcn", seed=7) for _ in range(2))
    assert one.data == other.data


@pytest.mark.parametrize(
    ("testbed", "pattern", "size", "options", "code"),
    [
        ("lab-128", "incast:4", "0B", {}, "CTB-S013"),
        ("lab-128", "incast:4", "4kB", {"horizon": "0s"}, "CTB-S081"),
        ("lab-128", "incast:4", "4kB", {"spread": "spray"}, "CTB-S086"),
        ("lab-128", "incast:4", "4kB", {"spread": "qp:0"}, "CTB-S086"),
        ("lab-128", "incast:4", "4kB", {"spread": "qp:65"}, "CTB-S086"),
        ("lab-128", "incast:4", "4kB", {"spread": "adaptive"}, "CTB-S086"),
        ("lab-128", "incast:4", "3B", {"spread": "qp:4"}, "CTB-S086"),
        ("lab-128", "incast:4", "4kB", {"trim": True}, "CTB-S086"),
        ("lab-128", "incast:4", "4kB", {"queue": "1MB"}, "CTB-S086"),
        ("lab-128", "incast:4", "4kB", {"mtu": "100kB"}, "CTB-S086"),
        ("lab-128", "incast:4", "4kB", {"mtu": "0B"}, "CTB-S086"),
        ("lab-128", "incast:4", "4kB", {"flow_control": "none", "queue": "1kB"}, "CTB-S083"),
        ("kunlun-32k", "shift:64", "4kB", {}, "CTB-S082"),
        ("lab-128", "incast:4", "3GB", {"mtu": "1B"}, "CTB-S089"),
    ],
)
def test_what_cannot_be_run_is_refused(
    testbed: str, pattern: str, size: str, options: dict[str, Any], code: str
) -> None:
    with pytest.raises(InputError) as refusal:
        run(testbed, pattern, size, **options)
    assert refusal.value.code == code
    assert refusal.value.hint


def test_cables_that_a_matrix_leaves_out_are_dead_from_the_start(tmp_path: Path) -> None:
    path = tmp_path / "cut.cm"
    path.write_text(
        "Nodes 128\nConnections 1\nFailures 16\n0->127 start 0 size 40000\n"
        + "".join(
            f"failure switch_type AGG switch_id {switch} link_id {link}\n"
            for switch in range(4)
            for link in range(4)
        )
    )
    result = run("fat-tree-128", str(path), "40kB", retry="1ms", horizon="10ms")
    found = figures(result)
    assert found["flows.unfinished"] == 1
    # Ten packets, at once and after each of nine milliseconds, all lost on the way to a core.
    assert found["drops.down"] == 100
    assert found["drops.lossless"] == 0
    assert result.exit_code == ExitCode.INVARIANT_BROKEN


def test_a_slow_receiver_takes_no_more_than_its_rate() -> None:
    found = figures(run("lab-128", "incast:4", "100kB", fail=("slow:h000,rate=1Gbps",)))
    # Four times 25 packets of 4,064 B at 1 Gb/s.
    assert 100 * 4064 * 8000 < found["fct.max"] < 100 * 4064 * 8000 * 1.01
    assert found["drops.lossless"] == found["flows.unfinished"] == 0


@pytest.mark.parametrize("engine", ["reference", pytest.param("packet", marks=pytest.mark.numba)])
def test_a_receiver_is_slow_for_a_part_of_the_run(engine: str) -> None:
    def last(*fail: str) -> int:
        found = figures(run("lab-128", "incast:4", "100kB", fail=fail, engine=engine))
        assert found["drops.lossless"] == found["flows.unfinished"] == 0
        return int(found["fct.max"])

    free = last()
    # For 800 us it takes 1 Gb/s instead of 100: 792 us are lost, to a frame of 32.5 us.
    slow = last("slow:h000@10us..810us,rate=1Gbps")
    assert abs(slow - free - 792 * US) < 33 * US
    # Where two overlap the slower holds; one that begins when all is over changes nothing.
    both = last("slow:h000@10us..810us,rate=1Gbps", "slow:h000@0us..500us,rate=50Gbps")
    assert slow < both < slow + 10 * US
    assert last("slow:h000@1ms,rate=1Gbps") == free
    assert last("slow:h000@10us,rate=1Gbps") > 10 * free


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("slow:h000@1us..2us,rate=100Gbps", "CTB-S111"),
        ("slow:h000,rate=100Gbps", "CTB-S111"),
        ("flap:leaf-00~spine-0,down=1ns,up=1ns", "CTB-S110"),
        ("storm:h000,class=1", "CTB-S112"),
        ("nonsense", "CTB-S045"),
        ("down:leaf-00~leaf-01", "CTB-S046"),
    ],
)
def test_failures_that_cannot_be_are_refused(spec: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        run("lab-128", "incast:4", "40kB", fail=(spec,))
    assert caught.value.code == code


def test_a_flow_alone_is_not_slowed_and_two_to_one_are_by_two(tmp_path: Path) -> None:
    alone = tmp_path / "one.cm"
    alone.write_text("Nodes 128\nConnections 1\n0->1 start 0 size 400000\n")
    found = figures(run("lab-128", str(alone), "400kB"))
    assert found["fct.slowdown.max"] == found["fairness.jain"] == 1.0
    two = tmp_path / "two.cm"
    two.write_text("Nodes 128\nConnections 2\n1->0 start 0 size 400000\n2->0 start 0 size 400000\n")
    found = figures(run("lab-128", str(two), "400kB"))
    # 200 packets over the receiver's cable in place of 100, and the way of one.
    assert found["fct.slowdown.max"] == pytest.approx(2.0, abs=0.15)
    assert found["fairness.jain"] == pytest.approx(1.0, abs=0.001)
    assert 0 <= found["pauses.share.max"] <= 1


@pytest.mark.parametrize(
    ("values", "index"), [([1, 1, 1, 1], 1.0), ([1, 0, 0, 0], 0.25), ([3, 1], 0.8)]
)
def test_jains_index_is_the_published_formula(values: list[int], index: float) -> None:
    assert jain(np.array(values, np.float64)) == pytest.approx(index)


def test_a_flowlet_keeps_its_path_until_it_pauses(tmp_path: Path) -> None:
    lone = tmp_path / "lone.cm"
    lone.write_text("Nodes 128\nConnections 1\n0->127 start 0 size 2000000\n")
    steady = run("fat-tree-128", str(lone), "2MB", spread="flowlet")
    assert figures(steady)["fct.max"] == 176_216_320  # facts: fabric-peers 1.1, six links

    def used(result: Result) -> set[int]:
        return {link["id"] for link in result.data["links"] if link["bytes"] > 64 * 300}

    assert len(used(steady)) == 6
    # A storm of 100 us in the middle: what comes after it takes a path drawn anew, by some seed.
    moved = [
        used(
            run(
                "fat-tree-128", str(lone), "2MB", spread="flowlet", seed=seed, xoff="40kB",
                fail=("storm:h127@50us..400us",),
            )
        )
        for seed in range(4)
    ]  # fmt: skip
    assert max(len(links) for links in moved) > 6


@pytest.mark.parametrize("buffer", ["4kB", "20kB", "400kB"])
def test_credits_lose_nothing_whatever_the_buffer(buffer: str) -> None:
    result = run("lab-128", "incast:8", "80kB", flow_control="cbfc", xoff=buffer, headroom="4kB")
    assert result.exit_code == ExitCode.OK
    found = figures(result)
    assert found["drops.lossless"] == found["pauses.count"] == found["packets.resent"] == 0
    room = int(buffer[:-2]) * 1000 + 4000
    peaks = [port["ingress_peak"] for port in result.data["packet"]["ports"]]
    assert 0 < max(peaks) <= room


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"xoff": "1kB", "headroom": "3063B"}, "CTB-S100"),
        ({"fail": ("storm:h000@0..2ms",)}, "CTB-S086"),
        ({"trim": True}, "CTB-S086"),
        ({"queue": "90kB"}, "CTB-S086"),
    ],
)
def test_what_does_not_go_with_credits_is_refused(options: dict[str, Any], code: str) -> None:
    with pytest.raises(InputError) as caught:
        run("lab-128", "incast:4", "40kB", flow_control="cbfc", **options)
    assert caught.value.code == code


def test_a_slow_receiver_goes_with_credits() -> None:
    result = run(
        "lab-128", "incast:4", "40kB", flow_control="cbfc", fail=("slow:h000,rate=10Gbps",)
    )
    assert result.exit_code == ExitCode.OK


@pytest.mark.parametrize("spread", ["ecmp", "qp:2"])
def test_phases_of_a_collective_wait_for_each_other(spread: str) -> None:
    result = run("lab-128", "all-reduce:8", "1280kB", spread=spread)
    values = {metric.name: metric.value for metric in result.metrics}
    assert values["flows.unfinished"] == 0
    fluid = run_transfer(TransferRequest("lab-128", "all-reduce:8", "1280kB", "ecmp"))
    # The fluid has no headers, no serialisation at each hop, and no queues.
    ends = [
        max(flow["start"] + flow["fct"] for flow in data["flows"])
        for data in (result.data, fluid.data)
    ]
    assert 1 < ends[0] / ends[1] < 2.5


def test_an_erasure_code_sends_its_share_of_parity() -> None:
    # Row L17: EC(32, 8) is 20 % parity.
    options = {"flow_control": "none", "spread": "balanced"}
    found = figures(run("lab-128", "shift:64", "128kB", reliability="ec:32,8", **options))
    assert found["packets.parity.share"] == 0.2
    assert found["flows.unfinished"] == found["drops.lossy"] == 0
    plain = figures(run("lab-128", "shift:64", "128kB", reliability="sr", **options))
    assert found["packet_hops.data"] == plain["packet_hops.data"] * 40 // 32


@pytest.mark.parametrize("reliability", ["ec:0,1", "ec:1,0", "ec:200,56", "ec:8", "ec", "gbn "])
def test_what_is_no_reliability_is_refused(reliability: str) -> None:
    with pytest.raises(InputError) as refused:
        run("lab-128", "incast:4", "4kB", reliability=reliability)
    assert refused.value.code == "CTB-S086"


def test_parity_stands_in_for_what_a_cable_loses() -> None:
    options: dict[str, Any] = {
        "flow_control": "none", "fail": ("loss:leaf-00~h000/nic-0,share=0.02",), "retry": "5ms",
    }  # fmt: skip
    plain, coded = (
        figures(run("lab-128", "incast:1", "4MB", reliability=each, **options))
        for each in ("sr", "ec:8,3")
    )
    assert plain["drops.errors"] > 0
    assert coded["drops.errors"] > 0
    # Of 125 groups of 11, 0.02 % lose more than three; without parity every loss is repeated.
    assert plain["packets.resent"] >= 10
    assert coded["packets.resent"] <= 4
    assert coded["packets.parity.share"] == pytest.approx(3 / 11, abs=1e-6)
    assert coded["flows.unfinished"] == plain["flows.unfinished"] == 0


@pytest.mark.parametrize(
    "options", [{}, {"reliability": "sr"}, {"reliability": "sr", "spread": "spray"}]
)
def test_coalesced_acknowledgements_are_as_many_as_they_must_be(options: dict[str, str]) -> None:
    # One flow of 1 MB is 250 packets over the two cables of a leaf.
    runs = {
        n: figures(run("lab-128", "incast:1", "1MB", ack_every=n, **options))
        for n in (1, 8, 250, 1000)
    }
    for every, found in runs.items():
        assert found["packet_hops.control"] == 2 * -(-250 // every)
    # The last packet is acknowledged at once, so a flow that is alone ends as soon.
    assert {found["fct.max"] for found in runs.values()} == {85_615_360}


def storm_and_victim(path: Path, **options: Any) -> Result:
    """One host sends to a host in a storm, and to its neighbour."""
    flows = path / "flows.csv"
    flows.write_text("source,destination,size\nh016,h000,4MB\nh016,h001,4MB\n")
    return run("lab-128", str(flows), None, fail=("storm:h000@10us",), horizon="5ms", **options)


def test_a_storm_stops_its_victim_and_a_watchdog_names_the_port(tmp_path: Path) -> None:
    held = storm_and_victim(tmp_path)
    assert figures(held)["flows.unfinished"] == 2
    assert figures(held)["drops.watchdog"] == 0
    freed = storm_and_victim(tmp_path, watchdog="200us")
    found = figures(freed)
    assert found["flows.unfinished"] == 1
    assert found["drops.watchdog"] > 0
    assert found["drops.lossless"] == 0
    warning, error = (found for found in freed.findings if found.code != "CTB-S150")
    assert warning.code == "CTB-S101"
    assert "by leaf-00 (to h000/nic-0) at 210 us" in warning.message
    assert error.code == "CTB-S085"
    # The whole of one flow at 100 Gb/s, and what the watchdog waited.
    assert 210 * US < found["fct.max"] < (210 + 325 + 325 + 10) * US
    port = next(p for p in freed.data["packet"]["ports"] if p["receiver"] == "h000/nic-0")
    assert port["watchdog_drops"] == found["drops.watchdog"]


def test_a_watchdog_may_send_on_instead(tmp_path: Path) -> None:
    found = figures(storm_and_victim(tmp_path, watchdog="200us,forward,restore=1ms"))
    assert found["flows.unfinished"] == found["drops.watchdog"] == 0


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"watchdog": "0us"}, "CTB-S102"),
        ({"watchdog": "200us,bark"}, "CTB-S102"),
        ({"watchdog": "200us,restore"}, "CTB-S102"),
        ({"watchdog": "soon"}, "CTB-C001"),
        ({"watchdog": "200us", "flow_control": "cbfc"}, "CTB-S086"),
        ({"watchdog": "200us", "flow_control": "none"}, "CTB-S086"),
        ({"xon": "10kB", "xoff": "9kB"}, "CTB-S104"),
        ({"xon": "1MB"}, "CTB-S104"),
        ({"xon": "1kB", "flow_control": "none"}, "CTB-S086"),
    ],
)
def test_watchdogs_and_thresholds_that_make_no_sense_are_refused(
    options: dict[str, Any], code: str
) -> None:
    with pytest.raises(InputError) as refusal:
        run("lab-128", "incast:4", "4kB", **options)
    assert refusal.value.code == code
    assert refusal.value.where is not None


def test_a_circle_of_buffers_need_not_lock_and_one_flow_more_locks_it() -> None:
    calm = run("ring-12", "ring-12-never-locks.csv", None, engine="reference")
    assert calm.exit_code == ExitCode.OK
    assert figures(calm)["pauses.count"] == 0
    # Each of the six cables waits for the next: the flows cross two each, one after another.
    after = {flow["path"][1]: flow["path"][2] for flow in calm.data["flows"]}
    assert len(after) == 6
    assert sorted(after) == sorted(after.values())
    locked = run("ring-12", "ring-12-locks.csv", None, engine="reference")
    assert locked.exit_code == ExitCode.INVARIANT_BROKEN
    (finding,) = locked.findings
    assert "deadlock" in finding.message
    # The finding names all six routers, and comes back to the first.
    circle = finding.message.partition("next: ")[2].split(" > ")
    assert len(circle) == 7
    assert circle[0] == circle[-1]
    assert len(set(circle)) == 6
    assert figures(locked)["flows.unfinished"] == 7


def test_a_watchdog_breaks_the_circle() -> None:
    run_with = {"watchdog": "1ms", "retry": "5ms", "engine": "reference"}
    broken = run("ring-12", "ring-12-locks.csv", None, **run_with)
    assert broken.exit_code == ExitCode.OK
    assert figures(broken)["drops.watchdog"] > 0


def test_many_sprayed_flows_that_meet_need_about_a_tenth_of_the_acknowledgements() -> None:
    options = {"reliability": "sr", "spread": "random", "flow_control": "none", "trim": True}
    one, ten = (
        figures(run("lab-128", "shift:64", "200kB", ack_every=n, cc="none", **options))
        for n in (1, 10)
    )
    # Four cables each way; packets that overtake others by far are told of in frames of their own.
    assert one["packet_hops.control"] >= 128 * 50 * 4
    assert 0.1 <= ten["packet_hops.control"] / one["packet_hops.control"] < 0.2
    assert ten["flows.unfinished"] == 0
    assert ten["fct.max"] < 1.2 * one["fct.max"]
