"""Which format a file is of: told by its content, with the reason, or named by the user."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ctestbed.core.errors import InputError, Where
from ctestbed.core.names import did_you_mean
from ctestbed.core.yamlfile import load_yaml
from ctestbed.topology.formats import (
    astrasim,
    batfish,
    containerlab,
    csvlist,
    graphml,
    htsim,
    ibnetdiscover,
    ibsim,
    lldp,
    netlab,
    netq,
    nodelink,
    ns3,
    simgrid,
)
from ctestbed.topology.formats.collect import Collector
from ctestbed.topology.formats.document import JSONDocument, load_json
from ctestbed.topology.formats.source import Source
from ctestbed.topology.formats.xmltext import Element, load_xml

if TYPE_CHECKING:
    from ctestbed.topology.cabling import Cabling

TESTBED: Final = "testbed"


@dataclass(frozen=True, slots=True)
class Format:
    """A format we read: its name for `--from`, what it is, and how its text becomes cabling."""

    name: str
    title: str
    family: str
    read: Callable[..., "Cabling"]


@dataclass(frozen=True, slots=True)
class Recognised:
    """A format, the reason for it, and the parsed content where finding out needed parsing."""

    format: Format
    because: str
    parsed: JSONDocument | Element | None = None


def _read_testbed(source: Source) -> "Cabling":
    """Build a testbed of our own and return what it cables.

    Raises:
        InputError: it cannot be built, or cables more than any other file may hold.
    """
    from ctestbed.topology.build import lay_out
    from ctestbed.topology.cabling import cabling_of
    from ctestbed.topology.load import parse_testbed
    from ctestbed.topology.plan import require_plan

    plan = require_plan(parse_testbed(source.text.encode(), source.name))
    Collector(source, TESTBED).refuse_size(plan.nodes, plan.links, None)
    return cabling_of(lay_out(plan))


_ALL: Final = (
    Format(TESTBED, "a testbed file of ctestbed", "yaml", _read_testbed),
    Format(ibnetdiscover.FORMAT, "output of ibnetdiscover", "text", ibnetdiscover.read),
    Format(ibsim.FORMAT, "a net file of ibsim", "text", ibsim.read),
    Format(ns3.HPCC, "a topology of ns-3 (HPCC)", "text", ns3.read_hpcc),
    Format(ns3.SIMAI, "a topology of SimAI", "text", ns3.read_simai),
    Format(htsim.FORMAT, "a .topo file of htsim", "text", htsim.read),
    Format(astrasim.FORMAT, "a network of ASTRA-sim", "yaml", astrasim.read),
    Format(containerlab.FORMAT, "a topology of containerlab", "yaml", containerlab.read),
    Format(netlab.FORMAT, "a topology of netlab", "yaml", netlab.read),
    Format(simgrid.FORMAT, "a platform of SimGrid", "xml", simgrid.read),
    Format(graphml.FORMAT, "a graph in GraphML", "xml", graphml.read),
    Format(batfish.FORMAT, "a layer-1 topology of Batfish", "json", batfish.read),
    Format(netq.FORMAT, "a topology graph of NetQ", "json", netq.read),
    Format(lldp.FORMAT, "LLDP neighbours of lldpd", "json", lldp.read),
    Format(nodelink.FORMAT, "a node-link graph (networkx)", "json", nodelink.read),
    Format(csvlist.FORMAT, "a cable list", "text", csvlist.read),
)
FORMATS: Final = {item.name: item for item in _ALL}
"""Every format that can be read, by name, in the order of the help."""

_PARSERS: Final[dict[str, Callable[[Source], JSONDocument | Element]]] = {
    "json": load_json,
    "xml": load_xml,
}
"""What a reader of the family is handed besides the text; YAML readers parse for themselves."""

_TITLE: Final = re.compile(r"#\s*(\n#)?\s*Topology file: generated on")
_GUIDS: Final = re.compile(r"^\s*(vendid|switchguid|caguid|rtguid)=0x", re.MULTILINE)
_RECORD: Final = re.compile(r'^(Switch|Hca|Ca|Rt)\s+[0-9]+\s+"', re.MULTILINE)
_NODES: Final = re.compile(r"^\s*nodes\s+[0-9]+\s*$", re.MULTILINE | re.IGNORECASE)
_PODSIZE: Final = re.compile(r"^\s*podsize\s", re.MULTILINE | re.IGNORECASE)
_KEY: Final = re.compile(r"^[\"']?[\w.-]+[\"']?:(\s|$)", re.MULTILINE)
_JSON: Final = re.compile(r"\[|\{\s*[\"}]|\{\s*$")  # what else follows a brace is YAML
_HEAD: Final = 2**16
_FEW: Final = 10


def read_as(source: Source, name: str | None) -> tuple["Cabling", Recognised]:
    """Read a file as the named format, or as what its content says it is.

    Raises:
        InputError: unknown format, unrecognised content, or a file its reader refuses.
    """
    named = None if name is None else Recognised(find_format(name), "named by --from")
    found = recognise(source) if named is None else named
    read: Callable[..., Cabling] = found.format.read
    parse = _PARSERS.get(found.format.family)
    if parse is None:
        return read(source), found
    return read(source, parse(source) if found.parsed is None else found.parsed), found


def find_format(name: str) -> Format:
    """Return the format of this name.

    Raises:
        InputError: there is none.
    """
    if name not in FORMATS:
        raise InputError(
            "CTB-T101",
            f"there is no format {name[:40]!r} to import from",
            hint=did_you_mean(name[:40], FORMATS),
        )
    return FORMATS[name]


def recognise(source: Source) -> Recognised:
    """Tell a file's format by its content.

    Raises:
        InputError: no format has such content, or it breaks off before that can be told.
    """
    start = source.text.lstrip()
    for look in (_by_mark, _by_lines, _by_keys):
        found = look(source, start)
        if found is not None:
            return found
    raise InputError(
        "CTB-T100",
        f"{source.name!r} is in no format that can be imported",
        where=Where(source.name),
        hint=f"name it by --from: {', '.join(FORMATS)}",
    )


def _found(name: str, because: str, parsed: Any = None) -> Recognised:
    return Recognised(FORMATS[name], because, parsed)


def _by_lines(source: Source, start: str) -> Recognised | None:
    """Tell the line formats by how their first lines look."""
    head, first = source.text[:_HEAD], source.lines[0]
    tests = (
        (
            _TITLE.match(start) or _GUIDS.search(head),
            ibnetdiscover.FORMAT,
            "it has the title or the guid lines of ibnetdiscover",
        ),
        (_RECORD.search(head), ibsim.FORMAT, 'it has records like `Switch 36 "id"` without guids'),
        (ns3.HPCC_HEADER.fullmatch(first), ns3.HPCC, "its first line is three counts"),
        (
            ns3.SIMAI_HEADER.fullmatch(first),
            ns3.SIMAI,
            "its first line is five counts and a GPU type",
        ),
        (
            _NODES.search(head) and _PODSIZE.search(head),
            htsim.FORMAT,
            "it gives Nodes and Podsize",
        ),
        (
            csvlist.is_cable_list(start.partition("\n")[0]),
            csvlist.FORMAT,
            "its first line names the columns of a cable list",
        ),
    )
    return next((_found(name, because) for test, name, because in tests if test), None)


def _by_mark(source: Source, start: str) -> Recognised | None:
    """Tell JSON and XML by their first mark, and then by their top level."""
    if start.startswith("<"):
        root = load_xml(source)
        names = {"platform": simgrid.FORMAT, "graphml": graphml.FORMAT}
        if root.tag in names:
            return _found(names[root.tag], f"its outermost element is <{root.tag}>", root)
        raise source.refuse(
            "CTB-T100",
            f"<{root.tag[:40]}> is the outermost element of no format that can be imported",
            root.line,
            "known: <platform> of SimGrid, <graphml>",
        )
    if _JSON.match(start) is not None:
        document = load_json(source)
        told = _json_format(document.value)
        if told is not None:
            return _found(told[0], told[1], document)
    return None


def _json_format(value: Any) -> tuple[str, str] | None:
    """Tell a JSON format by the keys of its top level, or of the first item of a list."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return None
    edges = _items(first, "edges")
    inside = [item for item in first.values() if isinstance(item, dict)]
    lists = {key for key in ("nodes", "links", "edges") if isinstance(first.get(key), list)}
    tests = (
        ("ctestbed" in first, TESTBED, "it says `ctestbed`"),
        (
            "edges" in lists and ("nodes" not in lists or any("node1" in edge for edge in edges)),
            batfish.FORMAT,
            "it lists `edges` of two nodes each",
        ),
        (
            any("compounded_links" in link for link in _items(first, "links"))
            or any("compounded_nodes" in node for node in _items(first, "nodes")),
            netq.FORMAT,
            "it holds `compounded_links` or `compounded_nodes`",
        ),
        (
            isinstance(value, dict) and "nodes" in lists and len(lists) > 1,
            nodelink.FORMAT,
            "it lists `nodes` and `links`",
        ),
        (
            "lldp" in first or any("lldp" in item for item in inside) or lldp.is_row(first),
            lldp.FORMAT,
            "it holds `lldp` neighbours",
        ),
    )
    return next(((name, because) for test, name, because in tests if test), None)


