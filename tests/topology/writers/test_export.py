"""`topology export`: round trips through our own readers, the command, and real OpenSM."""

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ConfigDict, TypeAdapter
from typer.testing import CliRunner

from ctestbed.cli.topology import app
from ctestbed.core.errors import InputError
from ctestbed.topology.exporting import FORMATS, ExportData, ExportRequest, run_export
from ctestbed.topology.importing import parse_cabling
from ctestbed.topology.writers.common import Fabric
from tests.topology.writers.fabrics import (
    cable_multiset,
    leaf_spine,
    pair_multiset,
    supernodes,
    three_tier,
    torus,
    written,
)

TOOLS = ("ibsim", "opensm", "ibnetdiscover")
WHOLE = ("csv", "graphml", "node-link")
IDEMPOTENT = (*WHOLE, "ns3-hpcc", "simai", "ibsim", "containerlab", "netlab", "batfish", "netq")


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("fabric", [leaf_spine(), supernodes(), torus()])
def test_import_after_export_is_the_identity(fabric: Fabric, name: str) -> None:
    text, _ = written(fabric, name)
    back, recognised = parse_cabling(text.encode(), f"x{FORMATS[name].suffix}")
    assert recognised.format.name == name
    assert cable_multiset(back) == cable_multiset(fabric.cabling)
    for column in ("rate", "delay", "length"):
        ours, theirs = (getattr(c.cables, column).tolist() for c in (fabric.cabling, back))
        assert Counter(theirs) == Counter(ours)
    for device in fabric.cabling.devices:
        found = back.devices[back.index[device.name]]
        fields = ("kind", "host", "site", "plane", "pod", "tier", "rail", "role")
        assert [getattr(found, f) for f in fields] == [getattr(device, f) for f in fields]


@pytest.mark.parametrize("name", IDEMPOTENT)
@pytest.mark.parametrize("fabric", [leaf_spine(), three_tier()])
def test_export_after_import_changes_nothing_more(fabric: Fabric, name: str) -> None:
    if name == "simai":
        fabric = supernodes()
    once, _ = written(fabric, name)
    back, _ = parse_cabling(once.encode(), "x", name)
    twice, _ = written(Fabric(back), name)
    again, _ = parse_cabling(twice.encode(), "x", name)
    assert pair_multiset(again) == pair_multiset(back)
    if name not in WHOLE:
        assert len(again.cables) == len(back.cables)
    third, _ = written(Fabric(again), name)
    assert third == twice


@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"simai", "dot", "yaml"}))
def test_every_format_is_read_back_with_every_cable(name: str) -> None:
    fabric = leaf_spine(parallel=1)
    text, _ = written(fabric, name)
    back, _ = parse_cabling(text.encode(), "x", name)
    if name != "astra-sim":
        assert len(back.cables) == len(fabric.cabling.cables)
        assert sorted(pair_multiset(back).values()) == sorted(
            pair_multiset(fabric.cabling).values()
        )


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_result_says_what_was_written(name: str) -> None:
    result, content = run_export(ExportRequest("lab-128", name))
    ExportData.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]
    data = TypeAdapter(ExportData).validate_python(json.loads(json.dumps(result.data)), strict=True)
    assert (data["bytes"], data["format"]) == (len(content), name)
    assert (data["devices"], data["cables"]) == (152, 256)
    assert content.endswith(b"\n")


def test_an_unknown_format_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError) as caught:
        run_export(ExportRequest("lab-128", "graphlm"))
    assert caught.value.code == "CTB-T301"
    assert "graphml" in str(caught.value.hint)


def test_the_command_writes_the_file_and_says_on_stderr_what_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "lab.txt"
    words = ["export", "lab-128", "--to", "ns3-hpcc"]
    loud = CliRunner().invoke(app, [*words, "-o", str(path)])
    assert loud.exit_code == 0
    assert loud.stdout == ""
    assert "note[CTB-T310]" in loud.stderr
    assert path.read_text().startswith("152 24 256\n")
    quiet = CliRunner().invoke(app, [*words, "-q"])
    assert (quiet.stdout, quiet.stderr) == (path.read_text(), "")


@contextlib.contextmanager
def ibsim(net: Path, folder: Path) -> Iterator[dict[str, str]]:
    """Run ibsim over a net file; yield the environment in which tools are attached to it."""
    library = next(Path("/usr/lib").glob("*/umad2sim/libumad2sim.so"), None)
    tools = f"{os.environ.get('PATH', '')}:/usr/sbin"
    if library is None or not all(shutil.which(tool, path=tools) for tool in TOOLS):
        pytest.skip("ibsim, opensm and umad2sim are not installed")
    environment = {
        **os.environ,
        "PATH": tools,
        "IBSIM_SOCKNAME": f"ctestbed-{os.getpid()}",
        "OSM_TMP_DIR": str(folder),
        "OSM_CACHE_DIR": str(folder),
    }
    with subprocess.Popen(
        ["ibsim", "-s", "-n", str(net)],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            time.sleep(1)
            if process.poll() is not None:
                pytest.skip("ibsim does not run here")
            yield {**environment, "LD_PRELOAD": str(library)}
        finally:
            process.kill()


@pytest.mark.slow
def test_opensm_routes_the_exported_fabric_as_a_fat_tree(tmp_path: Path) -> None:
    fabric = three_tier()
    net = tmp_path / "fabric.net"
    net.write_text(written(fabric, "ibsim")[0])
    with ibsim(net, tmp_path) as environment:
        host = next(device.name for device in fabric.cabling.devices)
        log = tmp_path / "opensm.log"
        subprocess.run(
            ["opensm", "-R", "ftree", "-o", "-e", "-s", "0", "-F", os.devnull, "-f", str(log),
             "-D", "0x43"],
            cwd=tmp_path, env={**environment, "SIM_HOST": host}, capture_output=True, timeout=60,
            check=False,
        )  # fmt: skip
        text = log.read_text()
        assert "SUBNET UP" in text
        # A missing or crossed cable would make it fall back to min-hop.
        assert "ftree tables configured on all switches" in text
        assert "24 CAs, 24 CA ports (24 of them CNs), 16 switches" in text
        assert "4 switches at rank 0 (roots)" in text
        assert "6 switches at rank 2 (6 of them leafs)" in text
        found = subprocess.run(
            ["ibnetdiscover"], env={**environment, "SIM_HOST": host}, capture_output=True,
            timeout=60, check=True, text=True,
        )  # fmt: skip
    back, _ = parse_cabling(found.stdout.encode(), "ibnetdiscover.out", "ibnetdiscover")
    assert sorted(pair_multiset(back).values()) == sorted(pair_multiset(fabric.cabling).values())
    assert set(back.cables.rate.tolist()) == {400_000_000_000}
    names = {device.name for device in back.devices} | {d.description for d in back.devices}
    assert {device.name for device in fabric.cabling.devices} <= names
