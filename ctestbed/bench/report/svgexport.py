"""`topology export --to svg`: a picture of a testbed, or of what a file says is cabled."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from ctestbed.bench.report.blocks import Picture
from ctestbed.bench.report.drawing.draw import document
from ctestbed.bench.report.fabric import many, show_blocks
from ctestbed.bench.report.render import make_visible
from ctestbed.bench.report.svgfile import scene_groups
from ctestbed.core.files import read_input
from ctestbed.core.result import Finding, Result
from ctestbed.topology.describe import describe
from ctestbed.topology.exporting import ExportData
from ctestbed.topology.load import LoadedTestbed, builtin_testbeds, load_testbed, parse_testbed
from ctestbed.topology.picture.scenes import picture_of
from ctestbed.topology.plan import require_plan

SVG = "svg"
TITLE = "SVG picture"


def run_export_svg(name: str) -> tuple[Result, bytes]:
    """Return a picture as a file, and the notes of what it leaves out.

    Raises:
        InputError: no such file, no known format, or a testbed that describes no network.
    """
    if name in builtin_testbeds():
        return _of_testbed(load_testbed(name))
    from ctestbed.topology.formats.registry import TESTBED, recognise
    from ctestbed.topology.formats.source import read_source
    from ctestbed.topology.load import testbed_path

    path = testbed_path(name)  # a bare word is refused with the nearest testbed
    content = read_input("-" if path is None else str(path), what="testbed or cabling file")
    shown = "<stdin>" if path is None else name
    if recognise(read_source(content, shown)).format.name == TESTBED:
        return _of_testbed(parse_testbed(content, shown))
    return _of_cabling(content, shown)


def _of_testbed(loaded: LoadedTestbed) -> tuple[Result, bytes]:
    plan = require_plan(loaded)
    data: dict[str, Any] = dict(describe(loaded, plan))
    data["picture"] = picture_of(plan)
    shown = make_visible(data)
    blocks = [block for block in show_blocks(shown) if isinstance(block, Picture)]
    groups = [group for block in blocks for group in scene_groups(block)]
    content = document(shown["testbed"], shown["title"], groups)
    bundles = sum(len(scene["bundles"]) for scene in data["picture"]["scenes"])
    members = plan.accelerators if plan.scale_up_links or not plan.nics else 0
    counts = (plan.switches + plan.nics + plan.scale_up_switches + members, plan.links)
    notes = (
        _note(f"{many(plan.links, 'cable')} drawn as {many(bundles, 'bundle')}, alike parts once"),
        _figures_note(trunks=bool(plan.trunks)),
    )
    return _result(loaded.testbed.name, counts, notes, loaded.source, content)


def _of_cabling(content: bytes, name: str) -> tuple[Result, bytes]:
    from ctestbed.topology.importing import parse_cabling
    from ctestbed.topology.picture.cabled import picture_of_cabling

    cabling, recognised = parse_cabling(content, name)
    drawn = picture_of_cabling(cabling)
    scenes = make_visible(drawn.picture["scenes"])
    title = PurePath(cabling.name).name  # the file, not where it lies
    subtitle = f"{recognised.format.title}; {many(len(cabling.devices), 'device')}"
    subtitle += f", {many(len(cabling.cables), 'cable')}"
    picture = document(make_visible(title), subtitle, [[scene] for scene in scenes])
    bundles = len(drawn.picture["scenes"][0]["bundles"])
    text = f"{many(len(cabling.cables), 'cable')} drawn as {many(bundles, 'bundle')}"
    if drawn.together:
        text += f", with all devices of a tier as one block: {', '.join(drawn.together)}"
    notes = [_note(text), _figures_note(trunks=False)]
    if len(cabling.one_sided):
        notes.append(
            _note(f"{len(cabling.one_sided):,} cables that one end alone names are left out")
        )
    counts = (len(cabling.devices), len(cabling.cables))
    return _result(title, counts, tuple(notes), cabling.source, picture)


def _note(message: str) -> Finding:
    hint = "graphml, node-link and csv hold every cable with its ports"
    return Finding("CTB-T317", "note", f"{SVG}: {message}", None, hint)


def _figures_note(*, trunks: bool) -> Finding:
    kept = " but those of trunks" if trunks else ""
    message = f"{SVG}: ports, delays and lengths are not drawn{kept}"
    return Finding("CTB-T312", "note", message, None, "see graphml or csv")


def _result(
    name: str,
    counts: tuple[int, int],
    notes: Sequence[Finding],
    source: Any,
    content: bytes,
) -> tuple[Result, bytes]:
    data: ExportData = {
        "testbed": name,
        "format": SVG,
        "title": TITLE,
        "devices": counts[0],
        "cables": counts[1],
        "bytes": len(content),
    }
    inputs = () if source is None else (source,)
    return Result("ctestbed.topology.export/1", data, findings=tuple(notes), inputs=inputs), content
