"""Up/down paths over Clos planes and the trunks between them, by arithmetic on indices.

A path climbs from the source's leaf no higher than it must, and comes straight down: within a
leaf 2 cables, within a pod 4, between pods 6. Between sites it climbs to a top switch, takes a
trunk to that switch's peer, and comes down there. Up/down paths have no valleys, so they cannot
close a cycle of waiting buffers. Where a fabric has no tiers, `shortest` finds the paths.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctestbed.core.errors import InputError
from ctestbed.routing.shortest import shortest_walks
from ctestbed.routing.spread import (
    DOWN,
    PLANE,
    TOP,
    TRUNK,
    UP,
    Spread,
    flow_keys,
    hashed_choice,
)
from ctestbed.topology.graph import PlaneBlock, Topology, TrunkBlock
from ctestbed.topology.names import endpoint_name

Column: TypeAlias = NDArray[Any]
_Choose: TypeAlias = Callable[[Column, int, int, Column], Column]

LONGEST: Final = 7
"""Cables of the longest path: three tiers up, a trunk, three tiers down."""

_NONE: Final = -1


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths as CSR: path f is `links[offsets[f]:offsets[f + 1]]`, directed link ids in order.

    A directed link id is `2 * cable + direction`, direction 0 from the cable's end a to its end b.
    `candidates[f]` counts the equal-cost paths that f was chosen from; `plane[f]` is its plane.
    """

    offsets: Column
    links: Column
    candidates: Column
    plane: Column

    def path(self, flow: int) -> Column:
        """Return the directed links of one path."""
        path: Column = self.links[int(self.offsets[flow]) : int(self.offsets[flow + 1])]
        return path


def route_flows(
    topology: Topology,
    source: Column,
    destination: Column,
    *,
    spread: Spread,
    seed: int,
    label: Column | None = None,
) -> Paths:
    """Route each flow between two different endpoints.

    `label` tells apart flows of one pair, and for `sweep` is the turn of a path (zeros if left
    out); `balanced` looks neither at it nor at `seed`.

    Raises:
        InputError: two endpoints with no path between them, named.
    """
    labels = np.zeros(len(source), np.int64) if label is None else label
    if not topology.arithmetic:
        return _route_shortest(topology, source, destination, labels, spread, seed)
    hashed = np.zeros_like(labels) if spread == "sweep" else labels
    keys = flow_keys(source, destination, hashed, seed)
    grid = np.full((len(source), LONGEST), _NONE, np.int64)
    candidates = np.ones(len(source), np.int64)
    plane, digit = _choose_planes(topology, source, destination, keys, spread)
    digit = labels if spread == "sweep" else digit

    def choose(rows: Column, salt: int, count: int, digits: Column) -> Column:
        if spread == "balanced":
            return digits % count
        drawn = hashed_choice(keys[rows], salt, count)
        return drawn if spread == "ecmp" else (drawn + digits) % count

    sites = np.stack([topology.site_of(source), topology.site_of(destination), plane], axis=1)
    groups, member = np.unique(sites, axis=0, return_inverse=True)
    for index, (site_a, site_b, group_plane) in enumerate(groups.tolist()):
        rows = np.flatnonzero(member.reshape(-1) == index)
        ends = topology.port_of(source[rows]), topology.port_of(destination[rows])
        block = topology.block(site_a, group_plane)
        if site_a == site_b:
            _route_inside(grid, candidates, rows, block, ends, digit[rows], choose)
            continue
        trunk = _trunk_between(topology, site_a, site_b, source[rows], destination[rows])
        blocks = block, topology.block(site_b, group_plane)
        _route_across(grid, candidates, rows, blocks, trunk, ends, digit[rows], choose)
    if topology.split:
        candidates *= topology.planes
    return _compress(grid, candidates, plane)


def _route_shortest(
    topology: Topology,
    source: Column,
    destination: Column,
    labels: Column,
    spread: Spread,
    seed: int,
) -> Paths:
    walks = shortest_walks(topology, source, destination, spread=spread, seed=seed, label=labels)
    plane = np.maximum(topology.plane_of(source), 0)
    return Paths(walks.offsets, walks.links, walks.candidates, plane)


def _choose_planes(
    topology: Topology, source: Column, destination: Column, keys: Column, spread: Spread
) -> tuple[Column, Column]:
    """Return each flow's plane, and the number whose digits make its balanced choices."""
    digit = topology.port_of(destination)
    if topology.split:
        if spread != "balanced":
            return hashed_choice(keys, PLANE, topology.planes), digit
        return digit % topology.planes, digit // topology.planes
    plane, other = topology.plane_of(source), topology.plane_of(destination)
    apart = np.flatnonzero(plane != other)
    if len(apart):
        flow = int(apart[0])
        ends = [endpoint_name(topology, int(end[flow])) for end in (source, destination)]
        raise InputError(
            "CTB-R001",
            f"no path from {ends[0]} (plane {plane[flow]}) to {ends[1]} (plane {other[flow]}): "
            f"planes share no switch ({len(apart):,} of {len(source):,} flows)",
            hint=f"keep to one plane: shift by a multiple of {topology.planes}, for instance",
        )
    return plane, digit


