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
    ShowRequest,
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
from ctestbed.topology.tiers import KINDS
from ctestbed.topology.validate import validate_testbed
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
    shown = check(run_show(ShowRequest(name)), ShowData)
    assert "Cables" in shown
    assert "narrowing" in shown
    result = run_validate(Request(name))
    check(result, ValidateData)
    assert result.exit_code == ExitCode.OK
    assert result.inputs[0].name == f"topologies/{name}.yaml"


def test_show_draws_the_distance_between_campuses() -> None:
    text = check(run_show(ShowRequest("two-campus-150km")), ShowData)
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
    check(run_show(ShowRequest(str(path))), ShowData)


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
        run_show(ShowRequest(str(path)))


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


KIND_NUMBERS: dict[str, dict[str, Any]] = {
    "fat-tree": {"k": 4},
    "rail-optimised": {"rails": 2, "segments": 2, "hosts_per_segment": 4, "spines": 2},
    "rail-only": {"rails": 2, "domains": 8},
    "slim-fly": {"q": 5, "p": 2},
    "dragonfly": {"p": 2, "a": 4, "h": 2},
    "torus": {"dims": "4x4"},
    "full-mesh": {"dims": "4,4"},
    "scale-up": {"supernodes": 2, "supernode": 8, "scale_up_switches": 2},
}
CHANGES: dict[str, list[dict[str, Any]]] = {
    "fat-tree": [
        *({"name": "other"}, {"tiers": 2}, {"radix": 64}, {"rate": "200Gbps"}, {"delay": "2us"}),
        *({"planes": 2}, {"accelerators": 2}, {"nics": 2}, {"form": "json"}),
        *({"host_rate": "1Tbps"}, {"spine_rate": "1Tbps"}, {"core_rate": "1Tbps"}),
        {"planes": 2, "plane_form": "nic-split"},
        {"planes": 2, "overrides": ("1:cores=2",)},
        *({"supernode": 4}, {"supernode": 4, "memory": "1GB"}, {"supernode": 4, "cpus": 1}),
        {"supernode": 4, "scale_up_rate": "1Tbps"},
        {"supernode": 4, "scale_up_delay": "1us"},
        {"supernode": 4, "cpus": 1, "cpu_rate": "1Gbps"},
        {"supernode": 4, "cpus": 1, "cpu_memory": "1TB"},
        {"supernode": 4, "scale_up_switches": 2, "upper_switches": 2},
        {"supernode": 4, "scale_up_switches": 2, "upper_switches": 2, "upper_rate": "1Tbps"},
        {"sites": 2, "radix": 8},
        {"sites": 2, "radix": 8, "trunk_length": "80km"},
        {"sites": 2, "radix": 8, "trunk_rate": "1Tbps"},
        {"sites": 2, "radix": 8, "trunk_links": 2},
        {"sites": 2, "radix": 8, "trunk_switches": 2},
        {"sites": 2, "radix": 8, "trunk_length": "80km", "trunk_protection": "90km"},
        {"sites": 2, "radix": 8, "trunk_length": "80km", "refractive_index": 1.5},
        {"sites": 2, "radix": 8, "trunk_length": "80km", "amplifier_spacing": "9km"},
        {
            "sites": 2,
            "radix": 8,
            "trunk_length": "80km",
            "amplifier_spacing": "9km",
            "amplifier_delay": "1ns",
        },
    ],
    "rail-optimised": [
        *({"tors_per_rail": 2}, {"parallel": 2}, {"pods": 2, "cores": 2}, {"rails": 4}),
        *({"segments": 3}, {"hosts_per_segment": 5}, {"spines": 4}),
    ],
    "rail-only": [{"leaves": 2, "spines": 2}, {"domains": 9}],
    "slim-fly": [{"counts_only": True}, {"q": 7}, {"p": 3}],
    "dragonfly": [{"g": 8}, {"a": 6}, {"h": 3}],
    "torus": [{"wrap": False}, {"cube": 2}, {"dims": "4x8"}],
    "full-mesh": [],
    "scale-up": [{"supernodes": 3}],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_option_of_a_kind_changes_its_file(kind: str) -> None:
    # Guards against options that do nothing; one that is added must be added here.
    plain = run_build(BuildRequest(kind, **KIND_NUMBERS[kind]))[1]
    seen = {plain}
    for change in CHANGES[kind]:
        content = run_build(BuildRequest(kind, **(KIND_NUMBERS[kind] | change)))[1]
        assert content not in seen, change
        seen.add(content)


def test_no_option_is_forgotten() -> None:
    by_counts = {"kind", "leaves", "hosts_per_leaf", "spines", "cores", "pods", "parallel"}
    tried = {key for numbers in KIND_NUMBERS.values() for key in numbers}
    tried |= {key for changes in CHANGES.values() for change in changes for key in change}
    assert {field.name for field in fields(BuildRequest)} == tried | by_counts


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_builds_from_its_own_options_only(kind: str) -> None:
    result, content = run_build(BuildRequest(kind, **KIND_NUMBERS[kind]))
    check(result, BuildData)
    assert validate_testbed(parse_testbed(content, "built")).plan is not None
    stray = {"q": 5} if kind != "slim-fly" else {"dims": "4x4"}
    with pytest.raises(InputError) as caught:
        run_build(BuildRequest(kind, **(KIND_NUMBERS[kind] | stray)))
    assert caught.value.code == "CTB-T023"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("request_", "code", "option"),
    [
        (BuildRequest("slim-fly", q=28, p=21), "CTB-T050", "--q"),
        (BuildRequest("dragonfly", p=1, a=2, h=1, g=9), "CTB-T051", "--g"),
        (BuildRequest("torus", dims="4x6", cube=4), "CTB-T053", "--dims"),
        (BuildRequest("torus", dims="4xx4"), "CTB-T024", "--dims"),
        (BuildRequest("torus", dims="4x0"), "CTB-C043", "--dims"),
        (BuildRequest("torus"), "CTB-C042", "--dims"),
        (BuildRequest("fat-tree", k=4, overrides=("1=2",)), "CTB-T024", "--override"),
        (BuildRequest("fat-tree", k=4, overrides=("1:spines=1",)), "CTB-T019", "--override"),
        (BuildRequest("fat-tree", k=4, cpus=1), "CTB-T023", "--cpus"),
        (BuildRequest("fat-tree", k=4, sites=2, trunk_rate="0bps"), "CTB-T011", "--trunk-rate"),
        (BuildRequest("fat-tree", k=4, supernode=3), "CTB-T015", "--supernode"),
        (BuildRequest("scale-up", supernodes=1), "CTB-T017", None),
        (
            BuildRequest(
                *("scale-up",),
                supernodes=1,
                supernode=8,
                scale_up_switches=3,
                scale_up_rate="100Gbps",
            ),
            "CTB-T011",
            "--scale-up-rate",
        ),
    ],
)
def test_build_of_other_kinds_refuses_by_option(
    request_: BuildRequest, code: str, option: str | None
) -> None:
    test_build_refuses_by_option(request_, code, option)
