"""The commands' data: valid by its own schema, drawn in ASCII, and built files that read back."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from pydantic import ConfigDict, TypeAdapter

from ctestbed.bench.report.text import render_text
from ctestbed.core.envelope import build_envelope
from ctestbed.core.errors import ExitCode, InputError
from ctestbed.core.result import Result
from ctestbed.core.spec import SpecError
from ctestbed.topology.commands import (
    ListData,
    ValidateData,
    run_list,
    run_show,
    run_validate,
)
from ctestbed.topology.commands import (
    TestbedRequest as Request,
)
from ctestbed.topology.describe import ShowData
from ctestbed.topology.generate import BuildData, BuildRequest, run_build
from ctestbed.topology.load import builtin_testbeds, parse_testbed
from ctestbed.topology.plan import require_plan
from ctestbed.topology.write import dump_testbed
from tests.topology.strategies import testbeds


def check(result: Result, data_type: Any) -> str:
    """Hold the data to its schema, and return how it looks to people."""
    data_type.__pydantic_config__ = ConfigDict(extra="forbid")
    TypeAdapter(data_type).validate_python(json.loads(json.dumps(result.data)), strict=True)
    text = render_text(build_envelope(result, command=["topology"], options={}))
    assert text.isascii()
    return text


def test_list_names_every_builtin() -> None:
    text = check(run_list(), ListData)
    for name in builtin_testbeds():
        assert f"  {name} " in text


@pytest.mark.parametrize("name", builtin_testbeds())
def test_show_and_validate(name: str) -> None:
    shown = check(run_show(Request(name)), ShowData)
    assert "Cables" in shown
    assert "leaf-0" in shown
    result = run_validate(Request(name))
    check(result, ValidateData)
    assert result.exit_code == ExitCode.OK
    assert result.inputs[0].name == f"topologies/{name}.yaml"


def test_show_draws_the_distance_between_campuses() -> None:
    text = check(run_show(Request("two-campus-150km")), ShowData)
    assert "150 km, 750 us one way" in text
    assert "32 x 400 Gb/s = 12.8 Tb/s" in text
    assert "headroom 75 MB a port and class" in text
    assert "[spine-0] [spine-1] [spine-2] [spine-3]   4 spines, 33 of 64 ports used" in text
    assert "scale-up rate UNKNOWN" in text


@settings(deadline=None)
@given(document=testbeds())
def test_any_testbed_can_be_drawn(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("drawn") / "drawn.yaml"
    path.write_bytes(dump_testbed(document, "yaml"))
    check(run_show(Request(str(path))), ShowData)


def test_validate_fails_with_ten_and_no_counts(tmp_path: Path) -> None:
    document = json.loads(run_build(BuildRequest("fat-tree", k=4, form="json"))[1])
    document["fabric"]["radix"] = 2
    path = tmp_path / "narrow.json"
    path.write_text(json.dumps(document, indent=2))
    result = run_validate(Request(str(path)))
    text = check(result, ValidateData)
    assert result.exit_code == ExitCode.CHECKS_FAILED
    assert result.data["counts"] is None
    assert {finding.code for finding in result.findings} == {"CTB-T014"}
    assert "narrow.json:10  (fabric.radix)" in text
    with pytest.raises(SpecError):
        run_show(Request(str(path)))


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_build_of_order_16(form: Literal["yaml", "json"]) -> None:
    result, content = run_build(BuildRequest("fat-tree", k=16, form=form))
    check(result, BuildData)
    counts = result.data["counts"]
    assert (counts["host"], counts["switch"]) == (1024, 320)
    plan = require_plan(parse_testbed(content, "built"))
    assert (plan.hosts, plan.switches) == (1024, 320)


def test_build_by_counts_means_two_tiers() -> None:
    request = BuildRequest(
        "fat-tree", leaves=16, hosts_per_leaf=8, spines=8, rate="400 Gb/s", delay="unknown"
    )
    result, content = run_build(request)
    assert result.data["counts"]["link"] == 256
    assert b"rate: 400 Gb/s\n  delay: unknown" in content


def test_every_count_reaches_the_file() -> None:
    counts = {"pods": 2, "leaves": 3, "hosts_per_leaf": 4, "spines": 2, "cores": 4}
    counts |= {"parallel": 2, "radix": 64}
    _, content = run_build(
        BuildRequest("fat-tree", **counts, planes=2, nics=2, accelerators=4)  # type: ignore[arg-type]
    )
    testbed = parse_testbed(content, "built").testbed
    assert testbed.fabric is not None
    assert {key: getattr(testbed.fabric, key) for key in counts} == counts
    assert (testbed.planes.count, testbed.host.nics, testbed.host.accelerators) == (2, 2, 4)


@pytest.mark.parametrize(
    ("request_", "code", "option"),
    [
        (BuildRequest("fat-tree", k=7), "CTB-T009", "--k"),
        (BuildRequest("fat-tree", k=8, radix=4), "CTB-T014", "--radix"),
        (BuildRequest("fat-tree", k=8, rate="100G"), "CTB-C003", "--rate"),
        (BuildRequest("fat-tree", k=8, delay="5m"), "CTB-C003", "--delay"),
        (BuildRequest("fat-tree", k=8, planes=999), "CTB-C043", "--planes"),
        (BuildRequest("fat-tree", k=8, planes=2, plane_form="x"), "CTB-C043", "--plane-form"),
        (BuildRequest("fat-tree", k=2**22), "CTB-T016", None),
        (BuildRequest("fat-tree"), "CTB-T002", None),
        (BuildRequest("fat-tree", k=4, name="Not A Name"), "CTB-C043", "--name"),
        (BuildRequest("fattree", k=4), "CTB-T022", None),
    ],
)
def test_build_refuses_by_option(request_: BuildRequest, code: str, option: str | None) -> None:
    with pytest.raises(InputError) as caught:
        run_build(request_)
    assert caught.value.code == code
    assert caught.value.exit_code == ExitCode.INPUT
    assert caught.value.hint or code == "CTB-C043"
    if option is not None:
        assert caught.value.where is not None
        assert caught.value.where.pointer == option


def test_the_request_has_no_field_the_file_ignores() -> None:
    # Each field changes the file, or names it: guards against options that do nothing.
    base = BuildRequest("fat-tree", k=4)
    changed = {
        "name": "other",
        "tiers": 2,
        "radix": 64,
        "rate": "200Gbps",
        "delay": "2us",
        "planes": 2,
        "accelerators": 2,
        "nics": 2,
        "form": "json",
    }
    by_counts = {"kind", "k", "pods", "leaves", "hosts_per_leaf", "spines", "cores", "parallel"}
    assert {field.name for field in fields(base)} == {*changed, *by_counts, "plane_form"}
    plain = run_build(base)[1]
    for name, value in changed.items():
        assert run_build(BuildRequest("fat-tree", **({"k": 4} | {name: value})))[1] != plain  # type: ignore[arg-type]
