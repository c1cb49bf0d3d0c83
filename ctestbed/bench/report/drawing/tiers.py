"""Tiers as a strip: columns (pods, rails, leaves, hosts) below the tier that joins them.

A ribbon is all cables between two boxes. Its width is its capacity next to the widest of its
column, so a layer that carries less than the one below narrows to the eye.
"""

from typing import Final

from ctestbed.bench.report.drawing.canvas import Box, Canvas, Words, number, text_width
from ctestbed.bench.report.drawing.common import (
    PLAIN,
    Record,
    by_layer,
    draw_block,
    draw_totals,
    names_of,
    paper,
    share_of,
    start_block,
    start_bundle,
    tone_of,
)
from ctestbed.bench.report.drawing.wording import (
    TIMES,
    block_name,
    bundle_text,
    many,
    rate_text,
)

_GAP: Final = 16.0
_BOX: Final = 52.0
_ROOM: Final = 62.0
"""Height between two boxes, for a ribbon and its two lines."""
_PAD: Final = 7.0
_HEAD: Final = 42.0
_RIBBON: Final = 0.78
_MOST_TICKS: Final = 600
FRAMED: Final = frozenset({"pod", "rail", "host"})


def draw_tiers(canvas: Canvas, scene: Record) -> None:
    """Draw the scene over the whole width of the canvas."""
    inside: dict[str, list[Record]] = {}
    for record in scene["blocks"]:
        if record["inside"] is not None:
            inside.setdefault(record["inside"], []).append(record)
    outer = [record for record in scene["blocks"] if record["inside"] is None]
    tops = [record for record in outer if record["id"] not in inside]
    columns = [record for record in outer if record["id"] in inside]
    framed = any(record["kind"] in FRAMED for record in columns)
    rows = sorted(
        {child["row"] for children in inside.values() for child in children}
        | {record["row"] for record in columns if record["kind"] not in FRAMED},
        reverse=True,
    )
    width = canvas.width - canvas.gutter - 20
    placed: dict[str, Box] = {}
    top = 6.0
    for record in tops:
        placed[record["id"]] = Box(2, top, width, _BOX - 6)
        _draw_top(canvas, record, placed[record["id"]])
        top += _BOX - 6 + _ROOM
    head = _HEAD if framed else 0.0
    start = {row: top + head + index * (_BOX + _ROOM) for index, row in enumerate(rows)}
    each = (width - _GAP * (len(columns) - 1)) / max(len(columns), 1)
    for index, column in enumerate(columns):
        x = 2 + index * (each + _GAP)
        _place_column(canvas, column, inside[column["id"]], (x, each), start, placed)
    _draw_ribbons(canvas, scene, placed, inside)
    _sum_up(canvas, scene, placed, width + 24)