def _route_inside(
    grid: Column,
    candidates: Column,
    rows: Column,
    block: PlaneBlock,
    ends: tuple[Column, Column],
    digit: Column,
    choose: _Choose,
) -> None:
    """Fill the paths of flows that stay in one plane of one site."""
    leaf, last = (block.leaf_of(port) for port in ends)
    grid[rows, 0] = 2 * block.host_link(ends[0])
    grid[rows, 6] = 2 * block.host_link(ends[1]) + 1
    climbs = leaf != last
    pods_differ = block.pod_of_leaf(leaf) != block.pod_of_leaf(last)
    for between_pods in (False, True):
        some = np.flatnonzero(climbs & (pods_differ == between_pods))
        if not len(some):
            continue
        mine, digits = rows[some], digit[some]
        spines, cores = block.spines_per_pod, block.cores_per_spine if between_pods else 1
        top = choose(mine, TOP, spines * cores, digits)
        spine, core = top % spines, top // spines
        rest = digits // spines
        up = choose(mine, UP, block.parallel, rest)
        down = choose(mine, DOWN, block.parallel, rest)
        grid[mine, 1] = 2 * block.uplink(leaf[some], spine, up)
        grid[mine, 5] = 2 * block.uplink(last[some], spine, down) + 1
        candidates[mine] = spines * cores * block.parallel**2
        if between_pods:
            pods = [block.pod_of_leaf(end[some]) * spines + spine for end in (leaf, last)]
            grid[mine, 2] = 2 * block.core_link(pods[0], core)
            grid[mine, 4] = 2 * block.core_link(pods[1], core) + 1


def _route_across(
    grid: Column,
    candidates: Column,
    rows: Column,
    blocks: tuple[PlaneBlock, PlaneBlock],
    trunk: TrunkBlock,
    ends: tuple[Column, Column],
    digit: Column,
    choose: _Choose,
) -> None:
    """Fill the paths of flows that take a trunk from one site to another."""
    near, far = blocks
    pick = choose(rows, TOP, trunk.tops, digit)
    top = pick
    if near.cores_per_spine and trunk.tops == near.cores:
        # Neighbours in number climb different spines, as inside a site.
        spines = near.spines_per_pod
        top = pick % spines * near.cores_per_spine + pick // spines
    cable = choose(rows, TRUNK, trunk.links, digit // trunk.tops)
    forward = trunk.site_a == near.site
    grid[rows, 3] = 2 * trunk.link(near.plane, top, cable) + (0 if forward else 1)
    candidates[rows] = trunk.tops * trunk.links
    for block, port, salt, down in ((near, ends[0], UP, 0), (far, ends[1], DOWN, 1)):
        host, first, second = (6, 5, 4) if down else (0, 1, 2)
        leaf = block.leaf_of(port)
        strand = choose(rows, salt, block.parallel, digit // max(block.spines_per_pod, 1))
        grid[rows, host] = 2 * block.host_link(port) + down
        if not block.spines:  # its one leaf is the top itself
            continue
        spine = top if not block.cores_per_spine else top // block.cores_per_spine
        grid[rows, first] = 2 * block.uplink(leaf, spine, strand) + down
        candidates[rows] *= block.parallel
        if block.cores_per_spine:
            climbed = block.pod_of_leaf(leaf) * block.spines_per_pod + spine
            core = top % block.cores_per_spine
            grid[rows, second] = 2 * block.core_link(climbed, core) + down


def _trunk_between(
    topology: Topology, site_a: int, site_b: int, source: Column, destination: Column
) -> TrunkBlock:
    """Return the trunk that traffic between two sites takes: the one of least delay.

    Of equals the one that carries most, then the first; an unknown delay comes last.

    Raises:
        InputError: there is none.
    """
    found = [t for t in topology.trunks if {t.site_a, t.site_b} == {site_a, site_b}]
    if found:
        return min(found, key=lambda trunk: _rank(topology, trunk))
    names = topology.sites[site_a].name, topology.sites[site_b].name
    ends = [endpoint_name(topology, int(end[0])) for end in (source, destination)]
    raise InputError(
        "CTB-R002",
        f"no path from {ends[0]} to {ends[1]}: no trunk joins {names[0]} and {names[1]}",
        hint=f"give the testbed a trunk with `between: [{names[0]}, {names[1]}]`",
    )


def _rank(topology: Topology, trunk: TrunkBlock) -> tuple[bool, int, int]:
    links = topology.links
    delay, rate = (int(column[trunk.first_link]) for column in (links.delay, links.rate))
    return delay < 0, delay, -rate * trunk.count


def _compress(grid: Column, candidates: Column, plane: Column) -> Paths:
    used = grid != _NONE
    offsets = np.zeros(len(grid) + 1, np.int64)
    np.cumsum(used.sum(axis=1), out=offsets[1:])
    return Paths(offsets, grid[used], candidates, plane)
