"""The structure of what was cabled: every connected part by itself, and what its hosts hang on.

Switches are nodes; hosts and adapters hang on them and forward nothing. Where a record has no
switch, its devices are cabled to each other and are the nodes; where it has nothing but switches,
the leaves stand for what is below them. A host is what the record names as one. An adapter whose
host it does not tell is in none, or where it tells no host at all, stands for its own.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from ctestbed.core.errors import Where
from ctestbed.core.result import Finding
from ctestbed.topology.analysis.bisection import bracket_bisection
from ctestbed.topology.analysis.closed import mean_of
from ctestbed.topology.analysis.cuts import find_partings
from ctestbed.topology.analysis.data import (
    Element,
    PlaneStructure,
    SinglePoint,
    StructureData,
    ThinHosts,
)
from ctestbed.topology.analysis.design import LOWLINK, Structure
from ctestbed.topology.analysis.diversity import measure_diversity
from ctestbed.topology.analysis.exposed import findings_of_points, hanging_points, parting_points
from ctestbed.topology.analysis.homing import Homing, attach
from ctestbed.topology.analysis.metrics import structure_metrics
from ctestbed.topology.analysis.multigraph import Ints, Multigraph, make_multigraph
from ctestbed.topology.analysis.planes import bisection_data, hops_of, searched_from
from ctestbed.topology.analysis.search import measure_distances
from ctestbed.topology.cabling import SCALE_UP, Cabling, DeviceKind, Roles, infer_roles

PARTS: Final = 16
"""Unlike parts of a record that are analysed; more are counted only."""
SHOWN: Final = 12
CLASSES: Final = 5


@dataclass(frozen=True)
class Attached:
    """The fabric of a record, and a row per cable of a known host: host, adapter and node."""

    cabling: Cabling
    graph: Multigraph
    hosts: tuple[str, ...]
    host: Ints
    adapter: Ints
    node: Ints
    unnamed: int
    switched: bool

    def name(self, node: int) -> str:
        """Return the name of a node's device."""
        return self.cabling.devices[int(self.graph.original[node])].name


def analyse_record(cabling: Cabling, roles: Roles | None = None) -> Structure | None:
    """Return the structure of a record; None where it has no cable to a switch or between any."""
    if not len(cabling.cables):
        return None
    attached = attach_record(cabling, infer_roles(cabling) if roles is None else roles)
    if not len(attached.graph.leaves):
        return None
    where = Where(cabling.file)
    planes, left_out = _parts(attached)
    homing = attach(attached.host, attached.adapter, attached.node)
    points = _hanging(attached, homing)
    parted = _partings(attached)
    thin = list(_thin(attached, homing))
    findings = [
        *findings_of_points(points, len(homing.owners), where, "warning"),
        *findings_of_points(parted, len(homing.owners), where, "warning"),
        *_thin_findings(thin, where),
        *_unreachable(attached, where),
    ]
    if left_out:
        text = f"{left_out} further parts of the record are counted and not analysed"
        hint = "split the record to have each looked at"
        findings.append(Finding("CTB-T139", "note", text, where, hint))
    data: StructureData = {
        "hosts": len(homing.owners),
        "unnamed": attached.unnamed,
        "planes": planes,
        "single_points": [*points, *parted],
        "thin_hosts": thin,
        "sites": None,
    }
    return Structure(data, tuple(findings), tuple(structure_metrics(data)))


