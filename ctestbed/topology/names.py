"""Names of nodes and links, computed from the columns, and the way back from text.

A name is a path: `east/h017/nic-4`, `east/p3/leaf-02`, `p0/pod-3/spine-01`, `group-03/router-11`,
`sn-2/switch-4`. The site is left out where a testbed names none, the plane where there is only one,
the pod where there are no cores. Scale-up switches: `sn-2/switch-4` of one tier; of two,
`h017/switch-4` below `sn-2/p4/upper-12`. Numbers are padded to the width of the largest, so names
sort; any width is read back.
"""

from typing import Final

from ctestbed.core.errors import InputError
from ctestbed.core.names import did_you_mean
from ctestbed.topology.graph import NodeKind, PlaneBlock, SiteBlock, Tier, Topology

_MAX_DIGITS: Final = 10


def _number(value: int, count: int) -> str:
    return f"{value:0{len(str(count - 1))}d}"


def node_name(topology: Topology, node: int) -> str:
    """Return the name of a node."""
    nodes = topology.nodes
    site = topology.sites[int(nodes.site[node])]
    prefix = "" if topology.anonymous else f"{site.name}/"
    kind, index = int(nodes.kind[node]), int(nodes.index[node])
    if kind == NodeKind.SWITCH:
        return prefix + _switch_name(topology, node)
    if kind == NodeKind.HOST:
        return f"{prefix}h{_number(index, site.hosts)}"
    if kind == NodeKind.SCALE_UP_SWITCH:
        return prefix + _scale_up_name(topology, site, node)
    host = _number(int(nodes.index[int(nodes.parent[node])]), site.hosts)
    word, count = _members(site)[NodeKind(kind)]
    return f"{prefix}h{host}/{word}{_number(index, count)}"


def _members(site: SiteBlock) -> dict[NodeKind, tuple[str, int]]:
    """Return the prefix and the number of each kind of node inside a host."""
    return {
        NodeKind.NIC: ("nic-", site.nics_per_host),
        NodeKind.ACCELERATOR: ("acc-", site.accelerators_per_host),
        NodeKind.CPU: ("cpu-", site.cpus_per_host),
    }


def _scale_up_name(topology: Topology, site: SiteBlock, node: int) -> str:
    nodes, (domains,) = topology.nodes, site.supernodes
    index, sub_plane = int(nodes.index[node]), int(nodes.plane[node])
    switch = f"switch-{_number(index, domains.switches)}"
    if nodes.parent[node] >= 0:
        return f"h{_number(int(nodes.index[int(nodes.parent[node])]), site.hosts)}/{switch}"
    domain = f"sn-{_number(int(nodes.supernode[node]) - domains.number, domains.count)}"
    if not domains.uppers:
        return f"{domain}/{switch}"
    plane = _number(sub_plane, domains.switches)
    return f"{domain}/p{plane}/upper-{_number(index, domains.uppers)}"


def _switch_name(topology: Topology, node: int) -> str:
    nodes = topology.nodes
    plane, pod, index = int(nodes.plane[node]), int(nodes.pod[node]), int(nodes.index[node])
    block = topology.block(int(nodes.site[node]), plane)
    tier = Tier(int(nodes.tier[node]))
    text = f"p{_number(plane, topology.planes)}/" if topology.planes > 1 else ""
    text += f"{_pod_word(block)}{_number(pod, block.pods)}/" if pod >= 0 else ""
    return f"{text}{_tier_word(block, tier)}{_number(index, _tier_run(block, tier)[1])}"


def _pod_word(block: PlaneBlock) -> str:
    return "group-" if block.direct else "pod-"


def _tier_word(block: PlaneBlock, tier: Tier) -> str:
    return "router-" if block.direct else f"{tier.name.lower()}-"


def _tier_run(block: PlaneBlock, tier: Tier) -> tuple[int, int]:
    """Return the first node of a tier in a plane, and how many there are per pod (or in all)."""
    return {
        Tier.LEAF: (block.first_leaf, block.leaves_per_pod),
        Tier.SPINE: (block.first_spine, block.spines_per_pod),
        Tier.CORE: (block.first_core, block.cores),
    }[tier]


