"""Price lists: what is added up, and what is refused, with its place."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ctestbed.bench.schemas import build_schema
from ctestbed.core.errors import InputError
from ctestbed.core.result import UNKNOWN
from ctestbed.core.spec import SpecError
from ctestbed.core.yamlfile import load_yaml
from ctestbed.topology.bom.commands import BomRequest, run_bom
from ctestbed.topology.bom.prices import builtin_prices, currencies, load_prices
from ctestbed.topology.write import dump_testbed
from tests.cli.shell import ctestbed
from tests.topology.strategies import fat_tree

ENTRY: dict[str, Any] = {
    "switch": "64x400g",
    "price": 94000,
    "currency": "USD",
    "provenance": "claimed",
    "source": "a quotation",
}


def price_file(directory: Path, *entries: dict[str, Any], **others: Any) -> str:
    document = {"ctestbed_prices": 1, "name": "drawn", "prices": list(entries), **others}
    path = directory / "prices.yaml"
    path.write_bytes(dump_testbed(document, "json"))
    return str(path)


def bom(prices: str, *designs: str) -> dict[str, Any]:
    (design,) = run_bom(BomRequest(designs or ("deepseek-ft2-2048",), prices)).data["designs"]
    return dict(design)


def refused(content: bytes | str, tmp_path: Path) -> str:
    """Return what is said of a file that must be refused with code 3, its name included."""
    path = tmp_path / "bad.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    outcome = ctestbed("topology", "bom", "deepseek-ft2-2048", "--prices", str(path))
    assert outcome.code == 3, outcome.stderr
    assert "bad.yaml" in outcome.stderr
    assert outcome.stdout == ""
    return outcome.stderr


HEAD = "ctestbed_prices: 1\nname: bad\nprices:\n"
GOOD = "provenance: claimed, source: a quotation}"


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("{switch: 64x400g, price: -1, currency: USD, ", "CTB-T160"),
        ("{switch: 64x400g, price: .nan, currency: USD, ", "CTB-T160"),
        ("{switch: 64x400g, price: .inf, currency: USD, ", "CTB-T160"),
        ("{switch: 64x400g, price: 1e13, currency: USD, ", "CTB-T160"),
        ("{switch: 64x400g, price: 0.00001, currency: USD, ", "CTB-T160"),
        ("{switch: 64x400g, price: '94000', currency: USD, ", "CTB-T160"),
        ("{switch: 64x400g, price: true, currency: USD, ", "CTB-T160"),
        ("{switch: 64x400g, price: [1], currency: USD, ", "CTB-T160"),
        ("{switch: 64x400g, price: null, currency: USD, ", "CTB-T160"),
        ("{switch: 64x400g, price: 1, currency: XXQ, ", "CTB-T161"),
        ("{switch: 64x400g, price: 1, currency: usd, ", "CTB-T161"),
        ("{switch: 64x400g, price: 1, currency: $, ", "CTB-T161"),
        ("{price: 1, currency: USD, ", "CTB-T163"),
        ("{switch: 64x400g, nic: n, price: 1, currency: USD, ", "CTB-T163"),
        ("{nic: n, includes: [cables], price: 1, currency: USD, ", "CTB-T163"),
        ("{toaster: t, price: 1, currency: USD, ", "CTB-C041"),
        ("{switch: 64x400g, currency: USD, ", "CTB-C042"),
        ("{switch: 64x400g, price: 1, ", "CTB-C042"),
        ("{switch: 64x400g, includes: [rack], price: 1, currency: USD, ", "CTB-C043"),
        ("{switch: no-such-part, price: 1, currency: USD, ", "CTB-T164"),
    ],
)
def test_a_bad_entry_is_refused_with_its_line(entry: str, code: str, tmp_path: Path) -> None:
    said = refused(f"{HEAD}  - {entry}{GOOD}\n", tmp_path)
    assert code in said
    assert "bad.yaml:4" in said


@pytest.mark.parametrize("missing", ["provenance: claimed", "source: a quotation"])
def test_a_price_says_who_says_so(missing: str, tmp_path: Path) -> None:
    entry = f"  - {{switch: 64x400g, price: 1, currency: USD, {GOOD}\n".replace(missing, "")
    assert "CTB-C042" in refused(HEAD + entry.replace(", }", "}").replace(" ,", ""), tmp_path)


LAUGHS = "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 'lol'}]\n" for n in range(9)
)


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe\x00not utf-8",
        b"",
        b"[]",
        b"prices: [",
        LAUGHS.encode(),
        b"a: &a [*a]\n",
        b"[" * 5_000,
        b"ctestbed_prices: 1\nname: x\nprices: []\n",
        b"ctestbed_prices: 2\nname: x\nprices: 3\n",
        b"ctestbed: 1\nname: x\n",
        b"x" * (5 * 2**20),
    ],
    ids=[
        "not utf-8",
        "empty",
        "list",
        "cut",
        "laughs",
        "cycle",
        "deep",
        "none",
        "v2",
        "other",
        "5M",
    ],
)
def test_a_hostile_file_is_refused(content: bytes, tmp_path: Path) -> None:
    refused(content, tmp_path)


def test_all_findings_of_a_file_come_at_once(tmp_path: Path) -> None:
    bad = "  - {switch: s, price: -1, currency: USD, " + GOOD + "\n"
    said = refused(HEAD + bad + bad.replace("-1", ".nan"), tmp_path)
    assert said.count("error[CTB-T160]") == 2


def test_a_part_is_priced_once_and_in_one_currency(tmp_path: Path) -> None:
    twice = price_file(tmp_path, ENTRY, ENTRY)
    with pytest.raises(SpecError, match="priced twice"):
        load_prices(twice)
    mixed = price_file(tmp_path, ENTRY, {**ENTRY, "switch": "other", "currency": "CNY"})
    with pytest.raises(SpecError, match="cannot be added"):
        load_prices(mixed)


def test_a_price_that_may_be_of_a_part_without_one_is_warned_of(tmp_path: Path) -> None:
    nic = {**ENTRY, "nic": "n400"}
    del nic["switch"]
    testbed = tmp_path / "made.yaml"
    testbed.write_text(
        "ctestbed: 1\nname: made\n"
        "parts: {switches: {a64: {radix: 64}, b64: {radix: 64}}, nics: {n400: {}}}\n"
        "host: {nic_model: n400}\n"
        "fabric: {kind: fat-tree, tiers: 2, leaves: 2, hosts_per_leaf: 2, spines: 2, "
        "rate: 1Gbps, delay: 1us, "
        "leaf_switch: {model: a64}, spine_switch: {model: b64}}\n"
    )
    listed = price_file(tmp_path, {**ENTRY, "switch": "a64"}, {**ENTRY, "switch": "b46"}, nic)
    (finding,) = run_bom(BomRequest((str(testbed),), listed)).findings
    assert (finding.code, finding.severity) == ("CTB-T165", "warning")
    assert finding.hint == "did you mean `b64`?"


def test_a_list_may_price_the_parts_of_other_designs_too(tmp_path: Path) -> None:
    strays = [{**ENTRY, "switch": name} for name in ("64x800g", "128x400g")]
    result = run_bom(BomRequest(("deepseek-ft2-2048",), price_file(tmp_path, ENTRY, *strays)))
    (finding,) = result.findings
    assert (finding.code, finding.severity) == ("CTB-T165", "note")
    assert "64x800g, 128x400g" in finding.message
    assert result.exit_code == 0


def test_there_is_no_such_list() -> None:
    outcome = ctestbed("topology", "bom", "lab-128", "--prices", "deepseek-tabel-3")
    assert outcome.code == 3
    assert "did you mean `deepseek-table-3`?" in outcome.stderr
    assert ctestbed("topology", "bom", "lab-128", "--prices", "/no/such/file.yaml").code == 3
    assert ctestbed("topology", "bom", "-", "--prices", "-", stdin="x").code == 3


def test_prices_come_from_standard_input_too() -> None:
    content = builtin_prices()["deepseek-table-3"].read_bytes()
    words = ("topology", "bom", "deepseek-ft2-2048", "--prices", "-", "--format", "json")
    outcome = ctestbed(*words, stdin=content)
    assert outcome.json["data"]["designs"][0]["cost"]["value"] == 96 * 94_000


def test_a_part_without_a_price_leaves_a_lower_bound(tmp_path: Path) -> None:
    design = bom(price_file(tmp_path, ENTRY))
    assert design["cost"]["value"] == UNKNOWN
    assert design["cost"]["at_least"] == 96 * 94_000
    assert design["cost"]["unknown"] == [
        "NIC - leaf cable (400g-optics)",
        "leaf - spine cable (400g-optics)",
        "transceiver 400g-optics",
    ]
    assert design["per_endpoint"]["cost"] == UNKNOWN


def test_a_switch_may_include_its_optics_and_not_its_cables(tmp_path: Path) -> None:
    cable = {**ENTRY, "cable": "400g-optics", "price": 10.5}
    del cable["switch"]
    prices = price_file(tmp_path, {**ENTRY, "includes": ["transceivers"]}, cable)
    design = bom(prices)
    assert design["cost"]["value"] == 96 * 94_000 + 4096 * 10.5
    included = {line["part"] for line in design["lines"] if line["included"]}
    assert included == {"transceiver"}


def test_a_price_of_one_tier_includes_nothing_of_another(tmp_path: Path) -> None:
    document = fat_tree(tiers=2, leaves=4, hosts_per_leaf=8, spines=2, medium="m")
    document["fabric"] |= {"leaf_switch": {"model": "l"}, "spine_switch": {"model": "s"}}
    document["parts"] = {
        "switches": {"l": {"radix": 64}, "s": {"radix": 64}},
        "media": {"m": {"kind": "transceiver"}},
    }
    path = tmp_path / "design.yaml"
    path.write_bytes(dump_testbed(document, "yaml"))
    leaf = {**ENTRY, "switch": "l", "includes": ["cables", "transceivers"]}
    design = bom(price_file(tmp_path, leaf, {**ENTRY, "switch": "s"}), str(path))
    included = {line["place"] for line in design["lines"] if line["included"]}
    assert included == {
        "NIC - leaf",
        "NIC - leaf, in NIC",
        "NIC - leaf, in leaf",
        "leaf - spine, in leaf",
    }


@settings(deadline=None, max_examples=40)
@given(
    st.decimals(0, 10**9, places=2),
    st.decimals(0, 10**6, places=4),
    st.integers(1, 6),
    st.integers(1, 6),
)
def test_costs_are_exact_sums(
    tmp_path_factory: pytest.TempPathFactory,
    switch: Decimal,
    module: Decimal,
    leaves: int,
    spines: int,
) -> None:
    directory = tmp_path_factory.mktemp("exact")
    document = fat_tree(tiers=2, leaves=leaves, hosts_per_leaf=4, spines=spines, medium="m")
    document["fabric"]["switch"] = {"model": "s"}
    document["parts"] = {
        "switches": {"s": {"radix": 64}},
        "media": {"m": {"kind": "transceiver"}},
    }
    path = directory / "design.yaml"
    path.write_bytes(dump_testbed(document, "yaml"))
    prices = directory / "prices.yaml"
    lines = [
        f"  - {{{kind}: {name}, price: {amount}, currency: EUR, {GOOD}"
        for kind, name, amount in (("switch", "s", switch), ("transceiver", "m", module))
    ]
    lines.append(f"  - {{cable: m, price: 0, currency: EUR, {GOOD}")
    prices.write_text(HEAD + "\n".join(lines) + "\n")
    found = bom(str(prices), str(path))["cost"]["value"]
    modules = 2 * leaves * (4 + spines)
    assert found == float((leaves + spines) * switch + modules * module)


def test_the_schema_takes_what_the_reader_takes() -> None:
    validator = Draft202012Validator(build_schema("prices"))
    for path in builtin_prices().values():
        validator.validate(load_yaml(path.read_bytes(), path.name).value)
    bad = {"ctestbed_prices": 1, "name": "x", "prices": [{**ENTRY, "price": -1}]}
    assert not validator.is_valid(bad)
    assert not validator.is_valid({**bad, "prices": [{**ENTRY, "colour": "red"}]})


def test_every_built_in_list_is_sound_and_says_its_source() -> None:
    for name in builtin_prices():
        listed = load_prices(name).listed
        assert listed.name == name
        assert all(entry.source for entry in listed.prices)


def test_currencies_are_codes_of_three_capitals() -> None:
    assert {"USD", "CNY", "EUR", "JPY"} <= currencies()
    assert all(len(code) == 3 and code.isupper() and code.isascii() for code in currencies())


def test_a_list_of_another_testbed_fits_nothing() -> None:
    with pytest.raises(InputError) as refusal:
        run_bom(BomRequest(("lab-128",), "deepseek-table-3"))
    assert refusal.value.code == "CTB-T164"
