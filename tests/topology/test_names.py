"""Names lead back to their nodes; anything else is refused with an example."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctestbed.core.errors import InputError
from ctestbed.topology.build import build_topology, load_topology
from ctestbed.topology.names import (
    directed_link_name,
    endpoint_name,
    find_endpoint,
    find_node,
    link_name,
    node_name,
)
from tests.topology.strategies import load_document, testbeds

CAMPUSES = load_topology("two-campus-150km")[1]
LAB = load_topology("lab-128")[1]


@settings(deadline=None)
@given(testbeds())
def test_names_are_unique_and_lead_back(document: dict[str, Any]) -> None:
    topology = build_topology(load_document(document))
    names = [node_name(topology, node) for node in range(topology.node_count)]
    assert len(set(names)) == len(names)
    assert [find_node(topology, name) for name in names] == list(range(topology.node_count))
    for endpoint in range(topology.endpoints):
        assert find_endpoint(topology, endpoint_name(topology, endpoint)) == endpoint
        assert find_endpoint(topology, str(endpoint)) == endpoint


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("2047", 2047),
        ("east/h000/nic-4", 4),
        ("east/h0/nic-04", 4),
        ("west/h127/nic-7", 2047),
        ("west/h0/acc-3", 1027),
    ],
)
def test_endpoints_by_name(text: str, endpoint: int) -> None:
    assert find_endpoint(CAMPUSES, text) == endpoint


def test_a_host_of_one_nic_is_an_endpoint() -> None:
    assert endpoint_name(LAB, 17) == "h017"
    assert find_endpoint(LAB, "h17") == 17


def test_links_are_named_by_their_ends() -> None:
    trunk = CAMPUSES.trunks[0].link(3, 2)
    assert link_name(CAMPUSES, trunk) == "east/p3/spine-2:33 - west/p3/spine-2:33"
    assert directed_link_name(CAMPUSES, 2 * trunk + 1) == "west/p3/spine-2 -> east/p3/spine-2"
    assert link_name(LAB, 0) == "h000/nic-0:1 - leaf-00:1"


@example("east")
@example("east/")
@example("east/p0")
@example("east/p0/leaf-4")
@example("east/p8/leaf-0")
@example("east/h128")
@example("east/h0/nic-8")
@example("east/p0/leaf-0")
@example("east/h0")
@example("east/h0/nic-0/")
@example("2048")
@example("9" * 5000)
@example("\N{SUPERSCRIPT TWO}")
@example("east/h\N{ARABIC-INDIC DIGIT ONE}")
@given(st.text(max_size=20).filter(lambda text: not text.isdigit()))
def test_other_text_is_refused_with_a_hint(text: str) -> None:
    for topology in (CAMPUSES,):
        with pytest.raises(InputError) as caught:
            find_endpoint(topology, text)
        assert caught.value.hint
