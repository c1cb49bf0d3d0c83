"""The structure of a fabric as metrics, each with the method that it rests on."""

from collections.abc import Iterator
from typing import Literal

from ctestbed.core.result import Better, Metric
from ctestbed.topology.analysis.data import PlaneStructure, StructureData


def structure_metrics(data: StructureData) -> Iterator[Metric]:
    """Yield the figures of the worst plane: hops at most, paths at fewest, bounds of halves.

    Shortest paths and next hops are the most of any plane: what a path selector must search.
    """
    planes = data["planes"]
    hops = [plane["diameter"] for plane in planes if plane["diameter"] is not None]
    if hops:
        yield _metric("structure.diameter", max(hops), "hops", planes, "hops")
    shortest = [plane["shortest_paths"] for plane in planes]
    most = [spread["most"] for spread in shortest if spread and spread["most"] is not None]
    if most:
        yield _metric("structure.shortest_paths", max(most), "paths", planes, "shortest_paths")
    fans = [plane["fan_out"] for plane in planes if plane["fan_out"] is not None]
    if fans:
        yield _metric("structure.fan_out", max(fans), "next hops", planes, "shortest_paths")
    disjoint = [spread["fewest"] for plane in planes if (spread := plane["disjoint_paths"])]
    if disjoint:
        yield _metric("structure.disjoint_paths", min(disjoint), "paths", planes, "disjoint_paths")
    yield from _bounds(planes)
    lost = [point["most"] for point in data["single_points"] if point["cuts"] == "network"]
    if data["hosts"]:
        yield Metric(
            "structure.hosts_lost_by_one",
            max(lost, default=0),
            "hosts",
            "modelled",
            better="lower",
            source="what hosts hang on, counted from the arrays",
        )


def _bounds(planes: list[PlaneStructure]) -> Iterator[Metric]:
    """Yield the bounds of the site whose planes together can exchange least."""
    sums: dict[str | None, list[int]] = {}
    methods: dict[str, None] = {}
    for plane in planes:
        bounds = plane["bisection"]
        if bounds is None or bounds["unit"] != "bit/s":
            return
        count = len(plane["planes"])
        total = sums.setdefault(plane["site"], [0, 0])
        total[0] += count * bounds["at_least"]
        total[1] += count * bounds["at_most"]
        methods |= dict.fromkeys(bounds["method"].split("; "))
    if sums:
        least = min(sums.values())
        for name, value in zip(("at_least", "at_most"), least, strict=True):
            yield Metric(
                f"structure.bisection.{name}",
                value,
                "bit/s",
                "modelled",
                better="higher",
                source="; ".join(methods),
            )


def _metric(
    name: str,
    value: int,
    unit: str,
    planes: list[PlaneStructure],
    figure: Literal["hops", "shortest_paths", "disjoint_paths"],
) -> Metric:
    methods = dict.fromkeys(plane["methods"][figure] for plane in planes)
    source = "; ".join(method for method in methods if method)
    better: Better = "higher" if figure == "disjoint_paths" else "none"
    return Metric(name, value, unit, "modelled", better=better, source=source)
