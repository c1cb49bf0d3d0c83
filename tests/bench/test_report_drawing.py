"""Drawings: well-formed, true to their scenes, without collisions, the same every time."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from ctestbed.bench.report.commands import ConvertRequest, run_convert
from ctestbed.bench.report.drawing.canvas import fit, text_width
from ctestbed.bench.report.drawing.draw import HALF, WIDTH, scene_svg
from ctestbed.bench.report.html import render_html
from ctestbed.bench.report.render import make_visible, render
from ctestbed.bench.report.svgexport import run_export_svg
from ctestbed.cli.topology import app
from ctestbed.core.envelope import Envelope, build_envelope, dump_envelope
from ctestbed.core.errors import InputError
from ctestbed.topology.commands import ShowRequest, run_show
from ctestbed.topology.load import builtin_testbeds, load_testbed
from ctestbed.topology.picture.scenes import Focus, picture_of
from ctestbed.topology.plan import require_plan
from tests.bench.drawn import bundles, cables, counts, outside, overlaps, parse, texts
from tests.bench.report_samples import HOSTILE
from tests.shared import shared_data
from tests.topology.strategies import any_fabrics, load_document, testbeds

GB200 = "fabric/third-party/topograph/ibnetdiscover-example.out"


def shown(name: str, focus: Focus | None = None) -> Envelope:
    result = run_show(ShowRequest(name, focus or Focus()))
    return build_envelope(
        result, command=["topology", "show"], options={"testbed": name}, run={}, canonical=True
    )


def check(scene: dict[str, Any], width: float = WIDTH) -> None:
    """Draw a scene and hold it to the scene's own data."""
    scene = make_visible(scene)
    root = parse(scene_svg(scene, "x", width))
    assert bundles(root) == len(scene["bundles"])
    assert cables(root) == sum(bundle["cables"] for bundle in scene["bundles"])
    expected: dict[str, int] = {}
    for block in scene["blocks"]:
        expected[block["kind"]] = expected.get(block["kind"], 0) + block["count"]
    assert counts(root) == expected
    assert outside(root) == []
    assert overlaps(texts(root)) == []
    assert bundles(root) <= 350 or scene["view"] == "matrix", "no grey slab"
    for text in texts(root):
        assert text.left >= -1, text.words
        assert text.right <= width + 1, text.words


@pytest.mark.parametrize("name", builtin_testbeds())
def test_built_in_testbeds_are_drawn_true_and_clear(name: str) -> None:
    for scene in picture_of(require_plan(load_testbed(name)))["scenes"]:
        check(dict(scene))


@given(st.one_of(testbeds(), any_fabrics()))
def test_any_testbed_is_drawn_true_and_clear(document: dict[str, Any]) -> None:
    for scene in picture_of(require_plan(load_document(document)))["scenes"]:
        check(dict(scene))


def test_planes_that_differ_stand_side_by_side_and_clear() -> None:
    scenes = picture_of(require_plan(load_testbed("uneven-planes-1024")))["scenes"]
    planes = [dict(scene) for scene in scenes if scene["level"] == "plane"]
    assert len(planes) == 3
    for scene in planes:
        check(scene, HALF)


