"""What real files of a format have that its small sample has not; all written for these tests."""

import json
from textwrap import indent
from typing import Any

import pytest

from tests.topology.formats.samples import IBNETDISCOVER, edges, load, refusal

ROWS = [
    ("leaf1", "swp1", "spine1", "swp1"),
    ("spine1", "swp1", "leaf1", "swp1"),
    ("leaf1", "swp2", "server1", "02:00:00:00:00:07"),
    ("leaf2", "swp1", "spine1", "swp2"),
    ("spine1", "swp2", "leaf2", "swp1"),
    ("leaf2", "eth0", "", ""),
]
CAMEL = ("hostname", "ifname", "peerHostname", "peerIfname")
SNAKE = ("hostname", "ifname", "peer_hostname", "peer_ifname")


def table(keys: tuple[str, ...]) -> list[dict[str, str]]:
    return [dict(zip(keys, row, strict=True)) for row in ROWS]


@pytest.mark.parametrize("value", [table(CAMEL), {"lldp": table(CAMEL)}, {"lldp": table(SNAKE)}])
def test_a_table_of_neighbours_of_all_hosts(value: Any) -> None:
    cabling = load(json.dumps(value, indent=1))
    assert cabling.format == "lldp"
    assert edges(cabling) == [
        ("leaf1:swp1", "spine1:swp1"),
        ("leaf1:swp2", "server1:02:00:00:00:00:07"),
        ("leaf2:swp1", "spine1:swp2"),
    ]
    assert [finding.code for finding in cabling.findings] == ["CTB-T126"]


def test_a_table_tells_a_cable_that_one_end_states() -> None:
    cabling = load(json.dumps({"lldp": [table(CAMEL)[0], *table(CAMEL)[3:5]]}))
    assert len(cabling.cables) == 1
    assert cabling.cable_name(0, cabling.one_sided) == "leaf1:swp1 - spine1:swp1"


def test_a_row_without_its_port_is_refused_at_its_place() -> None:
    rows = table(CAMEL)
    del rows[2]["ifname"]
    error = refusal(json.dumps(rows))
    assert (error.code, error.where and error.where.pointer) == ("CTB-T113", "[2]")


def test_an_indented_record_of_ibnetdiscover_reads_as_a_plain_one() -> None:
    shown = indent(IBNETDISCOVER, "   ", lambda _: True)
    assert edges(load(shown)) == edges(load(IBNETDISCOVER))
    assert load(shown).format == "ibnetdiscover"


def test_warnings_in_a_record_of_ibnetdiscover_are_notes() -> None:
    title, _, rest = IBNETDISCOVER.partition("\n")
    warning = "ibwarn: [811] sim_connect: attached as client 1"
    cabling = load(f"{warning}\n{title}\n{rest}")
    assert edges(cabling) == edges(load(IBNETDISCOVER))
    (note,) = cabling.findings
    assert note.code == "CTB-T124"
    assert note.where is not None
    assert note.where.line == 1
