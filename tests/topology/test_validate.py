"""`validate` finds what is wrong with arrays, each fault by the check meant for it."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from ctestbed.topology.build import lay_out
from ctestbed.topology.graph import NodeKind, Topology
from ctestbed.topology.invariants import INVARIANTS
from ctestbed.topology.load import builtin_testbeds, load_testbed
from ctestbed.topology.plan import require_plan
from ctestbed.topology.validate import validate_testbed
from tests.topology.strategies import fat_tree, holds, load_document, testbeds


@settings(deadline=None)
@given(testbeds())
def test_what_is_built_holds(document: dict[str, Any]) -> None:
    validation = validate_testbed(load_document(document))
    assert holds(validation), validation.findings


@pytest.mark.parametrize("name", builtin_testbeds())
def test_builtin_testbeds_are_sound(name: str) -> None:
    loaded = load_testbed(name)
    validation = validate_testbed(loaded)
    counted = validation.plan is not None and validation.plan.counts_only is not None
    assert validation.checks[0].passed if counted else holds(validation)
    assert all(check.passed is not False for check in validation.checks)
    assert loaded.testbed.name == name
    assert loaded.testbed.title
    assert loaded.testbed.sources
    assert {finding.severity for finding in validation.findings} <= {"note"}


def _swap_leaf(topology: Topology) -> None:
    topology.links.b[0] = topology.block(0, 1).first_leaf


def _share_port(topology: Topology) -> None:
    topology.links.b_port[0] = topology.links.b_port[2]


def _exceed_radix(topology: Topology) -> None:
    topology.links.b_port[0] = 99


def _skip_a_tier(topology: Topology) -> None:
    topology.links.b[0] = topology.block(0, 0).first_spine


def _unplug_a_leaf(topology: Topology) -> None:
    block = topology.block(0, 0)
    first = block.uplink(0, 0)
    rows = slice(first, first + block.spines_per_pod)
    topology.links.a[rows] = block.first_leaf + 1


def _lose_a_switch(topology: Topology) -> None:
    topology.nodes.kind[topology.block(0, 0).first_leaf] = NodeKind.HOST


@pytest.mark.parametrize(
    ("harm", "code", "word"),
    [
        (_swap_leaf, "CTB-T033", "p1/leaf-0"),
        (_share_port, "CTB-T031", "two cables"),
        (_exceed_radix, "CTB-T031", "above its radix"),
        (_skip_a_tier, "CTB-T032", "wrong tiers"),
        (_unplug_a_leaf, "CTB-T034", "2 parts"),
        (_lose_a_switch, "CTB-T030", "closed form"),
    ],
)
def test_each_fault_is_found(harm: Callable[[Topology], None], code: str, word: str) -> None:
    document = fat_tree(tiers=2, k=4) | {"planes": {"count": 2}}
    loaded = load_document(document)
    plan = require_plan(loaded)
    topology = lay_out(plan)
    harm(topology)
    wrong = {item.code: item.check(topology, plan, loaded) for item in INVARIANTS}
    assert any(word in text for text in wrong[code] or ()), wrong


def test_sites_without_a_trunk_cannot_reach_each_other() -> None:
    document = fat_tree(tiers=2, k=4) | {"sites": [{"name": "east"}, {"name": "west"}]}
    validation = validate_testbed(load_document(document))
    found = [finding for finding in validation.findings if finding.severity == "error"]
    assert [finding.code for finding in found] == ["CTB-T034"]
    assert "east/leaf-0 and west/leaf-0" in found[0].message


def test_oversubscription_and_silence_are_noted() -> None:
    counts = {"tiers": 2, "leaves": 4, "hosts_per_leaf": 6, "spines": 2}
    document = fat_tree(**counts) | {"host": {"nics": 1}}
    document["planes"] = {"count": 2}
    document["sites"] = [{"name": "east"}, {"name": "west"}]
    document["trunks"] = [{"between": ["east", "west"], "length": "80km", "rate": "400Gbps"}]
    findings = validate_testbed(load_document(document)).findings
    assert {finding.severity for finding in findings} == {"note"}
    by_code = [(finding.code, finding.message) for finding in findings]
    assert [code for code, _ in by_code].count("CTB-T042") == 2
    messages = " ".join(message for _, message in by_code)
    # 3 NICs below a leaf to 2 spines; 24 NICs of a site to 2 planes x 2 spines.
    assert "leaf - spine cables narrow the traffic from below 3:2" in messages
    assert "trunk cables narrow the traffic from below 6:1" in messages
    assert {code for code, _ in by_code} == {
        *("CTB-T041", "CTB-T042", "CTB-T043", "CTB-T044"),
        *("CTB-T065", "CTB-T131", "CTB-T138"),
    }


def test_a_question_about_nothing_is_skipped_and_not_passed() -> None:
    def passed(name: str) -> dict[str, bool | None]:
        checks = validate_testbed(load_testbed(name)).checks
        return {check.name: check.passed for check in checks}

    for name in ("cloudmatrix-384", "nvl72"):  # scale-up networks alone
        assert passed(name)["planes share nothing"] is None
        assert passed(name)["cables join neighbouring tiers"] is True
    assert passed("fat-tree-128")["planes share nothing"] is True
