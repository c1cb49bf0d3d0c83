"""Damaged, hostile and oversized files: refused with place and reason, or accepted; never else."""

import json
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ctestbed.core.errors import CtestbedError, InputError
from ctestbed.topology.cabling import infer_roles
from ctestbed.topology.importing import ImportRequest, examine, parse_cabling, run_import
from tests.shared import shared_data
from tests.topology.formats.samples import (
    ADAPTERS,
    ASTRA,
    BATFISH,
    CSV,
    GRAPHML,
    HPCC,
    HTSIM,
    IBNETDISCOVER,
    IBSIM,
    NETQ,
    NODELINK,
    SAMPLES,
    SIMAI,
    SIMGRID,
    SPINE,
    load,
    refusal,
)

HANG = 60
"""CPU seconds: a refusal takes well under one; only work without bound takes so long."""

SLOW = [HealthCheck.too_slow]


def survive(content: bytes, from_format: str | None) -> None:
    """Read content: it must be accepted whole, or refused with a place."""
    try:
        cabling, _ = parse_cabling(content, "f.txt", from_format)
    except InputError as error:
        assert error.where is not None or error.code in {"CTB-T100", "CTB-T101"}
        assert error.message
        return
    examine(cabling, infer_roles(cabling))
    size = len(cabling.devices)
    for table in (cabling.cables, cabling.one_sided):
        assert all(0 <= end < size for end in [*table.a.tolist(), *table.b.tolist()])
    assert len({device.name for device in cabling.devices}) == size


@given(st.sampled_from(sorted(SAMPLES)), st.data())
@settings(max_examples=150, suppress_health_check=SLOW)
def test_mutated_bytes(name: str, data: st.DataObject) -> None:
    content = bytearray(SAMPLES[name].encode())
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(content) - 1))
        match data.draw(st.sampled_from(["set", "cut", "insert", "drop", "repeat"])):
            case "set":
                content[position] = data.draw(st.integers(0, 255))
            case "cut":
                del content[position:]
                content += b"x"
            case "insert":
                content[position:position] = data.draw(st.binary(min_size=1, max_size=4))
            case "drop":
                del content[position : position + data.draw(st.integers(1, 20))]
                content += b"\n"
            case _:
                content += content[position : position + 60]
    survive(bytes(content), data.draw(st.sampled_from([None, name])))


@given(st.sampled_from(sorted(SAMPLES)), st.data())
@settings(max_examples=150, suppress_health_check=SLOW)
def test_mutated_lines(name: str, data: st.DataObject) -> None:
    lines = SAMPLES[name].split("\n")
    for _ in range(data.draw(st.integers(1, 3))):
        a, b = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        match data.draw(st.sampled_from(["swap", "drop", "repeat", "cut"])):
            case "swap":
                lines[a], lines[b] = lines[b], lines[a]
            case "drop":
                lines[a] = ""
            case "repeat":
                lines.insert(b, lines[a])
            case _:
                lines = [*lines[: a + 1], ""]
    survive("\n".join(lines).encode(), data.draw(st.sampled_from([None, name])))


@given(st.sampled_from(sorted(SAMPLES)), st.sampled_from(sorted(SAMPLES)))
@settings(max_examples=60, suppress_health_check=SLOW)
def test_read_as_another_format(text: str, name: str) -> None:
    survive(SAMPLES[text].encode(), name)


KEYS = (
    *("edges", "nodes", "links", "id", "source", "target", "node1", "node2", "hostname"),
    *("interfaceName", "lldp", "interface", "chassis", "port", "value", "name", "size", "tier"),
    *("compounded_links", "compounded_nodes", "interfaces"),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES, st.sampled_from([None, "batfish", "netq", "lldp", "node-link"]))
@example({"edges": [{"node1": None, "node2": 3}]}, "batfish")
@example({"nodes": [{"id": [1, 2]}, {"id": "1/2"}], "links": []}, "node-link")
@example({"lldp": {"interface": {"e": {"chassis": [], "port": [[]]}}}}, "lldp")
@settings(max_examples=200, suppress_health_check=SLOW)
def test_json_of_any_shape(value: object, name: str | None) -> None:
    survive(json.dumps(value).encode(), name)


@given(st.text(max_size=200), st.sampled_from([None, *SAMPLES]))
@settings(max_examples=150, suppress_health_check=SLOW)
def test_any_text(text: str, name: str | None) -> None:
    survive(text.encode("utf-8", "surrogatepass"), name)


