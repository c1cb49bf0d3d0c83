"""Both ends of a recorded cable, in every format that says something of both."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.result import Finding
from ctestbed.topology.asbuilt.port_ends import MAX_FINDINGS, differing_ends
from ctestbed.topology.cabling import Cabling
from ctestbed.topology.comparing import ValidateRequest, run_validate_any
from tests.topology.asbuilt.fabrics import NAMES, built
from tests.topology.formats.samples import IBNETDISCOVER, NETQ, load


def listed(cabling: Cabling, **columns: list[str]) -> str:
    """Write a cable list with more columns."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["a", "a_port", "b", "b_port", *columns])
    for row in range(len(cabling.cables)):
        ends = [cabling.end_name(cabling.cables, row, end).rsplit(":", 1) for end in ("a", "b")]
        writer.writerow([*ends[0], *ends[1], *(values[row] for values in columns.values())])
    return out.getvalue()


@pytest.mark.parametrize("name", NAMES)
@given(st.data())
def test_any_altered_end_of_any_fabric_is_named(name: str, data: st.DataObject) -> None:
    cabling = built(name)
    count = len(cabling.cables)
    columns = {f"{end}_{key}": [text] * count for end in "ab" for key, text in SET}
    row = data.draw(st.integers(0, count - 1))
    key = data.draw(st.sampled_from(["mtu", "speed"]))
    end = data.draw(st.sampled_from("ab"))
    columns[f"{end}_{key}"][row] = data.draw(st.sampled_from(OTHER[key]))
    record = load(listed(cabling, **columns), "csv")
    (finding,) = differing_ends(record)
    assert finding.code == ("CTB-T067" if key == "mtu" else "CTB-T068")
    assert finding.severity == "error"
    for each in ("a", "b"):
        assert cabling.end_name(cabling.cables, row, each) in finding.message
    assert finding.where is not None
    assert finding.where.line == row + 2


SET = (("mtu", "9216"), ("speed", "400Gbps"))
OTHER = {"mtu": ["1500", "9000B", "65536"], "speed": ["200Gbps", "100 Gb/s", "800Gbps"]}


def lldp(reports: dict[str, dict[str, Any]]) -> str:
    """Reports of hosts: local port -> (neighbour, its port, its frame size, its MAU type)."""
    return json.dumps(
        {
            host: {
                "lldp": {
                    "interface": [
                        {
                            local: {
                                "chassis": {far: {"id": {"type": "mac", "value": "00:00"}}},
                                "port": {
                                    "id": {"type": "ifname", "value": port},
                                    **({} if frame is None else {"mfs": frame}),
                                    **(
                                        {}
                                        if mau is None
                                        else {"auto-negotiation": {"current": mau}}
                                    ),
                                },
                            }
                        }
                        for local, (far, port, frame, mau) in ports.items()
                    ]
                }
            }
            for host, ports in reports.items()
        }
    )


def pair(near: tuple[Any, Any], far: tuple[Any, Any]) -> list[Finding]:
    """A leaf and a spine on one cable: what each says of the other's port."""
    text = lldp(
        {"leaf": {"swp1": ("spine", "swp9", *far)}, "spine": {"swp9": ("leaf", "swp1", *near)}}
    )
    return differing_ends(load(text))


def test_lldp_tells_frame_sizes_and_rates_of_both_ends() -> None:
    fast, slow = "100GbaseCR4 - 100GBASE-CR4 PCS/PMA", "25GbaseCR"
    assert pair(("9236", fast), ("9236", fast)) == []
    (finding,) = pair(("9236", fast), ("1522", fast))
    assert finding.message == (
        "frames of up to 9,236 B at leaf:swp1, and of 1,522 B at its other end spine:swp9"
    )
    (finding,) = pair(("9236", fast), ("9236", slow))
    assert finding.message == (
        "leaf:swp1 runs at 100 Gb/s, and its other end spine:swp9 at 25 Gb/s"
    )
    assert pair((None, None), ("9236", fast)) == []
    (finding,) = pair((None, "1000BaseTFD"), (None, "10GigBaseLR"))
    assert "1 Gb/s" in finding.message


def test_a_rate_of_lldp_is_the_cables_rate() -> None:
    text = lldp({"leaf": {"swp1": ("spine", "swp9", None, "100GbaseCR4")}})
    assert load(text).cables.rate.tolist() == [100 * 10**9]
    text = lldp({"leaf": {"swp1": ("spine", "swp9", None, "other or unknown")}})
    assert load(text).cables.rate.tolist() == [-1]


