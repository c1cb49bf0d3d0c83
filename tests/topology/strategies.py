"""Testbed documents drawn at random, all of them buildable."""

from typing import Any

from hypothesis import strategies as st

from ctestbed.topology.load import LoadedTestbed, parse_testbed
from ctestbed.topology.write import dump_testbed


def load_document(document: dict[str, Any]) -> LoadedTestbed:
    return parse_testbed(dump_testbed(document, "yaml"), "test.yaml")


def fat_tree(**counts: Any) -> dict[str, Any]:
    fabric = {"kind": "fat-tree", "rate": "400Gbps", "delay": "1us", **counts}
    return {"ctestbed": 1, "name": "drawn", "fabric": fabric}


@st.composite
def testbeds(draw: st.DrawFn) -> dict[str, Any]:
    small = st.integers(1, 4)
    tiers = draw(st.sampled_from([2, 3]))
    spines = draw(small)
    counts: dict[str, Any] = {
        "tiers": tiers,
        "leaves": draw(small),
        "spines": spines,
        "parallel": draw(st.integers(1, 3)),
    }
    if tiers == 3:
        counts["pods"] = draw(small)
        counts["cores"] = spines * draw(small)
    planes = draw(st.sampled_from([1, 2, 4]))
    nics = draw(st.sampled_from([1, 2, 4]))
    # Leaves take whole hosts of every plane: a multiple of planes always deals out evenly.
    counts["hosts_per_leaf"] = planes * draw(st.integers(1, 2))
    document = fat_tree(**counts)
    form = "nic-split" if draw(st.booleans()) else "nic-per-plane"
    document["planes"] = {"count": planes, "form": form}
    document["host"] = {"accelerators": draw(st.sampled_from([1, 2, 4, 8])), "nics": nics}
    if draw(st.booleans()):
        document["sites"] = [{"name": "east"}, {"name": "west"}]
        trunk = {"between": ["east", "west"], "length": "150km", "rate": "400Gbps"}
        document["trunks"] = [{**trunk, "links": draw(st.integers(1, 2))}]
    return document


testbeds.__test__ = False  # type: ignore[attr-defined]
