"""The frame size of both ends of each cable of a laid-out testbed, for files that can hold it."""

from dataclasses import replace
from typing import Final

import numpy as np

from ctestbed.topology.cabling import Cabling, Column
from ctestbed.topology.graph import LinkClass, Tier, Topology
from ctestbed.topology.joints import Joint, site_joints, trunk_joints
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.shapes import Plan

A_MTU: Final = "a_mtu"
B_MTU: Final = "b_mtu"


def with_frame_sizes(
    cabling: Cabling, topology: Topology, plan: Plan, loaded: LoadedTestbed
) -> Cabling:
    """Return the cabling of a testbed with what the file says of frame sizes, if it does."""
    sizes = np.full((2, len(cabling.cables)), -1, np.int64)
    for position in range(len(plan.sites)):
        for joint in site_joints(loaded, plan, position):
            _set(sizes, joint, _rows(topology, position, joint))
    for index, trunk in enumerate(topology.trunks):
        rows = np.zeros(len(cabling.cables), bool)
        rows[trunk.first_link : trunk.first_link + trunk.count] = True
        for joint in trunk_joints(loaded, plan, index):
            _set(sizes, joint, rows & _in_planes(topology, joint))
    if (sizes < 0).all():
        return cabling
    # One text for all cables of a size: fabrics have few sizes, and many cables.
    texts = {size: None if size < 0 else str(size) for size in np.unique(sizes).tolist()}
    columns = {
        name: tuple(map(texts.__getitem__, row))
        for name, row in zip((A_MTU, B_MTU), sizes.tolist(), strict=True)
    }
    extra = {**cabling.cables.extra, **columns}
    return replace(cabling, cables=replace(cabling.cables, extra=extra))


def _set(sizes: Column, joint: Joint, rows: Column) -> None:
    for side, end in enumerate((joint.lower, joint.upper)):
        if isinstance(end.mtu.value, int):
            sizes[side, rows] = end.mtu.value


def _in_planes(topology: Topology, joint: Joint) -> Column:
    if joint.planes is None:
        return np.ones(len(topology.links.plane), bool)
    chosen: Column = np.isin(topology.links.plane, joint.planes)
    return chosen


def _rows(topology: Topology, site: int, joint: Joint) -> Column:
    """Return the cables of a class: by what their lower end is, and for equals all at once."""
    nodes, links = topology.nodes, topology.links
    rows: Column = (nodes.site[links.a] == site) & _in_planes(topology, joint)
    if joint.lower.what == "NIC":
        rows &= links.klass == LinkClass.HOST
        return rows
    rows &= links.klass == LinkClass.FABRIC
    if joint.lower.what != "router":
        rows &= nodes.tier[links.a] == (Tier.SPINE if joint.upper.what == "core" else Tier.LEAF)
    return rows
