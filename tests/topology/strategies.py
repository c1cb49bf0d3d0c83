"""Testbed documents drawn at random, all of them buildable."""

from typing import Any

from hypothesis import strategies as st

from ctestbed.topology.describe import counts_of
from ctestbed.topology.invariants import INVARIANTS
from ctestbed.topology.load import LoadedTestbed, parse_testbed
from ctestbed.topology.tiers import KINDS
from ctestbed.topology.validate import BUILDABLE, Validation
from ctestbed.topology.write import dump_testbed

ALWAYS_ASKED = {item.name for item in INVARIANTS if item.code != "CTB-T064"} | {BUILDABLE}
"""Every laid-out network answers these; whether it has rails, or says more, is its own."""


def holds(validation: Validation) -> bool:
    outcomes = {check.name: check.passed for check in validation.checks}
    counts = counts_of(validation.plan) if validation.plan is not None else None
    asked = ALWAYS_ASKED
    if counts is not None and not counts["link"]:
        asked = asked - {"planes share nothing"}
        if not counts["scale_up_link"]:
            asked = {BUILDABLE, "counts equal the closed forms"}
    return all(outcomes[name] for name in asked) and False not in outcomes.values()


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


def document(kind: str, **numbers: Any) -> dict[str, Any]:
    fabric = {"kind": kind, "rate": "400Gbps", "delay": "1us", **numbers}
    return {"ctestbed": 1, "name": "drawn", "fabric": fabric}


@st.composite
def any_fabrics(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a testbed of any kind, with or without supernodes that are laid out."""
    small = st.integers(1, 3)
    kind = draw(st.sampled_from(KINDS[1:]))
    drawn = document(kind)
    fabric = drawn["fabric"]
    per_host = draw(st.sampled_from([1, 2, 4]))
    host = {"accelerators": per_host, "nics": 1}
    if kind == "rail-optimised":
        fabric |= {key: draw(small) for key in ("rails", "tors_per_rail", "segments", "spines")}
        fabric["hosts_per_segment"] = draw(small)
        host["nics"] = fabric["rails"]
    elif kind == "rail-only":
        host["nics"] = draw(small)
        fabric |= {"rails": host["nics"] * draw(small), "leaves": 2, "spines": draw(small)}
        fabric["domains"] = 2 * draw(small)
    elif kind == "slim-fly":
        fabric |= {"q": draw(st.sampled_from([3, 4, 5])), "p": draw(small)}
        drawn["planes"] = {"count": draw(small)}
    elif kind == "dragonfly":
        fabric |= {"p": draw(small), "a": 2 * draw(small), "h": draw(small)}
    elif kind == "scale-up":
        drawn["fabric"] = {"kind": kind, "supernodes": draw(small)}
        del host["nics"]
    else:
        fabric["dims"] = [per_host, *draw(st.lists(small, max_size=2))]
        del host["nics"]
    drawn["host"] = host
    if kind == "scale-up" or (kind not in {"torus", "full-mesh"} and draw(st.booleans())):
        drawn["supernode"] = draw(supernodes(per_host if kind != "scale-up" else 2 * per_host))
    return drawn


@st.composite
def supernodes(draw: st.DrawFn, accelerators: int) -> dict[str, Any]:
    """Draw a supernode of so many accelerators, its network of one tier or two."""
    switches, small = draw(st.integers(1, 4)), st.integers(1, 3)
    scale_up: dict[str, Any] = {"rate": "1200Gbps", "delay": "100ns", "switches": switches}
    if draw(st.booleans()):
        scale_up["upper"] = {"switches": draw(small), "rate": "1200Gbps"}
    supernode: dict[str, Any] = {"accelerators": accelerators, "scale_up": scale_up}
    if draw(st.booleans()):
        supernode["cpus"] = {"per_host": draw(small), "rate": "unknown"}
    return supernode


testbeds.__test__ = False  # type: ignore[attr-defined]
