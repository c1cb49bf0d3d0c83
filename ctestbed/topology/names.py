"""Names of nodes and links, computed from the columns, and the way back from text.

A name is a path: `east/h017/nic-4`, `east/p3/leaf-02`, `p0/pod-3/spine-01`. The site is left out
where a testbed names none, the plane where there is only one, the pod where there are no cores.
Numbers are padded to the width of the largest, so names sort; any width is read back.
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
    host = _number(int(nodes.index[int(nodes.parent[node])]), site.hosts)
    if kind == NodeKind.NIC:
        return f"{prefix}h{host}/nic-{_number(index, topology.nics_per_host)}"
    return f"{prefix}h{host}/acc-{_number(index, topology.accelerators_per_host)}"


def _switch_name(topology: Topology, node: int) -> str:
    nodes = topology.nodes
    plane, pod, index = int(nodes.plane[node]), int(nodes.pod[node]), int(nodes.index[node])
    block = topology.block(int(nodes.site[node]), plane)
    tier = Tier(int(nodes.tier[node]))
    text = f"p{_number(plane, topology.planes)}/" if topology.planes > 1 else ""
    text += f"pod-{_number(pod, block.pods)}/" if pod >= 0 else ""
    return f"{text}{tier.name.lower()}-{_number(index, _tier_run(block, tier)[1])}"


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
    name = node_name(topology, topology.first[NodeKind.NIC] + endpoint)
    return name.rpartition("/")[0] if topology.nics_per_host == 1 else name


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
    nodes = topology.nodes
    kind, first = int(nodes.kind[node]), topology.first
    if kind == NodeKind.NIC:
        return node - first[NodeKind.NIC]
    if kind == NodeKind.SWITCH or (kind == NodeKind.HOST and topology.nics_per_host > 1):
        example = endpoint_name(topology, 0)
        raise InputError(
            "CTB-T021",
            f"{text!r} is a {NodeKind(kind).name.lower()}, and traffic starts and ends at a NIC",
            hint=f"name a NIC, such as `{example}`, or an endpoint's number",
        )
    host = node if kind == NodeKind.HOST else int(nodes.parent[node])
    nic = 0
    if kind == NodeKind.ACCELERATOR:
        rail = int(nodes.index[node])
        nic = rail * topology.nics_per_host // topology.accelerators_per_host
    return (host - first[NodeKind.HOST]) * topology.nics_per_host + nic


def find_node(topology: Topology, text: str) -> int:
    """Return the node of this name.

    Raises:
        InputError: no node is called that; the hint names the nearest site or an example.
    """
    site, parts = _split_site(topology, text)
    node = _find_in_host(topology, site, parts)
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
    """Return the last NIC, leaf and switch: their names show the ranges."""
    switches = topology.first[NodeKind.SWITCH]
    return {switches - 1, topology.blocks[-1].first_spine - 1, topology.node_count - 1}


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
    number = node - topology.first[NodeKind.HOST]
    for prefix, kind, count in (
        ("nic-", NodeKind.NIC, topology.nics_per_host),
        ("acc-", NodeKind.ACCELERATOR, topology.accelerators_per_host),
    ):
        member = _within(parts[1], prefix, count)
        if member is not None:
            return topology.first[kind] + number * count + member
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
        index = _within(parts[-1], f"{tier.name.lower()}-", per_pod)
        if index is None:
            continue
        in_pod = block.tiers == Tier.CORE and tier != Tier.CORE
        pod = _within(parts[0], "pod-", block.pods) if in_pod else 0
        if pod is None or len(parts) != 1 + in_pod:
            return None
        return first + pod * per_pod + index
    return None
