"""Charts as SVG text, made without a browser: bars, lines and distributions.

Colours are Okabe and Ito's, told apart by colour-blind readers; lines differ in their dashes too.
A page's style sheet may recolour the classes `s0`..`s7`; alone, a chart wears its own colours.
"""

import math
from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree as ET

from ctestbed.bench.report.axes import Axis, build_axis, drawable, format_figure, thin_out
from ctestbed.bench.report.blocks import Plot, Series

WIDTH: Final = 560
_RIGHT: Final = 24
_LINE_HEIGHT: Final = 260
_CHAR: Final = 6.4
"""The mean width of a character at the charts' 11-pixel type."""

_COLOURS: Final = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5d5d5d", "#332288",
)  # fmt: skip
_DASHES: Final = ("", "6 3", "2 2", "8 3 2 3")
_MAX_ROWS: Final = 120
_VALUES_SHOWN: Final = 40
_MARKERS_SHOWN: Final = 60
_LABEL_CHARS: Final = 26

_Points = list[tuple[float, float]]


def draw_plot(plot: Plot, identifier: str) -> str:
    """Return a chart as one `<svg>` element with a title, a description and axes with units.

    `identifier` makes the element's ids unique in a page. Figures that are not finite are left
    out. Every mark carries a `<title>` with its figures.
    """
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": f"chart {plot.kind}",
            "role": "img",
            "aria-labelledby": f"{identifier}-title {identifier}-desc",
            "font-family": "system-ui, sans-serif",
            "font-size": "11",
        },
    )
    _add(root, "title", plot.title, id=f"{identifier}-title")
    _add(root, "desc", _describe(plot), id=f"{identifier}-desc")
    top = _draw_legend(root, plot)
    bottom = _draw_bars(root, plot, top) if plot.kind == "bar" else _draw_lines(root, plot, top)
    root.set("viewBox", f"0 0 {WIDTH} {_number(bottom)}")
    return ET.tostring(root, encoding="unicode")


def _describe(plot: Plot) -> str:
    kind = {"bar": "Bar chart", "line": "Line chart", "ecdf": "Cumulative distribution"}[plot.kind]
    values = [value for series in plot.series for value in series.y if drawable(value)]
    names = ", ".join(series.name for series in plot.series if series.name)
    parts = [f"{kind} of {plot.y_label} by {plot.x_label}", plot.provenance]
    parts += [f"series: {names}"] if names else []
    if values:
        parts.append(f"from {format_figure(min(values))} to {format_figure(max(values))}")
    parts += [plot.note] if plot.note else []
    return "; ".join(parts)


def _draw_legend(root: ET.Element, plot: Plot) -> float:
    """Draw the names of the series in rows; return where the chart's own box begins."""
    names = [series.name for series in plot.series]
    if not any(names):
        return 12.0
    legend = _add(root, "g", **{"class": "legend"})
    left, line = 4.0, 14.0
    for index, full in enumerate(names):
        name = _clip(full, 60)
        width = 26 + _CHAR * len(name) + 14
        if left > 4 and left + width > WIDTH:  # noqa: PLR2004 - the first of a row always fits
            left, line = 4.0, line + 16
        if plot.kind == "bar":
            _add(legend, "rect", x=left + 6, y=line - 9, width=12, height=10, **_fill(index))
        else:
            _add(legend, "path", d=f"M{_number(left)} {_number(line - 4)}h20", **_stroke(index))
        _text(legend, name, left + 26, line)
        left += width
    return line + 16


def _draw_bars(root: ET.Element, plot: Plot, top: float) -> float:
    """Draw a row per label, a bar per series in it; return the chart's height."""
    count = max([len(plot.labels), *(len(series.y) for series in plot.series)])
    rows = min(count, _MAX_ROWS)
    labels = [plot.labels[row] if row < len(plot.labels) else str(row + 1) for row in range(rows)]
    bars = rows * max(len(plot.series), 1)
    thick = min(18.0, max(2.5, 280 / max(bars, 1)))
    pitch = thick * max(len(plot.series), 1) + min(10.0, thick / 2)
    longest = max((min(len(label), _LABEL_CHARS) for label in labels), default=0)
    left = 12 + _CHAR * longest + 8
    values = [value for series in plot.series for value in series.y[:rows] if drawable(value)]
    reserve = 46 if bars <= _VALUES_SHOWN else 0
    axis = build_axis(values, left, WIDTH - _RIGHT - reserve, with_zero=True)
    floor = top + rows * pitch + 4
    _draw_x_axis(root, axis, top, floor, plot.y_label)
    every = max(1, math.ceil(13 / pitch))
    for row, label in enumerate(labels):
        middle = top + row * pitch + pitch / 2
        if row % every == 0:
            _text(root, _clip(label, _LABEL_CHARS), left - 6, middle + 4, anchor="end")
        for index, series in enumerate(plot.series):
            if row < len(series.y) and drawable(series.y[row]):
                y = middle - thick * len(plot.series) / 2 + index * thick
                tip = _tip(series.name, label, series.y[row], plot.y_label)
                _draw_bar(root, axis, series.y[row], (y, thick), index, tip, bool(reserve))
    zero = axis.place(0)
    _add(root, "path", d=f"M{_number(zero)} {_number(top)}V{_number(floor)}", **_AXIS)
    if count > rows:
        _text(root, f"... {count - rows} more, not drawn", left, floor + 50)
    return floor + (58 if count > rows else 40)


