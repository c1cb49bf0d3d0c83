"""Sites as boxes, and the trunks between them: thick lines, the standby route dashed beside."""

from math import cos, hypot, pi, sin
from typing import Final

from ctestbed.bench.report.drawing.canvas import LINE, Box, Canvas, number
from ctestbed.bench.report.drawing.common import Record, names_of, paper, start_block, start_bundle
from ctestbed.bench.report.drawing.wording import (
    block_name,
    bundle_text,
    delay_text,
    length_text,
    many,
    rate_text,
)

_BOX: Final = (170.0, 56.0)
_PLATE: Final = 260.0
_KEYED: Final = 4
"""From so many sites on, trunks carry a number, and their figures stand in a key."""
_MOST: Final = 24
"""More sites than this are not drawn round a ring: their trunks are listed alone."""
_TRUNKS_DRAWN: Final = 120
_KEY_LINES: Final = 60
_MARKS: Final = 600
"""Trunks listed with a mark each; the rest share one."""
_ABREAST: Final = 6
_STEPS: Final = (0.5, 0.42, 0.58, 0.35, 0.65, 0.29, 0.71, 0.25, 0.75, 0.46, 0.54, 0.38, 0.62)
"""Where along a trunk its number may stand."""


def draw_sites(canvas: Canvas, scene: Record) -> None:
    """Draw two sites side by side, more of them round a ring."""
    sites, trunks = scene["blocks"], scene["bundles"]
    if len(sites) > _MOST or len(trunks) > _TRUNKS_DRAWN:
        each = canvas.width / _ABREAST
        for index, record in enumerate(sites):
            row, column = divmod(index, _ABREAST)
            _draw_site(canvas, record, Box(column * each + 2, row * 44 + 4, each - 8, 38))
        _list(canvas, scene, canvas.height + 16, marks=True)
        return
    placed = _place(canvas.width, sites)
    taken: list[tuple[float, float]] = []
    for index, trunk in enumerate(trunks):
        key = str(index + 1) if len(sites) >= _KEYED else ""
        _draw_trunk(canvas, scene, trunk, (key, taken), placed)
    for record in sites:
        _draw_site(canvas, record, placed[record["id"]])
    if len(sites) >= _KEYED:
        _list(canvas, scene, canvas.height + 20, marks=False)


def _draw_site(canvas: Canvas, record: Record, box: Box) -> None:
    group = start_block(canvas, record)
    paper(canvas, group, box)
    canvas.rect(group, box, 6, fill=0.12)
    lines = [(record["name"], "b"), (many(record["count"], record["kind"]), "s")]
    canvas.stack(group, lines, box)


def _place(width: float, sites: list[Record]) -> dict[str, Box]:
    w, h = _BOX
    if len(sites) <= 2:  # noqa: PLR2004 - side by side
        lefts = [2.0, width - w - 2]
        return {site["id"]: Box(x, 60, w, h) for site, x in zip(sites, lefts, strict=False)}
    height = 380.0 if len(sites) < _KEYED else min(620.0, 300.0 + 30 * len(sites))
    placed = {}
    for index, site in enumerate(sites):
        angle = 2 * pi * index / len(sites) - pi / 2
        x = width / 2 + (width - w - 10) / 2 * cos(angle) * 0.94
        y = height / 2 + (height - h - 10) / 2 * sin(angle)
        placed[site["id"]] = Box(x - w / 2, y - h / 2, w, h)
    lowest = min(box.y for box in placed.values())
    return {key: box._replace(y=box.y - lowest + 8) for key, box in placed.items()}