def _items(mapping: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the first few mappings that a key lists."""
    listed = mapping.get(key)
    few = listed[:_FEW] if isinstance(listed, list) else []
    return [item for item in few if isinstance(item, dict)]


def _grouped(value: dict[str, Any]) -> bool:
    """Return whether groups of netlab make nodes."""
    groups = value.get("groups")
    if not isinstance(groups, dict):
        return False
    within = (group for group in groups.values() if isinstance(group, dict))
    return "_auto_create" in groups or any("_auto_create" in group for group in within)


def _by_keys(source: Source, start: str) -> Recognised | None:
    """Tell YAML, and what is YAML though written as JSON, by its top-level keys."""
    if _KEY.search(start) is None and not start.startswith("{"):
        return None
    value = load_yaml(source.text.encode(), source.name).value
    if not isinstance(value, dict):
        return None
    topology, plugins = value.get("topology"), value.get("plugin")
    fabric = isinstance(plugins, list | str) and "fabric" in plugins and "fabric" in value
    tests = (
        ("ctestbed" in value, TESTBED, "it says `ctestbed`"),
        ("npus_count" in value, astrasim.FORMAT, "it gives `npus_count`"),
        (
            isinstance(topology, dict) and ("nodes" in topology or "links" in topology),
            containerlab.FORMAT,
            "it holds `topology.nodes` or `topology.links`",
        ),
        (
            "nodes" in value or "links" in value or fabric or _grouped(value),
            netlab.FORMAT,
            "it gives `nodes`, `links`, groups that make nodes, or counts for the fabric plugin",
        ),
    )
    return next((_found(name, because) for test, name, because in tests if test), None)
