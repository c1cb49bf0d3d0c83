"""A slice of a grid whose lines are dimensions, and the slices behind it."""

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from ctestbed.bench.report.drawing.canvas import Box, Canvas, number
from ctestbed.bench.report.drawing.common import (
    PLAIN,
    Record,
    draw_totals,
    names_of,
    start_block,
    start_bundle,
    tone_of,
)
from ctestbed.bench.report.drawing.wording import TIMES, block_tip

_STEP: Final = 60.0
_RADIUS: Final = 9.0
_SHOWN: Final = 7
"""Positions of a line that are drawn, the gap among them."""
_LEFT: Final = 84.0
_TOP: Final = 86.0


def draw_grid(canvas: Canvas, scene: Record) -> None:
    """Draw the last two dimensions, and name the others."""
    (record, *_), dims = scene["blocks"], list(scene.get("dims") or [1])
    rows, columns = ([1, *dims])[-2:]
    down, across = _positions(rows), _positions(columns)
    group = start_block(canvas, record)
    frame = Box(30, 52, _LEFT + _STEP * len(across), _TOP - 12 + _STEP * len(down))
    for depth in (16, 8) if len(dims) > 2 else ():  # noqa: PLR2004 - one slice of several
        behind = Box(frame.x + depth, frame.y - depth, frame.width, frame.height)
        canvas.rect(group, behind, PLAIN, fill=0.02)
    canvas.rect(group, frame, PLAIN, fill=0.04)
    full = scene["view"] == "grid" and _is_mesh(scene)
    for axis, path in _lines(down, across, (rows, columns), full=full, wrap=bool(scene["wrap"])):
        canvas.line(group, path, axis, width=1.4)
    for i, row in enumerate(down):
        for j, column in enumerate(across):
            x, y = _LEFT + 22 + j * _STEP, _TOP + 24 + i * _STEP
            if row is None or column is None:
                canvas.text(group, "…", x, y + 4, room=20)
            else:
                canvas.circle(group, x, y, _RADIUS, tone_of(record["kind"]))
    title = f" {TIMES} ".join(f"{side}" for side in dims)
    room = canvas.width - canvas.gutter - 60
    canvas.text(canvas.words, block_tip(record), 30, 14, room=room, anchor="start", bold=True)
    if len(dims) > 2:  # noqa: PLR2004 - one slice of several
        slices = 1
        for side in dims[:-2]:
            slices *= side
        words = f"one of {slices:,} slices of {title}: dimensions {len(dims) - 2}, {len(dims) - 1}"
        words += "; the cables of the first lines alone are drawn" if full else ""
        canvas.text(canvas.words, words, 30, 30, room=room, anchor="start", soft=True)
    y, x = 90.0, max(frame.right + 90, 460.0)
    wrap = bool(scene.get("wrap"))
    for axis, (bundle, side) in enumerate(zip(scene["bundles"], dims, strict=False)):
        group = start_bundle(canvas, bundle, names_of(scene))
        drawn = {len(dims) - 1: 1, len(dims) - 2: 0}.get(axis)
        if drawn is not None:
            canvas.line(group, f"M{number(x - 44)} {number(y)}h30", drawn, width=3)
        end = draw_totals(canvas, [bundle], x, y)
        words = f"{_form(side, full=full, wrap=wrap)}{'' if drawn is not None else ', not drawn'}"
        canvas.text(canvas.words, words, x, end + 11, room=canvas.gutter, anchor="start", soft=True)
        y = end + 54


def _form(side: int, *, full: bool, wrap: bool) -> str:
    if full:
        return f"{side:,} on a line, all joined"
    return f"{side:,} on a line, {'a ring' if wrap and side > 2 else 'open ends'}"  # noqa: PLR2004 - no ring of two


def _is_mesh(scene: Record) -> bool:
    """Whether all positions of a line meet: more cables than a ring of them has."""
    return any(
        bundle["cables"] > scene["blocks"][0]["count"] for bundle in scene["bundles"]
    ) or "all others" in str(scene["note"])


def _positions(side: int) -> list[int | None]:
    if side <= _SHOWN:
        return list(range(side))
    return [*range(_SHOWN - 2), None, side - 1]


def _lines(
    down: list[int | None],
    across: list[int | None],
    sides: tuple[int, int],
    *,
    full: bool,
    wrap: bool,
) -> Iterator[tuple[int, str]]:
    """Yield the tone and the path of each line; in a full mesh arcs of the first lines alone."""
    for tone, (first, second), side in (
        (1, (across, down), sides[1]),
        (0, (down, across), sides[0]),
    ):
        if side < 2:  # noqa: PLR2004 - nothing to join
            continue
        for line in range(len(second)):
            if second[line] is None:
                continue
            if full:
                if line == 0:
                    yield tone, "".join(_arcs(len(first), flat=tone == 1, skip=first))
            else:
                yield tone, _straight(len(first), line, flat=tone == 1)
                if wrap and side > 2:  # noqa: PLR2004 - a ring of two is one cable
                    yield tone, _arc(0, len(first) - 1, line, flat=tone == 1, bend=0.24)


def _at(along: float, line: int, *, flat: bool) -> tuple[float, float]:
    x, y = (along, line) if flat else (line, along)
    return _LEFT + 22 + x * _STEP, _TOP + 24 + y * _STEP


def _straight(count: int, line: int, *, flat: bool) -> str:
    parts = []
    gap = _RADIUS / _STEP
    for index in range(count - 1):
        (x1, y1), (x2, y2) = (
            _at(index + gap, line, flat=flat),
            _at(index + 1 - gap, line, flat=flat),
        )
        parts.append(f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}")
    return "".join(parts)


def _arc(start: int, end: int, line: int, *, flat: bool, bend: float) -> str:
    (x1, y1), (x2, y2) = _at(start, line, flat=flat), _at(end, line, flat=flat)
    lift = bend * _STEP + _RADIUS
    middle = ((x1 + x2) / 2, y1 - lift * 2) if flat else (x1 - lift * 2, (y1 + y2) / 2)
    edge = _RADIUS * 0.8
    x1, y1, x2, y2 = (x1, y1 - edge, x2, y2 - edge) if flat else (x1 - edge, y1, x2 - edge, y2)
    return (
        f"M{number(x1)} {number(y1)}Q{number(middle[0])} {number(middle[1])} "
        f"{number(x2)} {number(y2)}"
    )


def _arcs(count: int, *, flat: bool, skip: list[int | None]) -> Iterator[str]:
    """Yield an arc for every pair of drawn positions of the first line."""
    for start, end in combinations(range(count), 2):
        if skip[start] is not None and skip[end] is not None:
            yield _arc(start, end, 0, flat=flat, bend=0.1 * (end - start))