def test_infiniband_tells_the_rate_at_both_ends() -> None:
    assert differing_ends(load(IBNETDISCOVER)) == []
    odd = IBNETDISCOVER.replace(
        'LEAF-01:MQM9700/U1" lid 1 2xHDR', 'LEAF-01:MQM9700/U1" lid 1 4xHDR'
    )
    assert odd != IBNETDISCOVER
    record = load(odd)
    (finding,) = differing_ends(record)
    assert finding.code == "CTB-T068"
    assert "LEAF-01:4 runs at 100 Gb/s" in finding.message
    assert "SPINE-01:2 at 200 Gb/s" in finding.message
    assert "CTB-T125" in {remark.code for remark in record.findings}


def test_netq_may_tell_both() -> None:
    graph = json.loads(NETQ)
    ends = graph[0]["links"][0]["compounded_links"][0]["interfaces"]
    ends[0] |= {"mtu": 9216, "speed": "100Gbps"}
    ends[1] |= {"mtu": 1500, "speed": "25Gbps"}
    record = load(json.dumps(graph))
    assert [finding.code for finding in differing_ends(record)] == ["CTB-T067", "CTB-T068"]
    assert 25 * 10**9 in record.cables.rate.tolist()


def node_link(**link: Any) -> str:
    link = {"source": "leaf", "target": "spine", "a_port": "1", "b_port": "2", **link}
    return json.dumps({"nodes": [{"id": "leaf"}, {"id": "spine"}], "links": [link]})


@pytest.mark.parametrize(
    ("link", "codes"),
    [
        ({"a_mtu": 9216, "b_mtu": 9216}, []),
        ({"a_mtu": "9216B", "b_mtu": 9216}, []),
        ({"a_mtu": 9216, "b_mtu": "1500"}, ["CTB-T067"]),
        ({"source_mtu": 9216, "target_mtu": 1500}, ["CTB-T067"]),
        ({"a_rate": "400Gbps", "b_rate": "200Gbps"}, ["CTB-T068"]),
        ({"source_speed": "400Gbps", "dst_speed": "200Gbps"}, ["CTB-T068"]),
        ({"a_mtu": 9216}, []),
        ({"a_mtu": "jumbo", "b_mtu": 1500}, []),
        ({"a_mtu": "-5", "b_mtu": 1500}, []),
        ({"a_mtu": "9" * 400, "b_mtu": 1500}, []),
        ({"a_mtu": None, "b_mtu": 1500}, []),
        ({"a_mtu": [9216], "b_mtu": {"x": 1}}, []),
        ({"a_rate": "fast", "b_rate": "slow"}, []),
    ],
)
def test_node_link_tells_what_its_links_say(link: dict[str, Any], codes: list[str]) -> None:
    assert [finding.code for finding in differing_ends(load(node_link(**link)))] == codes


def test_many_are_cut() -> None:
    cabling = built("leaf-spine")
    count = len(cabling.cables)
    record = load(listed(cabling, a_mtu=["9216"] * count, b_mtu=["1500"] * count), "csv")
    findings = differing_ends(record)
    assert len(findings) == MAX_FINDINGS + 1
    assert findings[-1].message == f"{count - MAX_FINDINGS} cables more of this kind"


def test_validate_tells_it_once_and_ends_in_10(tmp_path: Path) -> None:
    cabling = built("leaf-spine")
    count = len(cabling.cables)
    sizes = ["9216"] * count
    path = tmp_path / "cables.csv"
    path.write_text(listed(cabling, a_mtu=sizes, b_mtu=sizes))
    assert run_validate_any(ValidateRequest(str(path))).exit_code == 0
    path.write_text(listed(cabling, a_mtu=sizes, b_mtu=["1500", *sizes[1:]]))
    result = run_validate_any(ValidateRequest(str(path)))
    assert result.exit_code == 10
    assert [finding.code for finding in result.findings].count("CTB-T067") == 1
    assert set(result.data["counts"].values()) == {0}
    path.write_text(IBNETDISCOVER.replace("lid 1 2xHDR", "lid 1 4xHDR"))
    codes = [finding.code for finding in run_validate_any(ValidateRequest(str(path))).findings]
    assert codes.count("CTB-T068") == 1
    assert "CTB-T125" not in codes


@pytest.mark.parametrize("name", ["leaf-spine", "three-tier", "rails"])
def test_a_cable_between_switches_that_carries_less_than_endpoints_send(name: str) -> None:
    cabling = built(name)
    sizes = ["9216"] * len(cabling.cables)
    row = len(sizes) - 1  # the last ones join the highest tiers
    record = load(listed(cabling, a_mtu=[*sizes[:-1], "1500"], b_mtu=[*sizes[:-1], "1500"]), "csv")
    (finding,) = differing_ends(record)
    assert finding.code == "CTB-T067"
    assert finding.message.startswith(f"frames of up to 1,500 B on {cabling.cable_name(row)}")
    assert "endpoints send up to 9,216 B" in finding.message
    # An endpoint that sends less is no hole.
    record = load(listed(cabling, a_mtu=["1500", *sizes[1:]], b_mtu=["1500", *sizes[1:]]), "csv")
    assert differing_ends(record) == []