@pytest.mark.parametrize("sites", [2, 3, 4, 7, 12, 30, 40])
def test_many_sites_and_all_trunks_between_them(sites: int) -> None:
    names = [f"site-{n}" for n in range(sites)]
    document = {
        "ctestbed": 1,
        "name": "drawn",
        "fabric": {
            "kind": "fat-tree", "tiers": 2, "leaves": 2, "hosts_per_leaf": 2, "spines": 2,
            "rate": "400Gbps", "delay": "1us",
        },
        "sites": [{"name": name} for name in names],
        "trunks": [
            {
                "between": [one, other], "length": "150km", "rate": "400Gbps",
                "protection": {"length": "180km"},
            }
            for index, one in enumerate(names)
            for other in names[index + 1 :]
        ],
    }  # fmt: skip
    plan = require_plan(load_document(document))
    scene = dict(picture_of(plan)["scenes"][0])
    root = parse(scene_svg(scene, "x"))
    assert cables(root) == plan.trunk_links
    assert bundles(root) == min(sites * (sites - 1) // 2, 601)
    assert overlaps(texts(root)) == []


@pytest.mark.parametrize("name", ["kunlun-32k", "mrc-131072", "three-vendor-sites"])
def test_a_file_is_small_whole_and_the_same_every_time(name: str) -> None:
    envelope = shown(name)
    svg = render(envelope, "svg", canonical=True)
    assert svg == render(shown(name), "svg", canonical=True)
    assert svg.encode() == run_export_svg(name)[1]
    parse(svg)
    assert len(svg) < 300_000
    page = render_html(envelope)
    assert len(page) < 600_000
    for scene in envelope["data"]["picture"]["scenes"]:
        assert scene["title"] in page


def test_a_stored_report_gives_the_same_picture(tmp_path: Path) -> None:
    envelope = shown("hpn-two-pods")
    path = tmp_path / "r.json"
    path.write_text(dump_envelope(envelope, canonical=True))
    _, converted = run_convert(ConvertRequest(str(path), "svg"))
    assert converted.decode() == render(envelope, "svg")


@pytest.mark.parametrize("name", ["lab-128", "three-vendor-sites", "dragonfly-1056"])
def test_reports_from_before_pictures_are_drawn_as_text(name: str) -> None:
    envelope = shown(name)
    picture = render(envelope, "table")
    del envelope["data"]["picture"]
    assert render(envelope, "table") == picture
    assert "<pre" in render_html(envelope)


def test_a_picture_that_names_unknown_blocks_or_views_does_no_harm() -> None:
    envelope = shown("dragonfly-1056")
    for scene in envelope["data"]["picture"]["scenes"]:
        scene["bundles"][0]["a"] = scene["bundles"][1]["b"] = HOSTILE[0]
        scene["blocks"][0]["name"] = HOSTILE[2]
        scene["blocks"][1]["id"] = HOSTILE[1]
    parse(render(envelope, "svg"))
    envelope["data"]["picture"]["scenes"][0]["view"] = "hall"
    parse(render(envelope, "svg"))
    assert "<img" not in render_html(envelope)


@pytest.mark.parametrize("bad", HOSTILE)
def test_hostile_titles_stay_text(bad: str) -> None:
    envelope = shown("lab-128")
    envelope["data"]["title"] = envelope["data"]["testbed"] = bad
    for scene in envelope["data"]["picture"]["scenes"]:
        scene["title"] = scene["note"] = bad
        scene["sites"] = [bad]
        for block in scene["blocks"]:
            block["name"], block["last"] = bad, bad
    root = parse(render(envelope, "svg"))
    assert {element.tag.rpartition("}")[2] for element in root.iter()} >= {"svg", "g", "text"}
    page = render_html(envelope)
    assert "<img" not in page
    assert "<script>alert" not in page


NAMES = [
    'leaf "1"',
    "]]><!--",
    "<script>x</script>",
    "\u202egnp.leaf",
    "&amp;",
    "spine 'a'",
    "名" * 40,
]


def test_a_cabling_of_hostile_names_is_drawn(tmp_path: Path) -> None:
    nodes = [{"id": name, "kind": "switch"} for name in NAMES]
    nodes += [{"id": f"h{n}", "kind": "host"} for n in range(4)]
    links = [{"source": f"h{n}", "target": NAMES[n]} for n in range(4)]
    links += [{"source": one, "target": NAMES[-1]} for one in NAMES[:-1]] * 2
    links += [{"source": NAMES[0], "target": NAMES[0]}, {"source": NAMES[0], "target": NAMES[1]}]
    path = tmp_path / "graph.json"
    path.write_text(json.dumps({"nodes": nodes, "links": links, "multigraph": True}))
    result, content = run_export_svg(str(path))
    root = parse(content)
    assert result.data["cables"] == len(links)
    assert b"<script" not in content
    assert "\u202e".encode() not in content
    tiers = next(each for each in root.iter() if each.get("class") == "scenes")[1]
    assert cables(tiers) == len(links)


def test_a_long_chain_of_switches_is_drawn_in_few_rows(tmp_path: Path) -> None:
    rows = ["a,a_port,b,b_port"]
    rows += [f"sw-{n},1,sw-{n + 1},2" for n in range(5000)] + ["host-0,1,sw-0,3"]
    path = tmp_path / "chain.csv"
    path.write_text("\n".join(rows) + "\n")
    result, content = run_export_svg(str(path))
    root = parse(content)
    assert len(content) < 100_000
    tiers = next(each for each in root.iter() if each.get("transform", "").startswith("trans"))
    assert cables(tiers) == result.data["cables"] == 5001
    assert b"12 and more steps" in content


def test_the_real_fabric_is_drawn_tier_by_tier_and_pair_by_pair() -> None:
    path = shared_data(GB200)
    result, content = run_export_svg(str(path))
    root = parse(content)
    assert "/" not in result.data["testbed"]
    sheet = next(each for each in root.iter() if each.get("class") == "scenes")
    tiers, pairs = (each for each in sheet if each.get("transform"))
    assert cables(tiers) == result.data["cables"] == 1114
    assert counts(tiers)["leaf"] == 31
    assert counts(tiers)["spine"] == 9
    assert counts(tiers)["NIC"] == 582
    assert cables(pairs) == 532
    assert bundles(pairs) == 31 * 9 - 10, "ten pairs have no cable at all"
    assert "6 of other counts; 10 empty squares" in content.decode()
    assert {finding.code for finding in result.findings} == {"CTB-T312", "CTB-T317"}


@pytest.mark.parametrize(
    "name",
    [
        "ns3-hpcc/fat.txt",
        "ns3-hpcc/topology.txt",
        "htsim/leaf_spine_8192_800g.topo",
        "simgrid/cluster_fat_tree.xml",
        "batfish/example_layer1_topology.json",
        "topograph/netq-topologyGraph.json",
        "topograph/ibnetdiscover-example-bad.out",
    ],
)
def test_real_files_of_other_formats_are_drawn(name: str) -> None:
    path = shared_data(f"fabric/third-party/{name}")
    result, content = run_export_svg(str(path))
    root = parse(content)
    tiers = next(each for each in root.iter() if each.get("transform", "").startswith("trans"))
    assert cables(tiers) == result.data["cables"]
    assert outside(tiers) == []


def test_what_is_neither_testbed_nor_cabling_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("hello\n")
    with pytest.raises(InputError, match="no format that can be imported"):
        run_export_svg(str(path))
    with pytest.raises(InputError, match="no testbed is called 'lab-129'"):
        run_export_svg("lab-129")


@given(st.text(max_size=60), st.floats(0, 300))
def test_text_is_cut_to_its_room(words: str, room: float) -> None:
    cut = fit(words, room)
    assert text_width(cut) <= max(room, 0) or cut == ""
    assert cut == words or "…" in cut or cut == ""


def test_show_needs_no_arrays() -> None:
    code = (
        "import sys\n"
        "from ctestbed.bench.report.render import render\n"
        "from ctestbed.core.envelope import build_envelope\n"
        "from ctestbed.topology.commands import ShowRequest, run_show\n"
        "result = run_show(ShowRequest('mrc-131072'))\n"
        "e = build_envelope(result, command=['topology', 'show'], options={}, run={},"
        " canonical=True)\n"
        "render(e, 'table'), render(e, 'svg')\n"
        "print(sorted({'numpy', 'numba', 'networkx', 'jinja2'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_command_writes_pictures_and_says_what_they_leave_out(tmp_path: Path) -> None:
    path = tmp_path / "lab.svg"
    words = ["export", "three-vendor-sites", "--to", "svg"]
    loud = CliRunner().invoke(app, [*words, "-o", str(path)])
    assert (loud.exit_code, loud.stdout) == (0, "")
    assert "note[CTB-T317]: svg: 4,480 cables drawn as" in loud.stderr
    assert "delays and lengths are not drawn but those of trunks" in loud.stderr
    quiet = CliRunner().invoke(app, [*words, "-q"])
    assert (quiet.stdout, quiet.stderr) == (path.read_text(), "")
    near = CliRunner().invoke(
        app, ["show", "three-vendor-sites", "--site", "south", "--pod", "1", "--format", "svg"]
    )
    assert near.exit_code == 0
    assert "Pod 1" in near.stdout
    assert "Pod 0" not in near.stdout
    wrong = CliRunner().invoke(app, ["export", "lab-128", "--to", "svgg"])
    assert wrong.exit_code == 3
    assert "did you mean `svg`?" in wrong.stderr
