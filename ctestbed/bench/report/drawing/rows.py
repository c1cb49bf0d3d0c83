"""Rows of blocks with single lines between them: a pod by its switches, a leaf, two halves."""

from math import log2
from typing import Final

from ctestbed.bench.report.drawing.canvas import LINE, Box, Canvas, Words, number
from ctestbed.bench.report.drawing.common import (
    PLAIN,
    Record,
    block_lines,
    by_layer,
    draw_totals,
    names_of,
    paper,
    start_block,
    start_bundle,
    tone_of,
)
from ctestbed.bench.report.drawing.wording import bundle_words, count_words, many

_GAP: Final = 10.0
_WIDEST: Final = 150.0
_NARROWEST: Final = 58.0
"""Boxes that are narrower have their names turned upright."""
_TALL: Final = 104.0
_ROOM: Final = 78.0
_CROWDED: Final = 130.0
_FEW_LINES: Final = 12


def draw_rows(canvas: Canvas, scene: Record) -> None:
    """Draw the scene's rows from the highest down, and its bundles as lines."""
    selves = {bundle["a"] for bundle in scene["bundles"] if bundle["a"] == bundle["b"]}
    ends = {
        bundle[end] for bundle in scene["bundles"] if bundle["a"] != bundle["b"] for end in "ab"
    }
    around = [
        record
        for record in scene["blocks"]
        if record["id"] in selves - ends and record["kind"] == "group"
    ]
    inner: dict[str, list[Record]] = {}
    shown = []
    for record in scene["blocks"]:
        if record["inside"] is not None:
            inner.setdefault(record["inside"], []).append(record)
        elif record not in around:
            shown.append(record)
    own: dict[str, int] = {}
    for bundle in scene["bundles"]:
        if bundle["a"] == bundle["b"]:
            own[bundle["a"]] = own.get(bundle["a"], 0) + bundle["cables"]
    labels = _lone_labels(scene, {each["id"] for found in inner.values() for each in found})
    labels |= {
        key: (f"{many(count, 'cable')} inside", f"{count:,} inside", f"{count:,}")
        for key, count in own.items()
        if key not in labels
    }
    width = canvas.width - canvas.gutter - 20
    rows = sorted({record["row"] for record in shown}, reverse=True)
    placed: dict[str, Box] = {}
    y = 6.0
    for row in rows:
        members = [record for record in shown if record["row"] == row]
        framed = [record for record in around if record["row"] == row]
        height = _place(members, inner, labels, (y + (10 if framed else 0), width), placed)
        for record in framed:
            _frame(canvas, scene, record, (y, height + 20, width), placed)
        y += height + (20 if framed else 0) + _room(scene, members)
    _draw_lines(canvas, scene, placed, inner)
    for record in shown:
        inside = inner.get(record["id"], [])
        lines = _lines(record, inside, labels.get(record["id"]))
        _draw(canvas, scene, record, placed[record["id"]], (inside, lines))
    _sum_up(canvas, scene, placed, width + 24, inner)


def _room(scene: Record, members: list[Record]) -> float:
    """Return the height between a row and the next: more where many lines cross."""
    here = {record["id"] for record in members}
    lines = sum(bundle["b"] in here and bundle["a"] not in here for bundle in scene["bundles"])
    return _CROWDED if lines > _FEW_LINES else _ROOM


def _place(
    members: list[Record],
    inner: dict[str, list[Record]],
    labels: dict[str, tuple[str, ...]],
    where: tuple[float, float],
    placed: dict[str, Box],
) -> float:
    """Give every block of a row its box; return the row's height."""
    y, width = where
    gap = _GAP if len(members) <= 12 else 4.0  # noqa: PLR2004 - many boxes stand closer
    each = min(_WIDEST, (width - gap * (len(members) - 1)) / max(len(members), 1))
    lines = max(
        len(_lines(record, inner.get(record["id"], []), labels.get(record["id"])))
        for record in members
    )
    height = _TALL if each < _NARROWEST else max(lines, 2) * LINE + 12
    left = (width - each * len(members) - gap * (len(members) - 1)) / 2
    for index, record in enumerate(members):
        placed[record["id"]] = Box(2 + left + index * (each + gap), y, each, height)
    return height


def _lines(record: Record, inside: list[Record], label: tuple[str, ...] | None) -> list[Words]:
    """Return a block's own lines, one for what it holds, and its one bundle's figures."""
    lines = block_lines(record)
    lines += [(count_words(each), "s") for each in inside]
    return lines if label is None else [*lines, (label, "")]


