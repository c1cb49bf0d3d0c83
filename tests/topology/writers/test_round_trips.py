"""Round trips of fabrics drawn at random: identity where a format holds all, else idempotence."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.core.errors import InputError
from ctestbed.topology.build import lay_out
from ctestbed.topology.cabling import Cabling, cabling_of
from ctestbed.topology.exporting import export_fabric
from ctestbed.topology.importing import parse_cabling
from ctestbed.topology.plan import require_plan
from ctestbed.topology.writers.common import Fabric
from tests.topology.strategies import any_fabrics, load_document, testbeds
from tests.topology.writers.fabrics import cable_multiset, pair_multiset

WHOLE = ("csv", "graphml", "node-link", "yaml")
OTHERS = ("ns3-hpcc", "ibsim", "containerlab", "netlab", "batfish", "netq")
LARGEST = 400
"""Cables of a fabric worth the time that YAML takes."""
FIELDS = ("kind", "host", "site", "plane", "pod", "tier", "rail", "role")

drawn_fabrics = st.one_of(testbeds(), any_fabrics())


def fabric_of(document: dict[str, Any]) -> Fabric | None:
    loaded = load_document(document)
    plan = require_plan(loaded)
    topology = lay_out(plan)
    cabling = cabling_of(topology)
    whole = Fabric(cabling, topology, plan, loaded)
    return whole if 0 < len(cabling.cables) <= LARGEST else None


def figures(cabling: Cabling) -> Counter[tuple[int, int, int]]:
    cables = cabling.cables
    columns = (cables.rate.tolist(), cables.delay.tolist(), cables.length.tolist())
    return Counter(zip(*columns, strict=True))


def described(cabling: Cabling, names: set[str]) -> dict[str, list[Any]]:
    return {
        device.name: [getattr(device, field) for field in FIELDS]
        for device in cabling.devices
        if device.name in names
    }


def in_use(cabling: Cabling) -> set[str]:
    ends = {*cabling.cables.a.tolist(), *cabling.cables.b.tolist()}
    return {cabling.devices[at].name for at in ends}


@settings(deadline=None, max_examples=25)
@given(drawn_fabrics, st.sampled_from(WHOLE))
def test_import_after_export_is_the_identity(document: dict[str, Any], name: str) -> None:
    fabric = fabric_of(document)
    if fabric is None:
        return
    content, _ = export_fabric(fabric, name)
    back, recognised = parse_cabling(content, "x")
    assert recognised.format.name in {name, "testbed"}
    assert cable_multiset(back) == cable_multiset(fabric.cabling)
    assert figures(back) == figures(fabric.cabling)
    names = in_use(fabric.cabling)
    assert described(back, names) == described(fabric.cabling, names)


@settings(deadline=None, max_examples=30)
@given(drawn_fabrics, st.sampled_from(OTHERS))
def test_export_after_import_changes_nothing_more(document: dict[str, Any], name: str) -> None:
    fabric = fabric_of(document)
    if fabric is None:
        return
    try:
        once, _ = export_fabric(fabric, name)
    except InputError as refused:  # a fabric that the format cannot hold, and the reason
        assert refused.code.startswith("CTB-T3")
        assert refused.hint
        return
    back, _ = parse_cabling(once, "x", name)
    twice, _ = export_fabric(Fabric(back), name)
    again, _ = parse_cabling(twice, "x", name)
    assert pair_multiset(again) == pair_multiset(back)
    assert export_fabric(Fabric(again), name)[0] == twice


@pytest.mark.parametrize("name", [*WHOLE, *OTHERS])
def test_every_format_here_is_exported(name: str) -> None:
    document = load_document({
        "ctestbed": 1,
        "name": "pair",
        "fabric": {
            "kind": "fat-tree", "tiers": 2, "leaves": 1, "spines": 1, "hosts_per_leaf": 2,
            "rate": "400Gbps", "delay": "1us",
        },
    })  # fmt: skip
    plan = require_plan(document)
    topology = lay_out(plan)
    content, _ = export_fabric(Fabric(cabling_of(topology), topology, plan, document), name)
    assert len(parse_cabling(content, "x")[0].cables) == 3


@pytest.mark.parametrize("name", OTHERS)
def test_supernodes_alone_are_refused_where_their_insides_are_left_out(name: str) -> None:
    document = {
        "ctestbed": 1,
        "name": "alone",
        "fabric": {"kind": "scale-up", "supernodes": 1},
        "host": {"accelerators": 2},
        "supernode": {
            "accelerators": 4,
            "scale_up": {"rate": "1200Gbps", "delay": "100ns", "switches": 1},
        },
    }
    fabric = fabric_of(document)
    assert fabric is not None
    with pytest.raises(InputError, match="inside supernodes") as caught:
        export_fabric(fabric, name)
    assert caught.value.code == "CTB-T303"