def port_names(topology: Topology, link: int) -> tuple[str, str]:
    """Return the names of the ports at a cable's two ends, `NODE:PORT`, the lower end first."""
    links = topology.links
    lower = f"{node_name(topology, int(links.a[link]))}:{int(links.a_port[link])}"
    return lower, f"{node_name(topology, int(links.b[link]))}:{int(links.b_port[link])}"


def link_name(topology: Topology, link: int) -> str:
    """Return the name of a cable: both of its ports."""
    return " - ".join(port_names(topology, link))


def directed_link_name(topology: Topology, directed: int) -> str:
    """Return the name of one direction of a cable, `2*link + direction`: from -> to."""
    ends = [topology.links.a, topology.links.b]
    source, target = ends if directed % 2 == 0 else ends[::-1]
    link = directed // 2
    return f"{node_name(topology, int(source[link]))} -> {node_name(topology, int(target[link]))}"


def endpoint_name(topology: Topology, endpoint: int) -> str:
    """Return the name of an endpoint: its host alone where that has one NIC."""
    node = topology.first_endpoint + endpoint
    name = node_name(topology, node)
    site = topology.sites[int(topology.nodes.site[node])]
    return name.rpartition("/")[0] if topology.nics and site.nics_per_host == 1 else name


def find_endpoint(topology: Topology, text: str) -> int:
    """Return the endpoint that `text` names: a number, a NIC, an accelerator, a one-NIC host.

    An accelerator stands for the NIC it is nearest to: accelerators share NICs evenly, in order.

    Raises:
        InputError: nothing is called that, or it is not an endpoint.
    """
    if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
        if int(text) < topology.endpoints:
            return int(text)
        raise InputError(
            "CTB-T020",
            f"there is no endpoint {int(text)}: {topology.name} has {topology.endpoints}",
            hint=f"endpoints count from 0 to {topology.endpoints - 1}",
        )
    node = find_node(topology, text)
    kind = NodeKind(int(topology.nodes.kind[node]))
    endpoint = _endpoint_of(topology, node, kind)
    if endpoint is None:
        example = endpoint_name(topology, 0)
        word = "a NIC" if topology.nics else "an accelerator"
        raise InputError(
            "CTB-T021",
            f"{text!r} is a {kind.name.lower().replace('_', '-')}, "
            f"and traffic starts and ends at {word}",
            hint=f"name {word}, such as `{example}`, or an endpoint's number",
        )
    return endpoint


def _endpoint_of(topology: Topology, node: int, kind: NodeKind) -> int | None:
    """Return the endpoint that a node stands for; None where it stands for none, or several."""
    nodes, first = topology.nodes, topology.first
    site = topology.sites[int(nodes.site[node])]
    if not topology.nics:
        return node if kind == NodeKind.ACCELERATOR else None
    if kind == NodeKind.NIC:
        return node - first[NodeKind.NIC]
    if not site.nics_per_host:
        return None
    nic = 0
    if kind == NodeKind.ACCELERATOR:
        rail = int(nodes.index[node])
        nic = rail * site.nics_per_host // site.accelerators_per_host
    elif kind != NodeKind.HOST or site.nics_per_host > 1:
        return None
    host = node if kind == NodeKind.HOST else int(nodes.parent[node])
    return site.first_nic + (host - site.first_host) * site.nics_per_host + nic


def find_node(topology: Topology, text: str) -> int:
    """Return the node of this name.

    Raises:
        InputError: no node is called that; the hint names the nearest site or an example.
    """
    site, parts = _split_site(topology, text)
    node = _find_in_host(topology, site, parts)
    if node is None:
        node = _find_scale_up(site, parts)
    if node is None:
        node = _find_switch(topology, topology.sites.index(site), parts)
    if node is None:
        examples = [node_name(topology, node) for node in sorted(_examples(topology))]
        raise InputError(
            "CTB-T020",
            f"{topology.name} has no node {text!r}",
            hint=f"names look like {', '.join(f'`{name}`' for name in examples)}",
        )
    return node


