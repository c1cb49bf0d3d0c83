"""Scenes tell the truth: their counts are the plan's, their cables those that would be built."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import InputError
from ctestbed.topology.build import lay_out
from ctestbed.topology.kinds.dragonfly import DragonflyWiring
from ctestbed.topology.kinds.slim_fly import MMSWiring
from ctestbed.topology.load import builtin_testbeds, load_testbed
from ctestbed.topology.names import node_name, port_names
from ctestbed.topology.picture.direct import _run_cables
from ctestbed.topology.picture.model import PictureData, SceneData, even_runs, runs
from ctestbed.topology.picture.scenes import Focus, picture_of
from ctestbed.topology.plan import require_plan
from ctestbed.topology.shapes import Plan
from tests.topology.strategies import any_fabrics, load_document, testbeds


def check(plan: Plan, picture: PictureData) -> None:
    """Hold a whole picture to its plan: cables and switches, all of them, once."""
    cables = switches = scale_up = 0
    for scene in picture["scenes"]:
        known = {block["id"] for block in scene["blocks"]}
        assert len(known) == len(scene["blocks"]), "block ids are unique"
        for bundle in scene["bundles"]:
            assert {bundle["a"], bundle["b"]} <= known
            assert bundle["cables"] > 0 or scene["view"] == "grid"
            if isinstance(bundle["rate"], int):
                assert bundle["capacity"] == bundle["cables"] * bundle["rate"]
        total = sum(bundle["cables"] for bundle in scene["bundles"])
        if scene["level"] == "sites":
            cables += total
        times = len(scene["sites"] or [0]) * len(scene["planes"] or [0])
        if scene["level"] == "plane":
            cables += total * times
            kinds = {"leaf", "spine", "core", "router"}
            found = [block["count"] for block in scene["blocks"] if block["kind"] in kinds]
            switches += sum(found) * times
        if scene["level"] == "supernode":
            cables += total * times * scene["alike"]
            found = [b["count"] for b in scene["blocks"] if b["kind"] == "scale-up switch"]
            scale_up += sum(found) * times * scene["alike"]
        if scene["level"] == "pod":
            _check_pod(plan, scene)
    assert cables == plan.links
    assert switches == plan.switches
    assert scale_up == plan.scale_up_switches


def _check_pod(plan: Plan, scene: SceneData) -> None:
    site = next((s for s in plan.sites if s.name in scene["sites"]), plan.sites[0])
    shape = site.planes[(scene["planes"] or [0])[0]].shape
    layers: Counter[str] = Counter()
    for bundle in scene["bundles"]:
        layers[bundle["layer"]] += bundle["cables"]
    if shape.wiring is None:
        expected = (shape.ports, shape.uplinks, shape.core_links)
        found = (layers["NIC - leaf"], layers["leaf - spine"], layers["spine - core"])
        assert tuple(n * shape.pods for n in found) == expected
    else:
        local, whole = (layer.cables for layer in shape.wiring.layers)
        assert layers["router - router, local"] * shape.pods == local
        # A global cable is seen from both of its groups.
        assert layers["router - router, global"] * shape.pods == 2 * whole


@pytest.mark.parametrize("name", builtin_testbeds())
def test_built_in_pictures_add_up(name: str) -> None:
    plan = require_plan(load_testbed(name))
    check(plan, picture_of(plan))


@given(st.one_of(testbeds(), any_fabrics()))
def test_pictures_of_any_testbed_add_up(document: dict[str, Any]) -> None:
    plan = require_plan(load_document(document))
    check(plan, picture_of(plan))


@given(testbeds(), st.data())
def test_a_leafs_cables_are_those_that_are_built(
    document: dict[str, Any], data: st.DataObject
) -> None:
    plan = require_plan(load_document(document))
    topology = lay_out(plan)
    site = data.draw(st.integers(0, len(plan.sites) - 1))
    plane = data.draw(st.integers(0, plan.planes - 1))
    block = topology.block(site, plane)
    pod = data.draw(st.integers(0, block.pods - 1))
    leaf = data.draw(st.integers(0, block.leaves_per_pod - 1))
    name = None if plan.anonymous else plan.sites[site].name
    picture = picture_of(plan, Focus(name, plane, pod, leaf))
    (scene,) = picture["scenes"]
    node = block.first_leaf + pod * block.leaves_per_pod + leaf
    links = topology.links
    rows = np.flatnonzero((links.a == node) | (links.b == node)).tolist()
    real = Counter((*port_names(topology, row), int(links.rate[row])) for row in rows)
    assert Counter((c["a"], c["b"], c["rate"]) for c in scene["cables"]) == real
    assert sum(bundle["cables"] for bundle in scene["bundles"]) == len(rows)
    assert node_name(topology, node).endswith(scene["title"])


@pytest.mark.parametrize(("name", "group", "router"), [("dragonfly-1056", 5, 3), ("q5", 7, 2)])
def test_a_routers_cables_are_those_that_are_built(name: str, group: int, router: int) -> None:
    fabric = {"kind": "slim-fly", "q": 5, "p": 2, "rate": "1Gbps", "delay": "1us"}
    drawn = {"ctestbed": 1, "name": "q5", "fabric": fabric, "planes": {"count": 2}}
    plan = require_plan(load_document(drawn) if name == "q5" else load_testbed(name))
    topology = lay_out(plan)
    plane = plan.planes - 1
    (scene,) = picture_of(plan, Focus(plane=plane, pod=group, leaf=router))["scenes"]
    block, links = topology.block(0, plane), topology.links
    node = block.first_leaf + group * block.leaves_per_pod + router
    rows = np.flatnonzero((links.a == node) | (links.b == node)).tolist()
    real = Counter((*port_names(topology, row), int(links.rate[row])) for row in rows)
    assert Counter((c["a"], c["b"], c["rate"]) for c in scene["cables"]) == real


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 3), st.data())
def test_dragonfly_groups_meet_as_they_are_cabled(
    a: int, h: int, p: int, data: st.DataObject
) -> None:
    g = data.draw(st.integers(2, a * h + 1).filter(lambda n: n * a * h % 2 == 0))
    fabric = {"kind": "dragonfly", "p": p, "a": a, "h": h, "g": g, "rate": "1Gbps", "delay": "1us"}
    plan = require_plan(load_document({"ctestbed": 1, "name": "drawn", "fabric": fabric}))
    wiring = plan.sites[0].shape.wiring
    assert isinstance(wiring, DragonflyWiring)
    _compare_groups(plan, data.draw(st.integers(0, g - 1)))
    first, second, _, _, layer = wiring.cables()
    pairs = Counter(
        tuple(sorted((x // a, y // a)))
        for x, y, k in zip(first.tolist(), second.tolist(), layer.tolist(), strict=True)
        if k == 1
    )
    cut = even_runs(g, data.draw(st.integers(1, g)))
    for index, some in enumerate(cut):
        for others in cut[index:]:
            real = sum(pairs[x, y] for x in some for y in others if x < y)
            assert _run_cables(wiring, some, others) == real


@pytest.mark.parametrize("q", [3, 4, 5, 7, 11])
def test_slim_fly_groups_meet_as_they_are_cabled(q: int) -> None:
    fabric = {"kind": "slim-fly", "q": q, "p": 2, "rate": "1Gbps", "delay": "1us"}
    plan = require_plan(load_document({"ctestbed": 1, "name": "drawn", "fabric": fabric}))
    for group in (0, q - 1, q, 2 * q - 1):
        _compare_groups(plan, group)


def _compare_groups(plan: Plan, group: int) -> None:
    """Count the real cables of a group's routers by where they lead, and compare."""
    wiring = plan.sites[0].shape.wiring
    assert isinstance(wiring, DragonflyWiring | MMSWiring)
    size = plan.sites[0].shape.leaves_per_pod
    (scene,) = picture_of(plan, Focus(pod=group))["scenes"]
    first, second, _, _, layer = wiring.cables()
    real: Counter[tuple[int, int]] = Counter()
    for x, y, k in zip(first.tolist(), second.tolist(), layer.tolist(), strict=True):
        for near, far in ((x, y), (y, x)):
            if k == 1 and near // size == group:
                real[near % size, far // size] += 1
    spans = {block["id"]: _span(block) for block in scene["blocks"] if block["name"]}
    for bundle in scene["bundles"]:
        if bundle["layer"].endswith("global"):
            routers, groups = spans[bundle["a"]], spans[bundle["b"]]
            assert bundle["cables"] == sum(real[r, g] for r in routers for g in groups)


def _span(block: Any) -> range:
    """Return the numbers that a block's names run over."""
    names = [block["name"], block["last"] or block["name"]]
    digits = [int(name.rpartition("-")[2]) if "-" in name else 0 for name in names]
    return range(digits[0], digits[1] + 1)


@given(st.integers(0, 400), st.integers(5, 12), st.data())
def test_runs_cover_everything_once(count: int, limit: int, data: st.DataObject) -> None:
    chosen = data.draw(st.none() | st.integers(0, count - 1)) if count else None
    found = runs(count, limit, chosen)
    assert [n for run in found for n in run] == list(range(count))
    assert len(found) <= limit
    assert chosen is None or range(chosen, chosen + 1) in found
    even = even_runs(count, limit)
    assert [n for run in even for n in run] == list(range(count))
    assert len({len(run) for run in even}) <= 2


@pytest.mark.parametrize(
    ("name", "focus", "message"),
    [
        ("three-vendor-sites", Focus(site="nort"), "no site 'nort'"),
        ("lab-128", Focus(site="site"), "names no site"),
        ("mrc-131072", Focus(plane=8), "no plane 8: the fabric has 8 planes"),
        ("fat-tree-8192", Focus(pod=32), "no pod 32"),
        ("fat-tree-8192", Focus(pod=1, leaf=16), "no leaf 16: a pod has 16 leaves"),
        ("dragonfly-1056", Focus(pod=33), "no group 33"),
        ("tpu-v4-4096", Focus(pod=0), "no group 0"),
        ("nvl72", Focus(leaf=0), "no leaf 0"),
    ],
)
def test_what_is_not_there_is_refused(name: str, focus: Focus, message: str) -> None:
    plan = require_plan(load_testbed(name))
    with pytest.raises(InputError, match=message) as caught:
        picture_of(plan, focus)
    assert caught.value.code == "CTB-T116"


def test_a_focus_draws_that_alone() -> None:
    plan = require_plan(load_testbed("three-vendor-sites"))
    far = picture_of(plan, Focus(site="south", plane=2))
    assert far["scenes"][0]["level"] == "sites"
    assert {tuple(s["sites"]) for s in far["scenes"][1:]} == {("south",)}
    assert {tuple(s["planes"] or ()) for s in far["scenes"][1:]} == {(2,)}
    near = picture_of(plan, Focus(site="south", pod=1))
    assert [scene["level"] for scene in near["scenes"]] == ["pod", "leaf"]
    assert near["scenes"][0]["title"] == "Pod 1"


def test_planes_that_differ_are_drawn_each() -> None:
    plan = require_plan(load_testbed("uneven-planes-1024"))
    planes = [s["planes"] for s in picture_of(plan)["scenes"] if s["level"] == "plane"]
    assert planes == [[0, 1], [2], [3]]
