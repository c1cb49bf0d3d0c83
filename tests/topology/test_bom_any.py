"""Any testbed with any parts: its bill agrees with the arrays, fits its schema and can be shown."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ctestbed.bench.report.render import render
from ctestbed.bench.schemas import build_schema
from ctestbed.core.envelope import build_envelope
from ctestbed.core.result import UNKNOWN, Result
from ctestbed.topology.bom.commands import SCHEMA, Bill, _design
from ctestbed.topology.bom.lines import bom_lines
from ctestbed.topology.build import lay_out
from ctestbed.topology.graph import LinkClass, NodeKind
from ctestbed.topology.plan import plan_testbed, require_plan
from ctestbed.topology.validate import validate_testbed
from tests.topology.strategies import any_fabrics, load_document, testbeds

VALIDATOR = Draft202012Validator(build_schema(SCHEMA))
TIERED = {"fat-tree", "rail-optimised", "rail-only"}


@st.composite
def dressed(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a testbed of any kind, and parts that it may or may not use, fitting or not."""

    def one(*values: str) -> str:
        return draw(st.sampled_from([*values, "unknown"]))

    def medium() -> dict[str, Any]:
        kind = draw(st.sampled_from(["transceiver", "aoc", "dac", "aec"]))
        found = {"kind": kind, "rate": one("400Gbps"), "reach": one("3m", "0.5km")}
        found["power_per_end"] = one("10W", "0")
        breakout = draw(st.sampled_from([None, 1, 2, 3, 8]))
        return found if breakout is None else {**found, "breakout": breakout}

    document: dict[str, Any] = draw(st.one_of(any_fabrics(), testbeds()))
    document["parts"] = {
        "switches": {
            name: {
                "radix": draw(st.integers(1, 64)),
                "power": one("1kW"),
                "port_rate": one("1Tbps"),
            }
            for name in "st"
        },
        "media": {name: medium() for name in "mn"},
        "nics": {"n": {"power": one("25W")}},
    }
    fabric, host = document["fabric"], document.setdefault("host", {})
    if fabric["kind"] != "scale-up":
        if draw(st.booleans()):
            fabric |= {"medium": "m", "switch": {"model": "s"}}
        if fabric["kind"] in TIERED and draw(st.booleans()):
            fabric |= {
                "leaf_switch": {"model": "t"},
                "host_links": {"medium": "n", "length": "5m"},
            }
    if draw(st.booleans()):
        host |= {"nic_model": "n", "power": "500W", "power_limit": one("1W", "1MW")}
        if host["power_limit"] == "unknown":
            del host["power_limit"]
    if "trunks" in document and draw(st.booleans()):
        route = {"length": "200km", "amplifiers": {"spacing": "80km", "delay": "1us"}}
        document["trunks"][0] |= {"medium": "m", "protection": route}
        document["sites"][0]["power_limit"] = "1MW"
    return document


@settings(deadline=None, max_examples=40)
@given(dressed())
def test_any_bill_fits_its_schema_and_can_be_shown(document: dict[str, Any]) -> None:
    loaded = load_document(document)
    plan, _ = plan_testbed(loaded)
    validate_testbed(loaded)
    if plan is None:
        return
    lines = tuple(bom_lines(loaded, plan))
    design = _design(Bill("drawn", loaded, plan, lines, None))
    for total in (design["power"], design["transceivers"]):
        assert (total["value"] == UNKNOWN) is bool(total["unknown"])
        assert total["value"] in {UNKNOWN, total["at_least"]}
    for designs in ([design], [design, design]):
        result = Result(SCHEMA, {"designs": designs, "prices": None})
        words = ["topology", "bom"]
        envelope = build_envelope(
            result, command=words, options={}, seed=None, run={}, canonical=True
        )
        VALIDATOR.validate(envelope)
        for form in ("table", "csv", "md"):
            assert render(envelope, form, canonical=True)


@settings(deadline=None, max_examples=40)
@given(st.one_of(any_fabrics(), testbeds()))
def test_a_bill_counts_what_the_arrays_hold(document: dict[str, Any]) -> None:
    loaded = load_document(document)
    plan = require_plan(loaded)
    lines, topology = bom_lines(loaded, plan), lay_out(plan)
    nodes, links = topology.nodes, topology.links

    def count(*parts: str, trunk: bool = False) -> int:
        return sum(
            line.count for line in lines if line.part in parts and (line.place == "trunk") is trunk
        )

    assert count("switch") == np.count_nonzero(nodes.kind == NodeKind.SWITCH)
    assert count("scale-up switch") == np.count_nonzero(nodes.kind == NodeKind.SCALE_UP_SWITCH)
    assert count("NIC") == np.count_nonzero(nodes.kind == NodeKind.NIC)
    in_sites = (links.klass == LinkClass.HOST) | (links.klass == LinkClass.FABRIC)
    assert count("cable") == np.count_nonzero(in_sites)
    assert count("cable", trunk=True) == np.count_nonzero(links.klass == LinkClass.TRUNK)
    assert count("bundle") == np.count_nonzero(links.klass == LinkClass.SCALE_UP)