def _examples(topology: Topology) -> set[int]:
    """Return the last accelerator or NIC, leaf and switches: their names show the ranges."""
    first = topology.first
    end = topology.first_endpoint + topology.endpoints - 1
    switches = {first[NodeKind.SCALE_UP_SWITCH] - 1, first[NodeKind.CPU] - 1}
    leaf = topology.blocks[-1].first_spine - 1
    return {end} | {node for node in {leaf, *switches} if node >= first[NodeKind.SWITCH]}


def _split_site(topology: Topology, text: str) -> tuple[SiteBlock, list[str]]:
    head, *rest = text.split("/")
    if topology.anonymous:
        return topology.sites[0], [head, *rest]
    for site in topology.sites:
        if site.name == head:
            return site, rest
    names = [site.name for site in topology.sites]
    raise InputError(
        "CTB-T020",
        f"{topology.name} has no site {head!r}, where a name such as {text!r} starts",
        hint=did_you_mean(head, names),
    )


def _within(text: str, prefix: str, count: int) -> int | None:
    """Read `<prefix><number>` with the number below `count`."""
    digits = text.removeprefix(prefix)
    if not text.startswith(prefix) or not (digits.isascii() and digits.isdigit()):
        return None
    if len(digits) > _MAX_DIGITS or int(digits) >= count:
        return None
    return int(digits)


def _find_in_host(topology: Topology, site: SiteBlock, parts: list[str]) -> int | None:
    host = _within(parts[0], "h", site.hosts) if parts else None
    if host is None:
        return None
    node = site.first_host + host
    if len(parts) == 1:
        return node
    if len(parts) != 2:  # noqa: PLR2004 - host and member
        return None
    for kind, (prefix, count) in _members(site).items():
        member = _within(parts[1], prefix, count)
        if member is not None:
            first = {
                NodeKind.ACCELERATOR: site.first_accelerator,
                NodeKind.NIC: topology.first[NodeKind.NIC] + site.first_nic,
                NodeKind.CPU: site.first_cpu,
            }[kind]
            return first + host * count + member
    for domains in site.supernodes:
        switch = _within(parts[1], "switch-", domains.switches if domains.uppers else 0)
        if switch is not None:
            domain, inside = divmod(host, domains.hosts)
            first = domains.first_switch + domain * domains.switches_each
            return first + inside * domains.switches + switch
    return None


def _find_scale_up(site: SiteBlock, parts: list[str]) -> int | None:
    """Find a scale-up switch that is its supernode's, not its host's."""
    for domains in site.supernodes:
        domain = _within(parts[0], "sn-", domains.count) if parts else None
        if domain is None:
            continue
        first = domains.first_switch + domain * domains.switches_each
        if domains.uppers and len(parts) == 3:  # noqa: PLR2004 - supernode, sub-plane, switch
            plane = _within(parts[1], "p", domains.switches)
            upper = _within(parts[2], "upper-", domains.uppers)
            if plane is not None and upper is not None:
                return first + domains.lowers + plane * domains.uppers + upper
        if not domains.uppers and len(parts) == 2:  # noqa: PLR2004 - supernode, switch
            switch = _within(parts[1], "switch-", domains.switches)
            return None if switch is None else first + switch
    return None


def _find_switch(topology: Topology, site: int, parts: list[str]) -> int | None:
    plane: int | None = 0
    if topology.planes > 1:
        plane = _within(parts[0], "p", topology.planes) if parts else None
        parts = parts[1:]
    if plane is None or not parts:
        return None
    block = topology.block(site, plane)
    for tier in (Tier.LEAF, Tier.SPINE, Tier.CORE):
        first, per_pod = _tier_run(block, tier)
        index = _within(parts[-1], _tier_word(block, tier), per_pod)
        if index is None:
            continue
        in_pod = block.direct or (block.tiers == Tier.CORE and tier != Tier.CORE)
        pod = _within(parts[0], _pod_word(block), block.pods) if in_pod else 0
        if pod is None or len(parts) != 1 + in_pod:
            return None
        return first + pod * per_pod + index
    return None
