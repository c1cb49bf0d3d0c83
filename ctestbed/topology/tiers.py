"""The words for what a fabric is made of; apart from the arrays, so that a file reads without."""

from enum import IntEnum
from typing import Final

KINDS: Final = (
    "fat-tree",
    "rail-optimised",
    "rail-only",
    "slim-fly",
    "dragonfly",
    "torus",
    "full-mesh",
    "scale-up",
)
"""The kinds of fabric that a testbed file can describe."""

NIC_LEAF: Final = "NIC - leaf"
NIC_ROUTER: Final = "NIC - router"
LEAF_SPINE: Final = "leaf - spine"
SPINE_CORE: Final = "spine - core"
"""Layers of cables of a tree, and that below routers; those between equals are named by kind."""


class NodeKind(IntEnum):
    """What a node is."""

    ACCELERATOR = 0
    HOST = 1
    NIC = 2
    SWITCH = 3
    SCALE_UP_SWITCH = 4
    CPU = 5


class LinkClass(IntEnum):
    """What a cable joins: NIC and leaf, two of one site's network, two sites, a supernode's own."""

    HOST = 0
    FABRIC = 1
    TRUNK = 2
    SCALE_UP = 3


class Tier(IntEnum):
    """How far above the hosts a node of the network stands."""

    NIC = 0
    LEAF = 1
    SPINE = 2
    CORE = 3
