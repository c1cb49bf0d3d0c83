"""Every command's JSON fits its own published schema."""

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ctestbed.bench.schemas import DATA_TYPES, build_schema, list_schemas
from ctestbed.core.data import data_directory
from ctestbed.core.errors import InputError
from ctestbed.core.yamlfile import load_yaml
from tests.cli.shell import ctestbed

COMMANDS: list[tuple[str, ...]] = [
    ("cvm", "attack"),
    ("cvm", "attack", "matrix", "--platform", "snp"),
    ("topology", "list"),
    ("topology", "show", "two-campus-150km"),
    ("topology", "show", "kunlun-32k"),
    ("topology", "validate", "lab-128"),
    ("topology", "validate", "lab-128", "--as-built", "lab-128"),
    ("topology", "diff", "lab-128", "lab-128"),
    ("topology", "import", "lab-128"),
    ("topology", "bom", "three-vendor-sites"),
    ("topology", "bom", "deepseek-ft2-2048", "lab-128", "--prices", "deepseek-table-3"),
    ("route", "path", "kunlun-32k", "0", "4"),
    ("sim", "transfer", "kunlun-32k", "--pattern", "shift:4", "--size", "1MB"),
    ("sim", "transfer", "lab-128", "--pattern", "shift:64", "--size", "2MB"),
    ("sim", "transfer", "lab-128", "--pattern", "ring", "--size", "4kB", "--seeds", "1..2"),
    ("sim", "transfer", "lab-128", "--pattern", "incast:8", "--size", "400kB", "--xoff", "8kB"),
    ("sim", "headroom", "two-campus-150km"),
    ("sim", "longhaul", "--distance", "2km", "--rate", "10Gbps", "--buffer", "2MB"),
    ("sim", "headroom", "--rate", "800Gbps", "--delay", "1ms"),
    ("cvm", "launch", "--name", "a"),
    ("cvm", "list"),
    ("cvm", "show", "a"),
    ("attest", "roots"),
    ("bench", "list"),
    ("bench", "run", "lab-128"),
    ("bench", "run", "fabric"),
    ("explain",),
    ("explain", "CTB-C003"),
    ("explain", "14"),
    ("doctor",),
    ("schema", "list"),
    ("config", "show"),
    ("config", "path"),
    ("cvm", "stop", "a"),
]


def check(envelope: Any) -> None:
    schema = build_schema(envelope["schema"])
    problems = [
        f"{list(error.absolute_path)}: {error.message}"
        for error in Draft202012Validator(schema).iter_errors(envelope)
    ]
    assert not problems


@pytest.mark.parametrize("name", [name for name, _ in list_schemas()])
def test_every_schema_is_one(name: str) -> None:
    Draft202012Validator.check_schema(build_schema(name))
    if "/" in name:
        assert build_schema(name.partition("/")[0]) == build_schema(name)


def test_every_command_fits_its_schema(tmp_path: Path) -> None:
    seen = set()
    for words in COMMANDS:
        for extra in ((), ("--canonical",)):
            if words[:2] in {("cvm", "launch"), ("cvm", "stop")} and extra:
                continue
            outcome = ctestbed(*words, "--format", "json", *extra)
            assert outcome.code == 0, (words, outcome.stderr)
            envelope = outcome.json
            check(envelope)
            seen.add(envelope["schema"])
    seen |= check_artefacts(tmp_path)
    assert seen | {"ctestbed.evidence.show/1", "ctestbed.attest.verify/1"} >= set(DATA_TYPES) - {
        "ctestbed.report.build/1",
        "ctestbed.report.convert/1",
    }


def check_artefacts(place: Path) -> set[str]:
    """Commands that make an artefact write their report by --export."""
    assert ctestbed("cvm", "launch", "--name", "b").code == 0
    evidence = str(place / "ev.bin")
    lines: list[tuple[str, ...]] = [
        ("topology", "build", "fat-tree", "--k", "4"),
        ("topology", "export", "lab-128", "--to", "csv"),
        ("schema", "show", "testbed"),
        ("evidence", "make", "b", "--nonce", "00ff", "-o", evidence),
        ("evidence", "show", evidence),
        ("attest", "verify", evidence, "--roots", "emulated", "--nonce", "00ff"),
    ]
    seen = set()
    for number, words in enumerate(lines):
        report = place / f"{number}.json"
        outcome = ctestbed(*words, "--export", f"json={report}")
        assert outcome.code == 0, (words, outcome.stderr)
        envelope = load_json(report)
        check(envelope)
        seen.add(envelope["schema"])
    return seen


def load_json(path: Path) -> Any:
    import json

    return json.loads(path.read_text())


@pytest.mark.parametrize("words", [("topology", "validate", "nope"), ("explain", "CTB-X999")])
def test_an_error_is_an_envelope_too(words: tuple[str, ...]) -> None:
    envelope = ctestbed(*words, "--format", "json").json
    schema = build_schema("envelope")
    assert not list(Draft202012Validator(schema).iter_errors(envelope))
    assert envelope["schema"] == "ctestbed.error/1"
    assert envelope["exit_code"] == 3
    assert envelope["status"] == "error"


@pytest.mark.parametrize("path", sorted(data_directory("topologies").glob("*.yaml")))
def test_built_in_testbeds_fit_the_testbed_schema(path: Path) -> None:
    value = load_yaml(path.read_bytes(), path.name).value
    assert not list(Draft202012Validator(build_schema("testbed")).iter_errors(value))


def test_an_unknown_schema_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError) as caught:
        build_schema("ctestbed.topology.validat")
    assert caught.value.code == "CTB-U005"
    assert "ctestbed.topology.validate" in str(caught.value.hint)
