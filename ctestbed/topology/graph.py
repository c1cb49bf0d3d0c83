"""The fabric as arrays: node and link tables as numpy columns, and where each plane lies.

Nodes are numbered by kind: all accelerators, then hosts, NICs, switches, scale-up switches, host
processors (those in supernodes); inside a kind by site. Switches run site by site, plane by plane:
leaves (pod by pod), spines (pod by pod), cores; routers of a direct network are its leaves.
Scale-up switches run supernode by supernode, the first tier before the second.

Links are numbered NIC to leaf, then plane by plane (leaf to spine, spine to core; or cables between
routers or accelerators that are equals), trunks, and last the bundles inside supernodes. `a` is the
lower end where there is one, so directed link `2*link` climbs and `2*link + 1` descends (on a
trunk: from its first site).

An endpoint is a NIC, numbered from 0 over all sites; where there are none, an accelerator.
`PlaneBlock` and `TrunkBlock` turn positions into link ids by arithmetic, on ints and on arrays
alike. -1 stands for "no such thing" in structural columns, for UNKNOWN in quantity columns.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctestbed.topology.tiers import LinkClass, NodeKind, Tier

__all__ = [
    "UNKNOWN_VALUE",
    "Adjacency",
    "LinkClass",
    "Links",
    "NodeKind",
    "Nodes",
    "PlaneBlock",
    "SiteBlock",
    "SupernodeBlock",
    "Tier",
    "Topology",
    "TrunkBlock",
]

if TYPE_CHECKING:
    import networkx as nx

Column: TypeAlias = NDArray[Any]
Index: TypeAlias = Any
"""An int, or an integer array: arithmetic on positions works on both."""

UNKNOWN_VALUE: Final = -1
"""What a quantity column holds where the quantity is unknown."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """One row per node. -1 where a column has no meaning for the node's kind.

    `plane` of a NIC is -1 when its ports are split over all planes; of a scale-up switch it is the
    sub-plane. `pod` is of switches of a three-tier plane, and the group of a router. `rail` is the
    position inside the host, and of a ToR the rail it serves; `index` counts within the smallest
    group that names the node (host: site; accelerator, NIC, processor, a host's own scale-up
    switch: host; leaf, spine: pod; core: plane; other scale-up switches: sub-plane of a supernode).
    `parent` is the host's node id; `supernode` counts over the whole testbed. `tier` of a scale-up
    switch is 1 or 2, counted inside the supernode.
    """

    kind: Column
    site: Column
    plane: Column
    tier: Column
    pod: Column
    rail: Column
    index: Column
    parent: Column
    supernode: Column


@dataclass(frozen=True, slots=True)
class Links:
    """One row per cable: its ends (node, port from 1), bit/s, ps, mm, class and plane.

    `rate`, `delay` and `length` are -1 where unknown; `length` also where only a delay is given.
    """

    a: Column
    b: Column
    a_port: Column
    b_port: Column
    rate: Column
    delay: Column
    length: Column
    klass: Column
    plane: Column


@dataclass(frozen=True, slots=True)
class SiteBlock:
    """A site's runs of nodes. `first_nic` is an endpoint number; the others are node ids."""

    name: str
    first_accelerator: int
    accelerators: int
    first_host: int
    hosts: int
    first_nic: int
    nics: int
    accelerators_per_host: int
    nics_per_host: int
    kind: str
    supernodes: tuple["SupernodeBlock", ...] = ()
    first_cpu: int = -1
    cpus_per_host: int = 0
    memory: int = -1
    """Bytes of one accelerator that its supernode can address; -1 where unknown or no member."""
    cpu_memory: int = -1
    """Bytes behind one host processor; -1 likewise."""


@dataclass(frozen=True, slots=True)
class SupernodeBlock:
    """A site's laid-out scale-up domains, all alike. Switch and link ids are of the first one.

    Domain d is `number + d` in the `supernode` column. Every member has one bundle to each of
    `switches`: the domain's own, or with `uppers` those of its host; then first-tier switch i is
    below the `uppers` of sub-plane i. Members are numbered accelerators first, then processors,
    of the domain or (with `uppers`) host by host.
    """

    number: int
    count: int
    accelerators: int
    hosts: int
    switches: int
    uppers: int
    cpus: int
    first_switch: int
    switches_each: int
    first_link: int
    links_each: int

    @property
    def lowers(self) -> int:
        """First-tier switches of one domain."""
        return self.switches * (self.hosts if self.uppers else 1)