def _draw_trunk(
    canvas: Canvas,
    scene: Record,
    trunk: Record,
    key: tuple[str, list[tuple[float, float]]],
    placed: dict[str, Box],
) -> None:
    start, end = placed.get(trunk["a"]), placed.get(trunk["b"])
    if start is None or end is None:
        return
    names = names_of(scene)
    group = start_bundle(canvas, trunk, names)
    x1, y1, x2, y2 = start.middle, start.centre, end.middle, end.centre
    canvas.line(group, f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}", 0, width=6)
    route = trunk.get("trunk") or {}
    middle = ((x1 + x2) / 2, (y1 + y2) / 2)
    if route.get("standby_length") is not None:
        length = hypot(x2 - x1, y2 - y1) or 1.0
        # The standby bows away from the middle of the sheet, where other trunks are.
        away = -1.0 if abs(y1 - y2) < 1 or middle[1] < canvas.height / 2 else 1.0
        bow = 90.0 if abs(y1 - y2) < 1 else 60.0
        nx, ny = -(y2 - y1) / length * bow, (x2 - x1) / length * bow
        if (ny < 0) != (away < 0):
            nx, ny = -nx, -ny
        path = (
            f"M{number(x1)} {number(y1)}Q{number(middle[0] + nx)} {number(middle[1] + ny)} "
            f"{number(x2)} {number(y2)}"
        )
        canvas.line(group, path, 1, width=2, dash="7 5")
    words, taken = key
    if words:
        options = [(x1 + (x2 - x1) * t, y1 + (y2 - y1) * t) for t in _STEPS]
        free = (at for at in options if not any(_near(at, other) for other in taken))
        taken.append(next(free, options[0]))
        _dot(canvas, words, taken[-1])
        return
    lines = _figures(trunk)
    widest = _PLATE
    box = Box(middle[0] - widest / 2, middle[1] - 10 - LINE * 1.5, widest, LINE * len(lines) + 8)
    box = box._replace(y=middle[1] + (8 if abs(y1 - y2) < 1 else -box.height / 2))
    if abs(y1 - y2) >= 1:
        paper(canvas, canvas.words, box)
    canvas.stack(canvas.words, lines, box)
    canvas.reach(box.bottom + 4)


def _near(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return abs(one[0] - other[0]) < 28 and abs(one[1] - other[1]) < 22  # noqa: PLR2004 - a plate


def _dot(canvas: Canvas, words: str, middle: tuple[float, float]) -> None:
    box = Box(middle[0] - 12, middle[1] - 9, 24, 18)
    paper(canvas, canvas.words, box)
    canvas.rect(canvas.words, box, 0, fill=0.1)
    canvas.stack(canvas.words, [(words, "b")], box)


def _figures(trunk: Record) -> list[tuple[str, str]]:
    route = trunk.get("trunk") or {}
    lines = [(f"{bundle_text(trunk)} = {rate_text(trunk['capacity'])}", "b")]
    if trunk["rate"] == "UNKNOWN":
        lines = [(f"{bundle_text(trunk)} of UNKNOWN rate", "b")]
    if route:
        way = f"{length_text(route['length'])}, {delay_text(route['delay'])} one way"
        lines.append((way, ""))
        if route["amplifiers"]:
            lines.append((many(route["amplifiers"], "amplifier"), ""))
        if route["standby_length"] is not None:
            standby = length_text(route["standby_length"])
            lines.append((f"standby {standby}, {delay_text(route['standby_delay'])}", "s"))
    return lines


def _list(canvas: Canvas, scene: Record, top: float, *, marks: bool) -> None:
    """Write the figures of every trunk in a line; of very many, the first."""
    names = {record["id"]: block_name(record) for record in scene["blocks"]}
    trunks = scene["bundles"]
    y = top + LINE
    for index, trunk in enumerate(trunks[:_MARKS]):
        group = canvas.words if not marks else start_bundle(canvas, trunk, names)
        if index < _KEY_LINES:
            figures = "; ".join(words for words, _ in _figures(trunk))
            ends = " - ".join(names.get(trunk[end], trunk[end]) for end in "ab")
            room = canvas.width - 20
            words = f"{index + 1}  {ends}: {figures}"
            canvas.text(group, words, 8, y, room=room, anchor="start")
            y += LINE + 2
    if marks and len(trunks) > _MARKS:
        rest = trunks[_MARKS:]
        total = sum(trunk["cables"] for trunk in rest)
        whole = {**rest[0], "cables": total, "capacity": "UNKNOWN", "a": "", "b": "others"}
        start_bundle(canvas, whole, names)
    if len(trunks) > _KEY_LINES:
        words = f"... {len(trunks) - _KEY_LINES:,} more trunks"
        canvas.text(canvas.words, words, 8, y, room=400, anchor="start", soft=True)