def attach_record(cabling: Cabling, roles: Roles) -> Attached:
    """Return a record as a graph of what forwards, in order of name; the rest hangs on it."""
    a, b = cabling.cables.a.astype(np.int64), cabling.cables.b.astype(np.int64)
    through = roles.switch & np.array([d.role != SCALE_UP for d in cabling.devices], bool)
    switched = bool(through.any())
    if not switched:
        through = roles.endpoint.copy()
    by_name = sorted(np.flatnonzero(through).tolist(), key=lambda d: cabling.devices[d].name)
    original = np.array(by_name, np.int64)
    position = np.full(len(cabling.devices), -1, np.int64)
    position[original] = np.arange(len(original))
    inner = through[a] & through[b]
    hung = np.flatnonzero(through[a] != through[b])
    lower = np.where(through[a], b, a)[hung]
    upper = np.where(through[a], a, b)[hung]
    known = roles.endpoint[lower]
    lower, upper, rate = lower[known], upper[known], cabling.cables.rate[hung][known]
    if not len(lower):  # nothing hangs on anything: leaves, or all there is, stand for themselves
        chosen = through & (roles.tier == 1) if switched else through
        lower = upper = np.flatnonzero(chosen if chosen.any() else through)
        rate = _own_rates(cabling, inner)[lower]
        switched = False
    graph = make_multigraph(
        len(original),
        (position[a[inner]], position[b[inner]]),
        cabling.cables.rate[inner],
        (position[upper], rate),
        original,
    )
    return _name_hosts(cabling, graph, lower, position[upper], switched=switched)


def _own_rates(cabling: Cabling, rows: Ints) -> Ints:
    """Return, for each device, what its cables among the chosen take together; -1 where unknown."""
    total = np.zeros(len(cabling.devices), np.int64)
    unknown = np.zeros(len(cabling.devices), bool)
    for end in (cabling.cables.a[rows], cabling.cables.b[rows]):
        np.add.at(total, end, cabling.cables.rate[rows])
        unknown[end[cabling.cables.rate[rows] < 0]] = True
    return np.where(unknown, -1, np.maximum(total, 1))


def _name_hosts(
    cabling: Cabling, graph: Multigraph, adapter: Ints, node: Ints, *, switched: bool
) -> Attached:
    """Tell which host each adapter is in."""
    devices = [cabling.devices[device] for device in adapter.tolist()]
    named = np.array([d.host is not None or d.kind == DeviceKind.HOST for d in devices], bool)
    kept = named if named.any() else np.ones(len(devices), bool)
    names = [d.host or d.name for d, keep in zip(devices, kept.tolist(), strict=True) if keep]
    hosts = tuple(sorted(set(names)))
    index = {host: number for number, host in enumerate(hosts)}
    return Attached(
        cabling=cabling,
        graph=graph,
        hosts=hosts,
        host=np.array([index[name] for name in names], np.int64),
        adapter=adapter[kept],
        node=node[kept],
        unnamed=len(np.unique(adapter[~kept])),
        switched=switched,
    )


def _parts(attached: Attached) -> tuple[list[PlaneStructure], int]:
    """Return the structure of each connected part with endpoints; equal ones stand together."""
    graph = attached.graph
    labels = graph.components
    found: dict[tuple[bytes, ...], PlaneStructure] = {}
    left_out = 0
    for number, label in enumerate(np.unique(labels[graph.leaves]).tolist()):
        part = graph.induced(labels == label)
        columns = (part.low, part.high, part.cables, part.rate, part.ports, part.port_rate)
        key = tuple(column.tobytes() for column in columns)
        if key in found:
            found[key]["planes"].append(number)
        elif len(found) < PARTS:
            found[key] = _part(attached, part, number)
        else:
            left_out += 1
    return list(found.values()), left_out


def _part(attached: Attached, graph: Multigraph, number: int) -> PlaneStructure:
    distances = measure_distances(graph)
    hops = hops_of(distances)
    leaves = len(graph.leaves)
    structure: PlaneStructure = {
        "site": None,
        "planes": [number],
        "leaves": leaves,
        "switches": graph.nodes,
        "diameter": distances.diameter,
        "mean_hops": mean_of(hops),
        "hops": {str(distance): pairs for distance, pairs in hops.items()},
        "searched": distances.sources,
        "unreachable": distances.unreachable,
        "fan_out": None,
        "shortest_paths": None,
        "disjoint_paths": None,
        "weakest": [],
        "bisection": bisection_data(bracket_bisection(graph), graph),
        "methods": {
            "hops": searched_from(distances.sources, leaves),
            "shortest_paths": None,
            "disjoint_paths": None,
        },
    }
    if leaves > 1:
        found = measure_diversity(graph, hops=distances.diameter)
        structure["shortest_paths"], structure["fan_out"] = found.shortest, found.fan_out
        structure["disjoint_paths"] = found.disjoint
        structure["weakest"] = [
            attached.cabling.devices[int(graph.original[node])].name for node in found.weakest or ()
        ]
        structure["methods"]["shortest_paths"] = searched_from(found.sources, leaves)
        structure["methods"]["disjoint_paths"] = found.flow_method
    return structure