@dataclass(frozen=True, slots=True)
class PlaneBlock:
    """One plane of one site: a Clos of leaves and spines in pods, and cores above if 3-tier.

    Positions: `port` counts the plane's NIC ports from 0 and hangs under leaf
    `port // ports_per_leaf` (with rails, `rails` neighbours hang under as many leaves in a row);
    `leaf` and `spine` count over the plane, pod by pod; every leaf reaches the spines of its own
    pod, by `parallel` cables each; spine s of a pod reaches cores
    `s*cores_per_spine ... (s+1)*cores_per_spine - 1`, by one cable each.

    `direct` is a plane of equals: routers (tiers 1: its leaves, groups as pods) or accelerators
    (tiers 0), joined by the `peers` cables from `first_uplink` on, in no order that arithmetic
    gives. Shortest paths lead over these.
    """

    site: int
    plane: int
    tiers: int
    pods: int
    leaves_per_pod: int
    spines_per_pod: int
    ports_per_leaf: int
    parallel: int
    cores_per_spine: int
    first_leaf: int
    first_spine: int
    first_core: int
    first_host_link: int
    host_link_stride: int
    first_uplink: int
    first_core_link: int
    rails: int = 1
    peers: int = 0
    direct: bool = False

    @property
    def leaves(self) -> int:
        """Number of leaves in the plane."""
        return self.pods * self.leaves_per_pod

    @property
    def spines(self) -> int:
        """Number of spines in the plane."""
        return self.pods * self.spines_per_pod

    @property
    def cores(self) -> int:
        """Number of cores in the plane; 0 with two tiers."""
        return self.spines_per_pod * self.cores_per_spine

    @property
    def ports(self) -> int:
        """Number of NIC ports in the plane."""
        return self.leaves * self.ports_per_leaf

    @property
    def tops(self) -> int:
        """Number of switches of the highest tier, those that trunks start from."""
        return self.cores or self.spines or self.leaves

    @property
    def first_top(self) -> int:
        """Node id of the first switch of the highest tier."""
        if self.tiers == Tier.CORE:
            return self.first_core
        return self.first_spine if self.tiers == Tier.SPINE else self.first_leaf

    def leaf_of(self, port: Index) -> Index:
        """Return the leaf (position) above a NIC port."""
        group = self.rails * self.ports_per_leaf
        return port // group * self.rails + port % self.rails

    def pod_of_leaf(self, leaf: Index) -> Index:
        """Return the pod of a leaf."""
        return leaf // self.leaves_per_pod

    def host_link(self, port: Index) -> Index:
        """Return the link id of a NIC port's cable (a = NIC, b = leaf)."""
        return self.first_host_link + port * self.host_link_stride

    def uplink(self, leaf: Index, spine_in_pod: Index, cable: Index = 0) -> Index:
        """Return the link id of the `cable`-th cable from a leaf to a spine of its pod."""
        return (
            self.first_uplink + (leaf * self.spines_per_pod + spine_in_pod) * self.parallel + cable
        )

    def core_link(self, spine: Index, core_of_spine: Index) -> Index:
        """Return the link id from a spine (plane-wide) to its `core_of_spine`-th core."""
        return self.first_core_link + spine * self.cores_per_spine + core_of_spine


@dataclass(frozen=True, slots=True)
class TrunkBlock:
    """The cables between two sites: in each plane, top switch i to top switch i, `links` each."""

    site_a: int
    site_b: int
    planes: int
    tops: int
    links: int
    first_link: int

    @property
    def count(self) -> int:
        """Number of cables."""
        return self.planes * self.tops * self.links

    def link(self, plane: Index, top: Index, cable: Index = 0) -> Index:
        """Return the link id of the `cable`-th cable of top switch `top` in a plane."""
        return self.first_link + (plane * self.tops + top) * self.links + cable


@dataclass(frozen=True, slots=True)
class Adjacency:
    """CSR of both directions: node n's rows are `offsets[n]:offsets[n+1]`.

    `neighbour` is the node at the other end, `link` the directed link that leaves n for it.
    """

    offsets: Column
    neighbour: Column
    link: Column


