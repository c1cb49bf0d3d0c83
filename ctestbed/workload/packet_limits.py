"""The headroom that a testbed says its lossless ports keep, cable by cable."""

from typing import Final

import numpy as np

from ctestbed.topology.buffers import needs
from ctestbed.topology.graph import LinkClass, Tier, Topology
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.plan import require_plan
from ctestbed.topology.tiers import LEAF_SPINE, NIC_LEAF, NIC_ROUTER, SPINE_CORE
from ctestbed.transport.packet.problem import Column

UNSAID: Final = -1
"""The testbed says nothing of the headroom at a cable's ends."""

_LOWER_TIER: Final = {LEAF_SPINE: Tier.LEAF, SPINE_CORE: Tier.SPINE}


def configured_headroom(loaded: LoadedTestbed, topology: Topology) -> tuple[Column, list[str]]:
    """Return the bytes per class at each cable's ends, and the cables whose headroom is unknown.

    UNSAID where the testbed says nothing, or calls it unknown.
    """
    room = np.full(topology.link_count, UNSAID, np.int64)
    unknown: list[str] = []
    nodes, links = topology.nodes, topology.links
    for position, need in needs(loaded, require_plan(loaded)):
        if position is None:
            continue
        joint = need.joint
        if joint.name in {NIC_LEAF, NIC_ROUTER}:
            mine = links.klass == LinkClass.HOST
        elif joint.name in _LOWER_TIER:
            mine = links.klass == LinkClass.FABRIC
            mine &= nodes.tier[links.a] == _LOWER_TIER[joint.name]
        else:
            continue
        mine &= nodes.site[links.a] == position
        if joint.planes is not None:
            mine &= np.isin(links.plane, joint.planes)
        if need.headroom is None:
            unknown.append(joint.called("cables"))
        else:
            room[mine] = need.headroom
    for block, spec in zip(topology.trunks, loaded.testbed.trunks, strict=True):
        if spec.lossless is None:
            continue
        if isinstance(spec.lossless.headroom, int):
            room[block.first_link : block.first_link + block.count] = spec.lossless.headroom
        else:
            unknown.append(f"the trunk {' - '.join(spec.between)}")
    return room, unknown
