"""Each family of fabric against closed forms, published rows, and networkx as an oracle."""

from itertools import combinations
from math import prod
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctestbed.core.errors import InputError
from ctestbed.topology.build import build_topology, load_topology
from ctestbed.topology.capacity import bisection
from ctestbed.topology.graph import LinkClass, NodeKind, Topology
from ctestbed.topology.kinds.galois import field
from ctestbed.topology.kinds.primes import prime_power
from ctestbed.topology.load import load_testbed
from ctestbed.topology.names import find_node, node_name
from ctestbed.topology.plan import require_plan
from ctestbed.topology.validate import validate_testbed
from tests.topology.strategies import any_fabrics, document, holds, load_document

ORDERS = [q for q in range(3, 30) if q % 4 != 2 and prime_power(q)]
RATE = 400 * 10**9


def built(kind: str, **numbers: Any) -> Topology:
    return build_topology(load_document(document(kind, **numbers)))


def routers(topology: Topology) -> "nx.MultiGraph[int]":
    """The graph of switches, or of accelerators where they are the routers."""
    graph = topology.to_networkx()
    kinds = {"switch"} if topology.nics else {"accelerator"}
    view: nx.MultiGraph[int] = graph.subgraph(
        [node for node, data in graph.nodes(data=True) if data["kind"] in kinds]
    )
    return view


def degrees(graph: "nx.MultiGraph[int]") -> set[int]:
    return {degree for _, degree in graph.degree()}


@settings(deadline=None, max_examples=60)
@given(any_fabrics())
def test_what_any_kind_builds_holds_and_has_names(drawn: dict[str, Any]) -> None:
    loaded = load_document(drawn)
    validation = validate_testbed(loaded)
    assert holds(validation), validation.findings
    plan, topology = validation.plan, validation.topology
    assert plan is not None
    assert topology is not None
    kinds = np.bincount(topology.nodes.kind, minlength=6).tolist()
    nodes = [plan.accelerators, plan.hosts, plan.nics, plan.switches]
    assert kinds == [*nodes, plan.scale_up_switches, plan.cpus]
    assert topology.link_count == plan.links
    for column in (topology.links.a, topology.links.b, topology.links.a_port, topology.links.plane):
        assert (column >= 0).all()
    names = [node_name(topology, node) for node in range(topology.node_count)]
    assert len(set(names)) == len(names)
    assert [find_node(topology, name) for name in names] == list(range(topology.node_count))


# --- Slim Fly ---


@pytest.mark.parametrize("q", [q for q in ORDERS if q <= 13])
def test_slim_fly_has_diameter_two_and_its_degree(q: int) -> None:
    graph = routers(built("slim-fly", q=q, p=1))
    delta = {0: 0, 1: 1, 3: -1}[q % 4]
    assert graph.number_of_nodes() == 2 * q**2
    assert graph.number_of_edges() == q**2 * (3 * q - delta) // 2
    assert degrees(graph) == {(3 * q - delta) // 2}
    assert nx.Graph(graph).number_of_edges() == graph.number_of_edges()  # no pair joined twice
    assert nx.diameter(nx.Graph(graph)) == 2


def test_slim_fly_of_order_5_is_the_hoffman_singleton_graph() -> None:
    # The largest graph of degree 7 and diameter 2 is unique, and networkx has it.
    found = nx.Graph(routers(built("slim-fly", q=5, p=1)))
    assert nx.is_isomorphic(found, nx.hoffman_singleton_graph())


@pytest.mark.parametrize("q", [2, *ORDERS, 32, 49, 64, 81])
def test_fields_are_fields(q: int) -> None:
    tables = field(q)
    elements = np.arange(q)
    assert (np.sort(tables.add, axis=1) == elements).all()
    assert (tables.add[0] == elements).all()
    assert (tables.multiply[1] == elements).all()
    assert (np.sort(tables.multiply[1:, 1:], axis=1) == elements[1:]).all()
    assert sorted(tables.powers.tolist()) == list(range(1, q))
    a, b, c = np.random.default_rng(q).integers(0, q, (3, 500))
    add, multiply = tables.add, tables.multiply
    assert (multiply[a, add[b, c]] == add[multiply[a, b], multiply[a, c]]).all()
    assert (multiply[a, multiply[b, c]] == multiply[multiply[a, b], c]).all()


@given(st.integers(-5, 5000))
def test_prime_powers(q: int) -> None:
    parts = prime_power(q)
    factors = {p for p in range(2, max(q, 2) + 1) if q > 1 and q % p == 0 and _is_prime(p)}
    assert (parts is not None) == (len(factors) == 1)
    if parts is not None:
        assert parts[0] ** parts[1] == q


def _is_prime(value: int) -> bool:
    return value > 1 and all(value % d for d in range(2, int(value**0.5) + 1))


def test_order_28_has_counts_and_no_graph() -> None:
    with pytest.raises(InputError, match="not a prime power") as caught:
        built("slim-fly", q=28, p=21)
    assert caught.value.code == "CTB-T050"
    assert "27 or 29" in str(caught.value.hint)
    loaded = load_testbed("deepseek-slim-fly-32928")
    validation = validate_testbed(loaded)
    assert validation.topology is None
    assert "CTB-T056" in {finding.code for finding in validation.findings}
    with pytest.raises(InputError) as refused:
        build_topology(loaded)
    assert refused.value.code == "CTB-T055"


# --- Dragonfly ---

SHAPES = st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 3), st.integers(1, 16))


