"""Edges of graph files as cables; in a directed graph, those there and back are one."""

from collections.abc import Iterable
from dataclasses import dataclass

from ctestbed.topology.formats.collect import Collector
from ctestbed.topology.formats.properties import CableFields


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge as the file has it; `a` and `b` are positions of devices."""

    a: int
    b: int
    fields: CableFields
    line: int | None
    pointer: str | None = None


def add_edges(collector: Collector, edges: Iterable[Edge], *, directed: bool) -> None:
    """Add edges as cables.

    Raises:
        InputError: a port that has a cable already, or too many cables.
    """
    waiting: dict[tuple[int, str | None, int, str | None], list[Edge]] = {}
    kept: list[tuple[Edge, int | None]] = []
    places: dict[int, int] = {}
    for edge in edges:
        near, far = (edge.a, edge.fields.a_port), (edge.b, edge.fields.b_port)
        back = waiting.get((*far, *near)) if directed and near != far else None
        if back:
            position = places[id(back[0])]
            kept[position] = (back.pop(0), edge.line)
            continue
        places[id(edge)] = len(kept)
        kept.append((edge, edge.line))
        waiting.setdefault((*near, *far), []).append(edge)
    for edge, b_line in kept:
        fields = edge.fields
        collector.cable(
            edge.a,
            edge.b,
            fields.a_port,
            fields.b_port,
            rate=fields.rate,
            delay=fields.delay,
            length=fields.length,
            line=edge.line,
            b_line=b_line,
            extra=fields.extra,
            pointer=edge.pointer,
        )