def _hanging(attached: Attached, homing: Homing) -> list[SinglePoint]:
    """Return what hosts hang on alone, and what their adapters do where hosts have several."""
    word: Element = "leaf" if attached.switched else "router"
    if not attached.switched:
        return []
    points = hanging_points(homing, "network", None, len, attached.name, word)
    if int(np.median(homing.adapters)) > 1 and int(np.median(homing.leaves)) > 1:
        rails = attach(attached.adapter, attached.adapter, attached.node)
        host_of = np.zeros(len(attached.cabling.devices), np.int64)
        host_of[attached.adapter] = attached.host

        def hosts(owners: Ints) -> int:
            return len(np.unique(host_of[owners]))

        found = hanging_points(rails, "rail", None, hosts, attached.name, word)
        points += [point for point in found if point["element"] != "adapter"]
    return points


def _partings(attached: Attached) -> list[SinglePoint]:
    if len(attached.graph.low) > LOWLINK:
        return []
    partings = find_partings(attached.graph, attached.host, attached.node)

    def kind(_: int) -> Element:
        return "switch" if attached.switched else "router"

    return parting_points(partings, None, [], attached.name, kind)


def _thin(attached: Attached, homing: Homing) -> Iterator[ThinHosts]:
    """Yield the hosts that hang on fewer leaves than most hosts with as many adapters do."""
    if not attached.switched:
        return
    counts = Counter(homing.leaves.tolist())
    usual, many = max(counts.items(), key=lambda item: (item[1], item[0]))
    if 2 * many <= len(homing.owners):
        return  # no number of leaves is the usual one
    for leaves in sorted(count for count in counts if count < usual):
        thin = homing.owners[homing.leaves == leaves]
        names = sorted(attached.hosts[host] for host in thin.tolist())
        yield {"leaves": leaves, "usual": usual, "hosts": names}


def _thin_findings(thin: list[ThinHosts], where: Where) -> list[Finding]:
    found = []
    for group in thin[:CLASSES]:
        count = len(group["hosts"])
        named = ", ".join(group["hosts"][:SHOWN]) + (", ..." if count > SHOWN else "")
        many = f"{count:,} host{'s hang' if count > 1 else ' hangs'}"
        word = "leaf" if group["leaves"] == 1 else "leaves"
        text = f"{many} on {group['leaves']} {word}, where most hang on {group['usual']}: {named}"
        hint = "look for an absent leaf or a pulled cable, unless these are hosts of another kind"
        found.append(Finding("CTB-T135", "warning", text, where, hint))
    return found


def _unreachable(attached: Attached, where: Where) -> list[Finding]:
    """Find hosts that share no connected part with most others."""
    labels = attached.graph.components[attached.node]
    pairs = np.unique(np.stack([labels, attached.host]), axis=1)
    parts, sizes = np.unique(pairs[0], return_counts=True)
    if len(parts) < 2:  # noqa: PLR2004 - two parts at least
        return []
    largest = parts[int(np.argmax(sizes))]
    inside = np.unique(attached.host[labels == largest])
    outside = np.setdiff1d(attached.host, inside)
    if not len(outside):
        return []
    names = sorted(attached.hosts[host] for host in outside.tolist())
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")  # noqa: PLR2004 - names shown
    text = (
        f"{len(names):,} of {len(attached.hosts):,} hosts share no part of the fabric with the "
        f"others, and cannot reach them: {shown}"
    )
    hint = "look for cables missing between switches, or records of two networks in one file"
    return [Finding("CTB-T136", "warning", text, where, hint)]