def _draw_top(canvas: Canvas, record: Record, box: Box) -> None:
    """Draw a tier that all columns share, with a tick for every switch of it."""
    draw_block(canvas, record, box)
    count = record["count"]
    side = (box.width - 200) / 2 - 16
    if not 1 < count <= _MOST_TICKS or side / (count / 2) < 1.5:  # noqa: PLR2004 - still apart
        return
    half = -(-count // 2)
    step = min(side / half, 14.0)
    path = []
    for tick in range(count):
        left = tick < half
        index = tick if left else tick - half
        x = box.x + 12 + index * step if left else box.right - 12 - (count - half - index) * step
        path.append(f"M{number(x)} {number(box.y + 14)}v{number(box.height - 28)}")
    canvas.line(canvas.boxes, "".join(path), tone_of(record["kind"]), width=0.8)


def _place_column(
    canvas: Canvas,
    column: Record,
    children: list[Record],
    across: tuple[float, float],
    start: dict[int, float],
    placed: dict[str, Box],
) -> None:
    """Draw a column: a frame with boxes in it, or a switch and what hangs below."""
    x, width = across
    last = max(start.values()) + _BOX
    if column["kind"] in FRAMED:
        first = min(start.values()) - _HEAD
        frame = Box(x, first, width, last - first + _PAD)
        placed[column["id"]] = frame
        group = start_block(canvas, column, canvas.frames)
        if column["last"]:
            canvas.rect(group, Box(x + 4, first - 4, width, frame.height), PLAIN, fill=0.02)
        paper(canvas, group, frame)
        canvas.rect(group, frame, PLAIN, fill=0.04)
        lines: list[Words] = [((block_name(column), f"{column['name']}…"), "b")]
        if column["last"]:
            lines.append((many(column["count"], column["kind"]), "s"))
        canvas.stack(group, lines, Box(x, first + 2, width, _HEAD - 6))
        x, width = x + _PAD, width - 2 * _PAD
    else:
        placed[column["id"]] = Box(x, start[column["row"]], width, _BOX)
        draw_block(canvas, column, placed[column["id"]])
    for row, y in start.items():
        here = [child for child in children if child["row"] == row]
        each = (width - 6 * (len(here) - 1)) / max(len(here), 1)
        for index, child in enumerate(here):
            placed[child["id"]] = Box(x + index * (each + 6), y, each, _BOX)
            draw_block(canvas, child, placed[child["id"]])


def _draw_ribbons(
    canvas: Canvas, scene: Record, placed: dict[str, Box], inside: dict[str, list[Record]]
) -> None:
    """Draw every bundle, as wide as its capacity next to the most in its column."""
    column_of = {child["id"]: key for key, children in inside.items() for child in children}
    most: dict[str, int] = {}
    for bundle in scene["bundles"]:
        column = column_of.get(bundle["a"], bundle["a"])
        if isinstance(bundle["capacity"], int):
            most[column] = max(most.get(column, 0), bundle["capacity"])
    names = names_of(scene)
    for bundle in scene["bundles"]:
        lower, upper = placed.get(bundle["a"]), placed.get(bundle["b"])
        if lower is None or upper is None:
            continue
        column = column_of.get(bundle["a"], bundle["a"])
        share = share_of(bundle, most.get(column, 0))
        width = lower.width * _RIBBON * (1.0 if share is None else share)
        _ribbon(canvas, bundle, (lower, upper), (max(width, 3.0), share is None), names)


def _ribbon(
    canvas: Canvas,
    bundle: Record,
    ends: tuple[Box, Box],
    look: tuple[float, bool],
    names: dict[str, str],
) -> None:
    (lower, upper), (width, unknown) = ends, look
    group = start_bundle(canvas, bundle, names)
    left, height = lower.middle - width / 2, lower.y - upper.bottom
    path = (
        f"M{number(left)} {number(upper.bottom)}h{number(width)}v{number(height)}h{number(-width)}z"
    )
    canvas.area(group, path, PLAIN, fill=0 if unknown else 0.25, dash="4 3" if unknown else "")
    lines = _label(bundle, lower.width)
    # A frame's head is between a column's first box and the tier above: keep clear of it.
    bottom = min(lower.y, upper.bottom + _ROOM)
    canvas.stack(
        group, [(words, "") for words in lines],
        Box(lower.x, upper.bottom, lower.width, bottom - upper.bottom),
    )  # fmt: skip


def _label(bundle: Record, room: float) -> list[str]:
    """Return a bundle's figures in lines that fit: cables and rate, and what they come to."""
    text = bundle_text(bundle)
    lines = [text]
    if text_width(text) > room - 6 and TIMES in text:
        cables, _, rate = text.partition(f" {TIMES} ")
        lines = [cables, f"{TIMES} {rate}"]
    if isinstance(bundle["capacity"], int):
        lines.append(f"= {rate_text(bundle['capacity'])}")
    elif bundle["rate"] == "UNKNOWN":
        lines.append("rate UNKNOWN")
    return [line for line in lines if text_width(line) <= room - 6][:3] or [f"{bundle['cables']:,}"]


def _sum_up(canvas: Canvas, scene: Record, placed: dict[str, Box], x: float) -> None:
    """Write what each layer comes to, beside its ribbons."""
    reached = 0.0
    heights = []
    for bundles in by_layer(scene).values():
        lower, upper = placed.get(bundles[0]["a"]), placed.get(bundles[0]["b"])
        if lower is not None and upper is not None:
            centre = upper.bottom + min(lower.y - upper.bottom, _ROOM) / 2
            heights.append((centre, bundles))
    for centre, bundles in sorted(heights, key=lambda item: item[0]):
        centre = max(centre, reached + 36)  # noqa: PLW2901 - pushed below the one before
        reached = draw_totals(canvas, bundles, x, centre)