@dataclass(frozen=True)
class Topology:
    """A whole testbed's network. Arrays are read-only by convention; nothing is ever changed."""

    name: str
    nodes: Nodes
    links: Links
    sites: tuple[SiteBlock, ...]
    blocks: tuple[PlaneBlock, ...]
    trunks: tuple[TrunkBlock, ...]
    first: tuple[int, int, int, int, int, int]
    """The first node id of each kind, indexed by NodeKind."""
    planes: int
    split: bool
    anonymous: bool
    """The testbed names no site, so names of nodes carry none."""

    @property
    def ports_per_nic(self) -> int:
        """Cables of a NIC: one, or one in each plane when the NIC is split."""
        return self.planes if self.split else 1

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return len(self.nodes.kind)

    @property
    def link_count(self) -> int:
        """Number of cables."""
        return len(self.links.a)

    @property
    def accelerators_per_host(self) -> int:
        """Accelerators of a host of the first site; those of other sites may differ."""
        return self.sites[0].accelerators_per_host

    @property
    def nics_per_host(self) -> int:
        """NICs of a host of the first site; those of other sites may differ."""
        return self.sites[0].nics_per_host

    @property
    def nics(self) -> int:
        """Number of NICs."""
        return self.first[NodeKind.SWITCH] - self.first[NodeKind.NIC]

    @property
    def endpoints(self) -> int:
        """Number of endpoints: NICs, or accelerators where there are none."""
        return self.nics or self.first[NodeKind.HOST]

    @property
    def first_endpoint(self) -> int:
        """Node id of endpoint 0."""
        return self.first[NodeKind.NIC] if self.nics else self.first[NodeKind.ACCELERATOR]

    @property
    def arithmetic(self) -> bool:
        """Whether all of it is Clos planes (and trunks), over which paths follow from indices."""
        return not any(block.direct for block in self.blocks)

    def block(self, site: int, plane: int) -> PlaneBlock:
        """Return the layout of one plane of one site."""
        return self.blocks[site * self.planes + plane]

    def site_of(self, endpoint: Index) -> Index:
        """Return the site of an endpoint."""
        return self.nodes.site[self.first_endpoint + endpoint]

    def port_of(self, endpoint: Index) -> Index:
        """Return an endpoint's NIC-port position in its plane, or in every plane when split."""
        starts = np.array([site.first_nic for site in self.sites])
        local = endpoint - starts[self.site_of(endpoint)]
        return local if self.split else local // self.planes

    def plane_of(self, endpoint: Index) -> Index:
        """Return the plane of an endpoint's one port; -1 when its ports are split over all."""
        return self.nodes.plane[self.first_endpoint + endpoint]

    @cached_property
    def cabled(self) -> Column:
        """Return the nodes that cables join, in order: NICs, switches, and what is on a scale-up.

        Accelerators and processors are among them where they have cables of their own.
        """
        network = (self.nodes.kind >= NodeKind.NIC) & (self.nodes.kind != NodeKind.CPU)
        network[self.links.a] = network[self.links.b] = True
        return np.flatnonzero(network)

    @cached_property
    def adjacency(self) -> Adjacency:
        """Return the CSR adjacency, built on first use in O(links log links)."""
        ends = np.stack([self.links.a, self.links.b], axis=1).reshape(-1)
        order = np.argsort(ends, kind="stable").astype(np.int32)
        offsets = np.zeros(self.node_count + 1, np.int64)
        np.cumsum(np.bincount(ends, minlength=self.node_count), out=offsets[1:])
        return Adjacency(offsets, ends[order ^ 1], order)

    @property
    def nbytes(self) -> int:
        """Bytes held by the node and link columns."""
        return sum(
            getattr(table, column.name).nbytes
            for table in (self.nodes, self.links)
            for column in fields(table)
        )

    def to_networkx(self) -> "nx.MultiGraph[int]":
        """Return a networkx view of NICs, switches and cables, for small graphs only.

        Members of laid-out supernodes and accelerators cabled directly are in it too.
        """
        import networkx as nx

        graph: nx.MultiGraph[int] = nx.MultiGraph(name=self.name)
        for node in self.cabled.tolist():
            graph.add_node(
                node,
                kind=NodeKind(int(self.nodes.kind[node])).name.lower(),
                **{key: int(getattr(self.nodes, key)[node]) for key in ("site", "plane", "tier")},
            )
        columns = ("a", "b", "rate", "delay", "klass", "plane")
        rows = zip(*(getattr(self.links, key).tolist() for key in columns), strict=True)
        for link, (a, b, rate, delay, klass, plane) in enumerate(rows):
            graph.add_edge(a, b, link, rate=rate, delay=delay, klass=klass, plane=plane)
        return graph