def _draw(
    canvas: Canvas,
    scene: Record,
    record: Record,
    box: Box,
    content: tuple[list[Record], list[Words]],
) -> None:
    """Draw a block; what it holds, and the cables in it, are lines of text in it."""
    inside, lines = content
    group = start_block(canvas, record)
    tone = tone_of(record["kind"])
    if record["last"]:
        canvas.rect(group, Box(box.x + 4, box.y - 4, box.width, box.height), tone, fill=0.04)
    paper(canvas, group, box)
    canvas.rect(group, box, tone)
    if box.width < _NARROWEST:
        words = f"{record['name']} to {record['last']}" if record["last"] else record["name"]
        canvas.text(
            group, words, box.middle + 4, box.centre, room=box.height - 6, turned=True, bold=True
        )
    else:
        canvas.stack(group, lines, box)
    names = names_of(scene)
    for child in inside:
        start_block(canvas, child, group)
    for bundle in scene["bundles"]:
        if bundle["b"] == record["id"] and bundle["a"] in {record["id"], *_ids(inside)}:
            start_bundle(canvas, bundle, names)


def _ids(records: list[Record]) -> list[str]:
    return [record["id"] for record in records]


def _frame(
    canvas: Canvas,
    scene: Record,
    record: Record,
    where: tuple[float, float, float],
    placed: dict[str, Box],
) -> None:
    """Draw a frame around a row whose blocks all meet, and say by how many cables."""
    y, height, width = where
    box = Box(2, y, width, height)
    placed[record["id"]] = box
    group = start_block(canvas, record, canvas.frames)
    canvas.rect(group, box, PLAIN, fill=0.07, dash="5 3")
    names = names_of(scene)
    for bundle in scene["bundles"]:
        if bundle["a"] == bundle["b"] == record["id"]:
            start_bundle(canvas, bundle, names)


def _draw_lines(
    canvas: Canvas, scene: Record, placed: dict[str, Box], inner: dict[str, list[Record]]
) -> None:
    """Draw the bundles, thicker where they are more cables; label those that stand alone."""
    hidden = {record["id"] for records in inner.values() for record in records}
    names = names_of(scene)
    for bundles in by_layer(scene).values():
        drawn = [
            bundle
            for bundle in bundles
            if bundle["a"] != bundle["b"] and not {bundle["a"], bundle["b"]} & hidden
        ]
        fewest = min((bundle["cables"] for bundle in drawn), default=1)
        for bundle in drawn:
            lower, upper = placed.get(bundle["a"]), placed.get(bundle["b"])
            if lower is None or upper is None:
                continue
            group = start_bundle(canvas, bundle, names)
            path = _path(lower, upper)
            width = min(0.9 + 0.55 * log2(bundle["cables"] / max(fewest, 1)), 6.0)
            canvas.line(group, path, PLAIN, width=width)


def _path(lower: Box, upper: Box) -> str:
    """Return the line between two boxes; of one row, a bow below it."""
    if lower.y == upper.y:
        start, end, y = lower.middle + 6, upper.middle - 6, lower.bottom
        bow = y + 14 + min(abs(end - start) / 12, 40)
        middle = (start + end) / 2
        return (
            f"M{number(start)} {number(y)}Q{number(middle)} {number(bow)} {number(end)} {number(y)}"
        )
    return (
        f"M{number(lower.middle)} {number(lower.y)}L{number(upper.middle)} {number(upper.bottom)}"
    )


def _lone_labels(scene: Record, hidden: set[str]) -> dict[str, tuple[str, ...]]:
    """Return the figures of a line for the block that has no other line of its layer."""
    labels: dict[str, tuple[str, ...]] = {}
    for bundles in by_layer(scene).values():
        drawn = [
            bundle
            for bundle in bundles
            if bundle["a"] != bundle["b"] and not {bundle["a"], bundle["b"]} & hidden
        ]
        for end in "ab":
            ends = [bundle[end] for bundle in drawn]
            if len(set(ends)) == len(ends):
                labels |= {bundle[end]: bundle_words(bundle) for bundle in drawn}
                break
    return labels


def _sum_up(
    canvas: Canvas,
    scene: Record,
    placed: dict[str, Box],
    x: float,
    inner: dict[str, list[Record]],
) -> None:
    """Write what each layer comes to, at the height of its lines."""
    holder: dict[str, str] = {
        record["id"]: key for key, records in inner.items() for record in records
    }
    heights = []
    for bundles in by_layer(scene).values():
        end = str(bundles[0]["a"])
        lower = placed.get(holder.get(end, end))
        upper = placed.get(bundles[0]["b"])
        if lower is not None and upper is not None:
            same = bundles[0]["a"] == bundles[0]["b"] or lower is upper
            heights.append((lower.centre if same else (lower.y + upper.bottom) / 2, bundles))
    reached = -30.0
    for centre, bundles in sorted(heights, key=lambda item: item[0]):
        centre = max(centre, reached + 38)  # noqa: PLW2901 - pushed below the one before
        reached = draw_totals(canvas, bundles, x, centre)