def _draw_bar(
    root: ET.Element,
    axis: Axis,
    value: float,
    row: tuple[float, float],
    index: int,
    tip: str,
    with_value: bool,
) -> None:
    y, thick = row
    begin, end = sorted((axis.place(0), axis.place(value)))
    gap = 1 if thick > 5 else 0  # noqa: PLR2004 - thin bars touch
    bar = _add(
        root, "rect", x=begin, y=y + gap / 2, width=max(end - begin, 0.5),
        height=thick - gap, **_fill(index, "mark"),
    )  # fmt: skip
    _add(bar, "title", tip)
    if with_value:
        _text(root, format_figure(value), end + 4, y + thick / 2 + 4, kind="value")


def _draw_lines(root: ET.Element, plot: Plot, top: float) -> float:
    """Draw each series as a line, or as the steps of a distribution; return the height."""
    lines = [_points(series, steps=plot.kind == "ecdf") for series in plot.series]
    xs = [x for points in lines for x, _ in points]
    ys = [y for points in lines for _, y in points]
    floor = top + 14 + _LINE_HEIGHT
    vertical = build_axis(
        [0.0, 1.0] if plot.kind == "ecdf" else ys, floor, top + 14, with_zero=False
    )
    left = 16 + _CHAR * max(len(format_figure(tick)) for tick in vertical.ticks)
    across = build_axis(xs, left, WIDTH - _RIGHT, with_zero=False)
    _text(root, plot.y_label, 4, top + 4, kind="axis-label")
    for tick in vertical.ticks:
        y = vertical.place(tick)
        _add(root, "path", d=f"M{_number(left)} {_number(y)}H{WIDTH - _RIGHT}", **_GRID)
        _text(root, format_figure(tick), left - 6, y + 4, anchor="end", kind="tick")
    _draw_x_axis(root, across, top + 14, floor, plot.x_label)
    _add(root, "path", d=f"M{_number(left)} {_number(floor)}H{WIDTH - _RIGHT}", **_AXIS)
    for index, (series, points) in enumerate(zip(plot.series, lines, strict=True)):
        placed = [(across.place(x), vertical.place(y)) for x, y in thin_out(points)]
        path = _path(placed, steps=plot.kind == "ecdf")
        if path:
            _add(root, "path", d=path, **_stroke(index))
        if len(points) <= _MARKERS_SHOWN:
            _draw_markers(root, plot, series.name, points, placed, index)
    return floor + 40


def _draw_markers(
    root: ET.Element, plot: Plot, name: str, points: _Points, placed: _Points, index: int
) -> None:
    radius = 3 if plot.kind == "line" else 2
    for (x, y), (across, down) in zip(points, placed, strict=True):
        mark = _add(root, "circle", cx=across, cy=down, r=radius, **_fill(index, "mark"))
        _add(mark, "title", _tip(name, f"{format_figure(x)} {plot.x_label}", y, plot.y_label))


def _points(series: Series, *, steps: bool) -> _Points:
    """Return the points that can be drawn; a distribution without y is counted from its x."""
    if steps and not series.y:
        ordered = sorted(x for x in series.x if drawable(x))
        return [(x, (rank + 1) / len(ordered)) for rank, x in enumerate(ordered)]
    pairs = zip(series.x, series.y, strict=False)
    return [(x, y) for x, y in pairs if drawable(x) and drawable(y)]


def _path(points: Sequence[tuple[float, float]], *, steps: bool) -> str:
    if not points:
        return ""
    (x, y), *rest = points
    head = f"M{_number(x)} {_number(y)}"
    if steps:
        return head + "".join(f"H{_number(x)}V{_number(y)}" for x, y in rest)
    return head + "".join(f"L{_number(x)} {_number(y)}" for x, y in rest)


def _draw_x_axis(root: ET.Element, axis: Axis, top: float, floor: float, label: str) -> None:
    for tick in axis.ticks:
        x = axis.place(tick)
        _add(root, "path", d=f"M{_number(x)} {_number(top)}V{_number(floor)}", **_GRID)
        _text(root, format_figure(tick), x, floor + 15, anchor="middle", kind="tick")
    middle = (axis.start + axis.stop) / 2
    _text(root, label, middle, floor + 32, anchor="middle", kind="axis-label")


_GRID: Final = {"class": "grid", "stroke": "#d8dce2", "stroke-width": "1", "fill": "none"}
_AXIS: Final = {"class": "axis", "stroke": "#5b6470", "stroke-width": "1", "fill": "none"}


def _fill(index: int, kind: str = "") -> dict[str, str]:
    tone = index % len(_COLOURS)
    return {"class": f"{kind} fill s{tone}".strip(), "fill": _COLOURS[tone]}


def _stroke(index: int) -> dict[str, str]:
    tone = index % len(_COLOURS)
    made = {"class": f"stroke s{tone}", "stroke": _COLOURS[tone], "stroke-width": "2"}
    dash = _DASHES[(index + index // len(_COLOURS)) % len(_DASHES)]
    return made | {"fill": "none"} | ({"stroke-dasharray": dash} if dash else {})


def _tip(series: str, label: str, value: float, unit: str) -> str:
    head = f"{series}, {label}" if series else label
    return f"{head}: {format_figure(value)} {unit}".strip()


def _text(
    parent: ET.Element, text: str, x: float, y: float, *, anchor: str = "start", kind: str = "label"
) -> None:
    attributes = {"class": kind, "text-anchor": anchor, "fill": "#3a424d"}
    _add(parent, "text", text, x=x, y=y, **attributes)


def _add(parent: ET.Element, tag: str, text: str = "", **attributes: str | float) -> ET.Element:
    shown = {
        key: value if isinstance(value, str) else _number(value)
        for key, value in attributes.items()
    }
    element = ET.SubElement(parent, tag, shown)
    element.text = text or None
    return element


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