@given(st.data())
@settings(max_examples=15, suppress_health_check=SLOW)
def test_cut_real_dump(data: st.DataObject) -> None:
    content = shared_data("fabric/third-party/topograph/ibnetdiscover-example.out").read_bytes()
    survive(content[: data.draw(st.integers(1, len(content)))], None)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_encodings_and_line_ends(name: str) -> None:
    content = SAMPLES[name].encode()
    place = content.index(b"\n", len(content) // 3)
    for bad, code in (
        (content[:place] + b"\xff" + content[place:], "CTB-T110"),
        (content[:place] + b"\x00" + content[place:], "CTB-T110"),
        (content[:place] + b"\x1b[31m" + content[place:], "CTB-T110"),
        (content[:place] + b"\r" + content[place:], "CTB-T109"),
        (content.replace(b"\n", b"\r", 1), "CTB-T109"),
        (content.replace(b"\n", b"\r\n").replace(b"\r\n", b"\n", 1), "CTB-T109"),
    ):
        error = refusal(bad, name)
        assert error.code == code
        assert error.where is not None
        assert error.where.line is not None


@pytest.mark.parametrize(
    ("text", "name", "code", "line"),
    [
        ("", "csv", "CTB-T101", None),
        ("hello\nworld\n", None, "CTB-T100", None),
        (IBNETDISCOVER.replace(f'"H-{ADAPTERS[0]}"\t\t#', '"H-xyz"\t\t#'), None, "CTB-T107", 28),
        (IBNETDISCOVER.replace(f"caguid=0x{ADAPTERS[0]}", "caguid=0xnothex"), None, "CTB-T107", 27),
        (IBNETDISCOVER.replace(f"caguid=0x{ADAPTERS[0]}", "caguid=0x1"), None, "CTB-T107", 28),
        (IBNETDISCOVER.replace("Switch\t8", "Swatch\t8"), None, "CTB-T106", 10),
        (IBNETDISCOVER.replace("[2]\t", "[1]\t"), None, "CTB-T103", 12),
        (IBNETDISCOVER.replace("[4]\t", "[9]\t"), None, "CTB-T115", 14),
        (IBNETDISCOVER.replace("lid 2 2xHDR", "lid 2 2xH"), None, "CTB-T113", 14),
        (IBNETDISCOVER.replace("lid 2 2xHDR", "li"), None, "CTB-T101", 14),
        (IBNETDISCOVER[: IBNETDISCOVER.index("caguid")], None, "CTB-T101", 24),
        (IBNETDISCOVER.split("vendid")[1].join(["vendid", ""]), None, "CTB-T105", 6),
        (IBNETDISCOVER + "vendid=0x2c9\n", None, "CTB-T101", 37),
        (IBSIM.replace("Hca", "Hcb", 1), "ibsim", "CTB-T106", 10),
        (IBSIM.replace("[2]", "[1]"), None, "CTB-T103", 4),
        (IBSIM.replace('[1] "leaf0"[1]', '[1] "leaf0"[2]'), None, "CTB-T103", 3),
        (IBSIM.replace('"h1"[1]', '"h9"[1]'), None, "CTB-T105", 4),
        (IBSIM.replace('"h1"[1]', '"h1"[2]'), None, "CTB-T115", 4),
        (IBSIM.replace("s=4", "s=9"), None, "CTB-T113", 4),
        (IBSIM + "include other.net\n", None, "CTB-T114", 14),
        (IBSIM + 'do Unlink "leaf0"\n', None, "CTB-T114", 14),
        (IBSIM + 'Hca 1 "h0"\n', None, "CTB-T104", 14),
        (HPCC.replace("4 2 4", "4 2 5"), None, "CTB-T101", 7),
        ("\n".join(HPCC.split("\n")[:5]), None, "CTB-T102", 5),
        (HPCC.replace("4 2 4", "4 3 4"), None, "CTB-T102", 2),
        (HPCC.replace("\n2 3\n", "\n2 2\n"), None, "CTB-T104", 2),
        (HPCC.replace("\n2 3\n", "\n2 4\n"), None, "CTB-T101", 2),
        (HPCC.replace("0 2 100", "0 7 100"), None, "CTB-T105", 3),
        (HPCC.replace("100Gbps 1000ns", "100Gb 1000ns"), None, "CTB-C003", 3),
        (HPCC.replace("0.000000", "1.5"), None, "CTB-T113", 3),
        (HPCC.replace("4 2 4", "4000000 2 4"), None, "CTB-T108", 1),
        (SIMAI.replace("6 2 1 1 8", "6 3 1 1 8"), None, "CTB-T102", 1),
        (SIMAI.replace("\n4 5\n", "\n3 5\n"), None, "CTB-T102", 2),
        (HTSIM.replace("Radix_Up 2", "Radix_Up 3", 1), None, "CTB-T102", 9),
        (HTSIM.replace("Nodes 16", "Nodes 15"), None, "CTB-T102", 1),
        (HTSIM.replace("Tier 2\n", "Tier 1\n"), None, "CTB-T104", 19),
        (HTSIM.replace("Radix_Down", "Radix_Dawn", 1), None, "CTB-T101", 8),
        (HTSIM[: HTSIM.index("Tier 2")], None, "CTB-T102", 19),
        (HTSIM.replace("Nodes 16", "Nodes 64000000").replace("Podsize 4", "Podsize 64000000"),
         None, "CTB-T102", 9),
        (ASTRA.replace("2, 3, 4", "2, 3"), None, "CTB-T102", 2),
        (ASTRA.replace("Ring", "Rong"), None, "CTB-T106", 1),
        (ASTRA.replace("2, 3, 4", "2, 3, 1000000"), None, "CTB-T108", 2),
        (ASTRA.replace("400", "-1"), None, "CTB-T113", 3),
        (SAMPLES["containerlab"].replace("spine1:e1-1", "spime1:e1-1"), None, "CTB-T105", 11),
        (SAMPLES["containerlab"].replace("leaf1:e1-1", "leaf1"), None, "CTB-T113", 11),
        (SAMPLES["containerlab"].replace("e1-2", "e1-1"), None, "CTB-T103", 12),
        (SAMPLES["containerlab"].replace("tier: 2", "kind: toaster"), None, "CTB-T106", 5),
        (SAMPLES["netlab"].replace("r1-r2", "r1-r9"), None, "CTB-T105", 11),
        (SIMGRID.replace("0-15", "0-16"), None, "CTB-T102", 5),
        (SIMGRID.replace("FAT_TREE", "HYPERCUBE"), None, "CTB-T106", 5),
        (SIMGRID.replace("2;4,4;1,2;1,2", "2;4,4;1,2"), None, "CTB-T113", 5),
        (SIMGRID.replace("2;4,4;1,2;1,2", "2;4,4;1,2;1,9000000"), None, "CTB-T108", 5),
        (SIMGRID.replace("125MBps", "125MBqs"), None, "CTB-C003", 5),
        (SIMGRID.replace("<cluster", "<host").replace("topology", "t"), None, "CTB-T114", 3),
        (BATFISH.replace("eth0", "Ethernet1").replace("host1", "spine1"), None, "CTB-T103", None),
        (BATFISH.replace("hostname", "hostnam", 1), None, "CTB-T113", 4),
        (BATFISH[:-3], None, "CTB-T112", 33),
        (NETQ.replace('"size": 2', '"size": 3'), None, "CTB-T102", None),
        (NETQ.replace('"node": "n1"', '"node": "n7"'), None, "CTB-T105", None),
        (GRAPHML.replace('"leaf-1" s', '"leaf-2" s'), None, "CTB-T105", 8),
        (GRAPHML.replace('id="h1"', 'id="leaf-1"'), None, "CTB-T104", 7),
        (GRAPHML.replace(">switch<", ">toaster<"), None, "CTB-T106", 6),
        (GRAPHML.replace("</graph>", "<hyperedge/></graph>"), None, "CTB-T114", 12),
        (GRAPHML.replace('<data key="r">2', '<data key="q">2'), None, "CTB-T105", 11),
        (GRAPHML[:-5], None, "CTB-T111", 13),
        (NODELINK.replace('"target": 0', '"target": 7', 1), None, "CTB-T105", None),
        (NODELINK.replace('"id": "h1"', '"id": 0'), None, "CTB-T104", None),
        (NODELINK.replace('"rail": 3', '"rail": "x"'), None, "CTB-T113", None),
        (NODELINK.replace('"graph": {', '"nodes": {'), None, "CTB-T112", None),
        (CSV.replace("swp2", "swp1"), None, "CTB-T103", 3),
        (CSV.replace("400Gbps", "400G", 1), None, "CTB-C003", 2),
        (CSV.replace(",DAC", "", 1), None, "CTB-T101", 2),
        (CSV.replace("host", "toaster", 1), None, "CTB-T106", 2),
        (CSV.replace('"leaf-1"', '"leaf-1'), None, "CTB-T101", 4),
        (CSV.replace("h1,", ",", 1), None, "CTB-T113", 2),
        (CSV.replace(",length,", ",speed,"), None, "CTB-T104", 1),
    ],
)  # fmt: skip
def test_refused_with_place_and_reason(
    text: str, name: str | None, code: str, line: int | None
) -> None:
    error = refusal(text, name)
    assert error.code == code, error.message
    if line is not None:
        assert error.where is not None
        assert error.where.line == line


def test_twins_are_refused() -> None:
    text = IBNETDISCOVER + IBNETDISCOVER[IBNETDISCOVER.rindex("vendid") :]
    assert refusal(text).code == "CTB-T104"
    text = IBNETDISCOVER.replace(f'"S-{SPINE}"[2]\t', f'"S-{SPINE}"[1]\t')
    assert len(load(text).one_sided) == 2


BILLION = (
    "topology:\n  a: &a [x, x]\n"
    + "".join(
        f"  {n}: &{n} [*{p}, *{p}, *{p}]\n" for p, n in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "  nodes: *i\n"
)
ENTITIES = (
    '<?xml version="1.0"?>\n<!DOCTYPE platform [\n<!ENTITY a "aaaaaaaaaa">\n'
    + "".join(
        f'<!ENTITY {n} "{f"&{p};" * 10}">\n' for p, n in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "]>\n<platform>&i;</platform>\n"
)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (BILLION, "CTB-C033"),
        ("topology: &t\n  nodes: *t\n", "CTB-C033"),
        ("topology: {nodes: {a: !!python/object:os.system x}}\n", "CTB-C033"),
        ("topology:\n  nodes: " + "[" * 300_000 + "\n", "CTB-C033"),
        (ENTITIES, "CTB-T111"),
        ('<!DOCTYPE g [<!ENTITY x SYSTEM "file:///x">]>\n<graphml>&x;</graphml>', "CTB-T111"),
        ("<graphml>" + "<a>" * 200 + "</a>" * 200 + "</graphml>", "CTB-T111"),
        ("[" * 200_000, "CTB-T112"),
        ('{"edges": ' + "[" * 100_000 + "]" * 100_000 + "}", "CTB-T112"),
        ('{"edges": [NaN]}', "CTB-T112"),
        ('{"edges": [' + "9" * 5000 + "]}", "CTB-T112"),
        ('{"nodes": [], "links": [], "nodes": []}', "CTB-T112"),
        ("9" * 10 + " 1 1\n0\n", "CTB-T108"),
        ("999999999 1 999999999\n0\n", "CTB-T108"),
        ("plugin: [fabric]\nfabric: {spines: 1000000, leafs: 1000000}\n", "CTB-T108"),
    ],
)  # fmt: skip
def test_bombs_cost_little(text: str, code: str) -> None:
    tracemalloc.start()
    start = time.process_time()
    error = refusal(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert error.code == code
    assert time.process_time() - start < HANG
    assert peak < 100 * 2**20


@pytest.mark.parametrize(
    "fabric",
    [
        "{kind: fat-tree, tiers: 3, k: 256, rate: 1Gbps, delay: 1us}",
        "{kind: full-mesh, dims: [4096], rate: 1Gbps, delay: 1us}",
    ],
)
def test_testbeds_cable_no_more_than_other_files_may(fabric: str) -> None:
    start = time.process_time()
    error = refusal(f"ctestbed: 1\nname: x\nfabric: {fabric}\n")
    assert error.code == "CTB-T108"
    assert time.process_time() - start < HANG


def test_oversized_files_are_not_read_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "big.csv"
    with path.open("wb") as stream:
        stream.truncate(2**32)
    with pytest.raises(InputError) as caught:
        run_import(ImportRequest(str(path)))
    assert caught.value.code == "CTB-C010"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("lab-129", "CTB-T005"),
        ("./absent.out", "CTB-C011"),
        ("absent.csv", "CTB-C011"),
        (".", "CTB-T005"),
        ("a\0b.csv", "CTB-C013"),
    ],
)
def test_names_of_nothing(name: str, code: str) -> None:
    with pytest.raises(CtestbedError) as caught:
        run_import(ImportRequest(name))
    assert caught.value.code == code


def test_declared_encodings_do_not_matter() -> None:
    for encoding in ("no-such", "utf-16", "latin-1"):
        text = GRAPHML.replace("'utf-8'", f"'{encoding}'")
        assert len(load(text).cables) == 2


def test_unknown_format_names_the_nearest() -> None:
    error = refusal(CSV, "ibnetdiscovery")
    assert error.hint is not None
    assert "ibnetdiscover" in error.hint


def test_many_faults_are_cut_and_counted() -> None:
    text = "a,a_port,b,b_port\n" + "".join(f"x{n},1,x{n},2\n" for n in range(50))
    found = examine(load(text))
    assert len(found.deviations) == 50
    assert [finding.code for finding in found.findings].count("CTB-T121") == 21
    assert "30 more" in found.findings[20].message
