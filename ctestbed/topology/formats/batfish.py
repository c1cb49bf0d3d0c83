"""Batfish's layer-1 topology: JSON edges of two ends, each a host name and an interface.

An edge joins both ways, so the same cable may stand once or in both directions.
"""

from typing import Final

from ctestbed.topology.cabling import Cabling
from ctestbed.topology.formats.collect import Collector
from ctestbed.topology.formats.document import Cursor, JSONDocument
from ctestbed.topology.formats.source import Source

FORMAT: Final = "batfish"


def read(source: Source, document: JSONDocument) -> Cabling:
    """Read a layer-1 topology of Batfish.

    Raises:
        InputError: not of this format, or a port with two neighbours; with its place.
    """
    root = Cursor(document, document.value)
    collector = Collector(source, FORMAT)
    edges = root.need("edges")
    lines = document.item_lines(edges.path) if isinstance(edges.value, list) else []
    stated: dict[tuple[str, str, str, str], int] = {}
    for edge, line in zip(edges.list(), lines, strict=False):
        near, far = (
            (end.need("hostname").text(), end.need("interfaceName").text())
            for end in (edge.need("node1"), edge.need("node2"))
        )
        if (*near, *far) in stated:
            raise edge.refuse(
                f"{near[0]}:{near[1]} - {far[0]}:{far[1]} stands twice; "
                f"the first time is line {stated[*near, *far]}",
                "keep one",
                "CTB-T103",
            )
        stated[*near, *far] = line
    for (name, port, far_name, far_port), line in stated.items():
        back = stated.get((far_name, far_port, name, port))
        if back is not None and back < line:
            continue
        first, second = collector.known(name, line), collector.known(far_name, line)
        collector.cable(first, second, port, far_port, line=line, b_line=back)
    return collector.finish(source.name)
