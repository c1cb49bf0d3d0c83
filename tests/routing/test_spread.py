"""How flows choose among equal paths: evenly, repeatably, and without contention for shifts."""

import math
from collections import Counter

import numpy as np
import pytest

from ctestbed.routing.clos import route_flows
from ctestbed.topology.build import build_topology, load_topology
from ctestbed.topology.graph import LinkClass, PlaneBlock, Topology
from tests.routing.walks import loads, two_sites
from tests.topology.strategies import fat_tree, load_document

MASK = 2**64 - 1


def splitmix(state: int) -> int:
    """SplitMix64's next output, from its published description."""
    z = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def test_splitmix_is_the_published_one() -> None:
    """The first outputs for seed 1234567, as the Rosetta Code task lists them."""
    state, drawn = 1234567, []
    for _ in range(5):
        drawn.append(splitmix(state))
        state = (state + 0x9E3779B97F4A7C15) & MASK
    assert drawn == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def shift(topology: Topology, by: int) -> tuple[np.ndarray, np.ndarray]:
    source = np.arange(topology.endpoints)
    return source, np.roll(source, -by)


@pytest.mark.parametrize(
    "name", ["lab-128", "lab-128-wide", "fat-tree-128", "fat-tree-1024", "fat-tree-8192"]
)
def test_balanced_shifts_never_share_a_link(name: str) -> None:
    """OpenSM's ftree reaches 1 for s = 1, 2 and n/8 ... 3n/4; so do we, for every shift tried."""
    _, topology = load_topology(name)
    n = topology.endpoints
    for by in (1, 2, 3, 7, n // 8, n // 4, n // 3, n // 2, 3 * n // 4, n - 1):
        paths = route_flows(topology, *shift(topology, by), spread="balanced", seed=1)
        assert loads(topology, paths).max() == 1, f"shift:{by}"


def test_balanced_shifts_over_parallel_cables_and_split_planes_never_share_a_link() -> None:
    parallel = fat_tree(tiers=2, leaves=4, hosts_per_leaf=8, spines=2, parallel=4)
    split = fat_tree(tiers=2, leaves=4, hosts_per_leaf=16, spines=4)
    split["planes"] = {"count": 4, "form": "nic-split"}
    for document in (parallel, split):
        topology = build_topology(load_document(document))
        for by in range(1, topology.endpoints):
            paths = route_flows(topology, *shift(topology, by), spread="balanced", seed=1)
            assert loads(topology, paths).max() == 1


def test_balanced_all_to_all_loads_every_cable_alike() -> None:
    """OpenSM, `ls128.net`: 112 / 112 / 112 flows on each of 256 links between switches."""
    _, topology = load_topology("lab-128-wide")
    source = np.repeat(np.arange(128), 128)
    destination = np.tile(np.arange(128), 128)
    apart = source != destination
    paths = route_flows(topology, source[apart], destination[apart], spread="balanced", seed=1)
    between_switches = np.repeat(topology.links.klass == LinkClass.FABRIC, 2)
    assert set(loads(topology, paths)[between_switches].tolist()) == {112}
    assert between_switches.sum() == 256


def test_balanced_all_to_all_on_three_tiers() -> None:
    """1,016 flows leave a leaf by each of 8 uplinks, 960 a pod by each of 64: the least there is.

    OpenSM's ftree has the same minimum, mean and maximum: 960 / 988 / 1016 over 4,096 links.
    """
    _, topology = load_topology("fat-tree-1024")
    n = topology.endpoints
    source, destination = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
    apart = source != destination
    paths = route_flows(topology, source[apart], destination[apart], spread="balanced", seed=1)
    carried = loads(topology, paths)[np.repeat(topology.links.klass == LinkClass.FABRIC, 2)]
    assert len(carried) == 4096
    assert (carried.min(), carried.mean(), carried.max()) == (960, 988, 1016)


@pytest.mark.parametrize("tiers", [2, 3])
def test_balanced_cross_site_shift_loads_trunks_and_uplinks_alike(tiers: int) -> None:
    counts = {"leaves": 4, "spines": 4, "hosts_per_leaf": 4}
    if tiers == 3:
        counts |= {"pods": 2, "cores": 16}
    topology = build_topology(two_sites(1, tiers=tiers, **counts))
    half = topology.endpoints // 2
    paths = route_flows(topology, *shift(topology, half), spread="balanced", seed=1)
    load = loads(topology, paths)
    trunks = load[np.repeat(topology.links.klass == LinkClass.TRUNK, 2)]
    assert set(trunks.tolist()) == {half // (len(trunks) // 2)}
    inside = load[np.repeat(topology.links.klass != LinkClass.TRUNK, 2)]
    assert inside.max() == 1


def test_two_campus_shift_puts_32_flows_on_each_trunk_cable() -> None:
    _, topology = load_topology("two-campus-150km")
    paths = route_flows(topology, *shift(topology, 1024), spread="balanced", seed=1)
    trunks = loads(topology, paths)[np.repeat(topology.links.klass == LinkClass.TRUNK, 2)]
    assert trunks.tolist() == [32] * 64


def test_ecmp_uses_all_candidates_evenly() -> None:
    """Chi-square of 64 equal cells over 64,000 draws, five standard deviations either way."""
    _, topology = load_topology("fat-tree-1024")
    flows = 64_000
    source, destination = np.zeros(flows, np.int64), np.full(flows, 1023)
    paths = route_flows(
        topology, source, destination, spread="ecmp", seed=1, label=np.arange(flows)
    )
    assert set(paths.candidates.tolist()) == {64}
    seen = Counter(map(tuple, paths.links.reshape(flows, -1).tolist()))
    assert len(seen) == 64
    chi_square = sum((count - flows / 64) ** 2 / (flows / 64) for count in seen.values())
    assert abs(chi_square - 63) < 5 * math.sqrt(2 * 63)


def test_ecmp_chooses_each_part_independently() -> None:
    """Planes, spines and cables of both halves: 2 * 2 * 2 * 2 paths, evenly."""
    document = fat_tree(tiers=2, leaves=2, spines=2, hosts_per_leaf=2, parallel=2)
    document["planes"] = {"count": 2, "form": "nic-split"}
    topology = build_topology(load_document(document))
    flows = 16_000
    last = np.full(flows, topology.endpoints - 1)
    paths = route_flows(topology, last * 0, last, spread="ecmp", seed=9, label=np.arange(flows))
    seen = Counter(map(tuple, paths.links.reshape(flows, -1).tolist()))
    assert len(seen) == 16 == int(paths.candidates[0])
    chi_square = sum((count - 1000) ** 2 / 1000 for count in seen.values())
    assert abs(chi_square - 15) < 5 * math.sqrt(2 * 15)


def test_ecmp_rests_on_seed_and_label_and_not_on_the_company() -> None:
    _, topology = load_topology("fat-tree-1024")
    draws = np.random.default_rng(4)
    source = draws.integers(0, 512, 300)
    destination = draws.integers(512, 1024, 300)
    label = np.arange(300) % 3

    def route(seed: int, rows: np.ndarray, labels: np.ndarray) -> list[list[int]]:
        paths = route_flows(
            topology, source[rows], destination[rows], spread="ecmp", seed=seed, label=labels
        )
        return [paths.path(flow).tolist() for flow in range(len(rows))]

    everyone = np.arange(300)
    whole = route(1, everyone, label)
    order = draws.permutation(300)
    assert route(1, order, label[order]) == [whole[flow] for flow in order]
    assert route(1, everyone[7:9], label[7:9]) == whole[7:9]
    for other in (route(2, everyone, label), route(1, everyone, label + 1)):
        changed = sum(a != b for a, b in zip(whole, other, strict=True))
        assert changed > 280  # 1 in 64 stays by chance


def test_balanced_rests_on_neither_seed_nor_label() -> None:
    _, topology = load_topology("fat-tree-128")
    pair = shift(topology, 5)
    first = route_flows(topology, *pair, spread="balanced", seed=1)
    other = route_flows(topology, *pair, spread="balanced", seed=2, label=np.arange(128))
    assert first.links.tolist() == other.links.tolist()


def expected_inside(topology: Topology, a: int, b: int, seed: int, label: int) -> list[int]:
    """Re-draw an ecmp path between leaves of one site from the stated hash alone."""
    key = splitmix(seed)
    for part in (a, b, label):
        key = splitmix(key ^ part)

    def draw(salt: int, count: int) -> int:
        return splitmix(key ^ splitmix(salt)) % count

    plane = draw(1, topology.planes) if topology.split else a % topology.planes
    ports = (a, b) if topology.split else (a // topology.planes, b // topology.planes)
    block: PlaneBlock = topology.block(0, plane)
    leaves = [block.leaf_of(port) for port in ports]
    pods = [block.pod_of_leaf(leaf) for leaf in leaves]
    crosses = pods[0] != pods[1]
    pick = draw(2, block.spines_per_pod * (block.cores_per_spine if crosses else 1))
    spine, core = pick % block.spines_per_pod, pick // block.spines_per_pod
    up = [
        2 * block.host_link(ports[0]),
        2 * block.uplink(leaves[0], spine, draw(3, block.parallel)),
    ]
    down = [
        2 * block.uplink(leaves[1], spine, draw(5, block.parallel)) + 1,
        2 * block.host_link(ports[1]) + 1,
    ]
    if crosses:
        spines = [pod * block.spines_per_pod + spine for pod in pods]
        up.append(2 * block.core_link(spines[0], core))
        down.insert(0, 2 * block.core_link(spines[1], core) + 1)
    return up + down


@pytest.mark.parametrize("form", ["nic-per-plane", "nic-split"])
def test_ecmp_is_the_stated_hash(form: str) -> None:
    document = fat_tree(tiers=3, pods=3, leaves=2, spines=2, cores=6, hosts_per_leaf=4, parallel=3)
    document["planes"] = {"count": 2, "form": form}
    topology = build_topology(load_document(document))
    for a, b, label in ((0, 22, 0), (1, 15, 7), (4, 10, 2), (22, 0, 2**40), (2, 20, 1)):
        for seed in (0, 1, 2**63 - 1):
            paths = route_flows(
                topology,
                np.array([a]),
                np.array([b]),
                spread="ecmp",
                seed=seed,
                label=np.array([label]),
            )
            assert paths.path(0).tolist() == expected_inside(topology, a, b, seed, label)


def test_ecmp_between_sites_is_the_stated_hash() -> None:
    topology = build_topology(
        two_sites(3, tiers=2, leaves=2, spines=5, hosts_per_leaf=2, parallel=2)
    )
    for label in range(20):
        key = splitmix(8)
        for part in (1, 6, label):
            key = splitmix(key ^ part)
        draws = {
            salt: splitmix(key ^ splitmix(salt)) % count
            for salt, count in ((2, 5), (3, 2), (4, 3), (5, 2))
        }
        near, far, trunk = topology.block(0, 0), topology.block(1, 0), topology.trunks[0]
        expected = [
            2 * near.host_link(1),
            2 * near.uplink(0, draws[2], draws[3]),
            2 * trunk.link(0, draws[2], draws[4]),
            2 * far.uplink(1, draws[2], draws[5]) + 1,
            2 * far.host_link(2) + 1,
        ]
        paths = route_flows(
            topology,
            np.array([1]),
            np.array([6]),
            spread="ecmp",
            seed=8,
            label=np.array([label]),
        )
        assert paths.path(0).tolist() == expected
