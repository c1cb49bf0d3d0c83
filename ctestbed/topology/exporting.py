"""`topology export TESTBED --to FORMAT`: the fabric as another tool's file."""

from dataclasses import dataclass
from importlib import import_module
from typing import Final, NamedTuple

from typing_extensions import TypedDict

from ctestbed.core.errors import InputError
from ctestbed.core.names import did_you_mean
from ctestbed.core.result import Finding, Result
from ctestbed.topology.writers.common import Fabric, Notes, Writer


class Format(NamedTuple):
    """A format: where its writer is, what it is called, and the suffix its files have."""

    module: str
    function: str
    title: str
    suffix: str


FORMATS: Final[dict[str, Format]] = {
    "astra-sim": Format("astrasim", "write", "ASTRA-sim network", ".yml"),
    "batfish": Format("batfish", "write", "Batfish layer-1 topology", ".json"),
    "containerlab": Format("containerlab", "write", "containerlab topology", ".clab.yml"),
    "csv": Format("csvlist", "write", "cable list", ".csv"),
    "dot": Format("dot", "write", "Graphviz graph", ".dot"),
    "graphml": Format("graphml", "write", "GraphML graph", ".graphml"),
    "htsim": Format("htsim", "write", "htsim topology", ".topo"),
    "ibsim": Format("ibsim", "write", "ibsim net", ".net"),
    "netlab": Format("netlab", "write", "netlab topology", ".yml"),
    "netq": Format("netq", "write", "NetQ topology graph", ".json"),
    "node-link": Format("nodelink", "write", "node-link graph", ".json"),
    "ns3-hpcc": Format("ns3", "write_hpcc", "ns-3 HPCC topology", ".txt"),
    "simai": Format("ns3", "write_simai", "SimAI topology", ".txt"),
    "simgrid": Format("simgrid", "write", "SimGrid platform", ".xml"),
    "yaml": Format("testbed", "write", "testbed file", ".yaml"),
}


_HOLDS_FRAMES: Final = {"csv", "graphml", "node-link", "yaml"}
"""Formats that keep whatever is known of a cable, and our own."""


class ExportData(TypedDict):
    """Data of `topology export`: what was written, and of how much. Findings say what is lost."""

    testbed: str
    format: str
    title: str
    devices: int
    cables: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """Which testbed (a path, a built-in name, or `-`), and the format."""

    testbed: str
    format: str


def run_export(request: ExportRequest) -> tuple[Result, bytes]:
    """Return the result and the file.

    Raises:
        InputError: no such format, a testbed that cannot be built, or a fabric that the format
            cannot hold.
    """
    entry = find_format(request.format)
    from ctestbed.topology.build import lay_out
    from ctestbed.topology.cabling import cabling_of
    from ctestbed.topology.frames import with_frame_sizes
    from ctestbed.topology.load import load_testbed
    from ctestbed.topology.plan import require_plan

    loaded = load_testbed(request.testbed)
    plan = require_plan(loaded)
    topology = lay_out(plan)
    cabling = with_frame_sizes(cabling_of(topology), topology, plan, loaded)
    fabric = Fabric(cabling, topology, plan, loaded)
    content, findings = export_fabric(fabric, request.format)
    data: ExportData = {
        "testbed": loaded.testbed.name,
        "format": request.format,
        "title": entry.title,
        "devices": len(fabric.cabling.devices),
        "cables": len(fabric.cabling.cables),
        "bytes": len(content),
    }
    schema = "ctestbed.topology.export/1"
    return Result(schema, data, findings=findings, inputs=(loaded.source,)), content


def export_fabric(fabric: Fabric, format_name: str) -> tuple[bytes, tuple[Finding, ...]]:
    """Return a fabric as a file of a format, and the notes of what the format cannot hold.

    Raises:
        InputError: no such format, or a fabric that it cannot hold.
    """
    entry = find_format(format_name)
    module = import_module(f"ctestbed.topology.writers.{entry.module}")
    writer: Writer = getattr(module, entry.function)
    notes = Notes(format_name)
    content = b"".join(piece.encode() for piece in writer(fabric, notes))
    if "a_mtu" in fabric.cabling.cables.extra and format_name not in _HOLDS_FRAMES:
        hint = "csv, graphml and node-link keep them"
        notes.add("CTB-T069", "the frame sizes of ports (`mtu`) are left out", hint)
    return content, tuple(notes.findings)


def find_format(name: str) -> Format:
    """Return the format of this name.

    Raises:
        InputError: there is none.
    """
    entry = FORMATS.get(name)
    if entry is None:
        hint = did_you_mean(name, [*FORMATS, "svg"])
        raise InputError("CTB-T301", f"{name[:40]!r} is no export format", hint=hint)
    return entry
