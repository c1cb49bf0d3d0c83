"""Equals in a ring, with the bundles between every two of them."""

from math import cos, log2, pi, sin
from typing import Final

from ctestbed.bench.report.drawing.canvas import LINE, Box, Canvas, number
from ctestbed.bench.report.drawing.common import (
    PLAIN,
    Record,
    by_layer,
    draw_totals,
    names_of,
    paper,
    start_block,
    start_bundle,
    tone_of,
)
from ctestbed.bench.report.drawing.wording import block_name, many

_HEIGHT: Final = 560.0
_BOX: Final = (138.0, 82.0)


def draw_ring(canvas: Canvas, scene: Record) -> None:
    """Draw the blocks clockwise from the top; what a block holds stands in it."""
    outer = [record for record in scene["blocks"] if record["inside"] is None]
    inner: dict[str, list[Record]] = {}
    for record in scene["blocks"]:
        if record["inside"] is not None:
            inner.setdefault(record["inside"], []).append(record)
    width = canvas.width - canvas.gutter - 20
    placed: dict[str, Box] = {}
    for index, record in enumerate(outer):
        angle = 2 * pi * index / len(outer) - pi / 2
        x = width / 2 + (width - _BOX[0] - 8) / 2 * cos(angle)
        y = _HEIGHT / 2 + (_HEIGHT - _BOX[1] - 8) / 2 * sin(angle)
        if len(outer) == 1:
            x, y = width / 2, _BOX[1] / 2 + 8
        placed[record["id"]] = Box(x - _BOX[0] / 2, y - _BOX[1] / 2, *_BOX)
    _draw_chords(canvas, scene, placed, {child["id"] for each in inner.values() for child in each})
    for record in outer:
        _draw(canvas, scene, record, placed[record["id"]], inner.get(record["id"], []))
    y = 60.0
    for bundles in by_layer(scene).values():
        y = draw_totals(canvas, bundles, width + 24, y) + 40
    if len(outer) > 2:  # noqa: PLR2004 - lines to tell apart
        for words in ("coloured: the cables of", block_name(outer[0])):
            room = canvas.gutter
            canvas.text(canvas.words, words, width + 24, y, room=room, anchor="start", soft=True)
            y += LINE


def _draw(canvas: Canvas, scene: Record, record: Record, box: Box, inside: list[Record]) -> None:
    names = names_of(scene)
    group = start_block(canvas, record)
    paper(canvas, group, box)
    canvas.rect(group, box, tone_of(record["kind"]))
    last = record["last"]
    lines = [(f"{record['name']}", "b"), *([(f"to {last}", "b")] if last else [])]
    lines += [(many(each["count"], each["kind"]), "s") for each in (record, *inside)]
    if len(lines) * LINE < box.height - LINE:
        own = sum(
            bundle["cables"]
            for bundle in scene["bundles"]
            if bundle["a"] == bundle["b"] == record["id"]
        )
        lines += [(f"{many(own, 'cable')} inside", "s")] if own else []
    canvas.stack(group, lines, box)
    for child in inside:
        start_block(canvas, child, group)
    here = {record["id"], *(child["id"] for child in inside)}
    for bundle in scene["bundles"]:
        if bundle["b"] == record["id"] and bundle["a"] in here:
            start_bundle(canvas, bundle, names)


def _draw_chords(canvas: Canvas, scene: Record, placed: dict[str, Box], hidden: set[str]) -> None:
    """Draw the bundles between blocks, those of the first one darker."""
    names = names_of(scene)
    between = [
        bundle
        for bundle in scene["bundles"]
        if bundle["a"] != bundle["b"]
        and not {bundle["a"], bundle["b"]} & hidden
        and {bundle["a"], bundle["b"]} <= placed.keys()
    ]
    fewest = min((bundle["cables"] for bundle in between), default=1)
    first = next(iter(placed), "")
    for bundle in sorted(between, key=lambda item: first in {item["a"], item["b"]}):
        start, end = placed[bundle["a"]], placed[bundle["b"]]
        group = start_bundle(canvas, bundle, names)
        path = (
            f"M{number(start.middle)} {number(start.centre)}"
            f"L{number(end.middle)} {number(end.centre)}"
        )
        strong = first in {bundle["a"], bundle["b"]}
        width = min(0.9 + log2(bundle["cables"] / max(fewest, 1)), 6.0)
        canvas.line(group, path, 1 if strong else PLAIN, width=width + 0.7 * strong)
