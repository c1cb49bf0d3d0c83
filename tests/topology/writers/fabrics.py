"""Fabrics to write, and plain pictures of what was written to compare them by."""

from collections import Counter
from typing import Any

from ctestbed.core.result import Finding
from ctestbed.topology.build import lay_out
from ctestbed.topology.cabling import Cabling, cabling_of
from ctestbed.topology.exporting import export_fabric
from ctestbed.topology.plan import require_plan
from ctestbed.topology.writers.common import Fabric
from tests.topology.strategies import fat_tree, load_document


def fabric_of(document: dict[str, Any]) -> Fabric:
    loaded = load_document(document)
    plan = require_plan(loaded)
    topology = lay_out(plan)
    return Fabric(cabling_of(topology), topology, plan, loaded)


def leaf_spine(**more: Any) -> Fabric:
    counts = {"tiers": 2, "leaves": 3, "hosts_per_leaf": 4, "spines": 2, "parallel": 2}
    return fabric_of(fat_tree(**{**counts, **more}))


def three_tier(**more: Any) -> Fabric:
    counts = {"tiers": 3, "pods": 3, "leaves": 2, "hosts_per_leaf": 4, "spines": 2, "cores": 4}
    return fabric_of(fat_tree(**{**counts, **more}))


def supernodes() -> Fabric:
    return fabric_of(
        {
            "ctestbed": 1,
            "name": "supernodes",
            "host": {"accelerators": 8, "nics": 8},
            "supernode": {
                "accelerators": 8,
                "scale_up": {"switches": 4, "rate": "3600Gbps", "delay": "25ns"},
            },
            "fabric": {
                "kind": "rail-optimised",
                "rails": 8,
                "segments": 2,
                "hosts_per_segment": 4,
                "spines": 4,
                "rate": "400Gbps",
                "delay": "500ns",
            },
        }
    )


def torus(**more: Any) -> Fabric:
    kind = {"kind": "torus", "dims": [4, 3, 2], "rate": "400Gbps", "delay": "100ns", **more}
    return fabric_of({"ctestbed": 1, "name": "torus", "fabric": kind})


def written(fabric: Fabric, name: str) -> tuple[str, tuple[Finding, ...]]:
    content, findings = export_fabric(fabric, name)
    again, _ = export_fabric(fabric, name)
    assert again == content  # the same bytes every time
    assert all(finding.severity == "note" for finding in findings)
    return content.decode(), findings


def codes(findings: tuple[Finding, ...]) -> set[str]:
    return {finding.code for finding in findings}


def cable_multiset(cabling: Cabling) -> Counter[frozenset[tuple[str, str | None]]]:
    """Return the cables as unordered pairs of (device, port), with how often each stands."""
    cables = cabling.cables
    found = []
    for row in range(len(cables)):
        near = (cabling.devices[cables.a[row]].name, cabling.port(int(cables.a_port[row])))
        far = (cabling.devices[cables.b[row]].name, cabling.port(int(cables.b_port[row])))
        found.append(frozenset([near, far]))
    return Counter(found)


def pair_multiset(cabling: Cabling) -> Counter[frozenset[str]]:
    """Return the joined pairs of devices, with the number of cables of each."""
    names = [device.name for device in cabling.devices]
    rows = zip(cabling.cables.a.tolist(), cabling.cables.b.tolist(), strict=True)
    return Counter(frozenset([names[a], names[b]]) for a, b in rows)