@settings(deadline=None, max_examples=80)
@given(SHAPES)
def test_dragonfly(numbers: tuple[int, int, int, int]) -> None:
    p, a, h, g = numbers
    g = min(g, a * h + 1)
    if g > 1 and g * a * h % 2:
        with pytest.raises(InputError, match="odd number of cable ends"):
            built("dragonfly", p=p, a=a, h=h, g=g)
        return
    topology = built("dragonfly", p=p, a=a, h=h, g=g)
    assert topology.endpoints == p * a * g
    graph = routers(topology)
    assert graph.number_of_nodes() == a * g
    assert graph.number_of_edges() == g * a * (a - 1) // 2 + (g * a * h // 2 if g > 1 else 0)
    assert degrees(graph) == {a - 1 + (h if g > 1 else 0)}
    group = topology.nodes.pod
    between = {
        frozenset((int(group[x]), int(group[y]))) for x, y in graph.edges() if group[x] != group[y]
    }
    assert len(between) == g * (g - 1) // 2  # every pair of groups meets
    assert nx.diameter(nx.Graph(graph)) <= 3


def test_dragonfly_spreads_what_is_left_over_evenly() -> None:
    _, topology = load_topology("deepseek-dragonfly-261632")
    pod = topology.nodes.pod
    rows = topology.links.klass == LinkClass.FABRIC
    a, b = pod[topology.links.a[rows]], pod[topology.links.b[rows]]
    apart = a != b
    low, high = np.minimum(a, b)[apart], np.maximum(a, b)[apart]
    pairs, times = np.unique(low.astype(np.int64) * 511 + high, return_counts=True)
    assert len(pairs) == 511 * 510 // 2
    assert np.bincount(times).tolist() == [0, 511 * 510 // 2 - 511, 511]


# --- grids ---

SIDES = st.lists(st.integers(1, 5), min_size=1, max_size=4).filter(lambda dims: prod(dims) > 1)


@settings(deadline=None)
@given(SIDES, st.booleans())
def test_torus_is_the_grid_graph_of_networkx(dims: list[int], wrap: bool) -> None:
    graph = routers(built("torus", dims=dims, wrap=wrap))
    rings = [wrap and side > 2 for side in dims]
    form: Any = {"dim": dims[::-1], "periodic": rings[::-1]}
    oracle = nx.grid_graph(**form)
    edges = {
        frozenset(int(np.ravel_multi_index(end, dims)) for end in map(_tuple, edge))
        for edge in oracle.edges()
    }
    assert {frozenset(edge) for edge in nx.Graph(graph).edges()} == edges
    assert graph.number_of_edges() == len(edges)


def _tuple(node: Any) -> tuple[int, ...]:
    return node if isinstance(node, tuple) else (node,)


@settings(deadline=None)
@given(SIDES)
def test_full_mesh(dims: list[int]) -> None:
    graph = routers(built("full-mesh", dims=dims))
    assert graph.number_of_edges() == prod(dims) * sum(side - 1 for side in dims) // 2
    assert degrees(graph) == {sum(side - 1 for side in dims)}
    assert nx.diameter(nx.Graph(graph)) == sum(side > 1 for side in dims)
    assert nx.Graph(graph).number_of_edges() == graph.number_of_edges()


@settings(deadline=None, max_examples=15)
@given(st.sampled_from([[2], [4], [2, 2], [4, 2], [6], [2, 2, 2], [1, 4]]), st.sampled_from("tfo"))
def test_bisection_of_grids_is_the_smallest_cut(dims: list[int], form: str) -> None:
    kind, numbers = {
        "t": ("torus", {"wrap": True}),
        "o": ("torus", {"wrap": False}),
        "f": ("full-mesh", {}),
    }[form]
    loaded = load_document(document(kind, dims=dims, **numbers))
    graph = nx.Graph(routers(build_topology(loaded)))
    nodes = list(graph)
    least = min(nx.cut_size(graph, half) for half in map(set, _halves(nodes)))
    assert bisection(require_plan(loaded), 0) == least * RATE


def _halves(nodes: list[int]) -> list[tuple[int, ...]]:
    return list(combinations(nodes, len(nodes) // 2))


@pytest.mark.parametrize(
    ("dims", "wrap", "good"),
    [
        ([4, 4, 4], True, True),
        ([8, 16, 12], True, True),
        ([2, 4, 4], True, False),
        ([4, 6, 4], True, False),
        ([2, 2, 1], False, True),
        ([2, 4, 4], False, True),
        ([8, 4, 4], False, False),
        ([3, 4, 4], False, False),
    ],
)
def test_slices_are_whole_cubes_or_inside_one(dims: list[int], wrap: bool, good: bool) -> None:
    if good:
        assert built("torus", dims=dims, cube=4, wrap=wrap).endpoints == prod(dims)
        return
    with pytest.raises(InputError, match="cube") as caught:
        built("torus", dims=dims, cube=4, wrap=wrap)
    assert caught.value.code == "CTB-T053"
    assert caught.value.where is not None
    assert str(caught.value.where.pointer).startswith("fabric.dims[")


# --- rails ---


@settings(deadline=None, max_examples=40)
@given(*[st.integers(1, 4)] * 5, st.integers(1, 2))
def test_rails_meet_at_their_own_tors(
    rails: int, tors: int, segments: int, hosts: int, spines: int, pods: int
) -> None:
    numbers: dict[str, Any] = {"rails": rails, "tors_per_rail": tors, "segments": segments}
    numbers |= {"hosts_per_segment": hosts, "spines": spines}
    if pods > 1:
        numbers |= {"pods": pods, "cores": spines * 2}
    drawn = document("rail-optimised", **numbers) | {"host": {"nics": rails}}
    topology = build_topology(load_document(drawn))
    nodes, links = topology.nodes, topology.links
    assert topology.endpoints == pods * segments * hosts * rails
    host_links = np.flatnonzero(links.klass == LinkClass.HOST)
    assert len(host_links) == topology.endpoints * tors
    nic, tor = links.a[host_links], links.b[host_links]
    assert (nodes.plane[tor] == links.plane[host_links]).all()
    if rails > 1:
        assert (nodes.rail[tor] == nodes.rail[nic]).all()
    # All NICs below one ToR are of one segment and one rail, and a segment has rails x tors ToRs.
    host = nodes.index[nodes.parent[nic]]
    segment = host // hosts
    for below in np.unique(tor):
        mine = tor == below
        assert len(set(segment[mine].tolist())) == len(set(nodes.rail[nic[mine]].tolist())) == 1
    for number in range(pods * segments):
        assert len(np.unique(tor[segment == number])) == rails * tors


def test_rail_only_joins_like_ranks_and_nothing_else() -> None:
    _, topology = load_topology("rail-only-1024")
    graph = topology.to_networkx()
    parts = list(nx.connected_components(graph))
    assert len(parts) == 8
    for part in parts:
        nics = [node for node in part if topology.nodes.kind[node] == NodeKind.NIC]
        assert len(nics) == 128
        assert len({int(topology.nodes.rail[node]) for node in nics}) == 1


def test_a_rail_may_be_a_leaf_spine_and_a_domain_several_hosts() -> None:
    drawn = document("rail-only", rails=8, domains=6, leaves=3, spines=2) | {"host": {"nics": 4}}
    topology = build_topology(load_document(drawn))
    assert topology.endpoints == 48
    assert topology.sites[0].hosts == 12
    assert len(list(nx.connected_components(topology.to_networkx()))) == 8


# --- refusals ---


@pytest.mark.parametrize(
    ("drawn", "code"),
    [
        (document("torus", dims=[4]) | {"planes": {"count": 2}}, "CTB-T018"),
        (document("torus", dims=[4]) | {"host": {"nics": 1}}, "CTB-T052"),
        (document("torus", dims=[4], dim_links=[{}, {}]), "CTB-T052"),
        (document("torus", dims=[4, 4], radix=3), "CTB-T014"),
        (document("torus", dims=[3]) | {"host": {"accelerators": 2}}, "CTB-T008"),
        (document("torus", dims=[2**22] * 8), "CTB-T016"),
        (document("full-mesh", dims=[]), "CTB-C043"),
        (document("slim-fly", q=1024, p=4096), "CTB-T016"),
        (document("slim-fly", q=5, p=2, radix=8), "CTB-T014"),
        (
            document("slim-fly", q=5, p=2) | {"planes": {"count": 2, "form": "nic-split"}},
            "CTB-T018",
        ),
        (document("dragonfly", p=2**22, a=2**22, h=2**22), "CTB-T016"),
        (
            document("rail-optimised", rails=2, segments=1, hosts_per_segment=1, spines=1),
            "CTB-T008",
        ),
        (
            document("rail-optimised", rails=1, segments=1, hosts_per_segment=1, spines=1, pods=2),
            "CTB-T002",
        ),
        (document("rail-only", rails=1, domains=4, leaves=2), "CTB-T002"),
        (document("rail-only", rails=1, domains=4, leaves=3, spines=1), "CTB-T009"),
        ({"ctestbed": 1, "name": "x", "fabric": {"kind": "scale-up", "supernodes": 1}}, "CTB-T017"),
    ],
)
def test_numbers_that_make_no_fabric(drawn: dict[str, Any], code: str) -> None:
    with pytest.raises(InputError) as caught:
        build_topology(load_document(drawn))
    assert caught.value.code == code
    assert caught.value.hint or code == "CTB-C043"
    assert caught.value.where is not None
