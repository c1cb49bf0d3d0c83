"""A layer pair by pair: a square for every lower and upper device, with its cables as a figure."""

from typing import Final

from ctestbed.bench.report.drawing.canvas import LINE, Box, Canvas, text_width
from ctestbed.bench.report.drawing.common import (
    PLAIN,
    Record,
    names_of,
    start_block,
    start_bundle,
)
from ctestbed.bench.report.drawing.wording import many

_CELL: Final = 24.0
_NAME: Final = 190.0
_USUAL: Final = 0
_UNUSUAL: Final = 1


def draw_matrix(canvas: Canvas, scene: Record) -> None:
    """Draw lower devices down, upper ones across; counts unlike the usual stand out."""
    rows = sorted({record["row"] for record in scene["blocks"]})
    down = [record for record in scene["blocks"] if record["row"] == rows[0]]
    across = [record for record in scene["blocks"] if record["row"] != rows[0]]
    room = min(max((text_width(each["name"]) for each in scene["blocks"]), default=0) + 8, _NAME)
    cell = min(_CELL, (canvas.width - room - 20) / max(len(across), 1))
    top = room + 6
    for index, record in enumerate(across):
        group = start_block(canvas, record)
        x = room + 8 + (index + 0.5) * cell + 4
        canvas.text(group, record["name"], x, top - 6, room=room, anchor="start", turned=True)
    for index, record in enumerate(down):
        group = start_block(canvas, record)
        y = top + (index + 0.5) * cell + 4
        canvas.text(group, record["name"], room, y, room=room - 4, anchor="end")
    place = {record["id"]: index for index, record in enumerate(across)} | {
        record["id"]: index for index, record in enumerate(down)
    }
    counts: dict[int, int] = {}
    for bundle in scene["bundles"]:
        counts[bundle["cables"]] = counts.get(bundle["cables"], 0) + 1
    usual = max(counts, key=lambda each: (counts[each], each), default=0)
    names = names_of(scene)
    grid = Box(room + 8, top, cell * len(across), cell * len(down))
    canvas.rect(canvas.frames, grid, PLAIN, fill=0.03)
    for bundle in scene["bundles"]:
        row, column = place.get(bundle["a"]), place.get(bundle["b"])
        if row is None or column is None:
            continue
        group = start_bundle(canvas, bundle, names)
        box = Box(grid.x + column * cell + 1, grid.y + row * cell + 1, cell - 2, cell - 2)
        odd = bundle["cables"] != usual
        canvas.rect(group, box, _UNUSUAL if odd else _USUAL, fill=0.34 if odd else 0.14)
        canvas.text(group, f"{bundle['cables']:,}", box.middle, box.centre + 4, room=cell, bold=odd)
    none = len(down) * len(across) - len(scene["bundles"])
    odd_pairs = sum(count for cables, count in counts.items() if cables != usual)
    words = f"{many(counts.get(usual, 0), 'pair')} of {many(usual, 'cable')}"
    words += f"; {odd_pairs:,} of other counts" if odd_pairs else ""
    words += f"; {none:,} empty squares without a cable" if none else ""
    y = grid.bottom + LINE + 4
    canvas.text(canvas.words, words, 4, y, room=canvas.width - 8, anchor="start", soft=True)
