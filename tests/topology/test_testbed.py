"""What a testbed file may say, and what is told to whoever writes it wrong."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.errors import CtestbedError, InputError
from ctestbed.core.result import Finding
from ctestbed.core.spec import SpecError
from ctestbed.topology.load import (
    builtin_testbeds,
    load_testbed,
    parse_testbed,
)
from ctestbed.topology.load import (
    testbed_path as path_of,
)
from ctestbed.topology.plan import plan_testbed
from ctestbed.topology.validate import unknown_paths, validate_testbed
from tests.topology.strategies import fat_tree, load_document

TWO_TIERS = {"tiers": 2, "leaves": 4, "hosts_per_leaf": 4, "spines": 2}
TWO_SITES = {"sites": [{"name": "east"}, {"name": "west"}]}


def refusals(document: dict[str, Any]) -> list[Finding]:
    """All error findings, whether the model or the plan makes them."""
    try:
        return plan_testbed(load_document(document))[1]
    except SpecError as error:
        return list(error.findings)


def trunk(**changes: Any) -> dict[str, Any]:
    return {"between": ["east", "west"], "length": "150km", "rate": "400Gbps", **changes}


@pytest.mark.parametrize(
    ("document", "code", "pointer", "word"),
    [
        (fat_tree(tiers=2, k=4) | {"planes": {"count": 0}}, "CTB-C043", "planes.count", "0"),
        (fat_tree(tiers=2, leafs=4), "CTB-C041", "fabric.leafs", "leafs"),
        (fat_tree(tiers=2, k=4, rate="400G"), "CTB-C003", "fabric.rate", "ambiguous"),
        (fat_tree(tiers=2, k=4, rate="150km"), "CTB-C003", "fabric.rate", "150km"),
        (fat_tree(tiers=2, k=4, delay=1), "CTB-C003", "fabric.delay", "no unit"),
        (fat_tree(tiers=2, k=5), "CTB-T009", "fabric.k", "odd"),
        (fat_tree(tiers=2, k=4, leaves=3), "CTB-T002", "fabric", "leaves"),
        (fat_tree(tiers=2, k=4, parallel=2), "CTB-T002", "fabric", "parallel"),
        (fat_tree(**TWO_TIERS, pods=2), "CTB-T002", "fabric", "pods"),
        (fat_tree(tiers=3, leaves=2, spines=2), "CTB-T002", "fabric", "hosts_per_leaf"),
        (fat_tree(**TWO_TIERS, radix=5), "CTB-T014", "fabric.radix", "6 ports"),
        (fat_tree(tiers=3, k=4, radix=3), "CTB-T014", "fabric.radix", "4 ports"),
        (fat_tree(**TWO_TIERS, length="3m"), "CTB-T001", "fabric", "both"),
        (fat_tree(**TWO_TIERS, refractive_index=1.5), "CTB-T001", "fabric", "length"),
        (fat_tree(**TWO_TIERS, refractive_index=0), "CTB-C043", "fabric.refractive_index", "0"),
        (
            fat_tree(tiers=3, pods=2, leaves=2, hosts_per_leaf=2, spines=2, cores=3),
            "CTB-T009",
            "fabric.cores",
            "3 cores",
        ),
        (
            fat_tree(**TWO_TIERS) | {"planes": {"count": 3}},
            "CTB-T008",
            "fabric.hosts_per_leaf",
            "3 planes",
        ),
        (
            fat_tree(tiers=2, k=6) | {"host": {"nics": 4}},
            "CTB-T008",
            "fabric",
            "18 NICs",
        ),
        (
            fat_tree(tiers=2, k=4, rate="1bps") | {"planes": {"count": 3, "form": "nic-split"}},
            "CTB-T011",
            "fabric.rate",
            "3 whole",
        ),
        (fat_tree(**TWO_TIERS, rate=0), "CTB-T011", "fabric.rate", "0 b/s"),
        (
            fat_tree(**TWO_TIERS) | {"supernode": {"accelerators": 7, "scale_up": {}}},
            "CTB-C042",
            "supernode.scale_up.rate",
            "missing",
        ),
        (
            fat_tree(**TWO_TIERS)
            | {
                "supernode": {
                    "accelerators": 7,
                    "scale_up": {"rate": "unknown", "delay": "unknown"},
                }
            },
            "CTB-T015",
            "supernode.accelerators",
            "16 accelerators",
        ),
        (
            fat_tree(**TWO_TIERS) | TWO_SITES | {"trunks": [trunk(between=["east", "wset"])]},
            "CTB-T012",
            "trunks[0].between[1]",
            "wset",
        ),
        (
            fat_tree(**TWO_TIERS) | TWO_SITES | {"trunks": [trunk(between=["east", "east"])]},
            "CTB-T012",
            "trunks[0].between",
            "itself",
        ),
        (
            fat_tree(**TWO_TIERS)
            | TWO_SITES
            | {"trunks": [{"between": ["east", "west"], "rate": "1Gbps"}]},
            "CTB-T003",
            "trunks[0]",
            "length",
        ),
        (
            fat_tree(**TWO_TIERS) | {"sites": [{"name": "east"}, {"name": "east"}]},
            "CTB-T006",
            "sites[1].name",
            "east",
        ),
        (
            fat_tree(**TWO_TIERS) | {"sites": [{"name": "east", "fabric": "big"}]},
            "CTB-T007",
            "sites[0].fabric",
            "east",
        ),
        (
            fat_tree(tiers=2, leaves=2**22, hosts_per_leaf=2**22, spines=2**22),
            "CTB-T016",
            None,
            "memory",
        ),
        (fat_tree(tiers=2, leaves=2**23, hosts_per_leaf=1, spines=1), "CTB-C043", None, "8388608"),
    ],
)
def test_each_mistake_is_named_and_placed(
    document: dict[str, Any], code: str, pointer: str | None, word: str
) -> None:
    found = [finding for finding in refusals(document) if finding.code == code]
    assert found, refusals(document)
    assert word in found[0].message
    place = found[0].where
    assert place is not None
    assert place.file == "test.yaml"
    assert place.line is not None
    if pointer is not None:
        assert place.pointer == pointer


def test_nearest_names_are_offered() -> None:
    hints = [finding.hint for finding in refusals(fat_tree(tiers=2, leafs=4))]
    assert "did you mean `leaves`?" in hints
    document = fat_tree(**TWO_TIERS) | TWO_SITES | {"trunks": [trunk(between=["east", "wset"])]}
    assert [finding.hint for finding in refusals(document)] == ["did you mean `west`?"]
    with pytest.raises(InputError, match="lab-182") as caught:
        load_testbed("lab-182")
    assert caught.value.hint == "did you mean `lab-128`?"


def test_sites_of_different_fabrics() -> None:
    fabric = fat_tree(**TWO_TIERS)["fabric"]
    document: dict[str, Any] = {
        "ctestbed": 1,
        "name": "mixed",
        "fabrics": {"small": fabric, "large": fabric | {"leaves": 8}},
        "sites": [{"name": "east", "fabric": "small"}, {"name": "west", "fabric": "large"}],
        "trunks": [trunk()],
    }
    plan, findings = plan_testbed(load_document(document))
    assert not findings
    assert plan is not None
    assert [site.hosts for site in plan.sites] == [16, 32]
    document["fabrics"]["large"] |= {"spines": 4}
    assert [finding.code for finding in refusals(document)] == ["CTB-T013"]
    document["sites"][1]["fabric"] = "lrge"
    assert [finding.hint for finding in refusals(document)] == ["did you mean `large`?"]


def test_every_finding_of_a_phase_comes_at_once() -> None:
    document = fat_tree(tiers=2, k=5) | TWO_SITES
    document["trunks"] = [trunk(between=["east", "nowhere"]), trunk(rate=0)]
    assert {finding.code for finding in refusals(document)} == {"CTB-T009", "CTB-T012", "CTB-T011"}


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00\xff\xfe binary \x80", b"- a\n- b\n", b"just text", b"42", b"ctestbed: [1", b"{}"],
)
def test_what_is_no_testbed_is_refused(content: bytes) -> None:
    with pytest.raises(InputError) as caught:
        parse_testbed(content, "garbage")
    assert caught.value.exit_code == 3
    assert "garbage" in str(caught.value.where)


@given(st.binary(max_size=200))
def test_bytes_never_raise_anything_else(content: bytes) -> None:
    with pytest.raises(CtestbedError):
        parse_testbed(content, "garbage")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
FIELDS = (
    "sites",
    "fabric",
    "fabrics",
    "host",
    "planes",
    "supernode",
    "trunks",
    "transfers",
    "expect",
    "seed",
)


@given(st.dictionaries(st.sampled_from(FIELDS), JSON, min_size=1))
def test_wrong_values_anywhere_give_findings_only(changes: dict[str, Any]) -> None:
    try:
        validate_testbed(load_document(fat_tree(**TWO_TIERS) | changes))
    except InputError as error:
        assert error.code.startswith("CTB-")


def test_no_and_sexagesimals_stay_text() -> None:
    document = fat_tree(**TWO_TIERS) | {"title": "no", "sources": ["1:30"], "name": "off"}
    testbed = load_document(document).testbed
    assert (testbed.title, testbed.sources, testbed.name) == ("no", ["1:30"], "off")


def test_unknown_is_kept_noted_and_never_counted_with() -> None:
    document = fat_tree(**TWO_TIERS, mtu="unknown") | TWO_SITES
    document["fabric"] |= {"rate": "unknown", "delay": "unknown"}
    document["trunks"] = [
        trunk(length="unknown", lossless={"classes": 1, "headroom": "unknown"}),
    ]
    loaded = load_document(document)
    expected = {
        ("fabric", "rate"),
        ("fabric", "delay"),
        ("fabric", "mtu"),
        ("trunks", 0, "length"),
        ("trunks", 0, "lossless", "headroom"),
    }
    assert set(unknown_paths(loaded.testbed)) == expected
    validation = validate_testbed(loaded)
    notes = [finding for finding in validation.findings if finding.code == "CTB-T040"]
    assert len(notes) == len(expected)
    assert {finding.severity for finding in validation.findings} == {"note"}
    assert validation.topology is not None
    assert set(validation.topology.links.delay.tolist()) == {-1}
    assert set(validation.topology.links.rate.tolist()) == {-1, 400 * 10**9}


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        (fat_tree(**TWO_TIERS, length="4e12km"), "fabric.length"),
        (fat_tree(**TWO_TIERS, spine_links={"length": "4e12km"}), "fabric.spine_links.length"),
        (
            TWO_SITES | fat_tree(**TWO_TIERS) | {"trunks": [trunk(length="4e12km")]},
            "trunks[0].length",
        ),
        (
            TWO_SITES
            | fat_tree(**TWO_TIERS)
            | {"trunks": [trunk(amplifiers={"spacing": "1mm", "delay": "1000h"})]},
            "trunks[0].amplifiers.delay",
        ),
        (
            TWO_SITES
            | fat_tree(**TWO_TIERS)
            | {
                "trunks": [
                    trunk(
                        protection={
                            "length": "99km",
                            "amplifiers": {"spacing": "1mm", "delay": "1000h"},
                        }
                    )
                ]
            },
            "trunks[0].protection.amplifiers.delay",
        ),
    ],
)
def test_a_route_too_long_to_hold_is_named(document: dict[str, Any], pointer: str) -> None:
    if "length" in document["fabric"]:
        del document["fabric"]["delay"]
    found = refusals(document)
    assert [finding.code for finding in found] == ["CTB-C005"]
    assert found[0].where is not None
    assert (found[0].where.file, found[0].where.pointer) == ("test.yaml", pointer)
    assert found[0].where.line is not None


def test_names_and_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builtin = builtin_testbeds()["lab-128"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab-128").write_text("a file of that name")
    (tmp_path / "mine").write_text("another")
    assert path_of("-") is None
    assert path_of("lab-128") == builtin
    assert path_of("./lab-128") == Path("./lab-128")
    assert path_of("lab-128.yaml") == Path("lab-128.yaml")
    assert path_of("mine") == Path("mine")
    for name in ("", "nowhere", "\0", "a" * 5000):
        with pytest.raises(CtestbedError):
            path_of(name)
    with pytest.raises(InputError, match="does not exist"):
        load_testbed("./nowhere.yaml")


def test_a_builtin_is_named_alike_on_every_machine() -> None:
    loaded = load_testbed("lab-128")
    assert loaded.source.name == "topologies/lab-128.yaml"
    assert loaded.document.where(("fabric",)).file == "topologies/lab-128.yaml"


@pytest.mark.parametrize(("sides", "word"), [([], "at least 1 item, not 0"), ([2] * 9, "not 9")])
def test_lists_of_wrong_length_are_counted_once(sides: list[int], word: str) -> None:
    fabric = {"kind": "torus", "dims": sides, "rate": "1Gbps", "delay": "1us"}
    (finding,) = refusals({"ctestbed": 1, "name": "x", "fabric": fabric})
    assert finding.message.endswith(word)
