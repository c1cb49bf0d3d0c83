"""What `route path` computes."""

from dataclasses import dataclass

import numpy as np
from typing_extensions import TypedDict

from ctestbed.core.errors import InputError
from ctestbed.core.result import UNKNOWN, Metric, Result
from ctestbed.routing.clos import route_flows
from ctestbed.routing.spread import Spread
from ctestbed.topology.build import load_topology
from ctestbed.topology.graph import Topology
from ctestbed.topology.names import endpoint_name, find_endpoint, link_name, node_name


@dataclass(frozen=True, slots=True)
class PathRequest:
    """Which path: endpoints by number or name; `label` tells flows of one pair apart."""

    testbed: str
    source: str
    destination: str
    spread: Spread = "balanced"
    seed: int | None = None
    label: int = 0


class HopData(TypedDict):
    """One cable of a path, in its direction. `rate` bit/s and `delay` ps, or UNKNOWN."""

    link: int
    name: str
    source: str
    target: str
    rate: int | str
    delay: int | str


class PathData(TypedDict):
    """Data of `route path`. `delay` is one way over all cables, in ps, or UNKNOWN."""

    testbed: str
    source: str
    destination: str
    spread: str
    plane: int
    candidates: int
    delay: int | str
    hops: list[HopData]


def run_path(request: PathRequest) -> Result:
    """Route one flow.

    Raises:
        InputError: no such endpoint, the same one twice, or no path between them.
    """
    loaded, topology = load_topology(request.testbed)
    ends = [find_endpoint(topology, text) for text in (request.source, request.destination)]
    if ends[0] == ends[1]:
        raise InputError(
            "CTB-R003",
            f"{endpoint_name(topology, ends[0])} is both source and destination",
            hint="name two different endpoints",
        )
    seed = loaded.testbed.seed if request.seed is None else request.seed
    data = path_between(topology, ends[0], ends[1], request.spread, seed, request.label)
    metrics = (
        Metric(
            "path.hops",
            len(data["hops"]),
            "cables",
            "modelled",
            "lower",
            source="path without detour",
        ),
        Metric(
            "path.delay", data["delay"], "ps", "modelled", "lower", source="sum of cable delays"
        ),
    )
    return Result("ctestbed.route.path/1", data, metrics=metrics, inputs=(loaded.source,))


def path_between(
    topology: Topology, source: int, destination: int, spread: Spread, seed: int, label: int = 0
) -> PathData:
    """Return the path of one flow between endpoint numbers."""
    paths = route_flows(
        topology,
        np.array([source]),
        np.array([destination]),
        spread=spread,
        seed=seed,
        label=np.array([label % 2**64], np.uint64),
    )
    hops = [hop_of(topology, int(directed)) for directed in paths.path(0)]
    delays = [hop["delay"] for hop in hops]
    known = [delay for delay in delays if isinstance(delay, int)]
    return {
        "testbed": topology.name,
        "source": endpoint_name(topology, source),
        "destination": endpoint_name(topology, destination),
        "spread": spread,
        "plane": int(paths.plane[0]),
        "candidates": int(paths.candidates[0]),
        "delay": sum(known) if len(known) == len(delays) else UNKNOWN,
        "hops": hops,
    }


def hop_of(topology: Topology, directed: int) -> HopData:
    """Describe a directed link."""
    links, link = topology.links, directed // 2
    ends = (links.a, links.b) if directed % 2 == 0 else (links.b, links.a)
    rate, delay = int(links.rate[link]), int(links.delay[link])
    return {
        "link": directed,
        "name": link_name(topology, link),
        "source": node_name(topology, int(ends[0][link])),
        "target": node_name(topology, int(ends[1][link])),
        "rate": UNKNOWN if rate < 0 else rate,
        "delay": UNKNOWN if delay < 0 else delay,
    }
