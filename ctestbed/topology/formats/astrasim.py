"""ASTRA-sim's network YAML: one entry per dimension of topology, count, bandwidth and latency.

NPUs are numbered with the first dimension fastest. Per dimension, those that differ in it alone
form a ring, a full mesh, or hang on a switch of their own.
"""

from decimal import Decimal
from itertools import combinations, product
from math import prod
from typing import Final

from ctestbed.core.units import MAX_QUANTITY
from ctestbed.core.yamlfile import load_yaml
from ctestbed.topology.cabling import Cabling, Device, DeviceKind
from ctestbed.topology.formats.collect import Collector
from ctestbed.topology.formats.document import Cursor
from ctestbed.topology.formats.source import Source

FORMAT: Final = "astra-sim"

_KEYS: Final = ("topology", "npus_count", "bandwidth", "latency")
_SHAPES: Final = ("Ring", "Switch", "FullyConnected")
_MAX_DIMENSIONS: Final = 16
_BITS_PER_GB: Final = 8 * 10**9


def read(source: Source) -> Cabling:
    """Read a network of ASTRA-sim and lay it out; a GB is 10^9 bytes.

    Raises:
        InputError: not of this format; with its line.
    """
    document = load_yaml(source.text.encode(), source.name)
    root = Cursor(document, document.value)
    columns = {key: list(root.need(key).list()) for key in _KEYS}
    for key, cursor in root.items():
        if key not in _KEYS:
            raise cursor.refuse(f"unknown key `{key}`", f"known: {', '.join(_KEYS)}", "CTB-T101")
    dimensions = len(columns["topology"])
    for key, items in columns.items():
        if len(items) != dimensions or not 1 <= dimensions <= _MAX_DIMENSIONS:
            raise root.need(key).refuse(
                f"`{key}` has {len(items)} entries, and `topology` {dimensions}",
                "each dimension has one entry of every key",
                "CTB-T102",
            )
    shapes = [_shape(item) for item in columns["topology"]]
    counts = [item.integer(1, 2**20) for item in columns["npus_count"]]
    rates = [_quantity(item, _BITS_PER_GB) for item in columns["bandwidth"]]
    delays = [_quantity(item, 1000) for item in columns["latency"]]
    collector = Collector(source, FORMAT)
    npus = prod(counts)
    line = root.need("npus_count").line
    cables = [_cables_of(shape, count) for shape, count in zip(shapes, counts, strict=True)]
    groups = [npus // count for count in counts]
    switches = sum(g for g, shape in zip(groups, shapes, strict=True) if shape == "Switch")
    total = sum(g * each for g, each in zip(groups, cables, strict=True))
    collector.refuse_size(npus + switches, total, line)
    for npu in range(npus):
        collector.add(Device(f"npu-{npu}", DeviceKind.ACCELERATOR, line=line))
    for dimension, shape in enumerate(shapes):
        figures = (rates[dimension], delays[dimension], columns["topology"][dimension].line)
        _lay_out(collector, counts, dimension, shape, figures)
    collector.note(
        "CTB-T127",
        "note",
        "bandwidths are read in GB of 10^9 bytes; ASTRA-sim's analytical model computes with "
        "2^30 bytes",
        root.need("bandwidth").line,
        "multiply by 1.073741824 to compare with its times",
    )
    attributes = {key: str(root.need(key).value) for key in _KEYS}
    return collector.finish(source.name, attributes)


def _shape(item: Cursor) -> str:
    shape = item.text()
    if shape not in _SHAPES:
        known = ", ".join(_SHAPES)
        raise item.refuse(f"{shape[:40]!r} is no topology", f"known: {known}", "CTB-T106")
    return shape


def _quantity(item: Cursor, scale: int) -> int:
    value = item.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 10**9:
        raise item.wrong("a number from 0 to 10^9")
    exact = Decimal(str(value)) * scale
    if exact != exact.to_integral_value() or exact > MAX_QUANTITY:
        raise item.refuse(f"{value} is no whole number of base units", "use fewer digits")
    return int(exact)


def _cables_of(shape: str, count: int) -> int:
    if shape == "FullyConnected":
        return count * (count - 1) // 2
    if shape == "Switch":
        return count
    return count if count > 2 else count - 1  # noqa: PLR2004 - two NPUs make no circle


def _lay_out(
    collector: Collector,
    counts: list[int],
    dimension: int,
    shape: str,
    figures: tuple[int, int, int | None],
) -> None:
    """Add the cables of one dimension; port `d<dimension>-<number>` of an NPU."""
    stride = prod(counts[:dimension])
    count = counts[dimension]
    rate, delay, line = figures
    others = [range(0, prod(counts), stride * count), range(stride)]
    for group, (high, low) in enumerate(product(*others)):
        members = [high + low + stride * place for place in range(count)]
        if shape == "Switch":
            name = f"switch-{dimension}-{group}"
            switch = collector.add(Device(name, DeviceKind.SWITCH, ports=count, line=line))
            for place, npu in enumerate(members):
                ports = (f"d{dimension}", str(place + 1))
                collector.cable(npu, switch, *ports, rate=rate, delay=delay, line=line)
            continue
        pairs = list(combinations(range(count), 2))
        if shape == "Ring":
            pairs = [(place, (place + 1) % count) for place in range(_cables_of(shape, count))]
        for first, second in pairs:
            ports = (f"d{dimension}-{second}", f"d{dimension}-{first}")
            ends = (members[first], members[second])
            collector.cable(*ends, *ports, rate=rate, delay=delay, line=line)
